//! What was planned beside what happened.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::{
    decide::{Cause, Mode},
    ledger::Slot,
    plan::{Fate, Plan, Step, Verb},
    world::{CLAIM_ANNOTATION, Claim},
};
use pemdas_sim::Change;
use serde_json::Value;

/// What stands where nobody knows what is drawn by chance.
const RANDOM: &str = "<random>";

/// An object as it is called here. What names the attempt of a once is only known in the cluster.
pub(super) fn title_of(object: &Value) -> String {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let name = match claim(object) {
        Some(claim) if claim.attempt.is_some() => without_attempt(text("/metadata/name")),
        _ => text("/metadata/name"),
    };
    format!("{} {}/{name}", text("/kind"), text("/metadata/namespace"))
}

/// The object of a step, called in the same way.
pub(super) fn name_of(step: &Step) -> String {
    let key = &step.object;
    let name = if step.once { without_attempt(&key.name) } else { &key.name };
    format!("{} {}/{name}", key.kind.kind, key.namespace)
}

fn without_attempt(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |(base, _)| base)
}

fn claim(object: &Value) -> Option<Claim> {
    let at = format!("/metadata/annotations/{}", CLAIM_ANNOTATION.replace('/', "~1"));
    serde_json::from_str(object.pointer(&at)?.as_str()?).ok()
}

/// The objects that there are after a plan, with what it says of them.
pub(super) struct Foreseen<'p> {
    plan: &'p Plan,
    objects: BTreeMap<String, Option<Value>>,
}

impl<'p> Foreseen<'p> {
    pub(super) fn of(plan: &'p Plan, before: BTreeMap<String, Value>) -> Self {
        let mut objects: BTreeMap<_, _> = before.into_keys().map(|it| (it, None)).collect();
        let mut made = BTreeSet::new();
        let stays = plan.mode == Mode::Present;
        for step in plan.rounds.iter().flat_map(|it| &it.steps) {
            let name = name_of(step);
            match step.verb {
                Verb::Create | Verb::Change | Verb::Adopt => {
                    made.insert(name.clone());
                    objects.insert(name, step.after.clone());
                }
                // An earlier attempt is called like the one that was made in its place.
                Verb::Delete if stays && step.once && made.contains(&name) => {}
                // What stays behind when its root goes keeps its label.
                Verb::Release if !stays => {}
                Verb::Delete | Verb::Release => drop(objects.remove(&name)),
            }
        }
        Self { plan, objects }
    }

    /// Compares it with what there is. Says what was not foreseen, where the plan says that it does not foresee it.
    pub(super) fn compare(
        &self,
        title: &str,
        after: &BTreeMap<String, Value>,
        exact: bool,
    ) -> BTreeSet<String> {
        let mut unforeseen = BTreeSet::new();
        for (name, wanted) in &self.objects {
            let Some(is) = after.get(name) else { panic!("{title}: {name} was planned, and is not there") };
            if let Some(wanted) = wanted {
                differs(wanted, is, &mut Vec::new(), &mut |path, wanted, is| {
                    panic!("{title}: {path} of {name} was planned to be {wanted}, and is {is}");
                });
            }
        }
        for (name, object) in after.iter().filter(|(name, _)| !self.objects.contains_key(*name)) {
            let node = claim(object).map(|it| it.node).unwrap_or_default();
            let waits = self.plan.nodes.iter().any(|(slot, it)| slot.node == node && it.fate == Fate::Waits);
            assert!(!exact && waits, "{title}: {name} of {node} is there, and was not planned");
            unforeseen.insert(format!("{title}: {name} of {node}"));
        }
        unforeseen
    }

    /// The same after a deletion: what the garbage collector takes is nobody's step.
    pub(super) fn compare_deletion(&self, title: &str, left: &BTreeMap<String, Value>) {
        for name in left.keys() {
            assert!(self.objects.contains_key(name), "{title}: {name} is still there");
        }
    }
}

/// Looks for what of a planned object is not so: what a server adds is not planned.
fn differs(wanted: &Value, is: &Value, at: &mut Vec<String>, tell: &mut impl FnMut(String, &Value, &Value)) {
    match (wanted, is) {
        (Value::Object(fields), Value::Object(known)) => {
            for (name, field) in fields.iter().filter(|(_, it)| !it.is_null()) {
                at.push(name.clone());
                // The uid of a root that is not there yet is not known.
                if name != "ownerReferences" {
                    differs(field, known.get(name).unwrap_or(&Value::Null), at, tell);
                }
                at.pop();
            }
        }
        (Value::Array(items), Value::Array(known)) if items.len() == known.len() => {
            for (number, (item, is)) in items.iter().zip(known).enumerate() {
                at.push(number.to_string());
                differs(item, is, at, tell);
                at.pop();
            }
        }
        (Value::String(text), _) if text.contains(RANDOM) => {}
        (Value::Number(wanted), Value::Number(is)) if wanted.as_f64() == is.as_f64() => {}
        (Value::Object(fields), Value::Null) if fields.is_empty() => {}
        (Value::Array(items), Value::Null) if items.is_empty() => {}
        _ if wanted == is => {}
        _ => tell(at.join("."), wanted, is),
    }
}

