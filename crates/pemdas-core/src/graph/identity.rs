//! Which object a node is: its kind is known before anything runs, its name depends on the root and the member
//! only, and no two nodes are one object.

use std::collections::BTreeMap;

use super::{Graph, codes, need};
use crate::{
    blueprint::{
        Blueprint, Body, Clause, Input, NamePart, NameSegment, Node, ObjectIdentity, Read, RootTarget, Scope,
        StaticText,
    },
    diagnostic::{Diagnostic, Span},
    kube_types,
};

pub(super) fn check(blueprint: &Blueprint, graph: &Graph) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, node) in &blueprint.nodes {
        let Some(object) = node.body.identity() else { continue };
        problems.extend(kind_not_static(name, node, object));
        problems.extend(late_identity(name, node, object));
        problems.extend(shared_by_members(name, node, object));
        problems.extend(fixed_name(blueprint, graph, name, node, object));
        problems.extend(no_namespace(blueprint, graph, name, node, object));
        problems.extend(own_name(blueprint, graph, name, node, object));
    }
    problems.extend(duplicates(blueprint, graph));
    problems
}

fn kind_not_static(name: &str, node: &Node, object: &ObjectIdentity) -> Vec<Diagnostic> {
    let is_state = node.state_of.is_some();
    let mut problems = Vec::new();
    for (field, text) in [("apiVersion", &object.api_version), ("kind", &object.kind)] {
        let place = node.span_of(node.body.clause()).clone();
        let (message, span, said) = match text {
            StaticText::Known(_) => continue,
            StaticText::Missing if is_state => continue,
            StaticText::Missing => (format!("`{name}` says no `{field}`"), place, String::new()),
            StaticText::Unknown { why, span } => {
                let why = crate::text::shorten(why);
                (
                    format!("the `{field}` of `{name}` is not known without an instance"),
                    span.clone().unwrap_or(place),
                    why,
                )
            }
        };
        let hint = match text {
            StaticText::Missing => format!("write `{field} = \"...\"`"),
            _ => "write it as a literal; for one of several kinds write a node for each, and a `when` on their edges"
                .to_owned(),
        };
        problems.push(
            Diagnostic::error(codes::KIND_NOT_STATIC, message)
                .at(span, said)
                .note("watches, permissions and checks are made before anything runs, so the kind has to be plain text")
                .hint(hint),
        );
    }
    problems
}

/// Everything that the name and the namespace read.
fn reads(object: &ObjectIdentity) -> Vec<&Read> {
    let mut all = Vec::new();
    for part in [&object.namespace, &object.name] {
        match part {
            NamePart::Missing => {}
            NamePart::Computed(reads) => all.extend(reads),
            NamePart::Pattern(segments) => all.extend(segments.iter().filter_map(|segment| match segment {
                NameSegment::Text(_) => None,
                NameSegment::Input(read) => Some(read),
            })),
        }
    }
    all
}

fn late_identity(name: &str, node: &Node, object: &ObjectIdentity) -> Vec<Diagnostic> {
    if node.late_name || node.state_of.is_some() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for read in reads(object) {
        let input = match read.input() {
            Input::Root | Input::Each | Input::Whole => continue,
            Input::Own => "the.self".to_owned(),
            Input::Seed => "the.seed".to_owned(),
            Input::Node(other) => format!("the.{other}"),
        };
        problems.push(
            Diagnostic::error(
                codes::LATE_IDENTITY,
                format!("which object `{name}` is depends on `{input}`, not only on the root and the member"),
            )
            .at(read.span.clone(), "part of the name")
            .hint("make the name from `the.root` and `the.each`; or say `late_name = true`, and nothing is removed while the name is not known"),
        );
    }
    problems
}

fn shared_by_members(name: &str, node: &Node, object: &ObjectIdentity) -> Option<Diagnostic> {
    let for_each = node.for_each.as_ref()?;
    if matches!(&node.body, Body::Observe(observe) if observe.by_selector) || node.late_name {
        return None;
    }
    let plain = |part: &NamePart| matches!(part, NamePart::Missing | NamePart::Pattern(_));
    if !plain(&object.name) || !plain(&object.namespace) || matches!(object.name, NamePart::Missing) {
        return None;
    }
    if reads(object).iter().any(|read| read.input() != Input::Root) {
        return None;
    }
    Some(
        Diagnostic::error(
            codes::SHARED_BY_MEMBERS,
            format!(
                "all members of `{name}` are one object: neither its name nor its namespace reads `the.each`"
            ),
        )
        .at(node.span_of(node.body.clause()).clone(), "the same name for every member")
        .see(for_each.span.clone(), "one member for each key of this")
        .hint("put `the.each.key` into the name, such as `\"%{the.root.metadata.name}-%{the.each.key}\"`"),
    )
}

