//! `pemdas test` as somebody runs it: the examples' scenarios pass, the page shows what is true, and what is wrong is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn pemdas() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pemdas"));
    command.arg("test").env("NO_COLOR", "1");
    command
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All scenarios of an example pass, and there are enough for its life.
fn lives(example: &str) {
    let output = pemdas().arg(root().join("examples").join(example)).args(["-o", "json"]).output().unwrap();
    let (said, complaints) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(complaints, "");
    let report: Value = serde_json::from_str(&said).unwrap();
    let failed: Vec<&Value> =
        report["scenarios"].as_array().unwrap().iter().filter(|it| it["passed"] != true).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(report["summary"]["passed"].as_u64().unwrap() >= 6, "{said}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn blue_green_lives() {
    lives("blue-green");
}

#[test]
fn foo_service_lives() {
    lives("foo-service");
}

#[test]
fn namespace_defaults_lives() {
    lives("namespace-defaults");
}

#[test]
fn on_secret_lives() {
    lives("on-secret");
}

#[test]
fn postgres_lives() {
    lives("postgres");
}

#[test]
fn redis_cache_lives() {
    lives("redis-cache");
}

#[test]
fn web_app_lives() {
    lives("web-app");
}

/// One in so many of all runs under faults. As many rounds of the deep tier take one of each, with as many seeds.
const SHARE: (u64, u64) = (2_000, 40);

#[test]
fn examples_under_faults_come_to_the_same() {
    let names = [
        "blue-green",
        "foo-service",
        "namespace-defaults",
        "on-secret",
        "postgres",
        "redis-cache",
        "web-app",
    ];
    let folders = names.map(|it| root().join("examples").join(it));
    let share = pemdas_tier::size(SHARE.0, SHARE.1).to_string();
    let seed = pemdas_tier::seeds(1, 1).start.to_string();
    let output =
        pemdas().args(folders).args(["--explore", "--share", &share, "--seed", &seed]).output().unwrap();
    let said = text(&output.stdout);
    assert!(said.ends_with(" a second and core: all came to the same\n"), "{said}");
    assert_eq!(output.status.code(), Some(0));
    let runs = said.lines().last().and_then(|it| it.split(' ').next()?.parse().ok()).unwrap();
    pemdas_tier::tried(runs, "runs under faults");
}

/// The blueprint of an example in a folder of its own, with this as its scenarios.
fn copy(scenarios: &str) -> tempfile::TempDir {
    let from = root().join("examples/web-app");
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("web-app");
    for part in ["sample", "scenarios"] {
        fs::create_dir_all(to.join(part)).unwrap();
    }
    for file in ["main.ncl", "access.yaml", "sample/app.yaml"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    fs::write(to.join("scenarios/life.ncl"), scenarios).unwrap();
    folder
}

fn played(folder: &Path, arguments: &[&str]) -> Output {
    pemdas().arg("web-app").args(arguments).current_dir(folder).output().unwrap()
}

/// Times of this machine say nothing, and the name of a revision changes with the library.
fn without_times(said: &str) -> String {
    let words = said.split(' ').map(|word| {
        if word.starts_with("web-app-") && word.len() == "web-app-".len() + 32 {
            return "web-app-x".to_owned();
        }
        let number = word.trim_start_matches('(');
        if number.parse::<f64>().is_ok() && number.contains('.') {
            word.replace(number, "0")
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The blocks of a page with this language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let open = format!("```{language}\n");
    page.split(open.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_page_shows_what_is_so() {
    let page = fs::read_to_string(root().join("docs/test.md")).unwrap();
    let [sample] = blocks(&page, "nickel")[..] else { panic!("the page has one sample") };
    let [passes, fails] = blocks(&page, "text")[..] else { panic!("the page shows two outputs") };
    let good = copy(sample);
    let output = played(good.path(), &[]);
    assert_eq!(text(&output.stderr), "");
    let shown = passes.split_once('\n').unwrap().1;
    assert_eq!(without_times(&text(&output.stdout)), without_times(shown));
    assert_eq!(output.status.code(), Some(0));
    let wrong = copy(&sample.replace("replicas = 3", "replicas = 4"));
    let output = played(wrong.path(), &[]);
    let said = text(&output.stdout);
    assert!(without_times(&said).contains(without_times(fails).trim_end()), "{said}");
    assert!(said.contains("1 passed, 1 failed in "), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn another_machine_reads_the_same() {
    let page = fs::read_to_string(root().join("docs/test.md")).unwrap();
    let sample = blocks(&page, "nickel")[0].replace("replicas = 3", "replicas = 4");
    let folder = copy(&sample);
    let xml = text(&played(folder.path(), &["-o", "junit"]).stdout);
    assert!(xml.contains("<testsuite name=\"web-app\" tests=\"2\" failures=\"1\""), "{xml}");
    assert!(xml.contains("<failure message=\"it is not so: WebApp shop has"), "{xml}");
    assert!(xml.contains("web-app/scenarios/life.ncl:10:7"), "{xml}");
    let json: Value = serde_json::from_slice(&played(folder.path(), &["-o", "json"]).stdout).unwrap();
    assert_eq!(json["summary"], serde_json::json!({ "passed": 1, "failed": 1 }));
    let failed = &json["scenarios"][0];
    assert!(
        failed["timeline"].as_array().unwrap().iter().any(|it| it == "0.0s > apply WebApp shop"),
        "{failed}"
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let folder = copy(
        "let { Scenarios, .. } = import \"pemdas/test/v1.ncl\" in\n{ \"a\" = { steps = [{ aply = {} }, { pass = -1 }] } } | Scenarios",
    );
    let output = played(folder.path(), &[]);
    let told = text(&output.stderr);
    for part in
        ["PM0801", "PM0802", "web-app/scenarios/life.ncl:2:20", "did you mean `apply`?", "number of seconds"]
    {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!(output.status.code(), Some(1));
    let output = played(&root().join("crates"), &[]);
    assert_eq!(output.status.code(), Some(2));
    let output = played(folder.path(), &["--fault", "x:crash-before"]);
    assert!(text(&output.stderr).contains("NUMBER:WHAT"), "{output:?}");
}

/// A blueprint of two ConfigMaps, one after the other, and its scenario.
fn small(expects: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("web-app");
    fs::create_dir_all(to.join("scenarios")).unwrap();
    let blueprint = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "small",
  nodes = {
    start = { root = { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.small = "yes" }, also = ["one", "two"] },
    one = { template = fun _the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "one", data.a = "1" } },
    two = { before = ["one"], template = fun _the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "two", data.a = "2" } },
  },
} | Blueprint"#;
    fs::write(to.join("main.ncl"), blueprint).unwrap();
    let scenario = r#"let { Scenarios, Absent, .. } = import "pemdas/test/v1.ncl" in
let start = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "start", labels.small = "yes" } } in
{
  "both come in their order" = {
    steps = [
      { first = { kind = "ConfigMap", name = "one" }, before = { kind = "ConfigMap", name = "two" } },
      { apply = start },
      EXPECTS
    ],
  },
} | Scenarios"#;
    fs::write(to.join("scenarios/life.ncl"), scenario.replace("EXPECTS", expects)).unwrap();
    folder
}

#[test]
fn a_selector_reads_where_it_says() {
    let map = |name: &str, namespace: &str, label: &str| {
        format!(
            r#"{{ apply = {{ apiVersion = "v1", kind = "ConfigMap", metadata = {{ name = "{name}", namespace = "{namespace}", labels.{label} = "yes" }} }} }},"#
        )
    };
    for (place, count) in [("", 1), (", namespace = \"other\"", 2), (", namespace = \"*\"", 3)] {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("web-app");
        fs::create_dir_all(to.join("scenarios")).unwrap();
        let blueprint = format!(
            r#"let {{ Blueprint, .. }} = import "pemdas/v1.ncl" in
{{
  name = "counts",
  nodes = {{
    start = {{ root = {{ apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.start = "yes" }}, also = ["counted"] }},
    around = {{ observe = fun _the => {{ apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.pool = "yes"{place} }} }},
    counted = {{
      before.around.extract = fun all => std.array.length (std.record.fields all),
      template = fun the => {{
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "counted", data.count = std.to_string the.around,
      }},
    }},
  }},
}} | Blueprint"#
        );
        fs::write(to.join("main.ncl"), blueprint).unwrap();
        let steps = [
            "{ apply = { apiVersion = \"v1\", kind = \"Namespace\", metadata.name = \"other\" } },"
                .to_owned(),
            map("a", "default", "pool"),
            map("b", "other", "pool"),
            map("c", "other", "pool"),
            map("start", "default", "start"),
            format!(
                "{{ eventually = {{ kind = \"ConfigMap\", name = \"counted\", is.data.count = \"{count}\" }} }},"
            ),
        ];
        let scenario = format!(
            "let {{ Scenarios, .. }} = import \"pemdas/test/v1.ncl\" in\n{{ \"it counts\" = {{ steps = [{}] }} }} | Scenarios",
            steps.concat()
        );
        fs::write(to.join("scenarios/life.ncl"), scenario).unwrap();
        let output = played(folder.path(), &[]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{place}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
}

#[test]
fn every_fault_comes_to_the_same() {
    let folder = small(r#"{ eventually = { kind = "ConfigMap", name = "two" } },"#);
    let output = played(folder.path(), &["--explore"]);
    let said = text(&output.stdout);
    assert_eq!(text(&output.stderr), "");
    assert!(said.ends_with(" a second and core: all came to the same\n"), "{said}");
    let runs: usize = said.lines().last().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(runs > 50, "{said}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_goes_wrong_under_a_fault_can_be_seen_again() {
    // Without a fault both are there after a second; whoever has to try again is later, and nobody has come before.
    let folder = small(
        r#"{ pass = 1 }, { first = { kind = "ConfigMap", name = "nobody" }, before = { kind = "ConfigMap", name = "two" } }, { eventually = { kind = "ConfigMap", name = "two" } },"#,
    );
    let output = played(folder.path(), &["--explore"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let wrong = "ConfigMap two exists before ConfigMap nobody exists";
    assert!(said.contains(wrong) && said.contains("what happened"), "{said}");
    let again = said.lines().find_map(|it| it.split_once("to see it again: ")).unwrap().1;
    let begins = "pemdas test web-app --filter 'both come in their order' --explore --seed 1 --fault ";
    let fault = again.strip_prefix(begins).unwrap_or_else(|| panic!("{again}"));
    let output = played(folder.path(), &["--explore", "--fault", fault]);
    assert!(text(&output.stdout).contains(wrong) && output.status.code() == Some(1), "{output:?}");
}

#[test]
fn a_filter_leaves_out_the_rest() {
    let page = fs::read_to_string(root().join("docs/test.md")).unwrap();
    let folder = copy(blocks(&page, "nickel")[0]);
    let said = text(&played(folder.path(), &["--filter", "closes"]).stdout);
    assert!(said.contains("1 passed, 1 left out in ") && !said.contains("nobody is let in"), "{said}");
    let output = played(folder.path(), &["--filter", "nothing like it"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--list"), "{output:?}");
}

#[test]
fn a_run_that_is_named_without_its_digest_is_told() {
    let folder = small(r#"{ now = { kind = "Job", name = "load", is = Ready } },"#);
    let main = folder.path().join("web-app/main.ncl");
    let source = fs::read_to_string(&main).unwrap();
    let job = r#"load = {
      once = true,
      template = { apiVersion = "batch/v1", kind = "Job", metadata.name = "load",
        spec.template.spec = { restartPolicy = "Never", containers = [{ name = "c", image = "c:1" }] } },
    },
    two ="#;
    let with_job = source.replace("also = [", "also = [\"load\", ").replace("two =", job);
    fs::write(&main, with_job).unwrap();
    let life = folder.path().join("web-app/scenarios/life.ncl");
    let steps = fs::read_to_string(&life).unwrap().replace("Absent, ..", "Ready, ..");
    fs::write(&life, steps.replace("{ now", "{ settles = true }, { now")).unwrap();
    let said = text(&played(folder.path(), &[]).stdout);
    assert!(
        said.contains("hint: there was Job load-") && said.contains("`name = matches \"^load-\"`"),
        "{said}"
    );
}

#[test]
fn the_crds_beside_a_blueprint_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("web-app");
    fs::create_dir_all(to.join("scenarios")).unwrap();
    let blueprint = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "site",
  nodes = {
    start = { root = { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.site = "yes" }, also = ["issuer"] },
    issuer = {
      template = fun _the => { apiVersion = "example.com/v1", kind = "Issuer", metadata.name = "letters" },
    },
  },
} | Blueprint"#;
    fs::write(to.join("main.ncl"), blueprint).unwrap();
    let scenario = r#"let { Scenarios, .. } = import "pemdas/test/v1.ncl" in
let start = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "start", labels.site = "yes" } } in
{ "an issuer comes" = { steps = [{ apply = start }, { eventually = { kind = "Issuer", name = "letters" } }] } } | Scenarios"#;
    fs::write(to.join("scenarios/life.ncl"), scenario).unwrap();
    let crd = r"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: issuers.example.com }
spec:
  group: example.com
  names: { kind: Issuer, plural: issuers }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
";
    let without = played(folder.path(), &[]);
    assert_eq!(without.status.code(), Some(1), "{}", text(&without.stdout));
    fs::write(to.join("crds.yaml"), crd).unwrap();
    let with = played(folder.path(), &[]);
    assert_eq!(with.status.code(), Some(0), "{}{}", text(&with.stdout), text(&with.stderr));
    fs::write(to.join("crds.yaml"), "- [").unwrap();
    let broken = played(folder.path(), &[]);
    assert!(text(&broken.stderr).contains("crds.yaml is no YAML"), "{}", text(&broken.stderr));
}

/// A blueprint that waits for a certificate, which a controller of somebody else makes, and its scenario.
fn waiting_for_a_certificate(scenario: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("web-app");
    fs::create_dir_all(to.join("scenarios")).unwrap();
    let blueprint = r#"let { Blueprint, Ready, .. } = import "pemdas/v1.ncl" in
{
  name = "site",
  nodes = {
    site = { root = { apiVersion = "v1", kind = "ConfigMap", selector.matchLabels.site = "yes" }, also = ["certificate", "page"] },
    certificate = {
      template = fun the => {
        apiVersion = "certs.example.com/v1", kind = "Certificate", metadata.name = the.root.metadata.name, spec.host = "a",
      },
    },
    page = {
      before.certificate = { until = Ready, extract = fun live => { secret = live.status.secret } },
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "page", data.secret = the.certificate.secret,
      },
    },
  },
} | Blueprint"#;
    fs::write(to.join("main.ncl"), blueprint).unwrap();
    let page = r#"let { Scenarios, Absent, Ready, not, .. } = import "pemdas/test/v1.ncl" in
let anything = { type = "object", x-kubernetes-preserve-unknown-fields = true } in
let crd = {
  apiVersion = "apiextensions.k8s.io/v1",
  kind = "CustomResourceDefinition",
  metadata.name = "certificates.certs.example.com",
  spec = {
    group = "certs.example.com",
    scope = "Namespaced",
    names = { kind = "Certificate", plural = "certificates" },
    versions = [{
      name = "v1", served = true, storage = true, subresources.status = {},
      schema.openAPIV3Schema = { type = "object", properties = { spec = anything, status = anything } },
    }],
  },
} in
let site = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "shop", labels.site = "yes" } } in
let certificate = { kind = "Certificate", name = "shop" } in
let page = { kind = "ConfigMap", name = "page" } in
SCENARIO | Scenarios"#;
    fs::write(to.join("scenarios/life.ncl"), page.replace("SCENARIO", scenario)).unwrap();
    folder
}

#[test]
fn the_controller_of_another_kind_can_be_played() {
    let folder = waiting_for_a_certificate(
        r#"{
  "by a rule" = {
    given = [crd, site],
    workloads = [{ kind = "Certificate", after = 5, status = { secret = "tls-1" } }],
    steps = [
      { eventually = certificate },
      { now = certificate & { is = not Ready } },
      { first = certificate & { is = Ready }, before = page },
      { eventually = page & { is = { data.secret = "tls-1" } } },
    ],
  },
  "that fails" = {
    given = [crd, site],
    workloads = [{ kind = "Certificate", fails = "no such issuer" }],
    steps = [
      { pass = 60 },
      { now = certificate & { is = not Ready } },
      { now = page & { is = Absent } },
    ],
  },
  "by a patch of its status" = {
    given = [crd, site],
    workloads = [{ kind = "Certificate", hangs = true }],
    steps = [
      { eventually = certificate },
      { pass = 10 },
      { now = page & { is = Absent } },
      { patch = certificate, with = { status = { secret = "tls-2", conditions = [{ type = "Ready", status = "True" }] } } },
      { eventually = page & { is = { data.secret = "tls-2" } } },
    ],
  },
  "that was there before" = {
    given = [crd, {
      apiVersion = "certs.example.com/v1", kind = "Certificate", metadata.name = "other", spec.host = "b",
      status = { secret = "tls-3" },
    }],
    steps = [
      { now = { kind = "Certificate", name = "other", is = { status.secret = "tls-3" } } },
    ],
  },
}"#,
    );
    let output = played(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("4 passed"), "{output:?}");
}

#[test]
fn what_would_have_no_effect_is_told() {
    let folder = waiting_for_a_certificate(
        r#"{
  "nothing new" = { given = [site], steps = [{ patch = { kind = "ConfigMap", name = "shop" }, with = { metadata.labels.site = "yes" } }] },
  "ready" = {
    given = [crd, site],
    workloads = [{ kind = "Certificate" }],
    steps = [
      { eventually = certificate & { is = Ready } },
      { now = certificate & { is = not Ready } },
    ],
  },
}"#,
    );
    let output = played(folder.path(), &[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("ConfigMap shop: the patch changes nothing"), "{said}");
    assert!(said.contains("  - the object: not Ready\n  + the object: Ready (Ready=True)\n"), "{said}");
    assert!(said.contains("? wait: eventually Certificate shop is Ready"), "{said}");
    let folder = waiting_for_a_certificate(
        r#"{ "a" = { workloads = [{ kind = "Certificate", fails = "x", status = {} }], steps = [{ pass = 1 }] } }"#,
    );
    let told = text(&played(folder.path(), &[]).stderr);
    assert!(told.contains("PM0802") && told.contains("once it is ready"), "{told}");
}

#[test]
fn a_field_that_hides_a_name_is_told_as_in_a_blueprint() {
    let folder = waiting_for_a_certificate(
        r#"let apply = fun name => site & { metadata.labels.called = name } in { "a" = { steps = [{ apply = apply "x" }] } }"#,
    );
    let output = played(folder.path(), &[]);
    let told = text(&output.stderr);
    assert!(told.contains("PM0220") && told.contains("the field `apply` is defined by itself"), "{told}");
    assert_eq!(output.status.code(), Some(1));
}

/// A kind with these fields, and what happens when another revision wants others.
fn kind_that_changes(steps: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("web-app");
    fs::create_dir_all(to.join("scenarios")).unwrap();
    let blueprint = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "notes",
  kinds.Note = {
    group = "notes.example.com",
    versions.v1.spec = {
      text | String | doc "What it says.",
      color | String | doc "How it looks." | default = "blue",
    },
  },
  nodes = {
    note = { root = kinds.Note, also = ["paper"] },
    paper.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data = { text = the.root.spec.text, by = "first" },
    },
  },
} | Blueprint"#;
    fs::write(to.join("main.ncl"), blueprint).unwrap();
    let scenario = r#"let { Scenarios, Absent, Ready, not, .. } = import "pemdas/test/v1.ncl" in
let note = fun name_ text_ => {
  apiVersion = "notes.example.com/v1", kind = "Note", metadata.name = name_, spec.text = text_,
} in
let paper = fun name_ text_ by_ => { kind = "ConfigMap", name = name_, is.data = { text = text_, by = by_ } } in
let held = { kind = "Event", is = { reason = "DefinitionRefused", regarding.name = "notes" } } in
let stalls = { kind = "Event", is = { reason = "BreaksContract" } } in
let changed = { edit = "main.ncl", replace = "by = \"first\"", by = "by = \"second\"" } in
{
  "a definition changes" = {
    given = [note "one" "a", note "two" "a"],
    steps = [
      { never = stalls },
      { eventually = paper "one" "a" "first" },
      { eventually = { kind = "Note", name = "two", is = Ready } },
      STEPS
    ],
  },
} | Scenarios"#;
    fs::write(to.join("scenarios/life.ncl"), scenario.replace("STEPS", steps)).unwrap();
    folder
}

fn passes(steps: &str) {
    let output = played(kind_that_changes(steps).path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// What the last revision decides for instances that run, also for new ones, and after a restart.
const RUNS_ON: &str = r#"
      { eventually = held },
      { settles = true },
      { now = paper "one" "a" "first" },
      { patch = { kind = "Note", name = "one" }, with = { spec.text = "b" } },
      { eventually = paper "one" "b" "first" },
      { restart = true },
      { apply = note "three" "c" },
      { eventually = paper "three" "c" "first" },
      { settles = true },
      { now = { kind = "Note", name = "two", is = Ready } },
"#;

#[test]
fn a_revision_whose_definition_is_refused_stalls_nobody() {
    // A field with a default goes: the API server fills it in all the same.
    let gone = r#"{ edit = "main.ncl", replace = "      color | String | doc \"How it looks.\" | default = \"blue\",\n", by = "" }, "#;
    // A field is required: the API server drops it.
    let new = r#"{ edit = "main.ncl", replace = "      text | String", by = "      author | String | doc \"Who wrote it.\",\n      text | String" }, "#;
    for change in [gone, new] {
        passes(&format!("{change} changed, {RUNS_ON}"));
    }
}

#[test]
fn a_revision_that_was_held_back_runs_when_its_definition_serves_it() {
    // It is mended: the field is there again.
    passes(&format!(
        r#"{{ edit = "main.ncl", replace = "| default = \"blue\"", by = "| default = \"red\"" }},
      changed,
      {RUNS_ON}
      {{ edit = "main.ncl", replace = "| default = \"red\"", by = "| default = \"blue\"" }},
      {{ eventually = paper "one" "b" "second" }},
      {{ eventually = {{ kind = "Note", name = "two", is = Ready }} }},"#
    ));
}

#[test]
fn a_revision_whose_definition_may_change_runs_and_can_be_taken_back() {
    passes(
        r#"changed,
      { edit = "main.ncl", replace = "      text | String", by = "      size | String | doc \"How large.\" | optional,\n      text | String" },
      { eventually = paper "one" "a" "second" },
      { edit = "main.ncl", replace = "      size | String | doc \"How large.\" | optional,\n      text | String", by = "      text | String" },
      { edit = "main.ncl", replace = "by = \"second\"", by = "by = \"first\"" },
      { eventually = paper "one" "a" "first" },
      { eventually = { kind = "Note", name = "two", is = Ready } },
      { settles = true },"#,
    );
}