/// What becomes of each node, beside what the status of the root says of it.
pub(super) fn fates(title: &str, plan: &Plan, status: &Value, exact: bool) {
    let Some(told) = status.pointer("/pemdas/nodes").and_then(Value::as_array) else { return };
    let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_owned();
    let slot = |it: &Value| Slot::new(&text(it, "name"), &text(it, "member"));
    let told: BTreeMap<Slot, &Value> = told.iter().map(|it| (slot(it), it)).collect();
    for (slot, node) in &plan.nodes {
        let state = told.get(slot).map(|it| text(it, "state")).unwrap_or_default();
        let wanted: &[&str] = match &node.fate {
            Fate::NotNeeded | Fate::Goes(_) => &[""],
            Fate::Stalled => &["Stalled"],
            // Nobody knows what comes of what others write.
            Fate::Waits if !exact => continue,
            Fate::Waits => &["Waiting", "Progressing", "Unknown"],
            Fate::Acts(_) if !node.last.is_empty() && !exact => continue,
            Fate::Acts(_) if !node.last.is_empty() => &["Waiting", "Progressing", "Unknown"],
            // What has no members is in no status.
            Fate::Passes => &["Ready", ""],
            Fate::Done | Fate::Becomes | Fate::Acts(_) => &["Ready"],
        };
        let is = told.get(slot).map(ToString::to_string).unwrap_or_default();
        assert!(wanted.contains(&&*state), "{title}: {slot} was planned to be {node:?}, and is {is}");
        let why = told.get(slot).map(|it| text(it, "why")).unwrap_or_default();
        if let Some(on) = why.strip_prefix("waits for ").filter(|_| node.fate == Fate::Waits) {
            let on = on.split([':', ' ']).next().unwrap_or_default();
            let planned: Vec<String> = waits(&node.last).map(ToString::to_string).collect();
            assert!(
                planned.iter().any(|it| it == on),
                "{title}: {slot} {why}, and was planned to wait for {planned:?}"
            );
        }
    }
    for slot in told.keys() {
        let known = plan.nodes.contains_key(slot) || plan.nodes.contains_key(&Slot::new(&slot.node, ""));
        assert!(known || slot.member.contains('~'), "{title}: nothing was planned of {slot}");
    }
}

fn waits(causes: &[Cause]) -> impl Iterator<Item = &Slot> {
    causes.iter().filter_map(|it| match it {
        Cause::Waits { on, .. } => Some(on),
        _ => None,
    })
}

/// What is done to which object.
type Deed = (&'static str, String);

/// What a plan does before what else.
pub(super) struct Order {
    deeds: BTreeSet<Deed>,
    before: BTreeSet<(Deed, Deed)>,
}

impl Order {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut of_slot: BTreeMap<&Slot, Vec<Deed>> = BTreeMap::new();
        for step in plan.rounds.iter().flat_map(|it| &it.steps) {
            let what = match step.verb {
                Verb::Create => "create",
                Verb::Delete => "delete",
                Verb::Change | Verb::Adopt | Verb::Release => continue,
            };
            of_slot.entry(&step.slot).or_default().push((what, name_of(step)));
        }
        let mut before = BTreeSet::new();
        for (slot, node) in &plan.nodes {
            for on in waits(&node.first) {
                let ours =
                    |it: &&Slot| it.node == on.node && (on.member.is_empty() || it.member == on.member);
                let deeds: Vec<&Deed> =
                    of_slot.keys().filter(|it| ours(it)).flat_map(|it| &of_slot[*it]).collect();
                // What is made and goes again in the same plan was waited for when it was made.
                let makes = deeds.iter().any(|(what, _)| *what == "create");
                for first in deeds.into_iter().filter(|(what, _)| !makes || *what == "create") {
                    let later = of_slot.get(slot).into_iter().flatten().filter(|it| it.1 != first.1);
                    before.extend(later.map(|later| (first.clone(), later.clone())));
                }
            }
        }
        Self { deeds: of_slot.into_values().flatten().collect(), before }
    }

    /// Compares it with what happened.
    pub(super) fn compare(&self, title: &str, changes: &[Change]) {
        let mut at: BTreeMap<Deed, usize> = BTreeMap::new();
        for (number, change) in changes.iter().enumerate() {
            let going = |it: &Value| it["metadata"]["deletionTimestamp"].is_string();
            let deed = match (&change.before, &change.after) {
                (None, Some(after)) => ("create", title_of(after)),
                (Some(before), None) => ("delete", title_of(before)),
                (Some(before), Some(after)) if going(after) => ("delete", title_of(before)),
                _ => continue,
            };
            at.entry(deed).or_insert(number);
        }
        for (what, name) in &self.deeds {
            assert!(at.contains_key(&(*what, name.clone())), "{title}: nobody did {what} {name}");
        }
        for (first, later) in &self.before {
            let (Some(one), Some(other)) = (at.get(first), at.get(later)) else { continue };
            assert!(one < other, "{title}: {later:?} was done before {first:?}");
        }
    }
}
