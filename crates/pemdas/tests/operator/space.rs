//! Namespaces for tests, and what is done and seen in them.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use pemdas_testbed::client::Client;
use serde_json::{Value, json};

use super::{
    bed::{asked, bed, binding, condition, everything, in_force, namespace, until, until_it_can},
    own::oversteps,
};

/// A namespace whose default account may do everything, and an API group that is nobody else's.
pub(crate) struct Space {
    pub(crate) name: String,
    pub(crate) group: String,
    /// What is not counted, because only the test wants it: names of markers, and the uids of their roots.
    pub(crate) markers: Mutex<Vec<String>>,
}

impl Space {
    pub(crate) fn new(about: &str) -> Self {
        let space = Self::poor(about);
        space.apply(&binding(&space.name, "cluster-admin", &space.account("default")));
        space.in_force("", &everything(), &space.account("default"));
        space
    }

    /// The same, and its account may do nothing.
    pub(crate) fn poor(about: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{about}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        namespace(&bed().cluster, &name);
        let space = Self { group: format!("{name}.example.com"), name, markers: Mutex::default() };
        space.lets("default", "*");
        space
    }

    /// An account, which lets these blueprints act as it.
    pub(crate) fn lets(&self, account: &str, blueprints: &str) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": account, "annotations": { "pemdas.dev/blueprints": blueprints } },
        }));
    }

    /// An account of the namespace, as bindings name it.
    pub(crate) fn account(&self, name: &str) -> Value {
        json!({ "kind": "ServiceAccount", "namespace": self.name, "name": name })
    }

    /// Lets an account do something here, by a role and a binding of this name.
    pub(crate) fn allows(&self, name: &str, rules: &Value, account: &Value) {
        const RBAC: &str = "rbac.authorization.k8s.io";
        let (version, metadata) = (format!("{RBAC}/v1"), json!({ "name": name }));
        let role = json!({ "apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules });
        self.apply(&role);
        self.apply(&json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": name }, "subjects": [account],
        }));
        rules.as_array().unwrap().iter().for_each(|it| self.in_force(&self.name, it, account));
    }

    /// Waits until an account has a right, here or everywhere.
    pub(crate) fn in_force(&self, namespace: &str, rule: &Value, account: &Value) {
        let text = |it: &str| account[it].as_str().unwrap();
        let user = format!("system:serviceaccount:{}:{}", text("namespace"), text("name"));
        in_force(&bed().cluster, json!({ "user": user }), namespace, rule);
    }

    /// Applies a blueprint; `GROUP` in it becomes the group of the namespace.
    pub(crate) fn blueprint(&self, name: &str, source: &str) {
        let source = source.replace("GROUP", &self.group);
        self.apply(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "labels": { "pemdas.dev/blueprint": "" } },
            "data": { "main.ncl": source },
        }));
    }

    /// The blueprint runs, and what it owns is served.
    pub(crate) fn runs(&self, name: &str) -> Value {
        until(&format!("{name} runs"), || {
            self.told(name).filter(|it| it["revision"].is_string() && it["definitions"] == json!({}))
        })
    }

    /// What is told of a blueprint on its ConfigMap.
    pub(crate) fn told(&self, name: &str) -> Option<Value> {
        let map = self.get("configmap", name)?;
        let text = map["metadata"]["annotations"]["pemdas.dev/status"].as_str()?;
        Some(serde_json::from_str(text).unwrap())
    }

    /// For what only `kubectl` does.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let arguments = [&["-n", &self.name][..], arguments].concat();
        bed().cluster.kubectl(&arguments).map_err(|error| error.to_string())
    }

    pub(crate) fn client() -> &'static Client {
        bed().cluster.client()
    }

    /// Where an object is.
    pub(crate) fn path(&self, kind: &str, name: &str) -> String {
        Self::client().path(kind, &self.name, name).unwrap()
    }

    pub(crate) fn apply(&self, object: &Value) {
        self.apply_as("tester", object);
    }

    /// Applies in the name of a field manager; a List is applied piece by piece.
    pub(crate) fn apply_as(&self, manager: &str, object: &Value) {
        if let Some(items) = object["items"].as_array() {
            return items.iter().for_each(|it| self.apply_as(manager, it));
        }
        // A kind that was just made may be unknown for a moment.
        until_it_can(&format!("{} is applied", object["kind"]), || {
            Self::client().apply(manager, &self.name, object)
        });
    }

    /// Creates an object, which is not there yet; tells whether it was so.
    pub(crate) fn creates(&self, object: &Value) -> bool {
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        Self::client().create(&self.path(&kind, ""), object).is_ok()
    }

    /// A ConfigMap of a hand.
    pub(crate) fn map_of_a_hand(&self, name: &str) {
        let data = json!({ "mine": "yes" });
        let map =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data });
        assert!(self.creates(&map), "{name} is made");
    }

    /// Changes an object by hand.
    pub(crate) fn merge(&self, kind: &str, name: &str, patch: &Value) {
        Self::client().merge(&self.path(kind, name), patch).unwrap();
    }

    /// Changes the status of an object by hand.
    pub(crate) fn merge_status(&self, kind: &str, name: &str, status: &Value) {
        let patch = json!({ "status": status });
        Self::client().merge(&format!("{}/status", self.path(kind, name)), &patch).unwrap();
    }

    pub(crate) fn annotate(&self, kind: &str, name: &str, annotation: &str, value: &str) {
        self.merge(kind, name, &json!({ "metadata": { "annotations": { annotation: value } } }));
    }

    /// Deletes an object, and waits until it is gone.
    pub(crate) fn delete(&self, kind: &str, name: &str) {
        let uid = self.get(kind, name).map(|it| it["metadata"]["uid"].clone());
        self.delete_soon(kind, name);
        until(&format!("{kind} {name} is gone"), || {
            let now = self.look(kind, name)?;
            (now.map(|it| it["metadata"]["uid"].clone()) != uid).then_some(())
        });
    }

    /// Deletes an object, and does not wait.
    pub(crate) fn delete_soon(&self, kind: &str, name: &str) {
        // As kubectl does: what is owned goes too, of every kind.
        Self::client().delete(&format!("{}?propagationPolicy=Background", self.path(kind, name))).unwrap();
    }

    /// Deletes an object, and leaves what it owns.
    pub(crate) fn delete_alone(&self, kind: &str, name: &str) {
        Self::client().delete(&format!("{}?propagationPolicy=Orphan", self.path(kind, name))).unwrap();
        self.gone(kind, name);
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.look(kind, name).flatten()
    }

    /// What is there; nothing if that could not be found out.
    fn look(&self, kind: &str, name: &str) -> Option<Option<Value>> {
        let path = Self::client().path(kind, &self.name, name).ok()?;
        let mut found = Self::client().get(&path).ok()?;
        found.iter_mut().for_each(without_notes);
        Some(found)
    }

    /// All objects of a kind.
    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
        let list = Self::client().get(&self.path(kind, "")).unwrap().expect("the kind is served");
        let mut items = list["items"].as_array().unwrap().clone();
        items.iter_mut().for_each(without_notes);
        items
    }

    /// The names of all objects of a kind, but for those that belong to the cluster and to markers.
    pub(crate) fn names(&self, kind: &str) -> Vec<String> {
        let list = self.list(kind);
        let names = list.iter().map(|it| it["metadata"]["name"].as_str().unwrap().to_owned());
        names.filter(|it| it != "kube-root-ca.crt" && !self.is_marker(it)).collect()
    }

    /// What Events say, in the words of all of them.
    pub(crate) fn events(&self) -> String {
        self.list("event").iter().map(|it| format!("{}\n", it["note"])).collect()
    }

    /// An instance of a kind of this space.
    pub(crate) fn instance(&self, kind: &str, name: &str, spec: &Value) {
        self.apply(&json!({
            "apiVersion": format!("{}/v1", self.group), "kind": kind,
            "metadata": { "name": name }, "spec": spec,
        }));
    }

    /// The whole name of a kind of this space.
    pub(crate) fn kind(&self, kind: &str) -> String {
        format!("{}.{}", kind.to_lowercase(), self.group)
    }

    pub(crate) fn ready(&self, kind: &str, name: &str) -> Value {
        until(&format!("{kind} {name} is ready"), || {
            self.get(&self.kind(kind), name).filter(|it| {
                condition(it, "Ready")["status"] == "True"
                    && it["status"]["observedGeneration"] == it["metadata"]["generation"]
            })
        })
    }

    /// It stalls, and says this.
    pub(crate) fn stalls(&self, kind: &str, name: &str, words: &str) -> Value {
        until(&format!("{kind} {name} stalls: {words}"), || {
            self.get(&self.kind(kind), name).filter(|it| {
                let stalled = condition(it, "Stalled");
                stalled["status"] == "True" && stalled["message"].as_str().unwrap().contains(words)
            })
        })
    }

    pub(crate) fn gone(&self, kind: &str, name: &str) {
        until(&format!("{kind} {name} is gone"), || self.look(kind, name)?.is_none().then_some(()));
    }

    /// What the operator wrote in this namespace so far, for itself or for the account; Events apart.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.requests().into_iter().filter(|it| !it.starts_with("get ") && !it.starts_with("list ")).collect()
    }

    /// What the operator asked of this namespace so far: verb, resource and name.
    pub(crate) fn requests(&self) -> Vec<String> {
        asked(|it| it.namespace.as_deref() == Some(&self.name))
            .iter()
            .filter(|it| {
                !["events", "subjectaccessreviews", "controllerrevisions"].contains(&it.resource.as_str())
            })
            .filter(|it| it.verb != "watch")
            // What is told on a blueprint is told of all its instances together.
            .filter(|it| !(it.resource == "configmaps" && it.name.as_deref() == Some("blueprint")))
            .filter(|it| !it.name.as_deref().is_some_and(|it| self.is_marker(it)))
            .map(|it| format!("{} {} {}", it.verb, it.resource, it.name.as_deref().unwrap_or_default()))
            .collect()
    }

    fn is_marker(&self, name: &str) -> bool {
        let markers = self.markers.lock().unwrap_or_else(PoisonError::into_inner);
        markers.iter().any(|it| name.contains(it))
    }
}

/// Whatever a test did: nothing but its own was written here, or in no namespace, under an operator's own name. Any namespace may be that
/// in which an operator of a test keeps its keys.
impl Drop for Space {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let is_here = |of: Option<&str>| of.is_none_or(|it| it == self.name);
        let written = asked(|it| is_here(it.namespace.as_deref()) && oversteps(it, true));
        assert!(written.is_empty(), "written under an operator's own name: {written:#?}");
    }
}

/// Nobody looks for what managers noted.
fn without_notes(object: &mut Value) {
    object["metadata"].as_object_mut().map(|it| it.remove("managedFields"));
}
