//! The CRD as a whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::json::to_json;
use super::presentation::{Column, Scale};
use super::schema::{Schema, Type};
use super::status::with_own_part;
use super::validate::refusal;
use crate::blueprint::Scope;
use crate::diagnostic::Span;

/// A kind, ready to be written as a CRD.
#[derive(Debug, Clone, PartialEq)]
pub struct KindDraft {
    /// The kind.
    pub kind: String,
    /// The API group.
    pub group: String,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// The plural; none: made from the kind.
    pub plural: Option<String>,
    /// The singular; none: made from the kind.
    pub singular: Option<String>,
    /// Short names for the command line.
    pub short_names: Vec<String>,
    /// Groups of kinds that it is listed with.
    pub categories: Vec<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The versions, by name.
    pub versions: BTreeMap<String, VersionDraft>,
    /// Where the kind is written.
    pub span: Span,
}

/// A version of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionDraft {
    /// Whether it is served.
    pub served: bool,
    /// Whether it is the one that is stored.
    pub stored: bool,
    /// A warning to its users, if it is deprecated; an empty one: the API server's own.
    pub deprecated: Option<String>,
    /// The schema of `spec`.
    pub spec: Schema,
    /// The schema of the author's part of `status`.
    pub status: Schema,
    /// The author's columns.
    pub columns: Vec<Column>,
    /// How it is scaled.
    pub scale: Option<Scale>,
    /// Where the version is written.
    pub span: Span,
}

impl KindDraft {
    /// The name of the resource in paths.
    #[must_use]
    pub fn plural(&self) -> String {
        self.plural.clone().unwrap_or_else(|| plural_of(&self.kind))
    }

    /// Where a field of a version is written, or the nearest thing above it that is: paths are such as `spec.hosts[].name`.
    #[must_use]
    pub fn span_of(&self, version: Option<&str>, path: &str) -> &Span {
        let Some(version) = version.and_then(|name| self.versions.get(name)) else { return &self.span };
        let (root, rest) = path.split_once('.').unwrap_or((path, ""));
        let root_schema = match root.trim_end_matches(['[', ']', '{', '}']) {
            "spec" => &version.spec,
            "status" => &version.status,
            _ => return &version.span,
        };
        // The place of a whole spec is that of its contract, which may be long: the version's name is enough.
        let mut nearest = &version.span;
        let mut at = root_schema;
        for name in rest.split('.').filter(|name| !name.is_empty()) {
            let bare = name.trim_end_matches(['[', ']', '{', '}']);
            let Some(field) = at.as_record().and_then(|record| record.fields.get(bare)) else { break };
            nearest = field.schema.span.as_ref().unwrap_or(nearest);
            at = &field.schema;
            while let Type::List(inner) | Type::Dictionary(inner) = &at.of {
                at = inner;
            }
        }
        nearest
    }
}

/// The plural of a kind, in small letters, as the rules of English have it in most cases.
#[must_use]
pub fn plural_of(kind: &str) -> String {
    let singular = kind.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| singular.ends_with(ending));
    let after_vowel = ends(&["ay", "ey", "iy", "oy", "uy"]);
    if ends(&["s", "x", "z", "ch", "sh"]) {
        format!("{singular}es")
    } else if singular.ends_with('y') && !after_vowel {
        format!("{}ies", singular.trim_end_matches('y'))
    } else {
        format!("{singular}s")
    }
}

/// The CRD, as the API server takes it.
#[must_use]
pub fn definition(draft: &KindDraft) -> Value {
    let plural = draft.plural();
    let singular = draft.singular.clone().unwrap_or_else(|| draft.kind.to_lowercase());
    let mut names = Map::new();
    names.insert("kind".to_owned(), json!(draft.kind));
    names.insert("listKind".to_owned(), json!(format!("{}List", draft.kind)));
    names.insert("plural".to_owned(), json!(plural));
    names.insert("singular".to_owned(), json!(singular));
    if !draft.short_names.is_empty() {
        names.insert("shortNames".to_owned(), json!(draft.short_names));
    }
    if !draft.categories.is_empty() {
        names.insert("categories".to_owned(), json!(draft.categories));
    }
    let mut versions: Vec<(&String, &VersionDraft)> = draft.versions.iter().collect();
    // The newest first, as people read them; the API server has an order of its own.
    versions.sort_by_key(|(name, _)| std::cmp::Reverse(priority(name)));
    let versions: Vec<Value> = versions.into_iter().map(|(name, it)| version(draft, name, it)).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{}", draft.group) },
        "spec": {
            "group": draft.group,
            "names": names,
            "scope": match draft.scope { Scope::Namespaced => "Namespaced", Scope::Cluster => "Cluster" },
            "versions": versions,
        },
    })
}

