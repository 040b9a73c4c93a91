//! From the words of a command to what is explained.

use std::{collections::BTreeSet, sync::Arc};

use pemdas_core::{
    blueprint::{Body, RootTarget},
    decide::{Decision, Mode, suspends},
    diagnostic::Diagnostic,
    graph::{OWN_ROOT, Vertex},
    ledger::Slot,
    plan,
    suggest::did_you_mean,
    world::{Claim, KindKey, Live, OUR_PREFIX, ObjectKey, ROOT_LABEL},
};
use pemdas_kube::{
    compile::Compiler,
    connect::Trouble,
    survey::{Found, Served},
};
use serde_json::Value;

use super::{Blueprint, Edges, Explained, Focus, Instance, Node, State, advice, merge};
use crate::{
    live::{Compiled, Field, Look, Lost, Reader, Session, running},
    plan::look,
};

/// How many Events are told.
const MAX_EVENTS: usize = 5;
/// How many instances that wait for each other are looked at.
const MAX_BEYOND: usize = 8;

/// Looks at a cluster and explains.
pub(crate) struct Explainer<'a> {
    pub(super) session: &'a Session,
    pub(super) reader: Reader,
}

/// One line of a list of instances.
pub(crate) struct Listed {
    pub(crate) root: ObjectKey,
    pub(crate) blueprint: String,
    pub(crate) state: State,
    pub(crate) since: Option<String>,
    pub(crate) why: String,
    /// The root cause alone: what instances may have in common.
    pub(crate) cause: String,
    pub(crate) revision: Option<String>,
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(session: &'a Session, compiler: impl Compiler) -> Self {
        Self { session, reader: Reader::new(compiler) }
    }

    /// Explains one object: as a root, as what an instance made, or as a blueprint.
    pub(crate) fn object(&self, word: &str, name: &str) -> Result<Vec<Explained>, Lost> {
        self.object_in(self.session.namespace(), word, name)
    }

    /// Explains one object of a namespace.
    pub(crate) fn object_in(&self, namespace: &str, word: &str, name: &str) -> Result<Vec<Explained>, Lost> {
        let served = self.session.kind(word)?;
        let live = self.named(served, namespace, name)?;
        let mut all = Vec::new();
        let mut notes = Vec::new();
        let map = KindKey::new("v1", "ConfigMap");
        let blueprint = Some(&live).filter(|it| it.key.kind == map).and_then(|it| Found::read(it.clone()));
        if let Some(found) = &blueprint {
            let account = found.account.to_string();
            let mut advice = advice::of_blueprint(&found.title(), &account, found.policy(), &found.told);
            if live.terminating {
                let left = self.instances_of(found)?;
                advice.insert(0, advice::of_going_blueprint(&found.title(), &left, &found.told));
            }
            let (object, told) = (live.key.clone(), found.told.clone());
            all.push(Explained::Blueprint(Box::new(Blueprint { object, account, told, advice })));
        }
        if let Some(label) = live.label(ROOT_LABEL).map(str::to_owned) {
            all.push(self.made(&live, &label)?);
        }
        self.as_root(served, &live, &mut all, &mut notes)?;
        if all.is_empty() {
            all.push(Explained::Nobodys { object: live.key, notes });
        }
        Ok(all)
    }

    /// What a blueprint that is being deleted waits for: the roots of its instances, as people name them.
    fn instances_of(&self, found: &Found) -> Result<Vec<String>, Lost> {
        let files = running(self.session, found, None);
        let Ok(compiled) = self.reader.compiled(found, &files) else { return Ok(Vec::new()) };
        let mut left = BTreeSet::new();
        for (root, node) in &compiled.blueprint.nodes {
            let Some((api_version, kind)) = compiled.blueprint.kind_of_root(&node.body) else { continue };
            let key = KindKey::new(&api_version, &kind);
            let Some(served) = self.session.kinds()?.of(&key) else { continue };
            let all = self.session.ask(async |survey| survey.list(&served.resource, None, None).await)?;
            let theirs = |it: &&Live| may_be(root, it, found) && picks(&compiled, root, it);
            left.extend(all.iter().filter(theirs).map(|it| it.key.to_string()));
        }
        Ok(left.into_iter().collect())
    }

