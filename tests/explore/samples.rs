//! The samples of the examples, as something to walk.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    rc::Rc,
};

use pemdas_core::{
    blueprint::{Blueprint, Body, RootTarget},
    explore::{Evaluation, Kinds, Nature, Subject},
    graph::Graph,
    plan::{known_kinds, view},
    program::{Program, Revision},
    world::{KindKey, ObjectKey},
};
use pemdas_nickel::{InProcess, Limits, Loaded, Renderer, Sources};
use serde_json::{Value, json};

use crate::nickel::{Nickel, samples};

/// A sample that is the root of an instance, as all tests share it.
pub(crate) struct Sample {
    name: String,
    program: Program,
    nickel: Nickel,
    kinds: Kinds,
    root: ObjectKey,
    roots: Vec<Value>,
    around: Vec<(ObjectKey, Value)>,
}

impl Sample {
    fn subject(&self, evaluation: Evaluation) -> Subject {
        Subject {
            name: self.name.clone(),
            programs: Rc::new(vec![(self.program.clone(), evaluation)]),
            kinds: self.kinds.clone(),
            root: self.root.clone(),
            roots: Rc::new(self.roots.clone()),
            around: self.around.clone(),
            play: Some(Rc::new(play)),
        }
    }
}

/// The folders of `examples`.
pub(crate) fn folders() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join("main.ncl").is_file());
    found.sort();
    found
}

/// Every sample of every example that is the root of an instance.
pub(crate) fn all() -> Vec<Subject> {
    samples().map(|it| it.subject(it.nickel.evaluation())).collect()
}

/// Loads an example, on the thread on which its evaluator lives.
pub(crate) fn load(folder: &Path, nickel: &Nickel) -> (Renderer<InProcess>, Vec<Sample>) {
    let mut sources = Sources::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "ncl") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            sources = sources.with(&name, std::fs::read_to_string(&path).unwrap());
        }
    }
    let loaded = Loaded::in_process(&sources, &Limits::default());
    assert!(loaded.is_sound(), "{}: {:?}", folder.display(), loaded.diagnostics);
    let (renderer, blueprint) = (loaded.renderer.unwrap(), loaded.blueprint.unwrap());
    let graph = loaded.graph.unwrap();
    let evaluation = nickel.at_home(renderer.clone());
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("sample")).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let objects: Vec<(String, Value)> = files
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            (path.file_stem().unwrap().to_string_lossy().into_owned(), serde_saphyr::from_str(&text).unwrap())
        })
        .collect();
    let live = objects.iter().find(|(name, _)| name == "live").map_or(Value::Null, |(_, it)| it.clone());
    let mut samples = Vec::new();
    for (file, object) in &objects {
        let Some((node, target)) = root_of(&blueprint, object) else { continue };
        let revision = Revision { name: "r1".to_owned(), ordinal: 1 };
        let program = Program::new(blueprint.clone(), &graph, node, revision).expect("a program");
        let roots = roots(object, target, &|object| renderer.admit(&blueprint, target, object).ok());
        let kinds = kinds(&blueprint, object, &live);
        let root = key(object, &kinds);
        let needed = needed(&graph, node);
        let around = around(&live, &needed, &kinds).into_iter().filter(|(it, _)| *it != root).collect();
        let name = format!("{}:{file}", folder.file_name().unwrap().to_string_lossy());
        let nickel = nickel.clone();
        let mut sample = Sample { name, program, nickel, kinds, root, roots: Vec::new(), around };
        // A change to the name of something that nobody made waits for it forever, and rightly.
        let subject = sample.subject(evaluation.clone());
        sample.roots = roots.into_iter().filter(|it| subject.becomes_ready(it)).collect();
        samples.push(sample);
    }
    (renderer, samples)
}

/// The nodes of an instance: the root's, and what it also needs.
fn needed<'g>(graph: &'g Graph, root: &'g str) -> BTreeSet<&'g str> {
    let mut needed = BTreeSet::from([root]);
    loop {
        let more = graph.also.iter().filter(|it| needed.contains(it.from.as_str())).map(|it| it.to.as_str());
        let next: BTreeSet<_> = needed.iter().copied().chain(more).collect();
        if next.len() == needed.len() {
            return needed;
        }
        needed = next;
    }
}

