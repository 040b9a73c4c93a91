//! Which faults are tried.

use super::{Entry, Fault, Played};

/// What is done to the requests of one run, by their numbers.
pub(crate) type Faults = Vec<(usize, Fault)>;

/// The most writes of a run of which all pairs of deaths are tried.
const MAX_PAIRED: usize = 20;

/// Every fault for every request.
pub(crate) fn singles(whole: &Played) -> Vec<Faults> {
    let mut all = Vec::new();
    for (number, entry) in whole.entries.iter().enumerate() {
        let faults: &[Fault] = if entry.writes() {
            &[
                Fault::CrashBefore,
                Fault::CrashAfter,
                Fault::Broken,
                Fault::BrokenAfter,
                Fault::Silent,
                Fault::Frozen,
                Fault::Refused(409),
                Fault::Refused(429),
                Fault::Refused(500),
            ]
        } else if entry.watches() {
            &[Fault::CrashBefore, Fault::Silent, Fault::Late, Fault::Cut, Fault::Refused(410)]
        } else {
            &[Fault::CrashBefore, Fault::Broken, Fault::Silent, Fault::Refused(500)]
        };
        all.extend(faults.iter().map(|it| vec![(number, *it)]));
        // Every single thing that a watch told is the first of those that are missed.
        all.extend((0..entry.told).map(|it| vec![(number, Fault::Gap(it))]));
    }
    for number in &whole.asked {
        all.extend([Fault::EvaluatorDies, Fault::EvaluatorSlow].map(|it| vec![(*number, it)]));
    }
    all
}

/// As many pairs as there are single faults, drawn by the seed.
pub(crate) fn drawn(singles: &[Faults], seed: u64) -> Vec<Faults> {
    let mut chance = fastrand::Rng::with_seed(seed);
    let draw = |chance: &mut fastrand::Rng| singles.get(chance.usize(..singles.len().max(1))).cloned();
    let mut all = Vec::new();
    for _ in 0..singles.len() {
        let (Some(one), Some(other)) = (draw(&mut chance), draw(&mut chance)) else { break };
        let mut pair: Faults = one.into_iter().chain(other).collect();
        pair.sort_unstable();
        pair.dedup_by_key(|it| it.0);
        all.push(pair);
    }
    all
}

/// The writes at which the operator may die, if they are few enough to try all pairs of them.
pub(crate) fn deaths(entries: &[Entry]) -> Vec<Faults> {
    let writes: Vec<usize> = written(entries, 0);
    if writes.len() > MAX_PAIRED {
        return Vec::new();
    }
    writes.iter().flat_map(|it| [vec![(*it, Fault::CrashBefore)], vec![(*it, Fault::CrashAfter)]]).collect()
}

/// After one death, another one at every write that follows.
pub(crate) fn second_deaths(first: &[(usize, Fault)], entries: &[Entry]) -> Vec<Faults> {
    let Some((number, _)) = first.last() else { return Vec::new() };
    let again = |it: usize| {
        [Fault::CrashBefore, Fault::CrashAfter].map(|fault| {
            let mut pair = first.to_vec();
            pair.push((it, fault));
            pair
        })
    };
    written(entries, number + 1).into_iter().flat_map(again).collect()
}

fn written(entries: &[Entry], from: usize) -> Vec<usize> {
    let writes = entries.iter().enumerate().skip(from).filter(|(_, it)| it.writes());
    writes.map(|(number, _)| number).collect()
}