    pub(super) fn named(&self, served: &Served, namespace: &str, name: &str) -> Result<Live, Lost> {
        let (session, resource) = (self.session, &served.resource);
        let namespace = if resource.namespaced { namespace } else { "" };
        if let Some(live) = session.ask(async |survey| survey.object(resource, namespace, name).await)? {
            return Ok(live);
        }
        let place =
            if namespace.is_empty() { String::new() } else { format!(" in the namespace {namespace}") };
        let listed = session.ask(async |survey| survey.list(resource, None, None).await);
        let listed = listed
            .or_else(|_| session.ask(async |survey| survey.list(resource, Some(namespace), None).await));
        let others = listed.unwrap_or_default();
        let elsewhere = others.iter().find(|it| it.key.name == name).map(|it| it.key.namespace.clone());
        let here = others.iter().filter(|it| it.key.namespace == namespace).map(|it| it.key.name.as_str());
        let hint = match elsewhere {
            Some(other) => Some(format!("there is one in the namespace {other}: -n {other}")),
            None => did_you_mean(name, here),
        };
        Err(Lost::Nothing { message: format!("there is no {} {name}{place}", resource.kind), hint })
    }

    fn as_root(
        &self,
        served: &Served,
        live: &Live,
        all: &mut Vec<Explained>,
        notes: &mut Vec<String>,
    ) -> Result<(), Lost> {
        for (found, roots) in self.reader.of_kind(self.session, &live.key.kind)? {
            let roots: Vec<String> = roots.into_iter().filter(|it| may_be(it, live, &found)).collect();
            if let Some(why) = refused(served, &found) {
                notes.push(format!("the blueprint {} does not serve it: {why}", found.title()));
                continue;
            }
            if roots.is_empty() && is_of(live, &found) {
                let instance = self.as_told(served, live, &found, "its blueprint cannot be read here");
                all.push(Explained::Instance(Box::new(instance)));
            }
            for root in roots {
                match self.instance(served, live, &found, &root)? {
                    Some(mut instance) => {
                        self.look_beyond(&mut instance, &mut BTreeSet::new())?;
                        all.push(Explained::Instance(Box::new(instance)));
                    }
                    None => notes.push(format!(
                        "the selector of the root {root} of the blueprint {} does not pick it",
                        found.title()
                    )),
                }
            }
        }
        Ok(())
    }

    /// An object that carries the label of an instance.
    fn made(&self, live: &Live, label: &str) -> Result<Explained, Lost> {
        let nobodys = |note: String| Explained::Nobodys { object: live.key.clone(), notes: vec![note] };
        let Some(claim) = merge::claim(live) else {
            return Ok(nobodys(
                "it has the label pemdas.dev/root, and its annotation pemdas.dev/claim cannot be read: Pemdas ignores it"
                    .to_owned(),
            ));
        };
        let uid = label.split('.').next().unwrap_or_default();
        let served = self.session.kinds()?.of(&claim.root.kind);
        let root = match served {
            Some(served) => {
                let (resource, key) = (&served.resource, &claim.root);
                self.session.ask(async |survey| survey.object(resource, &key.namespace, &key.name).await)?
            }
            None => None,
        };
        let root = root.filter(|it| it.uid == uid);
        let (Some(served), Some(root)) = (served, root) else {
            return Ok(nobodys(format!(
                "the node {} made it for {} (uid {uid}), which is not there any more. Pemdas deletes nothing of a root that it has not seen \
                 going; one of the same name can take it over, with the annotation pemdas.dev/reclaim={label}",
                claim.node, claim.root
            )));
        };
        for (found, roots) in self.reader.of_kind(self.session, &root.key.kind)? {
            for name in roots.iter().filter(|it| found.instance(it, uid) == label) {
                if let Some(mut instance) = self.instance(served, &root, &found, name)? {
                    self.look_beyond(&mut instance, &mut BTreeSet::new())?;
                    focus(&mut instance, live, &claim);
                    return Ok(Explained::Instance(Box::new(instance)));
                }
            }
            if roots.is_empty() && is_of(&root, &found) {
                let mut instance = self.as_told(served, &root, &found, "its blueprint cannot be read here");
                focus(&mut instance, live, &claim);
                return Ok(Explained::Instance(Box::new(instance)));
            }
        }
        Ok(nobodys(format!(
            "the node {} made it for {}, and the blueprint of that instance is not there or may not be read",
            claim.node, claim.root
        )))
    }

