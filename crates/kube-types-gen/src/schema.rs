//! The types: what the schemas of the OpenAPI documents say, in the words of the table.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::enums::Enums;

/// A record type.
pub(crate) struct Type {
    /// What stands behind the name in the table: map type and unions.
    pub(crate) attributes: String,
    pub(crate) doc: String,
    pub(crate) fields: BTreeMap<String, Field>,
}

/// A field of a record type.
pub(crate) struct Field {
    pub(crate) shape: String,
    /// What stands behind the shape in the table: required, default, list type and so on.
    pub(crate) attributes: String,
    pub(crate) doc: String,
    /// The record types that the shape names.
    pub(crate) references: BTreeSet<String>,
}

/// The types of a document that are not records, and the shapes that the table writes instead.
const SHAPES: &[(&str, &str)] = &[
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", "quantity"),
    ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "intstr"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "microtime"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "object"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Patch", "object"),
    ("io.k8s.apimachinery.pkg.runtime.RawExtension", "object"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", "json"),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
        "apiextensions/v1/JSONSchemaProps|[apiextensions/v1/JSONSchemaProps]",
    ),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
        "apiextensions/v1/JSONSchemaProps|b",
    ),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
        "apiextensions/v1/JSONSchemaProps|[s]",
    ),
];

/// `io.k8s.api.core.v1.Container` to `core/v1/Container`.
pub(crate) fn type_id(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.rsplitn(4, '.').collect();
    match parts[..] {
        [kind, version, package, _] if version.starts_with('v') => {
            Some(format!("{package}/{version}/{kind}"))
        }
        _ => None,
    }
}

