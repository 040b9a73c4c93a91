//! Bringing what a request brings into the form of its kind.

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{Cause, Failure};
use crate::kinds::Body;
use crate::typed::TypeRef;
use crate::{built_in, custom, meta};

/// An object with what there is to warn of.
pub(crate) struct Shaped {
    pub(crate) object: Value,
    pub(crate) unknown: Vec<String>,
}

impl Server {
    /// Reads an object as one of its kind and fills in defaults.
    ///
    /// # Errors
    /// If it cannot be read so; the message is without its heading.
    pub(crate) fn shaped(&self, call: &Call<'_>, mut object: Value) -> Result<Shaped, String> {
        object["apiVersion"] = Value::from(call.resource.api_version());
        object["kind"] = Value::from(call.resource.kind.as_str());
        match &call.resource.body {
            Body::BuiltIn(kind) => {
                let Some(body) = kind.body() else { return Ok(Shaped { object, unknown: Vec::new() }) };
                let unknown = built_in::decode(body, &object)?;
                let mut written = built_in::encode(body, &object);
                built_in::fill(body, &mut written);
                Ok(Shaped { object: built_in::encode(body, &written), unknown })
            }
            Body::Custom(definition) => {
                // Metadata is read as that of any object.
                let meta_type = pemdas_core::kube_types::Type::find("meta/v1/ObjectMeta");
                let mut unknown = Vec::new();
                if let (Some(of), Some(metadata)) = (meta_type, object.get_mut("metadata")) {
                    unknown = built_in::decode(of, metadata)?
                        .into_iter()
                        .map(|it| format!("metadata.{it}"))
                        .collect();
                    *metadata = built_in::encode(of, metadata);
                }
                unknown.extend(custom::prune(&definition.schema, &mut object));
                custom::fill(&definition.schema, &mut object);
                Ok(Shaped { object, unknown })
            }
        }
    }

    /// The type of objects of a kind.
    pub(crate) fn type_of<'a>(&self, call: &'a Call<'_>) -> TypeRef<'a> {
        match &call.resource.body {
            Body::BuiltIn(kind) => kind.body().map_or(TypeRef::Deduced, TypeRef::Record),
            Body::Custom(definition) => TypeRef::Root(&definition.schema),
        }
    }

    /// An object of a kind that nobody has filled in.
    pub(crate) fn empty(&self, call: &Call<'_>) -> Value {
        let mut object = match &call.resource.body {
            Body::BuiltIn(kind) => kind.body().map_or(json!({}), built_in::zero),
            Body::Custom(_) => json!({}),
        };
        object["apiVersion"] = Value::from(call.resource.api_version());
        object["kind"] = Value::from(call.resource.kind.as_str());
        object
    }

    /// Reads the body of a request as an object of its kind.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn decoded(&self, call: &Call<'_>, body: Value) -> Result<(Value, Vec<String>), Failure> {
        let resource = &call.resource;
        let kind = &resource.kind;
        if !body.is_object() {
            let message = format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error"
            );
            return Err(Failure::bad_request(message));
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let (its_version, its_kind) = (text("apiVersion"), text("kind"));
        let wrong = (!its_version.is_empty() && its_version != resource.api_version())
            || (!its_kind.is_empty() && its_kind != kind);
        if resource.definition().is_some() && its_version == resource.api_version() && its_kind != kind {
            let cause = Cause::invalid("kind", &json!(its_kind), &format!("must be {kind}"));
            return Err(Failure::invalid(&resource.group, its_kind, meta::text(&body, "name"), &[cause]));
        }
        if wrong {
            let (group, version) = its_version.split_once('/').unwrap_or(("", its_version));
            let message = format!(
                "{its_kind} in version {version:?} cannot be handled as a {kind}: no kind {its_kind:?} is registered for version {group}/{version}"
            );
            return Err(Failure::bad_request(message));
        }
        let heading = format!("{kind} in version {:?} cannot be handled as a {kind}", resource.version);
        let shaped =
            self.shaped(call, body).map_err(|why| Failure::bad_request(format!("{heading}: {why}")))?;
        let warnings = self.unknown_fields(call, &shaped.unknown, &heading)?;
        Ok((shaped.object, warnings))
    }

    fn unknown_fields(
        &self,
        call: &Call<'_>,
        unknown: &[String],
        heading: &str,
    ) -> Result<Vec<String>, Failure> {
        let told: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
        if call.is_strict() && !told.is_empty() {
            return Err(Failure::bad_request(format!(
                "{heading}: strict decoding error: {}",
                told.join(", ")
            )));
        }
        Ok(if call.request.parameter("fieldValidation") == Some("Ignore") { Vec::new() } else { told })
    }

    /// What is wrong with an object of its kind.
    pub(crate) fn wrong(&self, call: &Call<'_>, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let resource = &call.resource;
        let mut causes = match old {
            None => meta::validate(resource, object),
            Some(old) => {
                let mut causes = meta::validate(resource, object);
                causes.extend(meta::validate_update(object, old));
                causes
            }
        };
        match &resource.body {
            Body::BuiltIn(_) => {
                causes.extend(built_in::validate(resource, object, old.is_none()));
                if let Some(old) = old {
                    causes.extend(built_in::validate_update(resource, object, old));
                    // The addresses of a Service are looked at before anything else.
                    if causes.iter().any(|cause| cause.field == "spec.ipFamilyPolicy") {
                        causes.retain(|cause| cause.field.starts_with("spec.ipFamil"));
                    }
                }
            }
            Body::Custom(definition) => {
                let (schema, mut content) = (&definition.schema, object.clone());
                if let Some(fields) = content.as_object_mut().filter(|_| call.subresource == "status") {
                    // Only the status is judged when only the status is written.
                    fields.retain(|name, _| name == "status");
                    let status = schema.get("properties").and_then(|it| it.get("status"));
                    if let (Some(schema), Some(status)) = (status, fields.get("status")) {
                        causes.extend(custom::validate(schema, status, "status"));
                        causes.extend(custom::wrong_lists(schema, status, "status"));
                    }
                } else {
                    causes.extend(custom::validate(schema, &content, ""));
                    causes.extend(custom::wrong_lists(schema, &content, ""));
                }
                if custom::has_rules(schema) {
                    let blocks = |cause: &Cause| {
                        let kind = cause.reason;
                        !matches!(kind, "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueDuplicate")
                    };
                    if causes.iter().any(blocks) {
                        let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
                        causes.push(Cause::invalid("<nil>", &Value::Null, why));
                    } else {
                        causes.extend(custom::broken_rules(schema, object, old));
                    }
                }
            }
        }
        causes
    }
}
