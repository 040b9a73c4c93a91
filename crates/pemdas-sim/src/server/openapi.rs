//! OpenAPI documents, enough for `kubectl explain` and for clients that check what they apply.
//!
//! They are made from the table of types and from definitions when they are asked for: all versions in one document
//! of the older form, one document for each group and version of the newer one.

use std::collections::BTreeSet;

use pemdas_core::kube_types::{ListType, Shape, Type};
use serde_json::{Map, Value, json};

use super::Server;
use crate::api::{Failure, Response};
use crate::kinds::{Body, Resource};

/// Where schemas stand in documents of the newer form.
const NEWER: &str = "#/components/schemas/";

impl Server {
    pub(super) fn openapi(&self, path: &str, accept: &str) -> Response {
        let refused = || {
            let failure = Failure::no_such_path();
            Response::json(failure.code(), failure.status())
        };
        let only_protobuf =
            accept.contains("protobuf") && !accept.contains("json") && !accept.contains("*/*");
        match path {
            "/openapi/v2" if only_protobuf => {
                let failure = Failure::injected(406, "NotAcceptable", "only JSON is served");
                Response::json(406, failure.status())
            }
            "/openapi/v2" => Response::json(200, self.whole_document()),
            "/openapi/v3" => {
                let mut paths = Map::new();
                for resource in self.kinds.all() {
                    let place = place(&resource);
                    paths.insert(
                        place.clone(),
                        json!({ "serverRelativeURL": format!("/openapi/v3/{place}") }),
                    );
                }
                Response::json(200, json!({ "paths": paths }))
            }
            _ => {
                let wanted = path.trim_start_matches("/openapi/v3/");
                let all: Vec<Resource> = self.kinds.all().filter(|it| place(it) == wanted).collect();
                if all.is_empty() { refused() } else { Response::json(200, document(&all)) }
            }
        }
    }

    fn whole_document(&self) -> Value {
        let all: Vec<Resource> = self.kinds.all().collect();
        let schemas = schemas(&all, "#/definitions/");
        json!({ "swagger": "2.0", "info": { "title": "Kubernetes", "version": pemdas_core::kube_types::version() },
            "paths": {}, "definitions": schemas })
    }
}

fn place(resource: &Resource) -> String {
    if resource.group.is_empty() {
        format!("api/{}", resource.version)
    } else {
        format!("apis/{}", resource.api_version())
    }
}

