use std::collections::BTreeMap;

use pemdas_core::{
    blueprint::{AlsoEdge, Blueprint, Body, Function, Node, SequenceEdge},
    diagnostic::Span,
    graph::Graph,
};

use super::{Picture, dot, json, mermaid, svg, text};

fn span() -> Span {
    Span { file: "main.ncl".to_owned(), start: 0, end: 1 }
}

fn value() -> Node {
    Node::new(
        span(),
        Body::Value(Function { path: Vec::new(), span: span(), reads: Vec::new(), plain: None }),
    )
}

fn drawings(blueprint: &Blueprint) -> [String; 5] {
    let (graph, _) = Graph::of(blueprint);
    let picture = Picture::of(blueprint, &graph, &BTreeMap::new());
    [
        text::picture(&picture, false),
        dot::picture(&picture),
        mermaid::picture(&picture),
        svg::picture(&picture),
        json::picture(&picture),
    ]
}

#[test]
fn names_cannot_break_out_of_a_drawing() {
    let mut blueprint = Blueprint::new("<script>\"--&", 1, span());
    blueprint.nodes.insert("\"]; x [<b>".to_owned(), value());
    let [_, dot, mermaid, svg, json] = drawings(&blueprint);
    assert!(dot.contains(r#""\"]; x [<b>""#), "{dot}");
    assert!(mermaid.contains("&quot;]; x [&lt;b&gt;") && !mermaid.contains("<script>"), "{mermaid}");
    assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script>") && !svg.contains("<b>"), "{svg}");
    serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
}

#[test]
fn circles_and_self_edges_are_drawn() {
    let mut blueprint = Blueprint::new("circle", 1, span());
    for (name, other) in [("a", "b"), ("b", "a"), ("c", "c")] {
        let mut node = value();
        node.before.insert(other.to_owned(), SequenceEdge::new(span()));
        node.also.insert(other.to_owned(), AlsoEdge::new(span()));
        blueprint.nodes.insert(name.to_owned(), node);
    }
    for drawing in drawings(&blueprint) {
        for name in ["a", "b", "c"] {
            assert!(drawing.contains(name), "{name} in {drawing}");
        }
    }
}

#[test]
fn an_empty_blueprint_is_drawn() {
    for drawing in drawings(&Blueprint::new("nothing", 1, span())) {
        assert!(drawing.contains("nothing") || drawing.starts_with("flowchart"), "{drawing}");
    }
}

#[test]
fn a_large_blueprint_is_drawn() {
    let mut blueprint = Blueprint::new("large", 1, span());
    for index in 0..150 {
        let mut node = value();
        for earlier in [index / 2, index / 3] {
            if earlier < index {
                node.before.insert(format!("n{earlier}"), SequenceEdge::new(span()));
            }
        }
        blueprint.nodes.insert(format!("n{index}"), node);
    }
    for drawing in drawings(&blueprint) {
        assert!(drawing.contains("149"));
    }
}
