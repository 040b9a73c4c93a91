//! What a roll-back need not bring back, one for each excuse; and beside each a difference that is not excused.

use std::fs;

use super::{
    explore::{Plan, explore},
    gather::gather,
    pace::Pace,
};

/// What went wrong when the change of a scenario was taken back. `NODES` are those of the kind `Odd` with a `size`; beside it stands the
/// kind `Peak`, whose instances remember the largest size of the `Odd` they are named after.
fn taken_back(nodes: &str, given: &str, steps: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("scenarios")).unwrap();
    let blueprint = r#"let { Blueprint, Int, Any, Complete, Failed, at, .. } = import "pemdas/v1.ncl" in
let text = std.string.from_number in
{
  name = "odd",
  kinds.Odd = { group = "odd.example.com", versions.v1.spec = { size | Int } },
  kinds.Peak = { group = "odd.example.com", versions.v1.spec = {} },
  nodes = {
    peak = { root = kinds.Peak, also = ["highest"] },
    seen = { observe = fun the => { apiVersion = "odd.example.com/v1", kind = "Odd", name = the.root.metadata.name }, ready = Any },
    highest = {
      before.seen.extract = fun live => { size = live.spec.size },
      template = fun the =>
        let before = std.string.to_number (at "data.size" "0" the.self) in
        let size_ = if before > the.seen.size then before else the.seen.size in
        { apiVersion = "v1", kind = "ConfigMap", metadata.name = "highest", data.size = text size_ },
    },
NODES
  },
} | Blueprint"#;
    let scenario = r#"let { Scenarios, Ready, .. } = import "pemdas/test/v1.ncl" in
let odd = fun name_ => { apiVersion = "odd.example.com/v1", kind = "Odd", metadata.name = name_, spec.size = 1 } in
let peak = { apiVersion = "odd.example.com/v1", kind = "Peak", metadata.name = "one", spec = {} } in
{ "a change" = { given = GIVEN, steps = STEPS } } | Scenarios"#;
    fs::write(folder.path().join("main.ncl"), blueprint.replace("NODES", nodes)).unwrap();
    let scenario = scenario.replace("GIVEN", given).replace("STEPS", steps);
    fs::write(folder.path().join("scenarios/life.ncl"), scenario).unwrap();
    let gathered = gather(folder.path()).map_err(|it| it.message).unwrap();
    let bench = gathered.bench.unwrap_or_else(|| panic!("{:#?}", gathered.checked.diagnostics));
    let number =
        gathered.scripts[0].steps.iter().position(|it| it.what.to_string().starts_with("patch")).unwrap();
    let (seed, seeds, share, depth, only, roll_back) = (1, 1, 1, 1, Vec::new(), Some(number + 1));
    let plan = Plan { seed, seeds, share, depth, only, roll_back };
    let explored = explore(&bench, &gathered.scripts[0], &plan, &Pace::default()).unwrap();
    assert_eq!(explored.runs, 2, "the scenario, and the change that is taken back");
    explored.found.into_iter().map(|it| it.message).collect()
}

/// The excuse alone is taken; what is not excused is told beside it, and nothing else.
fn excused(nodes: &str, given: &str, steps: &str) {
    let found = taken_back(nodes, &format!("[{given}]"), &format!("[{steps}]"));
    assert_eq!(found, Vec::<String>::new());
    let found = taken_back(nodes, &format!("[{given}, peak]"), &format!("[{steps}]"));
    let [message] = &found[..] else { panic!("{found:?}") };
    let told = "a change was taken back, and it is not as before: ConfigMap default/highest: data.size is \"2\", not \"1\"";
    assert_eq!(message, told);
}

const ONE: &str = r#"odd "one""#;
const TWO: &str = r#"{ settles = true }, { patch = { kind = "Odd", name = "one" }, with = { spec.size = 2 } }, { settles = true }"#;

#[test]
fn nothing_is_excused_where_nothing_happened() {
    let nodes = r#"
    odd = { root = kinds.Odd, also = ["map"] },
    map = { template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "map", data.size = text the.root.spec.size } },"#;
    excused(nodes, ONE, TWO);
}

#[test]
fn the_ledger_of_what_is_done_once_is_excused() {
    let nodes = r#"
    odd = { root = kinds.Odd, also = ["job"] },
    job = {
      once = { done = Complete },
      key = fun the => if the.root.spec.size > 1 then the.root.spec.size else null,
      fails = Failed,
      template = fun _the => { apiVersion = "batch/v1", kind = "Job", metadata.name = "job", spec.template.spec = {
        restartPolicy = "Never", containers = [{ name = "a", image = "i" }] } },
    },"#;
    excused(nodes, ONE, TWO);
}

#[test]
fn what_is_orphaned_is_excused() {
    let nodes = r#"
    odd = { root = kinds.Odd, also = ["map"] },
    map = {
      on_delete = 'Orphan,
      template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "map-%{text the.root.spec.size}" },
    },"#;
    // The first one is nobody's when it is wanted again.
    let adopted = nodes.replace("on_delete", "own = 'Adopt,\n      on_delete");
    excused(&adopted, ONE, TWO);
}

#[test]
fn a_job_that_ends_otherwise_now_is_excused() {
    let nodes = r#"
    odd = { root = kinds.Odd, also = ["job", "map"] },
    job = {
      once = { done = Complete, retry = 0 },
      key = fun the => the.root.spec.size,
      fails = Failed,
      template = fun _the => { apiVersion = "batch/v1", kind = "Job", metadata.name = "job", spec.template.spec = {
        restartPolicy = "Never", containers = [{ name = "a", image = "i" }] } },
    },
    map = {
      before = ["job"],
      template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "map", data.size = text the.root.spec.size },
    },"#;
    let steps =
        TWO.replace(", { patch", r#", { workloads = [{ kind = "Job", fails = "it broke" }] }, { patch"#);
    excused(nodes, ONE, &steps);
}

#[test]
fn a_name_that_was_free_for_a_moment_is_excused() {
    let nodes = r#"
    odd = { root = kinds.Odd, also = ["map"] },
    map = { template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "map-%{text the.root.spec.size}" } },"#;
    let steps = format!(r#"{{ settles = true }}, {{ apply = odd "another" }}, {TWO}"#);
    excused(nodes, ONE, &steps);
}

#[test]
fn what_somebody_else_holds_is_excused() {
    let nodes = r#"
    odd = { root = kinds.Odd, also = ["map", "more"] },
    map = { template = fun the => {
      apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "map-%{text the.root.spec.size}", finalizers = ["example.com/held"] },
    } },
    more = { before = ["map"], template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "more" } },"#;
    excused(nodes, ONE, TWO);
}

#[test]
fn the_revision_of_a_stateful_set_is_the_same_again() {
    let nodes = r#"
    odd = { root = kinds.Odd, also = ["set", "map"] },
    set = { template = fun the => {
      apiVersion = "apps/v1", kind = "StatefulSet", metadata.name = "set",
      spec = {
        serviceName = "set", selector.matchLabels.a = "b",
        template = { metadata.labels.a = "b", spec.containers = [{ name = "a", image = "i:%{text the.root.spec.size}" }] },
      },
    } },
    map = {
      before.set.extract = fun live => { revision = live.status.updateRevision },
      template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "map", data.revision = the.set.revision },
    },"#;
    excused(nodes, ONE, TWO);
}