/// A name that every instance shares is claimed by the first; the others stall.
fn fixed_name(
    blueprint: &Blueprint,
    graph: &Graph,
    name: &str,
    node: &Node,
    object: &ObjectIdentity,
) -> Option<Diagnostic> {
    let fixed = |part: &NamePart| matches!(part, NamePart::Pattern(all) if all.iter().all(|it| matches!(it, NameSegment::Text(_))));
    if !matches!(node.body, Body::Template(_)) || node.state_of.is_some() || !fixed(&object.name) {
        return None;
    }
    if !matches!(object.namespace, NamePart::Missing) && !fixed(&object.namespace) {
        return None;
    }
    let root = graph.roots.iter().find(|root| {
        let many = blueprint.nodes.get(*root).is_some_and(
            |it| matches!(&it.body, Body::Root(root) if !matches!(root.target, RootTarget::Blueprint)),
        );
        // A Namespace as root is another namespace each time; objects in it may well have one name.
        many && !is_namespace_root(blueprint, root)
            && need::may_need(graph, need::Instance { root, deleting: true }).contains(name)
    })?;
    Some(
        Diagnostic::warning(
            codes::FIXED_NAME,
            format!("`{name}` has the same name for every `{root}`: the first instance in a namespace claims it, others stall"),
        )
        .at(node.span_of(Clause::Template).clone(), "a fixed name")
        .hint("make the name from `the.root.metadata.name`"),
    )
}

/// The blueprint is a ConfigMap itself, with its own name: another one cannot have that in its namespace.
fn own_name(
    blueprint: &Blueprint,
    graph: &Graph,
    name: &str,
    node: &Node,
    object: &ObjectIdentity,
) -> Option<Diagnostic> {
    let is_map = object.api_version.known() == Some("v1") && object.kind.known() == Some("ConfigMap");
    let elsewhere = !matches!(object.namespace, NamePart::Missing);
    if !is_map || elsewhere || !matches!(node.body, Body::Template(_)) || node.state_of.is_some() {
        return None;
    }
    let NamePart::Pattern(segments) = &object.name else { return None };
    let taken = match segments.as_slice() {
        [NameSegment::Input(read)] => {
            graph.roots == [super::OWN_ROOT] && read.path == ["root", "metadata", "name"]
        }
        segments => {
            let text = segments.iter().map(|it| match it {
                NameSegment::Text(text) => Some(text.as_str()),
                NameSegment::Input(_) => None,
            });
            text.collect::<Option<String>>() == Some(blueprint.name.clone())
        }
    };
    taken.then(|| {
        Diagnostic::warning(
            codes::OWN_NAME,
            format!("`{name}` makes a ConfigMap with the name of the blueprint's own: `{}`", blueprint.name),
        )
        .at(node.span_of(Clause::Template).clone(), "exists already where the blueprint is")
        .hint("give the blueprint another `name`, or keep its ConfigMap in a namespace of its own")
    })
}

/// A cluster-scoped root gives its objects no namespace.
fn no_namespace(
    blueprint: &Blueprint,
    graph: &Graph,
    name: &str,
    node: &Node,
    object: &ObjectIdentity,
) -> Option<Diagnostic> {
    let (Some(api_version), Some(kind)) = (object.api_version.known(), object.kind.known()) else {
        return None;
    };
    let collection = matches!(&node.body, Body::Observe(observe) if observe.by_selector);
    let named = !matches!(object.namespace, NamePart::Missing);
    if named || node.state_of.is_some() || scope_of(blueprint, api_version, kind)? == Scope::Cluster {
        return None;
    }
    let root = graph.roots.iter().find(|root| {
        let target = blueprint.nodes.get(*root).and_then(|it| match &it.body {
            Body::Root(root) => Some(&root.target),
            _ => None,
        });
        let scope = match target {
            Some(RootTarget::Owned(kind)) => blueprint.kinds.get(kind).map(|it| it.scope),
            Some(RootTarget::Foreign { api_version, kind, .. }) => scope_of(blueprint, api_version, kind),
            Some(RootTarget::Blueprint) | None => None,
        };
        scope == Some(Scope::Cluster)
            && need::may_need(graph, need::Instance { root, deleting: true }).contains(name)
    })?;
    Some(
        Diagnostic::error(
            codes::NO_NAMESPACE,
            format!("the {kind} of `{name}` has no namespace, and the root `{root}` is cluster-scoped"),
        )
        .at(node.span_of(node.body.clause()).clone(), "this object lives in a namespace")
        .hint(if collection {
            "write `namespace`, such as `namespace = the.root.metadata.name`, or `namespace = \"*\"` for all namespaces"
        } else {
            "write `metadata.namespace`, such as `metadata.namespace = the.root.metadata.name` or a field of the spec"
        }),
    )
}

