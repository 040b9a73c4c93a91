//! How high rows are, and how lines run: between the rows, and through the gaps between boxes.

use super::{GAP, Plan, Point};

/// A line is bent so far from the boxes of a row, and no nearer than that to any.
const BEND: f64 = 12.0;
const RIM: f64 = 5.0;
/// The space between two rows, without labels.
const SPACE: f64 = 46.0;
/// What a line of labels needs more.
const LANE: f64 = 23.0;
/// How far a line keeps from a box that it passes.
const ASIDE: f64 = 12.0;
/// Lines through one gap keep so far from each other, in so many lanes.
const BESIDE: f64 = 5.0;
const BESIDES: usize = 4;

impl Plan<'_> {
    fn height(&self, row: usize) -> f64 {
        let heights = self.rows[row].iter().map(|it| self.blocks[*it].size.y);
        heights.fold(0.0, f64::max)
    }

    /// The row above which a label stands: at the end of its line, or at its beginning where it leads upwards.
    fn channel(&self, line: usize) -> usize {
        let (from, to) = self.ends[line];
        let (from, to) = (self.row_of[from], self.row_of[to]);
        if to > from { to } else { to + 1 }
    }

    /// Gives each row its height, with room for the labels above it, and labels their places.
    pub(super) fn place_down(&mut self) {
        let mut lanes: Vec<Vec<f64>> = vec![Vec::new(); self.rows.len() + 1];
        let mut labels: Vec<(usize, usize, f64, f64)> = Vec::new();
        for line in 0..self.lines.len() {
            let Some(size) = self.lines[line].label else { continue };
            let (from, to) = self.ends[line];
            let channel = self.channel(line);
            // A line that comes from far stands upright there already.
            let near = self.row_of[from].abs_diff(self.row_of[to]) < 2;
            let (from, to) = (self.blocks[from].middle.x, self.blocks[to].middle.x);
            let part = if near { 0.4 } else { 0.1 };
            labels.push((channel, line, to + (from - to) * part, size.x));
        }
        labels.sort_by(|a, b| {
            (a.0, a.2, a.1).partial_cmp(&(b.0, b.2, b.1)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let mut placed = Vec::new();
        for (channel, line, x, width) in labels {
            // In the first lane that is free there.
            let lane = lanes[channel].iter().position(|right| *right + 4.0 <= x - width / 2.0);
            let lane = lane.unwrap_or_else(|| {
                lanes[channel].push(f64::MIN);
                lanes[channel].len() - 1
            });
            lanes[channel][lane] = x + width / 2.0;
            placed.push((channel, line, x, lane));
        }
        let mut y = 0.0;
        let mut tops = Vec::new();
        for (row, above) in lanes.iter().enumerate().take(self.rows.len()) {
            if row > 0 {
                y += SPACE + LANE * above.len() as f64;
            }
            tops.push(y);
            let height = self.height(row);
            for block in self.rows[row].clone() {
                self.blocks[block].middle.y = y + height / 2.0;
            }
            y += height;
        }
        let below = y + SPACE / 2.0;
        for (channel, line, x, lane) in placed {
            // From below upwards: the first lane is next to the row.
            let row = tops.get(channel).map(|top| top - SPACE / 2.0 - LANE * (lane as f64 + 0.5));
            let y = row.unwrap_or(below + LANE * (lane as f64 + 0.5));
            self.lines[line].label_middle = Some(Point { x, y });
        }
    }

    /// Gives each line its points.
    pub(super) fn route(&mut self) {
        let mut used = std::collections::BTreeMap::<(usize, usize), usize>::new();
        for line in 0..self.lines.len() {
            let (from, to) = self.ends[line];
            let (first, last) = (self.row_of[from], self.row_of[to]);
            // Out of its row and into the other one it runs straight: its neighbours may be higher.
            let (leaves_down, comes_from_above) = (last >= first, last > first);
            let (start, out) = self.port(from, to, leaves_down);
            let (end, into) = self.port(to, from, !comes_from_above);
            let mut points = vec![start, out];
            let between: Vec<usize> = match last.cmp(&first) {
                std::cmp::Ordering::Greater => (first + 1..last).collect(),
                _ => (last + 1..first).rev().collect(),
            };
            let count = between.len() as f64 + 1.0;
            let mut at = start.x;
            for (index, row) in between.into_iter().enumerate() {
                // Straight on, or through the gap that is next.
                let wanted = at + (end.x - at) / (count - index as f64);
                let (gap, x) = self.gap(row, wanted);
                let beside = used.entry((row, gap)).or_default();
                let shift = ((*beside % BESIDES) as f64 - (BESIDES as f64 - 1.0) / 2.0) * BESIDE;
                *beside += 1;
                at = x + shift;
                let (top, bottom) = self.rim(row);
                let mut through = vec![top - BEND, top, bottom, bottom + BEND];
                if !comes_from_above {
                    through.reverse();
                }
                points.extend(through.into_iter().map(|y| Point { x: at, y }));
            }
            points.extend([into, end]);
            self.lines[line].points = points;
        }
    }

    /// The upper and the lower end of a row, with a little space.
    fn rim(&self, row: usize) -> (f64, f64) {
        let blocks = || self.rows[row].iter().copied();
        let top = blocks().map(|it| self.top(it)).fold(f64::MAX, f64::min);
        let bottom = blocks().map(|it| self.bottom(it)).fold(f64::MIN, f64::max);
        (top - RIM, bottom + RIM)
    }

    /// Where a line meets a box, at its lower rim or at its upper one, nearer to the other end; and where it is out of its row.
    fn port(&self, block: usize, other: usize, below: bool) -> (Point, Point) {
        let half = (self.blocks[block].size.x / 2.0 - 14.0).max(0.0);
        let towards = (self.blocks[other].middle.x - self.blocks[block].middle.x) / 6.0;
        let x = self.blocks[block].middle.x + towards.clamp(-half, half);
        let (top, bottom) = self.rim(self.row_of[block]);
        let (at, out) = if below { (self.bottom(block), bottom + RIM) } else { (self.top(block), top - RIM) };
        (Point { x, y: at }, Point { x, y: out })
    }

    /// The gap of a row that is next to a place, and where in it.
    fn gap(&self, row: usize, wanted: f64) -> (usize, f64) {
        let blocks = &self.rows[row];
        let mut best = (0, f64::MAX, wanted);
        for gap in 0..=blocks.len() {
            let left = gap.checked_sub(1).map(|it| self.right(blocks[it]));
            let right = blocks.get(gap).map(|it| self.left(*it));
            let x = match (left, right) {
                (Some(left), Some(right)) => {
                    wanted.clamp(left + ASIDE.min(GAP / 2.0), right - ASIDE.min(GAP / 2.0))
                }
                (Some(left), None) => wanted.max(left + GAP / 2.0),
                (None, Some(right)) => wanted.min(right - GAP / 2.0),
                (None, None) => wanted,
            };
            let far = (x - wanted).abs();
            if far < best.1 {
                best = (gap, far, x);
            }
        }
        (best.0, best.2)
    }
}
