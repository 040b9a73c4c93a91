//! Pemdas in a cluster, with nothing simulated: it runs as a pod under its own account, and so do PostgreSQL, the
//! migrations, and what they serve. The pages of the examples are the scripts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

mod bed;
mod install;
#[allow(dead_code, reason = "other test programs need the rest of it")]
#[path = "../pages/page.rs"]
mod page;
#[path = "../said/mod.rs"]
mod said;
#[path = "../shell/mod.rs"]
mod shell;

use bed::bed;
use install::Desk;

/// The examples whose pages are played here. The default tier plays the first one.
const PAGES: [&str; 2] = ["foo-service", "postgres"];

#[test]
fn the_pages_of_the_databases_are_true() {
    let Some((_alone, bed)) = bed() else { return };
    let pages = pemdas_tier::size(&PAGES[..1], &PAGES[..]);
    bed.play(pages);
    pemdas_tier::tried(pages.len() as u64, "pages on the node");
}

/// One instance lives through all that happens to the operator: a new version, the way back, its removal, a new installation. The page
/// about installing and the last step of the tutorial are the script.
#[test]
fn installing_upgrading_and_removing_touch_no_instance() {
    let Some((_alone, bed)) = bed() else { return };
    let desk = Desk::new(bed);
    bed.uninstall();
    desk.install_an_earlier_version();
    let mut begins = desk.read_the_tutorial();
    let end = begins.iter().position(|(command, _)| command.starts_with("kubectl delete")).unwrap();
    let ends = begins.split_off(end);
    desk.follow("docs/tutorial.md", begins);
    let before = desk.objects();
    assert!(before.len() > 6, "{before:?}");

    desk.play("Upgrade");
    assert_eq!(desk.objects(), before, "after an upgrade and the way back");

    // The wrong order: the operator first. The instance waits for it, and nothing is lost.
    bed.uninstall();
    assert_eq!(desk.objects(), before, "after the operator was removed");
    desk.run("kubectl delete shop shop --wait=false");
    desk.run("kubectl get deployment shop");
    desk.play("Install");
    desk.follow("docs/tutorial.md", ends);

    desk.play("Uninstall");
    let left = desk.run("kubectl get crd,clusterrole,clusterrolebinding,namespace -o name");
    assert!(!left.contains("pemdas") && !left.contains("shops.example.com"), "{left}");
    // For the other tests.
    desk.play("Install");
}

/// A round has its seed, so that a failure can be looked for again; what the moments hit is up to the machine.
#[test]
#[ignore = "deep tier: kills the operator at random moments"]
fn the_pages_are_true_whenever_pemdas_is_killed() {
    let Some((_alone, bed)) = bed() else { return };
    let kills = bed.killed_at_random(pemdas_tier::seeds(1, 1).start, || bed.play(&PAGES));
    // How often depends on the machine; that it happened at all does not.
    assert!(kills > 0, "it was never killed");
    pemdas_tier::tried(kills.into(), "kills");
}
