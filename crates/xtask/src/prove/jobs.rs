//! What the deep tier consists of.

use std::sync::LazyLock;

/// A few tests of one program, in as many rounds as all of it takes.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) about: &'static str,
    /// PACKAGE:PROGRAM.
    pub(crate) program: &'static str,
    /// The names of tests, or of modules if they end in `::`.
    pub(crate) tests: Vec<String>,
    pub(crate) rounds: u64,
    /// The minor version of Kubernetes, where it is not the usual one.
    pub(crate) kubernetes: Option<&'static str>,
}

/// The older minor versions on which the tests of the operator run. The test bed has pins for each; docs/install.md says which passed.
pub(crate) const MINORS: [&str; 3] = ["1.33", "1.34", "1.35"];

/// The laws of the engine that are tried in random walks, and how many rounds of them there are.
const WALKED: &[&str] = &[
    "the_world_settles_as_if_nothing_had_happened",
    "a_deletion_at_any_moment_leaves_no_trace",
    "nothing_acts_once_ready",
    "no_edge_is_violated_not_even_after_a_late_write",
    "nothing_acts_on_a_view_older_than_its_own_write",
    "what_is_not_claimed_is_never_written",
    "nothing_in_use_is_removed",
    "a_replacement_leaves_no_gap",
    "each_attempt_completes_at_most_once",
    "ready_is_never_said_too_early",
    "what_another_tenant_forges_moves_nothing",
];

/// The laws that are asked at every point of a run: more rounds of an example would repeat the same.
const AT_EVERY_POINT: &[&str] = &[
    "depth_takes_as_many_rounds",
    "the_order_of_facts_does_not_matter",
    "a_renamed_node_keeps_its_object",
    "reverting_at_every_step_changes_nothing",
    "flapping_at_every_step_drains_and_deletes_nothing",
    "what_cannot_be_seen_deletes_nothing",
    "a_blueprint_that_breaks_at_any_step_blocks_no_removal",
    "nodes_of_a_deletion_block_until_skipped",
    "a_terminating_namespace_ends",
    "a_contended_field_ends_stalled",
    "what_comes_back_is_deleted_with_a_pause",
    "objects_of_a_dead_root_are_left_and_taken_over_when_told",
    "a_forged_ledger_is_not_believed",
    "a_new_key_replaces_an_older_one",
];

/// Everything else: name, rounds, program, tests, what it is.
type Row = (&'static str, u64, &'static str, &'static [&'static str], &'static str);
#[rustfmt::skip]
const OTHERS: &[Row] = &[
    ("example-faults", 40, "pemdas:scenarios", &["examples_under_faults_come_to_the_same"],
        "scenarios of the examples with every single fault; each round plays one in forty"),
    ("conformance", 5, "pemdas-sim:conformance", &["the_simulator_answers_as_the_real_server_does"],
        "random requests to the simulator and to a real API server"),
    ("settled", 5, "pemdas-sim:conformance", &["the_same_is_left_when_all_has_settled"],
        "what the controllers of both leave behind"),
    ("pages-killed", 10, "pemdas:examples", &["the_pages_are_true_whenever_the_operator_is_killed"],
        "the pages of the examples while the operator is killed at random"),
    ("node-pages", 1, "pemdas:node", &["the_pages_of_the_databases_are_true"], "the pages that need a real node, with the image that people get"),
    ("node-install", 1, "pemdas:node", &["installing_upgrading_and_removing_touch_no_instance"],
        "installing, upgrading and removing the image that people get"),
    ("node-pages-killed", 5, "pemdas:node", &["the_pages_are_true_whenever_pemdas_is_killed"],
        "the same while the operator's pod is killed at random"),
    ("core-bugs", 1, "pemdas-core:lib", &["explore::mutants::every_deliberate_bug_is_noticed"],
        "every deliberate bug of the engine is noticed"),
    ("runtime-bugs", 2, "pemdas:bin", &["trial::mutants::deliberate_bugs_of_the_runtime_are_noticed"],
        "every deliberate bug of the operator is noticed, with other seeds"),
    ("runtime-bugs-searched", 45, "pemdas:bin", &["trial::mutants::what_notices_each_bug"],
        "all scenarios and faults until something notices the bug; one bug a round"),
    ("walks", 16, "pemdas-core:lib", &[
        "explore::properties::tests::revisions_survive_every_fault",
        "explore::properties::tests::a_drain_survives_every_fault",
        "explore::properties::tests::a_chain_survives_every_fault",
    ], "revisions, drains and chains under every fault"),
    ("names", 2, "pemdas-core:lib", &["explore::names::"], "what is needed, and the same blueprints under other names"),
    ("two-instances", 1, "pemdas-core:lib", &["explore::duo::"], "two instances that meet"),
    ("worlds", 4, "pemdas-core:lib", &["explore::exhaust::tests::larger_worlds_hold_as_far_as_they_are_searched"],
        "small worlds, searched exhaustively"),
    ("graphs", 1, "pemdas-core:lib", &["graph::properties::"], "properties of random graphs"),
    ("shapes", 1, "pemdas-core:lib", &["shape::tests::"], "properties of random shapes"),
    ("rollouts", 1, "pemdas-core:lib", &["rollout::tests::"], "properties of random rollouts"),
    ("judged", 5, "pemdas:bin", &["judge::the_engine_does_what_a_blueprint_means"],
        "random blueprints: the engine against a reference implementation"),
    ("judged-operator", 10, "pemdas:bin", &["judge::the_operator_does_what_a_blueprint_means"],
        "random blueprints: the operator against the reference implementation and against `plan`"),
    ("judged-revisions", 4, "pemdas:bin", &["judge::revisions_wait_for_their_definitions"],
        "random blueprints whose next revision changes the definition of their kind"),
    ("judged-words", 5, "pemdas:bin", &["judge::other_words_mean_the_same"],
        "random blueprints against the same in other words"),
    ("judged-savings", 4, "pemdas:bin", &["judge::what_saves_work_changes_nothing"],
        "random blueprints without memo, read-off and compression"),
    ("judged-bugs", 2, "pemdas:bin", &["judge::bugs::faults_that_are_put_back_are_found"],
        "faults that were there once, put back and searched for in random blueprints"),
    ("imports", 1, "pemdas:bin", &["import::tests::whatever_is_imported_is_given_again"], "what is imported is not changed"),
    ("charts", 1, "pemdas:bin", &["import::tests::charts_by_chance_are_imported_and_another_instance_has_names_of_its_own"],
        "random charts: imported, planned, and planned for another instance"),
    ("contracts", 1, "pemdas-nickel:fits", &["what_is_admitted_by_its_description_is_what_the_contract_admits"],
        "random contracts against their descriptions"),
    ("read-off", 1, "pemdas-nickel:plain", &["what_is_read_off_is_what_the_evaluator_says"],
        "functions answered without the evaluator, against the evaluator"),
    ("printing", 1, "pemdas-nickel:print", &["what_is_printed_is_read_as_it_was_meant"], "random blueprints, printed and read"),
    ("kube-contracts", 3, "pemdas-nickel:kube_contracts", &["contracts_agree_with_the_validator"],
        "changed manifests against contracts and validator"),
    ("worker-memory", 1, "pemdas-nickel:flat_memory", &[""], "the memory of workers over 100,000 calls"),
    ("crd-agreement", 4, "pemdas-tests:crds", &["agreement::contract_and_api_server_agree_outside_the_reported_gap"],
        "random objects against contracts and a real API server"),
    ("odd-crds", 1, "pemdas-tests:crds", &["odd::every_draft_is_installed_however_odd_its_contracts_are"],
        "random contracts as CRDs on a real API server"),
    ("settling", 1, "pemdas-tests:runtime", &["settle::every_field_of_every_built_in_kind_settles"],
        "every field of every built-in kind empty, null and set: written at most twice on a real API server"),
];

