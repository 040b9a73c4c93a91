//! Where things stand in a drawing: boxes in rows by their order, lines between them.
//!
//! The rows follow the Sequence graph: whatever comes after something stands below it. The Also graph has no say in it, because it
//! mostly leads from the root to everything, which no drawing can show in few rows. All of it is plain arithmetic over the blueprint,
//! so the same blueprint has the same picture.

mod order;
mod route;
mod rows;

/// The space between two boxes of a row.
const GAP: f64 = 36.0;
/// A row that would be wider goes on in the next one.
const MAX_WIDTH: f64 = 1_500.0;

/// A place or a size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A box to be placed.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) id: String,
    pub(super) size: Point,
    /// Whether everything begins with it: it stands above all others.
    pub(super) first: bool,
    /// The middle; set by the layout.
    pub(super) middle: Point,
}

/// A line to be drawn from box to box.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) from: String,
    pub(super) to: String,
    /// How large its label is; nothing where there is none.
    pub(super) label: Option<Point>,
    /// Whether its end stands below its beginning.
    pub(super) orders: bool,
    /// Its points; set by the layout.
    pub(super) points: Vec<Point>,
    /// The middle of its label; set by the layout.
    pub(super) label_middle: Option<Point>,
}

/// A drawing while it is made: boxes and lines by their index.
struct Plan<'a> {
    blocks: &'a mut [Block],
    lines: &'a mut [Line],
    /// By line: from where to where.
    ends: Vec<(usize, usize)>,
    /// The boxes of each row, from left to right.
    rows: Vec<Vec<usize>>,
    /// By box: its row.
    row_of: Vec<usize>,
}

/// Places everything.
pub(super) fn place(blocks: &mut [Block], lines: &mut [Line]) {
    let at: std::collections::BTreeMap<String, usize> =
        blocks.iter().enumerate().map(|(index, it)| (it.id.clone(), index)).collect();
    let ends = lines.iter().map(|it| (at[&it.from], at[&it.to])).collect();
    let mut plan = Plan { blocks, lines, ends, rows: Vec::new(), row_of: Vec::new() };
    plan.find_rows();
    plan.order_rows();
    plan.place_across();
    plan.place_down();
    plan.route();
}

