//! Creating objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Call, Server};
use crate::api::{DEFINITION_IS_GOING, Failure};
use crate::built_in::{self, Strategy};
use crate::kinds::Body;
use crate::manage::{self, Managers};
use crate::meta;
use crate::store::{Key, ResourceId};

impl Server {
    /// Creates the object of a POST, with what there is to warn of.
    ///
    /// # Errors
    /// If it is not allowed to be so, or is there.
    pub(crate) fn create(&mut self, call: &Call<'_>) -> Result<(Arc<Value>, Vec<String>), Failure> {
        if !call.resource.allows("create") {
            return Err(Failure::method_not_allowed());
        }
        if self.is_going(call) {
            return Err(Failure::definition_is_going());
        }
        let body = call.body()?;
        let (mut object, warnings) = self.decoded(call, body)?;
        self.name_it(call, &mut object)?;
        if call.resource.is("apps", "daemonsets")
            && object["metadata"]["annotations"].get(built_in::TEMPLATE_GENERATION).is_none()
        {
            object["metadata"]["annotations"][built_in::TEMPLATE_GENERATION] = json!("0");
        }
        let reset = manage::is_reset(&object);
        meta::set(&mut object, "managedFields", None);
        if !reset {
            let mut managers = Managers::default();
            let ignored = Strategy(&call.resource).reset_fields(&call.subresource);
            let empty = self.empty(call);
            managers.update(
                self.type_of(call),
                &empty,
                &object,
                &call.writer(false),
                &ignored,
                &call.now.text(),
            );
            managers.put_into(&mut object);
        }
        let named = call.named(call.namespace.as_deref(), meta::text(&object, "name"));
        let created = self.insert(&named, object, true)?;
        Ok((created, warnings))
    }

    fn name_it(&mut self, call: &Call<'_>, object: &mut Value) -> Result<(), Failure> {
        let namespace = meta::text(object, "namespace").to_owned();
        match &call.namespace {
            Some(wanted) if !namespace.is_empty() && namespace != *wanted => {
                return Err(Failure::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            Some(wanted) => meta::set(object, "namespace", Some(json!(wanted))),
            None => meta::set(object, "namespace", None),
        }
        let (name, stem) =
            (meta::text(object, "name").to_owned(), meta::text(object, "generateName").to_owned());
        if name.is_empty() && !stem.is_empty() {
            let stem: String = stem.chars().take(58).collect();
            meta::set(object, "name", Some(json!(format!("{stem}{}", self.seed.suffix()))));
        }
        Ok(())
    }

    /// Puts a new object into the store, once everything has been checked.
    ///
    /// # Errors
    /// If it is not allowed to be so, or is there.
    pub(crate) fn insert(
        &mut self,
        call: &Call<'_>,
        mut object: Value,
        by_post: bool,
    ) -> Result<Arc<Value>, Failure> {
        self.admit(call, &mut object)?;
        if self.is_going(call) {
            return Err(Failure::forbidden(&call.resource, &call.name, DEFINITION_IS_GOING));
        }
        meta::edit(&mut object, |fields| {
            for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
                fields.remove(name);
            }
        });
        meta::set(&mut object, "uid", Some(json!(self.seed.uid())));
        meta::set(&mut object, "creationTimestamp", Some(json!(call.now.text())));
        Strategy(&call.resource).prepare_for_create(&mut object);
        if let Body::BuiltIn(kind) = &call.resource.body
            && let Some(body) = kind.body()
        {
            object = built_in::encode(body, &object);
        }
        let causes = self.wrong(call, &object, None);
        if !causes.is_empty() {
            let resource = &call.resource;
            return Err(Failure::invalid(&resource.group, &resource.kind, &call.name, &causes));
        }
        self.allocate(call, &mut object)?;
        if by_post && !call.dry_run && !meta::text(&object, "resourceVersion").is_empty() {
            return Err(Failure::plain(
                "resourceVersion should not be set on objects to be created".to_owned(),
            ));
        }
        if let Some(other) = self.store.get(&call.key()) {
            return Err(Failure::already_exists(&call.resource, &call.name, meta::is_deleting(other)));
        }
        Ok(self.commit(call, object))
    }

    /// Whether the definition of a custom kind is being deleted: it serves the objects that there are.
    fn is_going(&self, call: &Call<'_>) -> bool {
        let definitions = ResourceId {
            group: "apiextensions.k8s.io".to_owned(),
            plural: "customresourcedefinitions".to_owned(),
        };
        let name = call.resource.qualified();
        self.store.get(&Key::new(&definitions, None, &name)).is_some_and(|it| meta::is_deleting(it))
    }

    /// What the server demands of every new object: a namespace that is there and stays.
    fn admit(&self, call: &Call<'_>, _object: &mut Value) -> Result<(), Failure> {
        let Some(namespace) = &call.namespace else { return Ok(()) };
        let id = ResourceId { group: String::new(), plural: "namespaces".to_owned() };
        let Some(found) = self.store.get(&Key::new(&id, None, namespace)) else {
            let Some(resource) = self.kinds.find("", "v1", "namespaces") else { return Ok(()) };
            return Err(Failure::not_found(&resource, namespace));
        };
        if meta::is_deleting(found) {
            return Err(Failure::namespace_ending(&call.resource, &call.name, namespace));
        }
        Ok(())
    }
}
