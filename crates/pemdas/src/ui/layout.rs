//! Where the boxes of a graph stand: from left to right by what comes after what, the same for the same graph whatever its nodes do.
//!
//! Columns follow the longest path of the Sequence graph. Within a column the order follows the neighbours, by a few sweeps, so that few
//! lines cross. By hand, because the crate `dagre` does not end on a chain of 500 nodes.

/// How many boxes stand in a column before it goes on in the next one.
const MAX_ROWS: usize = 40;
/// How many places are kept free for lines that pass a column: those of longer lines in a large graph run behind boxes.
const MAX_FREE: usize = 600;
/// How often the order of all columns follows that of their neighbours.
const SWEEPS: usize = 6;

/// A place: which column, and which row of it.
pub(super) type Place = (usize, usize);

/// Where everything stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// By box.
    pub(super) boxes: Vec<Place>,
    /// By edge: what it passes between the columns of its ends.
    pub(super) via: Vec<Vec<Place>>,
}

/// The places of boxes, by the edges between them.
pub(super) fn place(count: usize, edges: &[(usize, usize)]) -> Places {
    let mut level = levels(count, edges);
    // A line that passes a column has a place in it, as a box would have.
    let mut parts = Vec::new();
    let mut via = vec![Vec::new(); edges.len()];
    for (at, (from, to)) in edges.iter().enumerate() {
        let passed = (level[*from] + 1)..level[*to];
        let mut last = *from;
        if level.len() + passed.len() <= count + MAX_FREE {
            for column in passed {
                let free = level.len();
                level.push(column);
                parts.push((last, free));
                via[at].push(free);
                last = free;
            }
        }
        parts.push((last, *to));
    }
    let places = in_columns(&level, &parts);
    let via = via.into_iter().map(|it| it.into_iter().map(|free| places[free]).collect()).collect();
    Places { boxes: places[..count].to_vec(), via }
}

/// The places of what stands in these columns.
fn in_columns(level: &[usize], edges: &[(usize, usize)]) -> Vec<Place> {
    let count = level.len();
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); level.iter().map(|it| it + 1).max().unwrap_or(0)];
    for (node, level) in level.iter().enumerate() {
        columns[*level].push(node);
    }
    let mut beside = vec![Vec::new(); count];
    for (from, to) in edges.iter().filter(|(from, to)| from != to) {
        beside[*from].push(*to);
        beside[*to].push(*from);
    }
    let mut row = vec![0.0; count];
    let number = |column: &[usize], row: &mut [f64]| {
        for (at, node) in column.iter().enumerate() {
            row[*node] = middle(at, column.len());
        }
    };
    columns.iter().for_each(|it| number(it, &mut row));
    for sweep in 0..SWEEPS {
        let order: Vec<usize> =
            if sweep % 2 == 0 { (0..columns.len()).collect() } else { (0..columns.len()).rev().collect() };
        for at in order {
            let wish = |node: usize| {
                let near = beside[node].iter().filter(|it| level[**it] != at).map(|it| row[*it]);
                let (sum, all) = near.fold((0.0, 0.0), |(sum, all), it| (sum + it, all + 1.0));
                if all > 0.0 { sum / all } else { row[node] }
            };
            let mut wishes: Vec<(f64, usize)> = columns[at].iter().map(|it| (wish(*it), *it)).collect();
            wishes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            columns[at] = wishes.into_iter().map(|it| it.1).collect();
            number(&columns[at], &mut row);
        }
    }
    let mut places = vec![(0, 0); count];
    let mut first = 0;
    for column in columns {
        for (at, node) in column.iter().enumerate() {
            places[*node] = (first + at / MAX_ROWS, at % MAX_ROWS);
        }
        first += column.len().div_ceil(MAX_ROWS);
    }
    places
}

/// Rows count from the middle of a column, so that a single box stands beside the middle of many.
fn middle(at: usize, of: usize) -> f64 {
    let number = |it: usize| f64::from(u32::try_from(it).unwrap_or(u32::MAX));
    number(at) - (number(of) - 1.0) / 2.0
}

