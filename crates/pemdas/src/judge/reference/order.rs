//! Which objects come before which others, and go after them.

use std::collections::BTreeSet;

use super::{Need, Reference, Rest, edges::is_each, shapes};

impl Rest<'_> {
    /// Pairs of objects of which the first is made before the second; or of which the second is removed before the first.
    pub(super) fn order(&self, removal: bool) -> BTreeSet<(String, String)> {
        let pairs = self.ours.iter().flat_map(|(key, (node, member))| {
            let mut first = BTreeSet::new();
            for node in self.makes(node, removal) {
                first.extend(self.before(node, member, removal, &mut BTreeSet::new()));
            }
            first.remove(key);
            first.into_iter().map(|it| (it, key.clone()))
        });
        let pairs: BTreeSet<_> = pairs.collect();
        // Where an object stands on both sides of another one, its last state decides.
        pairs.iter().filter(|(a, b)| !pairs.contains(&(b.clone(), a.clone()))).cloned().collect()
    }

    /// The nodes that a node comes after, directly or not: along its edges, those of conditions that lead to it, and its states.
    pub(super) fn after(&self, node: &str) -> BTreeSet<String> {
        let (mut open, mut all) = (vec![node.to_owned()], BTreeSet::new());
        while let Some(at) = open.pop() {
            let of = self.of;
            let written = Reference::edges(of.clause(&at, "before"));
            let conditions = of.nodes.values().filter_map(|it| it.get("also")?.get(&at)?.get("before"));
            let read = conditions.flat_map(|it| Reference::edges(Some(it)));
            let names = written.chain(read).map(|(name, _)| name).chain(of.states(&at));
            open.extend(names.filter(|it| all.insert((*it).to_owned())).map(str::to_owned));
        }
        all
    }

    /// The nodes whose turn makes an object: its first state if it has one, or removes it: its last one.
    fn makes<'n>(&'n self, node: &'n str, removal: bool) -> Vec<&'n str> {
        let once = self.of.clause(node, "once").is_some();
        let states = self.of.states(node).filter(|it| self.needed(it) == Need::Yes && !self.is_idle(it));
        let states: Vec<&str> = states.collect();
        match (removal, states.is_empty()) {
            // A once that has ended uses nothing any more.
            (true, _) if once => Vec::new(),
            (false, false) => states,
            _ => vec![node],
        }
    }

    /// The objects that a node comes after: those of its precursors, and of theirs where a precursor has none.
    fn before(
        &self,
        node: &str,
        member: &str,
        removal: bool,
        seen: &mut BTreeSet<String>,
    ) -> BTreeSet<String> {
        if !seen.insert(node.to_owned()) {
            return BTreeSet::new();
        }
        let mut all = BTreeSet::new();
        for (precursor, edge) in Reference::edges(self.of.clause(node, "before")) {
            if edge
                .get("until")
                .is_some_and(|it| it.get("~function").is_some() || shapes::holds_of_nothing(it))
            {
                continue;
            }
            let owner = self.of.clause(precursor, "state_of").and_then(|it| it.as_str()).unwrap_or(precursor);
            let due = owner == precursor || self.needed(precursor) == Need::Yes;
            let of_it = self.ours.iter().filter(|(_, (other, _))| other == owner && due);
            let of_it: Vec<_> = of_it.filter(|(_, (_, other))| !is_each(edge) || other == member).collect();
            let once = self.of.clause(precursor, "once").is_some();
            if of_it.is_empty() || once && removal {
                all.extend(self.before(precursor, "", removal, seen));
            }
            all.extend(of_it.into_iter().map(|(key, _)| key.clone()));
        }
        all
    }
}
