//! The parent's memory over a hundred thousand calls. Alone in its process, so that what is counted is this.

#![allow(clippy::unwrap_used, reason = "the helpers of a test are the test")]

mod workers;

use pemdas_nickel::{Evaluator as _, Memo, Place, Sources};
use serde_json::json;

/// Calls in all: most are remembered, every tenth goes to a worker.
const CALLS: u64 = 100_000;
/// How much the parent may grow between the first tenth of the calls and the last: noise of the allocator, far below one
/// leaked kilobyte for each call to a worker (which would be ten megabytes).
const MAX_GROWTH: u64 = 3 << 20;
/// What the memo may hold.
const MEMO_BYTES: usize = 1 << 20;

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

#[test]
fn the_parent_stays_as_it_is() {
    // `fold_left` leaks in the evaluator with every call: the worker must grow and be replaced, the parent must not notice.
    let sources = Sources::single(
        "{ render = fun the => { total = std.array.fold_left (fun acc x => acc + x) the.n [1, 2, 3], text = \"%{the.text}\" } }",
    );
    let pool = workers::pool(|config| {
        config.recycle_bytes = 48 << 20;
        config.recycle_answers = 4_000;
        // The test counts memory, not time.
        config.limits.millis = 60_000;
    });
    let memo = Memo::new(MEMO_BYTES);
    let sandboxed = pool.load("a", &sources).unwrap();
    let known = memo.over(sandboxed, "a", sources.digest());

    let text = "x".repeat(2_000);
    let mut after_first_tenth = 0;
    for call in 0..CALLS {
        // Ten calls in a row ask the same.
        let n = call / 10;
        let place = Place::at(["render"]).call([json!({ "n": n, "text": text }).into()]);
        assert_eq!(known.evaluate(&place), Ok(json!({ "total": n + 6, "text": text })));
        if call == CALLS / 10 {
            after_first_tenth = resident();
        }
    }
    let growth = resident().saturating_sub(after_first_tenth);
    let (hits, misses) = memo.hits_and_misses();
    let stats = pool.stats();
    println!("{hits} hits, {misses} misses, {stats:?}, grown by {growth} bytes to {}", resident());
    assert_eq!((hits, misses), (CALLS / 10 * 9, CALLS / 10));
    assert!(stats.recycled >= 2 && stats.lost == 0, "{stats:?}");
    assert!(memo.bytes() <= MEMO_BYTES, "{}", memo.bytes());
    assert!(growth <= MAX_GROWTH, "the parent has grown by {growth} bytes");
}
