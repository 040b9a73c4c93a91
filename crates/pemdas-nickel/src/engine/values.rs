//! Values over the border: JSON and poison in, JSON out.

use std::collections::BTreeMap;

use nickel_lang_core::closurize::Closurize as _;
use nickel_lang_core::error::EvalErrorKind;
use nickel_lang_core::eval::Environment;
use nickel_lang_core::eval::value::{Container, EnumVariantData, NickelValue, ValueContentRef};
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::position::PosIdx;
use nickel_lang_core::term::Term;
use nickel_lang_core::term::record::RecordData;
use pemdas_core::diagnostic::Diagnostic;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::Engine;
use super::errors::POISON;
use crate::codes;
use crate::limits::{Limits, Size};
use crate::request::{Failure, Input, Place, RenderCall, Request, Step};

impl Engine {
    /// An argument as a value of the evaluator.
    pub(super) fn value_of(&mut self, input: &Input) -> Result<NickelValue, Failure> {
        match input {
            Input::Json(json) => self.json_value(json),
            Input::Poison(what) => {
                let error = EvalErrorKind::Other(format!("{POISON}{what}"), PosIdx::NONE);
                let term = NickelValue::term_posless(Term::RuntimeError(Box::new(error)));
                Ok(term.closurize(&mut self.ctx.cache, Environment::new()))
            }
            Input::Record(fields) => {
                let mut values = Vec::with_capacity(fields.len());
                for (name, field) in fields {
                    let value = self.value_of(field)?;
                    values.push((LocIdent::from(name.as_str()), self.suspended(value)));
                }
                Ok(NickelValue::record_posless(RecordData::with_field_values(values)))
            }
        }
    }

    pub(super) fn json_value(&mut self, json: &Value) -> Result<NickelValue, Failure> {
        match json {
            Value::Array(elements) if !elements.is_empty() => {
                let mut values = Vec::with_capacity(elements.len());
                for element in elements {
                    let value = self.json_value(element)?;
                    values.push(self.suspended(value));
                }
                Ok(NickelValue::array_posless(values.into_iter().collect(), Vec::new()))
            }
            Value::Object(fields) if !fields.is_empty() => {
                let mut values = Vec::with_capacity(fields.len());
                for (name, field) in fields {
                    let value = self.json_value(field)?;
                    values.push((LocIdent::from(name.as_str()), self.suspended(value)));
                }
                Ok(NickelValue::record_posless(RecordData::with_field_values(values)))
            }
            scalar_or_empty => NickelValue::deserialize(scalar_or_empty).map_err(|_| {
                let message = "an input is not what the evaluator takes for JSON";
                Failure::of(Diagnostic::error(codes::EVALUATION, message))
            }),
        }
    }

    /// A value as it may stand inside a container: the evaluator merges records only if what is in them is a constant or suspended.
    pub(super) fn suspended(&mut self, value: NickelValue) -> NickelValue {
        if value.is_constant() || value.as_thunk().is_some() {
            return value;
        }
        value.closurize(&mut self.ctx.cache, Environment::new())
    }

    /// A fully evaluated value as JSON.
    pub(super) fn json_of(&self, value: &NickelValue) -> Result<Value, Failure> {
        let mut writer = JsonWriter {
            limits: &self.limits,
            bytes: 0,
            path: Vec::new(),
            span: &|value| self.files.of_idx(&self.ctx.pos_table, value.pos_idx()),
        };
        writer.write(value)
    }
}

/// Builds JSON and keeps account of its size and depth.
struct JsonWriter<'a> {
    limits: &'a Limits,
    bytes: u64,
    path: Vec<String>,
    span: &'a dyn Fn(&NickelValue) -> Option<pemdas_core::diagnostic::Span>,
}

