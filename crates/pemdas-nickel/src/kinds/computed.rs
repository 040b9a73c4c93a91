//! Fields of a contract that are computed from other fields of the object: what a CRD says is the same for every object,
//! so it can say nothing of them.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::crd::{Side, codes};
use pemdas_core::diagnostic::{Diagnostic, Span};

use super::schemas::Converter;
use crate::contract::{Argument, Contract, FieldContract, Form};

/// A read of a record's field by something that stands in the same record, or deeper in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRead {
    /// The name that is read.
    pub name: String,
    /// Where it is read.
    pub span: Span,
    /// The field's definitions, by the places of their names.
    pub targets: Vec<Span>,
    /// The fields whose definitions it stands in, from the outside in.
    pub within: Vec<Around>,
}

/// A field whose definition something stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// The place of its name.
    pub name: Span,
    /// Whether it stands in the value, and not in an annotation.
    pub in_value: bool,
}

/// By the place of a field's name: what it reads of other fields, and whether in its value.
pub(super) type ReadsOfFields<'r> = BTreeMap<Span, Vec<(&'r FieldRead, bool)>>;

/// All reads of a blueprint, to be found by the field that is read.
#[derive(Debug, Default)]
pub(super) struct Reads<'r> {
    of_target: BTreeMap<&'r Span, Vec<&'r FieldRead>>,
}

impl<'r> Reads<'r> {
    pub(super) fn new(reads: &'r [FieldRead]) -> Self {
        let mut of_target: BTreeMap<&Span, Vec<&FieldRead>> = BTreeMap::new();
        for read in reads {
            for target in &read.targets {
                of_target.entry(target).or_default().push(read);
            }
        }
        Self { of_target }
    }

    /// The reads by which fields of a contract depend on one another: by the place of the name of the field that reads.
    pub(super) fn within(&self, contract: &Contract) -> ReadsOfFields<'r> {
        let mut fields = BTreeSet::new();
        if !self.of_target.is_empty() {
            fields_of(contract, &mut fields);
        }
        let mut found = ReadsOfFields::new();
        for read in fields.iter().filter_map(|field| self.of_target.get(field)).flatten() {
            if let Some(owner) = read.within.iter().rev().find(|around| fields.contains(&around.name)) {
                found.entry(owner.name.clone()).or_default().push((read, owner.in_value));
            }
        }
        found
    }
}

/// The places of the names of all fields of a contract.
fn fields_of<'c>(contract: &'c Contract, found: &mut BTreeSet<&'c Span>) {
    let arguments = contract.schema.iter().flatten().map(|(_, argument)| argument);
    for argument in arguments {
        if let Argument::Contract(inner) = argument {
            fields_of(inner, found);
        }
    }
    match &contract.form {
        Form::Array(inner) | Form::Dictionary(inner) => fields_of(inner, found),
        Form::All(parts) => parts.iter().for_each(|part| fields_of(part, found)),
        Form::Record { fields, .. } => {
            for field in fields {
                found.extend(&field.span);
                fields_of(&field.contract, found);
            }
        }
        _ => {}
    }
}

/// What of a field is the same for every object.
pub(super) struct Constant {
    /// Its contracts without those that depend on other fields; none: all of them stand.
    pub(super) contracts: Option<Vec<Contract>>,
    /// Whether its value, or its default, is computed from other fields.
    pub(super) value_varies: bool,
}

impl Converter<'_> {
    /// Takes out of a field what is computed from other fields, and tells of it.
    pub(super) fn constant(&mut self, field: &FieldContract, path: &str, span: &Span) -> Constant {
        let reads = field.span.as_ref().and_then(|name| self.reads.get(name)).cloned().unwrap_or_default();
        let mut constant = Constant { contracts: None, value_varies: false };
        if reads.is_empty() {
            return constant;
        }
        let parts = match &field.contract {
            Contract { form: Form::All(parts), span: None, schema: None } => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        // The last part of a field with a value is that value.
        let (written, value) = match parts.split_last() {
            Some((value, written)) if field.given => (written, Some(value)),
            _ => (parts, None),
        };
        let holds = |part: &Contract, read: &Span| {
            part.span
                .as_ref()
                .is_some_and(|it| it.file == read.file && it.start <= read.start && read.end <= it.end)
        };
        let mut kept = written.to_vec();
        let mut told = Vec::new();
        let mut computed = Vec::new();
        for (read, in_value) in reads {
            if in_value {
                constant.value_varies = true;
                let names = if field.given { &mut told } else { &mut computed };
                names.push(read.name.as_str());
                continue;
            }
            told.push(read.name.as_str());
            if written.iter().any(|part| holds(part, &read.span)) {
                kept.retain(|part| !holds(part, &read.span));
            } else {
                // Somewhere in its contracts, and nobody knows in which.
                kept.clear();
            }
        }
        if !computed.is_empty() {
            self.computed_default(&listed(&computed), path, span);
        }
        kept.extend(value.filter(|_| !constant.value_varies).cloned());
        if !told.is_empty() {
            self.dependent(&listed(&told), path, span);
        }
        constant.contracts = Some(kept);
        constant
    }

    pub(super) fn computed_default(&mut self, names: &str, path: &str, span: &Span) {
        self.report(
            Diagnostic::remark(codes::DEFAULT, format!("the default of {path} is computed from {names}"))
                .at(span.clone(), "")
                .note("the CRD gets no default for this field: an object may lack it, and a blueprint that reads it sees the computed value"),
        );
        self.gap(path, Side::OnlyContract, format!("the default is computed from {names}"), span);
    }

    fn dependent(&mut self, names: &str, path: &str, span: &Span) {
        self.report(
            Diagnostic::warning(codes::DEPENDENT, format!("the contract of {path} depends on {names}"))
                .at(span.clone(), "")
                .note("the CRD leaves this part of it out; the contract still checks it")
                .hint("rules such as `Ordered` and `RequiredWhen` relate fields in a way that the API server checks too"),
        );
        self.gap(path, Side::OnlyContract, format!("what depends on {names}"), span);
    }
}

/// Names in a sentence, each once.
fn listed(names: &[&str]) -> String {
    let once: BTreeSet<&&str> = names.iter().collect();
    once.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
