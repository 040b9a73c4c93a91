//! Names say nothing: what is needed, and all that is decided, is the same whatever the nodes are called.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    lab::Lab,
    rename::{self, Names},
    sim::Sim,
    subject::Subject,
    walk::Dice,
    zoo,
};
use crate::{
    blueprint::Body,
    graph::Graph,
    world::{Fact, ObjectKey},
};

const FIELDS: [&str; 4] = ["a", "b", "c", "d"];

/// A need: who, what, while which field of the root is true, and asked after which node.
type Need = (String, String, Option<&'static str>, Option<String>);

/// Needs by chance: chains, diamonds and circles of conditions, some of them asked only when another node is ready.
struct Needs {
    lab: Lab,
    nodes: Vec<String>,
    needs: Vec<Need>,
}

impl Needs {
    fn by_chance(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        // Some before the name of the root, some after it.
        let letter = |dice: &mut Dice| char::from(b'a' + u8::try_from(dice.roll(26)).unwrap());
        let nodes: Vec<String> = (0..6).map(|at| format!("{}{at}", letter(&mut dice))).collect();
        let lab = nodes.iter().fold(Lab::new(), |lab, it| lab.template(it, "Thing", &[]));
        let mut all = Self { lab, nodes: nodes.clone(), needs: Vec::new() };
        for (at, to) in nodes.iter().enumerate() {
            // Something leads to each.
            let from = dice.roll(at + 1);
            let from = if from == 0 { "app".to_owned() } else { nodes[from - 1].clone() };
            all.need(&from, to, &mut dice);
            for from in ["app".to_owned()].iter().chain(&nodes) {
                if from != to && dice.roll(6) == 0 {
                    all.need(from, to, &mut dice);
                }
            }
            for before in &nodes[..at] {
                if dice.roll(5) == 0 {
                    all.lab = all.lab.clone().orders(to, before);
                }
            }
        }
        all.ask_later(&mut dice);
        all
    }

    fn need(&mut self, from: &str, to: &str, dice: &mut Dice) {
        if self.needs.iter().any(|(other, it, _, _)| other == from && it == to) {
            return;
        }
        let field = (dice.roll(4) != 0).then(|| FIELDS[dice.roll(FIELDS.len())]);
        self.lab = match field {
            Some(field) => self.lab.clone().also_if(from, to, field),
            None => self.lab.clone().also(from, to),
        };
        self.needs.push((from.to_owned(), to.to_owned(), field, None));
    }

    /// Some conditions come after a node, where that makes no circle.
    fn ask_later(&mut self, dice: &mut Dice) {
        for (from, to, field, after) in &mut self.needs {
            let precursor = self.nodes[dice.roll(self.nodes.len())].clone();
            if field.is_none() || dice.roll(3) != 0 {
                continue;
            }
            let tried = self.lab.clone().asked_after(from, to, &precursor);
            let problems = Graph::of(&tried.blueprint).1;
            if problems.iter().all(|it| it.message.contains("namespace")) {
                self.lab = tried;
                *after = Some(precursor);
            }
        }
    }

    /// By definition: what is reached from the root along needs whose conditions hold; one that is asked after a node
    /// that is not needed does not.
    fn needed(&self, spec: &Value) -> BTreeSet<String> {
        let mut reached: BTreeSet<String> = ["app".to_owned()].into();
        loop {
            let holds = |(from, _, field, after): &&Need| {
                reached.contains(from)
                    && field.is_none_or(|it| spec[it] == true)
                    && after.as_ref().is_none_or(|it| reached.contains(it))
            };
            let more: Vec<_> = self.needs.iter().filter(holds).map(|(_, to, _, _)| to.clone()).collect();
            let before = reached.len();
            reached.extend(more);
            if reached.len() == before {
                reached.remove("app");
                return reached;
            }
        }
    }
}

fn specs(seed: u64) -> Vec<Value> {
    let mut dice = Dice::new(seed ^ 0xfeed);
    let mut spec = || {
        let on: BTreeMap<_, _> = FIELDS.iter().map(|it| (*it, dice.roll(3) != 0)).collect();
        json!({ "v": 1, "a": on["a"], "b": on["b"], "c": on["c"], "d": on["d"] })
    };
    vec![spec(), spec(), spec()]
}

/// What a decision and the cluster come to, with the names that the nodes of another world have. A one-off is told by its
/// node: the name of its object has a digest of that in it.
fn told(sim: &Sim, names: &Names) -> Value {
    let node = |it: &str| names.get(it).cloned().unwrap_or_else(|| it.to_owned());
    let claims = sim.claimed();
    let once: BTreeMap<&ObjectKey, String> = claims
        .iter()
        .filter(|(_, _, claim)| claim.attempt.is_some())
        .map(|(key, _, claim)| (key, format!("{}[{}]", node(&claim.node), claim.member)))
        .collect();
    let object = |key: &ObjectKey| once.get(key).cloned().unwrap_or_else(|| key.to_string());
    let objects: BTreeMap<String, Value> = claims
        .iter()
        .map(|(key, live, claim)| {
            let after: BTreeSet<_> = claim.after.keys().map(|it| node(it)).collect();
            let state = claim.state.as_deref().map(node);
            (object(key), json!([live.body["spec"], live.terminating, node(&claim.node), state, after]))
        })
        .collect();
    let Some(decision) = &sim.decision else { return Value::Null };
    let phases: BTreeMap<String, String> = decision
        .nodes
        .iter()
        .map(|(slot, it)| (format!("{}[{}]", node(&slot.node), slot.member), format!("{:?}", it.phase)))
        .collect();
    let conditions = &decision.conditions;
    json!([objects, phases, conditions.ready, conditions.reconciling, conditions.stalled.len()])
}

/// Plays an instance under its names and under others, side by side: through all versions of its root, and to its end.
fn plays_the_same(subject: &Subject, names: &Names) {
    let (program, evaluation) = &subject.programs[0];
    let (mut renamed, answers) = rename::all_renamed(program, evaluation, names);
    renamed.revision = program.revision.clone();
    let other = subject.with_programs(vec![(renamed, answers)]);
    let back = names.iter().map(|(old, new)| (new.clone(), old.clone())).collect();
    let (mut one, mut two) = (subject.start(), other.start());
    // Whether an answer shows the object hangs on numbers that the order of writes gives.
    (one.telling, two.telling) = (false, false);
    let deletion = subject.roots.len();
    for version in 0..=deletion {
        for sim in [&mut one, &mut two] {
            match subject.roots.get(version) {
                Some(root) => sim.set_root(root),
                None => sim.cluster.delete(&subject.root),
            }
        }
        for round in 0..40 {
            let before = (one.cluster.version, two.cluster.version);
            for sim in [&mut one, &mut two] {
                sim.round();
                sim.control_all();
                sim.world.learn(Fact::Now(sim.world.now + 1_000));
            }
            let (is, wants) = (told(&two, &back), told(&one, &Names::new()));
            assert_eq!(is, wants, "{}, version {version}, round {round}, as {names:?}", subject.name);
            // Its ledger is taken away without the cluster having a new version.
            let rests = |sim: &Sim| sim.decision.as_ref().is_none_or(|it| it.actions.is_empty());
            let moved = before != (one.cluster.version, two.cluster.version);
            if !moved && rests(&one) && rests(&two) && round > 3 {
                break;
            }
        }
        assert!(
            one.violations.is_empty() && two.violations.is_empty(),
            "{:?}",
            (one.violations, two.violations)
        );
    }
    assert!(one.root().is_none() && two.root().is_none(), "{}: it does not end", subject.name);
}

/// Other names for all nodes but the root, in another order.
fn others(subject: &Subject, dice: &mut Dice) -> Names {
    let nodes =
        subject.programs[0].0.blueprint.nodes.iter().filter(|(_, it)| !matches!(it.body, Body::Root(_)));
    let mut name = |at: usize| {
        let letter = char::from(b'a' + u8::try_from(dice.roll(26)).unwrap());
        format!("{letter}{}_{at}", dice.roll(10))
    };
    nodes.enumerate().map(|(at, (node, _))| (node.clone(), name(at))).collect()
}

#[test]
fn what_is_needed_is_what_the_definition_says() {
    let mut tried = 0;
    for seed in pemdas_tier::seeds(60, 2_000) {
        let needs = Needs::by_chance(seed);
        let specs = specs(seed);
        let mut sim = Sim::new(std::slice::from_ref(&needs.lab), &specs[0]);
        for spec in &specs {
            sim.set_spec(spec);
            assert!(
                sim.settle() && sim.is_ready(),
                "seed {seed}, {spec}: {:?} {:#?}",
                sim.stalled(),
                sim.waits()
            );
            let made: BTreeSet<_> = sim.claimed().into_iter().map(|(_, _, it)| it.node).collect();
            assert_eq!(made, needs.needed(spec), "seed {seed}, {spec}: {:#?}", needs.needs);
            tried += 1;
        }
        assert!(sim.violations.is_empty(), "seed {seed}: {:?}", sim.violations);
    }
    pemdas_tier::tried(tried, "instances with needs by chance");
}

#[test]
fn other_names_change_nothing() {
    let mut tried = 0;
    let mut subjects = zoo::all(pemdas_tier::seeds(12, 200));
    for seed in pemdas_tier::seeds(20, 500) {
        let needs = Needs::by_chance(seed);
        subjects.push(Subject::of_labs(&format!("needs-{seed}"), &[needs.lab], &specs(seed)));
    }
    for (seed, subject) in (1..).zip(&subjects) {
        let mut dice = Dice::new(seed);
        for _ in 0..2 {
            plays_the_same(subject, &others(subject, &mut dice));
            tried += 1;
        }
    }
    pemdas_tier::tried(tried, "blueprints under other names");
}
