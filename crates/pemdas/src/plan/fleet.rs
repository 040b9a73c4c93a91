//! What a changed blueprint would do to all of its instances.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::plan::{Fate, Plan, Verb};
use pemdas_core::world::ObjectKey;
use serde_json::{Value, json};

use super::{Played, diff, words};
use crate::terminal::Style;

/// The version of the form for programs.
const VERSION: u32 = 1;
/// How many nodes of an instance are named in a line.
const MAX_NAMED: usize = 5;

/// What becomes of an instance. What is worse comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Nothing is written.
    Unchanged,
    /// Objects are created or changed.
    Changed,
    /// Objects go, and nothing comes in their place.
    Deleted,
    /// Objects go and are made anew.
    Recreated,
    /// A human must look in the end.
    Stalled,
    /// It breaks the contract of its kind, or cannot be planned.
    Broken,
}

impl Verdict {
    const ALL: [Self; 6] =
        [Self::Unchanged, Self::Changed, Self::Deleted, Self::Recreated, Self::Stalled, Self::Broken];

    fn word(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::Recreated => "recreated",
            Self::Stalled => "stalled",
            Self::Broken => "broken",
        }
    }

    /// What it means, in a summary.
    fn meaning(self) -> &'static str {
        match self {
            Self::Unchanged => "nothing would be written",
            Self::Changed => "objects would be created or changed",
            Self::Deleted => "objects would go for good",
            Self::Recreated => "objects would go and be made anew",
            Self::Stalled => "would need attention",
            Self::Broken => "the instance does not fit the blueprint",
        }
    }

    fn sign(self) -> (&'static str, &'static str) {
        match self {
            Self::Unchanged => ("=", "2"),
            Self::Changed => ("~", "33"),
            Self::Deleted => ("-", "31"),
            Self::Recreated => ("±", "1;31"),
            Self::Stalled | Self::Broken => ("!", "1;31"),
        }
    }
}

/// An instance of the fleet.
pub(crate) struct Member {
    pub(crate) instance: ObjectKey,
    pub(crate) verdict: Verdict,
    /// By verb: the nodes that write.
    writes: BTreeMap<Verb, Vec<String>>,
    /// Why it stalls or cannot be planned.
    why: Vec<String>,
}

/// A blueprint over all of its instances.
pub(crate) struct Fleet {
    /// The blueprint.
    pub(crate) blueprint: String,
    /// The ConfigMap that it would be.
    pub(crate) configmap: String,
    pub(crate) members: Vec<Member>,
    /// The first instance that would change, as an example.
    pub(crate) example: Option<Played>,
    pub(crate) notes: BTreeSet<String>,
}

impl Fleet {
    /// The names of the instances that would change.
    pub(crate) fn changing(&self) -> Vec<ObjectKey> {
        let changing = self.members.iter().filter(|it| it.verdict != Verdict::Unchanged);
        changing.map(|it| it.instance.clone()).collect()
    }
}

impl Member {
    /// An instance with a plan.
    pub(crate) fn planned(played: &Played) -> Self {
        let mut writes: BTreeMap<Verb, Vec<String>> = BTreeMap::new();
        for step in played.plan.rounds.iter().flat_map(|it| &it.steps) {
            writes.entry(step.verb).or_default().push(words::slot(&step.slot));
        }
        let stalled = played.plan.nodes.iter().filter(|(_, it)| it.fate == Fate::Stalled);
        let why = stalled
            .map(|(slot, it)| format!("{}: {}", words::slot(slot), words::reasons(&it.last).join("; ")));
        let (instance, why) = (played.instance.clone(), why.collect());
        Self { instance, verdict: verdict(&played.plan), writes, why }
    }

    /// An instance that cannot be planned.
    pub(crate) fn broken(instance: ObjectKey, why: Vec<String>) -> Self {
        Self { instance, verdict: Verdict::Broken, writes: BTreeMap::new(), why }
    }

    fn said(&self) -> String {
        let named = |names: &Vec<String>| {
            let mut some: Vec<&str> = names.iter().map(String::as_str).take(MAX_NAMED).collect();
            if names.len() > some.len() {
                some.push("...");
            }
            some.join(", ")
        };
        let writes = self
            .writes
            .iter()
            .map(|(verb, names)| format!("{} {} ({})", words::verb(*verb), names.len(), named(names)));
        writes.chain(self.why.iter().cloned()).collect::<Vec<_>>().join("; ")
    }
}

fn verdict(plan: &Plan) -> Verdict {
    let steps = || plan.rounds.iter().flat_map(|it| &it.steps);
    if plan.is_idle() {
        return Verdict::Unchanged;
    }
    if plan.nodes.values().any(|it| it.fate == Fate::Stalled) {
        return Verdict::Stalled;
    }
    let gone: Vec<_> =
        steps().filter(|it| matches!(it.verb, Verb::Delete | Verb::Release) && !it.once).collect();
    let made = |object: &ObjectKey, node: &str| {
        steps().any(|it| it.verb == Verb::Create && (it.object == *object || it.slot.node == node))
    };
    if gone.is_empty() {
        Verdict::Changed
    } else if gone.iter().any(|it| made(&it.object, &it.slot.node)) {
        Verdict::Recreated
    } else {
        Verdict::Deleted
    }
}

