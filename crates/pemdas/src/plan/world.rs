//! The world that a plan starts from: the instance as it shall be, and everything else as it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use pemdas_core::blueprint::{Blueprint, Body};
use pemdas_core::decide::{Interests, decide_with};
use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::evaluate::Evaluator;
use pemdas_core::kube_types::Kind;
use pemdas_core::plan::{self, Plan};
use pemdas_core::program::Program;
use pemdas_core::world::{
    CLAIM_ANNOTATION, Claim, KindKey, KindView, Lease, LedgerFact, Live, OUR_PREFIX, ObjectKey, ROOT_LABEL,
    World,
};
use serde_json::{Value, json};

use super::instance::Instance;
use super::observed::Observed;

/// The uid of a root that nobody has created yet.
pub(super) const PLANNED: &str = "planned";
/// How often what is observed is asked for more.
const MAX_ASKED: usize = 64;

type Problems = Vec<Diagnostic>;

/// The world, with what is observed at first.
pub(super) fn of(
    blueprint: &Blueprint,
    given: &Instance,
    observed: &mut dyn Observed,
    notes: &mut Vec<String>,
) -> Result<World, Problems> {
    let text = |pointer: &str| given.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let objects = observed.objects(&Interests::default()).map_err(|it| vec![*it])?;
    let mut view = plan::view(blueprint, api_version, kind);
    let guessed = describe(&mut view, &KindKey::new(api_version, kind), blueprint, observed);
    let namespace = match text("/metadata/namespace") {
        _ if !view.namespaced => "",
        "" => {
            let note = "the instance names no namespace: it is taken to be in default";
            let more = if guessed {
                format!(", if {kind} has namespaces (its CRD in --observed tells)")
            } else {
                String::new()
            };
            notes.push(format!("{note}{more}"));
            "default"
        }
        namespace => namespace,
    };
    let key = ObjectKey::new(
        KindKey::new(api_version, kind),
        namespace.to_owned(),
        text("/metadata/name").to_owned(),
    );
    let there = objects.iter().find(|(_, live)| live.key == key).map(|(_, live)| live.clone());
    let root = root(given, &key, there.as_ref());
    let mut world = World::new(key, root.uid.clone());
    world.root.instance = instance(&world, &root, &objects);
    world.root.seen_going = root.terminating;
    plan::show_root(&mut world, root);
    world.lease = Lease { held: true, epoch: 0 };
    "plan".clone_into(&mut world.entropy);
    world.kinds = plan::known_kinds(blueprint);
    for (kind, view) in &mut world.kinds {
        describe(view, kind, blueprint, observed);
    }
    world.kinds.insert(world.root.key.kind.clone(), view);
    let remembers = observed.surroundings(blueprint, &mut world).map_err(|it| vec![*it])?;
    take(&mut world, blueprint, observed, objects);
    let (ledger, secret) = observed.ledger(&world.root.instance);
    world.ledger = match ledger {
        LedgerFact::Unknown => {
            plan::forget_memory(&mut world);
            LedgerFact::Absent
        }
        known => known,
    };
    // It was asked for by name.
    world.ledger_missed = true;
    world.secret = secret;
    if plan::lift_brake(&mut world) {
        notes.push("the instance is suspended: this is what would be done without that".to_owned());
    }
    remarks(&world, blueprint, remembers, notes);
    Ok(world)
}

/// Says how the objects of a kind are that nobody knows from the blueprint. True where that is a guess.
fn describe(view: &mut KindView, kind: &KindKey, blueprint: &Blueprint, observed: &dyn Observed) -> bool {
    let own = blueprint.kinds.get(&kind.kind).is_some_and(|it| it.group == kind.group);
    let built_in = Kind::all().any(|it| it.group() == kind.group && it.name == kind.kind);
    if own || built_in {
        return false;
    }
    let Some(nature) = observed.nature(kind) else { return true };
    (view.namespaced, view.observed_generation) = (nature.namespaced, nature.observed_generation);
    false
}

/// Shows the world everything that decisions are interested in.
pub(crate) fn shown(
    program: &Program,
    world: &mut World,
    observed: &mut dyn Observed,
    evaluator: &mut dyn Evaluator,
) -> Result<(), Problems> {
    for _ in 0..MAX_ASKED {
        let interests = decide_with(Some(program), world, evaluator).interests;
        let more = observed.objects(&interests).map_err(|it| vec![*it])?;
        if more.is_empty() {
            break;
        }
        take(world, &program.blueprint, observed, more);
    }
    Ok(())
}

/// Plays the plan, once everything that decisions are interested in has been shown.
pub(super) fn played(
    program: &Program,
    world: &mut World,
    observed: &mut dyn Observed,
    evaluator: &mut dyn Evaluator,
    notes: &mut Vec<String>,
) -> Result<Plan, Problems> {
    shown(program, world, observed, evaluator)?;
    let watched = program.blueprint.nodes.values().any(|it| matches!(it.body, Body::Observe(_)));
    if watched && !observed.is_given() {
        notes.push("nothing is observed: what others own is taken to be absent (see --observed)".to_owned());
    }
    let plan = super::play(Some(program), world, evaluator);
    notes.extend(guesses(&plan, program, world, observed));
    Ok(plan)
}

