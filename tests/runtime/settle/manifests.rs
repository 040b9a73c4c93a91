//! Manifests of every built-in kind, each with one field empty, zero, null or set: made from the table of Kubernetes' types.
//!
//! `known.json` has what no schema says: for each kind a manifest that the API server accepts (`bases`), values of types and of fields that
//! mean something to it (`types`, `fields`), and what a field needs beside it (`beside`).

use std::collections::BTreeSet;

use pemdas_core::kube_types::{Field, Kind, Shape, ShapeText, Type};
use serde_json::{Map, Value, json};

/// What is known beside the schema.
pub(super) struct Known(Value);

/// A manifest that differs from the base of its kind in one field.
pub(super) struct Case {
    /// The type and the field: `core/v1/Container#env`.
    pub(super) field: String,
    /// `empty`, `null` or `set`.
    pub(super) how: &'static str,
    pub(super) manifest: Value,
}

impl Known {
    pub(super) fn read() -> Self {
        Self(serde_json::from_str(include_str!("known.json")).unwrap())
    }

    pub(super) fn bases(&self) -> &[Value] {
        self.0["bases"].as_array().unwrap()
    }

    /// The fields whose set value the API server refuses, whatever is beside it.
    pub(super) fn refused(&self) -> BTreeSet<String> {
        let list = self.0["refused"].as_array().unwrap();
        list.iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    }

    /// What the API server accepts and drops, by case.
    pub(super) fn dropped(&self) -> &Map<String, Value> {
        self.0["dropped"].as_object().unwrap()
    }

    /// The cases of all kinds. Each type is gone through where it is met first: a pod's template once, not in each kind that embeds it.
    pub(super) fn cases(&self) -> Vec<(Kind, Vec<Case>)> {
        let mut seen: BTreeSet<&'static str> = BTreeSet::new();
        let closed = self.0["closed"].as_array().unwrap();
        seen.extend(Type::all_ids().filter(|id| closed.iter().any(|it| it == id)));
        let kinds = self.bases().iter().map(|base| {
            let kind = kind_of(base);
            let mut cases = vec![Case { field: kind.name.to_owned(), how: "base", manifest: base.clone() }];
            let mut walk = Walk { known: self, seen: &mut seen, cases: &mut cases };
            walk.record(kind.body().unwrap(), base, &|it| it, true);
            (kind, cases)
        });
        kinds.collect()
    }

    /// A value that means something, of a field.
    fn field(&self, field: &Field) -> Value {
        let known = &self.0["fields"][name(field)];
        if known.is_null() { self.shape(field.shape(), field.allowed().as_deref()) } else { known.clone() }
    }

    /// A record of a type with all that it needs.
    fn record(&self, id: &str) -> Value {
        let known = &self.0["types"][id];
        if !known.is_null() {
            return known.clone();
        }
        let fields = Type::find(id).unwrap().fields().filter(Field::is_required);
        fields.map(|it| (it.name.to_owned(), self.field(&it))).collect()
    }

    fn shape(&self, shape: Shape, allowed: Option<&[&str]>) -> Value {
        match shape {
            Shape::String => json!(allowed.and_then(|it| it.first()).unwrap_or(&"x")),
            Shape::Bytes => json!("eA=="),
            Shape::Time => json!("2030-01-01T00:00:00Z"),
            Shape::MicroTime => json!("2030-01-01T00:00:00.000000Z"),
            Shape::Boolean => json!(true),
            Shape::Int32 | Shape::Int64 | Shape::IntOrString => json!(1),
            Shape::Double => json!(1.5),
            Shape::Quantity => json!("1"),
            Shape::Any | Shape::Object => json!({ "x": "y" }),
            Shape::List(item) => json!([self.shape(item.shape(), allowed)]),
            Shape::Dictionary(item) => json!({ "k": self.shape(item.shape(), allowed) }),
            Shape::Record(id) => self.record(id),
            Shape::OneOf(text) => self.shape(text.choices().next().unwrap(), allowed),
        }
    }
}

pub(super) fn kind_of(manifest: &Value) -> Kind {
    let text = |field: &str| manifest[field].as_str().unwrap();
    Kind::find(text("apiVersion"), text("kind")).unwrap()
}

fn name(field: &Field) -> String {
    format!("{}#{}", field.owner(), field.name)
}

/// Values that say nothing, and are there.
fn empty(shape: Shape) -> Vec<Value> {
    match shape {
        Shape::String | Shape::Bytes => vec![json!("")],
        Shape::Boolean => vec![json!(false)],
        Shape::Int32 | Shape::Int64 | Shape::Double => vec![json!(0)],
        Shape::Quantity => vec![json!("0")],
        Shape::IntOrString => vec![json!(0), json!("")],
        Shape::Time | Shape::MicroTime => Vec::new(),
        Shape::List(_) => vec![json!([])],
        Shape::Any | Shape::Object | Shape::Dictionary(_) | Shape::Record(_) | Shape::OneOf(_) => {
            vec![json!({})]
        }
    }
}