impl JsonWriter<'_> {
    fn write(&mut self, value: &NickelValue) -> Result<Value, Failure> {
        if self.path.len() as u64 > self.limits.data_depth {
            return Err(Failure::TooLarge { what: Size::Depth, limit: self.limits.data_depth });
        }
        match value.content_ref() {
            ValueContentRef::Null => self.scalar(Value::Null, 4),
            ValueContentRef::Bool(flag) => self.scalar(Value::Bool(flag), 5),
            ValueContentRef::Number(_) => {
                let number = serde_json::to_value(value).map_err(|_| self.not_data(value))?;
                let bytes = number.to_string().len();
                self.scalar(number, bytes)
            }
            ValueContentRef::String(text) => self.scalar_text(text),
            ValueContentRef::EnumVariant(EnumVariantData { tag, arg: None }) => self.scalar_text(tag.label()),
            ValueContentRef::Array(Container::Empty) => self.scalar(Value::Array(Vec::new()), 2),
            ValueContentRef::Record(Container::Empty) => self.scalar(Value::Object(Map::new()), 2),
            ValueContentRef::Array(Container::Alloc(data)) => {
                let mut elements = Vec::new();
                for (index, element) in data.array.iter().enumerate() {
                    self.path.push(format!("[{index}]"));
                    elements.push(self.write(element)?);
                    self.path.pop();
                    self.spend(1)?;
                }
                Ok(Value::Array(elements))
            }
            ValueContentRef::Record(Container::Alloc(data)) => self.record(value, data),
            _ => Err(self.not_data(value)),
        }
    }

    fn record(&mut self, value: &NickelValue, data: &RecordData) -> Result<Value, Failure> {
        let mut map = Map::new();
        for entry in data.iter_serializable() {
            let (name, field) = entry.map_err(|_| self.not_data(value))?;
            self.spend(name.label().len() as u64 + 4)?;
            self.path.push(name.label().to_owned());
            map.insert(name.label().to_owned(), self.write(field)?);
            self.path.pop();
        }
        Ok(Value::Object(map))
    }

    fn scalar_text(&mut self, text: &str) -> Result<Value, Failure> {
        self.spend(text.len() as u64 + 2)?;
        Ok(Value::String(text.to_owned()))
    }

    fn scalar(&mut self, value: Value, bytes: usize) -> Result<Value, Failure> {
        self.spend(bytes as u64)?;
        Ok(value)
    }

    fn spend(&mut self, bytes: u64) -> Result<(), Failure> {
        self.bytes += bytes;
        if self.bytes > self.limits.output_bytes {
            return Err(Failure::TooLarge { what: Size::Output, limit: self.limits.output_bytes });
        }
        Ok(())
    }

    fn not_data(&self, value: &NickelValue) -> Failure {
        let what = match value.content_ref() {
            ValueContentRef::EnumVariant(_) => "a tag with an argument",
            ValueContentRef::CustomContract(_) | ValueContentRef::Type(_) => "a contract",
            ValueContentRef::Term(Term::Fun(_)) => "a function",
            _ => "a value that JSON cannot say",
        };
        let place = self.path.join(".").replace(".[", "[");
        let message = if place.is_empty() {
            format!("the result is {what}, not data")
        } else {
            format!("{place} is {what}, not data")
        };
        let diagnostic = Diagnostic::error(codes::NOT_DATA, message);
        Failure::of(match (self.span)(value) {
            Some(span) => diagnostic.at(span, "this value"),
            None => diagnostic,
        })
    }
}

/// Whether a request is within the limits on inputs, before anything is made of it. Gives whether it carries data.
pub(crate) fn check_request(request: &Request, limits: &Limits) -> Result<bool, Failure> {
    let mut count = InputCount { limits, bytes: 0, data: false };
    match request {
        Request::Evaluate { place } | Request::Look { place } | Request::Describe { place } => {
            count.place(place)?;
        }
        Request::Select { place, fields } => {
            count.place(place)?;
            for name in fields.iter().flatten() {
                count.spend(name.len())?;
            }
        }
        Request::Check { contract, value } => {
            count.place(contract)?;
            count.json(value, 1)?;
        }
        Request::Syntax => {}
        Request::Render { calls } => {
            for call in calls {
                check_call(call, limits)?;
            }
            count.data = true;
        }
    }
    Ok(count.data)
}

