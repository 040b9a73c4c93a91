//! Templates of blueprints against the types of Kubernetes: what is told, and exactly where.
// The helpers of tests stand outside the functions that the lint takes for tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use pemdas_core::diagnostic::Diagnostic;
use pemdas_nickel::{Limits, Sources, outline};

fn blueprint(nodes: &str) -> String {
    blueprint_with("", nodes)
}

fn blueprint_with(lets: &str, nodes: &str) -> String {
    format!(
        r#"let {{ Blueprint, Int, .. }} = import "pemdas/v1.ncl" in
{lets}
{{
  name = "test",
  kinds.Thing = {{ group = "example.com", versions.v1.spec = {{ size | Int, name | String }} }},
  nodes = {{
    thing = {{ root = kinds.Thing, also = ["it"] }},
    {nodes}
  }},
}} | Blueprint"#
    )
}

/// The diagnostics about Kubernetes' types: code, the text at the place, the hint.
fn told_of(sources: &Sources) -> Vec<String> {
    let (_, outline) = outline::load(sources, &Limits::default());
    assert!(outline.blueprint.is_some(), "{:#?}", outline.diagnostics);
    let line = |diagnostic: &Diagnostic| {
        let span = &diagnostic.labels[0].span;
        let text = &sources.get(&span.file).unwrap()[span.start as usize..span.end as usize];
        let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{} `{text}`{hint}", diagnostic.code)
    };
    outline.diagnostics.iter().filter(|diagnostic| diagnostic.code.starts_with("PM03")).map(line).collect()
}

fn told(text: &str) -> Vec<String> {
    told_of(&Sources::single(text))
}

