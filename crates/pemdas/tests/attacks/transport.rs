//! What networks and busy servers do to requests. Whatever it is, in the end everything is as if nothing had happened, nothing
//! ran twice, and the API server was not flooded.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use pemdas_testbed::audit::Request;
use pemdas_tier::size;
use serde_json::json;

use super::{
    bed::{logged, until},
    hands::TASK,
    input::NOTE,
    operators::{Operator, Plan},
    proxy::{Asked, Fate, Proxy},
    space::Space,
};

fn proxied(about: &str) -> (Space, Operator, Proxy) {
    let space = Space::new(about);
    let mut operator = Plan::over(&[&space]).prepare();
    let proxy = Proxy::before(&operator);
    operator.start();
    (space, operator, proxy)
}

/// Whether a request is one of the loop's writes.
fn is_ours(asked: &Asked, namespace: &str) -> bool {
    let apart = ["/events", "/subjectaccessreviews"];
    asked.is_write()
        && (asked.path.contains(namespace) || asked.path.contains("customresourcedefinitions"))
        && !apart.iter().any(|it| asked.path.contains(it))
}

/// A life with order, memory, change and removal, in which the first tries of every write meet this.
fn life(about: &str, times: usize, fate: impl Fn(&Asked) -> Fate + Send + 'static) {
    let (space, _operator, proxy) = proxied(about);
    let since = Instant::now();
    let tried: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let name = space.name.clone();
    let counts = tried.clone();
    proxy.judge(move |asked| {
        if !is_ours(asked, &name) {
            return Fate::Pass;
        }
        let mut counts = counts.lock().unwrap();
        let count = counts.entry(asked.name()).or_default();
        *count += 1;
        if *count <= times { fate(asked) } else { Fate::Pass }
    });
    space.blueprint("blueprint", TASK);
    space.runs("blueprint");
    space.instance("Task", "one", &json!({ "version": "1" }));
    space.ready("Task", "one");
    space.instance("Task", "one", &json!({ "version": "2" }));
    until("the change is through", || {
        space.get("configmap", "one-after").filter(|it| it["data"]["version"] == "2")
    });
    space.ready("Task", "one");
    assert_eq!(space.get("configmap", "one-before").unwrap()["data"]["version"], "2");
    space.delete(&space.kind("Task"), "one");
    space.gone("configmap", "one-before");
    space.gone("configmap", "one-after");
    until("no Job and no ledger is left", || {
        let secrets = space.names("secret").iter().any(|it| it.starts_with("pemdas-ledger"));
        (space.names("job").is_empty() && !secrets).then_some(())
    });
    // What the server really did: no Job was made twice.
    let created = |it: &Request| it.resource == "jobs" && it.verb == "patch" && it.code == 201;
    let created = logged(|it| created(it) && it.namespace.as_deref() == Some(&space.name));
    assert_eq!(created.len(), 2, "one Job for each version");
    let tried = tried.lock().unwrap();
    assert!(tried.len() >= 10, "the faults met {tried:?}");
    // A status may be written once a second while something goes on, however long a slow machine takes.
    let seconds = usize::try_from(since.elapsed().as_secs()).unwrap();
    for (name, count) in tried.iter() {
        let most = 12 + 3 * times + if name.ends_with("/status") { seconds } else { 0 };
        assert!(*count <= most, "{name} was tried {count} times");
    }
}

#[test]
fn answers_that_get_lost_after_the_server_did_it_change_nothing_in_the_end() {
    life("lost", 1, |_| Fate::Lose);
}

#[test]
fn connections_that_end_before_the_server_is_reached_change_nothing_in_the_end() {
    life("dropped", 2, |_| Fate::Drop);
}

#[test]
fn a_server_that_is_broken_for_a_while_changes_nothing_in_the_end() {
    let turn = AtomicUsize::new(0);
    life("broken", 2, move |_| match turn.fetch_add(1, Ordering::Relaxed) % 4 {
        0 => Fate::status(500, "InternalError", "etcdserver: leader changed"),
        1 => Fate::Answer(502, "", "<html>Bad Gateway</html>".to_owned()),
        2 => Fate::status(503, "ServiceUnavailable", "the server is currently unable to handle the request"),
        _ => Fate::status(504, "Timeout", "request did not complete within requested timeout"),
    });
}