/// Whether one call of many is within the limits on inputs; gives how many bytes it has.
pub(crate) fn check_call(call: &RenderCall, limits: &Limits) -> Result<u64, Failure> {
    let mut count = InputCount { limits, bytes: 0, data: true };
    for name in &call.path {
        count.spend(name.len() + 1)?;
    }
    count.json(&call.input, 1)?;
    Ok(count.bytes)
}

struct InputCount<'a> {
    limits: &'a Limits,
    bytes: u64,
    data: bool,
}

impl InputCount<'_> {
    fn place(&mut self, place: &Place) -> Result<(), Failure> {
        self.spend(place.file.len())?;
        if place.steps.len() as u64 > self.limits.data_depth {
            return Err(Failure::TooLarge { what: Size::Depth, limit: self.limits.data_depth });
        }
        for step in &place.steps {
            match step {
                Step::Field(name) => self.spend(name.len() + 1)?,
                Step::Index(_) => self.spend(4)?,
                Step::Call(arguments) => {
                    for argument in arguments {
                        self.input(argument, 1)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn input(&mut self, input: &Input, depth: u64) -> Result<(), Failure> {
        self.deep(depth)?;
        match input {
            Input::Json(json) => self.json(json, depth),
            Input::Poison(what) => self.spend(what.len() + 4),
            Input::Record(fields) => self.record(fields, depth),
        }
    }

    fn record(&mut self, fields: &BTreeMap<String, Input>, depth: u64) -> Result<(), Failure> {
        for (name, field) in fields {
            self.spend(name.len() + 4)?;
            self.input(field, depth + 1)?;
        }
        Ok(())
    }

    fn json(&mut self, json: &Value, depth: u64) -> Result<(), Failure> {
        self.data = true;
        self.deep(depth)?;
        match json {
            Value::Null | Value::Bool(_) => self.spend(5),
            Value::Number(number) => self.spend(number.to_string().len()),
            Value::String(text) => self.spend(text.len() + 2),
            Value::Array(elements) => {
                self.spend(2)?;
                elements.iter().try_for_each(|element| self.json(element, depth + 1))
            }
            Value::Object(fields) => {
                self.spend(2)?;
                fields.iter().try_for_each(|(name, field)| {
                    self.spend(name.len() + 4)?;
                    self.json(field, depth + 1)
                })
            }
        }
    }

    fn deep(&self, depth: u64) -> Result<(), Failure> {
        if depth > self.limits.data_depth {
            return Err(Failure::TooLarge { what: Size::Depth, limit: self.limits.data_depth });
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes as u64;
        if self.bytes > self.limits.input_bytes {
            return Err(Failure::TooLarge { what: Size::Input, limit: self.limits.input_bytes });
        }
        Ok(())
    }
}

/// From here on whole numbers are not told from others.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The first whole number that is written with a fraction (`14.0`), by its path. Numbers too large to be whole ones are left alone.
pub(super) fn spelled_as_fraction(value: &Value) -> Option<String> {
    let mut todo = vec![(value, String::new())];
    while let Some((value, path)) = todo.pop() {
        match value {
            Value::Number(number) if number.is_f64() => {
                let is_whole =
                    number.as_f64().is_some_and(|it| it.fract() == 0.0 && it.abs() < LARGEST_WHOLE);
                if is_whole {
                    return Some(if path.is_empty() { "the value itself".to_owned() } else { path });
                }
            }
            Value::Array(items) => {
                let items = items.iter().enumerate().rev();
                todo.extend(items.map(|(index, item)| (item, format!("{path}[{index}]"))));
            }
            Value::Object(fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                todo.extend(fields.iter().rev().map(|(name, field)| (field, format!("{path}{dot}{name}"))));
            }
            _ => {}
        }
    }
    None
}
