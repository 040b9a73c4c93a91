//! From objects of Kubernetes to a blueprint that makes them: what `pemdas import` proposes.
//!
//! Everything is decided here and nothing is written: which fields only a server sets (`strip`), what the nodes are called
//! (`names`), which literals are parameters of a kind of its own (`lift`), and which object needs which other one (`refer`). The
//! result is a [`Draft`], which whoever knows the language of blueprints can print.
//!
//! **Invariant.** Nothing is lost: a draft, with its values for its parameters and its name for the root's, gives
//! [`Draft::objects`] again ([`Draft::rendered`]).

mod assemble;
mod checksums;
pub mod codes;
mod draft;
mod fit;
mod home;
mod hooks;
mod labels;
mod lift;
mod names;
mod once;
mod refer;
mod release;
mod seeds;
mod strip;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::{
    diagnostic::{Diagnostic, Span},
    graph::MAX_NODES,
    kube_types::{Kind, Scope, UnknownKind},
    suggest,
};

pub use draft::{
    Attention, Contract, Draft, Edge, Expression, Node, Observed, Once, Order, Parameter, Part, What,
};
pub use fit::Home;
pub use labels::{Labels, Which};
pub use seeds::{Made, SEED};
pub use strip::is_of_a_server;
pub use tree::{Content, Field, Tree};

/// One object to import, and the file that it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The file, as diagnostics name it.
    pub file: String,
    /// The object.
    pub tree: Tree,
}

/// What the user wants, as far as they said so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wishes {
    /// The blueprint's name.
    pub name: Option<String>,
    /// The kind that is proposed.
    pub kind: Option<String>,
    /// Its group.
    pub group: Option<String>,
    /// The namespace of objects that name none.
    pub namespace: Option<String>,
    /// What to call it all where the objects have nothing in common: the name of a file, say.
    pub fallback: Option<String>,
    /// Names of nodes that are taken already.
    pub taken: Vec<String>,
    /// Whether definitions of kinds are nodes like the others: there is no file beside the blueprint for them.
    pub definitions_inside: bool,
    /// Whether each node stands for itself: it is put into a blueprint that is there.
    pub apart: bool,
    /// Values of Secrets, by name and key, that Pemdas makes for each instance.
    pub seeds: Vec<(String, String)>,
}

/// The group of the proposed kind where none is wished for.
pub const GROUP: &str = "example.com";

/// An object on its way into the draft.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) file: String,
    /// Without what only a server sets.
    pub(crate) tree: Tree,
    /// The same as a value.
    pub(crate) value: Value,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Where it lives; empty beside namespaces.
    pub(crate) namespace: String,
    /// Whether its kind lives in namespaces.
    pub(crate) namespaced: bool,
    /// Who owns it, by kind and name.
    pub(crate) owners: Vec<(String, String)>,
    /// The hook of Helm that it is.
    pub(crate) hook: Option<hooks::Hook>,
    /// Whether Helm would leave it when the release goes.
    pub(crate) kept: bool,
    /// Values of a Secret that are made for each instance.
    pub(crate) seeded: Vec<Seeded>,
    /// What is to be known about it.
    pub(crate) remarks: Vec<String>,
}

/// A value that is made, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Seeded {
    pub(crate) field: String,
    pub(crate) key: String,
    pub(crate) made: seeds::Made,
}

impl Object {
    /// Whether it defines a kind.
    pub(crate) fn is_definition(&self) -> bool {
        self.kind == "CustomResourceDefinition" && self.group() == "apiextensions.k8s.io"
    }

    pub(crate) fn group(&self) -> &str {
        group_of(&self.api_version)
    }

    /// How to call it in a sentence.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    fn span(&self) -> Option<Span> {
        let at = self.tree.get("kind").and_then(|it| it.at).or(self.tree.at)?;
        Some(Span { file: self.file.clone(), start: at.0, end: at.1 })
    }

    fn place(&self, diagnostic: Diagnostic, said: &str) -> Diagnostic {
        match self.span() {
            Some(span) => diagnostic.at(span, said),
            None => diagnostic,
        }
    }
}

