//! What the program is made of: every crate that is linked into it, as an SPDX document.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::image::About;
use crate::assets::image::hex;
use crate::command::run;
use crate::error::{Doing, Error, Result};

/// The document of the package `pemdas` for one target of the compiler.
pub fn sbom(about: &About<'_>, workspace: &Path, target: &str, features: &[&str]) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--format-version=1", "--locked", "--filter-platform", target]);
    metadata.args(features.iter().map(|it| format!("--features=pemdas/{it}"))).current_dir(workspace);
    let metadata = run(&mut metadata, "cargo metadata")?;
    let metadata = serde_json::from_str(&metadata).doing(|| "understand cargo metadata".into())?;
    let lock = std::fs::read_to_string(workspace.join("Cargo.lock")).doing(|| "read Cargo.lock".into())?;
    let mut rustc = Command::new("rustc");
    let compiler = run(rustc.arg("--version"), "rustc --version")?;
    document(about, &metadata, &lock, compiler.split_whitespace().nth(1).unwrap_or_default())
}

/// What is added to the crates: the standard library, and the C library that a static program contains.
fn beside_crates(compiler: &str) -> [Value; 2] {
    let package = |name: &str, version: &str, licence: &str| {
        json!({
            "SPDXID": format!("SPDXRef-{name}"), "name": name, "versionInfo": version, "licenseDeclared": licence,
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": false,
        })
    };
    let said = Command::new("ldd").arg("--version").output().map(|it| it.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let glibc = said.lines().next().and_then(|it| it.split_whitespace().last()).unwrap_or_default();
    [package("rust-std", compiler, "MIT OR Apache-2.0"), package("glibc", glibc, "LGPL-2.1-or-later")]
}

fn document(about: &About<'_>, metadata: &Value, lock: &str, compiler: &str) -> Result<Value> {
    let checksums = checksums(lock)?;
    let (root, linked) = linked(metadata)?;
    let mut packages = Vec::new();
    let mut relations = vec![related("SPDXRef-DOCUMENT", "DESCRIBES", &id_of(root))];
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(needs) = linked.get(text(&package["id"])) else { continue };
        packages.push(described(package, &checksums));
        relations.extend(
            needs.iter().map(|needed| related(&id_of(text(&package["id"])), "DEPENDS_ON", &id_of(needed))),
        );
    }
    for package in beside_crates(compiler) {
        relations.push(related(&id_of(root), "STATIC_LINK", text(&package["SPDXID"])));
        packages.push(package);
    }
    // A name that only these contents have.
    let digest = hex(Sha256::new_with_prefix(json!([packages, about.revision]).to_string()));
    Ok(json!({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("pemdas-{}-linux-{}", about.version, about.architecture),
        "documentNamespace": format!("https://pemdas.dev/spdx/{digest}"),
        "creationInfo": { "created": about.created, "creators": ["Tool: cargo xtask image"] },
        "packages": packages, "relationships": relations,
    }))
}

/// The package `pemdas`, and all that is linked into it with what each needs: without what only builds and tests use.
fn linked(metadata: &Value) -> Result<(&str, BTreeMap<&str, BTreeSet<&str>>)> {
    let all = |list: &'static str| metadata[list].as_array().into_iter().flatten();
    let root = all("packages").find(|it| it["name"] == "pemdas").map(|it| text(&it["id"]));
    let root = root.ok_or_else(|| Error::new("cargo metadata does not know the package pemdas"))?;
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let nodes: BTreeMap<&str, &Value> = nodes.map(|it| (text(&it["id"]), it)).collect();
    let is_macro = |id: &str| {
        let targets = all("packages").find(|it| it["id"] == id).map(|it| &it["targets"]);
        targets.and_then(|it| it.as_array()).into_iter().flatten().any(|it| it["kind"][0] == "proc-macro")
    };
    let mut linked = BTreeMap::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if linked.contains_key(id) {
            continue;
        }
        let needs = nodes.get(id).and_then(|it| it["deps"].as_array()).into_iter().flatten();
        let needs = needs
            .filter(|it| it["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null()));
        let needs: BTreeSet<&str> = needs.map(|it| text(&it["pkg"])).filter(|it| !is_macro(it)).collect();
        open.extend(&needs);
        linked.insert(id, needs);
    }
    Ok((root, linked))
}

fn described(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let from_registry = package["source"].is_string();
    let mut described = json!({
        "SPDXID": id_of(text(&package["id"])), "name": name, "versionInfo": version,
        // Some manifests still divide licences with a slash.
        "licenseDeclared": package["license"].as_str().map_or("NOASSERTION".into(), |it| it.replace('/', " OR ")),
        "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION", "filesAnalyzed": false,
        "downloadLocation": if from_registry {
            format!("https://crates.io/api/v1/crates/{name}/{version}/download")
        } else {
            "NOASSERTION".to_owned()
        },
    });
    if from_registry {
        described["externalRefs"] = json!([{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{version}"),
        }]);
    }
    if let Some(checksum) = checksums.get(&(name.to_owned(), version.to_owned())) {
        described["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": checksum }]);
    }
    described
}

