//! A worker that dies while nobody asks it anything. Alone in its process: the worker is found as the only child.

mod workers;

use pemdas_nickel::{Evaluator as _, Place, Sources};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// The processes that this one has started, zombies apart.
fn children() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let child = |entry: std::fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut after_name = stat.rsplit(')').next()?.split_ascii_whitespace();
        let state = after_name.next()?;
        let parent: u32 = after_name.next()?.parse().ok()?;
        // A leader that is gone before its threads is not yet a process that has ended.
        let threads = std::fs::read_dir(entry.path().join("task")).ok()?.count();
        (parent == std::process::id() && (state != "Z" || threads > 1)).then_some(pid)
    };
    entries.filter_map(child).collect()
}

#[test]
fn nobody_notices() {
    let pool = workers::pool(|_| ());
    let sandboxed = pool.load("a", &Sources::single("{ double = fun n => n * 2 }")).unwrap();
    let [worker] = children()[..] else { panic!("one worker was expected, not {:?}", children()) };
    kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
    while !children().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(sandboxed.evaluate(&Place::at(["double"]).call([json!(4).into()])), Ok(json!(8)));
    assert_eq!((pool.stats().started, pool.stats().lost), (2, 1));
    // And when the pool goes, so do its workers.
    drop((sandboxed, pool));
    assert_eq!(children(), Vec::<i32>::new());
}
