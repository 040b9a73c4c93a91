//! A bundle as a chart for Helm. Helm decides on the namespace, and on nothing else.

use serde_json::{Value, json};

use super::{Bundle, Files, text::quoted};
use crate::{render, roles::Whom};

/// What Helm puts its namespace in the place of.
const NAMESPACE: &str = "{{ .Release.Namespace }}";

/// What is in the directory of the chart.
pub(super) fn files(bundle: &Bundle, version: &str) -> Files {
    let mut files = Files::new();
    let chart = format!(
        "apiVersion: v2\nname: {}\ndescription: The blueprint {} for Pemdas\ntype: application\nversion: {}\n",
        bundle.whom.name,
        bundle.blueprint,
        quoted(version),
    );
    files.insert("Chart.yaml".to_owned(), chart);
    let values =
        "# There is nothing to set: what differs from one instance to another is in the instances.\n{}\n";
    files.insert("values.yaml".to_owned(), values.to_owned());
    if !bundle.definitions.is_empty() {
        let definitions: Vec<Value> = bundle.definitions.iter().map(kept).collect();
        let text = "# Definitions are updated with the chart, and stay when it goes: all their objects would go with them.\n";
        let definitions = literal(&render::crds::definitions_yaml(&definitions));
        files.insert("templates/crds.yaml".to_owned(), format!("{text}{definitions}"));
    }
    let whom = Whom { namespace: NAMESPACE.to_owned(), ..bundle.whom.clone() };
    files.insert("templates/rbac.yaml".to_owned(), bundle.rbac_of(&whom));
    let map = bundle.config_map(NAMESPACE, |name, _| {
        format!("{{{{ .Files.Get {} | toJson }}}}", quoted(&format!("blueprint/{name}")))
    });
    files.insert("templates/blueprint.yaml".to_owned(), map);
    if bundle.packed.is_none() {
        files.extend(bundle.sources.iter().map(|(name, text)| (format!("blueprint/{name}"), text.clone())));
    }
    files
}

/// A definition that Helm does not delete.
fn kept(definition: &Value) -> Value {
    let mut definition = definition.clone();
    definition["metadata"]["annotations"]["helm.sh/resource-policy"] = json!("keep");
    definition
}

/// Text in which Helm finds nothing to replace.
fn literal(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}
