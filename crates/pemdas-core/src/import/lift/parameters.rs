//! Literals that look as if another instance would have others: images, counts, hosts, sizes, and values that stand in
//! several places.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Object, Parameter, Path, is_data, is_opaque};
use crate::{
    import::{
        Contract,
        names::{Named, camel},
        refer,
        tree::{Content, Tree},
    },
    kube_types::format,
};

/// How many times a value has to stand somewhere to be a setting.
const REPEATED: usize = 2;
/// How many parameters are proposed.
const MAX_PARAMETERS: usize = 60;

/// What a literal is, in the order in which parameters are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Image,
    Replicas,
    MinReplicas,
    MaxReplicas,
    Host,
    Storage,
    StorageClass,
    Schedule,
    Setting,
    /// A setting that is worth a name only if it is the value of something else: a host, an image.
    Mention,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Replicas => "replicas",
            Self::MinReplicas => "minReplicas",
            Self::MaxReplicas => "maxReplicas",
            Self::Host => "host",
            Self::Storage => "storage",
            Self::StorageClass => "storageClass",
            Self::Schedule => "schedule",
            Self::Setting | Self::Mention => "setting",
        }
    }

    fn contract(self, value: &Value) -> Contract {
        match self {
            Self::Image | Self::Schedule => Contract::NonEmpty,
            Self::Replicas | Self::MinReplicas | Self::MaxReplicas => Contract::Natural,
            Self::Host if value.as_str().is_some_and(|it| format::dns_subdomain(it).is_ok()) => {
                Contract::Host
            }
            Self::Host => Contract::NonEmpty,
            Self::Storage => Contract::Quantity,
            Self::StorageClass | Self::Setting | Self::Mention => Contract::Text,
        }
    }

    /// Whether two places with the same value mean the same.
    fn is_shared(self) -> bool {
        !matches!(self, Self::Replicas | Self::MinReplicas | Self::MaxReplicas)
    }

    fn doc(self, title: &str, hint: &str) -> String {
        match self {
            Self::Image if hint.is_empty() => format!("Image of {title}."),
            Self::Image => format!("Image of the container {hint} of {title}."),
            Self::Replicas => format!("How many pods {title} has."),
            Self::MinReplicas => format!("How many pods {title} leaves at least."),
            Self::MaxReplicas => format!("How many pods {title} makes at most."),
            Self::Host => format!("Name of the host that {title} answers for."),
            Self::Storage => format!("How much storage {title} asks for."),
            Self::StorageClass => format!("Class of the storage of {title}."),
            Self::Schedule => format!("When {title} runs, as cron writes it."),
            Self::Setting | Self::Mention => format!("The setting {hint}."),
        }
    }
}

struct Candidate {
    object: usize,
    path: Path,
    role: Role,
    value: Value,
    /// The container, or the name of the setting.
    hint: String,
}

/// The parameters, and where each is read.
pub(super) struct Found {
    pub(super) parameters: Vec<Parameter>,
    pub(super) places: BTreeMap<(usize, Path), Place>,
}

/// Where a parameter is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The parameter.
    pub(super) name: String,
    /// What stands before it in a string.
    pub(super) before: String,
}

/// What several images of one place have in common: their tag.
struct Version {
    /// Where the images are kept, and the tag.
    of: (String, String),
    /// The places, with what stands before the tag there.
    images: Vec<(Candidate, String)>,
}

/// An image without its tag, and the tag.
fn tagged(image: &str) -> Option<(&str, &str)> {
    let at = image
        .rfind(':')
        .filter(|at| !image.contains('@') && image.get(at + 1..).is_some_and(|it| !it.contains('/')))?;
    let (before, tag) = (image.get(..=at)?, image.get(at + 1..)?);
    (!tag.is_empty() && tag != "latest").then_some((before, tag))
}