/// Where objects of a kind live, as far as that is known without a cluster.
fn scope_of(blueprint: &Blueprint, api_version: &str, kind: &str) -> Option<Scope> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if let Some(owned) = blueprint.kinds.get(kind).filter(|it| it.group == group) {
        return Some(owned.scope);
    }
    let known = kube_types::Kind::find(api_version, kind).ok()?;
    Some(match known.scope {
        kube_types::Scope::Namespaced => Scope::Namespaced,
        kube_types::Scope::Cluster => Scope::Cluster,
    })
}

fn is_namespace_root(blueprint: &Blueprint, root: &str) -> bool {
    blueprint.nodes.get(root).is_some_and(|it| {
        matches!(&it.body, Body::Root(root)
            if matches!(&root.target, RootTarget::Foreign { kind, .. } if kind == "Namespace"))
    })
}

/// What two nodes share if they are one object.
type Identity = (String, String, Vec<String>, Vec<String>);

fn identity(object: &ObjectIdentity) -> Option<Identity> {
    let api_version = object.api_version.known()?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let name = written(&object.name)?;
    if name.is_empty() {
        return None;
    }
    Some((group.to_owned(), object.kind.known()?.to_owned(), written(&object.namespace)?, name))
}

/// A name as comparable text; none where it is not the same for two nodes, or not known.
fn written(part: &NamePart) -> Option<Vec<String>> {
    match part {
        NamePart::Missing => Some(Vec::new()),
        NamePart::Computed(_) => None,
        NamePart::Pattern(segments) => segments
            .iter()
            .map(|segment| match segment {
                NameSegment::Text(text) => Some(format!("={text}")),
                NameSegment::Input(read) => match read.input() {
                    Input::Root => Some(format!("the.{}", read.path.join("."))),
                    // Of another node's member, seed or extract nothing is known.
                    Input::Own | Input::Seed | Input::Each | Input::Node(_) | Input::Whole => None,
                },
            })
            .collect(),
    }
}

fn duplicates(blueprint: &Blueprint, graph: &Graph) -> Vec<Diagnostic> {
    let mut by_identity: BTreeMap<Identity, Vec<(&String, &Node)>> = BTreeMap::new();
    for (name, node) in &blueprint.nodes {
        let Some(object) = node.body.identity() else { continue };
        let collection = matches!(&node.body, Body::Observe(observe) if observe.by_selector);
        if node.state_of.is_some() || node.once.is_some() || collection || node.for_each.is_some() {
            continue;
        }
        if let Some(identity) = identity(object) {
            by_identity.entry(identity).or_default().push((name, node));
        }
    }
    let mut problems = Vec::new();
    for ((_, kind, _, _), nodes) in &mut by_identity {
        // What makes an object comes first: the others are compared with it.
        nodes.sort_by_key(|(_, node)| !matches!(node.body, Body::Template(_)));
        for (index, (name, node)) in nodes.iter().enumerate() {
            let mut together = nodes[..index].iter().filter(|(other, _)| together(graph, name, other));
            problems
                .extend(together.find_map(|(other, first)| duplicate(kind, (other, first), (name, node))));
        }
    }
    problems
}

/// Whether one instance may need both.
fn together(graph: &Graph, name: &str, other: &str) -> bool {
    need::instances(graph).any(|instance| {
        let needed = need::may_need(graph, instance);
        needed.contains(name) && needed.contains(other)
    })
}

fn duplicate(kind: &str, first: (&str, &Node), second: (&str, &Node)) -> Option<Diagnostic> {
    let place = |node: &Node| -> Span { node.span_of(node.body.clause()).clone() };
    let ((first_name, first), (second_name, second)) = (first, second);
    let (message, hint) = match (&first.body, &second.body) {
        (Body::Template(_), Body::Template(_)) => (
            format!("`{first_name}` and `{second_name}` are the same {kind}: each would undo the other"),
            format!(
                "give one another name; or say `state_of = \"{first_name}\"` if it is an earlier state of it"
            ),
        ),
        (Body::Template(_), Body::Absent(absent)) | (Body::Absent(absent), Body::Template(_)) => {
            if absent.having.is_some() {
                return None;
            }
            (
                format!(
                    "`{first_name}` and `{second_name}` are the same {kind}: one makes it, the other removes it"
                ),
                "limit the `absent` with `having`, or give it the name of the old object".to_owned(),
            )
        }
        (Body::Template(_), Body::Observe(_)) => (
            format!("`{second_name}` observes the {kind} that `{first_name}` makes"),
            format!("leave `{second_name}` out, and write edges from `{first_name}`"),
        ),
        (Body::Observe(_), Body::Template(_)) => (
            format!("`{first_name}` observes the {kind} that `{second_name}` makes"),
            format!("leave `{first_name}` out, and write edges from `{second_name}`"),
        ),
        _ => return None,
    };
    Some(
        Diagnostic::error(codes::DUPLICATE_IDENTITY, message)
            .at(place(second), "this object")
            .see(place(first), "the same object")
            .hint(hint),
    )
}
