//! What a node wants: its identity, and the whole object to apply with what the inventory needs written on it.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    Cause,
    edges::Edges,
    inputs::{self, The},
    pass::{Asked, Data, Found, NodeView, Pass},
    reason,
};
use crate::{
    blueprint::{Conflict, Function, Input, NamePart, NameSegment, Node, ObjectIdentity, OnDelete},
    digest::{Digest, Digester},
    evaluate::Form,
    ledger::Slot,
    path::FieldPath,
    truth::Truth,
    world::{
        CLAIM_ANNOTATION, Claim, KindKey, ONCE_FINALIZER, ObjectKey, ROOT_LABEL, fields, place, without,
    },
};

/// What a node wants.
pub(super) struct Desired {
    pub(super) key: ObjectKey,
    pub(super) digest: Digest,
    claim: Arc<Claim>,
    rendered: Rendered,
    patch: Option<Data>,
    /// Without the fields that were yielded.
    yielded: Vec<FieldPath>,
    body: OnceCell<Value>,
}

impl Desired {
    /// Whether it is an attempt of a once-object, which may come and go.
    pub(super) fn is_attempt(&self) -> bool {
        self.claim.attempt.is_some()
    }
}

/// What a claim notes of what the server made of an apply.
#[derive(Clone, Copy)]
pub(super) struct Notes<'n> {
    /// The fields that our entry of managed fields does not cover, as marks.
    pub(super) unkept: &'n BTreeSet<String>,
    /// The fields that are not in the answer.
    pub(super) dropped: &'n BTreeSet<String>,
}

static NOTHING: BTreeSet<String> = BTreeSet::new();

impl<'n> Notes<'n> {
    pub(super) const NONE: Self = Self { unkept: &NOTHING, dropped: &NOTHING };

    pub(super) fn of(claim: &'n Claim) -> Self {
        Self { unkept: &claim.unkept, dropped: &claim.dropped }
    }
}

/// What a template gave, and the digest of the question.
#[derive(Debug, Clone)]
pub(super) struct Rendered {
    pub(super) data: Data,
    question: Digest,
}

/// What a slot wanted last, by the digest of the question and what was written on it.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    question: Digest,
    key: ObjectKey,
    claim: Arc<Claim>,
}

/// What is written on the object besides its template.
#[derive(Default, Clone)]
pub(super) struct Marks {
    /// The state it is in, and that state's patch.
    pub(super) state: Option<(String, Data)>,
    pub(super) attempt: Option<(Digest, u32)>,
}

/// The text in a field; none where it is missing or null.
fn text(record: &Value, field: &str) -> Result<Option<String>, Cause> {
    match record.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Cause::stalled(reason::ERROR, format!("its `{field}` is no text"))),
    }
}

/// An object has the name that its template gives it, with all that the template reads. One that comes out otherwise
/// with the root and the member alone would be made under a name that nobody wrote.
pub(super) fn named_alike(key: &ObjectKey, rendered: &Value) -> Result<(), Cause> {
    let metadata = rendered.get("metadata").unwrap_or(&Value::Null);
    let differs = |field: &str, wanted: &str| Ok(text(metadata, field)?.is_some_and(|it| it != wanted));
    if !differs("name", &key.name)? && (key.namespace.is_empty() || !differs("namespace", &key.namespace)?) {
        return Ok(());
    }
    let text = "its name depends on more than the root and the member: `late_name = true` allows that";
    Err(Cause::stalled(reason::ERROR, text))
}

/// Why something rendered cannot be an object. Where our own marks go, there must be room for them: what stands in
/// their place would be lost without a word.
fn misfit(rendered: &Value) -> Option<&'static str> {
    const RECORDS: [(&str, &str); 4] = [
        ("", "no record"),
        ("/metadata", "a `metadata` that is no record"),
        ("/metadata/labels", "`metadata.labels` that are no record"),
        ("/metadata/annotations", "`metadata.annotations` that are no record"),
    ];
    let odd =
        |at: &str| rendered.pointer(at).is_some_and(|it| !it.is_object() && (at.is_empty() || !it.is_null()));
    RECORDS.iter().find(|(at, _)| odd(at)).map(|(_, what)| *what)
}

