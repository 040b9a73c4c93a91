//! The structure of a contract.
//!
//! A contract is a value like any other, and most of what it is made of is gone once it has been used. What remains to be read: a
//! record contract is a record, whose fields keep their contracts as written (`label.typ`) beside the suspended contract, in
//! whose environment the names in it mean something. Contracts that are made by functions are opaque, unless it is the library that made them:
//! those are recognised by being the very same value as the library's.

use std::rc::Rc;
use std::time::{Duration, Instant};

use nickel_lang_core::ast::MergePriority;
use nickel_lang_core::closurize::Closurize as _;
use nickel_lang_core::eval::cache::Cache as _;
use nickel_lang_core::eval::value::{Container, NickelValue, ValueContentRef};
use nickel_lang_core::eval::{Closure, Environment};
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::label::Label;
use nickel_lang_core::position::PosIdx;
use nickel_lang_core::term::record::{Field, RecordData};
use nickel_lang_core::term::{RuntimeContract, Term, UnaryOp, make};
use nickel_lang_core::transform::transform;
use nickel_lang_core::typ::{EnumRowsIteratorItem, RecordRowsIteratorItem, Type, TypeF};

use pemdas_core::diagnostic::Span;

use super::Engine;
use super::look::kind_of;
use crate::contract::{Argument, Contract, FieldContract, Form};
use crate::request::{Failure, Kind, Place};

/// How deep a description goes.
const MAX_LEVELS: u32 = 24;
/// How many contracts it has at most.
const MAX_CONTRACTS: u32 = 5_000;
/// How many records of one place lie within one another at most.
const MAX_SAME_PLACE: usize = 6;
/// The tag that a contract which knows its schema answers instead of judging it. No object of a cluster can hold a tag.
const QUESTION: &str = "pemdas/describe";
/// The keywords of an answer that hold contracts.
const HOLD_CONTRACTS: [&str; 4] = ["additionalProperties", "items", "of", "x-pemdas-all"];

impl Engine {
    /// Describes the contract at a place. The engine must have been used for nothing but descriptions.
    pub(super) fn describe(&mut self, place: &Place) -> Result<Contract, Failure> {
        self.meter.start(self.limits.load_fuel, Instant::now() + Duration::from_millis(self.limits.millis));
        let known = match &self.known {
            Some(known) => Rc::clone(known),
            None => Rc::new(self.library_contracts()),
        };
        self.known = Some(Rc::clone(&known));
        let value = self.resolve(place)?;
        let mut describer = Describer { engine: self, known, left: MAX_CONTRACTS, around: Vec::new() };
        describer.value(value, 0)
    }

    /// The contracts and makers of contracts that the library's main file offers.
    fn library_contracts(&mut self) -> Vec<Known> {
        let mut known = Vec::new();
        let Some(main) = self.library.first() else { return known };
        let Ok(library) = self.resolve(&Place::file(main.name)) else { return known };
        let Ok(closure) = self.whnf(library.clone()) else { return known };
        let names: Vec<LocIdent> = match closure.value.content_ref() {
            ValueContentRef::Record(Container::Alloc(data)) => data.fields.keys().copied().collect(),
            _ => Vec::new(),
        };
        for name in names {
            // What cannot be evaluated cannot be used as a contract either.
            if let Ok(closure) = self.whnf(make::static_access(library.clone(), [name])) {
                known.push(Known { name: name.label().to_owned(), value: closure.value });
            }
        }
        known
    }
}

/// A value of the library.
pub(super) struct Known {
    name: String,
    value: NickelValue,
}

struct Describer<'a> {
    engine: &'a mut Engine,
    known: Rc<Vec<Known>>,
    left: u32,
    /// The record contracts around what is described, with their places.
    around: Vec<(NickelValue, Option<Span>)>,
}

