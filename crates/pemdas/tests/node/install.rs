//! The page about installing, as a script: beside it lives an instance of the tutorial, which nothing of this may touch.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    bed::{Bed, root},
    page::blocks,
    said,
};

/// A person's folder: the clone of the repository, and beside it what the tutorial has saved.
pub(crate) struct Desk<'b> {
    bed: &'b Bed,
    folder: tempfile::TempDir,
}

impl<'b> Desk<'b> {
    pub(crate) fn new(bed: &'b Bed) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["charts", "deploy"] {
            std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).unwrap();
        }
        Self { bed, folder }
    }

    /// Does what a section of the page about installing shows.
    pub(crate) fn play(&self, section: &str) {
        let page = fs::read_to_string(root().join("docs/install.md")).unwrap();
        let start = page.find(&format!("\n## {section}\n")).expect("the section is there") + 1;
        let end = page[start..].find("\n## ").map_or(page.len(), |it| start + it);
        let ours =
            blocks(&page).into_iter().filter(|it| (start..end).contains(&it.range.start) && it.has("node"));
        let steps: Vec<_> = ours.flat_map(|it| said::steps(&page[it.range])).collect();
        assert!(!steps.is_empty(), "nothing is typed under `{section}`");
        self.follow("docs/install.md", steps);
    }

    /// Saves the files of the tutorial; what it types on a cluster.
    pub(crate) fn read_the_tutorial(&self) -> Vec<(String, String)> {
        let page = fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
        let mut steps = Vec::new();
        for block in blocks(&page) {
            let text = &page[block.range.clone()];
            if let Some(file) = block.named("file") {
                let file = self.folder.path().join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            } else if block.has("cluster") {
                steps.extend(said::steps(text));
            }
        }
        steps
    }

    pub(crate) fn follow(&self, place: &str, steps: Vec<(String, String)>) {
        self.bed.shell.follow(place, self.folder.path(), steps, &|| self.bed.last_words());
    }

    pub(crate) fn run(&self, command: &str) -> String {
        let (fine, said) = self.bed.shell.try_to(self.folder.path(), command);
        assert!(fine, "$ {command}\n{said}\n{}", self.bed.last_words());
        said
    }

    /// Installs what an earlier version would have been: the same, with another number on everything; two copies of it.
    pub(crate) fn install_an_earlier_version(&self) {
        let (ours, earlier) = (root().join("charts/pemdas"), self.folder.path().join("earlier"));
        copy(&ours, &earlier);
        let chart = fs::read_to_string(ours.join("Chart.yaml")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        fs::write(earlier.join("Chart.yaml"), chart.replace(version, "0.0.9")).unwrap();
        self.run(&format!(
            "helm install pemdas ./earlier --namespace pemdas-system --create-namespace --wait \
             --set image.tag={version} --set replicas=2"
        ));
    }

    /// What there is of the instance, its memory and its revision included, with all that changes when somebody writes. Reports about
    /// the blueprint stand on the ConfigMap, which is no object of it.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let of_the_instance = "kubectl get configmap,job,deployment,service -l pemdas.dev/root -o json";
        let beside = "kubectl get shop,secret,controllerrevision -o json";
        let mut objects = Vec::new();
        for command in [of_the_instance, beside] {
            let all: Value = serde_json::from_str(&self.run(command)).unwrap();
            objects.extend(all["items"].as_array().unwrap().iter().map(|it| {
                let meta = &it["metadata"];
                json!([
                    it["kind"],
                    meta["name"],
                    meta["uid"],
                    meta["resourceVersion"],
                    meta["deletionTimestamp"]
                ])
            }));
        }
        objects
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
