//! The kernel's groups of the node's pods: named after the cluster's folder, removed with it.

use std::fs;
use std::path::Path;

/// Removes the groups of the cluster of this name from every hierarchy, innermost first. What is in use stays.
pub(crate) fn remove(cluster: &str) {
    let root = Path::new("/sys/fs/cgroup");
    remove_tree(&root.join(cluster));
    for hierarchy in fs::read_dir(root).into_iter().flatten().filter_map(Result::ok) {
        remove_tree(&hierarchy.path().join(cluster));
    }
}

fn remove_tree(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&entry.path());
        }
    }
    let _ = fs::remove_dir(group);
}

/// Makes the groups of a cluster in every hierarchy, so that the kubelet finds its root.
pub(crate) fn create(cluster: &str) {
    let root = Path::new("/sys/fs/cgroup");
    if root.join("cgroup.controllers").exists() {
        let _ = fs::create_dir(root.join(cluster));
        return;
    }
    for hierarchy in fs::read_dir(root).into_iter().flatten().filter_map(Result::ok) {
        let group = hierarchy.path().join(cluster);
        let _ = fs::create_dir(&group);
        // In this hierarchy a new group may hold no process until it is told which cores and memory it has.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            if let Ok(of_parent) = fs::read(hierarchy.path().join(file)) {
                let _ = fs::write(group.join(file), of_parent);
            }
        }
    }
}