/// Which fields of a template are left to whoever owns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yields {
    Nothing,
    /// How many there are, to an autoscaler.
    Scale,
    All,
}

/// Who writes the number of replicas for a HorizontalPodAutoscaler: the controllers of Kubernetes, which write that of nothing
/// else that a template makes. Whoever took it back would scale down what is under load.
const AUTOSCALER: &str = "kube-controller-manager";

/// Whether a manager has a field as an autoscaler.
fn is_scaled(manager: &str, at: &FieldPath) -> bool {
    manager == AUTOSCALER && at.parts() == ["spec", "replicas"]
}

impl Pass<'_> {
    /// The identity of a node's object: a function of the root and the member only, so that it is known while its
    /// inputs are not. What the way it is written says of a name saves a question, where that cannot differ from its answer. With `late_name` it is only known with the rendered object.
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
        let Some(namespaced) = self.facts.kind(&kind).map(|it| it.namespaced) else {
            return Err(Cause::Unknown(format!("{kind} is not listed yet")));
        };
        if node.late_name {
            return Err(Cause::Unknown("its name is only known with all of its inputs".to_owned()));
        }
        let read_off = self.name_part(&object.name, each).zip(self.name_part(&object.namespace, each));
        let (name, namespace) = match read_off.filter(|_| !at_length!()) {
            Some(read_off) => read_off,
            None => self.asked_name(function, each)?,
        };
        self.identified(kind, namespaced, name, namespace)
    }

    /// The name and the namespace as the function says them, of the root and the member alone.
    fn asked_name(
        &mut self,
        function: &Function,
        each: Option<&Value>,
    ) -> Result<(Option<String>, Option<String>), Cause> {
        let the = The { root: Data::Value(self.root_input()), extracts: None, each, own: None, seed: None };
        match self.ask(function, Form::Identity, &the) {
            Asked::Value(metadata) => {
                Ok((text(metadata.value(), "name")?, text(metadata.value(), "namespace")?))
            }
            Asked::Unknown(why) => Err(Cause::Unknown(format!("its name: {why}"))),
            Asked::Error(why) => Err(Cause::stalled(reason::ERROR, format!("its name: {why}"))),
        }
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
            None => self.facts.root().key.namespace.clone(),
        };
        if namespaced && namespace.is_empty() {
            return Err(Cause::stalled(reason::ERROR, "its object has no namespace, and the root has none"));
        }
        Ok(ObjectKey::new(kind, namespace, name))
    }

    /// A part of the name that is put together of fields of the root and the member; none if the evaluator has to be asked.
    /// What there is to say of a field that is missing or no text is the evaluator's as well.
    fn name_part(&self, part: &NamePart, each: Option<&Value>) -> Option<Option<String>> {
        let guessed: Vec<NameSegment>;
        let segments = match part {
            NamePart::Missing => return Some(None),
            NamePart::Computed(reads) if mutant!(NamesAreReadOff) => {
                guessed = reads.first().cloned().map(NameSegment::Input).into_iter().collect();
                &guessed
            }
            NamePart::Computed(_) => return None,
            NamePart::Pattern(segments) => segments,
        };
        let root = self.root_input();
        let mut text = String::new();
        for segment in segments {
            match segment {
                NameSegment::Text(literal) => text.push_str(literal),
                NameSegment::Input(read) => {
                    let from = match read.input() {
                        Input::Root => &*root,
                        Input::Each => each?,
                        _ => return None,
                    };
                    let found = read.path[1..].iter().try_fold(from, |it, part| it.as_object()?.get(part))?;
                    text.push_str(found.as_str()?);
                }
            }
        }
        Some(Some(text))
    }

    /// The rendered template, before anything of ours is written on it.
    pub(super) fn render(
        &mut self,
        slot: &Slot,
        function: &Function,
        edges: &Edges,
        each: Option<&Value>,
        own: &Found,
    ) -> Result<Rendered, Cause> {
        let reads_own = inputs::reads_own(function);
        let mut the = self.the(function, edges, each, reads_own.then_some(own))?;
        if inputs::reads_seed(function) {
            the.seed = Some(self.seed(slot)?);
        }
        let rendered = self.rendered(function, &the)?;
        if reads_own {
            // What the template makes of its own result must be that result, or it would be applied for ever.
            the.own = Some(rendered.data.clone());
            if self.rendered(function, &the)?.data != rendered.data && !mutant!(UnsteadyTemplates) {
                return Err(Cause::stalled(reason::UNSTEADY, "its template changes its own result"));
            }
        }
        Ok(rendered)
    }

    fn rendered(&mut self, function: &Function, the: &The<'_>) -> Result<Rendered, Cause> {
        let (question, asked) = self.ask_keyed(function, Form::Whole, the);
        match asked {
            Asked::Value(data) => match misfit(data.value()) {
                None => Ok(Rendered { data, question }),
                Some(what) => Err(Cause::stalled(reason::ERROR, format!("its template gives {what}"))),
            },
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
        patch: Option<(String, Data)>,
    ) -> Result<Desired, Cause> {
        let rendered = self.render(slot, function, edges, each, own)?;
        let key = match identity {
            Ok(key) => key,
            Err(_) if node.late_name => self.late_identity(rendered.data.value())?,
            Err(cause) => return Err(cause),
        };
        named_alike(&key, rendered.data.value())?;
        self.marked(slot, node, key, rendered, Marks { state: patch, attempt: None })
    }

    fn late_identity(&self, rendered: &Value) -> Result<ObjectKey, Cause> {
        let kind = KindKey::new(
            &text(rendered, "apiVersion")?.unwrap_or_default(),
            &text(rendered, "kind")?.unwrap_or_default(),
        );
        let metadata = rendered.get("metadata").unwrap_or(&Value::Null);
        let namespaced = self.facts.kind(&kind).is_some_and(|it| it.namespaced);
        self.identified(kind, namespaced, text(metadata, "name")?, text(metadata, "namespace")?)
    }

    /// What is wanted with what the inventory needs written on it. The whole object is only made where it is needed:
    /// a settled one is told by its digest.
    pub(super) fn marked(
        &mut self,
        slot: &Slot,
        node: &Node,
        key: ObjectKey,
        rendered: Rendered,
        marks: Marks,
    ) -> Result<Desired, Cause> {
        let claim = Claim {
            root: self.facts.root().key.clone(),
            object: place(&key),
            node: slot.node.clone(),
            state: marks.state.as_ref().map(|(name, _)| name.clone()),
            member: slot.member.clone(),
            after: self.after(&slot.node)?,
            revision: self.program.revision.name.clone(),
            ordinal: self.program.revision.ordinal,
            applied: rendered.question,
            fields: String::new(),
            unkept: BTreeSet::new(),
            dropped: BTreeSet::new(),
            patch: marks.state.as_ref().map(|(_, patch)| self.facts.digest(patch.value())),
            orphan: node.on_delete == OnDelete::Orphan,
            owned: node.on_delete != OnDelete::Orphan && self.owns(&key),
            attempt: marks.attempt,
            seal: String::new(),
            older: false,
        };
        let known = self.kept.get(slot).filter(|it| it.question == rendered.question && it.key == key);
        let known = known.filter(|it| Claim { applied: it.claim.applied, ..claim.clone() } == *it.claim);
        let yields = self.yields(slot, node, &key, &rendered);
        let known = known.filter(|_| yields == Yields::Nothing).map(|it| it.claim.clone());
        let mut desired = Desired {
            digest: claim.applied,
            claim: Arc::new(claim),
            patch: marks.state.map(|(_, patch)| patch),
            yielded: Vec::new(),
            body: OnceCell::new(),
            rendered,
            key,
        };
        if let Some(known) = known {
            desired.digest = known.applied;
            desired.claim = known;
            return Ok(desired);
        }
        let mut body = self.unclaimed(&desired);
        if let Some(live) = self.facts.object(&desired.key).filter(|_| yields != Yields::Nothing) {
            // A field that another manager owns is not wanted at all.
            let taken = live.taken_from(&self.manager, &body).into_iter();
            let taken = taken.filter(|(by, at)| yields == Yields::All || is_scaled(by, at));
            desired.yielded = taken.map(|(_, at)| at).collect();
            desired.yielded.iter().for_each(|at| without(&mut body, at.parts()));
        }
        let claim = &desired.claim;
        let mut digester = Digester::new(self.facts.secret());
        digester.value(&body);
        digester.value(&json!([
            claim.node,
            claim.state,
            claim.member,
            claim.after,
            claim.orphan,
            claim.attempt
        ]));
        desired.digest = digester.end();
        desired.claim = Arc::new(Claim { applied: desired.digest, ..(**claim).clone() });
        let (question, key) = (desired.rendered.question, desired.key.clone());
        self.kept.insert(slot.clone(), Kept { question, key, claim: desired.claim.clone() });
        Ok(desired)
    }

    /// Which fields a node leaves to others. Looked up only where there may be some: who owns what is read when somebody asks.
    /// An object with states is brought to a number of replicas in an order: there an autoscaler can only be in the way.
    fn yields(&self, slot: &Slot, node: &Node, key: &ObjectKey, rendered: &Rendered) -> Yields {
        let is_set = || rendered.data.value().pointer("/spec/replicas").is_some_and(|it| !it.is_null());
        let scales = || is_set() && !self.program.states.contains_key(&slot.node);
        match node.conflict {
            Conflict::Yield => Yields::All,
            Conflict::Fail if scales() && !mutant!(FightAutoscalers) => {
                let owned = self.facts.object(key).and_then(|it| it.managed.get(AUTOSCALER));
                let scaled = owned.is_some_and(|it| it.contains(&FieldPath::of(&["spec", "replicas"])));
                if scaled { Yields::Scale } else { Yields::Nothing }
            }
            Conflict::Fail | Conflict::Force => Yields::Nothing,
        }
    }

    /// The object without the claim: what the digest is of.
    fn unclaimed(&self, desired: &Desired) -> Value {
        let (key, claim) = (&desired.key, &desired.claim);
        let mut body = desired.rendered.data.value().clone();
        if let Some(patch) = &desired.patch {
            merge(&mut body, patch.value());
        }
        if !body.get("metadata").is_some_and(Value::is_object) {
            body["metadata"] = json!({});
        }
        body["metadata"]["name"] = json!(key.name);
        if !key.namespace.is_empty() {
            body["metadata"]["namespace"] = json!(key.namespace);
        }
        if claim.owned {
            body["metadata"]["ownerReferences"] = json!([{
                "apiVersion": self.root.body.get("apiVersion"), "kind": self.root.body.get("kind"),
                "name": self.facts.root().key.name, "uid": self.facts.root().uid,
            }]);
        }
        if claim.attempt.is_some() && !mutant!(OnceWithoutFinalizer) {
            body["metadata"]["finalizers"] = json!([ONCE_FINALIZER]);
        }
        desired.yielded.iter().for_each(|at| without(&mut body, at.parts()));
        body
    }

    /// The whole object to apply.
    pub(super) fn body<'d>(&self, desired: &'d Desired) -> &'d Value {
        desired.body.get_or_init(|| {
            let mut body = self.unclaimed(desired);
            for field in ["labels", "annotations"] {
                if !body["metadata"].get(field).is_some_and(Value::is_object) {
                    body["metadata"][field] = json!({});
                }
            }
            body["metadata"]["labels"][ROOT_LABEL] = json!(self.facts.root().instance);
            self.claim(&mut body, &desired.key, (*desired.claim).clone());
            body
        })
    }

    /// The same as it is sent: with the fields that are applied, and what is known of those that the server does not keep.
    pub(super) fn sent(&self, desired: &Desired, notes: Notes<'_>) -> Value {
        let mut body = self.body(desired).clone();
        let fields = fields(&self.unclaimed(desired), self.facts.secret());
        let (unkept, dropped) = (notes.unkept.clone(), notes.dropped.clone());
        let claim = Claim { fields, unkept, dropped, ..(*desired.claim).clone() };
        self.claim(&mut body, &desired.key, claim);
        body
    }

    fn claim(&self, body: &mut Value, key: &ObjectKey, claim: Claim) {
        let world = self.facts.all();
        let text = claim.sealed(&world.root.instance, &key.kind, &world.seal);
        body["metadata"]["annotations"][CLAIM_ANNOTATION] = json!(text);
    }

    /// Only where the garbage collector may take it in any order: it knows no edges.
    fn owns(&self, key: &ObjectKey) -> bool {
        let root = &self.facts.root().key;
        !self.program.ordered && (root.namespace.is_empty() || root.namespace == key.namespace)
    }

    /// The nodes it comes after, each with a digest of the objects that node has now. Where the object of one of them may
    /// be gone before that of the node, the order is that of what comes before both.
    fn after(&self, name: &str) -> Result<BTreeMap<String, Digest>, Cause> {
        let program = self.program;
        let mut after = BTreeMap::new();
        let (mut open, mut seen) = (vec![name], BTreeSet::new());
        while let Some(at) = open.pop() {
            for precursor in program.removed_after(at).filter(|it| seen.insert(it.as_str())) {
                let Some(origin) = program.origin(name, precursor) else {
                    open.push(precursor);
                    continue;
                };
                if self.needed(origin) != Truth::False && !mutant!(ForgetAfter) {
                    after.insert(origin.to_owned(), self.token_before(name, origin)?);
                }
                if !self.stands(precursor, origin) {
                    open.push(precursor);
                }
            }
        }
        Ok(after)
    }

    /// Whether something between two objects keeps their order for as long as both are there: an object that does not go before
    /// the later one. A once that has ended does, and so does what is not needed or has no members.
    fn stands(&self, precursor: &str, origin: &str) -> bool {
        let once = self.program.node(origin).is_some_and(|it| it.once.is_some());
        if once && !mutant!(OnceEndsTheOrder) {
            return false;
        }
        let needed = || precursor != origin && self.needed(origin) == Truth::True;
        let has_members = |view: &NodeView| view.need == Truth::True && !view.members.is_empty();
        needed() || self.earlier(origin).is_some_and(has_members) || mutant!(OrderEndsWithNeed)
    }

    /// The same where it is known. Only a condition comes after a node without a known name, and what is needed for another
    /// reason as well does not wait for that: its order is remembered once there is a name.
    fn token_before(&self, name: &str, origin: &str) -> Result<Digest, Cause> {
        let written = self.program.node(name).is_some_and(|it| it.before.contains_key(origin));
        match self.token(origin) {
            Err(_) if !written => Ok(self.facts.digest(&Value::Null)),
            token => token,
        }
    }

    /// A digest of the objects a node has now.
    pub(super) fn token(&self, name: &str) -> Result<Digest, Cause> {
        let once = self.program.node(name).is_some_and(|it| it.once.is_some());
        let Some(view) = self.earlier(name).filter(|_| !once) else {
            return Ok(self.facts.digest(&json!(name)));
        };
        view.token.ok_or_else(|| Cause::Unknown(format!("the name of {name} is not known")))
    }

    /// What [`Self::token`] gives for a node that was just looked at.
    pub(super) fn token_of(&self, view: &NodeView) -> Option<Digest> {
        let mut digester = Digester::new(self.facts.secret());
        for member in view.members.values() {
            let key = member.key.as_ref()?;
            let parts = [&key.kind.group, &key.kind.kind, &key.namespace, &key.name];
            parts.into_iter().for_each(|part| digester.text(part));
        }
        Some(digester.end())
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