pub(crate) fn definitions(document: &Value) -> impl Iterator<Item = (&str, &Value)> {
    document["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, body)| (name.as_str(), body))
}

pub(crate) fn collect(documents: &[Value], enums: &Enums) -> Result<BTreeMap<String, Type>> {
    let mut types = BTreeMap::new();
    let mut origin: BTreeMap<String, &str> = BTreeMap::new();
    for document in documents {
        for (name, body) in definitions(document) {
            if SHAPES.iter().any(|(shape, _)| *shape == name) {
                continue;
            }
            let Some(id) = type_id(name) else { continue };
            let before = origin.insert(id.clone(), name).unwrap_or(name);
            ensure!(before == name, "{before} and {name} would both be {id}");
            types.insert(id.clone(), record(&id, body, enums).with_context(|| name.to_owned())?);
        }
    }
    Ok(types)
}

fn record(id: &str, body: &Value, enums: &Enums) -> Result<Type> {
    ensure!(body["type"] == "object", "not an object: {}", body["type"]);
    ensure!(body["additionalProperties"].is_null(), "a record with further fields");
    let required: BTreeSet<&str> =
        body["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut fields = BTreeMap::new();
    for (name, property) in body["properties"].as_object().into_iter().flatten() {
        let allowed = enums.get(&(id.to_owned(), name.clone()));
        let field = field(property, required.contains(name.as_str()), allowed)
            .with_context(|| format!("the field {name}"))?;
        ensure!(!name.contains(char::is_whitespace), "a field name with a space");
        fields.insert(name.clone(), field);
    }
    let mut attributes = String::new();
    word(&mut attributes, "mt", &body["x-kubernetes-map-type"])?;
    for union in body["x-kubernetes-unions"].as_array().into_iter().flatten() {
        let members: Vec<String> = union["fields-to-discriminateBy"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(field, value)| format!("{field}>{}", value.as_str().unwrap_or_default()))
            .collect();
        let discriminator = union["discriminator"].as_str().unwrap_or_default();
        attributes += &format!("\tun={discriminator}:{}", members.join(","));
    }
    Ok(Type { attributes, doc: text(&body["description"]), fields })
}

fn field(property: &Value, required: bool, allowed: Option<&Vec<String>>) -> Result<Field> {
    let mut references = BTreeSet::new();
    let shape = shape(property, &mut references)?;
    let mut attributes = String::new();
    if required {
        attributes += "\t!";
    }
    default(&mut attributes, &property["default"])?;
    word(&mut attributes, "lt", &property["x-kubernetes-list-type"])?;
    word(&mut attributes, "lk", &property["x-kubernetes-list-map-keys"])?;
    word(&mut attributes, "mt", &property["x-kubernetes-map-type"])?;
    word(&mut attributes, "ps", &property["x-kubernetes-patch-strategy"])?;
    word(&mut attributes, "pk", &property["x-kubernetes-patch-merge-key"])?;
    if let Some(values) = allowed {
        ensure!(matches!(shape.as_str(), "s" | "[s]" | "{s}"), "allowed values of a {shape}");
        ensure!(
            !values.iter().any(|value| value.contains(['|', '\t'])),
            "an allowed value with a bar or a tab"
        );
        attributes += &format!("\te={}", values.join("|"));
    }
    Ok(Field { shape, attributes, doc: text(&property["description"]), references })
}

/// The defaults of zero values (`""`, `0`, `{}`) come from Go's types, not from an API's author.
fn default(attributes: &mut String, value: &Value) -> Result<()> {
    let zero = match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Number(it) => it.as_f64() == Some(0.0),
        Value::String(it) => it.is_empty(),
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
    };
    if !zero {
        let json = value.to_string();
        ensure!(!json.contains(char::is_whitespace), "a default with a space: {json}");
        *attributes += &format!("\td={json}");
    }
    Ok(())
}

fn word(attributes: &mut String, key: &str, value: &Value) -> Result<()> {
    let text = match value {
        Value::Null => return Ok(()),
        Value::String(one) => one.clone(),
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => bail!("{key} is {other}"),
    };
    ensure!(!text.contains(char::is_whitespace), "{key} with a space: {text}");
    *attributes += &format!("\t{key}={text}");
    Ok(())
}

fn shape(schema: &Value, references: &mut BTreeSet<String>) -> Result<String> {
    let reference = match schema["allOf"].as_array().map(Vec::as_slice) {
        Some([one]) => &one["$ref"],
        Some(several) => bail!("allOf of {}", several.len()),
        None => &schema["$ref"],
    };
    if let Some(reference) = reference.as_str() {
        return referenced(reference, references);
    }
    let (kind, format) = (schema["type"].as_str(), schema["format"].as_str());
    Ok(match (kind, format) {
        (Some("string"), None) => "s".to_owned(),
        (Some("string"), Some("byte")) => "bytes".to_owned(),
        (Some("boolean"), None) => "b".to_owned(),
        (Some("integer"), Some("int32")) => "i32".to_owned(),
        (Some("integer"), Some("int64")) => "i64".to_owned(),
        (Some("number"), Some("double")) => "f64".to_owned(),
        (Some("array"), None) => format!("[{}]", shape(&schema["items"], references)?),
        (Some("object"), None) if schema["additionalProperties"].is_object() => {
            format!("{{{}}}", shape(&schema["additionalProperties"], references)?)
        }
        (Some("object"), None) if schema["properties"].is_null() => "object".to_owned(),
        _ => bail!("no shape for type {kind:?} with format {format:?}"),
    })
}

fn referenced(reference: &str, references: &mut BTreeSet<String>) -> Result<String> {
    let name = reference.rsplit('/').next().unwrap_or_default();
    if let Some((_, shape)) = SHAPES.iter().find(|(known, _)| *known == name) {
        references.extend(
            shape
                .split('|')
                .map(|one| one.trim_matches(['[', ']']))
                .filter(|one| one.contains('/'))
                .map(str::to_owned),
        );
        return Ok((*shape).to_owned());
    }
    let id = type_id(name).with_context(|| format!("a reference to {name}"))?;
    references.insert(id.clone());
    Ok(id)
}

fn text(description: &Value) -> String {
    description.as_str().unwrap_or_default().trim().to_owned()
}
