//! From what was found of the objects to the draft.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Object,
    checksums::{self, Followed},
    draft::{Attention, Draft, Edge, Expression, Node, Observed, Part, What},
    hooks,
    labels::{self, Labels},
    lift::Lifted,
    names::Named,
    once,
    refer::Found,
};

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
    mut edges: Vec<Vec<Found>>,
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
        .filter(|(_, it)| it.hook.as_ref().is_some_and(hooks::Hook::is_of_deletion))
        .map(|it| it.0)
        .collect();
    let needs = needs(&named.nodes, &edges, &|it| !deletion.contains(it) && !is_outside(*it));
    let needed_last = |to: usize| deletion.iter().any(|from| edges[*from].iter().any(|it| it.to == to));
    let deleting =
        deletion.iter().filter(|it| !needed_last(**it)).map(|it| named.nodes[*it].clone()).collect();
    let attention = attention(objects, &named, &lifted.templates, followed, &is_outside);
    let mut templates = lifted.templates;
    let shared = match outside.labels {
        true => {
            let own = templates.iter_mut().enumerate().filter(|it| !is_outside(it.0));
            labels::share(&mut own.map(|it| it.1).collect::<Vec<_>>())
        }
        false => Labels::default(),
    };
    let parts = objects.iter().zip(templates).zip(edges).enumerate().filter(|it| !is_outside(it.0));
    let nodes = parts.map(|(index, ((object, template), edges))| {
        let followed = followed.get(index).cloned().unwrap_or_default();
        node(objects, &named.nodes, index, (object, template), edges, &followed)
    });
    let nodes = nodes.collect();
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

/// The node of an object.
fn node(
    objects: &[Object],
    names: &[String],
    index: usize,
    (object, template): (&Object, Expression),
    edges: Vec<Found>,
    followed: &BTreeMap<String, usize>,
) -> Node {
    let edge = |it: Found| Edge {
        digest: match followed.values().any(|to| *to == it.to) {
            true => checksums::digested(&objects[it.to]),
            false => Vec::new(),
        },
        to: names[it.to].clone(),
        why: it.why,
        order: it.order,
    };
    Node {
        name: names[index].clone(),
        remarks: remarks(object, &template, followed),
        edges: edges.into_iter().map(edge).collect(),
        once: once::of(object, &template),
        orphan: object.survives(),
        template,
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
    type Is<'a> = &'a dyn Fn(&Object, &Expression, usize) -> bool;
    let prefix = format!("{}-", named.instance);
    let shares_name = |_: &Object, template: &Expression, _: usize| {
        has_fixed_name(template) || (named.distinct && has_key(template, &prefix))
    };
    let groups: [(&'static str, Is<'_>); 5] = [
        ("values of Secrets that everybody sees who may read the blueprint", &|it, _, _| {
            it.is_secret_with_values()
        }),
        ("hooks of Helm: when they run, and when again", &|it, _, _| it.hook.is_some()),
        ("fixed names, which a second instance would share", &shares_name),
        ("data that stays when the instance is deleted", &|it, _, _| it.survives()),
        ("checksums that no longer follow what they are of", &|it, _, followed| {
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

/// Whether the name of a field contains the name of the release, as in the label `rel-db-client: "true"`. Import keeps names of fields.
fn has_key(expression: &Expression, prefix: &str) -> bool {
    match &expression.what {
        What::Record(fields) | What::Labels(_, fields) => {
            fields.iter().any(|(name, it)| name.starts_with(prefix) || has_key(it, prefix))
        }
        What::List(items) => items.iter().any(|it| has_key(it, prefix)),
        _ => false,
    }
}

/// Whether all instances (of a namespace) mean the same object.
fn has_fixed_name(template: &Expression) -> bool {
    let part = |name: &str| field(template, "metadata").and_then(|it| field(it, name));
    part("name").is_some_and(|it| is_fixed(&it.what)) && part("namespace").is_none_or(|it| is_fixed(&it.what))
}

/// What stands above a node.
fn remarks(object: &Object, template: &Expression, followed: &BTreeMap<String, usize>) -> Vec<String> {
    let mut remarks = object.remarks.clone();
    if object.survives() {
        remarks.push("It stays when the instance is deleted: what it holds would be lost.".to_owned());
    }
    let follows = |name: &&str| followed.contains_key(*name);
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
fn needs(nodes: &[String], edges: &[Vec<Found>], of_life: &dyn Fn(&usize) -> bool) -> Vec<String> {
    let ends = |(from, found): (usize, &Vec<Found>)| {
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
