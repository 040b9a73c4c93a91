//! Eyes on every decision and every write: what may never happen, whatever went wrong before.

use std::collections::BTreeSet;

use serde_json::Value;

use super::sim::Sim;
use crate::{
    action::Action,
    blueprint::{Body, WantedShape, WantedShapeForm},
    decide::{Decision, Mode, Phase, decide},
    ledger::Slot,
    program::Program,
    shape::Shape,
    world::{CLAIM_ANNOTATION, Claim, Live, ObjectKey, Owner},
};

impl Sim {
    pub(super) fn watch_decision(&mut self, action: &Action, decision: &Decision) {
        if let Some(watcher) = self.watcher.clone()
            && let Some(violation) = watcher(self, action)
        {
            self.violations.push(violation);
        }
        let Some(key) = action.written().cloned() else { return };
        // Nothing acts on a view older than its own last write.
        let seen = self.world.objects.get(&key).map_or(0, |it| it.resource_version);
        let watermark = self.world.shown_up_to(&key);
        if let Some(own) = self.own_writes.get(&key)
            && seen.max(watermark).max(self.world.looked.get(&key).copied().unwrap_or(0)) < *own
        {
            self.violations.push(format!("{key} is written on a view older than our own last write"));
        }
        match action {
            Action::Create { body, .. } | Action::Change { body, .. } if decision.mode == Mode::Present => {
                self.watch_order(&key, body, decision);
            }
            Action::Delete { .. } => {
                self.watch_use(&key);
                if decision.mode == Mode::Present {
                    self.watch_gap(&key, decision);
                }
            }
            _ => {}
        }
    }

    /// What is decided from what changed is what is decided from everything.
    pub(super) fn watch_memo(&mut self, decision: &Decision) {
        let whole = decide(self.program(), &self.world);
        if whole != *decision {
            self.violations.push(format!(
                "the decision from what changed differs:\n is    {decision:?}\n wants {whole:?}"
            ));
        }
    }

    /// No Sequence edge is violated: what x comes after was ready with the same version, since it was last written.
    fn watch_order(&mut self, key: &ObjectKey, body: &Value, decision: &Decision) {
        let (Some(claim), Some(program)) = (claim_of(body), self.program()) else { return };
        let last = self.world.objects.get(key).and_then(|live| match self.owner(live) {
            Owner::Us(claim) => Some(claim.applied),
            _ => None,
        });
        let repair = last.or(self.world.vanished.get(key).copied()) == Some(claim.applied);
        if repair || claim.state.is_some() {
            return;
        }
        let Some(node) = program.node(&claim.node) else { return };
        let always = always_needed(program);
        let mut found = Vec::new();
        for (precursor, edge) in &node.before {
            let Some(p) = program.node(precursor) else { continue };
            let plain = matches!(p.body, Body::Template(_)) && p.state_of.is_none() && p.once.is_none();
            // Whoever is ready as soon as it is there waits for no controller.
            let at_once = |it: &WantedShape| it.form == WantedShapeForm::Native(Shape::Any);
            if p.ready.as_ref().is_some_and(at_once) {
                continue;
            }
            if !plain || edge.until.is_some() || program.states.contains_key(precursor) {
                continue;
            }
            // Whether it is needed now is another question, which hangs on conditions.
            let perhaps = !always.contains(precursor.as_str());
            let v = &body["spec"]["v"];
            let made: Vec<_> = self
                .claimed()
                .into_iter()
                .filter(|(_, _, it)| it.node == *precursor && (!edge.each || it.member == claim.member))
                // A member that is not wanted any more is on its way out, and so is a node.
                .filter(|(_, _, it)| {
                    let told = decision.nodes.get(&Slot::new(precursor, &it.member));
                    (p.for_each.is_none() || told.is_some())
                        && (!perhaps || told.is_some_and(|it| it.phase != Phase::Removing))
                })
                .filter(|(_, live, _)| {
                    live.body["spec"]["v"] == *v
                        && p.body.identity().is_some_and(|it| it.kind.known() == Some(&live.key.kind.kind))
                })
                .collect();
            // What a deposed process did a moment ago, nobody can know before it is seen.
            if made.iter().any(|(key, _, _)| self.unseen_late(key)) {
                continue;
            }
            let ready = made.iter().all(|(key, _, _)| self.was_ready.get(key) == Some(&true));
            let gone = self.deleted_by_others(precursor);
            if !ready || (made.is_empty() && !perhaps && p.for_each.is_none() && !gone) {
                found.push(format!("{key} is written with v={v} before {precursor} was ready with it"));
            }
        }
        self.violations.append(&mut found);
    }