fn template(body: &str) -> Vec<String> {
    told(&blueprint(&format!("it.template = fun the => {body}")))
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_template_that_is_no_function_is_looked_at_too() {
    let broken = r#"{ apiVersion = "v1", kind = "ConfigMap", metadata.name = "one", dat.a = "b" }"#;
    let expected = ["PM0301 `dat` (did you mean data?)"];
    assert_eq!(told(&blueprint(&format!("it.template = {broken}"))), expected);
    assert_eq!(told(&blueprint(&format!("it = {{ template = {broken} }}"))), expected);
    assert_eq!(told(&blueprint_with(&format!("let one = {broken} in"), "it.template = one")), expected);
    let made = format!("let made = fun name_ => {broken} & {{ metadata.labels.of = name_ }} in");
    assert_eq!(told(&blueprint_with(&made, r#"it.template = made "x""#)), expected);
    let curried = format!("let made = fun name_ => fun the => {broken} in");
    let found = told(&blueprint_with(&curried, r#"it.template = made "x""#));
    assert_eq!(found, expected, "a function that makes the template");
    let right = r#"{ apiVersion = "v1", kind = "ConfigMap", metadata.name = "one", data.a = "b" }"#;
    assert_eq!(told(&blueprint(&format!("it.template = {right}"))), NOTHING);
    assert_eq!(
        told(&blueprint(r#"it.template = { apiVersion = "v1", kind = "ConfgMap", metadata.name = "one" }"#))
            .len(),
        1,
        "told once"
    );
}

#[test]
fn a_misspelt_and_a_mistyped_field_are_told_where_they_stand() {
    let found = template(
        r#"{
        apiVersion = "apps/v1", kind = "Deployment",
        metadata.name = the.root.metadata.name,
        spec = {
          replicsa = 3,
          selector.matchLabels = { app = the.root.metadata.name },
          template = {
            metadata.labels.app = the.root.metadata.name,
            spec.containers = [{
              name = "web", image = "web:%{the.root.spec.name}",
              ports = [{ containerPort = "8080" }],
              env = [{ name = "SIZE", value = 3 }],
              imagePullPolicy = 'Allways,
              resources.limits.memory = "1GB",
            }],
          },
        },
      }"#,
    );
    assert_eq!(
        found,
        [
            "PM0301 `replicsa` (did you mean replicas?)",
            "PM0302 `\"8080\"` (write 8080 without quotes)",
            "PM0302 `3` (write \"3\" in quotes)",
            "PM0305 `'Allways` (did you mean \"Always\"?)",
            "PM0304 `\"1GB\"`",
        ]
    );
}

#[test]
fn a_good_template_is_silent() {
    let found = template(
        r#"{
        apiVersion = "apps/v1", kind = "Deployment",
        metadata = { name = the.root.metadata.name, labels = { app = "x" } },
        spec = {
          replicas = the.root.spec.size, strategy = { type = 'Recreate },
          minReadySeconds = the.root.spec.size * 2,
          paused = the.root.spec.size == 0,
          progressDeadlineSeconds = if the.root.spec.size > 3 then 600 else 300,
          selector.matchLabels.app = "x",
          template = { metadata.labels.app = "x", spec = { containers = [{ name = "c", image = "i" }] @ [] } },
        },
      }"#,
    );
    assert_eq!(found, NOTHING);
}

#[test]
fn missing_fields_are_told_at_the_record() {
    assert_eq!(
        template(
            r#"{ apiVersion = "apps/v1", kind = "Deployment", metadata.name = "a", spec = { replicas = 1, selector = {} } }"#
        ),
        ["PM0303 `{ replicas = 1, selector = {} }`"]
    );
    // Where something computed is merged in, nothing is missing for sure.
    assert_eq!(
        template(
            r#"{ apiVersion = "apps/v1", kind = "Deployment", metadata.name = "a", spec = { replicas = 1 } & the.root.spec }"#
        ),
        NOTHING
    );
    for other in [
        "the.root.spec",
        "(if the.root.spec.size > 1 then { spec.paused = true } else {})",
        "{ \"%{the.root.spec.name}\" = 1 }",
    ] {
        let body =
            r#"{ apiVersion = "apps/v1", kind = "Deployment", metadata.name = "a", spec.replicas = 1 }"#;
        assert_eq!(template(&format!("{body} & {other}")), NOTHING, "{other}");
    }
}

#[test]
fn names_imports_and_helper_functions_are_followed() {
    let lets = r#"
let the_labels = { app = 7 } in
let container = fun image_ => { name = "c", image = image_, imag = 1 } in
let common = import "common.ncl" in
let Converted = std.contract.custom (fun _label _value => 'Ok 1) in
let port | Converted = "not judged: a contract may change it" in
let delay | String = "judged: a type changes nothing" in"#;
    let text = blueprint_with(
        lets,
        r#"it.template = fun the => {
        apiVersion = "apps/v1", kind = "Deployment", metadata = { name = "a", labels = the_labels },
        spec = {
          selector = {}, replicas = common.replicas, minReadySeconds = port, progressDeadlineSeconds = delay,
          template.spec.containers = [container "x"],
        } & common.extra,
      }"#,
    );
    let sources = Sources::single(text).with("common.ncl", "{ replicas = \"many\", extra = { paused = 1 } }");
    assert_eq!(
        told_of(&sources),
        [
            "PM0302 `1`",
            "PM0302 `7` (write \"7\" in quotes)",
            "PM0301 `imag` (did you mean image?)",
            "PM0302 `common.replicas`",
            "PM0302 `delay`",
        ]
    );
}

#[test]
fn branches_are_judged_each() {
    let found = template(
        r#"{
        apiVersion = "v1", kind = "Service", metadata.name = "a",
        spec = {
          type = if the.root.spec.size > 1 then "LoadBalancer" else "ClusterIp",
          ports = the.root.spec.name |> match { "a" => [{ port = 80 }], _ => [{ prot = 80, port = 1 }] },
        },
      }"#,
    );
    assert_eq!(
        found,
        ["PM0305 `\"ClusterIp\"` (did you mean \"ClusterIP\"?)", "PM0301 `prot` (did you mean port?)"]
    );
}

#[test]
fn kinds_that_are_not_served_are_told() {
    assert_eq!(
        template(r#"{ apiVersion = "extensions/v1beta1", kind = "Ingress", metadata.name = "a" }"#),
        ["PM0307 `\"extensions/v1beta1\"` (Ingress is in networking.k8s.io/v1)"]
    );
    let observed = told(&blueprint(
        r#"it = { observe = fun the => { apiVersion = "v1", kind = "Sercet", name = "a" }, ready = {} }"#,
    ));
    assert_eq!(observed.len(), 1, "{observed:?}");
    assert!(
        observed[0].starts_with("PM0307") && observed[0].ends_with("(did you mean Secret?)"),
        "{observed:?}"
    );
    let root = told(&blueprint(
        r#"it.template = fun _the => { apiVersion = "example.com/v9", kind = "Widget", any = 1 }"#,
    ));
    assert_eq!(root, NOTHING);
}

#[test]
fn the_patch_of_a_state_is_judged_as_its_object() {
    let found = told(&blueprint(
        r#"it = { before = ["drained"], template = fun the => {
          apiVersion = "apps/v1", kind = "Deployment", metadata.name = "a",
          spec = { selector = {}, template.spec.containers = [] },
        } },
        drained = { state_of = "it", template = fun _the => { spec = { replicas = "0", replica = 0 } } }"#,
    ));
    assert_eq!(
        found,
        ["PM0302 `\"0\"` (write 0 without quotes)", "PM0301 `replica` (did you mean replicas?)"]
    );
}

#[test]
fn cluster_kinds_and_server_fields() {
    assert_eq!(
        template(
            r#"{ apiVersion = "v1", kind = "Namespace", metadata = { name = "a", namespace = "b", uid = "c" }, status.phase = "Active" }"#
        ),
        [
            "PM0308 `namespace` (remove metadata.namespace)",
            "PM0309 `uid` (remove it)",
            "PM0309 `status` (remove it)",
        ]
    );
}

#[test]
fn what_is_not_exported_is_no_field() {
    assert_eq!(
        template(
            r#"{ apiVersion = "v1", kind = "ConfigMap", metadata.name = "a", helper | not_exported = 1, data.a = "b" }"#
        ),
        NOTHING
    );
}

#[test]
fn the_contract_of_a_kind_hides_nothing() {
    let text = blueprint_with(
        r#"let Deployment = import "k8s/apps/v1/Deployment.ncl" in"#,
        r#"it.template = fun _the => { apiVersion = "apps/v1", kind = "Deployment", metadata.name = "a", sepc = {} } | Deployment"#,
    );
    assert_eq!(told(&text), ["PM0301 `sepc` (did you mean spec?)"]);
}

#[test]
fn no_program_does_harm() {
    for body in [
        "{ apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = \"a\", data = { a = b, b = a } }",
        "let rec f = fun x => { apiVersion = \"v1\", kind = \"Pod\", spec = f x } in f 1",
        "let rec r = { apiVersion = \"v1\", kind = \"Pod\", metadata = r } in r",
        "3",
        "fun x => x",
        "the",
    ] {
        let text = blueprint(&format!("it.template = fun the => {body}"));
        let _ = outline::load(&Sources::single(text), &Limits::default());
    }
}
