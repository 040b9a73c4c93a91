//! What was measured, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::measure::Measured;

/// One result in one line.
pub(crate) fn line(it: &Measured) -> String {
    format!(
        "  {:.2} s, {:.2} CPU s, {:.1} MB, {:.1} MB of workers, {:.2} requests each, repair {:.1} ms, restart {}",
        it.seconds,
        it.processor_seconds,
        it.peak_megabytes,
        it.worker_megabytes,
        each(it),
        it.repair_milliseconds,
        words(&it.restarted),
    )
}

/// Requests for each instance, without Leases, Events and watches.
fn each(it: &Measured) -> f64 {
    let apart = ["lease", "event", "watch"];
    let all: usize =
        it.created.iter().filter(|(verb, _)| !apart.contains(&verb.as_str())).map(|(_, n)| n).sum();
    all as f64 / it.count as f64
}

fn words(counts: &BTreeMap<String, usize>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    let words: Vec<String> = counts.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
    words.join(", ")
}

/// The first operator's result for the same work.
fn limit<'a>(results: &'a [Measured], of: &Measured) -> &'a Measured {
    let same = results.iter().find(|it| it.shape == of.shape && it.count == of.count);
    same.unwrap_or(&results[0])
}

/// All results as a table, with their ratios to the first operator's.
pub(crate) fn markdown(results: &[Measured]) -> String {
    let mut text = String::from(
        "| shape | N | operator | seconds | CPU seconds | peak MB | workers MB | requests each | idle 5 s | repair ms | restart |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for it in results {
        let limit = limit(results, it);
        let beside = |value: f64, of: f64, digits: usize| {
            if limit.operator == it.operator {
                format!("{value:.digits$}")
            } else {
                format!("{value:.digits$} ({:.2}x)", value / of)
            }
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {:.1} | {:.2} | {} | {} | {} |",
            it.shape.name(),
            it.count,
            it.operator,
            beside(it.seconds, limit.seconds, 2),
            beside(it.processor_seconds, limit.processor_seconds, 2),
            beside(it.peak_megabytes, limit.peak_megabytes, 1),
            it.worker_megabytes,
            each(it),
            words(&it.idle),
            beside(it.repair_milliseconds, limit.repair_milliseconds, 1),
            words(&it.restarted),
        );
    }
    text
}

/// The same for programs.
pub(crate) fn json(results: &[Measured]) -> Value {
    let one = |it: &Measured| {
        let limit = limit(results, it);
        json!({
            "shape": it.shape.name(), "count": it.count, "operator": it.operator,
            "children": it.shape.children(),
            "seconds": it.seconds, "processor_seconds": it.processor_seconds,
            "peak_megabytes": it.peak_megabytes,
            "worker_megabytes": it.worker_megabytes, "requests_each": each(it),
            "repair_milliseconds": it.repair_milliseconds,
            "requests": {
                "create": it.created, "idle": it.idle, "repair": it.repaired, "restart": it.restarted,
            },
            "ratios": {
                "to": limit.operator,
                "seconds": it.seconds / limit.seconds,
                "processor_seconds": it.processor_seconds / limit.processor_seconds,
                "peak_megabytes": it.peak_megabytes / limit.peak_megabytes,
                "repair_milliseconds": it.repair_milliseconds / limit.repair_milliseconds,
            },
        })
    };
    json!({ "results": results.iter().map(one).collect::<Vec<_>>() })
}
