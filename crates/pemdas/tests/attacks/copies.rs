//! Two copies of the operator: one leads. Whatever becomes of it, the other takes over, and whoever does not lead writes
//! nothing.

use serde_json::json;

use super::{
    bed::until,
    input::NOTE,
    operators::{Operator, Plan},
    space::Space,
};

/// Two copies over the same blueprints, of which the first leads.
fn two(about: &str) -> (Space, Operator, Operator) {
    let space = Space::new(about);
    let first = Plan::over(&[&space]).with_lease(&space).start();
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    let second = Plan::over(&[&space]).with_lease(&space).start();
    until("the second is there", || second.log().contains("the operator starts").then_some(()));
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    assert_eq!(besides_the_lease(&second), [""; 0], "who does not lead writes nothing");
    (space, first, second)
}

/// What a copy wrote besides the Lease.
fn besides_the_lease(operator: &Operator) -> Vec<String> {
    operator.writes().into_iter().filter(|it| !it.contains(" leases ")).collect()
}

/// The lists that a copy took.
fn lists(operator: &Operator) -> usize {
    operator.requests().iter().filter(|it| it.verb == "list" && it.resource != "leases").count()
}

fn change(space: &Space, value: &str) {
    space.instance("Note", "one", &json!({ "value": value }));
    until("the change is through", || {
        space.get("configmap", "one").filter(|it| it["data"]["value"] == value)
    });
}

fn leads(operator: &Operator) -> bool {
    operator.page("/metrics").contains("pemdas_leading 1\n")
}

fn is_ready(operator: &Operator) -> bool {
    operator.page("/readyz").starts_with("HTTP/1.1 200")
}

#[test]
fn the_other_takes_over_from_a_killed_one_and_decides_on_lists_of_its_own() {
    let (space, mut first, second) = two("killed");
    assert!(leads(&first) && !leads(&second));
    // Whoever follows is ready to take over: a rolling update waits for it before the leader goes.
    until("the second is ready", || is_ready(&second).then_some(()));
    assert!(is_ready(&first));
    assert_eq!(lists(&second), 0, "nothing is listed by who does not lead");
    first.kill();
    // While nobody leads, the world goes on.
    space.delete("configmap", "one");
    change(&space, "b");
    assert!(leads(&second));
    assert!(lists(&second) >= 4, "it began with lists of its own");
    // The first comes back, and finds itself the second.
    first.start();
    until("it is there", || first.log().matches("the operator starts").nth(1).map(drop));
    let before = besides_the_lease(&first);
    change(&space, "c");
    assert_eq!(besides_the_lease(&first), before);
    assert!(leads(&second) && !leads(&first));
}

#[test]
fn a_leader_that_was_paused_writes_nothing_when_it_wakes_up_deposed() {
    let (space, first, mut second) = two("paused");
    // It is stopped in the middle of much work.
    for name in 0..10 {
        space.instance("Note", &format!("n{name}"), &json!({ "value": "a" }));
    }
    first.signal("STOP");
    change(&space, "b");
    for name in 0..10 {
        space.ready("Note", &format!("n{name}"));
    }
    let taken = besides_the_lease(&first);
    // There is something to do that it would do differently: it saw none of this.
    space.delete(&space.kind("Note"), "n0");
    space.gone("configmap", "n0");
    first.signal("CONT");
    until("it knows that it is deposed", || (!leads(&first)).then_some(()));
    change(&space, "c");
    assert_eq!(besides_the_lease(&first), taken, "the deposed one writes nothing");
    assert!(space.get("configmap", "n0").is_none());
    // And it can lead again, at once after a graceful end of the other.
    second.stop();
    change(&space, "d");
    assert!(leads(&first));
    assert!(besides_the_lease(&first).len() > taken.len());
}

#[test]
fn a_graceful_end_gives_the_lease_back() {
    let (space, mut first, second) = two("graceful");
    first.stop();
    let written = besides_the_lease(&first);
    let lease = space.get("lease", "pemdas").unwrap();
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
    // Empty, or the other's already: in no case that of the one that has ended.
    until("the other leads", || leads(&second).then_some(()));
    let now = space.get("lease", "pemdas").unwrap()["spec"]["holderIdentity"].as_str().unwrap().to_owned();
    assert!(holder.is_empty() || holder == now, "{holder} {now}");
    change(&space, "b");
    assert_eq!(besides_the_lease(&first), written, "nothing of it comes late");
    assert!(!first.runs());
    // What both did together is what one would have done.
    let writes: Vec<_> = space.writes().into_iter().filter(|it| it.contains("configmaps one")).collect();
    assert_eq!(writes, ["patch configmaps one"; 2], "once by each");
}
