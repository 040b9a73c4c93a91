//! What a contract answers when it is asked for its schema.

use pemdas_core::crd::{
    KEYWORDS, Leaves, Reason, Relation, Schema, Side, Type, Wanted, codes, embedded, from_json, structural,
};
use pemdas_core::diagnostic::{Diagnostic, Span};
use serde_json::{Map, Value};

use super::schemas::Converter;
use crate::contract::{Argument, Contract, Form};

/// Keywords of OpenAPI that the API server takes and the model keeps as they are.
const TAKEN: [&str; 9] = [
    "allOf",
    "anyOf",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "not",
    "oneOf",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
];

impl Converter<'_> {
    /// The schema of an answer.
    pub(super) fn keywords(
        &mut self,
        keywords: &[(String, Argument)],
        contract: &Contract,
        path: &str,
        span: &Span,
    ) -> Schema {
        let said = |name: &str| keywords.iter().find(|(keyword, _)| keyword == name).map(|(_, said)| said);
        let data = |name: &str| match said(name) {
            Some(Argument::Data(data)) => Some(data),
            _ => None,
        };
        let mut base = match (said("of"), said("x-pemdas-all"), data("x-pemdas-kubernetes-type")) {
            (Some(Argument::Contract(inner)), _, _) => self.schema(inner, path, span),
            (_, Some(Argument::Contract(Contract { form: Form::All(parts), .. })), _) => {
                self.all(parts, path, span)
            }
            (_, _, Some(Value::String(id))) => return self.embedded(id, path, span),
            _ => self.plain(keywords, path, span),
        };
        if data("nullable") == Some(&Value::Bool(true)) {
            let listed = base.allowed.clone();
            if !base.allow_null() {
                let listed = serde_json::to_string(&listed).unwrap_or_default();
                self.gap(path, Side::OnlyContract, format!("null or one of {listed}"), span);
            }
        }
        if data("x-pemdas-quantity") == Some(&Value::Bool(true)) {
            base.quantity = true;
        }
        if let Some(Value::Array(rules)) = data("x-pemdas-rules") {
            for rule in rules {
                self.rule(&mut base, rule, contract, span);
            }
        }
        if let Some(words) = data("x-pemdas-saying") {
            self.known_reason(words, span);
            saying(&mut base, words);
        }
        base
    }

    /// Keywords of OpenAPI.
    fn plain(&mut self, keywords: &[(String, Argument)], path: &str, span: &Span) -> Schema {
        let mut known = Map::new();
        let mut inner = None;
        for (keyword, said) in keywords {
            match said {
                _ if keyword.starts_with("x-pemdas-") => {}
                Argument::Contract(contract) => inner = Some((keyword.as_str(), contract)),
                Argument::Data(data)
                    if KEYWORDS.contains(&keyword.as_str()) || TAKEN.contains(&keyword.as_str()) =>
                {
                    known.insert(keyword.clone(), data.clone());
                }
                Argument::Data(_) => self.report(
                    Diagnostic::warning(codes::KEYWORD, format!("a schema has no keyword `{keyword}`"))
                        .at(span.clone(), "")
                        .note("the CRD leaves it out"),
                ),
            }
        }
        let (known, left_out) = structural(&known);
        for one in left_out {
            self.report(
                Diagnostic::error(
                    codes::KEYWORD,
                    format!("a CRD cannot hold `{}` so: {}", one.keyword, one.why),
                )
                .at(span.clone(), "")
                .note("the CRD leaves it out; the contract still checks what it checks"),
            );
            self.gap(path, Side::OnlyContract, format!("what `{}` says", one.keyword), span);
        }
        let mut schema = from_json(&Value::Object(known.clone()));
        if !known.contains_key("type") && !known.contains_key("x-kubernetes-int-or-string") {
            // It says nothing of the type, so null is not refused by it either.
            schema.nullable = true;
        }
        // The status is written by us, who know what a time looks like.
        if schema.format.is_some() && matches!(schema.of, Type::String) && path.starts_with("spec") {
            self.gap(
                path,
                Side::OnlyContract,
                "no list: the API server lets one pass where a format is named",
                span,
            );
        }
        match inner {
            Some(("items", contract)) => {
                schema.of = Type::List(Box::new(self.schema(contract, &format!("{path}[]"), span)));
                self.fitting_list_type(&mut schema, path, span);
            }
            Some(("additionalProperties", contract)) => {
                schema.of = Type::Dictionary(Box::new(self.schema(contract, &format!("{path}{{}}"), span)));
            }
            _ => self.fitting_list_type(&mut schema, path, span),
        }
        if let Some(default) = schema.default.take() {
            self.default(&mut schema, default, path, span);
        }
        schema
    }

    /// A type of Kubernetes itself.
    fn embedded(&mut self, id: &str, path: &str, span: &Span) -> Schema {
        let mut left = Vec::new();
        let found = embedded(id, &mut |one| left.push(one));
        left.sort_unstable();
        left.dedup();
        for one in left {
            let (side, what) = match one {
                Leaves::Inside(inner) => {
                    (Side::OnlyContract, format!("what is inside a {inner}, which contains itself"))
                }
            };
            self.gap(path, side, what, span);
        }
        found.unwrap_or_else(Schema::any)
    }

    /// Tells of a reason that the API server does not know.
    fn known_reason(&mut self, words: &Value, span: &Span) {
        let Some(said) = words.get("reason").and_then(Value::as_str) else { return };
        if Reason::of(said).is_none() {
            let known: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
            self.report(
                Diagnostic::error(codes::RULE, format!("the API server knows no reason \"{said}\""))
                    .at(span.clone(), "")
                    .note("the CRD leaves the reason out")
                    .hint(format!("there are: {}", known.join(", "))),
            );
        }
    }

    fn rule(&mut self, schema: &mut Schema, data: &Value, contract: &Contract, span: &Span) {
        let Some(relation) = relation(data) else {
            self.report(
                Diagnostic::error(codes::RULE, "this rule has a form that it cannot have")
                    .at(span.clone(), ""),
            );
            return;
        };
        if let Relation::Cel { rule, checked: false } = &relation
            && !relation.is_about_change()
        {
            self.report(
                Diagnostic::error(codes::UNCHECKED, format!("the contract does not know what the rule `{rule}` says"))
                    .at(span.clone(), "")
                    .note("the CRD leaves the rule out: the API server would refuse what the contract accepts")
                    .hint("add `check = fun value => ...`, the same in Nickel; or use a rule of the library, which has both"),
            );
            return;
        }
        let written = contract.span.clone().filter(|span| !crate::is_library_file(&span.file));
        schema.wanted.push(Wanted {
            relation,
            message: None,
            reason: None,
            field_path: None,
            span: Some(written.unwrap_or_else(|| span.clone())),
        });
    }
}

