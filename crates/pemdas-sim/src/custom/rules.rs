//! Rules in CEL that stand in a schema, evaluated.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use cel::{Context, Program, Value as CelValue, extractors::This};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use crate::api::Cause;
use crate::typed::{Atom, Element, TypeRef};

/// How many rules are kept compiled.
const MOST_KNOWN: usize = 1_000;

/// The rules that an object breaks. With an old object those about changes count too.
pub(crate) fn broken_rules(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(schema, object, old, "", &mut causes);
    causes
}

fn walk(schema: &Value, value: &Value, old: Option<&Value>, path: &str, causes: &mut Vec<Cause>) {
    for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        causes.extend(broken(schema, rule, value, old, path));
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let inner = schema.get("properties").and_then(|it| it.get(name));
                let inner = inner.or(schema.get("additionalProperties").filter(|it| it.is_object()));
                if let Some(inner) = inner {
                    let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    walk(inner, field, old.and_then(|old| old.get(name)), &below, causes);
                }
            }
        }
        Value::Array(items) => {
            let Some(inner) = schema.get("items") else { return };
            for (index, item) in items.iter().enumerate() {
                walk(inner, item, old_item(schema, item, old), &format!("{path}[{index}]"), causes);
            }
        }
        _ => {}
    }
}

/// The old item that belongs to an item: only the keys of a map of items tell.
fn old_item<'a>(schema: &Value, item: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
    let Atom::List(items, _) = TypeRef::Schema(schema).atom(&Value::Null) else { return None };
    let key = Element::of_item(items, item).ok()?;
    old?.as_array()?.iter().find(|other| Element::of_item(items, other).as_ref() == Ok(&key))
}

fn broken(schema: &Value, rule: &Value, value: &Value, old: Option<&Value>, path: &str) -> Option<Cause> {
    let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    let source = text("rule");
    let about_change = source.contains("oldSelf");
    let optional_old = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
    if about_change && old.is_none() && !optional_old {
        return None;
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let wrong = |message: String| {
        let field = match text("fieldPath") {
            "" if path.is_empty() => "<nil>".to_owned(),
            "" => path.to_owned(),
            below => format!("{path}{below}"),
        };
        let (reason, shown) = match text("reason") {
            "FieldValueForbidden" => ("FieldValueForbidden", format!("Forbidden: {message}")),
            "FieldValueRequired" => ("FieldValueRequired", format!("Required value: {message}")),
            "FieldValueDuplicate" => ("FieldValueDuplicate", format!("Duplicate value: {kind:?}")),
            _ => ("FieldValueInvalid", format!("Invalid value: {message}")),
        };
        Some(Cause { reason, message: shown, field })
    };
    let mut context = Context::default();
    if !add_quantities(&mut context) {
        return wrong("cannot be evaluated".to_owned());
    }
    let prepared = Seen { schema, value };
    if context.add_variable("self", prepared).is_err() {
        return wrong("cannot be evaluated".to_owned());
    }
    if let Some(old) = old
        && context.add_variable("oldSelf", Seen { schema, value: old }).is_err()
    {
        return wrong("cannot be evaluated".to_owned());
    }
    let evaluate = |source: &str| compiled(source)?.execute(&context).ok();
    match evaluate(source) {
        Some(CelValue::Bool(true)) => None,
        Some(CelValue::Bool(false)) => {
            let computed = match evaluate(text("messageExpression")) {
                Some(CelValue::String(message)) => Some(message.to_string()),
                _ => None,
            };
            let given = Some(text("message").to_owned()).filter(|it| !it.is_empty());
            wrong(computed.or(given).unwrap_or_else(|| format!("failed rule: {source}")))
        }
        _ => wrong(format!("failed rule: {source}")),
    }
}

thread_local! {
    /// Rules as they were read; of those that cannot be read, that they cannot.
    static KNOWN: RefCell<BTreeMap<String, Option<Arc<Program>>>> = const { RefCell::new(BTreeMap::new()) };
}

/// A rule that can be evaluated, if it can be read. The same ones are asked for with every write.
fn compiled(source: &str) -> Option<Arc<Program>> {
    KNOWN.with_borrow_mut(|known| {
        if let Some(found) = known.get(source) {
            return found.clone();
        }
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let program = Program::compile(source).ok().map(Arc::new);
        known.insert(source.to_owned(), program.clone());
        program
    })
}

/// The functions of Kubernetes about quantities; whether they could be added. A quantity is a number here: they are compared, and
/// nothing else.
fn add_quantities(context: &mut Context<'_, '_>) -> bool {
    let order = |a: f64, b: f64| a.partial_cmp(&b).map_or(0, |it| it as i64);
    let read = |text: Arc<String>| quantity(&text).map_or(CelValue::Null, CelValue::Float);
    context.add_function("quantity", read).is_ok()
        && context.add_function("isQuantity", |text: Arc<String>| quantity(&text).is_some()).is_ok()
        && context.add_function("compareTo", move |This(a): This<f64>, b: f64| order(a, b)).is_ok()
        && context.add_function("isLessThan", |This(a): This<f64>, b: f64| a < b).is_ok()
        && context.add_function("isGreaterThan", |This(a): This<f64>, b: f64| a > b).is_ok()
}

/// How much a quantity is: `1Gi`, `500m`, `1e3`.
fn quantity(text: &str) -> Option<f64> {
    const SUFFIXES: &[(&str, f64)] = &[
        ("Ki", 1_024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let found = SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
    let (number, factor) = found.unwrap_or((text, 1.0));
    // Rust reads words as numbers, too.
    let plain = number.starts_with(|it: char| it.is_ascii_digit() || "+-.".contains(it));
    let number = number.parse::<f64>().ok().filter(|it| plain && it.is_finite())?;
    Some(number * factor)
}

/// A value as rules see it: whole numbers are of one type, and names of fields are written so that they are names.
struct Seen<'a> {
    schema: &'a Value,
    value: &'a Value,
}

impl Serialize for Seen<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let unknown = Value::Null;
        match self.value {
            Value::Null => to.serialize_unit(),
            Value::Bool(it) => to.serialize_bool(*it),
            Value::Number(number) => {
                let is_float = self.schema.get("type").is_some_and(|it| it == "number");
                match number.as_i64().filter(|_| !is_float) {
                    Some(whole) => to.serialize_i64(whole),
                    None => to.serialize_f64(number.as_f64().unwrap_or_default()),
                }
            }
            Value::String(text) => to.serialize_str(text),
            Value::Array(items) => {
                let mut list = to.serialize_seq(Some(items.len()))?;
                for value in items {
                    let schema = self.schema.get("items").unwrap_or(&unknown);
                    list.serialize_element(&Seen { schema, value })?;
                }
                list.end()
            }
            Value::Object(fields) => {
                let mut map = to.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    match self.schema.get("properties").and_then(|it| it.get(name)) {
                        Some(schema) => map.serialize_entry(&escaped(name), &Seen { schema, value })?,
                        None => {
                            let schema = self.schema.get("additionalProperties").unwrap_or(&unknown);
                            map.serialize_entry(name, &Seen { schema, value })?;
                        }
                    }
                }
                map.end()
            }
        }
    }
}

