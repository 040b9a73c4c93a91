//! Rules about several fields of one record.

use super::expression::{Named, field_path};
use crate::crd::rule::{CelRule, Reason, Relation, Wanted};
use crate::crd::schema::{Schema, Type};

/// How many fields one rule may name.
const MOST_FIELDS: usize = 16;
/// How many characters a message has at most. The API server takes 2048 bytes.
const LONGEST_MESSAGE: usize = 500;

/// The rules of the API server that say the same; an error says why there are none.
pub(super) fn rules(schema: &Schema, wanted: &Wanted) -> Result<Vec<CelRule>, String> {
    if let Some(path) = &wanted.field_path {
        told_about(schema, path)?;
    }
    if let Relation::Cel { rule, .. } = &wanted.relation {
        // The API server wants a message for a rule of several lines, which it cannot show as one.
        let message = rule.contains(['\n', '\r']).then(|| "a rule of this kind does not hold".to_owned());
        return Ok(vec![made(wanted, rule.clone(), message, None, None)]);
    }
    if schema.as_record().is_none() {
        return Err(format!("a rule about fields stands on a record, and this is {}", schema.a_type()));
    }
    let words = wanted.relation.words();
    let plain = |rule: String| vec![made(wanted, rule, Some(words.clone()), None, None)];
    match &wanted.relation {
        Relation::Ordered(names) => ordered(schema, wanted, &named(schema, names)?, names),
        Relation::ExactlyOneOf(names) => {
            Ok(plain(format!("[{}].exists_one(given, given)", given(&named(schema, names)?).join(", "))))
        }
        Relation::AtMostOneOf(names) => {
            let given = given(&named(schema, names)?).join(", ");
            Ok(plain(format!("[{given}].filter(given, given).size() <= 1")))
        }
        Relation::AtLeastOneOf(names) => Ok(plain(given(&named(schema, names)?).join(" || "))),
        Relation::Together(names) => {
            let given = given(&named(schema, names)?);
            let pairs: Vec<String> =
                given.iter().zip(given.iter().skip(1)).map(|(a, b)| format!("{a} == {b}")).collect();
            Ok(plain(pairs.join(" && ")))
        }
        Relation::RequiredWhen(tests, names) => {
            let when = conditions(schema, tests)?;
            let fields = named(schema, names)?;
            let rule = format!("!({when}) || ({})", given(&fields).join(" && "));
            Ok(vec![made(wanted, rule, Some(words), Some(Reason::Required), only(names))])
        }
        Relation::ForbiddenWhen(tests, names) => {
            let when = conditions(schema, tests)?;
            let fields = named(schema, names)?;
            let rule = format!("!({when}) || !({})", given(&fields).join(" || "));
            Ok(vec![made(wanted, rule, Some(words), Some(Reason::Forbidden), only(names))])
        }
        Relation::Immutable | Relation::GrowOnly | Relation::Cel { .. } => Ok(Vec::new()),
    }
}

/// Whether a refusal can be about a field: the API server looks for it in the schema.
fn told_about(schema: &Schema, path: &str) -> Result<(), String> {
    let names: Vec<&str> = path.split('.').collect();
    if field_path(path).is_none() || schema.at(&names).is_none() {
        return Err(format!("its message is to be about `{path}`, and there is no such field here"));
    }
    Ok(())
}

/// The path of the field that a refusal is about, if it is one.
fn only(names: &[String]) -> Option<String> {
    match names {
        [name] => field_path(name),
        _ => None,
    }
}

fn named<'s>(schema: &'s Schema, names: &[String]) -> Result<Vec<Named<'s>>, String> {
    if names.is_empty() || names.len() > MOST_FIELDS {
        return Err(format!("a rule names 1 to {MOST_FIELDS} fields"));
    }
    names.iter().map(|name| Named::find(schema, name)).collect()
}

fn given(fields: &[Named<'_>]) -> Vec<String> {
    fields.iter().map(Named::is_given).collect()
}

fn conditions(schema: &Schema, tests: &[(String, serde_json::Value)]) -> Result<String, String> {
    if tests.is_empty() {
        return Err("the condition of the rule is empty".to_owned());
    }
    let parts: Result<Vec<String>, String> =
        tests.iter().map(|(name, value)| Named::find(schema, name)?.is(name, value)).collect();
    Ok(parts?.join(" && "))
}

/// Every field is at most every later one: one rule for each pair, so that the message can name it.
fn ordered(
    _schema: &Schema,
    wanted: &Wanted,
    fields: &[Named<'_>],
    names: &[String],
) -> Result<Vec<CelRule>, String> {
    let mut rules = Vec::new();
    for (field, name) in fields.iter().zip(names) {
        if !matches!(field.schema.of, Type::Integer | Type::Number) {
            return Err(format!("`{name}` is {}, and only numbers are put in order", field.schema.a_type()));
        }
    }
    for (index, (low, low_name)) in fields.iter().zip(names).enumerate() {
        for (high, high_name) in fields.iter().zip(names).skip(index + 1) {
            let same = std::mem::discriminant(&low.schema.of) == std::mem::discriminant(&high.schema.of);
            let comparison = if same {
                format!("{} <= {}", low.value, high.value)
            } else {
                format!("double({}) <= double({})", low.value, high.value)
            };
            let rule = format!("{}{}{comparison}", low.unless_missing(), high.unless_missing());
            let message = format!("{low_name} must not be greater than {high_name}");
            rules.push(made(wanted, rule, Some(message), Some(Reason::Invalid), field_path(low_name)));
        }
    }
    Ok(rules)
}

/// A message as the API server takes it: in one line, not empty, not too long.
fn in_one_line(message: &str) -> Option<String> {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(LONGEST_MESSAGE).collect();
    (!short.is_empty()).then_some(short)
}

/// A rule, with what the author says in place of what is said otherwise.
pub(super) fn made(
    wanted: &Wanted,
    rule: String,
    message: Option<String>,
    reason: Option<Reason>,
    path: Option<String>,
) -> CelRule {
    CelRule {
        rule,
        message: wanted.message.as_deref().and_then(in_one_line).or_else(|| in_one_line(&message?)),
        message_expression: None,
        reason: wanted.reason.or(reason),
        field_path: wanted.field_path.as_deref().and_then(field_path).or(path),
        optional_old_self: false,
    }
}
