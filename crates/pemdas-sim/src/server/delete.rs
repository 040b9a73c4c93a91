//! Deleting objects: at once, or when their finalizers are gone.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{Cause, Failure};
use crate::built_in::Strategy;
use crate::meta;

/// What a deletion is asked to do.
#[derive(Debug, Clone, Default)]
struct Options {
    propagation: Option<String>,
    orphan: Option<bool>,
    grace: Option<i64>,
    uid: Option<String>,
    version: Option<String>,
    dry_run: bool,
}

impl Options {
    fn read(call: &Call<'_>) -> Result<Self, Failure> {
        let body: Value = match serde_json::from_slice(&call.request.body) {
            _ if call.request.body.is_empty() => json!({}),
            Ok(body) => body,
            Err(_) if call.request.content_type().ends_with("protobuf") => call.body()?,
            Err(error) => {
                return Err(Failure::bad_request(format!(
                    "couldn't get version/kind; json parse error: {error}"
                )));
            }
        };
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        // The options of a body stand in place of those of the query.
        let has_body = !call.request.body.is_empty();
        let parameter = |name: &str| call.request.parameter(name).filter(|_| !has_body).map(str::to_owned);
        let options = Self {
            propagation: text("/propagationPolicy").or_else(|| parameter("propagationPolicy")),
            orphan: body
                .get("orphanDependents")
                .and_then(Value::as_bool)
                .or_else(|| parameter("orphanDependents").map(|it| it == "true")),
            grace: body
                .get("gracePeriodSeconds")
                .and_then(Value::as_i64)
                .or_else(|| parameter("gracePeriodSeconds").and_then(|it| it.parse().ok())),
            uid: text("/preconditions/uid"),
            version: text("/preconditions/resourceVersion"),
            dry_run: (call.dry_run && !has_body) || body.pointer("/dryRun/0").is_some_and(|it| it == "All"),
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), Failure> {
        let mut causes = Vec::new();
        if let Some(other) =
            self.propagation.as_deref().filter(|it| !matches!(*it, "Foreground" | "Background" | "Orphan"))
        {
            causes.push(Cause::unsupported(
                "propagationPolicy",
                &json!(other),
                &["Foreground", "Background", "Orphan", "nil"],
            ));
        }
        if self.propagation.is_some() && self.orphan.is_some() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid("propagationPolicy", &json!(self.propagation), why));
        }
        if causes.is_empty() {
            Ok(())
        } else {
            Err(Failure::invalid("meta.k8s.io", "DeleteOptions", "", &causes))
        }
    }
}

/// What became of an object.
struct Deleted {
    gone: bool,
    object: Arc<Value>,
}

