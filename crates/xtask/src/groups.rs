//! Which tests belong together, and which of them wait for a cluster.

use crate::programs::Program;

/// Tests that one runs together: `cargo xtask test test:NAME`.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) packages: &'static [&'static str],
    /// Which of the packages' programs; all where it is empty.
    pub(crate) only: &'static [&'static str],
}

/// All groups. A test of this file proves that each package is in one.
pub(crate) const GROUPS: &[Group] = &[
    Group {
        name: "core",
        about: "the pure core: graphs, CRDs, decisions, the explorer; no cluster",
        packages: &["pemdas-core", "pemdas-tier"],
        only: &[],
    },
    Group {
        name: "examples-explored",
        about: "the examples in the explorer's abstract world; no cluster",
        packages: &["pemdas-tests"],
        only: &["explore", "architecture", "kube_types"],
    },
    Group {
        name: "language",
        about: "Nickel: loading, checking, evaluating, the sandbox; no cluster",
        packages: &["pemdas-nickel"],
        only: &[],
    },
    Group {
        name: "simulator",
        about: "the simulated cluster, and that it answers as a real API server does",
        packages: &["pemdas-sim", "pemdas-box"],
        only: &[],
    },
    Group {
        name: "commands",
        about: "what a user types: commands, pages, scenarios, pictures",
        packages: &["pemdas"],
        only: &[
            "bin",
            "authoring",
            "catalogue",
            "cluster",
            "commands",
            "comparisons",
            "complete",
            "demo",
            "pages",
            "picture",
            "scenarios",
            "ui",
            "worker",
            "boxed",
            "import_live",
        ],
    },
    Group {
        name: "operator",
        about: "the operator on a real control plane",
        packages: &["pemdas", "pemdas-tests"],
        only: &["operator", "attacks", "examples", "runtime", "crds"],
    },
    Group {
        name: "node",
        about: "the operator and what it makes as pods on a real node (as root)",
        packages: &["pemdas"],
        only: &["node"],
    },
    Group {
        name: "client",
        about: "the unit tests of the crate that talks to a cluster; no cluster",
        packages: &["pemdas-kube"],
        only: &[],
    },
    Group { name: "testbed", about: "the test bed itself", packages: &["pemdas-testbed"], only: &[] },
    Group {
        name: "tools",
        about: "benchmarks, comparisons and the tools of developers",
        packages: &["pemdas-bench", "postgres-by-hand", "kube-types-gen", "xtask"],
        only: &[],
    },
];

impl Group {
    pub(crate) fn has(&self, program: &Program) -> bool {
        self.packages.contains(&program.package.as_str())
            && (self.only.is_empty() || self.only.contains(&program.name.as_str()))
    }
}

/// A test program that mostly waits for a cluster. It runs beside one that computes.
struct OnCluster {
    title: &'static str,
    /// How many of its tests run at the same time.
    threads: usize,
}

/// The longest first, so that none of them is left over at the end.
const ON_CLUSTER: &[OnCluster] = &[
    OnCluster { title: "pemdas:node", threads: 1 },
    OnCluster { title: "pemdas:operator", threads: 6 },
    OnCluster { title: "pemdas-sim:conformance", threads: 2 },
    OnCluster { title: "pemdas:examples", threads: 2 },
    OnCluster { title: "pemdas:attacks", threads: 4 },
    OnCluster { title: "pemdas-tests:runtime", threads: 4 },
    OnCluster { title: "pemdas-testbed:node", threads: 1 },
    OnCluster { title: "pemdas-testbed:cleanup", threads: 2 },
    OnCluster { title: "pemdas-testbed:control_plane", threads: 2 },
    OnCluster { title: "pemdas-tests:crds", threads: 2 },
    OnCluster { title: "pemdas-box:kubectl", threads: 2 },
    OnCluster { title: "pemdas:cluster", threads: 2 },
    OnCluster { title: "pemdas:import_live", threads: 2 },
];

/// The test programs that compute longest, first: what is left at the end is short.
const COMPUTES_LONG: &[&str] =
    &["pemdas:bin", "pemdas:scenarios", "pemdas-core:lib", "pemdas-tests:explore", "pemdas:pages"];

/// In which lane a program runs, at which place, and with how many threads.
pub(crate) struct Place {
    pub(crate) waits_for_cluster: bool,
    pub(crate) order: usize,
    pub(crate) threads: Option<usize>,
}

pub(crate) fn place(program: &Program) -> Place {
    let title = program.title();
    match ON_CLUSTER.iter().position(|it| it.title == title) {
        Some(order) => Place { waits_for_cluster: true, order, threads: Some(ON_CLUSTER[order].threads) },
        None => {
            let order = COMPUTES_LONG.iter().position(|it| *it == title).unwrap_or(COMPUTES_LONG.len());
            Place { waits_for_cluster: false, order, threads: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{COMPUTES_LONG, GROUPS, ON_CLUSTER};

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    #[test]
    fn every_package_is_in_a_group() {
        let mut missing = Vec::new();
        for entry in std::fs::read_dir(root().join("crates")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if GROUPS.iter().all(|it| !it.packages.contains(&name.as_str())) {
                missing.push(name);
            }
        }
        assert_eq!(missing, Vec::<String>::new());
    }

    /// Every file of tests of the packages that are divided is in a group, and every named program exists.
    #[test]
    fn every_program_is_in_a_group_and_every_name_means_one() {
        let mut programs = vec!["pemdas:bin".to_owned(), "pemdas-core:lib".to_owned()];
        for (package, folder) in [
            ("pemdas", "crates/pemdas/tests"),
            ("pemdas-tests", "tests"),
            ("pemdas-sim", "crates/pemdas-sim/tests"),
            ("pemdas-box", "crates/pemdas-box/tests"),
            ("pemdas-testbed", "crates/pemdas-testbed/tests"),
        ] {
            for entry in std::fs::read_dir(root().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let is_program = path.join("main.rs").is_file()
                    || (path.extension().is_some_and(|it| it == "rs") && name != "lib");
                if is_program {
                    programs.push(format!("{package}:{name}"));
                }
            }
        }
        let named = ON_CLUSTER.iter().map(|it| it.title).chain(COMPUTES_LONG.iter().copied());
        for title in named {
            assert!(programs.iter().any(|it| it == title), "{title} is not a test program");
        }
        for title in &programs {
            let (package, name) = title.split_once(':').unwrap();
            let in_one = GROUPS
                .iter()
                .any(|it| it.packages.contains(&package) && (it.only.is_empty() || it.only.contains(&name)));
            assert!(in_one, "{title} is in no group");
        }
    }
}
