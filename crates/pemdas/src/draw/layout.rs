//! Where things stand in a drawing: a layered layout by a library, from sizes to places.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dagre::{
    EdgeLabel, LayoutOptions, NodeLabel, RankDir,
    graph::{Graph, GraphOptions},
};

/// A place or a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A box to be placed.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) id: String,
    pub(super) size: Point,
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
    /// How much it wants to be short and straight.
    pub(super) weight: i32,
    /// Its points; set by the layout.
    pub(super) points: Vec<Point>,
    /// The middle of its label; set by the layout.
    pub(super) label_middle: Option<Point>,
}

/// Places everything. False if the layout failed, which is a fault of ours and not of the blueprint.
pub(super) fn place(blocks: &mut [Block], lines: &mut [Line]) -> bool {
    let mut graph: Graph<NodeLabel, EdgeLabel> =
        Graph::with_options(GraphOptions { directed: true, multigraph: true, compound: true });
    for block in &*blocks {
        let label = NodeLabel { width: block.size.x, height: block.size.y, ..NodeLabel::default() };
        graph.set_node(block.id.clone(), Some(label));
    }
    for (index, line) in lines.iter().enumerate() {
        let size = line.label.unwrap_or(Point { x: 0.0, y: 0.0 });
        let label = EdgeLabel {
            width: size.x,
            height: size.y,
            weight: line.weight,
            labelpos: dagre::layout::types::LabelPos::Center,
            ..EdgeLabel::default()
        };
        graph.set_edge(line.from.clone(), line.to.clone(), Some(label), Some(&index.to_string()));
    }
    let options = LayoutOptions {
        rankdir: RankDir::TB,
        nodesep: 36.0,
        edgesep: 14.0,
        ranksep: 30.0,
        ..LayoutOptions::default()
    };
    if catch_unwind(AssertUnwindSafe(|| dagre::layout(&mut graph, Some(options)))).is_err() {
        return false;
    }
    for block in blocks.iter_mut() {
        let Some((x, y)) = graph.node(&block.id).and_then(|it| it.x.zip(it.y)) else { return false };
        block.middle = Point { x, y };
    }
    for (index, line) in lines.iter_mut().enumerate() {
        let Some(label) = graph.edge(&line.from, &line.to, Some(&index.to_string())) else { return false };
        line.points = label.points.iter().map(|point| Point { x: point.x, y: point.y }).collect();
        line.label_middle = line.label.and(label.x.zip(label.y)).map(|(x, y)| Point { x, y });
    }
    true
}
