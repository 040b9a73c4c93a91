//! A blueprint as it is proposed, before anybody has written it in a language.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value, json};

use super::{
    Object, checksums,
    checksums::Followed,
    labels::{self, Labels, Which},
    lift::Lifted,
    names::Named,
    refer,
    seeds::Made,
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
                    Part::Digest { was, .. } => was,
                });
                Value::String(text.collect())
            }
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

/// What may stand outside of the nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outside {
    /// Definitions of kinds, in a file of their own.
    pub(super) definitions: bool,
    /// Labels that objects share.
    pub(super) labels: bool,
}

/// Puts a draft together.
pub(super) fn assemble(
    objects: &[Object],
    named: Named,
    mut edges: Vec<Vec<refer::Found>>,
    lifted: Lifted,
    followed: &Followed,
    outside: &Outside,
) -> Draft {
    let is_outside =
        |index: usize| outside.definitions && objects.get(index).is_some_and(Object::is_definition);
    let used: BTreeSet<usize> = (0..objects.len())
        .filter(|it| !is_outside(*it))
        .flat_map(|it| edges[it].iter().map(|it| it.to))
        .filter(|it| is_outside(*it))
        .collect();
    for (index, edges) in edges.iter_mut().enumerate() {
        edges.retain(|_| !is_outside(index));
    }
    let deletion: BTreeSet<usize> = objects
        .iter()
        .enumerate()
        .filter(|(_, it)| it.hook.as_ref().is_some_and(super::hooks::Hook::is_of_deletion))
        .map(|it| it.0)
        .collect();
    let needs = needs(&named.nodes, &edges, &|it| !deletion.contains(it) && !is_outside(*it));
    let deleting = deletion.iter().filter(|it| {
        !edges
            .iter()
            .enumerate()
            .any(|(from, found)| deletion.contains(&from) && found.iter().any(|found| found.to == **it))
    });
    let deleting = deleting.map(|it| named.nodes[*it].clone()).collect();
    let mut nodes = Vec::new();
    let attention = attention(objects, &named, &lifted.templates, followed, &is_outside);
    let mut templates = lifted.templates;
    let shared = match outside.labels {
        true => {
            let own = templates.iter_mut().enumerate().filter(|it| !is_outside(it.0));
            labels::share(&mut own.map(|it| it.1).collect::<Vec<_>>())
        }
        false => Labels::default(),
    };
    let mut templates = templates.into_iter();
    for (index, object) in objects.iter().enumerate() {
        let found = edges.get_mut(index).map(std::mem::take).unwrap_or_default();
        let digest = |to: usize| match followed.get(index).is_some_and(|it| it.values().any(|it| *it == to)) {
            true => checksums::digested(&objects[to]),
            false => Vec::new(),
        };
        let edge = |it: refer::Found| Edge {
            to: named.nodes[it.to].clone(),
            digest: digest(it.to),
            why: it.why,
            order: it.order,
        };
        let Some(template) = templates.next() else { break };
        if is_outside(index) {
            continue;
        }
        nodes.push(Node {
            name: named.nodes[index].clone(),
            remarks: remarks(object, &template, followed.get(index)),
            edges: found.into_iter().map(edge).collect(),
            once: super::once::of(object, &template),
            orphan: object.survives(),
            template,
        });
    }
    let all = |outside: bool| {
        let of = objects.iter().enumerate().filter(|it| is_outside(it.0) == outside);
        of.map(|it| it.1.value.clone()).collect()
    };
    Draft {
        name: named.blueprint,
        kind: named.kind,
        group: named.group,
        cluster: named.cluster,
        root: named.root,
        needs,
        deleting,
        observed: used.iter().map(|it| observed(&objects[*it], &named.nodes[*it])).collect(),
        definitions: all(true),
        attention,
        parameters: lifted.parameters,
        labels: shared,
        nodes,
        instance: named.instance,
        namespace: named.namespace,
        objects: all(false),
    }
}

/// A definition that is not ours, and only has to be there.
fn observed(object: &Object, node: &str) -> Observed {
    Observed {
        name: node.to_owned(),
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
        object: object.name.clone(),
    }
}

