//! Where the objects come from that a plan starts from: files here, a cluster elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pemdas_core::blueprint::Blueprint;
use pemdas_core::decide::Interests;
use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::world::{KindKey, LedgerFact, Live, ObjectKey, World};
use pemdas_kube::live;
use serde_json::{Value, json};

use super::codes;
use super::instance::documents;
use crate::input::{self, Listed};

/// How many objects are taken.
const MAX_OBJECTS: usize = 50_000;

/// How the objects of a kind are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Whether they live in namespaces.
    pub(crate) namespaced: bool,
    /// Whether their status says which generation it is of.
    pub(crate) observed_generation: bool,
}

/// What there is, as far as it was asked for. A plan asks again while its decisions name something new: files give all
/// they have at the first time, a cluster only what the instance is interested in.
pub(crate) trait Observed {
    /// Objects that were not given before, each with the API version it was read in: those that are named, and all that
    /// carry the label of an instance.
    ///
    /// # Errors
    /// Why they cannot be had.
    fn objects(&mut self, interests: &Interests) -> Result<Vec<(String, Live)>, Box<Diagnostic>>;

    /// The ledger of an instance, or that it is not known, and the key of its digests.
    fn ledger(&mut self, instance: &str) -> (LedgerFact, Vec<u8>);

    /// Whether there is anything to look at.
    fn is_given(&self) -> bool;

    /// Whether the root itself is seen: otherwise a root that was not given may be there all the same.
    fn sees_root(&self) -> bool {
        true
    }

    /// How the objects of a kind are, if something says so.
    fn nature(&self, kind: &KindKey) -> Option<Nature>;

    /// What is known besides objects, before they are taken in: the time, how kinds are seen, the instance's name. Whether the
    /// ledger is known too.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn surroundings(&mut self, _blueprint: &Blueprint, _world: &mut World) -> Result<bool, Box<Diagnostic>> {
        Ok(false)
    }
}

/// Objects in files: a folder of YAML and JSON, or one such file. Files know of no ledger.
#[derive(Debug, Default)]
pub(crate) struct Files {
    path: Option<PathBuf>,
    /// Definitions of kinds that are applied with the blueprint, and so are there.
    definitions: Option<PathBuf>,
    read: bool,
    natures: BTreeMap<KindKey, Nature>,
}

impl Files {
    /// Those at a path, or none.
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), ..Self::default() }
    }

    /// With the definitions in a file beside the blueprint.
    pub(crate) fn and_definitions(self, definitions: Option<PathBuf>) -> Self {
        Self { definitions, ..self }
    }
}

impl Observed for Files {
    fn objects(&mut self, _interests: &Interests) -> Result<Vec<(String, Live)>, Box<Diagnostic>> {
        let first = !std::mem::replace(&mut self.read, true);
        let mut found = Found::default();
        for path in self.path.iter().filter(|_| first) {
            for file in &input::manifests(path, &|_| Ok(())).map_err(|it| observed(*it))? {
                found.read(file)?;
            }
        }
        for path in self.definitions.iter().filter(|_| first) {
            for file in &input::manifests(path, &|_| Ok(())).map_err(|it| observed(*it))? {
                found.read_definitions(file)?;
            }
        }
        if !first {
            return Ok(Vec::new());
        }
        self.natures = found.natures();
        Ok(found.objects)
    }

    fn ledger(&mut self, _instance: &str) -> (LedgerFact, Vec<u8>) {
        (LedgerFact::Unknown, Vec::new())
    }

    fn is_given(&self) -> bool {
        self.path.is_some()
    }

    fn sees_root(&self) -> bool {
        false
    }

    fn nature(&self, kind: &KindKey) -> Option<Nature> {
        self.natures.get(kind).copied()
    }
}

fn problem(message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::OBSERVED, message))
}

/// What is wrong with a file, as a problem of what is observed.
fn observed(problem: Diagnostic) -> Box<Diagnostic> {
    Box::new(Diagnostic { code: codes::OBSERVED.to_owned(), hint: None, ..problem })
}

