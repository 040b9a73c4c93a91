//! Hooks of Helm: what runs before or after the rest of a chart becomes nodes with an order.

use std::collections::BTreeMap;

use super::{
    Object, codes,
    refer::Found,
    tree::{Content, Tree},
};
use crate::{diagnostic::Diagnostic, import::Order, suggest};

/// The parameter that counts upgrades.
pub(super) const RELEASE: &str = "release";
const HOOK: &str = "helm.sh/hook";
const WEIGHT: &str = "helm.sh/hook-weight";

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    PreInstall,
    PostInstall,
    PreUpgrade,
    PostUpgrade,
    PreDelete,
    PostDelete,
}

/// A hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) phases: Vec<Phase>,
    pub(crate) weight: i64,
}

impl Hook {
    /// One that runs after an installation and before an upgrade needs what is installed: it comes after that.
    fn is_before(&self) -> bool {
        let has = |phase| self.phases.contains(&phase);
        has(Phase::PreInstall) || (has(Phase::PreUpgrade) && !has(Phase::PostInstall))
    }

    fn is_after(&self) -> bool {
        !self.is_before()
            && self.phases.iter().any(|it| matches!(it, Phase::PostInstall | Phase::PostUpgrade))
    }

    /// Whether it belongs to the deletion only.
    pub(crate) fn is_of_deletion(&self) -> bool {
        self.phases.iter().all(|it| matches!(it, Phase::PreDelete | Phase::PostDelete))
    }

    pub(crate) fn is_of_upgrade(&self) -> bool {
        self.phases.iter().any(|it| matches!(it, Phase::PreUpgrade | Phase::PostUpgrade))
    }
}

fn phase(text: &str) -> Option<Phase> {
    Some(match text {
        "pre-install" => Phase::PreInstall,
        "post-install" => Phase::PostInstall,
        "pre-upgrade" => Phase::PreUpgrade,
        "post-upgrade" => Phase::PostUpgrade,
        "pre-delete" => Phase::PreDelete,
        "post-delete" => Phase::PostDelete,
        _ => return None,
    })
}

/// An annotation; a weight may be written as a number, which Kubernetes would refuse and Helm does not.
fn annotation(tree: &Tree, name: &str) -> Option<String> {
    match &tree.find(&["metadata", "annotations", name])?.content {
        Content::Text(text) => Some(text.clone()),
        Content::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The hook that an object is; nothing if it is none.
fn hook(tree: &Tree) -> Option<Hook> {
    let said = annotation(tree, HOOK)?;
    let weight = annotation(tree, WEIGHT).and_then(|it| it.trim().parse().ok()).unwrap_or_default();
    // An object that is made before everything else is made like everything else.
    if said.split(',').any(|it| it.trim() == "crd-install") {
        return None;
    }
    Some(Hook { phases: said.split(',').filter_map(|it| phase(it.trim())).collect(), weight })
}

/// Reads what is a hook, and leaves out what no operator runs: tests, and hooks of a rollback.
pub(super) fn read(objects: &mut Vec<Object>, problems: &mut Vec<Diagnostic>) {
    for object in objects.iter_mut() {
        object.hook = hook(&object.tree);
    }
    let (mut made, mut left) = (Vec::new(), Vec::new());
    objects.retain(|object| {
        let Some(hook) = &object.hook else { return true };
        let keep = !hook.phases.is_empty();
        if keep {
            made.push(object.title());
        } else {
            left.push((object.title(), object.span()));
        };
        keep
    });
    for (title, span) in left {
        let message = format!("{title} is left out: it is a hook of Helm for tests or for a rollback");
        let note = Diagnostic::remark(codes::HOOK, message);
        problems.push(match span {
            Some(span) => note.at(span, ""),
            None => note,
        });
    }
    if !made.is_empty() {
        let names: Vec<&str> = made.iter().map(String::as_str).collect();
        let message = format!("hooks of Helm become nodes with an order: {}", suggest::quoted(&names));
        problems.push(Diagnostic::remark(codes::HOOK, message).hint(
            "look at what they come before and after, and at the key of each: it says when one runs again",
        ));
    }
}

/// Whether something runs that a hook comes before or after.
fn runs(object: &Object) -> bool {
    ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod", "ReplicaSet"].contains(&&*object.kind)
}

/// The edges that hooks make: what runs comes after those before it, and those after it come after what runs.
pub(super) fn edges(objects: &[Object], edges: &mut [Vec<Found>]) {
    let of = |index: usize| objects.get(index).and_then(|it: &Object| it.hook.as_ref());
    let all = || 0..objects.len();
    let ends = |index: &usize| matches!(&*objects[*index].kind, "Job" | "Pod");
    for (from, object) in objects.iter().enumerate() {
        let order = |to: usize, why: &str| Found { to, why: why.to_owned(), order: Order::Ready };
        let more: Vec<Found> = match of(from) {
            None if runs(object) => all()
                .filter(|it| of(*it).is_some_and(Hook::is_before) && ends(it))
                .map(|it| order(it, "this hook runs before it"))
                .collect(),
            Some(hook) if hook.is_after() && ends(&from) => all()
                .filter(|it| of(*it).is_none() && runs(&objects[*it]))
                .map(|it| order(it, "this hook runs after it"))
                .collect(),
            _ => Vec::new(),
        };
        let before = of(from).filter(|_| ends(&from)).map(|hook| lighter(hook, from, objects));
        for found in more.into_iter().chain(before.into_iter().flatten()) {
            super::refer::add(&mut edges[from], found);
        }
    }
}

/// The hooks of the same time with the next lower weight.
fn lighter(hook: &Hook, from: usize, objects: &[Object]) -> Vec<Found> {
    let side = |it: &Hook| (it.is_before(), it.is_after(), it.is_of_deletion());
    let mut by_weight: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (index, object) in objects.iter().enumerate().filter(|(index, _)| *index != from) {
        let other = object.hook.as_ref().filter(|it| side(it) == side(hook) && it.weight < hook.weight);
        if let Some(other) = other {
            by_weight.entry(other.weight).or_default().push(index);
        }
    }
    let next = by_weight.pop_last().map(|it| it.1).unwrap_or_default();
    let why = "its weight as a hook is lower".to_owned();
    next.into_iter().map(|to| Found { to, why: why.clone(), order: Order::Ready }).collect()
}