/// The group of an apiVersion, empty for the core group.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Makes a draft of some objects. Without one, something is an error.
#[must_use]
pub fn draft(given: Vec<Given>, wishes: &Wishes) -> (Option<Draft>, Vec<Diagnostic>) {
    let mut problems = Vec::new();
    let mut objects = read(given, wishes, &mut problems);
    refuse_doubles(&objects, &mut problems);
    left_to_controllers(&mut objects, &mut problems);
    left_to_autoscalers(&mut objects, &mut problems);
    hooks::read(&mut objects, &mut problems);
    once::without_haste(&mut objects);
    // Of definitions alone, an operator makes what else there is.
    let outside = assemble::Outside {
        definitions: !wishes.definitions_inside && !objects.iter().all(Object::is_definition),
        labels: !wishes.apart,
    };
    let release = release::read(&objects);
    release::without_books(&mut objects, &mut problems);
    seeds::read(&mut objects, &wishes.seeds, &mut problems);
    if objects.is_empty() && problems.is_empty() {
        problems.push(Diagnostic::error(codes::NOTHING, "there is no object to import"));
    }
    if objects.len() >= MAX_NODES {
        let message =
            format!("there are {} objects, and a blueprint has {MAX_NODES} nodes at most", objects.len());
        problems.push(
            Diagnostic::error(codes::TOO_MUCH, message)
                .hint("import what belongs together, each into a blueprint of its own"),
        );
    }
    if problems.iter().any(|it| it.severity == crate::diagnostic::Severity::Error) || objects.is_empty() {
        return (None, problems);
    }
    if let Some(namespace) = home::said_elsewhere(&objects) {
        for object in objects.iter_mut().filter(|it| it.namespaced && it.namespace.is_empty()) {
            object.namespace.clone_from(&namespace);
        }
    }
    let named = names::choose(&objects, &release, wishes);
    settle_namespaces(&mut objects, &named);
    seeds::expect(&mut objects);
    warn_of_secrets(&objects, &mut problems);
    let mut edges = refer::edges(&objects);
    let followed = checksums::follow(&objects, &mut edges);
    checksums::tell(&objects, &followed, &mut problems);
    let lifted = lift::lift(&objects, &named, &followed);
    (Some(assemble::assemble(&objects, named, edges, lifted, &followed, &outside)), problems)
}

/// The objects without what a server sets, or what is wrong with them.
fn read(given: Vec<Given>, wishes: &Wishes, problems: &mut Vec<Diagnostic>) -> Vec<Object> {
    let defined = definitions(&given);
    let mut objects = Vec::new();
    let mut strangers = BTreeSet::new();
    for Given { file, mut tree } in given {
        let at = |tree: &Tree| tree.at.map(|at| Span { file: file.clone(), start: at.0, end: at.1 });
        let text = |path: &[&str]| tree.text(path).unwrap_or_default().to_owned();
        let (api_version, kind, name) = (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "name"]));
        if let Some(problem) = no_object(&tree, &api_version, &kind, &name) {
            problems.push(match at(&tree) {
                Some(span) => problem.at(first_line(span), ""),
                None => problem,
            });
            continue;
        }
        let scope = match Kind::find(&api_version, &kind) {
            Ok(found) => Some(found.scope),
            Err(UnknownKind::Custom) => {
                let named = (group_of(&api_version).to_owned(), kind.clone());
                let scope = defined.get(&named).copied();
                if scope.is_none() && strangers.insert(named) {
                    let note = stranger(&api_version, &kind);
                    problems.push(match tree.get("kind").and_then(at) {
                        Some(span) => note.at(span, ""),
                        None => note,
                    });
                }
                scope
            }
            Err(why) => {
                let problem = unknown_kind(&api_version, &kind, &why);
                let place = tree.get("kind").and_then(at);
                problems.push(match place {
                    Some(span) => problem.at(span, ""),
                    None => problem,
                });
                continue;
            }
        };
        let owners = strip::owners(&tree);
        strip::strip(&mut tree, &api_version, &kind);
        let namespaced = scope != Some(Scope::Cluster);
        let said = tree.text(&["metadata", "namespace"]).unwrap_or_default();
        let namespace = match (namespaced, said.is_empty()) {
            (false, _) => String::new(),
            (true, false) => said.to_owned(),
            (true, true) => wishes.namespace.clone().unwrap_or_default(),
        };
        if !namespaced {
            tree.remove(&["metadata", "namespace"]);
        }
        let value = tree.to_json();
        objects.push(Object {
            file,
            tree,
            value,
            api_version,
            kind,
            name,
            namespace,
            namespaced,
            owners,
            hook: None,
            kept: false,
            seeded: Vec::new(),
            remarks: Vec::new(),
        });
    }
    objects
}