/// Takes out the images of which several have one tag: that is what somebody would change.
fn shared_tags(groups: &mut Vec<Vec<Candidate>>) -> Vec<Version> {
    let parts = |group: &Vec<Candidate>| {
        let first = group.first().filter(|it| it.role == Role::Image)?;
        let (before, tag) = tagged(first.value.as_str()?)?;
        // A setting that says the whole image keeps it.
        let plain = group.iter().all(|it| it.role == Role::Image);
        plain.then(|| (before.to_owned(), tag.to_owned()))
    };
    // Two that have nothing in common may have the same tag by chance.
    let key = |(before, tag): &(String, String)| Some((before.rsplit_once('/')?.0.to_owned(), tag.clone()));
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for of in groups.iter().filter_map(parts).filter_map(|it| key(&it)) {
        *counts.entry(of).or_default() += 1;
    }
    let mut versions: Vec<Version> = Vec::new();
    let mut kept = Vec::new();
    for group in std::mem::take(groups) {
        let found = parts(&group).and_then(|it| Some((key(&it)?, it.0)));
        let shared = found.filter(|it| counts.get(&it.0).is_some_and(|it| *it >= REPEATED));
        let Some((of, before)) = shared else {
            kept.push(group);
            continue;
        };
        let images = group.into_iter().map(|it| (it, before.clone()));
        match versions.iter_mut().find(|it| it.of == of) {
            Some(version) => version.images.extend(images),
            None => versions.push(Version { of, images: images.collect() }),
        }
    }
    *groups = kept;
    versions
}

/// Finds the parameters of some objects.
pub(super) fn find(objects: &[Object], named: &Named) -> Found {
    let classes: BTreeSet<&str> =
        objects.iter().filter(|it| it.kind == "StorageClass").map(|it| it.name.as_str()).collect();
    let services: BTreeSet<&str> =
        objects.iter().filter(|it| it.kind == "Service").map(|it| it.name.as_str()).collect();
    let mut all = Vec::new();
    for (index, object) in objects.iter().enumerate().filter(|(_, it)| !is_opaque(it)) {
        let mut search = Search {
            index,
            object,
            named,
            classes: &classes,
            services: &services,
            path: Vec::new(),
            found: &mut all,
        };
        search.visit(&object.tree);
    }
    let mut groups = grouped(all);
    let versions = shared_tags(&mut groups);
    let mut found = Found { parameters: Vec::new(), places: BTreeMap::new() };
    // That one counts upgrades.
    let mut used: BTreeSet<String> = [crate::import::hooks::RELEASE.to_owned()].into();
    let shared = versions.len();
    let alone = shared == 1;
    for Version { of: (_, tag), images } in versions {
        let node = images.first().and_then(|it| named.nodes.get(it.0.object)).map_or("", String::as_str);
        let tries = [camel(&format!("{node}_version"), false), format!("version{}", used.len())];
        let tries = alone.then(|| "version".to_owned()).into_iter().chain(tries);
        let name = tries.into_iter().find(|it| !used.contains(it)).unwrap_or_else(|| "version".to_owned());
        used.insert(name.clone());
        for (it, before) in images {
            found.places.insert((it.object, it.path), Place { name: name.clone(), before });
        }
        found.parameters.push(Parameter {
            name,
            contract: Contract::NonEmpty,
            doc: "The tag that several images share.".to_owned(),
            value: Value::String(tag),
            has_default: false,
        });
    }
    let names = names(&groups, objects, named, used, shared);
    for (group, name) in groups.iter().zip(names) {
        let Some(first) = group.first() else { continue };
        for it in group {
            let place = Place { name: name.clone(), before: String::new() };
            found.places.insert((it.object, it.path.clone()), place);
        }
        found.parameters.push(Parameter {
            name,
            contract: first.role.contract(&first.value),
            doc: first.role.doc(&title(&objects[first.object], named), &first.hint),
            value: first.value.clone(),
            has_default: !matches!(first.role, Role::Image | Role::Host),
        });
    }
    found
}

/// How to call an object in what is said of every instance: without the name of this one, where that is certain.
fn title(object: &Object, named: &Named) -> String {
    let rest = object.name.strip_prefix(&*named.instance).and_then(|it| it.strip_prefix('-'));
    match rest.filter(|_| named.of_release) {
        Some(rest) => format!("{} {rest}", object.kind),
        None => object.title(),
    }
}