    /// An instance; nothing if its root is not picked and there is nothing of it.
    fn instance(
        &self,
        served: &Served,
        live: &Live,
        found: &Found,
        root: &str,
    ) -> Result<Option<Instance>, Trouble> {
        let status = live.body.get("status").cloned().unwrap_or_default();
        let revision = status.pointer("/pemdas/revision").and_then(Value::as_str);
        let files = running(self.session, found, revision);
        let compiled = match self.reader.compiled(found, &files) {
            Ok(compiled) => compiled,
            Err(why) => {
                return Ok(Some(self.as_told(
                    served,
                    live,
                    found,
                    &format!("its blueprint has errors ({why})"),
                )));
            }
        };
        let name = found.instance(root, &live.uid);
        let field = Field::new(self.session, &[&compiled.blueprint], Some(&name), &live.key.namespace)?;
        if !picks(&compiled, root, live) && field.of_instance(&name).is_empty() {
            return Ok(None);
        }
        if !field.has_key() && revision.is_some() {
            let why = "the key of the operator's digests may not be read";
            return Ok(Some(self.as_told(served, live, found, why)));
        }
        match self.computed(&compiled, root, live, found, &field) {
            Ok((decision, nodes, mut notes)) => {
                let mut instance = self.base(served, live, found);
                instance.mode = decision.mode;
                instance.state = merge::state(Some(&decision), &nodes, &status, live.terminating);
                let of_node =
                    |text: &&String| !nodes.keys().any(|slot| text.starts_with(&format!("{slot}: ")));
                instance.causes = decision.conditions.stalled.iter().filter(of_node).cloned().collect();
                instance.since = merge::since(live, &status, instance.state);
                let newest = claimed_revision(field.of_instance(&name));
                instance.revision = instance.revision.or(newest);
                instance.nodes = nodes;
                notes.extend(field.notes());
                instance.notes.extend(notes);
                self.finish(&mut instance, live, Some((&compiled, root)));
                Ok(Some(instance))
            }
            Err(problems) => {
                let why = problems.first().map_or_else(String::new, |it| it.message.clone());
                Ok(Some(self.as_told(served, live, found, &why)))
            }
        }
    }

    /// What an instance waits for may be an instance itself: it knows the root cause.
    fn look_beyond(&self, instance: &mut Instance, seen: &mut BTreeSet<ObjectKey>) -> Result<(), Trouble> {
        seen.insert(instance.root.clone());
        let waits: BTreeSet<(Slot, ObjectKey)> = instance
            .nodes
            .iter()
            .filter(|(_, it)| !it.is_ready())
            .flat_map(|(slot, it)| it.objects.iter().map(|object| (slot.clone(), object.clone())))
            .collect();
        for (slot, key) in waits {
            if seen.len() > MAX_BEYOND || seen.contains(&key) {
                continue;
            }
            if let Some(mut other) = self.instance_at(&key)?.filter(|it| it.state != State::Ready) {
                self.look_beyond(&mut other, seen)?;
                let advice: Vec<_> =
                    other.advice.iter().filter(|it| !instance.advice.contains(it)).cloned().collect();
                instance.advice.extend(advice);
                instance.beyond.entry(slot).or_default().push(other);
            }
        }
        Ok(())
    }

    /// The instance that starts with an object, if one does.
    fn instance_at(&self, key: &ObjectKey) -> Result<Option<Instance>, Trouble> {
        let candidates = self.reader.of_kind(self.session, &key.kind)?;
        let served = self.session.kinds()?.of(&key.kind).filter(|_| !candidates.is_empty());
        let Some(served) = served else { return Ok(None) };
        let resource = &served.resource;
        let live =
            self.session.ask(async |survey| survey.object(resource, &key.namespace, &key.name).await)?;
        let Some(live) = live else { return Ok(None) };
        for (found, roots) in candidates.iter().filter(|(it, _)| refused(served, it).is_none()) {
            for root in roots.iter().filter(|it| may_be(it, &live, found)) {
                if let Some(instance) = self.instance(served, &live, found, root)? {
                    return Ok(Some(instance));
                }
            }
        }
        Ok(None)
    }

