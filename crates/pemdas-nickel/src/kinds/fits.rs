//! Contracts that need no evaluator to say that a value fits: those that are types, bounds and defaults all the way down.

use std::collections::BTreeMap;

use pemdas_core::blueprint::{Fits, FittingField};
use pemdas_core::crd::Schema;

use crate::contract::{Argument, Contract, FieldContract, Form};

/// What a contract that no field of the object varies asks for, if it asks for nothing but this; the schema that was drafted from it says which defaults are constant.
pub(super) fn fits(contract: &Contract, schema: &Schema) -> Option<Fits> {
    if let Some(keywords) = &contract.schema {
        // A contract of an author's may check more than it says of itself; one of the library's does not.
        return matches!(contract.form, Form::Library { .. }).then(|| said(keywords)).flatten();
    }
    Some(match &contract.form {
        Form::String => Fits::Text { least: 0, most: None },
        Form::Bool => Fits::Bool,
        // Numbers that are not whole are written in more than one way.
        Form::Number => Fits::Whole { least: None, most: None },
        Form::Array(item) => Fits::List(Box::new(nested(item)?)),
        Form::Dictionary(of) => Fits::Dictionary(Box::new(nested(of)?)),
        Form::Record { fields, open: false } => {
            let drafted = &schema.as_record()?.fields;
            let fields = fields.iter().map(|it| {
                let of = drafted.get(&it.name).filter(|it| !it.filled)?;
                Some((it.name.clone(), field(it, &of.schema)?))
            });
            Fits::Record(fields.collect::<Option<BTreeMap<_, _>>>()?)
        }
        _ => return None,
    })
}

/// What is inside a list or dictionary: nothing that would be filled in.
fn nested(contract: &Contract) -> Option<Fits> {
    fits(contract, &Schema::any())
}

fn field(field: &FieldContract, schema: &Schema) -> Option<FittingField> {
    if field.given || field.default_fails.is_some() || field.default != schema.default {
        return None;
    }
    let contract = match &field.contract {
        Contract { form: Form::All(parts), schema: None, .. } if parts.len() == 1 => &parts[0],
        contract => contract,
    };
    let fits = fits(contract, schema)?;
    // What is inside a default may be filled in too.
    if field.default.as_ref().is_some_and(|it| it.is_object() || it.is_array()) {
        return None;
    }
    Some(FittingField { fits, optional: field.optional, default: field.default.clone() })
}

/// What a contract of the library says of itself.
fn said(keywords: &[(String, Argument)]) -> Option<Fits> {
    let known = ["type", "minLength", "maxLength", "minimum", "maximum"];
    let mut said = BTreeMap::new();
    for (keyword, argument) in keywords {
        let Argument::Data(data) = argument else { return None };
        known.contains(&keyword.as_str()).then(|| said.insert(keyword.as_str(), data))?;
    }
    let bound = |name: &str| match said.get(name) {
        None => Some(None),
        Some(number) => number.as_i64().map(Some),
    };
    let length = |name: &str| bound(name)?.map(u64::try_from).transpose().ok();
    match said.get("type").and_then(|it| it.as_str())? {
        "string" if !said.contains_key("minimum") && !said.contains_key("maximum") => {
            Some(Fits::Text { least: length("minLength")?.unwrap_or(0), most: length("maxLength")? })
        }
        "integer" if !said.contains_key("minLength") && !said.contains_key("maxLength") => {
            Some(Fits::Whole { least: bound("minimum")?, most: bound("maximum")? })
        }
        "boolean" if said.len() == 1 => Some(Fits::Bool),
        _ => None,
    }
}
