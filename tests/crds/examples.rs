//! The examples' kinds on a real API server.

use std::path::{Path, PathBuf};

use pemdas_nickel::Sources;
use serde_json::{Value, json};

use crate::{drafted, server};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join("main.ncl").is_file());
    found.sort();
    found
}

fn sources(example: &Path) -> Sources {
    let mut sources = Sources::new();
    for entry in std::fs::read_dir(example).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ncl") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            sources = sources.with(&name, std::fs::read_to_string(&path).unwrap());
        }
    }
    sources
}

#[test]
fn every_kind_of_the_examples_is_served_and_takes_its_sample_and_refuses_a_wrong_one() {
    let server = server();
    let mut samples = 0;
    for example in examples() {
        let (_, _, definitions) = drafted(&sources(&example));
        for definition in &definitions {
            server.install(definition);
        }
        for entry in std::fs::read_dir(example.join("sample")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let object: Value = serde_saphyr::from_str(&text).unwrap();
            let own = definitions.iter().find(|it| {
                it["spec"]["names"]["kind"] == object["kind"]
                    && object["apiVersion"]
                        .as_str()
                        .is_some_and(|it2| it2.starts_with(it["spec"]["group"].as_str().unwrap()))
            });
            let Some(definition) = own else { continue };
            samples += 1;
            let taken = server.would_take(definition, &object).unwrap();
            assert_eq!(
                taken["status"],
                json!({ "observedGeneration": -1 }),
                "a fresh object is not taken for ready"
            );
            let mut wrong = object.clone();
            wrong["spec"]["surplus"] = json!(1);
            let refusal = server.would_take(definition, &wrong).unwrap_err();
            assert!(refusal.contains("surplus"), "{refusal}");
            for (name, _) in object["spec"].as_object().unwrap() {
                let mut wrong = object.clone();
                wrong["spec"][name] = json!([[true]]);
                let refusal = server.would_take(definition, &wrong).unwrap_err();
                assert!(refusal.contains(&format!("spec.{name}")), "{refusal}");
            }
        }
    }
    assert!(samples >= 6, "only {samples} samples");
}

#[test]
fn the_definitions_of_the_examples_are_as_reviewed() {
    for example in examples() {
        let (_, drafts, definitions) = drafted(&sources(&example));
        let name = example.file_name().unwrap().to_string_lossy().into_owned();
        if !definitions.is_empty() {
            let yaml: Vec<String> =
                definitions.iter().map(|one| serde_saphyr::to_string(one).unwrap()).collect();
            insta::assert_snapshot!(name, yaml.join("---\n"));
        }
        assert_eq!(
            drafts.gaps,
            [],
            "the contracts of {} are checked whole by the API server",
            example.display()
        );
    }
}

/// Puts a CRD into a group of its own: the examples are installed by another test as well.
pub(crate) fn in_group(definition: &mut Value, group: &str) {
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap().to_owned();
    definition["spec"]["group"] = json!(group);
    definition["metadata"]["name"] = json!(format!("{plural}.{group}"));
    definition["spec"]["names"].as_object_mut().unwrap().remove("shortNames");
}