    /// What the core says now.
    fn computed(
        &self,
        compiled: &Compiled,
        root: &str,
        live: &Live,
        found: &Found,
        field: &Field<'_>,
    ) -> Result<Computed, Vec<Diagnostic>> {
        let name = found.instance(root, &live.uid);
        let Some(program) = compiled.program(root) else { return Err(Vec::new()) };
        let mut evaluator = compiled.evaluator();
        let mut observed = Look::new(field, Some(live.clone()), name, &found.namespace);
        let mut notes = Vec::new();
        let mut world = look(&program, Value::clone(&live.body), &mut observed, &mut evaluator, &mut notes)?;
        world.root.selected = picks(compiled, root, live);
        let (decision, steps) = plan::standing(Some(&program), &mut world, &mut evaluator);
        let status = live.body.get("status").cloned().unwrap_or_default();
        let nodes = merge::computed(&decision, &steps, &world, &status);
        Ok((decision, nodes, notes))
    }

    /// An instance as its status tells of it.
    fn as_told(&self, served: &Served, live: &Live, found: &Found, why: &str) -> Instance {
        let status = live.body.get("status").cloned().unwrap_or_default();
        let mut instance = self.base(served, live, found);
        instance.nodes = merge::as_told(&status, std::iter::empty(), "");
        instance.state = merge::state(None, &instance.nodes, &status, live.terminating);
        instance.since = merge::since(live, &status, instance.state);
        instance.notes.push(format!("read from the status of the object, not computed: {why}"));
        if let Some(more) = status.pointer("/pemdas/moreNodes").and_then(Value::as_u64) {
            instance.notes.push(format!("the status leaves out {more} more nodes"));
        }
        self.finish(&mut instance, live, None);
        instance
    }

    fn base(&self, served: &Served, live: &Live, found: &Found) -> Instance {
        let place = match live.key.namespace.as_str() {
            "" => String::new(),
            namespace => format!("-n {namespace} "),
        };
        let status = live.body.get("status");
        let revision = status.and_then(|it| it.pointer("/pemdas/revision")).and_then(Value::as_str);
        let running = found.told.get("revision").and_then(Value::as_str);
        let mut notes = Vec::new();
        let observed = status.and_then(|it| it.get("observedGeneration")).and_then(Value::as_i64);
        if let (Some(observed), Some(now)) = (observed, live.generation)
            && observed < now
        {
            notes.push(format!(
                "the operator has not looked at generation {now} yet: its status is of {observed}"
            ));
        }
        for (crd, why) in advice::refused(&found.told) {
            let revision =
                found.told.pointer("/upcoming/revision").and_then(Value::as_str).unwrap_or_default();
            notes.push(format!(
                "{revision} does not run: the CRD {crd} does not serve it ({why}). `pemdas explain -n {} cm/{}` says what to do",
                found.namespace, found.name
            ));
        }
        Instance {
            root: live.key.clone(),
            address: format!("{place}{}/{}", served.word(), live.key.name),
            blueprint: found.title(),
            account: found.account.to_string(),
            revision: revision.map(str::to_owned),
            newer: running.filter(|it| revision.is_some_and(|mine| mine != *it)).map(str::to_owned),
            state: State::Reconciling,
            mode: Mode::Present,
            since: None,
            nodes: std::collections::BTreeMap::new(),
            edges: Edges::default(),
            picture: None,
            beyond: std::collections::BTreeMap::new(),
            suspended: suspension(live, &found.told),
            causes: Vec::new(),
            focus: None,
            events: Vec::new(),
            advice: Vec::new(),
            notes,
        }
    }

    fn finish(&self, instance: &mut Instance, live: &Live, compiled: Option<(&Compiled, &str)>) {
        if let Some((compiled, root)) = compiled {
            instance.edges = edges(compiled, root);
            instance.picture = Some(Arc::clone(&compiled.picture));
        }
        if let Some(why) = &instance.suspended {
            instance.causes.insert(0, format!("Suspended: nothing is written, because {why}"));
            instance.state = State::Suspended;
        }
        if instance.state != State::Ready {
            let told = self.session.ask(async |survey| survey.events(live, MAX_EVENTS).await);
            instance.events = told.unwrap_or_default();
        }
        instance.advice = advice::of_instance(instance);
        let open: Vec<&Node> = instance.nodes.values().filter(|it| it.next.is_some()).collect();
        if !open.is_empty() && instance.events.is_empty() {
            instance.advice.push(
                "if nothing happens: is the operator running? `kubectl -n pemdas-system get lease pemdas` shows who leads"
                    .to_owned(),
            );
        }
        if instance.newer.is_some() {
            instance.notes.push(
                "a newer revision of the blueprint has not reached this instance yet: `pemdas explain` of the blueprint shows the rollout"
                    .to_owned(),
            );
        }
    }

