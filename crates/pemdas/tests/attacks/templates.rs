//! Templates that render what they may not: told in the status and as an Event, and the neighbour is not harmed.

use serde_json::{Value, json};

use super::{
    bed::{condition, everything, until},
    given::allow,
    operators::{Plan, warned},
    space::Space,
};

/// What is rendered is what the instance says: no check before it runs can know.
const ODD: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "odd",
  kinds.Odd = { group = "GROUP", versions.v1.spec = {
    name | Dyn | optional, namespace | Dyn | optional, labels | Dyn | optional, data | Dyn | optional,
  } },
  nodes = {
    instance = { root = kinds.Odd, also = ["map"] },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap",
      metadata = {
        name = std.record.get_or "name" the.root.metadata.name the.root.spec,
        namespace = std.record.get_or "namespace" the.root.metadata.namespace the.root.spec,
        labels = std.record.get_or "labels" {} the.root.spec,
      },
      data = std.record.get_or "data" {} the.root.spec,
    },
  },
} | Blueprint
"#;

/// What the first node of an instance says.
fn why(space: &Space, name: &str) -> (Value, String) {
    until(&format!("{name} says why"), || {
        let odd = space.get(&space.kind("Odd"), name)?;
        let why = odd["status"]["pemdas"]["nodes"][0]["why"].as_str()?.to_owned();
        // What a slow machine tells on the way is no reason.
        (why != "it is being created").then_some((odd, why))
    })
}

#[test]
fn what_is_rendered_and_cannot_be_applied_is_told_and_the_neighbour_is_ready() {
    let space = Space::new("odd");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", ODD);
    space.runs("blueprint");
    let cases = [
        ("empty-name", json!({ "name": "" })),
        ("bad-name", json!({ "name": "../../secrets/x" })),
        ("number-name", json!({ "name": 7 })),
        ("record-name", json!({ "name": { "a": 1 } })),
        ("nowhere", json!({ "namespace": "there-is-no-such-namespace" })),
        ("bad-namespace", json!({ "namespace": "../x" })),
        ("bad-labels", json!({ "labels": "text" })),
        ("text", json!({ "data": "text" })),
        ("list", json!({ "data": [1] })),
        ("numbers", json!({ "data": { "value": 7 } })),
        ("bad-key", json!({ "data": { "no such/key": "x" } })),
        ("large", json!({ "data": { "value": "x".repeat(1_100_000) } })),
    ];
    for (name, spec) in &cases {
        space.instance("Odd", name, spec);
    }
    space.instance("Odd", "good", &json!({ "data": { "value": "good" } }));
    space.ready("Odd", "good");
    for (case, _) in &cases {
        let (odd, why) = why(&space, case);
        assert_eq!(condition(&odd, "Ready")["status"], "False", "{case}");
        assert!(why.len() > 15, "{case}: {why}");
        warned(&space, case, "");
    }
    // A label of ours in a template is overwritten by ours.
    space.instance("Odd", "our-label", &json!({ "labels": { "pemdas.dev/root": "somebody-else" } }));
    space.ready("Odd", "our-label");
    assert_eq!(space.names("configmap"), ["blueprint", "good", "our-label"]);
    space.instance("Odd", "list", &json!({ "data": { "value": "mended" } }));
    space.ready("Odd", "list");
}

#[test]
fn a_template_of_another_kind_or_of_no_object_is_refused_before_anything_runs() {
    let space = Space::new("no-object");
    let _operator = Plan::over(&[&space]).start();
    let cases = [
        ("number", "42"),
        ("list", "[{ apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = \"x\" }]"),
        ("computed", "{ apiVersion = \"v1\", kind = the.root.spec.name, metadata.name = \"x\" }"),
        (
            "either",
            "if the.root.spec.name == \"a\" then { apiVersion = \"v1\", kind = \"Secret\", metadata.name = \"x\" } else 7",
        ),
        ("nothing", "{ apiVersion = \"v1\", metadata.name = \"x\" }"),
    ];
    let start = ODD.find("fun the => {").unwrap() + "fun the => ".len();
    let end = ODD.find("  },\n} | Blueprint").unwrap();
    for (name, body) in cases {
        let source = format!("{}{body},\n{}", &ODD[..start], &ODD[end..]);
        space.blueprint(name, &source.replace("Odd", &format!("Odd{name}")));
        let told = until(&format!("{name} is told"), || {
            space.told(name).filter(|it| it["problems"][0]["message"].is_string())
        });
        assert_eq!(told["revision"], Value::Null, "{name}: {told}");
        let problems = told["problems"].as_array().unwrap();
        let problem = problems.iter().find(|it| it["error"] == true).expect("an error");
        assert!(problem["place"].as_str().is_some_and(|it| it.starts_with("main.ncl:")), "{name}: {problem}");
        warned(&space, name, problem["code"].as_str().unwrap());
    }
}

#[test]
fn another_instances_object_is_not_taken() {
    let (mine, yours) = (Space::new("mine"), Space::new("yours"));
    let _operator = Plan::over(&[&mine, &yours]).start();
    for space in [&mine, &yours] {
        space.blueprint("blueprint", ODD);
        space.runs("blueprint");
    }
    mine.instance("Odd", "one", &json!({ "data": { "value": "good" } }));
    mine.ready("Odd", "one");
    // Of the same blueprint, and of another one in another namespace.
    mine.instance("Odd", "two", &json!({ "name": "one", "data": { "value": "stolen" } }));
    yours.instance("Odd", "one", &json!({ "namespace": mine.name }));
    mine.stalls("Odd", "two", "belongs to another instance");
    warned(&mine, "two", "belongs to another instance");
    yours.stalls("Odd", "one", "belongs to another instance");
    warned(&yours, "one", "belongs to another instance");
    let map = mine.get("configmap", "one").unwrap();
    assert_eq!(map["data"], json!({ "value": "good" }));
    mine.ready("Odd", "one");
}

#[test]
fn a_namespace_that_the_account_may_not_use_is_told_by_name() {
    let (space, other) = (Space::poor("confined"), Space::poor("foreign"));
    allow(
        &space,
        &[
            json!({ "apiGroups": [space.group], "resources": ["*"], "verbs": ["*"] }),
            json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }),
            json!({ "apiGroups": ["", "example.com"], "resources": ["*"], "verbs": ["get", "list", "watch"] }),
        ],
    );
    space.allows("all", &json!([everything()]), &space.account("default"));
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", ODD);
    space.runs("blueprint");
    space.instance("Odd", "one", &json!({ "namespace": other.name }));
    space.instance("Odd", "good", &json!({ "data": { "value": "good" } }));
    space.ready("Odd", "good");
    let (_, why) = why(&space, "one");
    assert!(why.contains("forbidden") && why.contains(&other.name), "{why}");
    warned(&space, "one", "forbidden");
    assert_eq!(other.names("configmap"), [""; 0]);
}
