//! Sets of paths into an object: what a manager owns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::Element;

/// A set of paths. A path is in it if its last step is a member of the set at the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(crate) members: BTreeSet<Element>,
    pub(crate) children: BTreeMap<Element, FieldSet>,
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub(crate) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// The set of one path of field names.
    pub(crate) fn of_names(names: &[&str]) -> Self {
        let path: Vec<Element> = names.iter().map(|name| Element::Field((*name).to_owned())).collect();
        let mut set = Self::default();
        set.insert(&path);
        set
    }

    pub(crate) fn union(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (step, child) in &other.children {
            self.children.entry(step.clone()).or_default().add(child);
        }
    }

    /// The paths that are not in another set; what is below them stays.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let empty = Self::default();
        let children = self.children.iter().map(|(step, child)| {
            (step.clone(), child.difference(other.children.get(step).unwrap_or(&empty)))
        });
        Self { members, children: children.filter(|(_, child)| !child.is_empty()).collect() }
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(step, child)| {
            let both = child.intersection(other.children.get(step)?);
            (!both.is_empty()).then(|| (step.clone(), both))
        });
        Self { members, children: children.collect() }
    }

    /// The paths that do not begin with one of another set.
    pub(crate) fn outside(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let children =
            self.children.iter().filter(|(step, _)| !other.members.contains(*step)).map(|(step, child)| {
                let below = other.children.get(step).map_or_else(|| child.clone(), |it| child.outside(it));
                (step.clone(), below)
            });
        Self { members, children: children.filter(|(_, child)| !child.is_empty()).collect() }
    }

    /// All paths, each with its steps, members before what is below.
    pub(crate) fn paths(&self) -> Vec<Vec<Element>> {
        let mut all: Vec<Vec<Element>> = self.members.iter().map(|step| vec![step.clone()]).collect();
        for (step, child) in &self.children {
            all.extend(child.paths().into_iter().map(|rest| {
                let mut path = vec![step.clone()];
                path.extend(rest);
                path
            }));
        }
        all
    }

    /// As `fieldsV1` has it.
    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        for step in self.members.iter().chain(self.children.keys()) {
            map.entry(step.text()).or_insert_with(|| {
                let mut below = match self.children.get(step).map(Self::to_json) {
                    Some(Value::Object(below)) => below,
                    _ => Map::new(),
                };
                if self.members.contains(step) && !below.is_empty() {
                    below.insert(".".to_owned(), Value::Object(Map::new()));
                }
                Value::Object(below)
            });
        }
        Value::Object(map)
    }

    /// From `fieldsV1`.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (text, below) in json.as_object()? {
            if text == "." {
                continue;
            }
            let step = Element::parse(text)?;
            let fields = below.as_object()?;
            if fields.is_empty() || fields.contains_key(".") {
                set.members.insert(step.clone());
            }
            let child = Self::from_json(below)?;
            if !child.is_empty() {
                set.children.insert(step, child);
            }
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FieldSet;

    #[test]
    fn a_set_is_written_and_read() {
        let json = json!({
            "f:metadata": { "f:labels": { ".": {}, "f:a": {} } },
            "f:spec": { "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } } },
        });
        let set = FieldSet::from_json(&json).unwrap();
        assert_eq!(set.to_json(), json);
        assert_eq!(set.paths().len(), 4);
        let labels = FieldSet::of_names(&["metadata", "labels"]);
        assert_eq!(set.difference(&labels).paths().len(), 3);
        assert_eq!(set.outside(&labels).paths().len(), 2);
        assert_eq!(set.intersection(&labels), labels);
    }
}
