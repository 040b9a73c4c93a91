//! What a user deletes, in every order: nothing hangs, and nothing that Pemdas made stays.

use std::{fs, process::Command};

use serde_json::{Value, json};

use super::{
    bed::{bed, until},
    given::PLACED,
    operators::Plan,
    space::Space,
};

/// A bundle that was applied, with an instance whose object is in another namespace.
struct Installed {
    home: Space,
    /// Where what the blueprint makes is.
    there: Space,
    file: tempfile::NamedTempFile,
}

impl Installed {
    fn new(about: &str) -> Self {
        let (home, there) = (Space::poor(about), Space::poor(&format!("{about}-there")));
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("main.ncl"), PLACED.replace("GROUP", &home.group)).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .arg("bundle")
            .arg(folder.path())
            .args([
                "-n",
                &home.name,
                "--name",
                "blueprint",
                "--crds",
                "await",
                "--only-in",
                &home.name,
                "--only-in",
                &there.name,
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::write(file.path(), output.stdout).unwrap();
        Self { home, there, file }
    }

    fn plan(&self) -> Plan {
        Plan::over(&[&self.home, &self.there])
    }

    fn apply(&self) {
        let file = self.file.path().to_string_lossy().into_owned();
        bed().cluster.kubectl(&["apply", "--server-side", "-f", &file]).unwrap();
        self.home.runs("blueprint");
        self.home.instance("Note", "one", &json!({ "value": "a", "where": self.there.name }));
        self.home.ready("Note", "one");
        assert!(self.there.get("configmap", "one").is_some());
        for (space, kind, name) in self.permissions() {
            until(&format!("{kind} {name} is held"), || space.get(kind, &name).filter(is_held).map(|_| ()));
        }
    }

    /// What lets the blueprint act.
    fn permissions(&self) -> Vec<(&Space, &'static str, String)> {
        let role = format!("pemdas:{}:blueprint", self.home.name);
        let mut all = vec![(&self.home, "serviceaccount", "blueprint".to_owned())];
        for space in [&self.home, &self.there] {
            all.extend([(space, "role", role.clone()), (space, "rolebinding", role.clone())]);
        }
        all.extend([
            (&self.home, "role", format!("{role}:operator")),
            (&self.home, "rolebinding", format!("{role}:operator")),
        ]);
        all
    }

    /// As `kubectl delete -f`, which does not wait for one object before it deletes the next.
    fn delete(&self) {
        let file = self.file.path().to_string_lossy().into_owned();
        bed().cluster.kubectl(&["delete", "--wait=false", "-f", &file]).unwrap();
    }

    fn is_gone(&self) {
        self.there.gone("configmap", "one");
        self.home.gone("configmap", "blueprint");
        for (space, kind, name) in self.permissions() {
            space.gone(kind, &name);
        }
        let crd = format!("notes.{}", self.home.group);
        self.home.gone("customresourcedefinition", &crd);
        let kept = || self.home.names("controllerrevision");
        until("its revisions are gone", || kept().is_empty().then_some(()));
    }
}

fn is_held(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.into_iter().flatten().any(|it| it == "pemdas.dev/permissions")
}

#[test]
fn a_bundle_that_is_deleted_takes_its_instances_with_it() {
    let installed = Installed::new("unbundled");
    let _operator = installed.plan().start();
    installed.apply();
    installed.delete();
    installed.is_gone();
}

#[test]
fn a_bundle_without_instances_leaves_nothing() {
    let installed = Installed::new("unused");
    let _operator = installed.plan().start();
    installed.apply();
    let home = &installed.home;
    home.delete(&home.kind("Note"), "one");
    until("nothing is held", || {
        let mut all = installed.permissions().into_iter();
        all.all(|(space, kind, name)| !is_held(&space.get(kind, &name).unwrap())).then_some(())
    });
    installed.delete();
    installed.is_gone();
}

#[test]
fn a_bundle_that_is_deleted_while_no_operator_runs_goes_when_one_does() {
    let installed = Installed::new("unattended");
    let mut operator = installed.plan().start();
    installed.apply();
    operator.kill();
    installed.delete();
    operator.start();
    installed.is_gone();
}

#[test]
fn permissions_that_go_first_wait_for_the_instances_and_say_so() {
    let installed = Installed::new("roles-first");
    let mut operator = installed.plan().start();
    installed.apply();
    for (space, kind, name) in installed.permissions() {
        space.delete_soon(kind, &name);
    }
    for space in [&installed.home, &installed.there] {
        until("it is told", || {
            let told = "stays until the instances of the blueprint";
            space.events().contains(told).then_some(())
        });
    }
    // Everything works as before, also in a process that begins with it.
    operator.kill();
    operator.start();
    let (home, there) = (&installed.home, &installed.there);
    home.instance("Note", "one", &json!({ "value": "b", "where": there.name }));
    until("it is changed", || there.get("configmap", "one").filter(|it| it["data"]["value"] == "b"));
    home.delete(&home.kind("Note"), "one");
    there.gone("configmap", "one");
    for (space, kind, name) in installed.permissions() {
        space.gone(kind, &name);
    }
}

#[test]
fn a_namespace_ends_that_holds_permissions_of_a_blueprint_elsewhere() {
    let installed = Installed::new("ends-there");
    let _operator = installed.plan().start();
    installed.apply();
    let path = format!("/api/v1/namespaces/{}", installed.there.name);
    Space::client().delete(&path).unwrap();
    until("the namespace is gone", || Space::client().get(&path).ok()?.is_none().then_some(()));
    // Nobody may look into it any more, and nothing is there: the instance goes.
    installed.home.delete(&installed.home.kind("Note"), "one");
    installed.home.gone(&installed.home.kind("Note"), "one");
}

#[test]
fn a_namespace_ends_while_no_operator_runs() {
    let installed = Installed::new("ends-alone");
    let mut operator = installed.plan().start();
    installed.apply();
    operator.kill();
    let path = format!("/api/v1/namespaces/{}", installed.home.name);
    Space::client().delete(&path).unwrap();
    // The revisions are gone before anybody could use them.
    until("its revisions are gone", || installed.home.names("controllerrevision").is_empty().then_some(()));
    operator.start();
    until("the namespace is gone", || Space::client().get(&path).ok()?.is_none().then_some(()));
    installed.there.gone("configmap", "one");
}

/// What `pemdas orphans` says to an administrator, and how it ended.
fn orphans(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .arg("orphans")
        .args(arguments)
        .env("KUBECONFIG", bed().cluster.kubeconfig())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn what_is_left_of_a_root_that_was_torn_away_is_found_and_deleted() {
    let installed = Installed::new("torn-root");
    let mut operator = installed.plan().start();
    installed.apply();
    let (home, there) = (&installed.home, &installed.there);
    operator.kill();
    home.merge(&home.kind("Note"), "one", &json!({ "metadata": { "finalizers": null } }));
    home.delete(&home.kind("Note"), "one");
    // Somebody copies its label and its claim onto an object of their own.
    let made = there.get("configmap", "one").unwrap();
    let metadata = json!({
        "name": "mine", "labels": made["metadata"]["labels"], "annotations": made["metadata"]["annotations"],
    });
    there.apply(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
    operator.start();
    home.runs("blueprint");
    let (status, text) = orphans(&["configmaps", "-n", &there.name]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains(&format!("-n {} configmaps/one  made by map", there.name)), "{text}");
    assert!(!text.contains("mine") && !text.contains("not verified"), "{text}");
    // Nobody is there to be asked.
    let (status, text) = orphans(&["configmaps", "-n", &there.name, "--delete"]);
    assert!(status == 2 && text.contains("--yes deletes without a question"), "{text}");
    let (status, text) = orphans(&["-n", &there.name, "--delete", "--yes"]);
    assert_eq!(status, 0, "{text}");
    there.gone("configmap", "one");
    assert!(there.get("configmap", "mine").is_some());
    let (status, text) = orphans(&["-n", &there.name]);
    assert_eq!((status, text.contains("nothing is left")), (0, true), "{text}");
}
