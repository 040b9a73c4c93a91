//! What the engine comes to: `plan`, which plays an instance in rounds on the same `decide` as the operator.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pemdas_core::{
    blueprint::{Blueprint, Body, Node},
    decide::Cause,
    diagnostic::Severity,
    graph::Graph,
    plan::{Fate as Planned, NodePlan, Plan, Verb, known_kinds, plan},
    program::{Program, Revision},
    world::{KindKey, Lease, LedgerFact, Live, ObjectKey, ROOT_LABEL, World},
};
use pemdas_nickel::{InProcess, Limits, Loaded, Renderer, Sources};
use serde_json::{Value, json};

use super::{
    draft::{Draft, KIND},
    outcome::{self, Fate, Outcome, Run, Slot, key_of, normal},
};

/// A blueprint in which `check` finds no error.
pub(super) struct Sound {
    blueprint: Blueprint,
    graph: Graph,
    renderer: Renderer<InProcess>,
}

/// The blueprint, or the errors in it.
pub(super) fn load(text: &str) -> Result<Sound, BTreeSet<String>> {
    // How fast this machine is must not matter: steps are counted.
    let limits = Limits { millis: 600_000, ..Limits::default() };
    let loaded = Loaded::in_process(&Sources::single(text), &limits);
    let sound = loaded.is_sound();
    match (loaded.blueprint, loaded.graph, loaded.renderer) {
        (Some(blueprint), Some(graph), Some(renderer)) if sound => Ok(Sound { blueprint, graph, renderer }),
        _ => {
            let errors = loaded.diagnostics.iter().filter(|it| it.severity == Severity::Error);
            Err(errors.map(|it| format!("{}: {}", it.code, it.message)).collect())
        }
    }
}

impl Sound {
    /// Plays a draft through all versions of its root, and to its end.
    pub(super) fn run(&mut self, draft: &Draft) -> Run {
        let root = draft.names[0].clone();
        let revision = Revision { name: "judged".to_owned(), ordinal: 1 };
        let program = Program::new(self.blueprint.clone(), &self.graph, &root, revision).expect("a program");
        let mut world = world(&self.blueprint, draft);
        let (mut run, mut gone) = (Run { tells_empty: true, ..Run::default() }, BTreeSet::new());
        for (version, root) in draft.roots.iter().enumerate() {
            self.show(&mut world, root, version);
            let played = plan(Some(&program), &mut world, &mut self.renderer);
            if version == 0 {
                run.came = rounds(&played, |verb| verb == Verb::Create);
            }
            run.went.push(rounds(&played, |verb| verb == Verb::Delete));
            // What was there before us.
            let away = draft
                .around
                .iter()
                .map(key_of)
                .filter(|it| !world.objects.keys().any(|key| name(key) == *it));
            gone.extend(away);
            let ours = world.objects.values().filter(|it| it.label(ROOT_LABEL).is_some());
            run.outcomes.push(Outcome {
                objects: ours.map(|it| (name(&it.key), normal(&it.body))).collect(),
                fates: fates(&self.blueprint, &played),
                gone: gone.clone(),
                ..Outcome::default()
            });
        }
        end(&mut world);
        let played = plan(Some(&program), &mut world, &mut self.renderer);
        run.late = rounds(&played, |verb| verb == Verb::Create);
        run.went.push(rounds(&played, |verb| verb == Verb::Delete));
        // What has an owner is taken by the garbage collector.
        let stays = |it: &&Arc<Live>| {
            it.label(ROOT_LABEL).is_some() && it.body.pointer("/metadata/ownerReferences").is_none()
        };
        run.left = world.objects.values().filter(stays).map(|it| name(&it.key)).collect();
        run.left.extend(world.root.live.as_ref().map(|it| name(&it.key)));
        run
    }

    /// The spec of the root with its defaults; as it is where it breaks its contract.
    fn filled(&self, root: &Value) -> Value {
        let target = self.blueprint.nodes.values().find_map(|it| match &it.body {
            Body::Root(root) => Some(root.target.clone()),
            _ => None,
        });
        let target = target.expect("a root");
        let admitted = self.renderer.admit(&self.blueprint, &target, root);
        admitted.map_or_else(|_| root["spec"].clone(), |it| it["spec"].clone())
    }

    /// The root as it is now.
    fn show(&self, world: &mut World, root: &Value, version: usize) {
        let mut body = root.clone();
        body["metadata"]["uid"] = json!("root");
        let before = world.root.live.clone();
        let number = u64::try_from(version).expect("few versions");
        let generation = i64::try_from(version).expect("few versions") + 1;
        let root = Live {
            key: world.root.key.clone(),
            uid: "root".to_owned(),
            resource_version: 1_000_000 * (number + 1),
            generation: Some(generation),
            terminating: false,
            finalizers: before.map(|it| it.finalizers.clone()).unwrap_or_default(),
            managed: Default::default(),
            body: body.clone().into(),
        };
        // Whoever observes the root sees what the API server makes of it, with a status that caught up.
        body["spec"] = self.filled(&root.body);
        body["status"] = json!({ "observedGeneration": generation });
        let seen = Live { body: body.into(), ..root.clone() };
        world.objects.insert(seen.key.clone(), Arc::new(seen));
        world.root.live = Some(Arc::new(root));
        world.touch_everything();
    }
}

