//! Where a box stands in its row: near those that it is connected with.

use super::{GAP, Plan};

/// How often the rows are gone through.
const SWEEPS: usize = 6;

impl Plan<'_> {
    /// Orders each row by where the neighbours of its boxes stand.
    pub(super) fn order_rows(&mut self) {
        let ordering = self.neighbours(true);
        let all = self.neighbours(false);
        for sweep in 0..SWEEPS {
            let mut place = vec![0.0; self.blocks.len()];
            for row in &self.rows {
                for (index, block) in row.iter().enumerate() {
                    // In parts of the row, so that long and short ones can be compared.
                    place[*block] = (index as f64 + 0.5) / row.len() as f64;
                }
            }
            let down = sweep.is_multiple_of(2);
            let count = self.rows.len();
            for step in 0..count {
                let at = if down { step } else { count - 1 - step };
                let mut row = std::mem::take(&mut self.rows[at]);
                let wanted = |block: &usize| {
                    let near = if ordering[*block].is_empty() { &all[*block] } else { &ordering[*block] };
                    let seen =
                        |it: &&usize| if down { self.row_of[**it] < at } else { self.row_of[**it] > at };
                    let seen: Vec<f64> = near.iter().filter(seen).map(|it| place[*it]).collect();
                    if seen.is_empty() { place[*block] } else { seen.iter().sum::<f64>() / seen.len() as f64 }
                };
                let mut keyed: Vec<(f64, usize)> = row.iter().map(|it| (wanted(it), *it)).collect();
                // Equal ones stay in the order of the source.
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                row.clear();
                row.extend(keyed.iter().map(|it| it.1));
                for (index, block) in row.iter().enumerate() {
                    place[*block] = (index as f64 + 0.5) / row.len() as f64;
                }
                self.rows[at] = row;
            }
        }
        self.wrap_rows();
    }

    /// Gives each box its place from left to right: below the middle of its neighbours, and not on another one.
    pub(super) fn place_across(&mut self) {
        for row in 0..self.rows.len() {
            let wanted: Vec<f64> = self.rows[row].iter().map(|_| 0.0).collect();
            self.spread(row, &wanted);
        }
        let ordering = self.neighbours(true);
        let all = self.neighbours(false);
        for sweep in 0..SWEEPS {
            let count = self.rows.len();
            for step in 0..count {
                let row = if sweep.is_multiple_of(2) { step } else { count - 1 - step };
                let wanted: Vec<f64> = self.rows[row]
                    .iter()
                    .map(|block| {
                        let near = if ordering[*block].is_empty() { &all[*block] } else { &ordering[*block] };
                        let near: Vec<f64> = near
                            .iter()
                            .filter(|it| *it != block)
                            .map(|it| self.blocks[*it].middle.x)
                            .collect();
                        match near.len() {
                            0 => self.blocks[*block].middle.x,
                            count => near.iter().sum::<f64>() / count as f64,
                        }
                    })
                    .collect();
                self.spread(row, &wanted);
            }
        }
    }

    /// Places the boxes of a row as near as can be to where they want to be, in their order.
    fn spread(&mut self, row: usize, wanted: &[f64]) {
        let row = self.rows[row].clone();
        // Groups of boxes that stand side by side, each around the middle of what its boxes want.
        let mut groups: Vec<Group> = Vec::new();
        for (block, wanted) in row.iter().zip(wanted) {
            let width = self.blocks[*block].size.x + GAP;
            let mut group = Group { blocks: vec![*block], width, wanted: *wanted, count: 1.0 };
            while let Some(last) = groups.last() {
                if last.right() <= group.left() {
                    break;
                }
                // What its own boxes want is told from the left end of the whole group.
                let last = groups.pop().unwrap_or_else(|| group.clone());
                group = last.with(group);
            }
            groups.push(group);
        }
        for group in groups {
            let mut at = group.left();
            for block in &group.blocks {
                let width = self.blocks[*block].size.x + GAP;
                self.blocks[*block].middle.x = at + width / 2.0;
                at += width;
            }
        }
    }
}

/// Boxes side by side.
#[derive(Debug, Clone)]
struct Group {
    blocks: Vec<usize>,
    width: f64,
    /// Where its middle wants to be.
    wanted: f64,
    /// How many boxes want that.
    count: f64,
}

impl Group {
    fn left(&self) -> f64 {
        self.wanted - self.width / 2.0
    }

    fn right(&self) -> f64 {
        self.wanted + self.width / 2.0
    }

    /// This one and the next one to the right as one.
    fn with(mut self, next: Self) -> Self {
        let width = self.width + next.width;
        // Each wants the middle of the whole to be where its own part is as it wants.
        let mine = self.wanted + next.width / 2.0;
        let theirs = next.wanted - self.width / 2.0;
        let count = self.count + next.count;
        self.blocks.extend(next.blocks);
        Self { blocks: self.blocks, width, wanted: (mine * self.count + theirs * next.count) / count, count }
    }
}
