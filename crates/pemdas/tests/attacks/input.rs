//! ConfigMaps that are no blueprints, or hostile ones: each is told what is wrong, and harms no other.

use serde_json::{Value, json};

use super::{
    bed::until,
    operators::{Plan, warned},
    space::Space,
};

/// A blueprint that is as it should be.
pub(crate) const NOTE: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "note",
  kinds.Note = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.value = the.root.spec.value,
    },
  },
} | Blueprint
"#;

/// A string that doubles forty times: hardly a step, and more memory than there is.
const BOMB: &str =
    r#"std.array.fold_left (fun text _turn => text ++ text) "xxxxxxxxxxxxxxxx" (std.array.range 0 40)"#;

fn config_map(name: &str, fields: &Value) -> Value {
    let mut map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "pemdas.dev/blueprint": "" } },
    });
    map.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    map
}

/// Text that does not shrink when it is compressed.
fn noise(size: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut text = String::with_capacity(size);
    while text.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push(char::from(b'!' + u8::try_from(state % 90).unwrap()));
    }
    text
}

#[test]
fn whatever_is_no_blueprint_is_told_on_the_config_map_and_as_an_event_and_harms_no_other() {
    let space = Space::new("no-blueprint");
    let _operator = Plan::over(&[&space]).start();
    let main = |source: &str| json!({ "data": { "main.ncl": source } });
    let large = format!("{}\n", noise(1_000_000));
    let cases = [
        ("text", main("hello there")),
        ("number", main("42")),
        ("empty", json!({})),
        ("other-keys", json!({ "data": { "config.yaml": "a: 1" } })),
        ("binary", json!({ "binaryData": { "main.ncl": "AAECAw==" } })),
        ("large", main(&large)),
        ("endless", main("let rec f = fun x => f x in f 1")),
        ("bomb", main(&format!("std.string.length ({BOMB})"))),
        ("recursion", main("let rec f = fun x => 1 + f (x + 1) in f 1")),
        ("nested", main(&"(".repeat(20_000))),
        ("import", main("import \"/etc/passwd\"")),
    ];
    for (name, fields) in &cases {
        space.apply(&config_map(name, fields));
    }
    // While all of these are read, a good one comes.
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    for (name, _) in &cases {
        let told = until(&format!("{name} is told"), || {
            space.told(name).filter(|it| it["problems"][0]["message"].is_string())
        });
        let problem = &told["problems"][0];
        let (code, message) = (problem["code"].as_str().unwrap(), problem["message"].as_str().unwrap());
        assert!(code.starts_with("PM") && message.len() > 10, "{name}: {problem}");
        assert_eq!(told["revision"], Value::Null, "{name}");
        warned(&space, name, code);
    }
    // Mended, it runs, and says no more that it is broken.
    space.apply(&config_map("text", &main(&NOTE.replace("Note", "Other").replace("GROUP", &space.group))));
    space.runs("text");
    let told = until("it is well", || space.told("text").filter(|it| it["problems"] == json!([])));
    assert!(told["revision"].is_string());
}

#[test]
fn hostile_code_of_one_instance_is_told_in_its_status_and_others_do_not_wait_for_it() {
    let space = Space::new("hostile");
    let _operator = Plan::over(&[&space]).start();
    let hostile = NOTE.replace(
        "data.value = the.root.spec.value",
        r#"data.value =
          let rec endless = fun x => endless x in
          let rec deep = fun x => "%{std.to_string 1}%{deep (x + 1)}" in
          the.root.spec.value |> match {
            "endless" => endless 1,
            "bomb" => BOMB,
            "deep" => deep 1,
            value => value,
          }"#,
    );
    let hostile = hostile.replace("BOMB", BOMB);
    space.blueprint("blueprint", &hostile);
    space.runs("blueprint");
    for value in ["endless", "bomb", "deep"] {
        space.instance("Note", value, &json!({ "value": value }));
    }
    space.instance("Note", "good", &json!({ "value": "good" }));
    space.ready("Note", "good");
    for value in ["endless", "bomb", "deep"] {
        let note = until("it says why", || {
            space
                .get(&space.kind("Note"), value)
                .filter(|it| it["status"]["pemdas"]["nodes"][0]["why"].is_string())
        });
        let why = note["status"]["pemdas"]["nodes"][0]["why"].as_str().unwrap();
        assert!(why.contains("nodes.map.template"), "{why}");
        warned(&space, value, "nodes.map.template");
    }
    // And it can be mended.
    space.instance("Note", "endless", &json!({ "value": "ended" }));
    space.ready("Note", "endless");
    space.instance("Note", "late", &json!({ "value": "late" }));
    space.ready("Note", "late");
}
