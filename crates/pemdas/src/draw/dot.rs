//! Both graphs for Graphviz.

use pemdas_core::graph::AlsoOrigin;

use super::{Item, Need, Picture, Role};

/// The whole picture.
pub(crate) fn picture(picture: &Picture) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&picture.name));
    out.push_str("  rankdir=TB; bgcolor=white; fontname=\"Helvetica\";\n");
    out.push_str("  node [fontname=\"Helvetica\", fontsize=12, style=\"rounded,filled\", shape=box, fillcolor=white];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n\n");
    for item in &picture.items {
        out.push_str(&format!("  {} [{}];\n", quoted(&item.name), attributes(item)));
    }
    out.push_str("\n  // Also: what is needed\n");
    for (index, need) in picture.needs.iter().filter(|need| need.is_written()).enumerate() {
        out.push_str(&also(index, need));
    }
    out.push_str("\n  // Sequence: what comes after what\n");
    for wait in &picture.waits {
        let label = wait.label();
        let style = if wait.state { "bold,dotted" } else { "bold" };
        let tail = if wait.extract { ", arrowtail=dot, dir=both" } else { "" };
        out.push_str(&format!(
            "  {} -> {} [color=\"#1d4ed8\", fontcolor=\"#1d4ed8\", style=\"{style}\", label={}{tail}];\n",
            quoted(&wait.from),
            quoted(&wait.to),
            quoted(&label)
        ));
    }
    out.push_str(&legend(picture));
    out.push_str("}\n");
    out
}

fn attributes(item: &Item) -> String {
    let subtitle = item.subtitle();
    let mut label = item.name.clone();
    for line in [&subtitle, item.state.as_ref().map_or(&String::new(), |it| &it.words)] {
        if !line.is_empty() {
            label.push_str(&format!("\n{line}"));
        }
    }
    let looks = match item.role {
        Role::Root => "fillcolor=\"#4c1d95\", fontcolor=white, penwidth=2",
        Role::Template => "color=\"#334155\"",
        Role::Observe => "color=\"#15803d\", style=\"rounded,filled,dashed\"",
        Role::Absent => "color=\"#b91c1c\", fillcolor=\"#fef2f2\", style=\"filled,dashed\"",
        Role::Value => "shape=ellipse, color=\"#a16207\", style=filled",
    };
    let mood = item.state.as_ref().map(|it| {
        let colours = it.mood.colours();
        let why = it.why.join("; ");
        let tooltip = if why.is_empty() { it.mood.meaning().to_owned() } else { why };
        format!(
            ", fillcolor=\"{}\", color=\"{}\", fontcolor=\"{}\", tooltip={}",
            colours.fill,
            colours.stroke,
            colours.text,
            quoted(&tooltip)
        )
    });
    format!("label={}, {looks}{}", quoted(&label), mood.unwrap_or_default())
}

/// What the colours mean.
fn legend(picture: &Picture) -> String {
    let moods = picture.moods();
    if moods.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n  subgraph cluster_legend {{\n    label={}; fontsize=10; color=\"#e2e8f0\";\n",
        quoted(picture.subject.as_deref().unwrap_or_default())
    );
    for mood in moods {
        let colours = mood.colours();
        out.push_str(&format!(
            "    \"legend {}\" [label={}, fontsize=10, fillcolor=\"{}\", color=\"{}\", fontcolor=\"{}\"];\n",
            mood.class(),
            quoted(mood.meaning()),
            colours.fill,
            colours.stroke,
            colours.text
        ));
    }
    out.push_str("  }\n");
    out
}

fn also(index: usize, need: &Need) -> String {
    let colour = if need.origin == AlsoOrigin::Deleting { "#b91c1c" } else { "#94a3b8" };
    let looks =
        format!("color=\"{colour}\", fontcolor=\"{colour}\", style=dashed, arrowhead=open, constraint=true");
    let Some(when) = &need.when else {
        return format!("  {} -> {} [{looks}];\n", quoted(&need.from), quoted(&need.to));
    };
    let when = format!("when {when}");
    if need.reads.is_empty() {
        return format!(
            "  {} -> {} [{looks}, label={}];\n",
            quoted(&need.from),
            quoted(&need.to),
            quoted(&when)
        );
    }
    let condition = format!("condition {index}");
    let mut out = format!(
        "  {} [shape=diamond, label=\"?\", color=\"#b45309\", fillcolor=\"#fffbeb\", style=filled, width=0.3, height=0.3];\n",
        quoted(&condition)
    );
    out.push_str(&format!(
        "  {} -> {} [{looks}, label={}];\n",
        quoted(&need.from),
        quoted(&condition),
        quoted(&when)
    ));
    out.push_str(&format!("  {} -> {} [{looks}];\n", quoted(&condition), quoted(&need.to)));
    for read in &need.reads {
        out.push_str(&format!(
            "  {} -> {} [color=\"#1d4ed8\", fontcolor=\"#1d4ed8\", style=bold, label={}];\n",
            quoted(&read.from),
            quoted(&condition),
            quoted(&read.label())
        ));
    }
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