fn key(object: &Value) -> ObjectKey {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let kind = KindKey::new(&text(&object["apiVersion"]), &text(&object["kind"]));
    ObjectKey::new(kind, text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]))
}

fn name(key: &ObjectKey) -> String {
    outcome::key(&key.kind.kind, &key.namespace, &key.name)
}

fn world(blueprint: &Blueprint, draft: &Draft) -> World {
    let mut world = World::new(key(&draft.roots[0]), "root");
    world.lease = Lease { held: true, epoch: 0 };
    // Long after this process began to lead: nothing of an earlier one may still arrive.
    world.now = 3_600_000;
    world.ledger = LedgerFact::Absent;
    "judge".clone_into(&mut world.entropy);
    world.kinds = known_kinds(blueprint);
    for (version, object) in (1..).zip(&draft.around) {
        let mut body = object.clone();
        body["metadata"]["uid"] = json!(format!("around-{version}"));
        let live = Live {
            key: key(object),
            uid: format!("around-{version}"),
            resource_version: version,
            generation: None,
            terminating: false,
            finalizers: BTreeSet::new(),
            managed: Default::default(),
            body: body.into(),
        };
        let kind = live.key.kind.clone();
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        world
            .kinds
            .entry(kind)
            .or_insert_with_key(|it| pemdas_core::plan::view(blueprint, api_version, &it.kind));
        world.objects.insert(live.key.clone(), Arc::new(live));
    }
    assert!(world.kinds.contains_key(&KindKey::new(&format!("{}/v1", super::draft::GROUP), KIND)));
    world
}

/// Somebody deletes the root.
fn end(world: &mut World) {
    let root = world.root.key.clone();
    world.objects.remove(&root);
    world.root.seen_going = true;
    world.root.going_since = Some(world.now);
    if let Some(live) = &world.root.live {
        let live = Live { terminating: true, ..(**live).clone() };
        // Without a finalizer of anybody it is gone at once.
        world.root.live = (!live.finalizers.is_empty()).then(|| Arc::new(live));
    }
    world.touch_everything();
}

fn rounds(plan: &Plan, wanted: fn(Verb) -> bool) -> BTreeMap<String, usize> {
    let steps =
        plan.rounds.iter().enumerate().flat_map(|(at, round)| round.steps.iter().map(move |it| (at, it)));
    steps.filter(|(_, it)| wanted(it.verb)).map(|(at, it)| (name(&it.object), at)).collect()
}

fn fates(blueprint: &Blueprint, plan: &Plan) -> BTreeMap<Slot, Fate> {
    // What a node made earlier stands beside it, as a member of another name, and is on its way out.
    let stays = |(slot, it): &(&pemdas_core::ledger::Slot, &NodePlan)| {
        !matches!(it.fate, Planned::NotNeeded | Planned::Goes(_)) && !slot.member.contains('~')
    };
    let needed = plan.nodes.iter().filter(stays);
    let is_many =
        |it: &Node| it.for_each.is_some() || matches!(&it.body, Body::Observe(it) if it.by_selector);
    let fate = |(slot, it): (&pemdas_core::ledger::Slot, &NodePlan)| {
        let node = blueprint.nodes.get(&slot.node);
        let empty = slot.member.is_empty() && node.is_some_and(is_many) && it.fate == Planned::Passes;
        (outcome::slot(&slot.node, &slot.member), if empty { Fate::Empty } else { fate(it) })
    };
    needed.map(fate).collect()
}

fn fate(plan: &NodePlan) -> Fate {
    if !matches!(plan.fate, Planned::Waits | Planned::Stalled) && plan.last.is_empty() {
        return Fate::Ready;
    }
    let waits = plan.last.iter().filter_map(|it| match it {
        Cause::Waits { on, .. } => Some(on.node.clone()),
        Cause::Unknown(text) => outcome::unneeded(text),
        _ => None,
    });
    let waits: BTreeSet<String> = waits.collect();
    // That something has not happened yet is no reason of its own.
    let reasons = plan.last.iter().filter(|it| !matches!(it, Cause::Pending(_)));
    match reasons.chain(&plan.last).next() {
        Some(Cause::Unknown(text)) if outcome::unneeded(text).is_some() => Fate::Waits(waits),
        Some(Cause::Waits { .. }) => Fate::Waits(waits),
        Some(Cause::Stalled { .. }) if !waits.is_empty() => Fate::FailsAnyway(waits),
        Some(Cause::Shape(_)) => Fate::Unready,
        Some(Cause::Stalled { .. } | Cause::Unknown(_)) => Fate::Fails,
        _ => Fate::Missing,
    }
}