impl Describer<'_> {
    /// Describes a value that is used as a contract.
    fn value(&mut self, value: NickelValue, level: u32) -> Result<Contract, Failure> {
        if level > MAX_LEVELS || self.left == 0 {
            return Ok(Contract { form: Form::Deeper, span: None, schema: None });
        }
        self.left -= 1;
        let closure = self.engine.whnf(value)?;
        let span = self.engine.files.of_idx(&self.engine.ctx.pos_table, closure.value.pos_idx());
        if let Some(name) = self.recognised(&closure.value, None) {
            let schema = self.schema(closure, level)?;
            return Ok(Contract { form: Form::Library { name, arguments: Vec::new() }, span, schema });
        }
        if kind_of(&closure.value) == Kind::Contract {
            let schema = self.schema(closure, level)?;
            return Ok(Contract { form: Form::Opaque(None), span, schema });
        }
        let form = match closure.value.content_ref() {
            ValueContentRef::Type(data) => return self.typ(&data.typ.clone(), &closure.env, level + 1),
            ValueContentRef::Record(Container::Empty) => Form::Record { fields: Vec::new(), open: false },
            ValueContentRef::Record(Container::Alloc(data)) => {
                if self.is_within_itself(&closure.value, span.as_ref()) {
                    return Ok(Contract { form: Form::Deeper, span, schema: None });
                }
                self.around.push((closure.value.clone(), span.clone()));
                let record = self.record(&data.clone(), level);
                self.around.pop();
                record?
            }
            _ => Form::Opaque(None),
        };
        Ok(Contract { form, span, schema: None })
    }

    /// Whether a record contract is one of those around it. One that a function makes is another each time: there its place
    /// tells, once it has come back too often.
    fn is_within_itself(&self, record: &NickelValue, span: Option<&Span>) -> bool {
        let same_place = self.around.iter().filter(|(_, outer)| outer.is_some() && outer.as_ref() == span);
        self.around.iter().any(|(outer, _)| outer.phys_eq(record)) || same_place.count() >= MAX_SAME_PLACE
    }

    /// What a contract answers to the question for its schema: a record of keywords. Some of them hold contracts again.
    fn schema(&mut self, contract: Closure, level: u32) -> Result<Option<Vec<(String, Argument)>>, Failure> {
        if kind_of(&contract.value) != Kind::Contract || level > MAX_LEVELS {
            return Ok(None);
        }
        let Closure { value, env } = contract;
        let asked = value.closurize(&mut self.engine.ctx.cache, env);
        let question = NickelValue::enum_tag_posless(LocIdent::from(QUESTION));
        let answer = RuntimeContract::new(asked, Label::default()).apply(question, PosIdx::NONE);
        let answer = match self.engine.whnf(answer) {
            Ok(closure) => closure,
            Err(failure) if stops(&failure) => return Err(failure),
            // It took the question for a value that it refuses.
            Err(_) => return Ok(None),
        };
        let ValueContentRef::Record(Container::Alloc(data)) = answer.value.content_ref() else {
            return Ok(None);
        };
        let mut keywords = Vec::new();
        for (name, field) in &data.clone().fields {
            let Some(value) = field.value_with_pending_contracts() else { continue };
            let keyword = name.label().to_owned();
            let said = if HOLD_CONTRACTS.contains(&keyword.as_str()) {
                self.argument_value(&value, level + 1)?
            } else {
                match self.engine.export(value) {
                    Ok(data) => Argument::Data(data),
                    Err(failure) if stops(&failure) => return Err(failure),
                    Err(_) => continue,
                }
            };
            keywords.push((keyword, said));
        }
        keywords.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Some(keywords))
    }

    /// A contract in an answer, or a list of them.
    fn argument_value(&mut self, value: &NickelValue, level: u32) -> Result<Argument, Failure> {
        let closure = self.engine.whnf(value.clone())?;
        if let ValueContentRef::Array(container) = closure.value.content_ref() {
            let mut all = Vec::new();
            if let Container::Alloc(data) = container {
                for element in data.array.iter() {
                    all.push(self.term(element, &closure.env, level + 1)?);
                }
            }
            return Ok(Argument::Contract(Contract { form: Form::All(all), span: None, schema: None }));
        }
        Ok(Argument::Contract(self.term(value, &Environment::new(), level + 1)?))
    }

    /// The name that a value has in the library.
    fn recognised(&self, value: &NickelValue, used: Option<&str>) -> Option<String> {
        if !matches!(kind_of(value), Kind::Contract | Kind::Function | Kind::Type) {
            return None;
        }
        // A function with a type is wrapped by the evaluator, every one in the same function: then the name must agree as well.
        let wrapped = kind_of(value) == Kind::Function
            && self.engine.files.of_idx(&self.engine.ctx.pos_table, value.pos_idx()).is_none();
        let known = self.known.iter().filter(|known| known.value.phys_eq(value));
        let mut named = known.filter(|known| !wrapped || used == Some(known.name.as_str()));
        named.next().map(|known| known.name.clone())
    }

    /// The function that makes a contract, if it is known: one of the library, or the evaluator's own `Sequence`, which has no name here.
    fn maker(&mut self, head: &NickelValue, env: &Environment) -> Result<Option<String>, Failure> {
        if is_sequence(head) {
            return Ok(Some(String::new()));
        }
        let function = head.clone().closurize(&mut self.engine.ctx.cache, env.clone());
        let function = self.engine.whnf(function)?;
        Ok(self.recognised(&function.value, name_of(head).as_deref()))
    }

    /// Describes a type as written, with what its names mean.
    fn typ(&mut self, typ: &Type, env: &Environment, level: u32) -> Result<Contract, Failure> {
        let span = self.engine.files.of_pos(typ.pos);
        if level > MAX_LEVELS {
            return Ok(Contract { form: Form::Deeper, span, schema: None });
        }
        let form = match &typ.typ {
            TypeF::Dyn | TypeF::Wildcard(_) => Form::Any,
            TypeF::Number => Form::Number,
            TypeF::Bool => Form::Bool,
            TypeF::String => Form::String,
            TypeF::Array(element) => Form::Array(Box::new(self.typ(element, env, level + 1)?)),
            TypeF::Dict { type_fields, .. } => {
                Form::Dictionary(Box::new(self.typ(type_fields, env, level + 1)?))
            }
            TypeF::Arrow(..) => Form::Function,
            TypeF::Enum(rows) => {
                let mut tags = Vec::new();
                for row in rows.iter() {
                    if let EnumRowsIteratorItem::Row(row) = row {
                        let argument = row.typ.map(|typ| self.typ(typ, env, level + 1)).transpose()?;
                        tags.push((row.id.label().to_owned(), argument));
                    }
                }
                Form::Enum(tags)
            }
            TypeF::Record(rows) => {
                let mut fields = Vec::new();
                let mut open = false;
                for row in rows.iter() {
                    match row {
                        RecordRowsIteratorItem::Row(row) => fields.push(FieldContract {
                            name: row.id.label().to_owned(),
                            contract: self.typ(row.typ, env, level + 1)?,
                            optional: false,
                            default: None,
                            default_fails: None,
                            given: false,
                            doc: None,
                            span: self.engine.files.of_pos(row.id.pos),
                        }),
                        _ => open = true,
                    }
                }
                fields.sort_by(|a, b| a.name.cmp(&b.name));
                Form::Record { fields, open }
            }
            TypeF::Contract(term) => {
                // As written, it has not been through the evaluator's preparations, which give fields their contracts.
                let prepared = transform(&mut self.engine.ctx.pos_table, term.clone(), None);
                return self.term(prepared.as_ref().unwrap_or(term), env, level);
            }
            TypeF::Symbol | TypeF::ForeignId | TypeF::Var(_) | TypeF::Forall { .. } => Form::Opaque(None),
        };
        Ok(Contract { form, span, schema: None })
    }

    /// Describes an expression in the place of a contract.
    fn term(&mut self, term: &NickelValue, env: &Environment, level: u32) -> Result<Contract, Failure> {
        let span = self.engine.files.of_idx(&self.engine.ctx.pos_table, term.pos_idx());
        let (head, arguments) = application(term);
        if !arguments.is_empty()
            && let Some(name) = self.maker(head, env)?
        {
            let mut described = Vec::new();
            for argument in arguments {
                described.push(self.argument(argument, env, level + 1)?);
            }
            let made = term.clone().closurize(&mut self.engine.ctx.cache, env.clone());
            let schema = match self.engine.whnf(made) {
                Ok(closure) => self.schema(closure, level)?,
                Err(failure) if stops(&failure) => return Err(failure),
                Err(_) => None,
            };
            return Ok(Contract { form: made_by(name, described), span, schema });
        }
        let mut contract = match self.behind(term, env)? {
            Some(Closure { value, env }) if level < MAX_LEVELS => self.term(&value, &env, level + 1)?,
            _ => {
                let value = term.clone().closurize(&mut self.engine.ctx.cache, env.clone());
                self.value(value, level + 1)?
            }
        };
        // The name nearest to its use is the one that the author knows it by.
        if let (Form::Opaque(name), Some(used)) = (&mut contract.form, name_of(head)) {
            *name = Some(used);
        }
        if span.is_some() {
            contract.span = span;
        }
        Ok(contract)
    }

    /// What a name stands for, if that is a call which nobody has made yet: `let Color = OneOf [...]`.
    fn behind(&mut self, term: &NickelValue, env: &Environment) -> Result<Option<Closure>, Failure> {
        let found = match term.content_ref() {
            ValueContentRef::Term(Term::Var(name)) => env.get(&name.ident()).cloned(),
            ValueContentRef::Term(Term::Op1(data)) => match &data.op {
                UnaryOp::RecordAccess(name) => {
                    let record = data.arg.clone().closurize(&mut self.engine.ctx.cache, env.clone());
                    let closure = self.engine.whnf(record)?;
                    let field = closure.value.as_record().and_then(|record| record.get(*name).cloned());
                    field.and_then(|field| field.value).and_then(|value| value.as_thunk().cloned())
                }
                _ => None,
            },
            ValueContentRef::Thunk(thunk) => Some(thunk.clone()),
            _ => None,
        };
        let closure = found.map(|thunk| self.engine.ctx.cache.get(thunk));
        Ok(closure.filter(|closure| {
            matches!(
                closure.value.content_ref(),
                ValueContentRef::Term(Term::App(_) | Term::Var(_) | Term::Op1(_)) | ValueContentRef::Thunk(_)
            )
        }))
    }

    /// An argument of a maker of contracts: data if it is data, else a contract or a list of contracts.
    fn argument(&mut self, term: &NickelValue, env: &Environment, level: u32) -> Result<Argument, Failure> {
        // Evaluated apart: trying whether it is data must not use up what it is made of.
        let trial = term.clone().closurize(&mut self.engine.ctx.cache, env.clone());
        match self.engine.export(trial) {
            Ok(data) => return Ok(Argument::Data(data)),
            Err(failure) if stops(&failure) => return Err(failure),
            Err(_) => {}
        }
        let value = term.clone().closurize(&mut self.engine.ctx.cache, env.clone());
        let closure = self.engine.whnf(value)?;
        if let ValueContentRef::Array(Container::Alloc(data)) = closure.value.content_ref() {
            let mut all = Vec::new();
            for element in data.array.iter() {
                all.push(self.term(element, &closure.env, level + 1)?);
            }
            return Ok(Argument::Contract(Contract { form: Form::All(all), span: None, schema: None }));
        }
        Ok(Argument::Contract(self.term(term, env, level + 1)?))
    }

    fn record(&mut self, data: &RecordData, level: u32) -> Result<Form, Failure> {
        let mut fields = Vec::new();
        for (name, field) in &data.fields {
            fields.push(self.field(*name, field, level + 1)?);
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Form::Record { fields, open: data.attrs.open })
    }

    fn field(&mut self, name: LocIdent, field: &Field, level: u32) -> Result<FieldContract, Failure> {
        let mut all = Vec::new();
        for contract in &field.pending_contracts {
            all.push(self.pending(contract, level)?);
        }
        let is_default = matches!(field.metadata.priority(), MergePriority::Bottom);
        let mut default = None;
        let mut default_fails = None;
        match &field.value {
            Some(value) if is_default => {
                let checked = self.apart(value.clone(), &field.pending_contracts);
                match self.engine.export(checked) {
                    Ok(data) => default = Some(data),
                    Err(failure) if stops(&failure) => return Err(failure),
                    Err(failure) => {
                        let why = failure.diagnostics().into_iter().next().map(|one| one.message);
                        default_fails = Some(why.unwrap_or_default());
                    }
                }
            }
            Some(value) => all.push(self.given(value.clone(), level)?),
            None => {}
        }
        let contract = match all.len() {
            0 => Contract { form: Form::Any, span: None, schema: None },
            1 => all.swap_remove(0),
            _ => Contract { form: Form::All(all), span: None, schema: None },
        };
        Ok(FieldContract {
            name: name.label().to_owned(),
            contract,
            optional: field.metadata.opt(),
            default,
            default_fails,
            given: field.value.is_some() && !is_default,
            doc: field.metadata.doc().map(|doc| self.engine.bounded(doc)),
            span: self.engine.files.of_pos(name.pos),
        })
    }

    /// A value with contracts applied, of which copies are used up: the contracts themselves can still be read.
    fn apart(&mut self, value: NickelValue, contracts: &[RuntimeContract]) -> NickelValue {
        let mut copies = Vec::with_capacity(contracts.len());
        for contract in contracts {
            let copy = match contract.contract.as_thunk() {
                Some(thunk) => {
                    let Closure { value, env } = self.engine.ctx.cache.get(thunk.clone());
                    value.closurize(&mut self.engine.ctx.cache, env)
                }
                None => contract.contract.clone(),
            };
            copies.push(RuntimeContract { contract: copy, ..contract.clone() });
        }
        let position = value.pos_idx();
        RuntimeContract::apply_all(value, copies, position)
    }

    /// A contract of a field, as written where it was written.
    fn pending(&mut self, contract: &RuntimeContract, level: u32) -> Result<Contract, Failure> {
        let typ = contract.label.typ.clone();
        let env = match contract.contract.as_thunk() {
            Some(thunk) => {
                let Closure { env, .. } = self.engine.ctx.cache.get(thunk.clone());
                env
            }
            None => Environment::new(),
        };
        match self.typ(&typ, &env, level) {
            // As written it cannot be read, for one because an import in it was never resolved; as evaluated it can.
            Err(failure) if !stops(&failure) => self.value(contract.contract.clone(), level),
            described => described,
        }
    }

    /// A field with a value in a record contract: a nested record contract, or exactly that value.
    fn given(&mut self, value: NickelValue, level: u32) -> Result<Contract, Failure> {
        let closure = self.engine.whnf(value.clone())?;
        if matches!(closure.value.content_ref(), ValueContentRef::Record(_)) {
            return self.value(value, level + 1);
        }
        let span = self.engine.files.of_idx(&self.engine.ctx.pos_table, closure.value.pos_idx());
        match self.engine.export(value) {
            Ok(data) => Ok(Contract { form: Form::Exactly(data), span, schema: None }),
            Err(failure) if stops(&failure) => Err(failure),
            Err(_) => Ok(Contract { form: Form::Opaque(None), span, schema: None }),
        }
    }
}