/// What means the same together, in the order of roles and of places.
fn grouped(all: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    let is_setting = |it: &Candidate| matches!(it.role, Role::Setting | Role::Mention);
    let (settings, roles): (Vec<_>, Vec<_>) = all.into_iter().partition(is_setting);
    for one in roles.into_iter().chain(settings) {
        // A setting that says the host, or the image, goes with it.
        let said = |it: &Candidate| matches!(it.role, Role::Host | Role::Image) && it.value == one.value;
        let said = groups.iter_mut().find(|group| is_setting(&one) && group.first().is_some_and(said));
        if let Some(group) = said {
            group.push(one);
            continue;
        }
        if one.role == Role::Mention {
            continue;
        }
        let same = |it: &Candidate| {
            it.role == one.role && it.value == one.value && (one.role.is_shared() || it.object == one.object)
        };
        match groups.iter_mut().find(|group| group.first().is_some_and(same)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.retain(|group| group.first().is_some_and(|it| it.role != Role::Setting) || is_one_setting(group));
    // What runs comes before what prepares it.
    let prepares = |it: &Candidate| it.path.iter().any(|it| it == "initContainers");
    groups.sort_by_key(|group| group.first().map(|it| (it.role, group.iter().all(prepares))));
    groups.truncate(MAX_PARAMETERS);
    groups
}

/// Whether a value that stands in several places is one setting. The same word under other names is so by chance: a user and a database
/// that are both called `shop`.
fn is_one_setting(group: &[Candidate]) -> bool {
    let distinct = |it: &Candidate| it.value.as_str().is_some_and(|it| it.contains(['.', ':', '/', '@']));
    let same = |one: &Candidate| group.iter().filter(|it| it.hint.eq_ignore_ascii_case(&one.hint)).count();
    group.len() >= REPEATED && group.iter().any(|it| distinct(it) || same(it) >= REPEATED)
}

/// A name for each group: its role alone where there is one of it, else with what it belongs to.
fn names(
    groups: &[Vec<Candidate>],
    objects: &[Object],
    named: &Named,
    mut used: BTreeSet<String>,
    versions: usize,
) -> Vec<String> {
    let role_of = |group: &Vec<Candidate>| group.first().map(|it| it.role);
    let mut names = Vec::new();
    for group in groups {
        let Some(first) = group.first() else { continue };
        let base = first.role.name();
        // Beside images that share a version, the only other one is not the image of it all.
        let versions = if first.role == Role::Image { versions } else { 0 };
        let alone = groups.iter().filter(|it| role_of(it) == Some(first.role)).count() + versions == 1;
        let node = named.nodes.get(first.object).map(String::as_str).unwrap_or_default();
        let with = |words: &str| camel(&format!("{words}_{base}"), false);
        let mut tries = Vec::new();
        if first.role == Role::Setting {
            tries.push(camel(&first.hint, false));
        } else if alone || [&named.instance, &named.main].contains(&&objects[first.object].name) {
            tries.push(base.to_owned());
        }
        if first.role == Role::Image && !first.hint.is_empty() {
            tries.push(with(&first.hint));
            tries.push(with(&format!("{node}_{}", first.hint)));
        }
        if first.role == Role::Host {
            let label = first.value.as_str().and_then(|it| it.split('.').next()).unwrap_or_default();
            tries.push(with(label));
        }
        tries.push(with(node));
        tries.push(with(&format!("{node}_{}", objects[first.object].kind)));
        let fits = |it: &&String| {
            it.starts_with(|it: char| it.is_ascii_lowercase()) && it.len() <= 60 && !used.contains(*it)
        };
        let name = tries.iter().find(fits).cloned();
        let name = name.or_else(|| (2..).map(|it| format!("{base}{it}")).find(|it| !used.contains(it)));
        let name = name.unwrap_or_else(|| base.to_owned());
        used.insert(name.clone());
        names.push(name);
    }
    names
}

struct Search<'a, 'b> {
    index: usize,
    object: &'a Object,
    named: &'a Named,
    classes: &'a BTreeSet<&'a str>,
    services: &'a BTreeSet<&'a str>,
    path: Path,
    found: &'b mut Vec<Candidate>,
}

impl Search<'_, '_> {
    fn visit(&mut self, tree: &Tree) {
        match &tree.content {
            Content::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.path.push(format!("[{at}]"));
                    self.host_in_list(item);
                    self.visit(item);
                    self.path.pop();
                }
            }
            Content::Record(fields) => {
                for field in fields {
                    self.path.push(field.name.clone());
                    if let Some((role, hint)) = self.role(tree, &field.value) {
                        self.take(role, hint, &field.value);
                    }
                    self.visit(&field.value);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, role: Role, hint: String, value: &Tree) {
        let value = value.to_json();
        self.found.push(Candidate { object: self.index, path: self.path.clone(), role, value, hint });
    }

    fn is(&self, pattern: &[&str]) -> bool {
        let item = |it: &str| it.starts_with('[') && it.ends_with(']');
        self.path.len() == pattern.len()
            && self
                .path
                .iter()
                .zip(pattern)
                .all(|(is, wants)| if *wants == "[]" { item(is) } else { is == wants })
    }

    fn ends(&self, pattern: &[&str]) -> bool {
        self.path.len() >= pattern.len()
            && self.path.iter().rev().zip(pattern.iter().rev()).all(|(is, wants)| is == wants)
    }

    fn host_in_list(&mut self, item: &Tree) {
        let kind = self.object.kind.as_str();
        let is = (kind == "Ingress" && self.is(&["spec", "tls", "[]", "hosts", "[]"]))
            || (["HTTPRoute", "GRPCRoute", "TLSRoute"].contains(&kind)
                && self.is(&["spec", "hostnames", "[]"]))
            || (kind == "Certificate" && self.is(&["spec", "dnsNames", "[]"]));
        if is && matches!(&item.content, Content::Text(text) if !text.is_empty()) {
            self.take(Role::Host, String::new(), item);
        }
    }

    /// What the field at the path is, and what it is called.
    fn role(&self, record: &Tree, value: &Tree) -> Option<(Role, String)> {
        if is_data(self.object, &self.path) {
            return self.setting_in_data(value);
        }
        let last = self.path.last().map(String::as_str).unwrap_or_default();
        let kind = self.object.kind.as_str();
        let none = String::new;
        match &value.content {
            Content::Text(text) => {
                let plain = !text.is_empty() && !text.contains(char::is_whitespace);
                match last {
                    "image" if plain => {
                        let hint = record.text(&["name"]).unwrap_or_default();
                        Some((Role::Image, hint.to_owned()))
                    }
                    "host" if kind == "Ingress" && plain && self.is(&["spec", "rules", "[]", "host"]) => {
                        Some((Role::Host, none()))
                    }
                    "storage" if self.is_storage() => Some((Role::Storage, none())),
                    "storageClassName" if plain && !self.classes.contains(text.as_str()) => {
                        Some((Role::StorageClass, none()))
                    }
                    "schedule" if kind == "CronJob" && self.path.len() == 2 => Some((Role::Schedule, none())),
                    "value" if self.path.iter().rev().nth(2).is_some_and(|it| it == "env") => {
                        self.setting(record.text(&["name"])?, text)
                    }
                    _ => None,
                }
            }
            Content::Number(number) if number.is_u64() && self.path.len() == 2 && self.path[0] == "spec" => {
                let scaled =
                    ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"].contains(&kind);
                let custom = self.object.group().contains('.') && !self.object.group().ends_with(".k8s.io");
                match last {
                    "replicas" if scaled || custom => Some((Role::Replicas, none())),
                    "minReplicas" if kind == "HorizontalPodAutoscaler" => Some((Role::MinReplicas, none())),
                    "maxReplicas" if kind == "HorizontalPodAutoscaler" => Some((Role::MaxReplicas, none())),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn is_storage(&self) -> bool {
        self.ends(&["resources", "requests", "storage"])
            && !self.path.iter().any(|it| it.ends_with("ontainers"))
            || (self.object.kind == "PersistentVolume" && self.is(&["spec", "capacity", "storage"]))
    }

    fn setting_in_data(&self, value: &Tree) -> Option<(Role, String)> {
        match &value.content {
            Content::Text(text) if self.object.kind == "ConfigMap" && self.path.len() == 2 => {
                self.setting(self.path.last()?, text)
            }
            _ => None,
        }
    }

    /// A value that is worth a name if it stands in several places. What may be secret is not spread any further.
    fn setting(&self, key: &str, text: &str) -> Option<(Role, String)> {
        let lower = key.to_ascii_lowercase();
        let secret = ["password", "passwd", "secret", "token", "credential", "private", "apikey", "api_key"];
        let plain = text.len() >= 3 && text.len() <= 200 && !text.contains('\n');
        let dull = ["true", "false", "yes", "null", "none"].contains(&text.to_ascii_lowercase().as_str());
        let number = text.parse::<f64>().is_ok();
        let name = text.contains(self.named.instance.as_str());
        let named = camel(key, false).starts_with(|it: char| it.is_ascii_lowercase());
        // `hub = "hub"` says nothing, and where a Service is that comes along is no setting.
        let says = !lower.contains(&text.to_ascii_lowercase());
        let address = refer::addressed(text).is_some_and(|it| self.services.contains(it));
        let good = plain
            && says
            && !address
            && !dull
            && !number
            && named
            && !secret.iter().any(|it| lower.contains(it));
        let role = if name { Role::Mention } else { Role::Setting };
        good.then(|| (role, key.to_owned()))
    }
}
