//! Roles as people read them: a line for each rule, with the nodes that need it.

use pemdas_core::rights::{
    Rule,
    consent::BLUEPRINTS_ANNOTATION,
    hold::{PERMISSIONS_ANNOTATION, PERMISSIONS_LABEL},
};

use super::{AGGREGATED, Role, Whom};

/// The longest rule that stands on one line.
const WIDTH: usize = 128;

/// The account and its roles, as YAML.
pub(crate) fn manifest(whom: &Whom, blueprint: &str, roles: &[Role]) -> String {
    let belongs = scalar(&whom.belongs());
    let mut documents = vec![format!(
        "# The annotation allows this blueprint to act as this ServiceAccount.\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  \
         name: {}\n  namespace: {}\n  labels: {{ {PERMISSIONS_LABEL}: \"\" }}\n  \
         annotations: {{ {BLUEPRINTS_ANNOTATION}: {}, {PERMISSIONS_ANNOTATION}: {belongs} }}\n",
        scalar(&whom.account),
        scalar(&whom.namespace),
        scalar(&whom.name),
    )];
    documents.extend(roles.iter().flat_map(|it| documents_of(it, &belongs)));
    format!(
        "# What the blueprint `{blueprint}` may do: Pemdas acts for it as this ServiceAccount. `pemdas rbac` wrote these objects.\n\
         # Above each rule stand the nodes that need it. The label makes the operator keep them until the last instance is gone.\n{}",
        documents.join("---\n")
    )
}

/// A role and its binding, and the blueprint that they belong to.
fn documents_of(role: &Role, belongs: &str) -> Vec<String> {
    let (kind, name) = (role.kind(), scalar(&role.name));
    let namespace =
        role.namespace.as_ref().map(|it| format!("\n  namespace: {}", scalar(it))).unwrap_or_default();
    let metadata = |labels: &str| {
        format!(
            "metadata:\n  name: {name}{namespace}\n  labels: {{ {PERMISSIONS_LABEL}: \"\"{labels} }}\n  \
             annotations: {{ {PERMISSIONS_ANNOTATION}: {belongs} }}\n"
        )
    };
    let head = |kind: &str| format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\n");
    let about: String = role.about.lines().map(|it| format!("# {it}\n")).collect();
    let mut text = format!("{about}{}", head(kind));
    let aggregated = if role.account.is_none() { format!(", {AGGREGATED}: \"true\"") } else { String::new() };
    text.push_str(&metadata(&aggregated));
    text.push_str("rules:\n");
    role.rules.iter().for_each(|it| text.push_str(&rule(it)));
    let binding = role.account.as_ref().map(|(account_namespace, account)| {
        format!(
            "{}{}\
             roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: {name} }}\n\
             subjects: [{{ kind: ServiceAccount, name: {}, namespace: {} }}]\n",
            head(&format!("{kind}Binding")),
            metadata(""),
            scalar(account),
            scalar(account_namespace),
        )
    });
    std::iter::once(text).chain(binding).collect()
}

fn rule(rule: &Rule) -> String {
    let list = |items: Vec<&str>| {
        let items: Vec<_> = items.into_iter().map(scalar).collect();
        format!("[{}]", items.join(", "))
    };
    let mut fields = vec![
        format!("apiGroups: {}", list(vec![&rule.group])),
        format!("resources: {}", list(rule.resources.iter().map(String::as_str).collect())),
    ];
    if !rule.names.is_empty() {
        fields.push(format!("resourceNames: {}", list(rule.names.iter().map(String::as_str).collect())));
    }
    fields.push(format!("verbs: {}", list(rule.verbs.clone())));
    let nodes: Vec<_> = rule.nodes.iter().map(String::as_str).collect();
    let line = format!("  - {{ {} }}\n", fields.join(", "));
    let rule = if line.len() <= WIDTH { line } else { format!("  - {}\n", fields.join("\n    ")) };
    format!("  # {}\n{rule}", nodes.join(", "))
}

/// A string in YAML: plain where nobody could take it for anything else.
fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(|it: char| it.is_ascii_lowercase())
        && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-./".contains(&it))
        && !WORDS.contains(&text);
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::scalar;

    #[test]
    fn a_string_stays_a_string() {
        for (text, written) in [
            ("pods", "pods"),
            ("services/proxy", "services/proxy"),
            ("", "\"\""),
            ("true", "\"true\""),
            ("1e3", "\"1e3\""),
            ("pemdas:default:shop", "\"pemdas:default:shop\""),
            ("{{ .Release.Namespace }}", "\"{{ .Release.Namespace }}\""),
        ] {
            assert_eq!(scalar(text), written);
        }
    }
}