/// The node whose instances an object begins.
fn root_of<'b>(blueprint: &'b Blueprint, object: &Value) -> Option<(&'b str, &'b RootTarget)> {
    let (api_version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
    blueprint.nodes.iter().find_map(|(name, node)| {
        let Body::Root(root) = &node.body else { return None };
        let fits = match &root.target {
            RootTarget::Owned(owned) => {
                let group = &blueprint.kinds.get(owned)?.group;
                owned == kind && api_version.split('/').next() == Some(group)
            }
            RootTarget::Foreign { api_version: of, kind: foreign, .. } => {
                foreign == kind && of == api_version
            }
            RootTarget::Blueprint => false,
        };
        fits.then_some((name.as_str(), &root.target))
    })
}

/// The kinds that the blueprint speaks of, and those of the objects around.
fn kinds(blueprint: &Blueprint, root: &Value, live: &Value) -> Kinds {
    let mut views = known_kinds(blueprint);
    for object in live.as_object().into_iter().flatten().map(|(_, it)| it).chain([root]) {
        if let (Some(api_version), Some(kind)) = (object["apiVersion"].as_str(), object["kind"].as_str()) {
            views.insert(KindKey::new(api_version, kind), view(blueprint, api_version, kind));
        }
    }
    let nature = |it: pemdas_core::world::KindView| Nature {
        observed_generation: it.observed_generation,
        namespaced: it.namespaced,
    };
    views.into_iter().map(|(kind, view)| (kind, nature(view))).collect()
}

fn key(object: &Value, kinds: &Kinds) -> ObjectKey {
    let kind = KindKey::new(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let namespaced = kinds.get(&kind).is_none_or(|it| it.namespaced);
    let namespace =
        if namespaced { object["metadata"]["namespace"].as_str().unwrap_or("default") } else { "" };
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    ObjectKey::new(kind, namespace, name)
}

/// What others made: whole objects among what the sample says of the cluster, of the nodes that the instance has.
fn around(live: &Value, needed: &BTreeSet<&str>, kinds: &Kinds) -> Vec<(ObjectKey, Value)> {
    let theirs = live.as_object().into_iter().flatten().filter(|(node, _)| needed.contains(node.as_str()));
    theirs
        .filter(|(_, it)| it["metadata"]["name"].is_string())
        .map(|(_, object)| {
            let mut object = object.clone();
            let key = key(&object, kinds);
            if kinds.get(&key.kind).is_some_and(|it| it.observed_generation) {
                object["status"]["observedGeneration"] = json!(1);
            }
            (key, object)
        })
        .collect()
}

/// The root as the sample has it, and with everything changed that its contract lets change. In the deep tier, each
/// change alone as well.
fn roots(object: &Value, target: &RootTarget, admit: &dyn Fn(&Value) -> Option<Value>) -> Vec<Value> {
    // A root that leaves its selector is another property's.
    let picked = |object: &Value| match target {
        RootTarget::Foreign { selector: Some(selector), .. } => {
            selector.picks(|name| object["metadata"]["labels"][name].as_str())
        }
        _ => true,
    };
    let admit = |object: &Value| admit(object).filter(picked);
    let mut roots = vec![admit(object).expect("the sample keeps its contract")];
    let (mut all, mut alone) = (object.clone(), Vec::new());
    for part in ["/spec", "/data", "/metadata/labels"] {
        for (field, value) in object.pointer(part).and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{part}/{}", field.replace('/', "~1"));
            let changed = |from: &Value| {
                let mut from = from.clone();
                *from.pointer_mut(&path).expect("a field") = other(value)?;
                admit(&from).map(|admitted| (from, admitted))
            };
            if let Some((next, _)) = changed(&all) {
                all = next;
            }
            alone.extend(changed(object).map(|(_, admitted)| admitted));
        }
    }
    roots.extend(admit(&all));
    if pemdas_tier::is_deep() {
        roots.extend(alone);
    }
    roots.dedup();
    roots
}

/// Another value of the same sort.
fn other(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Number(number) => json!(number.as_i64()? + 1),
        Value::Bool(it) => json!(!it),
        Value::String(text) => {
            let digits = text.len() - text.trim_start_matches(|it: char| it.is_ascii_digit()).len();
            let plain = text[digits..].chars().all(char::is_alphabetic);
            match text[..digits].parse::<u64>() {
                Ok(number) if plain => json!(format!("{}{}", number + 1, &text[digits..])),
                _ => json!(format!("{text}x")),
            }
        }
        Value::Array(items) if items.len() > 1 => json!(items[1..]),
        Value::Object(fields) => {
            let (name, value) = fields.iter().find_map(|(name, it)| Some((name, other(it)?)))?;
            let mut fields = fields.clone();
            fields.insert(name.clone(), value);
            Value::Object(fields)
        }
        _ => return None,
    })
}

/// What the controllers of the examples' own kinds, and of any other custom kind, come to.
fn play(kind: &KindKey, body: &Value) -> Option<Value> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("example.com", "FooServiceDBSchema") => Some(
            json!({ "applied": body["spec"]["version"], "report": { "version": body["spec"]["version"] } }),
        ),
        ("db.example.com", "PostgresBackup") => {
            Some(json!({ "done": true, "finished": "2030-02-01T11:00:00Z" }))
        }
        (group, _) if group.ends_with("example.com") => {
            Some(json!({ "conditions": [{ "type": "Ready", "status": "True" }] }))
        }
        _ => None,
    }
}
