//! An instance with one node, decided by the core and written by the real client: what the operator does, without its loop.

use std::sync::Arc;

use kube::Client;
use pemdas_core::{
    action::Action,
    blueprint::{
        Blueprint, Body, Function, NamePart, NameSegment, Node, ObjectIdentity, OnDelete, Root, RootTarget,
        StaticText, Template,
    },
    decide::{Decision, decide_with},
    diagnostic::Span,
    evaluate::{Answer, Evaluator, Form, Question},
    graph::Graph,
    ledger::Slot,
    program::{Program, Revision},
    world::{
        Fact, KindKey, KindView, Lease, LedgerFact, Live, ObjectKey, Sight, World, WriteOutcome, dropped,
        manager,
    },
};
use pemdas_kube::{
    call::{self, Done, Terms},
    resource::Resource,
};
use serde_json::{Value, json};

/// More writes than any object needs: after these nobody waits for the end.
const TOO_MANY: usize = 6;

/// The template of the one node, whatever it is asked.
struct Manifest(Value);

impl Evaluator for Manifest {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        let answer = |it: &Question| match it.form {
            Form::Identity => Answer::Value(self.0["metadata"].clone()),
            _ => Answer::Value(self.0.clone()),
        };
        batch.iter().map(answer).collect()
    }
}

pub(super) struct Instance {
    program: Program,
    template: Manifest,
    world: World,
    resource: Resource,
    pub(super) key: ObjectKey,
    /// How often the object was written.
    pub(super) writes: usize,
    /// What the last write was refused with.
    pub(super) refused: Option<String>,
}

fn span() -> Span {
    Span { file: "main.ncl".to_owned(), start: 0, end: 0 }
}

/// A blueprint with one object. It stays when the instance goes, so it has no owner that nobody made.
fn program(manifest: &Value) -> Program {
    let text = |field: &str| manifest[field].as_str().unwrap().to_owned();
    let name = manifest["metadata"]["name"].as_str().unwrap().to_owned();
    let path = ["nodes", "it", "template"].map(str::to_owned).to_vec();
    let function = Function { path, span: span(), reads: Vec::new(), plain: None };
    let object = ObjectIdentity {
        api_version: StaticText::Known(text("apiVersion")),
        kind: StaticText::Known(text("kind")),
        namespace: NamePart::Missing,
        name: NamePart::Pattern(vec![NameSegment::Text(name)]),
    };
    let target =
        RootTarget::Foreign { api_version: "v1".to_owned(), kind: "ConfigMap".to_owned(), selector: None };
    let mut root = Node::new(span(), Body::Root(Root { target }));
    root.also.insert("it".to_owned(), pemdas_core::blueprint::AlsoEdge::new(span()));
    let mut node = Node::new(span(), Body::Template(Template { function, object, role: None }));
    node.on_delete = OnDelete::Orphan;
    let mut blueprint = Blueprint::new("settle", 1, span());
    blueprint.nodes.insert("root".to_owned(), root);
    blueprint.nodes.insert("it".to_owned(), node);
    let (graph, _) = Graph::of(&blueprint);
    Program::new(blueprint, &graph, "root", Revision { name: "r1".to_owned(), ordinal: 1 }).unwrap()
}

/// A process that has just begun, and a root that is in no cluster: nobody looks at it.
fn world(resource: &Resource, namespace: &str, name: &str) -> World {
    let kind = KindKey::new("v1", "ConfigMap");
    let uid = format!("settle-{name}");
    let mut world = World::new(ObjectKey::new(kind.clone(), namespace, "root"), uid.clone());
    world.lease = Lease { held: true, epoch: 1 };
    world.secret = b"settle".to_vec();
    let view = |namespaced| KindView {
        sight: Sight::Synced,
        epoch: 1,
        watermark: 0,
        observed_generation: false,
        namespaced,
    };
    let root = Live {
        key: world.root.key.clone(),
        uid,
        resource_version: 1,
        generation: None,
        terminating: false,
        finalizers: [world.root.finalizers().removal].into(),
        managed: pemdas_core::world::Managers::default().into(),
        body: json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "root", "namespace": namespace } }).into(),
    };
    world.learn(Fact::Kind(kind, view(true)));
    world.learn(Fact::Kind(resource.kind.clone(), view(resource.namespaced)));
    world.learn(Fact::Ledger(LedgerFact::Absent));
    world.learn(Fact::Now(1_000));
    world.learn(Fact::Root(Arc::new(root)));
    world
}

impl Instance {
    pub(super) fn new(resource: &Resource, namespace: &str, manifest: Value) -> Self {
        let name = manifest["metadata"]["name"].as_str().unwrap().to_owned();
        let place = if resource.namespaced { namespace } else { "" };
        Self {
            program: program(&manifest),
            world: world(resource, namespace, &name),
            key: ObjectKey::new(resource.kind.clone(), place, name),
            resource: resource.clone(),
            template: Manifest(manifest),
            writes: 0,
            refused: None,
        }
    }

    pub(super) fn decide(&mut self) -> Decision {
        decide_with(Some(&self.program), &mut self.world, &mut self.template)
    }

    /// What it would write now.
    pub(super) fn wants(&mut self) -> Option<Action> {
        self.decide().actions.into_iter().find(|it| it.written().is_some())
    }

    /// What it says of fields that the API server dropped.
    pub(super) fn dropped(&mut self) -> Option<String> {
        self.decide().nodes.get(&Slot::new("it", "")).and_then(|it| it.dropped.clone())
    }

    /// What the node waits for.
    pub(super) fn causes(&mut self) -> String {
        let decision = self.decide();
        let state = decision.nodes.get(&Slot::new("it", ""));
        state.map(|it| it.causes.iter().map(|it| format!("{it}; ")).collect()).unwrap_or_default()
    }

    /// Another process, which knows nothing but what it sees.
    pub(super) fn restart(&mut self) {
        self.world = world(&self.resource, &self.world.root.key.namespace, &self.key.name);
        self.writes = 0;
    }

    pub(super) fn sees(&mut self, live: Live) {
        self.world.learn(Fact::Seen(Arc::new(live)));
    }

    /// Writes until nothing is to be written any more, or the object is refused.
    pub(super) async fn settle(&mut self, client: &Client) {
        while let Some(action) = self.wants() {
            self.writes += 1;
            if self.writes > TOO_MANY {
                return;
            }
            self.world.learn(Fact::Sent(Arc::new(action.clone())));
            let done = self.write(client, &action).await;
            if let WriteOutcome::Refused(refusal) = &done.outcome {
                self.refused = Some(refusal.to_string());
            }
            let name = self.world.root.instance.clone();
            self.world.learn(Fact::Outcome(self.key.clone(), action.tried(), done.outcome));
            let (Action::Create { body, .. } | Action::Change { body, .. }) = &action else { continue };
            if let Some(live) = done.live {
                let fields = dropped(&name, body, &live);
                self.world.learn(Fact::Answer(Arc::new(live)));
                self.world.learn(Fact::Dropped(self.key.clone(), fields));
            }
            if self.refused.is_some() {
                return;
            }
        }
    }

    async fn write(&self, client: &Client, action: &Action) -> Done {
        let manager = manager(&self.world.root.instance);
        match action {
            Action::Create { body, .. } => {
                call::create(client, &self.resource, &self.key, &manager, body).await
            }
            Action::Change { uid, resource_version, body, force, .. } => {
                let terms = Terms { uid, resource_version: *resource_version, force: *force };
                call::change(client, &self.resource, &self.key, &manager, body, &terms).await
            }
            other => panic!("nobody asked for {other:?}"),
        }
    }
}
