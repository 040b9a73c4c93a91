//! The committed table is what the generator makes of the pinned version of Kubernetes.

use kube_types_gen::{generate, workspace_root};

#[test]
fn the_committed_table_is_current() {
    let root = workspace_root();
    let table = generate(&root).expect("the table can be made; Go downloads the module if it is missing");
    let differences = table.differences(&root).expect("the committed table can be read");
    assert!(differences.is_empty(), "run `cargo kube-types` and commit its result: {differences:?}");
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    let root = workspace_root();
    assert_eq!(generate(&root).unwrap(), generate(&root).unwrap());
}