/// What the owner of a blueprint should look at first, in at most five groups.
fn attention(
    objects: &[Object],
    named: &Named,
    templates: &[Expression],
    followed: &Followed,
    is_outside: &dyn Fn(usize) -> bool,
) -> Vec<Attention> {
    type Is = fn(&Object, &Expression, usize) -> bool;
    let groups: [(&'static str, Is); 5] = [
        ("values of Secrets that everybody sees who may read the blueprint", |it, _, _| {
            it.is_secret_with_values()
        }),
        ("hooks of Helm: when they run, and when again", |it, _, _| it.hook.is_some()),
        ("fixed names, which a second instance would share", |_, template, _| has_fixed_name(template)),
        ("data that stays when the instance is deleted", |it, _, _| it.survives()),
        ("checksums that no longer follow what they are of", |it, _, followed| {
            it.checksums().len() > followed
        }),
    ];
    let found = groups.into_iter().map(|(why, is)| {
        let all = objects.iter().zip(templates).enumerate();
        let of = all.filter(|(index, (object, template))| {
            let followed = followed.get(*index).map_or(0, BTreeMap::len);
            !is_outside(*index) && is(object, template, followed)
        });
        Attention { why, nodes: of.map(|it| named.nodes[it.0].clone()).collect() }
    });
    found.filter(|it| !it.nodes.is_empty()).collect()
}

fn is_fixed(what: &What) -> bool {
    matches!(what, What::Text(parts) if parts.iter().all(|it| matches!(it, Part::Literal(_))))
}

fn field<'a>(expression: &'a Expression, name: &str) -> Option<&'a Expression> {
    match &expression.what {
        What::Record(fields) => fields.iter().find(|it| it.0 == name).map(|it| &it.1),
        _ => None,
    }
}

/// Whether all instances (of a namespace) mean the same object.
fn has_fixed_name(template: &Expression) -> bool {
    let part = |name: &str| field(template, "metadata").and_then(|it| field(it, name));
    part("name").is_some_and(|it| is_fixed(&it.what)) && part("namespace").is_none_or(|it| is_fixed(&it.what))
}

/// What stands above a node.
fn remarks(
    object: &Object,
    template: &Expression,
    followed: Option<&BTreeMap<String, usize>>,
) -> Vec<String> {
    let mut remarks = object.remarks.clone();
    if object.survives() {
        remarks.push("It stays when the instance is deleted: what it holds would be lost.".to_owned());
    }
    let follows = |name: &&str| followed.is_some_and(|it| it.contains_key(*name));
    for name in object.checksums().into_iter().filter(|it| !follows(it)) {
        remarks.push(format!(
            "`{name}` is what Helm computed: it no longer follows what it is the checksum of."
        ));
    }
    if object.is_secret_with_values() {
        remarks.push(
            "The values of this Secret stand here for everybody who may read the blueprint.".to_owned(),
        );
        remarks.push("Make it outside and `observe` it, or let `the.seed` make the value.".to_owned());
    }
    if has_fixed_name(template) {
        let remark = match field(template, "metadata").and_then(|it| field(it, "namespace")) {
            None if object.namespaced => Some("all instances of a namespace mean the same object."),
            _ => Some("all instances mean the same object."),
        };
        remarks.extend(remark.map(|it| format!("The name is not made from the root's: {it}")));
    }
    remarks
}

/// The nodes that the root has to need so that all are needed, but for those of its deletion.
fn needs(nodes: &[String], edges: &[Vec<refer::Found>], of_life: &dyn Fn(&usize) -> bool) -> Vec<String> {
    let ends = |(from, found): (usize, &Vec<refer::Found>)| {
        let to: Vec<usize> = found.iter().map(|it| it.to).collect();
        if of_life(&from) { to } else { Vec::new() }
    };
    let needed: BTreeSet<usize> = edges.iter().enumerate().flat_map(ends).collect();
    let mut reached = BTreeSet::new();
    let mut chosen = BTreeSet::new();
    let first = (0..nodes.len()).filter(|it| !needed.contains(it));
    for start in first.chain(0..nodes.len()) {
        if reached.contains(&start) || !of_life(&start) {
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