/// Whether a failure is the end of the whole description rather than a fact about one part.
fn stops(failure: &Failure) -> bool {
    matches!(failure, Failure::FuelExhausted { .. } | Failure::Killed { .. })
}

/// The evaluator's own `Sequence` has no name here: it is all of its contracts.
fn made_by(name: String, mut arguments: Vec<Argument>) -> Form {
    if name.is_empty() {
        return match arguments.pop() {
            Some(Argument::Contract(Contract { form: Form::All(all), .. })) => Form::All(all),
            _ => Form::Opaque(Some("Sequence".to_owned())),
        };
    }
    Form::Library { name, arguments }
}

/// `f a b` as the function and its arguments.
fn application(term: &NickelValue) -> (&NickelValue, Vec<&NickelValue>) {
    let mut head = term;
    let mut arguments = Vec::new();
    while let ValueContentRef::Term(Term::App(app)) = head.content_ref() {
        arguments.push(&app.arg);
        head = &app.head;
    }
    arguments.reverse();
    (head, arguments)
}

/// The name that an expression uses: `X`, or `lib.X`.
fn name_of(term: &NickelValue) -> Option<String> {
    match term.content_ref() {
        ValueContentRef::Term(Term::Var(name)) => Some(name.label().to_owned()),
        ValueContentRef::Term(Term::Op1(data)) => match &data.op {
            UnaryOp::RecordAccess(name) => Some(name.label().to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression is `std.contract.Sequence`, or `std.contract.all_of`, its other name.
fn is_sequence(term: &NickelValue) -> bool {
    let accessed = |term: &NickelValue| match term.content_ref() {
        ValueContentRef::Term(Term::Op1(data)) => match &data.op {
            UnaryOp::RecordAccess(name) => Some((name.label().to_owned(), data.arg.clone())),
            _ => None,
        },
        _ => None,
    };
    let Some((last, module)) = accessed(term) else { return false };
    let Some((module, std)) = accessed(&module) else { return false };
    matches!(last.as_str(), "Sequence" | "all_of")
        && module == "contract"
        && name_of(&std).as_deref() == Some("std")
}