impl Server {
    /// Deletes an object: the code and body of the response.
    ///
    /// # Errors
    /// If it is not there, or not as the request says.
    pub(crate) fn delete(&mut self, call: &Call<'_>) -> Result<(u16, Value), Failure> {
        if !call.resource.allows("delete") {
            return Err(Failure::method_not_allowed());
        }
        let options = Options::read(call)?;
        let deleted = self.delete_one(call, &options)?;
        // Only the older of the two options says that something is still to be done.
        let status = if !deleted.gone && options.orphan == Some(false) { 202 } else { 200 };
        if !deleted.gone || Strategy(&call.resource).shows_deleted() {
            return Ok((status, call.shown(&deleted.object)));
        }
        let mut details = json!({ "name": call.name, "kind": call.resource.plural, "uid": meta::text(&deleted.object, "uid") });
        if !call.resource.group.is_empty() {
            details["group"] = json!(call.resource.group);
        }
        let body = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details });
        Ok((status, body))
    }

    /// Deletes all objects that the query selects: the list of them.
    ///
    /// # Errors
    /// If one cannot be deleted.
    pub(crate) fn delete_collection(&mut self, call: &Call<'_>) -> Result<Value, Failure> {
        if !call.resource.allows("deletecollection") {
            return Err(Failure::method_not_allowed());
        }
        let options = Options::read(call)?;
        let list = self.list(call)?;
        let selection = call.selection()?;
        let all = self.store.list(&call.resource.id(), call.namespace.as_deref(), None);
        let chosen: Vec<(Option<String>, String)> = all
            .filter(|(_, object)| selection.takes(object))
            .map(|(key, _)| (key.namespace().map(str::to_owned), key.name().to_owned()))
            .collect();
        for (namespace, name) in chosen {
            self.delete_one(&call.named(namespace.as_deref(), &name), &options)?;
        }
        Ok(list)
    }

    fn delete_one(&mut self, call: &Call<'_>, options: &Options) -> Result<Deleted, Failure> {
        let resource = &call.resource;
        let Some(found) = self.store.get(&call.key()).cloned() else {
            return Err(Failure::not_found(resource, &call.name));
        };
        self.check_preconditions(call, options, &found)?;
        let mut object = Value::clone(&found);
        let graceful = self.grace(call, options, &found);
        if let Some(pending) = graceful.filter(|_| meta::is_deleting(&found)) {
            let left =
                found.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
            if left > 0 && pending >= left {
                return Ok(Deleted { gone: false, object: found });
            }
        }
        let strategy = Strategy(resource);
        let before = meta::finalizers(&object);
        let finalizers =
            if strategy.has_dependents() { self.finalizers(options, &before) } else { before.clone() };
        if finalizers.iter().collect::<std::collections::BTreeSet<_>>() != before.iter().collect() {
            let value = (!finalizers.is_empty()).then(|| json!(finalizers));
            meta::set(&mut object, "finalizers", value);
        }
        let grace = graceful.unwrap_or(0);
        let is_namespace = resource.is("", "namespaces");
        if finalizers.is_empty() && grace == 0 && !is_namespace {
            if options.dry_run {
                return Ok(Deleted { gone: true, object: Arc::new(object) });
            }
            let last = self.forget(&call.key()).unwrap_or(object);
            return Ok(Deleted { gone: true, object: Arc::new(last) });
        }
        Self::mark(call, &mut object, grace);
        if is_namespace {
            object["status"]["phase"] = json!("Terminating");
            meta::set(&mut object, "deletionGracePeriodSeconds", None);
        }
        if object == *found || options.dry_run {
            return Ok(Deleted { gone: false, object: Arc::new(object) });
        }
        let stored = self.store.put(call.key(), object);
        Ok(Deleted { gone: false, object: stored })
    }

    /// Marks an object as one that is going.
    fn mark(call: &Call<'_>, object: &mut Value, grace: i64) {
        if !meta::is_deleting(object) {
            let generation =
                object.pointer("/metadata/generation").and_then(Value::as_i64).filter(|it| *it > 0);
            if let Some(generation) = generation {
                meta::set(object, "generation", Some(json!(generation + 1)));
            }
            let millis = u64::try_from(grace.max(0)).unwrap_or(0) * 1000;
            meta::set(object, "deletionTimestamp", Some(json!(call.now.after(millis).text())));
        }
        meta::set(object, "deletionGracePeriodSeconds", Some(json!(grace)));
    }

    fn check_preconditions(&self, call: &Call<'_>, options: &Options, found: &Value) -> Result<(), Failure> {
        let (uid, version) = (meta::text(found, "uid"), meta::text(found, "resourceVersion"));
        if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
            let why = format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            );
            return Err(Failure::unmet_precondition(&call.resource, &call.name, &why));
        }
        if let Some(wanted) = options.version.as_deref().filter(|wanted| *wanted != version) {
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            );
            return Err(Failure::unmet_precondition(&call.resource, &call.name, &why));
        }
        Ok(())
    }

    /// How many seconds a pod that runs has to end; other kinds go at once.
    fn grace(&self, call: &Call<'_>, options: &Options, found: &Value) -> Option<i64> {
        if !call.resource.is("", "pods") {
            return None;
        }
        let scheduled =
            found.pointer("/spec/nodeName").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
        let ended =
            matches!(found.pointer("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"));
        if !scheduled || ended {
            return Some(0);
        }
        let own = found.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
        Some(options.grace.or(own).unwrap_or(30))
    }

    /// The finalizers that a deletion leaves on an object, for what depends on it.
    fn finalizers(&self, options: &Options, before: &[String]) -> Vec<String> {
        let policy = options.propagation.as_deref();
        let has = |name: &str| before.iter().any(|it| it == name);
        let orphans = match (options.orphan, policy) {
            (Some(orphans), _) => orphans,
            (None, Some(policy)) => policy == "Orphan",
            (None, None) => has("orphan"),
        };
        let foreground = match (options.orphan, policy) {
            (Some(_), _) => false,
            (None, Some(policy)) => policy == "Foreground",
            (None, None) => has("foregroundDeletion") && !has("orphan"),
        };
        let kept = before.iter().filter(|it| !matches!(it.as_str(), "orphan" | "foregroundDeletion"));
        let mut finalizers: Vec<String> = kept.cloned().collect();
        if orphans {
            finalizers.push("orphan".to_owned());
        }
        if foreground {
            finalizers.push("foregroundDeletion".to_owned());
        }
        finalizers
    }
}
