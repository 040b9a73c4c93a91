//! In which row a box stands: below everything that it comes after.

use super::{GAP, MAX_WIDTH, Plan};

impl Plan<'_> {
    pub(super) fn find_rows(&mut self) {
        let levels = self.levels();
        let last = levels.iter().copied().max().unwrap_or(0);
        for level in 0..=last {
            let blocks = (0..self.blocks.len()).filter(|it| levels[*it] == level);
            self.rows.push(blocks.collect());
        }
        self.rows.retain(|it| !it.is_empty());
        self.note_rows();
    }

    /// By box: the longest way to it over lines that order. What everything begins with stands alone.
    fn levels(&self) -> Vec<usize> {
        let mut before = vec![Vec::new(); self.blocks.len()];
        for ((from, to), line) in self.ends.iter().zip(self.lines.iter()) {
            if line.orders {
                before[*to].push(*from);
            }
        }
        let mut levels: Vec<Option<usize>> = vec![None; self.blocks.len()];
        let mut open = vec![false; self.blocks.len()];
        for block in 0..self.blocks.len() {
            // Without recursion: a chain may be long.
            let mut stack = vec![block];
            while let Some(at) = stack.last().copied() {
                if levels[at].is_some() {
                    stack.pop();
                    continue;
                }
                open[at] = true;
                // What is being looked at already closes a circle, and has no say.
                let next = before[at].iter().copied().find(|it| levels[*it].is_none() && !open[*it]);
                if let Some(next) = next {
                    stack.push(next);
                    continue;
                }
                let above = before[at].iter().filter_map(|it| levels[*it]).max();
                let least = usize::from(!self.blocks[at].first);
                levels[at] = Some(above.map_or(least, |it| (it + 1).max(least)));
                open[at] = false;
                stack.pop();
            }
        }
        levels.into_iter().map(Option::unwrap_or_default).collect()
    }

    pub(super) fn note_rows(&mut self) {
        self.row_of = vec![0; self.blocks.len()];
        for (index, row) in self.rows.iter().enumerate() {
            for block in row {
                self.row_of[*block] = index;
            }
        }
    }

    /// Breaks rows that are too wide into several.
    pub(super) fn wrap_rows(&mut self) {
        let mut rows = Vec::new();
        for row in std::mem::take(&mut self.rows) {
            let width = |it: &[usize]| it.iter().map(|at| self.blocks[*at].size.x + GAP).sum::<f64>();
            let parts = (width(&row) / MAX_WIDTH).ceil().max(1.0) as usize;
            let each = row.len().div_ceil(parts);
            rows.extend(row.chunks(each.max(1)).map(<[usize]>::to_vec));
        }
        self.rows = rows;
        self.note_rows();
    }
}
