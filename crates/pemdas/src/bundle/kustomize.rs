//! A bundle as a base for kustomize: the blueprint stays the files that its author wrote, unless they have to be compressed.

use super::{
    Bundle, Files,
    text::{self, quoted},
};

/// What is in the directory.
pub(super) fn files(bundle: &Bundle, folder: &str) -> Files {
    let place = |name: &str| format!("{folder}{name}");
    let mut resources = vec!["rbac.yaml"];
    let mut files = Files::from([("rbac.yaml".to_owned(), bundle.rbac())]);
    if !bundle.definitions.is_empty() {
        resources.insert(0, "crds.yaml");
        files.insert("crds.yaml".to_owned(), bundle.crds());
    }
    if bundle.packed.is_some() {
        resources.push("blueprint.yaml");
        let map = bundle.config_map(&bundle.whom.namespace, text::string);
        files.insert("blueprint.yaml".to_owned(), map);
    }
    let list = |items: Vec<String>, indent: &str| -> String {
        items.into_iter().map(|it| format!("{indent}- {it}\n")).collect()
    };
    let named = bundle.sources.keys().map(|it| quoted(&format!("{it}={}", place(it)))).collect();
    let sources = bundle.sources.iter().map(|(name, text)| (place(name), text.clone()));
    let mut kustomization = format!(
        "# The blueprint `{}` with its account, its roles and its definitions: a base, or to apply with `kubectl apply --server-side -k`.\n\
         apiVersion: kustomize.config.k8s.io/v1beta1\n\
         kind: Kustomization\n\
         resources:\n{}",
        bundle.blueprint,
        list(resources.into_iter().map(str::to_owned).collect(), "  "),
    );
    if bundle.packed.is_none() {
        kustomization.push_str(&generator(bundle, &list(named, "      ")));
        files.extend(sources);
    }
    files.insert("kustomization.yaml".to_owned(), kustomization);
    files
}

/// What makes the ConfigMap of the files.
fn generator(bundle: &Bundle, files: &str) -> String {
    let annotations: String =
        bundle.annotations().into_iter().map(|(name, value)| format!("        {name}: {value}\n")).collect();
    format!(
        "configMapGenerator:\n  - name: {}\n    namespace: {}\n    files:\n{files}    options:\n\
         \x20     # Pemdas knows a blueprint by its name.\n\
         \x20     disableNameSuffixHash: true\n\
         \x20     labels:\n        pemdas.dev/blueprint: \"\"\n\
         \x20     annotations:\n{annotations}",
        bundle.whom.name,
        quoted(&bundle.whom.namespace),
    )
}
