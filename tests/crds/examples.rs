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

#[test]
fn an_example_refuses_with_the_words_of_its_author() {
    let example = examples().into_iter().find(|path| path.ends_with("postgres")).unwrap();
    let (_, _, definitions) = drafted(&sources(&example));
    let mut definition =
        definitions.into_iter().find(|it| it["spec"]["names"]["kind"] == "PostgresInstance").unwrap();
    // A group of its own: the examples are installed by another test as well.
    definition["spec"]["group"] = json!("words.db.example.com");
    definition["metadata"]["name"] = json!("postgresinstances.words.db.example.com");
    definition["spec"]["names"].as_object_mut().unwrap().remove("shortNames");
    let server = server();
    server.install(&definition);
    server.wait_for(&definition);
    let apply = |storage: &str| {
        server
            .cluster()
            .apply(&crate::server::object(&definition, &json!({ "storage": storage })).to_string())
    };
    apply("20Gi").unwrap();
    let told = apply("10Gi").unwrap_err().to_string();
    assert!(told.contains("spec.storage: Forbidden: a volume can grow, not shrink"), "{told}");
    apply("30Gi").unwrap();
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