#[derive(Default)]
struct Found {
    objects: Vec<(String, Live)>,
    /// In which file each was.
    files: BTreeMap<ObjectKey, String>,
}

impl Found {
    /// What the objects say of their kinds, and definitions of kinds of theirs.
    fn natures(&self) -> BTreeMap<KindKey, Nature> {
        let mut natures: BTreeMap<KindKey, Nature> = BTreeMap::new();
        for (_, live) in &self.objects {
            let reports = live.body.pointer("/status/observedGeneration").is_some();
            let namespaced = !live.key.namespace.is_empty();
            let new = Nature { namespaced, observed_generation: false };
            natures.entry(live.key.kind.clone()).or_insert(new).observed_generation |= reports;
        }
        natures.extend(self.objects.iter().filter_map(|(_, live)| defined(&live.body)));
        natures
    }

    fn read(&mut self, file: &Listed) -> Result<(), Box<Diagnostic>> {
        let text = file.text().map_err(|it| observed(*it))?;
        let title = file.path.display().to_string();
        let documents =
            documents(&text).map_err(|why| problem(format!("{title} is neither YAML nor JSON: {why}")))?;
        for document in documents {
            match document.get("items").and_then(Value::as_array) {
                Some(items) => items.iter().try_for_each(|item| self.take(&title, item.clone()))?,
                None => self.take(&title, document)?,
            }
        }
        Ok(())
    }

    /// Definitions that are applied before anything else: whoever is not among what is seen in the cluster is there, and served.
    fn read_definitions(&mut self, file: &Listed) -> Result<(), Box<Diagnostic>> {
        let text = file.text().map_err(|it| observed(*it))?;
        let title = file.path.display().to_string();
        for mut object in documents(&text).map_err(|why| problem(format!("{title} is no YAML: {why}")))? {
            let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
            let (kind, name) = (text("/kind").to_owned(), text("/metadata/name").to_owned());
            let seen = self.objects.iter().any(|(_, it)| it.key.kind.kind == kind && it.key.name == name);
            if seen || kind != "CustomResourceDefinition" {
                continue;
            }
            let is = |kind: &str| json!({ "type": kind, "status": "True" });
            object["status"] = json!({ "conditions": [is("NamesAccepted"), is("Established")] });
            self.take(&title, object)?;
        }
        Ok(())
    }

    fn take(&mut self, title: &str, mut object: Value) -> Result<(), Box<Diagnostic>> {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let (false, false, Some(metadata)) = (api_version.is_empty(), kind.is_empty(), metadata) else {
            return Err(problem(format!(
                "something in {title} is no object: apiVersion, kind or metadata is missing"
            )));
        };
        // What was cleaned for people to read has lost these; they only have to be there.
        let number = self.objects.len() + 1;
        metadata.entry("uid").or_insert_with(|| json!(format!("observed-{number}")));
        metadata.entry("resourceVersion").or_insert_with(|| json!(number.to_string()));
        let Some(live) = live::live(&KindKey::new(&api_version, &kind), object) else {
            return Err(problem(format!("a {kind} in {title} has no name")));
        };
        if let Some(other) = self.files.insert(live.key.clone(), title.to_owned()) {
            return Err(problem(format!("{} is given twice: in {other} and in {title}", live.key)));
        }
        if self.objects.len() >= MAX_OBJECTS {
            return Err(problem(format!("there are more than {MAX_OBJECTS} objects")));
        }
        self.objects.push((api_version, live));
        Ok(())
    }
}

/// What a definition of a kind says of its objects.
fn defined(object: &Value) -> Option<(KindKey, Nature)> {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str);
    if text("/kind") != Some("CustomResourceDefinition") {
        return None;
    }
    let kind = KindKey::new(&format!("{}/", text("/spec/group")?), text("/spec/names/kind")?);
    let namespaced = text("/spec/scope")? == "Namespaced";
    let at = "/schema/openAPIV3Schema/properties/status/properties/observedGeneration";
    let versions = object.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let observed_generation = versions.into_iter().any(|it| it.pointer(at).is_some());
    Some((kind, Nature { namespaced, observed_generation }))
}