impl Fleet {
    /// Whether nothing would be written.
    pub(crate) fn is_idle(&self) -> bool {
        self.members.iter().all(|it| it.verdict == Verdict::Unchanged)
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.members.iter().filter(|it| it.verdict == verdict).count()
    }

    /// By node and verb: in how many instances.
    fn nodes(&self) -> BTreeMap<String, BTreeMap<Verb, usize>> {
        let mut nodes: BTreeMap<String, BTreeMap<Verb, usize>> = BTreeMap::new();
        for member in &self.members {
            for (verb, names) in &member.writes {
                // Members of a node are one node here.
                let names: BTreeSet<_> = names.iter().map(|it| it.split('[').next().unwrap_or(it)).collect();
                for name in names {
                    *nodes.entry(name.to_owned()).or_default().entry(*verb).or_default() += 1;
                }
            }
        }
        nodes
    }
}

/// For people: how many, which nodes, and at most so many instances by name.
pub(crate) fn text(fleet: &Fleet, limit: usize, diffs: bool, colour: bool) -> String {
    let style = Style { colour };
    let total = fleet.members.len();
    let many = if total == 1 { "1 instance".to_owned() } else { format!("{total} instances") };
    let mut out = format!("{}\n", style.bold(&format!("{}: {many} of {}", fleet.blueprint, fleet.configmap)));
    for verdict in Verdict::ALL {
        let count = fleet.count(verdict);
        if count > 0 {
            let line = format!("  {count:>5} {:9}  {}", verdict.word(), verdict.meaning());
            out.push_str(&format!("{}\n", style.paint(verdict.sign().1, &line)));
        }
    }
    let nodes = fleet.nodes();
    if !nodes.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("Nodes")));
        let wide = nodes.keys().map(|it| it.chars().count()).max().unwrap_or(0).min(40);
        for (name, verbs) in &nodes {
            let verbs: Vec<_> =
                verbs.iter().map(|(verb, count)| format!("{} in {count}", words::verb(*verb))).collect();
            out.push_str(&format!("  {name:wide$}  {}\n", verbs.join(", ")));
        }
    }
    let mut touched: Vec<_> = fleet.members.iter().filter(|it| it.verdict != Verdict::Unchanged).collect();
    touched.sort_by_key(|it| std::cmp::Reverse(it.verdict));
    if !touched.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("Instances")));
        let shown = || touched.iter().take(limit);
        let wide = shown().map(|it| it.instance.to_string().chars().count()).max().unwrap_or(0).min(70);
        for member in shown() {
            let (sign, code) = member.verdict.sign();
            let line = format!(
                "  {sign} {:wide$}  {:9}  {}",
                member.instance.to_string(),
                member.verdict.word(),
                member.said()
            );
            out.push_str(&format!("{}\n", style.paint(code, line.trim_end())));
        }
        if let Some(more) = touched.len().checked_sub(limit).filter(|it| *it > 0) {
            out.push_str(&format!("  and {more} more: --limit shows them\n"));
        }
    }
    if let Some(example) = fleet.example.as_ref().filter(|_| diffs) {
        out.push_str(&format!("\n{}\n", style.bold(&format!("For example, {}", example.instance))));
        super::text::differences(&example.plan, style, &mut out);
    }
    super::text::notes(fleet.notes.iter(), style, &mut out);
    out
}

/// For programs: every instance.
pub(crate) fn document(fleet: &Fleet, limit: usize) -> Value {
    let count = |verdict: Verdict| (verdict.word().to_owned(), json!(fleet.count(verdict)));
    let mut summary: serde_json::Map<String, Value> = Verdict::ALL.into_iter().map(count).collect();
    summary.insert("total".to_owned(), json!(fleet.members.len()));
    let mut touched: Vec<_> = fleet.members.iter().collect();
    touched.sort_by_key(|it| std::cmp::Reverse(it.verdict));
    let members = touched.iter().take(limit).map(|it| {
        let writes: BTreeMap<_, _> =
            it.writes.iter().map(|(verb, names)| (words::verb(*verb), names)).collect();
        let key = &it.instance;
        json!({
            "instance": {
                "group": key.kind.group, "kind": key.kind.kind, "namespace": key.namespace, "name": key.name,
            },
            "verdict": it.verdict.word(), "writes": writes, "why": it.why,
        })
    });
    let members: Vec<_> = members.collect();
    let nodes: BTreeMap<_, BTreeMap<_, _>> = fleet
        .nodes()
        .into_iter()
        .map(|(name, verbs)| {
            (name, verbs.into_iter().map(|(verb, count)| (words::verb(verb), count)).collect())
        })
        .collect();
    json!({
        "version": VERSION, "blueprint": fleet.blueprint, "configmap": fleet.configmap, "summary": summary,
        "nodes": nodes, "more": fleet.members.len().saturating_sub(members.len()), "instances": members,
        "example": fleet.example.as_ref().map(example), "notes": fleet.notes,
    })
}

/// The diffs of the example, with Secrets masked.
fn example(played: &Played) -> Value {
    let steps = played.plan.rounds.iter().flat_map(|it| &it.steps).map(|step| {
        let (before, after) = diff::sides(step);
        json!({ "node": words::slot(&step.slot), "verb": words::verb(step.verb), "object": step.object, "before": before, "after": after })
    });
    json!({ "instance": played.instance, "steps": steps.collect::<Vec<_>>() })
}