/// Gives the author's words to the rules that have none.
fn saying(schema: &mut Schema, words: &Value) {
    let text = |key: &str| words.get(key).and_then(Value::as_str).map(str::to_owned);
    for wanted in &mut schema.wanted {
        wanted.message = wanted.message.take().or_else(|| text("message"));
        wanted.reason = wanted.reason.or_else(|| text("reason").as_deref().and_then(Reason::of));
        wanted.field_path = wanted.field_path.take().or_else(|| text("field"));
    }
}

/// A rule as the library says it.
fn relation(data: &Value) -> Option<Relation> {
    let names = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let tests = |value: &Value| -> Option<Vec<(String, Value)>> {
        Some(value.as_object()?.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let map = data.as_object()?;
    let get = |key: &str| map.get(key);
    if let Some(rule) = get("cel").and_then(Value::as_str) {
        let checked = get("checked").and_then(Value::as_bool).unwrap_or_default();
        return Some(Relation::Cel { rule: rule.to_owned(), checked });
    }
    if let Some(when) = get("required_when") {
        return Some(Relation::RequiredWhen(tests(when)?, names(get("fields")?)?));
    }
    if let Some(when) = get("forbidden_when") {
        return Some(Relation::ForbiddenWhen(tests(when)?, names(get("fields")?)?));
    }
    let (key, value) = map.iter().next()?;
    Some(match key.as_str() {
        "ordered" => Relation::Ordered(names(value)?),
        "exactly_one_of" => Relation::ExactlyOneOf(names(value)?),
        "at_most_one_of" => Relation::AtMostOneOf(names(value)?),
        "at_least_one_of" => Relation::AtLeastOneOf(names(value)?),
        "together" => Relation::Together(names(value)?),
        "immutable" => Relation::Immutable,
        "grow_only" => Relation::GrowOnly,
        _ => return None,
    })
}
