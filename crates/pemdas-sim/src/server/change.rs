//! Changing objects: what every write of an object that may be there has in common.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{Cause, Failure};
use crate::built_in::Strategy;
use crate::manage::{self, Managers};
use crate::meta;

/// What a write has made of an object.
pub(crate) struct Written {
    pub(crate) object: Arc<Value>,
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}

impl Server {
    /// Replaces an object.
    ///
    /// # Errors
    /// If it is not allowed to be so, or is not as the request says.
    pub(crate) fn replace(&mut self, call: &Call<'_>) -> Result<Written, Failure> {
        if !call.resource.allows("update") {
            return Err(Failure::method_not_allowed());
        }
        let body = call.body()?;
        // An empty list of managers, which decoding leaves out, means that they are to be forgotten. Those of custom objects are
        // read in a way that leaves it out in the real server, too.
        let managers = body.pointer("/metadata/managedFields").and_then(Value::as_array);
        let cleared = call.resource.definition().is_none() && managers.is_some_and(Vec::is_empty);
        let (mut object, warnings) = self.decoded(call, body)?;
        if cleared {
            meta::set(&mut object, "managedFields", Some(json!([{}])));
        }
        let object = self.placed(call, object)?;
        let strategy = Strategy(&call.resource);
        let old = self.store.get(&call.key()).cloned();
        let Some(old) = old else {
            if !strategy.creates_by_put() || !call.subresource.is_empty() {
                return Err(Failure::not_found(&call.resource, &call.name));
            }
            return self.create_instead(call, object, warnings);
        };
        let uid = meta::text(&object, "uid");
        let real = meta::text(&old, "uid");
        if !uid.is_empty() && uid != real {
            return Err(other_uid(call, uid, real));
        }
        let old = call.converted(&old);
        let object = self.managed_update(call, &old, object);
        let object = self.change(call, &old, object)?;
        Ok(Written { object, created: false, warnings })
    }

    fn create_instead(
        &mut self,
        call: &Call<'_>,
        mut object: Value,
        warnings: Vec<String>,
    ) -> Result<Written, Failure> {
        let uid = meta::text(&object, "uid").to_owned();
        if !uid.is_empty() {
            return Err(other_uid(call, &uid, ""));
        }
        meta::set(&mut object, "managedFields", None);
        let empty = self.empty(call);
        let object = self.managed_update(call, &empty, object);
        let object = self.insert(call, object, false)?;
        Ok(Written { object, created: true, warnings })
    }

    /// An object with the name and namespace of its place.
    ///
    /// # Errors
    /// If it has others.
    pub(crate) fn placed(&self, call: &Call<'_>, mut object: Value) -> Result<Value, Failure> {
        let namespace = meta::text(&object, "namespace").to_owned();
        match &call.namespace {
            Some(wanted) if !namespace.is_empty() && namespace != *wanted => {
                return Err(Failure::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            Some(wanted) => meta::set(&mut object, "namespace", Some(json!(wanted))),
            None => meta::set(&mut object, "namespace", None),
        }
        let name = meta::text(&object, "name");
        if name != call.name {
            let message = if name.is_empty() {
                "name is required".to_owned()
            } else {
                format!("the name of the object ({name}) does not match the name on the URL ({})", call.name)
            };
            return Err(Failure::bad_request(message));
        }
        Ok(object)
    }

    /// Notes who changed what.
    pub(crate) fn managed_update(&self, call: &Call<'_>, old: &Value, mut object: Value) -> Value {
        let from_old = || Managers::decode(old).unwrap_or_default();
        let mut managers = if !call.subresource.is_empty() {
            from_old()
        } else if manage::is_reset(&object) {
            Managers::default()
        } else {
            match Managers::decode(&object) {
                Some(given) if given != Managers::default() => given,
                _ => from_old(),
            }
        };
        // Once nobody manages anything, only an apply begins it again.
        let forgotten = managers == Managers::default() && !meta::text(old, "uid").is_empty();
        let reset = forgotten || (call.subresource.is_empty() && manage::is_reset(&object));
        meta::set(&mut object, "managedFields", None);
        if !reset {
            let ignored = Strategy(&call.resource).reset_fields(&call.subresource);
            managers.update(
                self.type_of(call),
                old,
                &object,
                &call.writer(false),
                &ignored,
                &call.now.text(),
            );
        }
        managers.put_into(&mut object);
        object
    }

    /// Lets an object take the place of an old one, once everything has been checked.
    ///
    /// # Errors
    /// If it is not allowed to be so, or was made from another version.
    pub(crate) fn change(
        &mut self,
        call: &Call<'_>,
        old: &Value,
        mut object: Value,
    ) -> Result<Arc<Value>, Failure> {
        let (resource, strategy) = (&call.resource, Strategy(&call.resource));
        let version = meta::text(&object, "resourceVersion").to_owned();
        if version.is_empty() && strategy.needs_version() {
            let cause =
                Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(Failure::invalid(&resource.group, &resource.plural, &call.name, &[cause]));
        }
        if !version.is_empty() && version != "0" && version != meta::text(old, "resourceVersion") {
            if version.parse::<u64>().is_err() {
                return Err(Failure::bad_request(format!(
                    "metadata.resourceVersion: Invalid value: {version:?}: must be a valid resource version"
                )));
            }
            return Err(Failure::modified(resource, &call.name));
        }
        self.inherit(call, old, &mut object);
        let causes = self.wrong(call, &object, Some(old));
        if !causes.is_empty() {
            return Err(Failure::invalid(&resource.group, &resource.kind, &call.name, &causes));
        }
        if manage::same_but_times(&object, old) {
            meta::set(&mut object, "managedFields", old.pointer("/metadata/managedFields").cloned());
        }
        let is_over = object.pointer("/metadata/deletionGracePeriodSeconds").is_none_or(|it| it == &json!(0));
        if meta::is_deleting(old)
            && is_over
            && meta::finalizers(&object).is_empty()
            && !resource.is("", "namespaces")
        {
            if call.dry_run {
                return Ok(Arc::new(object));
            }
            self.forget(&call.key());
            return Ok(Arc::new(object));
        }
        if object == *old && !self.unsettled.contains(&call.key()) {
            return Ok(Arc::new(object));
        }
        Ok(self.commit(call, object))
    }

    /// What an object has from the one whose place it takes.
    fn inherit(&self, call: &Call<'_>, old: &Value, object: &mut Value) {
        let strategy = Strategy(&call.resource);
        strategy.prepare_for_update(&call.subresource, object, old);
        if self.is_service(call) {
            Self::keep_addresses(object, old);
        }
        let of_old = |name: &str| old.pointer(&format!("/metadata/{name}")).cloned();
        let generation = of_old("generation").and_then(|it| it.as_i64());
        let generation =
            generation.map(|it| if strategy.changes_generation(object, old) { it + 1 } else { it });
        meta::set(object, "generation", generation.map(Value::from));
        if meta::text(object, "uid").is_empty() {
            meta::set(object, "uid", of_old("uid"));
        }
        for name in
            ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"]
        {
            meta::set(object, name, of_old(name));
        }
    }
}

/// The object is another one than the request means.
fn other_uid(call: &Call<'_>, wanted: &str, real: &str) -> Failure {
    let resource = &call.resource;
    let place = match resource.definition() {
        Some(_) => format!("{}/{}", resource.group, resource.plural),
        None if resource.is("", "services") => "services/specs".to_owned(),
        None => resource.plural.clone(),
    };
    let root = if call.dry_run { "" } else { "/registry" };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {root}/{place}/{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {real}",
        call.key().path
    );
    Failure::conflict(resource, &call.name, &why)
}
