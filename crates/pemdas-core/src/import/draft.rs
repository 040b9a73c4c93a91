//! A blueprint as it is proposed, before anybody has written it in a language.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value, json};

use super::{
    labels::{Labels, Which},
    seeds::{Made, base64},
};

/// A proposed blueprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The blueprint's name.
    pub name: String,
    /// The kind that starts it.
    pub kind: String,
    /// The group of that kind.
    pub group: String,
    /// Whether objects of the kind live beside namespaces.
    pub cluster: bool,
    /// The node of the root.
    pub root: String,
    /// What the root itself needs: whatever no other node needs.
    pub needs: Vec<String>,
    /// The fields of its spec.
    pub parameters: Vec<Parameter>,
    /// What the deletion of the root needs.
    pub deleting: Vec<String>,
    /// Objects of others that nodes only look at.
    pub observed: Vec<Observed>,
    /// Labels that stand once, outside of the nodes.
    pub labels: Labels,
    /// The other nodes.
    pub nodes: Vec<Node>,
    /// The name of the instance that gives the objects again.
    pub instance: String,
    /// Where it lives, and the objects that do not say where.
    pub namespace: String,
    /// What was imported, a value for each node: without what a server sets, and with the namespace that it is in.
    pub objects: Vec<Value>,
    /// The definitions of kinds that come along: no instance owns them.
    pub definitions: Vec<Value>,
    /// What its owner should look at first.
    pub attention: Vec<Attention>,
}

/// Nodes that want to be looked at, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    /// Why, in a few words.
    pub why: &'static str,
    /// The nodes.
    pub nodes: Vec<String>,
}

/// An object of somebody else that a node looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The node.
    pub name: String,
    /// The apiVersion of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub object: String,
}

/// A field of the proposed kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it accepts.
    pub contract: Contract,
    /// What it is.
    pub doc: String,
    /// What it is in the instance.
    pub value: Value,
    /// Whether an instance may leave it out.
    pub has_default: bool,
}

/// What a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contract {
    /// Any string.
    Text,
    /// A string that is not empty.
    NonEmpty,
    /// A whole number from 0.
    Natural,
    /// An amount.
    Quantity,
    /// The name of a host.
    Host,
}

/// A node of the blueprint: one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What is to be known about it.
    pub remarks: Vec<String>,
    /// What it needs, and why.
    pub edges: Vec<Edge>,
    /// How it runs, if it is something that is done once.
    pub once: Option<Once>,
    /// Whether its object stays when the instance goes.
    pub orphan: bool,
    /// Its object.
    pub template: Expression,
}

/// How something is done that is done once.
#[derive(Debug, Clone, PartialEq)]
pub struct Once {
    /// Whether it is a Pod, which has no condition that says that it is done.
    pub pod: bool,
    /// What it is done for: when this changes, it is done again.
    pub key: Expression,
    /// Whether the first key is only taken as where to begin: a new instance has nothing to upgrade.
    pub skip_first: bool,
}

/// What a node needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// The other node.
    pub to: String,
    /// Why, in a few words.
    pub why: String,
    /// Whether the other one comes first.
    pub order: Order,
    /// The fields of the other object that a digest is made from, if something here follows it.
    pub digest: Vec<String>,
}

/// What has to be of one node before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Nothing.
    None,
    /// Its object has to be there.
    There,
    /// It has to be ready.
    Ready,
}

/// A part of a template, and what was said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// What it is.
    pub what: What,
    /// Comments for the lines above.
    pub above: Vec<String>,
    /// A comment for the end of its line.
    pub beside: Option<String>,
}

/// What a part of a template is.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string, put together.
    Text(Vec<Part>),
    /// The same in base64, as the `data` of a Secret has it.
    Encoded(Vec<Part>),
    /// The value of a parameter that is no string.
    Read(String),
    /// A list.
    List(Vec<Expression>),
    /// Fields in their order.
    Record(Vec<(String, Expression)>),
    /// A value that is made from the seed of the node.
    Made(Made),
    /// Labels that stand in one place, and some more.
    Labels(Which, Vec<(String, Expression)>),
}

/// A part of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As it is.
    Literal(String),
    /// The root's name.
    RootName,
    /// The root's namespace.
    RootNamespace,
    /// The value of a parameter.
    Parameter(String),
    /// The digest of what another node makes.
    Digest {
        /// The other node.
        node: String,
        /// What stands there in the object that was imported.
        was: String,
    },
}

impl Node {
    /// What the proof takes for the digests of other nodes: with these, its template gives the object that was imported.
    #[must_use]
    pub fn digests(&self) -> BTreeMap<&str, &str> {
        let mut found = BTreeMap::new();
        digests(&self.template, &mut found);
        found
    }
}

fn digests<'a>(expression: &'a Expression, found: &mut BTreeMap<&'a str, &'a str>) {
    match &expression.what {
        What::Text(parts) => found.extend(parts.iter().filter_map(|it| match it {
            Part::Digest { node, was } => Some((node.as_str(), was.as_str())),
            _ => None,
        })),
        What::List(items) => items.iter().for_each(|it| digests(it, found)),
        What::Record(fields) | What::Labels(_, fields) => fields.iter().for_each(|it| digests(&it.1, found)),
        _ => {}
    }
}

impl Draft {
    /// The instance that gives the objects again.
    #[must_use]
    pub fn instance(&self) -> Value {
        let spec: Map<_, _> = self.parameters.iter().map(|it| (it.name.clone(), it.value.clone())).collect();
        let mut metadata = json!({ "name": self.instance });
        if !self.cluster {
            metadata["namespace"] = json!(self.namespace);
        }
        json!({
            "apiVersion": format!("{}/v1", self.group),
            "kind": self.kind,
            "metadata": metadata,
            "spec": spec,
        })
    }

    /// The objects of the proposed instance: what the printed blueprint has to give as well.
    #[must_use]
    pub fn rendered(&self) -> Vec<Value> {
        let values: BTreeMap<&str, &Value> =
            self.parameters.iter().map(|it| (it.name.as_str(), &it.value)).collect();
        self.nodes.iter().map(|it| self.value(&it.template, &values)).collect()
    }

    fn text(&self, parts: &[Part], values: &BTreeMap<&str, &Value>) -> String {
        let texts = parts.iter().map(|part| match part {
            Part::Literal(text) => text.as_str(),
            Part::RootName => &self.instance,
            Part::RootNamespace => &self.namespace,
            Part::Parameter(name) => values.get(name.as_str()).and_then(|it| it.as_str()).unwrap_or_default(),
            Part::Digest { was, .. } => was,
        });
        texts.collect()
    }

    fn value(&self, expression: &Expression, values: &BTreeMap<&str, &Value>) -> Value {
        match &expression.what {
            What::Null => Value::Null,
            What::Bool(it) => json!(it),
            What::Number(it) => Value::Number(it.clone()),
            What::Read(name) => values.get(name.as_str()).map_or(Value::Null, |it| (*it).clone()),
            What::Text(parts) => Value::String(self.text(parts, values)),
            What::Encoded(parts) => Value::String(base64(self.text(parts, values).as_bytes())),
            What::List(items) => items.iter().map(|it| self.value(it, values)).collect(),
            What::Record(fields) => Value::Object(
                fields.iter().map(|(name, it)| (name.clone(), self.value(it, values))).collect::<Map<_, _>>(),
            ),
            What::Made(made) => json!(made.value()),
            What::Labels(which, more) => {
                let all = self.labels.of(*which).iter().chain(more);
                Value::Object(all.map(|(name, it)| (name.clone(), self.value(it, values))).collect())
            }
        }
    }
}
