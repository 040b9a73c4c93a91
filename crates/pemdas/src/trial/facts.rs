//! What a scenario says of objects: which ones are meant, and what shape they have.

use pemdas_core::{
    path::FieldPath,
    shape::{Contracts, Judgement, Live, Shape, Why},
    truth::Truth,
};
use pemdas_sim::{Change, Cluster, Key, Resource};
use serde_json::Value;

/// An object that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its kind.
    pub(crate) kind: String,
    /// Its API version, where that was said.
    pub(crate) api_version: Option<String>,
    /// Its namespace, where that was said.
    pub(crate) namespace: Option<String>,
    /// Its name.
    pub(crate) name: String,
}

/// Something that may be so.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    /// The kind.
    pub(crate) kind: String,
    /// The API version, where that was said.
    pub(crate) api_version: Option<String>,
    /// The namespace, where that was said.
    pub(crate) namespace: Option<String>,
    /// The name, or its shape.
    pub(crate) name: Option<Shape>,
    /// Labels.
    pub(crate) labels: Vec<(String, String)>,
    /// The shape.
    pub(crate) is: Shape,
    /// How many there are.
    pub(crate) count: Option<usize>,
    /// Whether the blueprint owns the kind: then the operator says whether an object is ready.
    pub(crate) own: bool,
}

/// How a kind is served: by its API version, or the first group that has it. Of Events those that the operator tells.
pub(crate) fn served(cluster: &Cluster, api_version: Option<&str>, kind: &str) -> Option<Resource> {
    let kinds = cluster.server().kinds();
    if let Some(api_version) = api_version {
        return kinds.of_kind(api_version, kind);
    }
    let mut all: Vec<Resource> = kinds.all().filter(|it| it.kind == kind).collect();
    all.sort_by_key(|it| (kind == "Event" && it.group.is_empty(), it.group.clone()));
    all.into_iter().next()
}

/// The namespace that is meant.
pub(crate) fn namespace_of<'a>(resource: &Resource, said: Option<&'a str>) -> Option<&'a str> {
    resource.namespaced.then(|| said.unwrap_or("default"))
}

impl std::fmt::Display for Object {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(out, "{namespace}/")?;
        }
        out.write_str(&self.name)
    }
}

impl std::fmt::Display for Fact {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.count {
            Some(count) => write!(out, "{count} of kind {}", self.kind)?,
            None => out.write_str(&self.kind)?,
        }
        let namespace = self.namespace.as_ref().map(|it| format!("{it}/")).unwrap_or_default();
        match &self.name {
            Some(Shape::Equals(Value::String(name))) => write!(out, " {namespace}{name}")?,
            Some(shape) => write!(out, " whose name is {}", shape.describe())?,
            None if self.count.is_none() => out.write_str(", any")?,
            None => {}
        }
        for (name, value) in &self.labels {
            write!(out, " {name}={value}")?;
        }
        match self.is {
            Shape::Any => out.write_str(" exists"),
            Shape::Absent => out.write_str(" is not there"),
            Shape::Has(_) => write!(out, " has {}", self.is.describe()),
            _ => write!(out, " is {}", self.is.describe()),
        }
    }
}

impl Fact {
    /// Whether an object is one of those that are meant.
    fn is_about(&self, key: &Key, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let has = |(name, value): &(String, String)| {
            labels.and_then(|it| it.get(name)).and_then(Value::as_str) == Some(value)
        };
        let name = Value::from(key.name());
        let named = |it: &Shape| it.judge(Live::Present(&name)).truth == Truth::True;
        self.name.as_ref().is_none_or(named) && self.labels.iter().all(has)
    }

    fn judge_one(&self, object: &Value, contracts: &dyn Contracts) -> Judgement {
        let judged = self.is.judge_with(Live::Present(object), contracts);
        if !self.own || self.is != Shape::Ready {
            return judged;
        }
        // The rules of built-in kinds take an object without a status for ready: here nobody has looked at it yet.
        let condition =
            Shape::Condition { kind: "Ready".to_owned(), status: "True".to_owned(), reason: None };
        let seen = object.pointer("/status/observedGeneration").cloned().unwrap_or_default();
        let written = object.pointer("/metadata/generation").cloned().unwrap_or_default();
        let current = if seen == written {
            Judgement::holds()
        } else {
            let path = FieldPath::root().field("status").field("observedGeneration");
            Judgement::fails(Why::new(path, seen.to_string(), written.to_string()))
        };
        Judgement::all([judged, condition.judge_with(Live::Present(object), contracts), current])
    }

    /// Whether it is so now; if not, why.
    pub(crate) fn judge(&self, cluster: &Cluster, contracts: &dyn Contracts) -> Judgement {
        let told = |is: String, wants: String| Judgement::fails(Why::new(FieldPath::root(), is, wants));
        let resource = served(cluster, self.api_version.as_deref(), &self.kind);
        let mut found = Vec::new();
        if let Some(resource) = resource {
            let namespace = namespace_of(&resource, self.namespace.as_deref());
            let all = cluster.server().store().list(&resource.id(), namespace, None);
            found = all.filter(|(key, object)| self.is_about(key, object)).map(|it| it.1.clone()).collect();
        }
        let judged = |object: &Value| self.judge_one(object, contracts);
        if let Some(count) = self.count {
            let fitting = found.iter().filter(|it| judged(it).truth == Truth::True).count();
            return if fitting == count {
                Judgement::holds()
            } else {
                told(format!("{fitting} of them"), format!("{count}"))
            };
        }
        match (found.as_slice(), &self.is) {
            ([], shape) => shape.judge_with(Live::Absent, contracts),
            ([_, ..], Shape::Absent) => {
                let names: Vec<&str> =
                    found.iter().filter_map(|it| it["metadata"]["name"].as_str()).collect();
                told(format!("there: {}", names.join(", ")), "none".to_owned())
            }
            (some, _) => Judgement::any(some.iter().map(|it| judged(it))),
        }
    }

    /// Whether a change made it so.
    pub(crate) fn begins(&self, cluster: &Cluster, change: &Change, contracts: &dyn Contracts) -> bool {
        let Some(resource) = served(cluster, self.api_version.as_deref(), &self.kind) else { return false };
        let namespace = namespace_of(&resource, self.namespace.as_deref());
        if change.key.resource != resource.id() || change.key.namespace() != namespace {
            return false;
        }
        let about = |object: &Value| self.is_about(&change.key, object);
        let is = |object: Option<&Value>| match object {
            None => self.is == Shape::Absent,
            Some(object) => about(object) && self.judge_one(object, contracts).truth == Truth::True,
        };
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        let meant = before.is_some_and(about) || after.is_some_and(about);
        meant && is(after) && !(before.is_some() && is(before))
    }
}