fn document(resources: &[Resource]) -> Value {
    let mut paths = Map::new();
    for resource in resources {
        let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
        let path = format!("/{}{scope}/{}", place(resource), resource.plural);
        let kind = json!({ "group": resource.group, "version": resource.version, "kind": resource.kind });
        let verb = |action: &str| json!({ "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind, "responses": {} });
        paths.insert(path.clone(), json!({ "get": verb("list"), "post": verb("post") }));
        let parameters = json!([
            { "in": "query", "name": "dryRun", "schema": { "type": "string" } },
            { "in": "query", "name": "fieldValidation", "schema": { "type": "string" } },
        ]);
        let mut patch = verb("patch");
        patch["parameters"] = parameters;
        paths.insert(format!("{path}/{{name}}"), json!({ "get": verb("get"), "patch": patch }));
    }
    json!({ "openapi": "3.0.0", "info": { "title": "Kubernetes", "version": pemdas_core::kube_types::version() },
        "paths": paths, "components": { "schemas": schemas(resources, NEWER) } })
}

/// The schemas of kinds and of all types they are made of.
fn schemas(resources: &[Resource], prefix: &str) -> Map<String, Value> {
    let mut found = Map::new();
    let mut open: Vec<Type> = Type::find("meta/v1/ObjectMeta").into_iter().collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for resource in resources {
        match &resource.body {
            Body::BuiltIn(kind) => open.extend(kind.body()),
            Body::Custom(definition) => {
                let mut schema = definition.schema.clone();
                if !schema.get("properties").is_some_and(Value::is_object) {
                    schema["properties"] = json!({});
                }
                // What every object has is said in the words of the built-in ones.
                let said = |name: &str| Some(Type::find("core/v1/ConfigMap")?.field(name)?.doc());
                for name in ["apiVersion", "kind", "metadata"] {
                    let mut property = json!({ "type": "string" });
                    if name == "metadata" {
                        property = reference("meta/v1/ObjectMeta", prefix);
                    }
                    property["description"] = json!(said(name).unwrap_or_default());
                    schema["properties"][name] = property;
                }
                schema["x-kubernetes-group-version-kind"] =
                    json!([{ "group": resource.group, "version": resource.version, "kind": resource.kind }]);
                let mut reversed: Vec<&str> = resource.group.split('.').collect();
                reversed.reverse();
                found
                    .insert(format!("{}.{}.{}", reversed.join("."), resource.version, resource.kind), schema);
            }
        }
    }
    while let Some(of) = open.pop() {
        if !seen.insert(of.id()) {
            continue;
        }
        let mut schema = schema_of(of, prefix, &mut open);
        let kinds =
            resources.iter().filter(|it| matches!(&it.body, Body::BuiltIn(kind) if kind.body() == Some(of)));
        let kinds: Vec<Value> =
            kinds.map(|it| json!({ "group": it.group, "version": it.version, "kind": it.kind })).collect();
        if !kinds.is_empty() {
            schema["x-kubernetes-group-version-kind"] = json!(kinds);
        }
        found.insert(full_name(of.id()), schema);
    }
    found.extend(single_values(prefix));
    found
}

const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const FIELDS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";

/// Types of single values that have a name in the documents. The older form knows no values of two types.
fn single_values(prefix: &str) -> Vec<(String, Value)> {
    let either = |one: &str| {
        if prefix == NEWER {
            json!({ "oneOf": [{ "type": one }, { "type": "string" }] })
        } else {
            json!({ "type": "string" })
        }
    };
    let mut int_or_string = either("integer");
    int_or_string["format"] = json!("int-or-string");
    int_or_string["description"] = json!(
        "IntOrString is a type that can hold an int32 or a string.  When used in JSON or YAML marshalling and unmarshalling, it produces or consumes the inner type.  This allows you to have, for example, a JSON field that can accept a name or number."
    );
    vec![
        (INT_OR_STRING.to_owned(), int_or_string),
        (QUANTITY.to_owned(), either("number")),
        (FIELDS.to_owned(), json!({ "type": "object" })),
    ]
}

fn full_name(id: &str) -> String {
    let package = if id.starts_with("meta/") { "io.k8s.apimachinery.pkg.apis" } else { "io.k8s.api" };
    format!("{package}.{}", id.replace('/', "."))
}

fn reference(id: &str, prefix: &str) -> Value {
    named(&full_name(id), prefix)
}

fn named(name: &str, prefix: &str) -> Value {
    json!({ "allOf": [{ "$ref": format!("{prefix}{name}") }] })
}

fn schema_of(of: Type, prefix: &str, open: &mut Vec<Type>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in of.fields() {
        let mut schema = match field.name {
            "fieldsV1" => named(FIELDS, prefix),
            _ => shape_schema(field.shape(), prefix, open),
        };
        schema["description"] = json!(field.doc());
        match field.list_type() {
            Some(ListType::Map) => {
                schema["x-kubernetes-list-type"] = json!("map");
                schema["x-kubernetes-list-map-keys"] = field.list_keys().map(Value::from).collect();
            }
            Some(ListType::Set) => schema["x-kubernetes-list-type"] = json!("set"),
            Some(ListType::Atomic) => schema["x-kubernetes-list-type"] = json!("atomic"),
            None => {}
        }
        if let Some(key) = field.patch_merge_key() {
            schema["x-kubernetes-patch-merge-key"] = json!(key);
        }
        let strategies: Vec<&str> = field.patch_strategies().collect();
        if !strategies.is_empty() {
            schema["x-kubernetes-patch-strategy"] = json!(strategies.join(","));
        }
        if let Some(allowed) = field.allowed() {
            schema["enum"] = json!(allowed);
        }
        if field.is_required() {
            required.push(field.name);
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let mut schema = json!({ "type": "object", "description": of.doc(), "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if of.is_atomic() {
        schema["x-kubernetes-map-type"] = json!("atomic");
    }
    schema
}

fn shape_schema(shape: Shape, prefix: &str, open: &mut Vec<Type>) -> Value {
    match shape {
        Shape::String => json!({ "type": "string" }),
        Shape::Bytes => json!({ "type": "string", "format": "byte" }),
        Shape::Time | Shape::MicroTime => json!({ "type": "string", "format": "date-time" }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Int32 => json!({ "type": "integer", "format": "int32" }),
        Shape::Int64 => json!({ "type": "integer", "format": "int64" }),
        Shape::Double => json!({ "type": "number", "format": "double" }),
        Shape::Quantity => named(QUANTITY, prefix),
        Shape::IntOrString => named(INT_OR_STRING, prefix),
        Shape::Object => json!({ "type": "object" }),
        Shape::Any | Shape::OneOf(_) => json!({}),
        Shape::List(item) => json!({ "type": "array", "items": shape_schema(item.shape(), prefix, open) }),
        Shape::Dictionary(item) => {
            json!({ "type": "object", "additionalProperties": shape_schema(item.shape(), prefix, open) })
        }
        Shape::Record(id) => {
            open.extend(Type::find(id));
            reference(id, prefix)
        }
    }
}
