//! What is left in memory: by many calls in the parent of workers, and by calls of the library's helpers. These tests are alone in their
//! process and run one after the other, so that what is counted is this.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test are the test")]

mod workers;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pemdas_nickel::{Evaluator as _, InProcess, Limits, Memo, Place, Sources};
use serde_json::json;

/// Calls in all: most are remembered, every tenth goes to a worker.
const CALLS: (u64, u64) = (10_000, 100_000);
/// How long the text is that goes through each call: a tenth of the calls with ten times the text show the same leak of a message.
const TEXT: (usize, usize) = (20_000, 2_000);
/// How much the parent may grow between the first tenth of the calls and the last: noise of the allocator, far below one
/// leaked message for each call to a worker (which would be twenty megabytes). In the deep tier it is far below one leaked kilobyte, too.
const MAX_GROWTH: u64 = 3 << 20;
/// What the memo may hold.
const MEMO_BYTES: usize = 1 << 20;

/// One test after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn resident_pages() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

fn resident() -> u64 {
    resident_pages() * rustix::param::page_size() as u64
}

#[test]
fn the_parent_stays_as_it_is() {
    let _alone = alone();
    let calls = pemdas_tier::size(CALLS.0, CALLS.1);
    // `fold_left` leaks in the evaluator with every call: the worker must grow and be replaced, the parent must not notice.
    let sources = Sources::single(
        "{ render = fun the => { total = std.array.fold_left (fun acc x => acc + x) the.n [1, 2, 3], text = \"%{the.text}\" } }",
    );
    let pool = workers::pool(|config| {
        config.recycle_bytes = 48 << 20;
        config.recycle_answers = calls / 25;
        // The test counts memory, not time.
        config.limits.millis = 60_000;
    });
    let memo = Memo::new(MEMO_BYTES);
    let sandboxed = pool.load("a", &sources).unwrap();
    let known = memo.over(sandboxed, "a", sources.digest());

    let text = "x".repeat(pemdas_tier::size(TEXT.0, TEXT.1));
    let mut after_first_tenth = 0;
    for call in 0..calls {
        // Ten calls in a row ask the same.
        let n = call / 10;
        let place = Place::at(["render"]).call([json!({ "n": n, "text": text }).into()]);
        assert_eq!(known.evaluate(&place), Ok(json!({ "total": n + 6, "text": text })));
        if call == calls / 10 {
            after_first_tenth = resident();
        }
    }
    let growth = resident().saturating_sub(after_first_tenth);
    let (hits, misses) = memo.hits_and_misses();
    let stats = pool.stats();
    println!("{hits} hits, {misses} misses, {stats:?}, grown by {growth} bytes to {}", resident());
    assert_eq!((hits, misses), (calls / 10 * 9, calls / 10));
    assert!(stats.recycled >= 2 && stats.lost == 0, "{stats:?}");
    assert!(memo.bytes() <= MEMO_BYTES, "{}", memo.bytes());
    assert!(growth <= MAX_GROWTH, "the parent has grown by {growth} bytes");
    pemdas_tier::tried(calls, "calls");
}

/// How many pages stay behind after so many calls. What the allocator does once is not there each time it is looked.
fn pages_left_by(function: &str, calls: u64) -> u64 {
    let text = format!("let v = import \"pemdas/v1.ncl\" in {{ f = fun the => {function} }}");
    let loaded = InProcess::load(&Sources::single(text), &Limits::default()).unwrap();
    let call = |number: u64| {
        let place = Place::at(["f"]).call([json!({ "n": number, "s": format!("s{number}") }).into()]);
        loaded.evaluate(&place).unwrap_or_else(|failure| panic!("{function}: {failure:?}"));
    };
    (0..100).for_each(call);
    let looks = (0..3).map(|_| {
        let before = resident_pages();
        (0..calls).for_each(call);
        resident_pages().saturating_sub(before)
    });
    looks.min().unwrap_or_default()
}

/// A `let rec` inside of a function leaves some 3.5 KiB behind in each call.
#[test]
fn helpers_leave_no_memory_behind() {
    let _alone = alone();
    let calls = pemdas_tier::size(200, 5_000);
    let allowed = calls / 2; // Half a page for each call: far more than noise, far less than the leak below.
    let helpers = "{
        a = v.sort [the.s, \"b\", \"a\", \"d\", \"c\"],
        b = v.fold (fun sum item => sum + item) the.n [1, 2, 3, 4, 5, 6, 7, 8],
        c = v.keep (fun item => item > the.n) [1, 2, 3],
        d = v.env_of { A = the.n, B = the.s, C = v.from_secret \"a\" \"b\", D = null },
        e = v.labels_of \"web\" { metadata.name = the.s },
        f = v.at \"x.y\" 0 the,
        g = v.base64 the.s,
        h = v.short 10 \"0123456789abcdef%{the.s}\",
        i = v.record_of [{ field = the.s, value = 1 }],
        j = v.keep_fields (fun _name item => item != the.s) { a = \"b\" },
    }";
    let left = pages_left_by(helpers, calls);
    assert!(left < allowed, "{left} pages are left behind by {calls} calls of the helpers");
    let leaking = pages_left_by(
        "std.array.sort (fun a b => if a < b then 'Lesser else 'Greater) [the.n, 3, 2, 1]",
        calls,
    );
    assert!(leaking > allowed, "the test no longer sees the leak that the helpers avoid: {leaking} pages");
}
