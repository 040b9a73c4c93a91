//! A blueprint as it is proposed, before anybody has written it in a language.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value, json};

use super::{Object, lift::Lifted, names::Named, refer};

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
    /// The other nodes.
    pub nodes: Vec<Node>,
    /// The name of the instance that gives the objects again.
    pub instance: String,
    /// Where it lives, and the objects that do not say where.
    pub namespace: String,
    /// What was imported, a value for each node: without what a server sets, and with the namespace that it is in.
    pub objects: Vec<Value>,
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
    /// Its object.
    pub template: Expression,
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
    /// The value of a parameter that is no string.
    Read(String),
    /// A list.
    List(Vec<Expression>),
    /// Fields in their order.
    Record(Vec<(String, Expression)>),
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

    fn value(&self, expression: &Expression, values: &BTreeMap<&str, &Value>) -> Value {
        match &expression.what {
            What::Null => Value::Null,
            What::Bool(it) => json!(it),
            What::Number(it) => Value::Number(it.clone()),
            What::Read(name) => values.get(name.as_str()).map_or(Value::Null, |it| (*it).clone()),
            What::Text(parts) => {
                let text = parts.iter().map(|part| match part {
                    Part::Literal(text) => text.as_str(),
                    Part::RootName => &self.instance,
                    Part::RootNamespace => &self.namespace,
                    Part::Parameter(name) => {
                        values.get(name.as_str()).and_then(|it| it.as_str()).unwrap_or_default()
                    }
                });
                Value::String(text.collect())
            }
            What::List(items) => items.iter().map(|it| self.value(it, values)).collect(),
            What::Record(fields) => Value::Object(
                fields.iter().map(|(name, it)| (name.clone(), self.value(it, values))).collect::<Map<_, _>>(),
            ),
        }
    }
}

/// Puts a draft together.
pub(super) fn assemble(
    objects: Vec<Object>,
    named: Named,
    mut edges: Vec<Vec<refer::Found>>,
    lifted: Lifted,
) -> Draft {
    let needs = needs(&named.nodes, &edges);
    let mut templates = lifted.templates.into_iter();
    let mut nodes = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let found = edges.get_mut(index).map(std::mem::take).unwrap_or_default();
        let edge = |it: refer::Found| Edge { to: named.nodes[it.to].clone(), why: it.why, order: it.order };
        let Some(template) = templates.next() else { break };
        nodes.push(Node {
            name: named.nodes[index].clone(),
            remarks: remarks(object, &template),
            edges: found.into_iter().map(edge).collect(),
            template,
        });
    }
    Draft {
        name: named.blueprint,
        kind: named.kind,
        group: named.group,
        cluster: named.cluster,
        root: named.root,
        needs,
        parameters: lifted.parameters,
        nodes,
        instance: named.instance,
        namespace: named.namespace,
        objects: objects.into_iter().map(|it| it.value).collect(),
    }
}

/// What stands above a node.
fn remarks(object: &Object, template: &Expression) -> Vec<String> {
    let mut remarks = Vec::new();
    if object.is_secret_with_values() {
        remarks.push(
            "The values of this Secret stand here for everybody who may read the blueprint.".to_owned(),
        );
        remarks.push("Make it outside and `observe` it, or let `the.seed` make the value.".to_owned());
    }
    let fixed = |what: &What| match what {
        What::Text(parts) => parts.iter().all(|it| matches!(it, Part::Literal(_))),
        _ => false,
    };
    let field = |expression: &Expression, name: &str| match &expression.what {
        What::Record(fields) => fields.iter().find(|it| it.0 == name).map(|it| it.1.clone()),
        _ => None,
    };
    let metadata = field(template, "metadata");
    let part = |name: &str| metadata.as_ref().and_then(|it| field(it, name));
    if part("name").is_some_and(|it| fixed(&it.what)) {
        let remark = match part("namespace") {
            Some(space) if !fixed(&space.what) => None,
            None if object.namespaced => Some("all instances of a namespace mean the same object."),
            _ => Some("all instances mean the same object."),
        };
        remarks.extend(remark.map(|it| format!("The name is not made from the root's: {it}")));
    }
    remarks
}

/// The nodes that the root has to need so that all are needed.
fn needs(nodes: &[String], edges: &[Vec<refer::Found>]) -> Vec<String> {
    let needed: BTreeSet<usize> = edges.iter().flatten().map(|it| it.to).collect();
    let mut reached = BTreeSet::new();
    let mut chosen = BTreeSet::new();
    let first = (0..nodes.len()).filter(|it| !needed.contains(it));
    for start in first.chain(0..nodes.len()) {
        if reached.contains(&start) {
            continue;
        }
        chosen.insert(start);
        let mut open = vec![start];
        while let Some(index) = open.pop() {
            if reached.insert(index) {
                open.extend(edges.get(index).into_iter().flatten().map(|it| it.to));
            }
        }
    }
    chosen.into_iter().filter_map(|it| nodes.get(it).cloned()).collect()
}