#[test]
fn conflicts_and_refusals_that_were_none_change_nothing_in_the_end() {
    let turn = AtomicUsize::new(0);
    life("refused", 1, move |asked| match turn.fetch_add(1, Ordering::Relaxed) % 3 {
        // A status that is invalid is left out for longer than this test lasts.
        _ if asked.path.ends_with("/status") => Fate::status(409, "Conflict", "it changed meanwhile"),
        0 => Fate::status(
            409,
            "Conflict",
            "the object has been modified; please apply your changes to the latest version",
        ),
        1 => Fate::status(422, "Invalid", "it is invalid for a moment"),
        _ => Fate::status(403, "Forbidden", "denied by a webhook that is being restarted"),
    });
}

#[test]
fn a_slow_server_changes_nothing_in_the_end() {
    life("slow", 3, |_| Fate::Late(700));
}

#[test]
fn a_busy_server_is_left_alone_for_as_long_as_it_asks_and_others_do_not_wait() {
    let (space, _operator, proxy) = proxied("busy");
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    // Busy until the neighbour is ready, however long that takes here.
    let busy = Arc::new(AtomicBool::new(true));
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let (seen, still_busy) = (times.clone(), busy.clone());
    proxy.judge(move |asked| {
        if asked.method == "PATCH" && asked.path.ends_with("/configmaps/one") {
            seen.lock().unwrap().push(Instant::now());
            if still_busy.load(Ordering::Relaxed) {
                return Fate::Answer(429, "retry-after: 4\r\n", "{}".to_owned());
            }
        }
        Fate::Pass
    });
    space.instance("Note", "one", &json!({ "value": "a" }));
    until("the server was asked twice", || (times.lock().unwrap().len() > 1).then_some(()));
    space.instance("Note", "two", &json!({ "value": "b" }));
    space.ready("Note", "two");
    assert!(space.get("configmap", "one").is_none(), "the neighbour did not wait for the end of it");
    busy.store(false, Ordering::Relaxed);
    space.ready("Note", "one");
    for pair in times.lock().unwrap().windows(2) {
        let pause = pair[1] - pair[0];
        assert!(pause >= Duration::from_secs(4), "it was asked again after {pause:?}");
    }
}

#[test]
fn watches_that_are_cut_in_bursts_lose_nothing_and_are_not_begun_in_a_hot_loop() {
    let (space, _operator, proxy) = proxied("bursts");
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    proxy.judge(|asked| if asked.is_watch() { Fate::Cut(300) } else { Fate::Pass });
    for round in 0..4 {
        for name in 0..5 {
            space.instance("Note", &format!("n{name}"), &json!({ "value": format!("v{round}") }));
        }
    }
    for name in 0..5 {
        let name = format!("n{name}");
        until("it is as wanted", || space.get("configmap", &name).filter(|it| it["data"]["value"] == "v3"));
        space.ready("Note", &name);
    }
    space.delete("configmap", "n0");
    until("drift is seen", || space.get("configmap", "n0"));
    space.delete(&space.kind("Note"), "n1");
    space.gone("configmap", "n1");
    // A server that ends every watch at once, without a word.
    let watches = |proxy: &Proxy| proxy.asked().iter().filter(|(it, _)| it.is_watch()).count();
    proxy.judge(|asked| if asked.is_watch() { Fate::Answer(200, "", String::new()) } else { Fate::Pass });
    let before = watches(&proxy);
    // Nothing comes to the operator that it could answer: only the clock tells that it does not ask in a hot loop.
    std::thread::sleep(Duration::from_secs(size(2, 8)));
    let begun = watches(&proxy) - before;
    assert!(begun < 200, "{begun} watches were begun in a moment");
    proxy.judge(|_| Fate::Pass);
    space.instance("Note", "n2", &json!({ "value": "last" }));
    until("it is as wanted", || space.get("configmap", "n2").filter(|it| it["data"]["value"] == "last"));
}

