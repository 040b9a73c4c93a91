//! Definitions of kinds, read from their objects.

use serde_json::{Value, json};

/// One version of a custom kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// The name in paths.
    pub plural: String,
    /// The name of one.
    pub singular: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// The categories it is in.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// The OpenAPI schema.
    pub schema: Value,
    /// Whether its status is written apart.
    pub status: bool,
    /// How it is scaled.
    pub scale: Option<Scale>,
    /// What kubectl shows of it.
    pub columns: Vec<Column>,
    /// The fields that may be selected by, as paths.
    pub selectable: Vec<String>,
}

/// How a kind is scaled: paths without the leading dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// Where the wanted number stands.
    pub spec_replicas: String,
    /// Where the number there is stands.
    pub status_replicas: String,
    /// Where the selector stands.
    pub selector: Option<String>,
}

/// A column that kubectl shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Its format.
    pub format: String,
    /// What it means.
    pub description: String,
    /// How important it is.
    pub priority: i64,
    /// Where its value stands.
    pub path: String,
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(value: &Value, pointer: &str) -> Vec<String> {
    let list = value.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The served versions of a definition.
pub(crate) fn versions(object: &Value) -> Vec<Definition> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let all = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let served = all.filter(|version| version.get("served") == Some(&json!(true)));
    served.map(|version| read(spec, version)).collect()
}

fn read(spec: &Value, version: &Value) -> Definition {
    let plain = |value: String| value.trim_start_matches('.').to_owned();
    let scale = version.pointer("/subresources/scale").map(|scale| Scale {
        spec_replicas: plain(text(scale, "/specReplicasPath")),
        status_replicas: plain(text(scale, "/statusReplicasPath")),
        selector: scale.get("labelSelectorPath").and_then(Value::as_str).map(|it| plain(it.to_owned())),
    });
    let columns = version.get("additionalPrinterColumns").and_then(Value::as_array).into_iter().flatten();
    let columns = columns.map(|column| Column {
        name: text(column, "/name"),
        kind: text(column, "/type"),
        format: text(column, "/format"),
        description: text(column, "/description"),
        priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
        path: text(column, "/jsonPath"),
    });
    let selectable = version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
    Definition {
        group: text(spec, "/group"),
        version: text(version, "/name"),
        kind: text(spec, "/names/kind"),
        list_kind: text(spec, "/names/listKind"),
        plural: text(spec, "/names/plural"),
        singular: text(spec, "/names/singular"),
        short_names: texts(spec, "/names/shortNames"),
        categories: texts(spec, "/names/categories"),
        namespaced: text(spec, "/scope") == "Namespaced",
        schema: version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or(json!({ "type": "object" })),
        status: version.pointer("/subresources/status").is_some(),
        scale,
        columns: columns.collect(),
        selectable: selectable.map(|field| plain(text(field, "/jsonPath"))).collect(),
    }
}

/// The status that a definition gets when its names are free and it is served.
pub(crate) fn conditions(object: &Value, now: &str) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message });
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": object.pointer("/spec/names").cloned().unwrap_or(json!({})),
        "storedVersions": object.pointer("/status/storedVersions").cloned().unwrap_or(json!([])),
    })
}