impl Plan<'_> {
    fn left(&self, block: usize) -> f64 {
        self.blocks[block].middle.x - self.blocks[block].size.x / 2.0
    }

    fn right(&self, block: usize) -> f64 {
        self.blocks[block].middle.x + self.blocks[block].size.x / 2.0
    }

    fn top(&self, block: usize) -> f64 {
        self.blocks[block].middle.y - self.blocks[block].size.y / 2.0
    }

    fn bottom(&self, block: usize) -> f64 {
        self.blocks[block].middle.y + self.blocks[block].size.y / 2.0
    }

    /// By box: those that a line connects it with, of the lines that order or of all.
    fn neighbours(&self, ordering: bool) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new(); self.blocks.len()];
        for ((from, to), line) in self.ends.iter().zip(self.lines.iter()) {
            if !ordering || line.orders {
                found[*from].push(*to);
                found[*to].push(*from);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Line, Point, place};

    fn blocks(count: usize) -> Vec<Block> {
        let block = |index: usize| Block {
            id: format!("n{index}"),
            size: Point { x: 100.0, y: 48.0 },
            first: index == 0,
            middle: Point::default(),
        };
        (0..count).map(block).collect()
    }

    fn line(from: usize, to: usize, orders: bool) -> Line {
        let label = orders.then_some(Point { x: 60.0, y: 19.0 });
        Line {
            from: format!("n{from}"),
            to: format!("n{to}"),
            label,
            orders,
            points: Vec::new(),
            label_middle: None,
        }
    }

    /// Whether a segment crosses a box; a box is left alone at its rim.
    fn crosses(block: &Block, from: Point, to: Point) -> bool {
        let (half_x, half_y) = (block.size.x / 2.0 - 1.0, block.size.y / 2.0 - 1.0);
        let (low, high) = (from.y.min(to.y), from.y.max(to.y));
        if high < block.middle.y - half_y || low > block.middle.y + half_y {
            return false;
        }
        (0..=40).any(|step| {
            let part = f64::from(step) / 40.0;
            let (x, y) = (from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part);
            (x - block.middle.x).abs() < half_x && (y - block.middle.y).abs() < half_y
        })
    }

    /// What has to be so of every drawing.
    fn check(blocks: &[Block], lines: &[Line]) {
        for (index, a) in blocks.iter().enumerate() {
            for b in &blocks[index + 1..] {
                let apart_x = (a.middle.x - b.middle.x).abs() >= (a.size.x + b.size.x) / 2.0;
                let apart_y = (a.middle.y - b.middle.y).abs() >= (a.size.y + b.size.y) / 2.0;
                assert!(apart_x || apart_y, "{} and {} overlap", a.id, b.id);
            }
        }
        let at = |id: &str| blocks.iter().find(|it| it.id == id).unwrap();
        for line in lines {
            let (from, to) = (at(&line.from), at(&line.to));
            assert!(!line.orders || from.middle.y < to.middle.y, "{} is above {}", line.from, line.to);
            for pair in line.points.windows(2) {
                let hit = blocks.iter().find(|it| crosses(it, pair[0], pair[1]));
                assert!(hit.is_none(), "{} to {} runs behind {}", line.from, line.to, hit.unwrap().id);
            }
            if let (Some(middle), Some(size)) = (line.label_middle, line.label) {
                let hit = blocks.iter().find(|it| {
                    (it.middle.x - middle.x).abs() < (it.size.x + size.x) / 2.0
                        && (it.middle.y - middle.y).abs() < (it.size.y + size.y) / 2.0
                });
                assert!(hit.is_none(), "the label of {} to {} is on a box", line.from, line.to);
            }
        }
        let labels: Vec<_> = lines.iter().filter_map(|it| Some((it, it.label_middle?, it.label?))).collect();
        for (index, (a, a_at, a_size)) in labels.iter().enumerate() {
            for (b, b_at, b_size) in &labels[index + 1..] {
                let apart = (a_at.x - b_at.x).abs() >= (a_size.x + b_size.x) / 2.0
                    || (a_at.y - b_at.y).abs() >= (a_size.y + b_size.y) / 2.0;
                assert!(apart, "labels of {} to {} and {} to {}", a.from, a.to, b.from, b.to);
            }
        }
    }

    /// Numbers that are the same in every run.
    fn dice() -> impl FnMut(usize) -> usize {
        let mut state = 7_u64;
        move |most| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % most
        }
    }

    #[test]
    fn nothing_overlaps_and_no_line_runs_behind_a_box() {
        let mut dice = dice();
        for count in [1, 2, 5, 17, 40, 120] {
            let mut all = blocks(count);
            let mut lines = Vec::new();
            for to in 1..count {
                lines.push(line(dice(to), to, false));
                if to > 1 && dice(3) > 0 {
                    lines.push(line(1 + dice(to - 1), to, true));
                }
                if to > 2 && dice(4) == 0 {
                    lines.push(line(to, 1 + dice(to - 1), false));
                }
            }
            place(&mut all, &mut lines);
            check(&all, &lines);
            let before = format!("{all:?}{lines:?}");
            place(&mut all, &mut lines);
            assert_eq!(before, format!("{all:?}{lines:?}"), "the same drawing every time");
        }
    }

    #[test]
    fn a_long_chain_and_a_wide_layer_are_drawn() {
        let mut chain = blocks(500);
        let mut lines: Vec<_> = (1..500).step_by(50).map(|it| line(0, it, false)).collect();
        lines.extend((2..500).map(|it| line(it - 1, it, true)));
        place(&mut chain, &mut lines);
        check(&chain, &lines);
        let mut wide = blocks(500);
        let mut lines: Vec<_> = (1..500).map(|it| line(0, it, false)).collect();
        lines.extend((1..200).map(|it| line(it, it + 200, true)));
        place(&mut wide, &mut lines);
        check(&wide, &lines);
        let right = wide.iter().map(|it| it.middle.x).fold(0.0, f64::max);
        assert!(right < 2_500.0, "rows are wrapped: {right}");
    }

    #[test]
    fn a_circle_is_drawn_all_the_same() {
        let mut all = blocks(3);
        let mut lines = vec![line(1, 2, true), line(2, 1, true), line(1, 1, true)];
        place(&mut all, &mut lines);
        assert_ne!(all[1].middle.y, all[2].middle.y);
    }
}