/// Kubernetes' order of versions: stable before beta before alpha, higher before lower.
fn priority(version: &str) -> (u8, u64, u64) {
    let rest = version.trim_start_matches('v');
    let split = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, stage) = rest.split_at(split);
    let rank = match stage {
        "" => 2,
        stage if stage.starts_with("beta") => 1,
        _ => 0,
    };
    let minor = stage.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    (rank, major.parse().unwrap_or_default(), minor.parse().unwrap_or_default())
}

fn version(draft: &KindDraft, name: &str, it: &VersionDraft) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), json!(name));
    out.insert("served".to_owned(), json!(it.served));
    out.insert("storage".to_owned(), json!(it.stored));
    if let Some(warning) = &it.deprecated {
        out.insert("deprecated".to_owned(), json!(true));
        if !warning.is_empty() {
            out.insert("deprecationWarning".to_owned(), json!(warning));
        }
    }
    let mut subresources = json!({ "status": {} });
    if let Some(scale) = &it.scale {
        let mut paths = json!({
            "specReplicasPath": format!(".{}", scale.replicas),
            "statusReplicasPath": format!(".{}", scale.status_replicas),
        });
        if let Some(selector) = &scale.selector {
            paths["labelSelectorPath"] = json!(format!(".{selector}"));
        }
        subresources["scale"] = paths;
    }
    out.insert("subresources".to_owned(), subresources);
    let whole = whole_schema(draft, it);
    out.insert("additionalPrinterColumns".to_owned(), columns(&whole, it));
    out.insert("schema".to_owned(), json!({ "openAPIV3Schema": to_json(&whole) }));
    Value::Object(out)
}

/// The schema of whole objects.
fn whole_schema(draft: &KindDraft, it: &VersionDraft) -> Schema {
    let text = |description: &str| Schema::new(Type::String).described(description);
    let mut spec = it.spec.clone();
    spec.nullable = false;
    if spec.description.is_none() {
        spec.description = Some("What is wanted.".to_owned());
    }
    let empty = json!({});
    // Rules are asked of a default before the defaults inside it are filled in: those that stand on the spec itself would be
    // asked of nothing.
    let needed = refusal(&spec, &empty).is_some() || !spec.rules.is_empty();
    if !needed && !matches!(spec.of, Type::Any) {
        // So that the defaults of its fields are filled in where nothing was said at all.
        spec.default = Some(empty);
    }
    let mut whole = Schema::record([
        ("apiVersion", false, text("The version of this schema of an object.")),
        ("kind", false, text("The kind of the object.")),
        ("metadata", false, Schema::record([])),
        ("spec", needed, spec),
        ("status", false, with_own_part(it.status.clone())),
    ]);
    whole.description = Some(draft.description.clone().unwrap_or_else(|| format!("A {}.", draft.kind)));
    whole
}

fn columns(whole: &Schema, it: &VersionDraft) -> Value {
    let ready = |what: &str| format!(".status.conditions[?(@.type==\"Ready\")].{what}");
    let mut columns = vec![
        json!({ "name": "Ready", "type": "string", "jsonPath": ready("status"), "description": "Whether everything is as wanted." }),
        json!({ "name": "Reason", "type": "string", "jsonPath": ready("reason"), "description": "Why, in a word." }),
        json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" }),
    ];
    for column in &it.columns {
        let path: Vec<&str> = column.path.split('.').collect();
        let found = whole.at(&path);
        let of = column.of.clone().unwrap_or_else(|| column_type(found).to_owned());
        let mut out = json!({ "name": column.name, "type": of, "jsonPath": json_path(&path) });
        if column.priority != 0 {
            out["priority"] = json!(column.priority);
        }
        let description = column.description.clone().or_else(|| found.and_then(|it| it.description.clone()));
        if let Some(description) = description {
            out["description"] = json!(description);
        }
        columns.push(out);
    }
    columns.into()
}

fn column_type(schema: Option<&Schema>) -> &'static str {
    match schema {
        Some(Schema { of: Type::Integer, .. }) => "integer",
        Some(Schema { of: Type::Number, .. }) => "number",
        Some(Schema { of: Type::Boolean, .. }) => "boolean",
        Some(Schema { format: Some(format), .. }) if format == "date-time" => "date",
        _ => "string",
    }
}

/// A path as a printer column writes it.
fn json_path(names: &[&str]) -> String {
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    names
        .iter()
        .map(
            |name| {
                if plain(name) { format!(".{name}") } else { format!("['{}']", name.replace('\'', "\\'")) }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{plural_of, priority};

    #[test]
    fn plurals_are_made_as_in_english() {
        for (kind, plural) in [
            ("WebApp", "webapps"),
            ("Policy", "policies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Box", "boxes"),
        ] {
            assert_eq!(plural_of(kind), plural);
        }
    }

    #[test]
    fn stable_versions_come_first() {
        let mut versions = ["v1alpha1", "v2", "v1beta2", "v1", "v1beta1", "v10"];
        versions.sort_by_key(|name| std::cmp::Reverse(priority(name)));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1"]);
    }
}