/// All jobs. Those that wait for a cluster stand first, so that they run beside those that compute.
pub(crate) static JOBS: LazyLock<Vec<Job>> = LazyLock::new(|| {
    let others = OTHERS.iter().map(|(name, rounds, program, tests, about)| Job {
        name: (*name).to_owned(),
        about,
        program,
        tests: tests.iter().map(|it| (*it).to_owned()).collect(),
        rounds: *rounds,
        kubernetes: None,
    });
    let minors = MINORS.into_iter().flat_map(|minor| {
        ["operator", "examples"].map(|name| Job {
            name: format!("{name}:{minor}"),
            about: "the operator on an older API server and controller manager",
            program: if name == "operator" { "pemdas:operator" } else { "pemdas:examples" },
            tests: vec![String::new()],
            rounds: 1,
            kubernetes: Some(minor),
        })
    });
    let laws = |walked: u64, at_every_point: u64, prefix: &'static str| {
        let walked = WALKED.iter().map(move |it| (*it, walked));
        let all = walked.chain(AT_EVERY_POINT.iter().map(move |it| (*it, at_every_point)));
        all.map(move |(law, rounds)| (law, format!("{prefix}{law}"), rounds))
    };
    let graphs = laws(4, 4, "explore::properties::tests::").map(|(law, test, rounds)| Job {
        name: format!("graphs:{law}"),
        about: "a law of the engine, over random graphs",
        program: "pemdas-core:lib",
        tests: vec![test],
        rounds,
        kubernetes: None,
    });
    let examples = laws(4, 1, "").map(|(law, test, rounds)| Job {
        name: format!("examples:{law}"),
        about: "a law of the engine, over the examples",
        program: "pemdas-tests:explore",
        tests: vec![test],
        rounds,
        kubernetes: None,
    });
    minors.chain(others).chain(graphs).chain(examples).collect()
});

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{JOBS, MINORS};

    fn sources(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                sources(&path, text);
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("prove/jobs.rs") {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn every_minor_version_has_pins() {
        let pins = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../pemdas-testbed/pins"));
        let mut found: Vec<_> = std::fs::read_dir(pins)
            .unwrap()
            .filter_map(|it| it.unwrap().file_name().to_str()?.strip_prefix("kubernetes-").map(str::to_owned))
            .collect();
        found.sort();
        assert_eq!(found, MINORS);
    }

    /// A test that is renamed takes its job along.
    #[test]
    fn every_job_names_a_test_that_exists() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let mut text = String::new();
        for folder in ["crates", "tests"] {
            sources(&root.join(folder), &mut text);
        }
        for job in JOBS.iter() {
            for test in job.tests.iter().filter(|it| !it.is_empty()) {
                let name = test.trim_end_matches("::").rsplit("::").next().unwrap();
                let found = text.contains(&format!("fn {name}")) || text.contains(&format!("mod {name}"));
                // The laws are made into tests by a macro.
                assert!(found || text.contains(&format!("{name},")), "{}: {test}", job.name);
            }
        }
        let names: std::collections::BTreeSet<_> = JOBS.iter().map(|it| &it.name).collect();
        assert_eq!(names.len(), JOBS.len(), "each job has a name of its own");
    }
}