    /// The instances of a kind, in one namespace or in all; at most so many are looked at.
    pub(crate) fn list(
        &self,
        word: &str,
        everywhere: bool,
        most: usize,
    ) -> Result<(Vec<Listed>, usize), Lost> {
        let served = self.session.kind(word)?;
        let (session, resource) = (self.session, &served.resource);
        let namespace = Some(session.namespace()).filter(|_| !everywhere);
        let found = self.reader.of_kind(session, &resource.kind)?;
        if found.is_empty() {
            return Err(Lost::Nothing {
                message: format!("no blueprint starts with a {}", resource.kind),
                hint: Some(
                    "`kubectl get configmaps -A -l pemdas.dev/blueprint` lists the blueprints".to_owned(),
                ),
            });
        }
        let all = session.ask(async |survey| survey.list(resource, namespace, None).await)?;
        let (mut listed, mut more) = (Vec::new(), 0);
        for live in &all {
            for (found, roots) in found.iter().filter(|(it, _)| refused(served, it).is_none()) {
                let roots: Vec<&String> = roots.iter().filter(|it| may_be(it, live, found)).collect();
                if roots.is_empty() && !is_of(live, found) {
                    continue;
                }
                if listed.len() >= most {
                    more += 1;
                    continue;
                }
                let owned = live.body.pointer("/status/pemdas").is_some();
                let instances = if owned && is_of(live, found) {
                    vec![self.quick(live, found)]
                } else {
                    let each = roots.into_iter().map(|root| self.instance(served, live, found, root));
                    each.collect::<Result<Vec<_>, _>>()?
                        .into_iter()
                        .flatten()
                        .map(|it| listed_of(&it))
                        .collect()
                };
                listed.extend(instances);
            }
        }
        Ok((listed, more))
    }

    /// The instances of a kind in all namespaces, each with everything that is known of it.
    pub(crate) fn instances(&self, kind: &KindKey) -> Result<Vec<Instance>, Lost> {
        let Some(served) = self.session.kinds()?.of(kind) else { return Ok(Vec::new()) };
        let own = *kind == KindKey::new("v1", "ConfigMap");
        let all = self.session.ask(async |survey| survey.list(&served.resource, None, None).await)?;
        let mut instances = Vec::new();
        for (found, roots) in self.reader.of_kind(self.session, kind)? {
            let Ok(compiled) = self.reader.compiled(&found, &running(self.session, &found, None)) else {
                continue;
            };
            for live in all.iter().filter(|it| !own || it.key == found.live.key) {
                // What is not picked any more is an instance for as long as it is held.
                let held = live.finalizers.iter().any(|it| it.starts_with(OUR_PREFIX));
                for root in roots.iter().filter(|it| held || picks(&compiled, it, live)) {
                    instances.extend(self.instance(served, live, &found, root)?);
                }
            }
        }
        Ok(instances)
    }

    /// One line from the status alone.
    fn quick(&self, live: &Live, found: &Found) -> Listed {
        let status = live.body.get("status").cloned().unwrap_or_default();
        let nodes = merge::as_told(&status, std::iter::empty(), "");
        let state = match suspension(live, &found.told) {
            Some(_) => State::Suspended,
            None => merge::state(None, &nodes, &status, live.terminating),
        };
        let message = merge::condition(&status, "Ready").filter(|_| state != State::Ready);
        let why = message.and_then(|it| it["message"].as_str()).unwrap_or_default().to_owned();
        let since = merge::since(live, &status, state);
        let cause = first_cause(&nodes).unwrap_or_else(|| why.clone());
        let revision = status.pointer("/pemdas/revision").and_then(Value::as_str).map(str::to_owned);
        Listed { root: live.key.clone(), blueprint: found.title(), state, since, why, cause, revision }
    }
}