/// The scopes of the kinds that are themselves among the objects.
fn definitions(given: &[Given]) -> BTreeMap<(String, String), Scope> {
    let definition = |tree: &Tree| {
        let is = tree.text(&["kind"]) == Some("CustomResourceDefinition");
        let group = tree.text(&["spec", "group"]).filter(|_| is)?.to_owned();
        let kind = tree.text(&["spec", "names", "kind"])?.to_owned();
        let scope =
            if tree.text(&["spec", "scope"]) == Some("Cluster") { Scope::Cluster } else { Scope::Namespaced };
        Some(((group, kind), scope))
    };
    given.iter().filter_map(|it| definition(&it.tree)).collect()
}

/// The first bytes of a place: an object of a hundred lines is not underlined as a whole.
fn first_line(span: Span) -> Span {
    Span { end: span.end.min(span.start.saturating_add(1)), ..span }
}

fn no_object(tree: &Tree, api_version: &str, kind: &str, name: &str) -> Option<Diagnostic> {
    let problem = |message: String| Diagnostic::error(codes::NO_OBJECT, message);
    if !matches!(tree.content, Content::Record(_)) {
        let found = tree.content.noun();
        return Some(problem(format!("this is no Kubernetes object: it is {found}")));
    }
    if api_version.is_empty() || kind.is_empty() {
        let missing = if api_version.is_empty() { "apiVersion" } else { "kind" };
        let hint = "values of a chart, patches of a kustomization and settings of tools are no objects: render them first, with \
                    `helm template` or `kustomize build`";
        return Some(problem(format!("this is no Kubernetes object: it has no {missing}")).hint(hint));
    }
    if name.is_empty() {
        let generated = tree.text(&["metadata", "generateName"]).is_some();
        let problem = problem(format!("this {kind} has no name"));
        return Some(if generated {
            problem.hint(
                "an object of a blueprint is found again by its name: give it one in place of generateName",
            )
        } else {
            problem.hint("metadata.name is missing")
        });
    }
    None
}

fn unknown_kind(api_version: &str, kind: &str, why: &UnknownKind) -> Diagnostic {
    let problem =
        Diagnostic::error(codes::UNKNOWN_KIND, format!("Kubernetes has no {kind} of {api_version}"));
    let versions = |versions: &[&str]| format!("it is served as {}", suggest::quoted(versions));
    match why {
        UnknownKind::OtherVersion(them) | UnknownKind::OtherGroup(them) => problem.hint(versions(them)),
        UnknownKind::Misspelt(Some(meant)) => problem.hint(format!("did you mean `{meant}`?")),
        UnknownKind::NoVersion(them) => {
            problem.hint(format!("the group is served as {}", suggest::quoted(them)))
        }
        UnknownKind::Misspelt(None) | UnknownKind::Custom => problem,
    }
}

/// A kind that is neither of Kubernetes nor defined by one of the objects.
fn stranger(api_version: &str, kind: &str) -> Diagnostic {
    let message = format!(
        "nothing is known of the kind {kind} of {api_version}: it is imported as it is, as one that lives in namespaces"
    );
    Diagnostic::remark(codes::CUSTOM_KIND, message)
        .hint("with its CustomResourceDefinition among the objects, its scope is known")
}

fn refuse_doubles(objects: &[Object], problems: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<(&str, &str, &str, &str), &Object> = BTreeMap::new();
    for object in objects {
        let key = (object.group(), object.kind.as_str(), object.namespace.as_str(), object.name.as_str());
        let Some(first) = seen.get(&key) else {
            seen.insert(key, object);
            continue;
        };
        let problem = Diagnostic::error(codes::TWICE, format!("{} is given twice", object.title()));
        let mut problem = object.place(problem, "here").hint("leave one of them out");
        if let Some(span) = first.span() {
            problem = problem.see(span, "and here");
        }
        problems.push(problem);
    }
}