/// The kinds of which nothing says whether they have namespaces, where the plan has to say which.
fn guesses(plan: &Plan, program: &Program, world: &World, observed: &dyn Observed) -> Option<String> {
    let mut kinds = BTreeSet::new();
    for key in plan.rounds.iter().flat_map(|it| &it.steps).map(|it| &it.object) {
        let mut view = plan::view(&program.blueprint, &format!("{}/", key.kind.group), &key.kind.kind);
        let taken = !key.namespace.is_empty() && key.namespace == world.root.key.namespace;
        if taken && describe(&mut view, &key.kind, &program.blueprint, observed) {
            kinds.insert(key.kind.to_string());
        }
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    let told = format!("taken to have namespaces: {} (CRDs in --observed tell)", kinds.join(", "));
    (!kinds.is_empty()).then_some(told)
}

fn take(world: &mut World, blueprint: &Blueprint, observed: &dyn Observed, objects: Vec<(String, Live)>) {
    for (api_version, live) in objects {
        if live.key == world.root.key {
            continue;
        }
        if !world.kinds.contains_key(&live.key.kind) {
            let mut view = plan::view(blueprint, &api_version, &live.key.kind.kind);
            describe(&mut view, &live.key.kind, blueprint, observed);
            world.kinds.insert(live.key.kind.clone(), view);
        }
        world.objects.insert(live.key.clone(), Arc::new(live));
        world.changes += 1;
    }
}

/// The root as it would be if the instance were applied over what is there.
fn root(given: &Instance, key: &ObjectKey, there: Option<&Live>) -> Live {
    let mut body = plan::stored(&given.object);
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        if !key.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), json!(key.namespace));
        }
        metadata.remove("managedFields");
        // What people said to us on the object stays said.
        let told = there.and_then(|it| it.body.pointer("/metadata/annotations")).and_then(Value::as_object);
        let told: Vec<_> = told
            .into_iter()
            .flatten()
            .filter(|(name, _)| name.starts_with(OUR_PREFIX))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !told.is_empty() {
            let own = metadata.entry("annotations").or_insert_with(|| json!({}));
            for (name, value) in told {
                own.as_object_mut().map(|own| own.entry(name).or_insert(value));
            }
        }
    }
    let own = |field: &str| given.object.pointer(&format!("/metadata/{field}"));
    let uid =
        own("uid").and_then(Value::as_str).map(str::to_owned).or_else(|| there.map(|it| it.uid.clone()));
    let list = own("finalizers").and_then(Value::as_array).into_iter().flatten();
    let mut finalizers: BTreeSet<String> = list.filter_map(Value::as_str).map(str::to_owned).collect();
    finalizers.extend(there.into_iter().flat_map(|it| it.finalizers.iter().cloned()));
    let generation = there.and_then(|it| it.generation).or_else(|| own("generation").and_then(Value::as_i64));
    let changed = there.is_some_and(|it| it.body.get("spec") != given.object.get("spec"));
    if let Some(status) = there.and_then(|it| it.body.get("status"))
        && let Some(fields) = body.as_object_mut()
    {
        fields.entry("status").or_insert_with(|| status.clone());
    }
    let uid = uid.unwrap_or_else(|| PLANNED.to_owned());
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), json!(uid));
    }
    Live {
        key: key.clone(),
        uid,
        resource_version: there.map_or(1, |it| it.resource_version),
        generation: Some(generation.unwrap_or(1) + i64::from(changed)),
        terminating: own("deletionTimestamp").is_some() || there.is_some_and(|it| it.terminating),
        finalizers,
        managed: there.map(|it| it.managed.clone()).unwrap_or_default(),
        body: body.into(),
    }
}

/// What names the instance on its objects. The objects themselves say it, where there are some.
fn instance(world: &World, root: &Live, objects: &[(String, Live)]) -> String {
    let ours = objects.iter().find_map(|(_, live)| {
        let claim: Claim = serde_json::from_str(live.annotation(CLAIM_ANNOTATION)?).ok()?;
        let label = live.label(ROOT_LABEL)?;
        let same = claim.root == world.root.key && (root.uid == PLANNED || label.starts_with(&root.uid));
        same.then(|| label.to_owned())
    });
    ours.unwrap_or_else(|| root.uid.clone())
}

/// What is good to know before the plan is believed.
fn remarks(world: &World, blueprint: &Blueprint, remembered: bool, notes: &mut Vec<String>) {
    let ours = |live: &Live| live.label(ROOT_LABEL) == Some(world.root.instance.as_str());
    let mine: Vec<_> = world.objects.values().filter(|it| ours(it)).collect();
    let remembers = blueprint.nodes.values().any(|it| it.once.is_some() || it.state_of.is_some());
    if remembers && !remembered && !mine.is_empty() && world.ledger == LedgerFact::Absent {
        notes.push(
            "files do not say what ran before: run-once nodes and states are planned as if for the first time"
                .to_owned(),
        );
    }
    if mine.iter().any(|it| it.managed.is_empty()) {
        notes.push(
            "objects without managedFields do not tell which fields were set: fields that go are not shown \
             (kubectl get --show-managed-fields)"
                .to_owned(),
        );
    }
}