#[test]
fn versions_that_are_gone_are_listed_anew_also_in_the_middle_of_a_list() {
    let (space, mut operator, proxy) = proxied("gone");
    space.blueprint("blueprint", NOTE);
    space.runs("blueprint");
    for name in 0..6 {
        space.instance("Note", &format!("n{name}"), &json!({ "value": "a" }));
    }
    for name in 0..6 {
        space.ready("Note", &format!("n{name}"));
    }
    // Pages of two objects; a page that follows finds its version gone, twice each.
    let kind = format!("/apis/{}/v1/notes", space.group);
    let gone = Arc::new(AtomicUsize::new(0));
    let (count, notes) = (gone.clone(), kind.clone());
    proxy.narrow(2);
    proxy.judge(move |asked| {
        if asked.path == notes
            && asked.query.contains("continue=")
            && count.fetch_add(1, Ordering::Relaxed) < 2
        {
            return Fate::status(410, "Expired", "The provided continue parameter is too old");
        }
        Fate::Pass
    });
    operator.kill();
    space.instance("Note", "n3", &json!({ "value": "b" }));
    operator.start();
    until("it is as wanted", || space.get("configmap", "n3").filter(|it| it["data"]["value"] == "b"));
    assert!(gone.load(Ordering::Relaxed) > 2, "the list was taken up again");
    // An old watch: the stream says that its version is gone.
    let expired = Arc::new(AtomicUsize::new(0));
    let (count, notes) = (expired.clone(), kind);
    proxy.judge(move |asked| {
        if asked.path == notes && asked.is_watch() && count.fetch_add(1, Ordering::Relaxed) < 2 {
            let event = json!({ "type": "ERROR", "object": {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410,
            } });
            return Fate::Answer(200, "", event.to_string());
        }
        if asked.is_watch() && count.load(Ordering::Relaxed) < 2 { Fate::Cut(500) } else { Fate::Pass }
    });
    operator.kill();
    operator.start();
    until("the watch was told so", || (expired.load(Ordering::Relaxed) > 2).then_some(()));
    space.instance("Note", "n4", &json!({ "value": "c" }));
    until("it is as wanted", || space.get("configmap", "n4").filter(|it| it["data"]["value"] == "c"));
    space.delete(&space.kind("Note"), "n5");
    space.gone("configmap", "n5");
    assert_eq!(space.names("configmap").len(), 6, "five and the blueprint");
}

#[test]
fn a_server_that_never_answers_holds_nobody_for_ever() {
    let (space, _operator, proxy) = proxied("silent");
    // Discovery, and the first write of an object: nothing has an end of its own there.
    let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let name = space.group.clone();
    proxy.judge(move |asked| {
        let hangs =
            asked.path == format!("/apis/{name}/v1") || asked.path.ends_with("customresourcedefinitions");
        if hangs && !asked.is_watch() && seen.lock().unwrap().insert(asked.name()) {
            return Fate::Hang;
        }
        Fate::Pass
    });
    space.blueprint("blueprint", NOTE);
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
}

#[test]
fn a_ledger_that_cannot_be_written_is_not_tried_in_a_hot_loop() {
    let (space, _operator, proxy) = proxied("no-ledger");
    space.blueprint("blueprint", TASK);
    space.runs("blueprint");
    let open = Arc::new(AtomicUsize::new(0));
    let closed = open.clone();
    proxy.judge(move |asked| {
        let ledger = asked.path.contains("/secrets") && asked.is_write();
        if ledger && closed.load(Ordering::Relaxed) == 0 {
            return Fate::status(403, "Forbidden", "exceeded quota: small");
        }
        Fate::Pass
    });
    space.instance("Task", "one", &json!({ "version": "1" }));
    let tries = |proxy: &Proxy| {
        proxy.asked().iter().filter(|(it, _)| it.path.contains("/secrets") && it.is_write()).count()
    };
    until("it is tried", || (tries(&proxy) >= 2).then_some(()));
    // Nothing else happens meanwhile: only the clock tells.
    std::thread::sleep(Duration::from_secs(size(2, 6)));
    let tried = tries(&proxy);
    assert!(tried <= 8, "it was tried {tried} times");
    let task = until("it says why", || {
        space.get(&space.kind("Task"), "one").filter(|it| it["status"].to_string().contains("quota"))
    });
    assert!(task["status"].to_string().contains("ledger"), "{task}");
    assert_eq!(space.names("job"), [""; 0]);
    open.store(1, Ordering::Relaxed);
    space.ready("Task", "one");
}