/// By node: how many come before it on the longest path. Circles are cut where they close.
fn levels(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut after = vec![Vec::new(); count];
    let mut open = vec![0; count];
    for (from, to) in edges.iter().filter(|(from, to)| from != to) {
        after[*from].push(*to);
        open[*to] += 1;
    }
    let mut level = vec![0; count];
    let mut ready: Vec<usize> = (0..count).filter(|it| open[*it] == 0).collect();
    let mut done = vec![false; count];
    loop {
        while let Some(node) = ready.pop() {
            done[node] = true;
            for to in &after[node] {
                level[*to] = level[*to].max(level[node] + 1);
                open[*to] -= 1;
                if open[*to] == 0 && !done[*to] {
                    ready.push(*to);
                }
            }
        }
        let Some(cut) = (0..count).find(|it| !done[*it] && open[*it] > 0) else { return level };
        // Its last edges come from a circle that it is in: it begins here.
        open[cut] = usize::MAX / 2;
        ready.push(cut);
    }
}

/// Which boxes are shown where there are too many: first those that somebody looks for, then what is beside them, then the others in
/// their order.
pub(super) fn shown(wanted: &[bool], edges: &[(usize, usize)], most: usize) -> Vec<bool> {
    let count = wanted.len();
    let mut near = vec![false; count];
    for (from, to) in edges {
        near[*from] |= wanted[*to];
        near[*to] |= wanted[*from];
    }
    let ranks = (0..count).filter(|it| wanted[*it]);
    let ranks = ranks.chain((0..count).filter(|it| !wanted[*it] && near[*it]));
    let ranks = ranks.chain((0..count).filter(|it| !wanted[*it] && !near[*it]));
    let mut shown = vec![false; count];
    ranks.take(most).for_each(|it| shown[it] = true);
    shown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{place, shown};

    fn check(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let places = place(count, edges);
        let free: Vec<_> = places.via.iter().flatten().collect();
        let distinct: BTreeSet<_> = places.boxes.iter().chain(free.iter().copied()).collect();
        assert_eq!(distinct.len(), count + free.len(), "no two at one place, and no line behind a box");
        assert_eq!(places, place(count, edges), "the same every time");
        places.boxes
    }

    #[test]
    fn what_comes_after_stands_further_right() {
        let chain: Vec<_> = (1..500).map(|it| (it - 1, it)).collect();
        let layered: Vec<_> =
            (3..500).flat_map(|it| (0..3).map(move |before| ((it / 3 - 1) * 3 + before, it))).collect();
        let star: Vec<_> = (1..500).map(|it| (0, it)).collect();
        let groups: Vec<_> = (0..500).filter(|it| it % 10 != 0).map(|it| (it - 1, it)).collect();
        for edges in [chain, layered, star, groups] {
            let places = check(500, &edges);
            for (from, to) in &edges {
                assert!(places[*from].0 < places[*to].0, "{from} is left of {to}");
            }
            assert!(places.iter().all(|it| it.1 < super::MAX_ROWS));
        }
    }

    #[test]
    fn lines_do_not_cross_where_they_need_not() {
        // Two chains, named so that their order by number would cross.
        check(4, &[(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)]);
        let places = check(4, &[(0, 3), (1, 2)]);
        let above = |a: usize, b: usize| places[a].1 < places[b].1;
        assert_eq!(above(0, 1), above(3, 2));
    }

    #[test]
    fn circles_and_nothing_are_drawn_all_the_same() {
        check(3, &[(0, 1), (1, 2), (2, 0)]);
        check(3, &[(0, 0), (1, 2), (2, 1)]);
        check(0, &[]);
        check(5, &[]);
    }

    #[test]
    fn the_worst_are_shown_and_what_is_beside_them() {
        let edges: Vec<_> = (1..10).map(|it| (it - 1, it)).collect();
        let wanted: Vec<bool> = (0..10).map(|it| it == 7).collect();
        let of = |most| (0..10).filter(|it| shown(&wanted, &edges, most)[*it]).collect::<Vec<_>>();
        assert_eq!(of(1), [7]);
        assert_eq!(of(3), [6, 7, 8]);
        assert_eq!(of(4), [0, 6, 7, 8]);
        assert_eq!(of(300).len(), 10);
    }
}
