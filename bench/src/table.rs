//! What was measured, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::measure::Measured;

/// One result in one line.
pub(crate) fn line(it: &Measured) -> String {
    format!(
        "  {}: {:.2} s, {:.2} CPU s, {:.2} of the control plane, {:.1} MB, {:.1} MB of workers, {:.2} requests each, repair {:.1} ms, restart {}",
        it.operator,
        it.seconds,
        it.processor_seconds,
        it.plane_seconds,
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

/// What was measured of one operator at one work, in all turns.
pub(crate) struct Turns {
    turns: Vec<Measured>,
    /// The one with the most requests.
    busiest: usize,
}

/// What changes from turn to turn.
type Quantity = fn(&Measured) -> f64;
const SECONDS: Quantity = |it| it.seconds;
const PROCESSOR: Quantity = |it| it.processor_seconds;
const PLANE: Quantity = |it| it.plane_seconds;
const MEGABYTES: Quantity = |it| it.peak_megabytes;
const WORKERS: Quantity = |it| it.worker_megabytes;
const REPAIR: Quantity = |it| it.repair_milliseconds;

impl Turns {
    /// All turns; none if there were none.
    pub(crate) fn of(turns: Vec<Measured>) -> Option<Self> {
        // Requests are told of the turn that had the most of them.
        let most = (0..turns.len()).max_by(|a, b| each(&turns[*a]).total_cmp(&each(&turns[*b])))?;
        Some(Self { turns, busiest: most })
    }

    fn requests(&self) -> &Measured {
        &self.turns[self.busiest]
    }

    fn median(&self, of: Quantity) -> f64 {
        let mut all: Vec<f64> = self.turns.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
        f64::midpoint(low, high)
    }

    /// The ratio to another's median, and the least and the greatest of the turns'.
    fn ratio(&self, to: &Self, of: Quantity) -> (f64, f64, f64) {
        let all = || self.turns.iter().zip(&to.turns).map(|(its, other)| of(its) / of(other));
        let (least, greatest) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        (self.median(of) / to.median(of), least, greatest)
    }
}

/// The first operator's result for the same work.
fn limit<'a>(results: &'a [Turns], of: &Turns) -> &'a Turns {
    let work = |it: &Turns| (it.requests().shape, it.requests().count);
    results.iter().find(|it| work(it) == work(of)).unwrap_or(&results[0])
}

/// All results as a table, with their ratios to the first operator's.
pub(crate) fn markdown(results: &[Turns]) -> String {
    let mut text = String::from(
        "| shape | N | operator | seconds | CPU seconds | its control plane's | peak MB | workers MB | requests each | idle 5 s | repair ms | restart |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for turns in results {
        let (limit, it) = (limit(results, turns), turns.requests());
        let beside = |of: Quantity, digits: usize| {
            let value = turns.median(of);
            let (ratio, least, greatest) = turns.ratio(limit, of);
            if limit.requests().operator == it.operator {
                format!("{value:.digits$}")
            } else if turns.turns.len() > 1 {
                format!("{value:.digits$} ({ratio:.2}x; {least:.2} to {greatest:.2})")
            } else {
                format!("{value:.digits$} ({ratio:.2}x)")
            }
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {:.1} | {:.2} | {} | {} | {} |",
            it.shape.name(),
            it.count,
            it.operator,
            beside(SECONDS, 2),
            beside(PROCESSOR, 2),
            beside(PLANE, 2),
            beside(MEGABYTES, 1),
            turns.median(WORKERS),
            each(it),
            words(&it.idle),
            beside(REPAIR, 1),
            words(&it.restarted),
        );
    }
    text
}

/// The same for programs.
pub(crate) fn json(results: &[Turns]) -> Value {
    let one = |turns: &Turns| {
        let (limit, it) = (limit(results, turns), turns.requests());
        let numbers = |of: &dyn Fn(Quantity) -> Value| {
            json!({
                "seconds": of(SECONDS), "processor_seconds": of(PROCESSOR), "plane_seconds": of(PLANE), "peak_megabytes": of(MEGABYTES),
                "worker_megabytes": of(WORKERS), "repair_milliseconds": of(REPAIR),
            })
        };
        let ratio = |of: Quantity| {
            let (ratio, least, greatest) = turns.ratio(limit, of);
            json!({ "of_medians": ratio, "least": least, "greatest": greatest })
        };
        json!({
            "shape": it.shape.name(), "count": it.count, "operator": it.operator,
            "children": it.shape.children(),
            "medians": numbers(&|of| json!(turns.median(of))),
            "turns": numbers(&|of| turns.turns.iter().map(of).collect()),
            "requests_each": each(it),
            "requests": {
                "create": it.created, "idle": it.idle, "repair": it.repaired, "restart": it.restarted,
            },
            "to": limit.requests().operator,
            "ratios": numbers(&ratio),
        })
    };
    json!({ "results": results.iter().map(one).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Turns, markdown};
    use crate::{measure::Measured, shape::Shape};

    fn turns(operator: &str, seconds: &[f64]) -> Turns {
        let one = |seconds: &f64| Measured {
            operator: operator.to_owned(),
            shape: Shape::Chain,
            count: 2,
            seconds: *seconds,
            processor_seconds: 1.0,
            plane_seconds: 9.0,
            peak_megabytes: 10.0,
            worker_megabytes: 0.0,
            created: BTreeMap::from([("patch".to_owned(), 12)]),
            idle: BTreeMap::new(),
            repair_milliseconds: 5.0,
            repaired: BTreeMap::new(),
            restarted: BTreeMap::new(),
        };
        Turns::of(seconds.iter().map(one).collect()).unwrap()
    }

    #[test]
    fn one_slow_turn_does_not_decide() {
        let (limit, other) = (turns("limit", &[2.0, 2.0, 8.0]), turns("other", &[3.0, 2.0, 4.0]));
        let rows = markdown(&[limit, other]);
        let row = |name: &str| rows.lines().find(|it| it.contains(name)).unwrap().to_owned();
        assert!(
            row("limit").starts_with("| chain | 2 | limit | 2.00 | 1.00 | 9.00 | 10.0 | 0.0 | 6.00 |"),
            "{rows}"
        );
        assert!(row("other").contains("| 3.00 (1.50x; 0.50 to 1.50) |"), "{rows}");
        let rows = markdown(&[turns("limit", &[2.0]), turns("other", &[3.0])]);
        assert!(rows.contains("| 3.00 (1.50x) |"), "{rows}");
    }
}
