//! Patches and server-side apply.

use std::sync::Arc;

use pemdas_core::kube_types::Shape;
use serde_json::{Value, json};

use super::change::Written;
use super::{Call, Server};
use crate::api::{Cause, Failure};
use crate::built_in::Strategy;
use crate::kinds::Body;
use crate::manage::{Managers, Writer};
use crate::meta;
use crate::patch::{JsonPatchError, apply_json, apply_merge, apply_strategic};
use crate::typed::{Atom, Element, TypeRef};

const APPLY: &str = "application/apply-patch+yaml";

impl Server {
    /// Changes an object by a patch, or applies one.
    ///
    /// # Errors
    /// If the patch cannot be read or does not fit, or the object is not allowed to be so.
    pub(crate) fn patch(&mut self, call: &Call<'_>) -> Result<Written, Failure> {
        if !call.resource.allows("patch") {
            return Err(Failure::method_not_allowed());
        }
        if call.request.content_type() == APPLY {
            return self.apply(call);
        }
        let is_built_in = matches!(call.resource.body, Body::BuiltIn(_));
        let accepted: &[&str] = if is_built_in {
            &[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
                APPLY,
            ]
        } else {
            &["application/json-patch+json", "application/merge-patch+json", APPLY]
        };
        if !accepted.contains(&call.request.content_type()) {
            return Err(Failure::unsupported_media_type(accepted));
        }
        let Some(old) = self.store.get(&call.key()).cloned() else {
            return Err(Failure::not_found(&call.resource, &call.name));
        };
        let old = call.converted(&old);
        let patched = self.patched(call, &old)?;
        let shaped = self.shaped(call, patched.clone()).map_err(|why| {
            let cause = Cause::invalid("patch", &Value::from(patched.to_string()), &why);
            Failure::invalid("", "", "", &[cause])
        })?;
        let warnings = shaped.unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
        if call.is_strict() && !shaped.unknown.is_empty() {
            let told: Vec<String> =
                shaped.unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
            let why = format!("strict decoding error: {}", told.join(", "));
            let cause = Cause::invalid("patch", &Value::from(patched.to_string()), &why);
            return Err(Failure::invalid("", "", "", &[cause]));
        }
        let object = self.managed_update(call, &old, shaped.object);
        let object = self.placed(call, object)?;
        let object = self.change(call, &old, object)?;
        Ok(Written { object, created: false, warnings })
    }

    fn patched(&self, call: &Call<'_>, old: &Value) -> Result<Value, Failure> {
        let patch: Value = serde_json::from_slice(&call.request.body)
            .map_err(|error| Failure::bad_request(format!("error decoding patch: {error}")))?;
        let mut object = old.clone();
        match call.request.content_type() {
            "application/merge-patch+json" => {
                if !patch.is_object() {
                    return Err(Failure::bad_request(
                        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
                    ));
                }
                apply_merge(&mut object, &patch);
            }
            "application/json-patch+json" => {
                apply_json(&mut object, &patch).map_err(|error| match error {
                    JsonPatchError::Unreadable(why) => {
                        Failure::bad_request(format!("error decoding patch: {why}"))
                    }
                    JsonPatchError::Unfitting(_) => Failure::unprocessable(""),
                })?;
            }
            _ => {
                let of = match &call.resource.body {
                    Body::BuiltIn(kind) => kind.body(),
                    Body::Custom(_) => None,
                };
                apply_strategic(of, &mut object, &patch).map_err(Failure::plain)?;
            }
        }
        Ok(object)
    }

