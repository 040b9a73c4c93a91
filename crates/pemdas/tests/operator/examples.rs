//! The examples of the repository, from the first object to the last.

use std::fs;

use serde_json::Value;

use super::{
    bed::{condition, shared, until},
    space::Space,
};

fn file(example: &str, path: &str) -> String {
    fs::read_to_string(format!("{}/../../examples/{example}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn a_web_app_comes_up_and_goes() {
    let _running = shared();
    let space = Space::new("web-app");
    space.blueprint("blueprint", &file("web-app", "main.ncl"));
    space.runs("blueprint");
    let mut app: Value = serde_saphyr::from_str(&file("web-app", "sample/app.yaml")).unwrap();
    app["metadata"]["namespace"] = Value::from(space.name.clone());
    space.apply(&app);
    let kind = "webapp.web.example.com";
    let ready = until("it is ready", || {
        space.get(kind, "shop").filter(|it| condition(it, "Ready")["status"] == "True")
    });
    assert!(ready["status"]["pemdas"]["nodes"].as_array().is_some_and(|it| it.len() > 2), "{ready:#}");
    assert!(!space.names("deployment").is_empty());
    space.delete(kind, "shop");
    until("nothing is left", || space.names("deployment").is_empty().then_some(()));
}