    /// Whether an object that the view still shows was deleted by somebody: then the view, not the rule, is old.
    fn deleted_by_others(&self, node: &str) -> bool {
        self.world.objects.values().any(|live| match self.owner(live) {
            Owner::Us(claim) => {
                let real = self.cluster.get(&live.key);
                claim.node == node
                    && real.is_none_or(|it| {
                        it.uid != live.uid || it.terminating || it.body["spec"] != live.body["spec"]
                    })
            }
            _ => false,
        })
    }

    /// Nothing in use is removed: by name, as the objects themselves say what they use.
    fn watch_use(&mut self, key: &ObjectKey) {
        let exempt = self.program().is_some_and(|program| {
            program.blueprint.nodes.values().any(|it| it.replace == crate::blueprint::Replace::Before)
                || program
                    .blueprint
                    .nodes
                    .values()
                    .any(|it| it.on_immutable == crate::blueprint::OnImmutable::Recreate)
        });
        if exempt {
            return;
        }
        let name = format!("{}/{}", key.kind.kind, key.name);
        let users: Vec<_> = self
            .claimed()
            .into_iter()
            .filter(|(other, live, claim)| {
                let named =
                    live.body["spec"]["uses"].as_array().is_some_and(|it| it.iter().any(|it| *it == name));
                let uses = (named || mounts(&live.body, key)) && !self.unseen_late(other);
                // What was given up by name stays behind, without what it used.
                let given_up = self.root().and_then(|it| it.annotation("pemdas.dev/skip-deletion"));
                let left = given_up.is_some_and(|it| it.contains(&other.name));
                uses && other != key && claim.attempt.is_none() && !left && !self.is_loose(&claim.node)
            })
            .map(|(other, _, _)| other.to_string())
            .collect();
        if !users.is_empty() {
            self.violations.push(format!("{key} is deleted while {} uses it", users.join(", ")));
        }
    }

    /// Whether what a node uses may go before it.
    fn is_loose(&self, node: &str) -> bool {
        let nodes = self.programs.iter().filter_map(|(program, _)| program.node(node));
        let mut edges = nodes.flat_map(|it| it.before.values());
        edges.any(|it| it.removal == crate::blueprint::Removal::Any)
    }

    /// With `'After`, an object that is replaced goes when its replacement is ready: there never is a gap.
    fn watch_gap(&mut self, key: &ObjectKey, decision: &Decision) {
        let Some(Owner::Us(claim)) = self.world.objects.get(key).map(|it| self.owner(it)) else {
            return;
        };
        let node = self.program().and_then(|it| it.node(&claim.node));
        let plain = node.is_some_and(|it| {
            matches!(it.body, Body::Template(_))
                && it.replace == crate::blueprint::Replace::After
                && it.on_immutable != crate::blueprint::OnImmutable::Recreate
        });
        let needed = decision.nodes.contains_key(&Slot::new(&claim.node, &claim.member));
        let told = self.root().is_some_and(|it| it.annotation("pemdas.dev/replace-first").is_some());
        if !plain || !needed || told || claim.attempt.is_some() {
            return;
        }
        let replaced = self.world.objects.values().any(|live| match self.owner(live) {
            Owner::Us(it) => {
                live.key != *key && it.node == claim.node && it.member == claim.member && !live.terminating
            }
            _ => false,
        });
        if !replaced {
            self.violations.push(format!("{key} is deleted, and nothing stands in its place"));
        }
    }

    /// Each attempt ends before the next one begins.
    pub(super) fn watch_attempts(&mut self, body: &Value) {
        let Some(claim) = claim_of(body).filter(|it| it.attempt.is_some()) else { return };
        let running: Vec<_> = self
            .claimed()
            .into_iter()
            .filter(|(_, live, it)| {
                let same = it.node == claim.node && it.member == claim.member && it.attempt.is_some();
                same && live.body.get("status").is_none() && !live.terminating
            })
            .map(|(key, _, _)| key.to_string())
            .collect();
        if running.len() > 1 {
            self.violations.push(format!("two attempts at once: {}", running.join(", ")));
        }
    }