    fn apply(&mut self, call: &Call<'_>) -> Result<Written, Failure> {
        let mut applied = call.body()?;
        let found = self.store.get(&call.key()).cloned();
        if found.is_none() && !call.subresource.is_empty() {
            return Err(Failure::not_found(&call.resource, &call.name));
        }
        let old = found.as_ref().map(|old| call.converted(old));
        let live = old.clone().unwrap_or_else(|| self.empty(call));
        self.check_applied(call, &applied)?;
        if !applied.get("metadata").is_some_and(Value::is_object) {
            applied["metadata"] = json!({});
        }
        // The place of an object is known from its path.
        let mut managers = Managers::decode(&live).unwrap_or_default();
        let (writer, ignored) = (call.writer(true), Strategy(&call.resource).reset_fields(&call.subresource));
        let force = call.request.flag("force");
        let of = self.type_of(call);
        if managers == Managers::default() && old.is_some() {
            let before =
                Writer { manager: "before-first-apply".to_owned(), applies: false, ..writer.clone() };
            managers.update(of, &self.empty(call), &live, &before, &ignored, &call.now.text());
        }
        let changed = managers.apply(of, &live, &applied, &writer, &ignored, force)?;
        let now = call.now.text();
        let mut loose = false;
        let mut object = match changed {
            Some(object) => {
                managers.touch(&writer, &now);
                let shaped = self.shaped(call, object.clone()).map_err(Failure::plain)?.object;
                loose = call.resource.definition().is_some() && loses_metadata(&object, &shaped);
                shaped
            }
            None => live.clone(),
        };
        managers.put_into(&mut object);
        let Some(old) = old else {
            let uid = meta::text(&object, "uid").to_owned();
            if !uid.is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Failure::conflict(&call.resource, &call.name, &why));
            }
            let object = self.placed(call, object)?;
            let object = self.insert(call, object, false)?;
            if loose && !call.dry_run {
                self.unsettled.insert(call.key());
            }
            return Ok(Written { object, created: true, warnings: Vec::new() });
        };
        let object = self.placed(call, object)?;
        let object = self.change_loosely(call, &old, object, loose)?;
        Ok(Written { object, created: false, warnings: Vec::new() })
    }

    /// A change by an apply. What is applied to a custom object is stored as it is merged, empty maps of its metadata included, and
    /// these are lost when it is read.
    fn change_loosely(
        &mut self,
        call: &Call<'_>,
        old: &Value,
        object: Value,
        loose: bool,
    ) -> Result<Arc<Value>, Failure> {
        if !loose {
            return self.change(call, old, object);
        }
        let (key, revision) = (call.key(), self.store.revision());
        let was_new = self.unsettled.insert(key.clone());
        let changed = self.change(call, old, object);
        if self.store.revision() != revision && self.store.get(&key).is_some() {
            self.unsettled.insert(key);
        } else if was_new {
            self.unsettled.remove(&key);
        }
        changed
    }

    /// What is wrong with what is applied, before it is merged.
    fn check_applied(&self, call: &Call<'_>, applied: &Value) -> Result<(), Failure> {
        let resource = &call.resource;
        let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion") != resource.api_version() {
            let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
            return Err(Failure::bad_request(format!(
                "invalid object type: {group}/{version}, Kind={}",
                text("kind")
            )));
        }
        if applied.pointer("/metadata/managedFields").is_some_and(|it| !it.is_null()) {
            return Err(Failure::bad_request("metadata.managedFields must be nil"));
        }
        let mut found = Vec::new();
        unfitting(self.type_of(call), applied, "", &mut found);
        let why = match found.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("errors:\n  {}", several.join("\n  "))),
        };
        if let Some(why) = why {
            let (namespace, name) = (meta::text(applied, "namespace"), meta::text(applied, "name"));
            let message = format!(
                "failed to create typed patch object ({namespace}/{name}; {}/{}, Kind={}): {why}",
                resource.group, resource.version, resource.kind
            );
            return Err(Failure::plain(message));
        }
        Ok(())
    }
}

/// Whether something of the metadata is not there any more.
fn loses_metadata(before: &Value, after: &Value) -> bool {
    let names =
        |object: &Value| object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let after = names(after);
    names(before).keys().any(|name| !after.contains_key(name))
}

/// The fields that are not in the type, and items that have no key of their own.
fn unfitting(of: TypeRef<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    match of.atom(value) {
        Atom::Leaf => found.extend(mistyped(of, value).map(|why| format!("{path}: {why}"))),
        Atom::Map(of) => {
            for (name, field) in value.as_object().into_iter().flatten() {
                let below = format!("{path}.{name}");
                if of.knows(name) {
                    unfitting(of.child(name).0, field, &below, found);
                } else {
                    found.push(format!("{below}: field not declared in schema"));
                }
            }
        }
        Atom::List(items, of) => {
            let mut seen: Vec<Element> = Vec::new();
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                match Element::of_item(items, item) {
                    Err(why) => {
                        found.push(format!("{path}: element {index}: {why}"));
                        return;
                    }
                    Ok(key) if seen.contains(&key) => {
                        found.push(format!("{path}: duplicate entries for key {key}"));
                    }
                    Ok(key) => {
                        let below = format!("{path}{key}");
                        seen.push(key);
                        unfitting(of, item, &below, found);
                    }
                }
            }
        }
    }
}

/// What is wrong with the type of a value that is not taken apart.
fn mistyped(of: TypeRef<'_>, value: &Value) -> Option<String> {
    let wanted = match of {
        TypeRef::Field(field) => scalar(field.shape())?,
        TypeRef::Shape(shape) => scalar(shape)?,
        TypeRef::Schema(schema) => schema.get("type").and_then(Value::as_str)?,
        _ => return None,
    };
    let found = match value {
        Value::Null => return None,
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    match wanted {
        "integer" | "number" => {
            (!value.is_number()).then(|| format!("expected numeric (int or float), got {found}"))
        }
        "string" => (!value.is_string()).then(|| format!("expected string, got &{{{value}}}")),
        "boolean" => (!value.is_boolean()).then(|| format!("expected boolean, got &{{{value}}}")),
        _ => None,
    }
}

fn scalar(shape: Shape) -> Option<&'static str> {
    match shape {
        Shape::String => Some("string"),
        Shape::Boolean => Some("boolean"),
        Shape::Int32 | Shape::Int64 | Shape::Double => Some("integer"),
        _ => None,
    }
}
