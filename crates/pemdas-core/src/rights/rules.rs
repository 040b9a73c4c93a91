//! Rights put together as rules, the fewest that allow the same and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::{Reach, Right};

/// A rule of a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The API group.
    pub group: String,
    /// The resources.
    pub resources: BTreeSet<String>,
    /// The objects; empty for all.
    pub names: BTreeSet<String>,
    /// In the order in which people list them.
    pub verbs: Vec<&'static str>,
    /// The nodes that need it.
    pub nodes: BTreeSet<String>,
}

/// The order of verbs.
const VERBS: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete", "bind"];

/// Where a role has to be: in a namespace, or in the whole cluster.
fn place(reach: &Reach, home: &str) -> Option<String> {
    match reach {
        Reach::Cluster | Reach::Everywhere => None,
        Reach::Home => Some(home.to_owned()),
        Reach::Namespace(namespace) => Some(namespace.clone()),
    }
}

/// The rules by namespace, those of the whole cluster under none; `home` is the namespace of the blueprint.
#[must_use]
pub fn rules(rights: &BTreeMap<Right, BTreeSet<String>>, home: &str) -> BTreeMap<Option<String>, Vec<Rule>> {
    type Key<'a> = (Option<String>, &'a str, &'a str);
    /// By verb: the nodes that need it.
    type Needed = BTreeMap<&'static str, BTreeSet<String>>;
    // By resource and place: the verbs of each name, none for all.
    let mut found: BTreeMap<Key<'_>, BTreeMap<Option<&str>, Needed>> = BTreeMap::new();
    for (right, nodes) in rights {
        let verbs = found.entry((place(&right.reach, home), &right.group, &right.resource)).or_default();
        let verbs = verbs.entry(right.name.as_deref()).or_default();
        verbs.entry(right.verb).or_default().extend(nodes.iter().cloned());
    }
    let allowed = |at: &Key<'_>, name: Option<&str>, verb: &str| {
        found.get(at).and_then(|it| it.get(&name)).is_some_and(|it| it.contains_key(verb))
    };
    type Shape<'a> = (&'a str, BTreeSet<String>, Vec<&'static str>);
    let mut rules: BTreeMap<Option<String>, BTreeMap<Shape<'_>, Rule>> = BTreeMap::new();
    for (at @ (namespace, group, resource), by_name) in &found {
        let wide = (None, *group, *resource);
        // Rules for all objects and for some are never put together.
        type Verbs = (bool, Vec<&'static str>);
        let mut by_verbs: BTreeMap<Verbs, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
        for (name, verbs) in by_name {
            // What a wider rule allows is not said again.
            let told = |verb: &str| {
                (name.is_some() && allowed(at, None, verb))
                    || (namespace.is_some()
                        && (allowed(&wide, None, verb) || (name.is_some() && allowed(&wide, *name, verb))))
            };
            let mut own: Vec<&'static str> = verbs.keys().copied().filter(|it| !told(it)).collect();
            own.sort_by_key(|verb| VERBS.iter().position(|it| it == verb));
            if own.is_empty() {
                continue;
            }
            let nodes: Vec<_> = own.iter().filter_map(|it| verbs.get(it)).flatten().cloned().collect();
            let entry = by_verbs.entry((name.is_some(), own)).or_default();
            entry.0.extend(name.map(str::to_owned));
            entry.1.extend(nodes);
        }
        for ((_, verbs), (names, nodes)) in by_verbs {
            let shape = (*group, names.clone(), verbs.clone());
            let rule = rules.entry(namespace.clone()).or_default().entry(shape).or_insert_with(|| Rule {
                group: (*group).to_owned(),
                resources: BTreeSet::new(),
                names,
                verbs,
                nodes: BTreeSet::new(),
            });
            rule.resources.insert((*resource).to_owned());
            rule.nodes.extend(nodes);
        }
    }
    rules
        .into_iter()
        .map(|(namespace, rules)| {
            let mut rules: Vec<Rule> = rules.into_values().collect();
            rules.sort();
            (namespace, rules)
        })
        .collect()
}