/// A name of a field as rules have to write it.
fn escaped(name: &str) -> String {
    const RESERVED: &[&str] = &[
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::broken_rules;

    #[test]
    fn rules_are_evaluated() {
        let schema = json!({
            "type": "object",
            "properties": { "spec": {
                "type": "object",
                "x-kubernetes-validations": [
                    { "rule": "self.min <= self.max", "message": "min must not exceed max" },
                    { "rule": "self.name == oldSelf.name", "message": "name is fixed" },
                    { "rule": "self.items.all(x, x.startsWith('a'))" },
                ],
                "properties": {
                    "min": { "type": "integer" }, "max": { "type": "integer" }, "name": { "type": "string" },
                    "items": { "type": "array", "items": { "type": "string" } },
                },
            } },
        });
        let object =
            |min: i64, name: &str| json!({ "spec": { "min": min, "max": 5, "name": name, "items": ["a1"] } });
        assert_eq!(broken_rules(&schema, &object(5, "x"), None), []);
        let broken = broken_rules(&schema, &object(6, "y"), Some(&object(1, "x")));
        let messages: Vec<&str> = broken.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages, ["Invalid value: min must not exceed max", "Invalid value: name is fixed"]);
        assert_eq!(broken.first().map(|it| it.field.as_str()), Some("spec"));
    }

    #[test]
    fn quantities_are_compared() {
        let grow = "quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0";
        let schema =
            json!({ "type": "string", "x-kubernetes-validations": [{ "rule": grow, "message": "less" }] });
        let is_fine = |old: &str, new: &str| broken_rules(&schema, &json!(new), Some(&json!(old))).is_empty();
        for (old, new) in [("1Gi", "1Gi"), ("1G", "1Gi"), ("500m", "1"), ("1023Mi", "1Gi"), ("1e3", "1k")] {
            assert!(is_fine(old, new), "{old} {new}");
        }
        assert!(is_fine("1Gi", "1024Mi"));
        assert!(!is_fine("1Gi", "1G") && !is_fine("1Gi", "infinity"));
    }
}