/// Why nothing is written for an instance: its root says so, or the operator says it of the blueprint.
fn suspension(live: &Live, told: &Value) -> Option<String> {
    let annotation = format!("{OUR_PREFIX}suspend");
    let of_root = live.annotation(&annotation).is_some_and(suspends);
    let of_root = of_root.then(|| format!("its root has the annotation {annotation}"));
    of_root.or_else(|| told.get("suspended").and_then(Value::as_str).map(str::to_owned))
}

/// Whether an object may be this root of a blueprint. A ConfigMap is one of its own blueprint, or one that a selector picks.
fn may_be(root: &str, live: &Live, found: &Found) -> bool {
    root != OWN_ROOT || found.live.key == live.key
}

/// Why a blueprint does not serve a kind that it owns: another one does.
fn refused(served: &Served, found: &Found) -> Option<String> {
    let resource = &served.resource;
    let crd = format!("{}.{}", resource.plural, resource.kind.group);
    let why = found.told.get("definitions")?.get(&crd)?.as_str()?;
    why.contains("belongs to the blueprint").then(|| why.to_owned())
}

/// What a node waits for that no other node can give it: of one that needs attention, if there is such a node.
fn first_cause(nodes: &std::collections::BTreeMap<Slot, Node>) -> Option<String> {
    let stalled_first = [true, false].into_iter().flat_map(|stalled| {
        nodes.iter().filter(move |(_, it)| !it.is_ready() && (it.phase == "Stalled") == stalled)
    });
    stalled_first.into_iter().find_map(|(slot, node)| {
        let last = node.why.iter().find(|it| it.on.is_none())?;
        Some(format!("{slot}: {}", last.text))
    })
}

type Computed = (Decision, std::collections::BTreeMap<Slot, Node>, Vec<String>);

fn listed_of(instance: &Instance) -> Listed {
    let last = instance.chains().into_iter().rfind(|it| it.last);
    let why = last.map(|it| it.to_string()).or_else(|| instance.causes.first().cloned());
    let cause = first_cause(&instance.nodes);
    let why = why.unwrap_or_default();
    Listed {
        root: instance.root.clone(),
        blueprint: instance.blueprint.clone(),
        state: instance.state,
        since: instance.since.clone(),
        cause: cause.filter(|_| instance.state != State::Ready).unwrap_or_else(|| why.clone()),
        why,
        revision: instance.revision.clone(),
    }
}

/// Whether the status of a root is of a revision of this blueprint.
fn is_of(live: &Live, found: &Found) -> bool {
    let revision = live.body.pointer("/status/pemdas/revision").and_then(Value::as_str);
    revision.and_then(|it| it.rsplit_once('-')).is_some_and(|(name, _)| name == found.name)
}

fn picks(compiled: &Compiled, root: &str, live: &Live) -> bool {
    match compiled.blueprint.nodes.get(root).map(|it| &it.body) {
        Some(Body::Root(root)) => match &root.target {
            RootTarget::Foreign { selector: Some(selector), .. } => selector.picks(|it| live.label(it)),
            _ => true,
        },
        _ => true,
    }
}

/// The newest revision that objects name.
fn claimed_revision(objects: &[Live]) -> Option<String> {
    objects.iter().filter_map(merge::claim).max_by_key(|it| it.ordinal).map(|it| it.revision)
}

fn focus(instance: &mut Instance, live: &Live, claim: &Claim) {
    let slot = Slot::new(&claim.node, &claim.member);
    let members: BTreeSet<&str> = instance.nodes.keys().map(|it| it.node.as_str()).collect();
    instance.focus = Some(Focus {
        object: live.key.clone(),
        state: claim.state.clone(),
        needed: members.contains(claim.node.as_str()),
        path: instance.path_to(&claim.node),
        after: claim.after.keys().cloned().collect(),
        before: instance.edges.sequence.get(&claim.node).cloned().unwrap_or_default(),
        waited_for_by: instance.waiting_for(&slot),
        slot,
    });
}

fn edges(compiled: &Compiled, root: &str) -> Edges {
    let mut edges = Edges { root: root.to_owned(), ..Edges::default() };
    for link in &compiled.graph.also {
        edges.also.entry(link.from.clone()).or_default().push(link.to.clone());
    }
    for link in &compiled.graph.sequence {
        if let (Vertex::Node(from), Vertex::Node(to)) = (&link.from, &link.to) {
            edges.sequence.entry(from.clone()).or_default().push(to.clone());
        }
    }
    edges
}