    /// What is not claimed by the instance is never written or deleted.
    pub(super) fn watch_claim(&mut self, action: &Action, before: &Live) {
        let ours = matches!(self.owner(before), Owner::Us(_));
        let program = self.program();
        let adopts = program
            .is_some_and(|it| it.blueprint.nodes.values().any(|it| it.own == crate::blueprint::Own::Adopt));
        let absent = program
            .is_some_and(|it| it.blueprint.nodes.values().any(|it| matches!(it.body, Body::Absent(_))));
        let claimed_by_another = matches!(self.owner(before), Owner::Another { .. });
        let reclaims = self.root().is_some_and(|it| it.annotation("pemdas.dev/reclaim").is_some());
        let allowed = ours || (!claimed_by_another && (adopts || absent)) || reclaims;
        if !allowed {
            self.violations.push(format!("{} is written by {action:?} and is not ours", before.key));
        }
    }

    /// Ready is never true while a needed node is not of its ready shape at the current generation.
    pub(super) fn watch_ready(&mut self, decision: &Decision) {
        if !decision.conditions.ready {
            return;
        }
        if decision.actions.iter().any(Action::moves_the_cluster) {
            self.violations.push("ready, and still acting".to_owned());
        }
        let Some(program) = self.program() else { return };
        let Some(root) = &self.world.root.live else { return };
        let v = root.body["spec"]["v"].clone();
        let mut found = Vec::new();
        for live in self.world.objects.values() {
            let Owner::Us(claim) = self.owner(live) else { continue };
            if claim.attempt.is_some() {
                continue;
            }
            let Some(node) = program.node(&claim.node) else {
                found.push(format!("ready, and {} is still there", live.key));
                continue;
            };
            let counts =
                self.kinds.get(&live.key.kind).is_some_and(|it| it.observed_generation) && node.observed;
            let observed = live.body["status"]["observedGeneration"].as_i64();
            let health = crate::health::of(&live.body).state == crate::health::HealthState::Current;
            let fresh = !counts || observed == live.generation;
            if !health
                || !fresh
                || live.terminating
                || (live.body["spec"]["v"] != v && !live.body["spec"]["v"].is_null())
            {
                found.push(format!("ready, and {} is not", live.key));
            }
        }
        let always = always_needed(program);
        for (name, node) in &program.blueprint.nodes {
            let plain = matches!(node.body, Body::Template(_))
                && node.state_of.is_none()
                && node.once.is_none()
                && node.for_each.is_none();
            let needed = always.contains(name.as_str());
            let there = self
                .world
                .objects
                .values()
                .any(|live| matches!(self.owner(live), Owner::Us(it) if it.node == *name));
            if plain && needed && !there {
                found.push(format!("ready, and {name} is missing"));
            }
        }
        self.violations.append(&mut found);
    }
}

/// The nodes that are needed whatever any condition says.
fn always_needed(program: &Program) -> BTreeSet<&str> {
    let mut found = BTreeSet::from([program.root.as_str()]);
    let mut open = vec![program.root.as_str()];
    while let Some(at) = open.pop() {
        let needs = program.needs.get(at).into_iter().flatten();
        for need in needs.filter(|it| !it.conditional && !it.deleting) {
            if found.insert(&need.to) {
                open.push(&need.to);
            }
        }
    }
    found
}

fn claim_of(body: &Value) -> Option<Claim> {
    body["metadata"]["annotations"][CLAIM_ANNOTATION].as_str().and_then(|it| serde_json::from_str(it).ok())
}

/// Whether a pod template of an object names a ConfigMap, a Secret or a claim: what its pods cannot start without.
fn mounts(body: &Value, used: &ObjectKey) -> bool {
    let named: &[&[&str]] = match (used.kind.group.as_str(), used.kind.kind.as_str()) {
        ("", "ConfigMap") => {
            &[&["configMap", "name"], &["configMapRef", "name"], &["configMapKeyRef", "name"]]
        }
        ("", "Secret") => &[&["secretName"], &["secretRef", "name"], &["secretKeyRef", "name"]],
        ("", "PersistentVolumeClaim") => &[&["claimName"]],
        _ => return false,
    };
    fn any(value: &Value, named: &[&[&str]], name: &str) -> bool {
        let here = |path: &&[&str]| {
            let found = path.iter().try_fold(value, |it, part| it.get(part));
            found.and_then(Value::as_str) == Some(name)
        };
        match value {
            Value::Object(fields) => named.iter().any(here) || fields.values().any(|it| any(it, named, name)),
            Value::Array(items) => items.iter().any(|it| any(it, named, name)),
            _ => false,
        }
    }
    any(&body["spec"], named, &used.name)
}