fn says_nothing(value: &Value) -> bool {
    [json!(null), json!({}), json!([]), json!(""), json!(0), json!(false)].contains(value)
}

/// The record in a shape, and how one is found in a value of the shape and put there.
fn inner(shape: Shape) -> Option<&'static str> {
    match shape {
        Shape::List(item) | Shape::Dictionary(item) => inner(item.shape()),
        Shape::Record(id) => Some(id),
        Shape::OneOf(text) => text.choices().find_map(inner),
        _ => None,
    }
}

fn first(shape: Shape, value: &Value) -> Option<Value> {
    let below = |item: ShapeText, value: Option<&Value>| first(item.shape(), value?);
    match shape {
        Shape::List(item) => below(item, value.as_array()?.first()),
        Shape::Dictionary(item) => below(item, value.as_object()?.values().next()),
        _ => Some(value.clone()),
    }
}

/// A value of the shape whose first record is this one; of a list what comes after the first stays.
fn wrap(shape: Shape, record: Value, was: &Value) -> Value {
    let nothing = Value::Null;
    match shape {
        Shape::List(item) => {
            let items = was.as_array().map(Vec::as_slice).unwrap_or_default();
            let one = wrap(item.shape(), record, items.first().unwrap_or(&nothing));
            std::iter::once(one).chain(items.iter().skip(1).cloned()).collect()
        }
        Shape::Dictionary(item) => json!({ "k": wrap(item.shape(), record, &nothing) }),
        _ => record,
    }
}

struct Walk<'w> {
    known: &'w Known,
    seen: &'w mut BTreeSet<&'static str>,
    cases: &'w mut Vec<Case>,
}

impl Walk<'_> {
    fn record(&mut self, of: Type, record: &Value, build: &dyn Fn(Value) -> Value, top: bool) {
        for field in of.fields() {
            if top && ["apiVersion", "kind"].contains(&field.name) {
                continue;
            }
            let is_metadata = top && field.name == "metadata";
            let set = match record.get(field.name).filter(|_| !is_metadata) {
                Some(there) => there.clone(),
                None => self.known.field(&field),
            };
            if !is_metadata {
                self.field(of, &field, record, &set, build);
            }
            let Some(id) = inner(field.shape()).filter(|_| field.name != "status" || !top) else { continue };
            if !self.seen.insert(id) {
                continue;
            }
            // What is there names the object, and is not one of its variants.
            let whole = if is_metadata { record[field.name].clone() } else { set };
            let below = first(field.shape(), &whole).unwrap_or_else(|| self.known.record(id));
            let build =
                |it: Value| build(self.known.put(of, &field, record, wrap(field.shape(), it, &whole)));
            let mut walk = Walk { known: self.known, seen: &mut *self.seen, cases: &mut *self.cases };
            walk.record(Type::find(id).unwrap(), &below, &build, false);
        }
    }

    fn field(
        &mut self,
        of: Type,
        field: &Field,
        record: &Value,
        set: &Value,
        build: &dyn Fn(Value) -> Value,
    ) {
        let optional =
            !(field.is_required() || (field.owner() == "meta/v1/ObjectMeta" && field.name == "name"));
        let nothing = [("null", Value::Null)].into_iter();
        let nothing = nothing.chain(empty(field.shape()).into_iter().map(|it| ("empty", it)));
        let values = nothing.filter(|_| optional).chain([("set", set.clone())]);
        for (how, value) in values {
            let manifest = build(self.known.put(of, field, record, value));
            self.cases.push(Case { field: name(field), how, manifest });
        }
    }
}

impl Known {
    /// A record with a field, and with what the field needs beside it.
    fn put(&self, of: Type, field: &Field, record: &Value, value: Value) -> Value {
        let mut record = record.clone();
        if !says_nothing(&value) {
            for (_, members) in of.unions().filter(|(_, it)| it.iter().any(|it| it.0 == field.name)) {
                for (other, _) in members {
                    record.as_object_mut().unwrap().remove(other);
                }
            }
            for (name, beside) in self.0["beside"][name(field)].as_object().into_iter().flatten() {
                if beside.is_null() {
                    record.as_object_mut().unwrap().remove(name);
                } else {
                    record[name] = beside.clone();
                }
            }
        }
        record[field.name] = value;
        record
    }
}

/// The manifest as the object of this number in a namespace.
pub(super) fn numbered(manifest: &Value, number: usize, namespace: &str) -> Value {
    let address = format!("10.77.{}.{}", number / 250 % 250, number % 250 + 1);
    let text = manifest.to_string();
    let text = text.replace("NUMBER", &number.to_string()).replace("ADDRESS", &address);
    serde_json::from_str(&text.replace("NAMESPACE", namespace)).unwrap()
}