/// What a controller of Kubernetes makes from another of the objects is not imported beside it.
fn left_to_controllers(objects: &mut Vec<Object>, problems: &mut Vec<Diagnostic>) {
    let makers = [
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
        "Service",
        "Endpoints",
        "Node",
    ];
    let there: Vec<(String, String)> = objects.iter().map(|it| (it.kind.clone(), it.name.clone())).collect();
    objects.retain(|object| {
        let maker = object.owners.iter().find(|it| makers.contains(&it.0.as_str()) && there.contains(it));
        if let Some((kind, name)) = maker {
            let message = format!("{} is left out: {kind} {name} makes it", object.title());
            problems.push(object.place(Diagnostic::remark(codes::LEFT_OUT, message), ""));
        }
        maker.is_none()
    });
}

/// How many replicas there are of what another of the objects scales is not imported: with a number in the template the two would
/// take it from each other.
fn left_to_autoscalers(objects: &mut [Object], problems: &mut Vec<Diagnostic>) {
    let target = |it: &Object| {
        let scales = (it.group() == "autoscaling" && it.kind == "HorizontalPodAutoscaler")
            || (it.group() == "keda.sh" && it.kind == "ScaledObject");
        let target = it.tree.find(&["spec", "scaleTargetRef"]).filter(|_| scales)?;
        // A ScaledObject means a Deployment unless it says otherwise.
        let kind = target.text(&["kind"]).unwrap_or("Deployment").to_owned();
        Some((kind, it.namespace.clone(), target.text(&["name"])?.to_owned(), it.title()))
    };
    let targets: Vec<_> = objects.iter().filter_map(target).collect();
    for object in objects {
        let is_meant = |(kind, namespace, name, _): &&(String, String, String, String)| {
            *kind == object.kind && *namespace == object.namespace && *name == object.name
        };
        let Some((.., scaler)) = targets.iter().find(is_meant) else { continue };
        if object.tree.find(&["spec", "replicas"]).is_none() {
            continue;
        }
        object.tree.remove(&["spec", "replicas"]);
        object.value = object.tree.to_json();
        object.remarks.push(format!("`replicas` is left out: {scaler} sets it."));
        let message = format!("`replicas` of {} is left out: {scaler} sets it", object.title());
        problems.push(object.place(Diagnostic::remark(codes::AUTOSCALED, message), ""));
    }
}

/// Writes where objects live, as the draft will have it: a root beside namespaces gives its objects none.
fn settle_namespaces(objects: &mut [Object], named: &names::Named) {
    for object in objects.iter_mut().filter(|it| it.namespaced) {
        if object.namespace.is_empty() {
            object.namespace.clone_from(&named.namespace);
        }
        // The root's own namespace goes without saying.
        if !named.cluster && object.namespace == named.namespace {
            object.tree.remove(&["metadata", "namespace"]);
        } else {
            object.tree.set_namespace(&object.namespace);
        }
        object.value = object.tree.to_json();
        let namespace = object.namespace.clone();
        if let Some(metadata) = object.value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
    }
}

fn warn_of_secrets(objects: &[Object], problems: &mut Vec<Diagnostic>) {
    for object in objects.iter().filter(|it| it.is_secret_with_values()) {
        let message = format!("the values of {} now stand in the blueprint", object.title());
        let problem = Diagnostic::warning(codes::SECRET, message);
        problems.push(object.place(problem, "").hint(
            "everybody who may read the ConfigMap of the blueprint reads them: make the Secret outside and `observe` it, or let \
             the.seed make the value",
        ));
    }
}

impl Object {
    /// Whether it holds data, or what somebody wants to stay, when the instance goes.
    pub(crate) fn survives(&self) -> bool {
        self.kept || (self.kind == "PersistentVolumeClaim" && self.group().is_empty())
    }

    pub(crate) fn is_secret_with_values(&self) -> bool {
        let made = |key: &String| self.seeded.iter().any(|it| it.key == *key);
        let has = |field: &str| {
            let fields = self.value.get(field).and_then(Value::as_object);
            fields.is_some_and(|it: &Map<_, _>| it.keys().any(|it| !made(it)))
        };
        self.kind == "Secret" && self.api_version == "v1" && (has("data") || has("stringData"))
    }
}
