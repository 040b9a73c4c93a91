//! What a node wants: its identity, and the whole object to apply with what the inventory needs written on it.

use serde_json::{Map, Value, json};

use super::{
    Cause,
    edges::Edges,
    inputs,
    pass::{Asked, Found, Pass},
    reason,
};
use crate::{
    blueprint::{Conflict, Function, Input, NamePart, NameSegment, Node, ObjectIdentity, OnDelete},
    digest::Digest,
    evaluate::Form,
    ledger::Slot,
    truth::Truth,
    world::{CLAIM_ANNOTATION, Claim, FINALIZER, KindKey, ObjectKey, ROOT_LABEL, without},
};

/// What a node wants.
#[derive(Debug, Clone)]
pub(super) struct Desired {
    pub(super) key: ObjectKey,
    /// The whole object to apply.
    pub(super) body: Value,
    pub(super) digest: Digest,
}

/// What is written on the object besides its template.
#[derive(Default, Clone)]
pub(super) struct Marks {
    /// The state it is in and the digest of that state's patch.
    pub(super) state: Option<(String, Value)>,
    pub(super) attempt: Option<(Digest, u32)>,
}

impl Pass<'_> {
    /// The identity of a node's object: a function of the root and the member only, so that it is known while its
    /// inputs are not. With `late_name` it is only known with the rendered object.
    pub(super) fn identity(
        &mut self,
        node: &Node,
        object: &ObjectIdentity,
        function: &Function,
        each: Option<&Value>,
    ) -> Result<ObjectKey, Cause> {
        let (Some(api_version), Some(kind)) = (object.api_version.known(), object.kind.known()) else {
            return Err(Cause::stalled(reason::ERROR, "its kind is not known"));
        };
        let kind = KindKey::new(api_version, kind);
        let Some(namespaced) = self.world.kinds.get(&kind).map(|it| it.namespaced) else {
            return Err(Cause::Unknown(format!("{kind} is not listed yet")));
        };
        if node.late_name {
            return Err(Cause::Unknown("its name is only known with all of its inputs".to_owned()));
        }
        let computed = |part: &NamePart| matches!(part, NamePart::Computed(_));
        let (name, namespace) = if computed(&object.name) || computed(&object.namespace) {
            let mut the = Map::from_iter([("root".to_owned(), self.root_input.clone())]);
            the.extend(each.map(|it| ("each".to_owned(), it.clone())));
            match self.ask(function, Form::Identity, &Value::Object(the)) {
                Asked::Value(metadata) => {
                    let text = |field| metadata.get(field).and_then(Value::as_str).map(str::to_owned);
                    (text("name"), text("namespace"))
                }
                Asked::Unknown(why) => return Err(Cause::Unknown(format!("its name: {why}"))),
                Asked::Error(why) => return Err(Cause::stalled(reason::ERROR, format!("its name: {why}"))),
            }
        } else {
            (self.name_part(&object.name, each)?, self.name_part(&object.namespace, each)?)
        };
        self.identified(kind, namespaced, name, namespace)
    }

    fn identified(
        &self,
        kind: KindKey,
        namespaced: bool,
        name: Option<String>,
        namespace: Option<String>,
    ) -> Result<ObjectKey, Cause> {
        let Some(name) = name.filter(|it| !it.is_empty()) else {
            return Err(Cause::stalled(reason::ERROR, "its object has no name"));
        };
        let namespace = match namespace {
            _ if !namespaced => String::new(),
            Some(namespace) => namespace,
            None => self.world.root.key.namespace.clone(),
        };
        if namespaced && namespace.is_empty() {
            return Err(Cause::stalled(reason::ERROR, "its object has no namespace, and the root has none"));
        }
        Ok(ObjectKey { kind, namespace, name })
    }

    fn name_part(&self, part: &NamePart, each: Option<&Value>) -> Result<Option<String>, Cause> {
        let NamePart::Pattern(segments) = part else { return Ok(None) };
        let mut text = String::new();
        for segment in segments {
            match segment {
                NameSegment::Text(literal) => text.push_str(literal),
                NameSegment::Input(read) => {
                    let from = match read.input() {
                        Input::Root => Some(&self.root_input),
                        Input::Each => each,
                        _ => None,
                    };
                    let found =
                        from.and_then(|from| read.path[1..].iter().try_fold(from, |it, part| it.get(part)));
                    match found {
                        Some(Value::String(found)) => text.push_str(found),
                        Some(Value::Number(found)) => text.push_str(&found.to_string()),
                        _ => return Err(Cause::Unknown(format!("its name reads {}", read.path.join(".")))),
                    }
                }
            }
        }
        Ok(Some(text))
    }

    /// The rendered template, before anything of ours is written on it.
    pub(super) fn render(
        &mut self,
        slot: &Slot,
        function: &Function,
        edges: &Edges,
        each: Option<&Value>,
        own: &Found,
    ) -> Result<Value, Cause> {
        let reads_own = inputs::reads_own(function);
        let mut the = self.the(function, edges, each, reads_own.then_some(own))?;
        if inputs::reads_seed(function) {
            let seed = self.seed(slot)?;
            the["seed"] = seed;
        }
        let rendered = self.rendered(function, &the)?;
        if reads_own {
            // What the template makes of its own result must be that result, or it would be applied for ever.
            the["self"] = rendered.clone();
            if self.rendered(function, &the)? != rendered && !mutant!(UnsteadyTemplates) {
                return Err(Cause::stalled(reason::UNSTEADY, "its template changes its own result"));
            }
        }
        Ok(rendered)
    }

    fn rendered(&mut self, function: &Function, the: &Value) -> Result<Value, Cause> {
        match self.ask(function, Form::Whole, the) {
            Asked::Value(value) if value.is_object() => Ok(value),
            Asked::Value(_) => Err(Cause::stalled(reason::ERROR, "its template gives no record")),
            Asked::Error(text) => Err(Cause::stalled(reason::ERROR, text)),
            Asked::Unknown(text) => Err(Cause::Unknown(text)),
        }
    }

    /// The whole object to apply.
    #[expect(clippy::too_many_arguments, reason = "each is a different part of what makes an object")]
    pub(super) fn desired(
        &mut self,
        slot: &Slot,
        node: &Node,
        function: &Function,
        edges: &Edges,
        each: Option<&Value>,
        identity: Result<ObjectKey, Cause>,
        own: &Found,
        patch: Option<(String, Value)>,
    ) -> Result<Desired, Cause> {
        let mut rendered = self.render(slot, function, edges, each, own)?;
        let key = match identity {
            Ok(key) => key,
            Err(_) if node.late_name => self.late_identity(&rendered)?,
            Err(cause) => return Err(cause),
        };
        if let Some((_, patch)) = &patch {
            merge(&mut rendered, patch);
        }
        self.marked(slot, node, key, rendered, &Marks { state: patch, attempt: None })
    }

    fn late_identity(&self, rendered: &Value) -> Result<ObjectKey, Cause> {
        let text = |it: &Value, field: &str| it.get(field).and_then(Value::as_str).map(str::to_owned);
        let kind = KindKey::new(
            &text(rendered, "apiVersion").unwrap_or_default(),
            &text(rendered, "kind").unwrap_or_default(),
        );
        let metadata = rendered.get("metadata").cloned().unwrap_or_default();
        let namespaced = self.world.kinds.get(&kind).is_some_and(|it| it.namespaced);
        self.identified(kind, namespaced, text(&metadata, "name"), text(&metadata, "namespace"))
    }

    /// Writes on a rendered object what the inventory needs.
    pub(super) fn marked(
        &mut self,
        slot: &Slot,
        node: &Node,
        key: ObjectKey,
        mut body: Value,
        marks: &Marks,
    ) -> Result<Desired, Cause> {
        if !body.get("metadata").is_some_and(Value::is_object) {
            body["metadata"] = json!({});
        }
        body["metadata"]["name"] = json!(key.name);
        if !key.namespace.is_empty() {
            body["metadata"]["namespace"] = json!(key.namespace);
        }
        let orphan = node.on_delete == OnDelete::Orphan;
        let owned = self.owns(&key) && !orphan;
        if owned {
            body["metadata"]["ownerReferences"] = json!([{
                "apiVersion": self.root.body.get("apiVersion"), "kind": self.root.body.get("kind"),
                "name": self.world.root.key.name, "uid": self.world.root.uid,
            }]);
        }
        if marks.attempt.is_some() && !mutant!(OnceWithoutFinalizer) {
            body["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        self.leave_out_yielded(node, &key, &mut body);
        let mut claim = Claim {
            root: self.world.root.key.clone(),
            node: slot.node.clone(),
            state: marks.state.as_ref().map(|(name, _)| name.clone()),
            member: slot.member.clone(),
            after: self.after(&slot.node)?,
            revision: self.program.revision.name.clone(),
            ordinal: self.program.revision.ordinal,
            applied: self.world.digest(&Value::Null),
            patch: marks.state.as_ref().map(|(_, patch)| self.world.digest(patch)),
            orphan,
            owned,
            attempt: marks.attempt,
        };
        let digest = self.world.digest(&json!([
            body,
            claim.node,
            claim.state,
            claim.member,
            claim.after,
            claim.orphan,
            claim.attempt
        ]));
        claim.applied = digest;
        if !body["metadata"].get("labels").is_some_and(Value::is_object) {
            body["metadata"]["labels"] = json!({});
        }
        if !body["metadata"].get("annotations").is_some_and(Value::is_object) {
            body["metadata"]["annotations"] = json!({});
        }
        body["metadata"]["labels"][ROOT_LABEL] = json!(self.world.root.instance);
        let text = serde_json::to_string(&claim).unwrap_or_default();
        body["metadata"]["annotations"][CLAIM_ANNOTATION] = json!(text);
        Ok(Desired { key, body, digest })
    }

    /// Only where the garbage collector may take it in any order: it knows no edges.
    fn owns(&self, key: &ObjectKey) -> bool {
        let root = &self.world.root.key;
        !self.program.ordered && (root.namespace.is_empty() || root.namespace == key.namespace)
    }

    /// With `'Yield`, a field that another manager owns is not wanted at all.
    fn leave_out_yielded(&self, node: &Node, key: &ObjectKey, body: &mut Value) {
        if node.conflict != Conflict::Yield {
            return;
        }
        let Some(live) = self.world.objects.get(key) else { return };
        for (_, path) in live.taken_from(&self.manager, body) {
            without(body, path.parts());
        }
    }

    /// The nodes it comes after, each with a digest of the objects that node has now.
    fn after(&self, name: &str) -> Result<std::collections::BTreeMap<String, Digest>, Cause> {
        let mut after = std::collections::BTreeMap::new();
        for origin in self.program.origins.get(name).into_iter().flatten() {
            if self.needed(origin) == Truth::False || mutant!(ForgetAfter) {
                continue;
            }
            after.insert(origin.clone(), self.token(origin)?);
        }
        Ok(after)
    }

    /// A digest of the objects a node has now.
    pub(super) fn token(&self, name: &str) -> Result<Digest, Cause> {
        let once = self.program.node(name).is_some_and(|it| it.once.is_some());
        let Some(view) = self.nodes.get(name).filter(|_| !once) else {
            return Ok(self.world.digest(&json!(name)));
        };
        let mut keys = Vec::new();
        for member in view.members.values() {
            let Some(key) = &member.key else {
                return Err(Cause::Unknown(format!("the name of {name} is not known")));
            };
            keys.push(key.to_value());
        }
        Ok(self.world.digest(&Value::Array(keys)))
    }
}

/// A merge patch: records are merged, null takes out, everything else replaces.
pub(super) fn merge(into: &mut Value, patch: &Value) {
    let (Some(fields), Some(patches)) = (into.as_object_mut(), patch.as_object()) else {
        *into = patch.clone();
        return;
    };
    for (name, patch) in patches {
        match patch {
            Value::Null => {
                fields.remove(name);
            }
            Value::Object(_) if fields.get(name).is_some_and(Value::is_object) => {
                if let Some(field) = fields.get_mut(name) {
                    merge(field, patch);
                }
            }
            other => {
                fields.insert(name.clone(), other.clone());
            }
        }
    }
}
