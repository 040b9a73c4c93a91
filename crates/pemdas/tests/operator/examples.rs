//! The examples of the repository, from the first object to the last.

use std::fs;

use serde_json::Value;

use super::bed::{Space, shared, until};

/// Loads an example with its own group.
fn load(space: &Space, example: &str) {
    let path = format!("{}/../../examples/{example}/main.ncl", env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(path).unwrap().replace("\"example.com\"", "\"GROUP\"");
    space.blueprint("blueprint", &source.replace("example.com/v1", "GROUP/v1"));
    space.runs("blueprint");
}

/// The objects of an example's sample.
fn samples(space: &Space, example: &str) -> Vec<Value> {
    let folder = format!("{}/../../examples/{example}/sample", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    // What a cluster would show is for the tests of functions.
    files.retain(|it| !it.ends_with("live.yaml"));
    files.sort();
    files
        .iter()
        .map(|it| fs::read_to_string(it).unwrap().replace("example.com/v1", &format!("{}/v1", space.group)))
        .map(|text| serde_saphyr::from_str(&text).unwrap())
        .collect()
}

#[test]
fn a_web_app_comes_up_changes_and_goes() {
    let _running = shared();
    let space = Space::new("web-app");
    load(&space, "web-app");
    for mut object in samples(&space, "web-app") {
        object["metadata"]["namespace"] = Value::from(space.name.clone());
        space.apply(&object);
        let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
        let ready = space.ready(kind, name);
        assert!(ready["status"]["pemdas"]["nodes"].as_array().is_some_and(|it| !it.is_empty()));
        space.kubectl(&["delete", &space.kind(kind), name]).unwrap();
        space.gone(&space.kind(kind), name);
    }
    until("nothing is left", || space.names("deployment").is_empty().then_some(()));
}