/// What the author of an example says to a wrong object: the kind, what is there before, what is wrong then, and the words.
const WORDS: [(&str, &str, Option<&str>, &str, &str); 9] = [
    (
        "web-app",
        "WebApp",
        None,
        r#"{"image": "registry.example.com:5000/shop"}"#,
        "spec.image: Invalid value: \"registry.example.com:5000/shop\": say which version is meant: the image needs a tag or a digest",
    ),
    (
        "blue-green",
        "Site",
        None,
        r#"{"image": "x", "version": "latest"}"#,
        "a version stays what it is: name the release instead of \"latest\"",
    ),
    (
        "foo-service",
        "FooService",
        Some(r#"{"image": "x", "schema": "42", "database": "a"}"#),
        r#"{"image": "x", "schema": "9", "database": "a"}"#,
        "migrations only go forward: the schema version cannot become lower",
    ),
    (
        "foo-service",
        "FooService",
        Some(r#"{"image": "x", "schema": "42", "database": "a"}"#),
        r#"{"image": "x", "schema": "42", "database": "b"}"#,
        "spec.database: Forbidden: a service keeps its database: make a new service for another one",
    ),
    (
        "foo-service",
        "FooServiceDBSchema",
        Some(r#"{"version": "10", "database": "a"}"#),
        r#"{"version": "9", "database": "a"}"#,
        "migrations only go forward: the schema version cannot become lower",
    ),
    (
        "postgres",
        "PostgresInstance",
        Some(r#"{"storage": "20Gi"}"#),
        r#"{"storage": "10Gi"}"#,
        "spec.storage: Forbidden: a volume can grow, not shrink",
    ),
    (
        "postgres",
        "PostgresInstance",
        Some(r#"{"version": "16"}"#),
        r#"{"version": "15"}"#,
        "a server cannot go back to an older major version",
    ),
    (
        "postgres",
        "PostgresBackup",
        Some(r#"{"instance": "a"}"#),
        r#"{"instance": "b"}"#,
        "spec.instance: Forbidden: a backup is of one instance, for good",
    ),
    (
        "redis-cache",
        "GeoDatabase",
        Some(r#"{"regions": ["a"], "storage": "50Gi"}"#),
        r#"{"regions": ["a"], "storage": "60Gi"}"#,
        "the claims of a StatefulSet cannot change: a database keeps the volumes it began with",
    ),
];

#[test]
fn every_example_refuses_with_the_words_of_its_author() {
    let server = server();
    for example in examples() {
        let (_, _, definitions) = drafted(&sources(&example));
        for mut definition in definitions {
            let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
            let group = format!("words.{}", definition["spec"]["group"].as_str().unwrap());
            in_group(&mut definition, &group);
            server.install(&definition);
            server.wait_for(&definition);
            let own: Vec<_> = WORDS.iter().filter(|it| example.ends_with(it.0) && it.1 == kind).collect();
            assert!(!own.is_empty(), "{kind} has no rule of which a test knows");
            for (index, (_, _, before, wrong, words)) in own.into_iter().enumerate() {
                let apply = |spec: &str| {
                    let spec: Value = serde_json::from_str(spec).unwrap();
                    let mut object = crate::server::object(&definition, &spec);
                    object["metadata"]["name"] = json!(format!("words-{index}"));
                    server.cluster().apply(&object.to_string())
                };
                if let Some(before) = before {
                    apply(before).unwrap();
                }
                let told = apply(wrong).unwrap_err().to_string();
                assert!(told.contains(words), "{told}");
            }
        }
    }
}

#[test]
fn refusals_have_the_words_of_the_author() {
    let text = include_str!("words.ncl");
    let (_, _, definitions) = drafted(&Sources::single(text));
    let server = server();
    let definition = &definitions[0];
    server.install(definition);
    server.wait_for(definition);
    let refusal =
        |spec: Value| server.would_take(definition, &crate::server::object(definition, &spec)).unwrap_err();
    let told = refusal(json!({ "min": 3, "max": 2 }));
    assert!(
        told.contains("spec.min: Invalid value") && told.contains("the minimum is above the maximum"),
        "{told}"
    );
    let told = refusal(json!({ "tls": true }));
    assert!(told.contains("spec.certificate: Required value: TLS wants a certificate"), "{told}");
    // Rules of change are asked when an object is changed.
    let manifest = |spec: Value| {
        let mut object = crate::server::object(definition, &spec);
        object["metadata"]["name"] = json!("changed");
        object.to_string()
    };
    let cluster = server.cluster();
    cluster.apply(&manifest(json!({ "class": "gold", "storage": "10Gi", "regions": ["a"] }))).unwrap();
    let refused = |spec: Value| cluster.apply(&manifest(spec)).unwrap_err().to_string();
    let told = refused(json!({ "class": "tin", "storage": "10Gi", "regions": ["a"] }));
    assert!(told.contains("the class is chosen once"), "{told}");
    let told = refused(json!({ "storage": "10Gi", "regions": ["a"] }));
    assert!(told.contains("the class is chosen once"), "leaving it out is a change too: {told}");
    let told = refused(json!({ "class": "gold", "storage": "9Gi", "regions": ["a"] }));
    assert!(told.contains("storage may grow, not shrink"), "{told}");
    let told = refused(json!({ "class": "gold", "storage": "10Gi", "regions": ["b"] }));
    assert!(told.contains("regions may grow, not shrink"), "{told}");
    cluster
        .apply(&manifest(json!({ "class": "gold", "storage": "10240Mi", "regions": ["b", "a"] })))
        .unwrap();
    let shown = cluster.kubectl(&["get", "words", "changed"]).unwrap();
    assert!(shown.starts_with("NAME      READY   REASON   AGE   CLASS"), "{shown}");
    let explained = cluster.kubectl(&["explain", "words.spec.class"]).unwrap();
    assert!(explained.contains("The class of the thing."), "{explained}");
}
