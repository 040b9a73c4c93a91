//! A described contract as a schema.

use pemdas_core::crd::{Field, Gap, ListType, Record, Schema, Side, Type, codes, meet, pattern, refusal};
use pemdas_core::diagnostic::{Diagnostic, Span};
use serde_json::{Value, json};

use super::computed::ReadsOfFields;
use crate::contract::{Contract, FieldContract, Form};
use crate::library::is_library_file;

/// How deep a contract is followed.
const MAX_DEPTH: usize = 32;

/// Makes schemas of one version's contracts.
pub(super) struct Converter<'a> {
    pub(super) kind: &'a str,
    pub(super) version: &'a str,
    /// Where to point if nothing better is known.
    pub(super) near: Span,
    pub(super) gaps: Vec<Gap>,
    pub(super) diagnostics: Vec<Diagnostic>,
    depth: usize,
    /// Whether a contract or a default is computed from other fields of the object.
    pub(super) varies: bool,
    /// By the place of a field's name: what it reads of other fields.
    pub(super) reads: ReadsOfFields<'a>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(kind: &'a str, version: &'a str, near: Span) -> Self {
        Self {
            kind,
            version,
            near,
            gaps: Vec::new(),
            diagnostics: Vec::new(),
            depth: 0,
            varies: false,
            reads: ReadsOfFields::new(),
        }
    }

    pub(super) fn gap(&mut self, path: &str, side: Side, what: impl Into<String>, span: &Span) {
        self.gaps.push(Gap {
            kind: self.kind.to_owned(),
            version: self.version.to_owned(),
            path: path.to_owned(),
            side,
            what: what.into(),
            span: Some(span.clone()),
        });
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The schema of a contract. `near` is the field that it belongs to.
    pub(super) fn schema(&mut self, contract: &Contract, path: &str, near: &Span) -> Schema {
        let span = contract.span.clone().filter(|span| !is_library_file(&span.file));
        let span = span.unwrap_or_else(|| near.clone());
        if self.depth >= MAX_DEPTH {
            return self.recursive(path, &span);
        }
        self.depth += 1;
        let mut schema = match &contract.schema {
            Some(keywords) => self.keywords(keywords, contract, path, &span),
            None => self.form(&contract.form, path, &span),
        };
        self.depth -= 1;
        self.keep_common_patterns(&mut schema, path, &span);
        schema.span = Some(span);
        schema
    }

    fn form(&mut self, form: &Form, path: &str, span: &Span) -> Schema {
        match form {
            Form::Any => Schema::any(),
            Form::String => Schema::new(Type::String),
            Form::Number => Schema::new(Type::Number),
            Form::Bool => Schema::new(Type::Boolean),
            Form::Array(items) => Schema::list(self.schema(items, &format!("{path}[]"), span)),
            Form::Dictionary(values) => Schema::dictionary(self.schema(values, &format!("{path}{{}}"), span)),
            Form::Record { fields, open } => self.record(fields, *open, path, span),
            Form::Enum(tags) => {
                let allowed = tags.iter().map(|(tag, _)| json!(tag)).collect();
                Schema { allowed: Some(allowed), ..Schema::new(Type::String) }
            }
            Form::Function => {
                self.report(
                    Diagnostic::error(codes::FUNCTION, "no object can hold a function")
                        .at(span.clone(), "")
                        .note("the CRD accepts anything here, and the contract then refuses it")
                        .hint("objects hold data: strings, numbers, booleans, lists and records"),
                );
                self.gap(path, Side::OnlyContract, "a function, which no object can hold", span);
                Schema::any()
            }
            Form::All(parts) => self.all(parts, path, span),
            Form::Exactly(value) => exactly(value),
            Form::Library { name, .. } => self.opaque(Some(name), path, span),
            Form::Opaque(name) => self.opaque(name.as_ref(), path, span),
            Form::Deeper => self.recursive(path, span),
        }
    }

    fn opaque(&mut self, name: Option<&String>, path: &str, span: &Span) -> Schema {
        let what =
            name.map_or_else(|| "a contract that is code".to_owned(), |name| format!("the contract {name}"));
        self.gap(path, Side::OnlyContract, what, span);
        Schema::any()
    }

    fn recursive(&mut self, path: &str, span: &Span) -> Schema {
        self.report(
            Diagnostic::warning(codes::RECURSIVE, "this contract contains itself, or is nested very deep")
                .at(span.clone(), "")
                .note("the CRD accepts anything from here on; the contract still checks it")
                .hint("CRDs have no recursive schemas: bound the depth by writing the levels out"),
        );
        self.gap(path, Side::OnlyContract, "a contract that contains itself", span);
        Schema::any()
    }

    /// All of some contracts at once.
    pub(super) fn all(&mut self, parts: &[Contract], path: &str, span: &Span) -> Schema {
        let mut met = Schema::any();
        for part in parts {
            let next = self.schema(part, path, span);
            let at = next.span.clone().unwrap_or_else(|| span.clone());
            let (schema, trouble) = meet(met, next);
            met = schema;
            if let Some(why) = trouble {
                let message = format!("these contracts of one value do not go together: {why}");
                self.report(
                    Diagnostic::warning(codes::CONTRADICTION, message)
                        .at(at.clone(), "")
                        .note("the CRD leaves this one out"),
                );
                self.gap(path, Side::OnlyContract, why, &at);
            }
        }
        met
    }

    fn record(&mut self, fields: &[FieldContract], open: bool, path: &str, near: &Span) -> Schema {
        let mut record = Record { open, ..Record::default() };
        for field in fields {
            let span = field.span.clone().filter(|span| !is_library_file(&span.file));
            let span = span.unwrap_or_else(|| near.clone());
            let drafted = self.field(field, &format!("{path}.{}", field.name), &span);
            record.fields.insert(field.name.clone(), drafted);
        }
        Schema::new(Type::Record(record))
    }

    fn field(&mut self, field: &FieldContract, path: &str, span: &Span) -> Field {
        let constant = self.constant(field, path, span);
        self.varies |= constant.contracts.is_some();
        let mut schema = match &constant.contracts {
            None => self.schema(&field.contract, path, span),
            Some(parts) => self.all(parts, path, span),
        };
        schema.span = Some(span.clone());
        if let Some(doc) = &field.doc {
            schema.description = Some(doc.trim().to_owned());
        }
        let given = field.given.then(|| given_value(&field.contract)).flatten();
        // A default that was filled in itself would keep what was computed without the object.
        let filled_inside = field.default.is_some() && schema.has_filled_fields();
        if filled_inside && !constant.value_varies {
            self.computed_default("what is inside of it", path, span);
        }
        if constant.value_varies || filled_inside {
            return Field { schema, required: false, filled: true };
        }
        if let Some(default) = field.default.clone().or(given) {
            self.default(&mut schema, default, path, span);
        } else if let Some(why) = &field.default_fails {
            self.failed_default(why, path, span);
        }
        let mut filled = field.default.is_some() || field.default_fails.is_some();
        if field.given && schema.default.is_none() && refusal(&schema, &json!({})).is_none() {
            filled = true;
            // Rules are asked of a default before the defaults inside it are filled in: it would fail them.
            if matches!(schema.of, Type::Record(_)) && !schema.has_rules() {
                schema.default = Some(json!({}));
            }
        }
        let required = !field.optional && !filled && schema.default.is_none();
        Field { schema, required, filled: false }
    }

    /// Every object without the field would be refused by its own contract.
    fn failed_default(&mut self, why: &str, path: &str, span: &Span) {
        let why = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(": ");
        self.report(
            Diagnostic::error(codes::DEFAULT, format!("the default of {path} has no value that fits: {why}"))
                .at(span.clone(), "")
                .note("the CRD gets no default for this field"),
        );
    }

    pub(super) fn default(&mut self, schema: &mut Schema, default: Value, path: &str, span: &Span) {
        match refusal(schema, &default) {
            None => schema.default = Some(default),
            Some(why) => {
                self.report(
                    Diagnostic::error(
                        codes::DEFAULT,
                        format!("the default of {path} does not fit its own contract: {why}"),
                    )
                    .at(span.clone(), "")
                    .note("the CRD gets no default for this field"),
                );
            }
        }
    }

    /// Leaves out patterns that the API server would read otherwise.
    fn keep_common_patterns(&mut self, schema: &mut Schema, path: &str, span: &Span) {
        let patterns = std::mem::take(&mut schema.patterns);
        for one in patterns {
            let wrong = pattern::is_one(&one).err().filter(|_| pattern::difference(&one).is_none());
            if let Some(why) = wrong {
                self.report(
                    Diagnostic::error(
                        codes::PATTERN,
                        format!("this pattern is no regular expression: {why}"),
                    )
                    .at(span.clone(), "")
                    .note("the CRD leaves the pattern out"),
                );
                self.gap(path, Side::OnlyContract, format!("the pattern {one}"), span);
                continue;
            }
            match pattern::difference(&one) {
                None => schema.patterns.push(one),
                Some(why) => {
                    self.report(
                        Diagnostic::warning(
                            codes::PATTERN,
                            format!("the API server would read this pattern otherwise: {why}"),
                        )
                        .at(span.clone(), "")
                        .note("the CRD leaves the pattern out; the contract still checks it")
                        .hint("write classes out, such as [0-9] for digits"),
                    );
                    self.gap(path, Side::OnlyContract, format!("the pattern {one}"), span);
                }
            }
        }
    }

    /// Lists of a kind that the API server can keep: keys that are sure to be there, items that can be compared.
    pub(super) fn fitting_list_type(&mut self, schema: &mut Schema, path: &str, span: &Span) {
        let Type::List(items) = &mut schema.of else { return };
        let trouble = match &schema.list_type {
            Some(ListType::Map(keys)) if keys.is_empty() => Some("it has no keys".to_owned()),
            Some(ListType::Map(keys)) => match items.as_record_mut() {
                None => Some("its items are no records".to_owned()),
                Some(record) => keys.iter().find_map(|key| match record.fields.get(key) {
                    None => Some(format!("its items have no field `{key}`")),
                    Some(field) if !field.is_always_there() => {
                        Some(format!("the field `{key}` of its items may be missing"))
                    }
                    Some(field) if field.schema.nullable || !is_scalar(&field.schema) => {
                        Some(format!("the field `{key}` of its items is no plain value"))
                    }
                    Some(_) => None,
                }),
            },
            Some(ListType::Set) if !is_scalar(items) || items.nullable => {
                Some("its items are no plain values".to_owned())
            }
            _ => None,
        };
        if let Some(why) = trouble {
            self.report(
                Diagnostic::error(codes::RULE, format!("this list cannot be merged item by item: {why}"))
                    .at(span.clone(), "")
                    .note("the CRD treats the list as a whole"),
            );
            self.gap(path, Side::OnlyContract, "no item stands twice", span);
            schema.list_type = None;
        }
    }
}

fn is_scalar(schema: &Schema) -> bool {
    matches!(schema.of, Type::String | Type::Integer | Type::Number | Type::Boolean)
}

/// The value that a record contract holds for a field.
fn given_value(contract: &Contract) -> Option<Value> {
    match &contract.form {
        Form::Exactly(value) => Some(value.clone()),
        Form::All(parts) => parts.iter().find_map(given_value),
        _ => None,
    }
}

fn exactly(value: &Value) -> Schema {
    let of = match value {
        Value::String(_) => Type::String,
        Value::Bool(_) => Type::Boolean,
        Value::Number(number) if number.is_i64() => Type::Integer,
        Value::Number(_) => Type::Number,
        Value::Null => return Schema { allowed: Some(vec![Value::Null]), ..Schema::any() },
        Value::Array(_) | Value::Object(_) => {
            return Schema { allowed: Some(vec![value.clone()]), nullable: false, ..Schema::any() };
        }
    };
    Schema { allowed: Some(vec![value.clone()]), ..Schema::new(of) }
}