/// The checksum of each package by its name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = toml::from_str(lock).doing(|| "understand Cargo.lock".into())?;
    let packages = lock.get("package").and_then(|it| it.as_array()).into_iter().flatten();
    let row = |it: &toml::Value| {
        let field = |name| Some(it.get(name)?.as_str()?.to_owned());
        Some(((field("name")?, field("version")?), field("checksum")?))
    };
    Ok(packages.filter_map(row).collect())
}

fn related(one: &str, how: &str, other: &str) -> Value {
    json!({ "spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other })
}

/// An identifier has letters, digits, dots and hyphens only. What cargo calls a package may name folders of this machine.
fn id_of(package: &str) -> String {
    let name = package.rsplit('#').next().unwrap_or_default();
    let folder = package.split('#').next().and_then(|it| it.rsplit('/').next()).unwrap_or_default();
    let name = if name.contains('@') { name.to_owned() } else { format!("{folder}@{name}") };
    let plain = name.replace(|it: char| !it.is_ascii_alphanumeric() && it != '.', "-");
    format!("SPDXRef-{plain}")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lists_what_is_linked_and_nothing_else() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let about = About {
            name: "pemdas:1",
            architecture: "amd64",
            version: "1",
            revision: "c0ffee",
            created: "2026-01-31T12:00:00Z",
        };
        let said = run(Command::new("rustc").arg("-vV"), "rustc -vV").unwrap();
        let host = said.lines().find_map(|it| it.strip_prefix("host: ")).unwrap();
        let document = sbom(&about, root, host, &["jemalloc"]).unwrap();
        let packages = document["packages"].as_array().unwrap();
        let names: BTreeSet<&str> = packages.iter().map(|it| text(&it["name"])).collect();
        for linked in
            ["pemdas", "pemdas-core", "kube", "ring", "malachite", "tikv-jemalloc-sys", "rust-std", "glibc"]
        {
            assert!(names.contains(linked), "{linked} is missing");
        }
        // Of tests, of builds, of the compiler, of tools.
        for foreign in ["insta", "pemdas-testbed", "cc", "serde_derive", "criterion"] {
            assert!(!names.contains(foreign), "{foreign} is not linked");
        }
        let ids: BTreeSet<&str> = packages.iter().map(|it| text(&it["SPDXID"])).collect();
        assert_eq!(ids.len(), packages.len(), "each has an identifier of its own");
        for package in packages {
            let ours = text(&package["name"]).starts_with("pemdas");
            assert!(text(&package["licenseDeclared"]) != "NOASSERTION", "{package}");
            let known = package["checksums"][0]["checksumValue"].is_string();
            assert!(known || ours || ["rust-std", "glibc"].contains(&text(&package["name"])), "{package}");
        }
        for relation in document["relationships"].as_array().unwrap() {
            assert!(ids.contains(text(&relation["relatedSpdxElement"])), "{relation}");
        }
        assert!(
            !document.to_string().contains(env!("CARGO_MANIFEST_DIR")),
            "it names a folder of this machine"
        );
    }

    #[test]
    fn identifiers_are_plain() {
        assert_eq!(id_of("registry+https://x#kube@5.0.0"), "SPDXRef-kube-5.0.0");
        assert_eq!(id_of("path+file:///work/crates/pemdas#0.1.0"), "SPDXRef-pemdas-0.1.0");
        assert_eq!(id_of("path+file:///work/x#pemdas-core@0.1.0+b_1"), "SPDXRef-pemdas-core-0.1.0-b-1");
    }
}
