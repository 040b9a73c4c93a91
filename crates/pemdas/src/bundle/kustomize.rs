//! A bundle as a base for kustomize: the blueprint stays the files that its author wrote.

use super::{Bundle, Files, text::quoted};

/// What is in the directory.
pub(super) fn files(bundle: &Bundle, folder: &str) -> Files {
    let place = |name: &str| format!("{folder}{name}");
    let mut resources = vec!["rbac.yaml"];
    let mut files = Files::from([("rbac.yaml".to_owned(), bundle.rbac())]);
    if !bundle.definitions.is_empty() {
        resources.insert(0, "crds.yaml");
        files.insert("crds.yaml".to_owned(), bundle.crds());
    }
    let list = |items: Vec<String>, indent: &str| -> String {
        items.into_iter().map(|it| format!("{indent}- {it}\n")).collect()
    };
    let sources = bundle.sources.keys().map(|it| quoted(&format!("{it}={}", place(it)))).collect();
    let annotations: String =
        bundle.annotations().into_iter().map(|(name, value)| format!("        {name}: {value}\n")).collect();
    let kustomization = format!(
        "# The blueprint `{}` with its account, its roles and its definitions: a base, or to apply with `kubectl apply --server-side -k`.\n\
         apiVersion: kustomize.config.k8s.io/v1beta1\n\
         kind: Kustomization\n\
         resources:\n{}\
         configMapGenerator:\n  - name: {}\n    namespace: {}\n    files:\n{}    options:\n\
         \x20     # Pemdas knows a blueprint by its name.\n\
         \x20     disableNameSuffixHash: true\n\
         \x20     labels:\n        pemdas.dev/blueprint: \"\"\n\
         \x20     annotations:\n{annotations}",
        bundle.blueprint,
        list(resources.into_iter().map(str::to_owned).collect(), "  "),
        bundle.whom.name,
        quoted(&bundle.whom.namespace),
        list(sources, "      "),
    );
    files.insert("kustomization.yaml".to_owned(), kustomization);
    let sources = bundle.sources.iter().map(|(name, text)| (place(name), text.clone()));
    files.extend(sources);
    files
}
