//! The kinds that a blueprint owns.

use std::collections::BTreeMap;

use pemdas_core::blueprint::{ContractRef, KindVersion, OwnedKind, Scope};
use pemdas_core::crd::plural_of;
use pemdas_core::diagnostic::{Diagnostic, Span};

use super::codes;
use super::outliner::{Outliner, Spot};
use crate::contract::{Contract, Form};

/// The types of the library whose values are strings.
const STRING_TYPES: [&str; 9] = [
    "NonEmpty",
    "AtMostLong",
    "Matching",
    "OneOf",
    "DnsLabel",
    "DnsSubdomain",
    "LabelValue",
    "Duration",
    "DateTime",
];
/// What a kind may say.
const KIND_FIELDS: [&str; 9] = [
    "group",
    "scope",
    "plural",
    "singular",
    "short_names",
    "categories",
    "description",
    "accept",
    "versions",
];
/// What a version of a kind may say.
const VERSION_FIELDS: [&str; 8] =
    ["spec", "status", "stored", "served", "deprecated", "columns", "scale", "convert"];
/// How long names of a definition are at most.
const LONGEST_NAME: usize = 63;
/// How deep a contract is looked into for tags.
const MAX_DEPTH: usize = 16;

impl Outliner<'_> {
    /// All of `kinds`.
    pub(super) fn kinds(&mut self, spot: &Spot) -> BTreeMap<String, OwnedKind> {
        let mut kinds = BTreeMap::new();
        for field in self.fields(spot).unwrap_or_default() {
            let inner = spot.field(&field.name);
            self.kind_name(&inner, &field.name);
            if let Some(kind) = self.kind(&inner) {
                kinds.insert(field.name, kind);
            }
        }
        kinds
    }

    fn kind_name(&mut self, spot: &Spot, name: &str) {
        let proper = name.len() <= 63
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric());
        if !proper {
            self.report(
                Diagnostic::error(codes::OWNED_KIND, format!("\"{name}\" cannot be the name of a kind"))
                    .at(self.span_of(&spot.path), "")
                    .hint("a kind is written like this: FooService"),
            );
        }
    }

    fn kind(&mut self, spot: &Spot) -> Option<OwnedKind> {
        let fields = self.fields(spot)?;
        let span = self.span_of(&spot.path);
        let mut kind = OwnedKind {
            span: span.clone(),
            group: String::new(),
            scope: Scope::default(),
            plural: None,
            short_names: Vec::new(),
            versions: BTreeMap::new(),
        };
        for field in &fields {
            let inner = spot.field(&field.name);
            match field.name.as_str() {
                "kind" => {}
                "group" => kind.group = self.text(&inner).unwrap_or_default(),
                "scope" => {
                    let cluster = self.value(&inner).is_some_and(|value| value == "Cluster");
                    kind.scope = if cluster { Scope::Cluster } else { Scope::Namespaced };
                }
                "plural" => kind.plural = self.text(&inner),
                "short_names" => {
                    let names = self.value(&inner);
                    kind.short_names =
                        names.and_then(|names| serde_json::from_value(names).ok()).unwrap_or_default();
                }
                "versions" => kind.versions = self.versions(&inner),
                // What only the drafted definition needs is read where it is drafted.
                "singular" | "categories" | "description" | "accept" => {
                    self.value(&inner);
                }
                _ => self.unknown_field(&inner, "a kind", &KIND_FIELDS),
            }
        }
        let has = |name: &str| fields.iter().any(|field| field.name == name);
        for (name, example) in
            [("group", "group = \"example.com\""), ("versions", "versions.v1.spec = { ... }")]
        {
            if !has(name) {
                self.bad_kind(&span, format!("the kind has no `{name}`"), format!("write `{example}`"));
            }
        }
        self.stored_version(&span, &kind, has("versions"));
        self.served_names(spot, &kind);
        Some(kind)
    }

    fn stored_version(&mut self, span: &Span, kind: &OwnedKind, given: bool) {
        let stored = kind.versions.values().filter(|version| version.stored).count();
        if given && kind.versions.is_empty() {
            self.bad_kind(
                span,
                "the kind has no version".to_owned(),
                "write `versions.v1.spec = { ... }`".to_owned(),
            );
        } else if kind.versions.len() > 1 && stored != 1 {
            self.bad_kind(
                span,
                format!("the kind has {} versions, of which {stored} are stored", kind.versions.len()),
                "write `stored = true` on exactly one of them".to_owned(),
            );
        }
    }

    /// What the API server would refuse a definition for: its group, the length of its names, nothing that is served.
    fn served_names(&mut self, spot: &Spot, kind: &OwnedKind) {
        let span = self.span_of(&spot.field("group").path);
        let ends = |end: &str| kind.group == end || kind.group.ends_with(&format!(".{end}"));
        if !kind.group.is_empty() && !kind.group.contains('.') {
            let message =
                format!("the group \"{}\" has no dot, and belongs to Kubernetes itself", kind.group);
            self.bad_kind(
                &span,
                message,
                "a group is a domain that you own: `group = \"example.com\"`".to_owned(),
            );
        } else if ends("k8s.io") || ends("kubernetes.io") {
            let message = format!("the group \"{}\" is Kubernetes' own, and needs its approval", kind.group);
            self.bad_kind(
                &span,
                message,
                "a group is a domain that you own: `group = \"example.com\"`".to_owned(),
            );
        }
        let name = spot.path.last().map_or("", String::as_str);
        let plural = kind.plural.clone().unwrap_or_else(|| plural_of(name));
        if name.len() + "List".len() > LONGEST_NAME || plural.len() > LONGEST_NAME {
            let message = format!("\"{name}\" is too long for a kind");
            let hint =
                format!("with `List` after it, and as plural, it has at most {LONGEST_NAME} characters");
            self.bad_kind(&kind.span, message, hint);
        }
        if !kind.versions.is_empty() && kind.versions.values().all(|version| !version.served) {
            self.bad_kind(
                &kind.span,
                "no version of the kind is served: nobody could make an object of it".to_owned(),
                "leave `served = false` to versions that others have replaced".to_owned(),
            );
        }
    }

    fn bad_kind(&mut self, span: &Span, message: String, hint: String) {
        self.report(Diagnostic::error(codes::OWNED_KIND, message).at(span.clone(), "").hint(hint));
    }

    fn versions(&mut self, spot: &Spot) -> BTreeMap<String, KindVersion> {
        let found = self.fields(spot).unwrap_or_default();
        let only = found.len() == 1;
        let mut versions = BTreeMap::new();
        for field in found {
            let inner = spot.field(&field.name);
            if !is_version(&field.name) {
                self.bad_kind(
                    &self.span_of(&inner.path).clone(),
                    format!("\"{}\" cannot be the name of a version", field.name),
                    "versions are written like these: v1, v1beta1, v2alpha1".to_owned(),
                );
            }
            let Some(fields) = self.fields(&inner) else { continue };
            let mut version = KindVersion {
                span: self.span_of(&inner.path),
                stored: only,
                served: true,
                spec: None,
                status: None,
            };
            for field in fields {
                let place = inner.field(&field.name);
                match field.name.as_str() {
                    "spec" => version.spec = self.contract(&place),
                    "status" => {
                        let found = self.look(&place).is_some();
                        version.status = found.then(|| ContractRef {
                            path: place.path.clone(),
                            span: self.span_of(&place.path),
                            fits: None,
                        });
                    }
                    "stored" => version.stored = self.flag(&place).unwrap_or_default(),
                    "served" => version.served = self.flag(&place).unwrap_or(true),
                    "columns" | "scale" | "deprecated" => {
                        self.value(&place);
                    }
                    "convert" => {
                        self.look(&place);
                    }
                    _ => self.unknown_field(&place, "a version", &VERSION_FIELDS),
                }
            }
            versions.insert(field.name, version);
        }
        versions
    }

    /// A contract, with a look at what it says of its fields.
    fn contract(&mut self, spot: &Spot) -> Option<ContractRef> {
        self.look(spot)?;
        match self.evaluator.describe(&spot.place) {
            Ok(contract) => {
                let below = spot.path.last().cloned().unwrap_or_default();
                self.note_fields(&contract, &mut vec![below], MAX_DEPTH);
                self.tags_in(&contract, &self.span_of(&spot.path).clone(), MAX_DEPTH);
            }
            Err(failure) => self.failed(&spot.path, &failure),
        }
        Some(ContractRef { path: spot.path.clone(), span: self.span_of(&spot.path), fits: None })
    }

    /// Remembers which fields are strings, where all kinds agree.
    fn note_fields(&mut self, contract: &Contract, path: &mut Vec<String>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Form::Record { fields, .. } = &contract.form {
            for field in fields {
                path.push(field.name.clone());
                self.note_fields(&field.contract, path, depth);
                path.pop();
            }
            return;
        }
        let is_string = is_string(&contract.form);
        let known = self.fields_of_kinds.entry(path.clone()).or_insert(is_string);
        *known = *known && is_string;
    }

    /// Objects hold strings, so a contract of tags refuses every one of them.
    fn tags_in(&mut self, contract: &Contract, place: &Span, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let place =
            contract.span.as_ref().filter(|span| !crate::is_library_file(&span.file)).unwrap_or(place);
        match &contract.form {
            Form::Enum(tags) => {
                let listed = tags.iter().map(|(tag, _)| format!("\"{tag}\"")).collect::<Vec<_>>().join(", ");
                self.report(
                    Diagnostic::error(
                        codes::TAG_OR_STRING,
                        "a field of an object is never a tag: no object would be accepted",
                    )
                    .at(place.clone(), "")
                    .hint(format!("write `OneOf [{listed}]`: objects hold strings")),
                );
            }
            Form::Array(inner) | Form::Dictionary(inner) => self.tags_in(inner, place, depth),
            Form::Record { fields, .. } => {
                for field in fields {
                    self.tags_in(&field.contract, field.span.as_ref().unwrap_or(place), depth);
                }
            }
            Form::All(parts) => parts.iter().for_each(|part| self.tags_in(part, place, depth)),
            _ => {}
        }
    }
}

/// Whether a contract lets only strings pass.
fn is_string(form: &Form) -> bool {
    match form {
        Form::String => true,
        Form::Library { name, .. } => STRING_TYPES.contains(&name.as_str()),
        Form::All(parts) => parts.iter().any(|part| is_string(&part.form)),
        _ => false,
    }
}

/// `v1`, `v1beta2`, `v2alpha1`.
fn is_version(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('v') else { return false };
    let digits =
        |text: &str| !text.is_empty() && !text.starts_with('0') && text.chars().all(|c| c.is_ascii_digit());
    let mut parts = rest.splitn(2, |c: char| c.is_ascii_alphabetic());
    let major = parts.next().unwrap_or_default();
    if !digits(major) {
        return false;
    }
    match &rest.get(major.len()..) {
        None | Some("") => true,
        Some(stage) => stage.strip_prefix("alpha").or_else(|| stage.strip_prefix("beta")).is_some_and(digits),
    }
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn versions_are_named_as_kubernetes_does() {
        for good in ["v1", "v12", "v1beta1", "v2alpha10"] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["", "1", "v", "v0", "v1beta", "v1gamma1", "v01", "V1", "v1beta0", "v1.2"] {
            assert!(!is_version(bad), "{bad}");
        }
    }
}
