//! Both graphs for Markdown: Mermaid.

use std::collections::BTreeMap;

use pemdas_core::graph::AlsoOrigin;

use super::{Item, Picture, Role};

/// The whole picture.
pub(crate) fn picture(picture: &Picture) -> String {
    let ids: BTreeMap<&str, String> = picture
        .items
        .iter()
        .enumerate()
        .map(|(index, item)| (item.name.as_str(), format!("n{index}")))
        .collect();
    let id = |name: &str| ids.get(name).cloned().unwrap_or_else(|| "unknown".to_owned());
    let mut out = String::from("flowchart TD\n");
    for item in &picture.items {
        out.push_str(&format!("  {}\n", vertex(&id(&item.name), item)));
    }
    let mut edges = Edges::default();
    for (index, need) in picture.needs.iter().filter(|need| need.is_written()).enumerate() {
        let class = if need.origin == AlsoOrigin::Deleting { Class::Deleting } else { Class::Also };
        let label = need.when.as_ref().map(|when| format!("when {when}")).unwrap_or_default();
        if need.reads.is_empty() {
            edges.add(class, &id(&need.from), "-.->", &label, &id(&need.to));
            continue;
        }
        let condition = format!("c{index}");
        out.push_str(&format!("  {condition}{{\"?\"}}:::condition\n"));
        edges.add(class, &id(&need.from), "-.->", &label, &condition);
        edges.add(class, &condition, "-.->", "", &id(&need.to));
        for read in &need.reads {
            edges.add(Class::Sequence, &id(&read.from), "==>", &read.label(), &condition);
        }
    }
    for wait in &picture.waits {
        edges.add(Class::Sequence, &id(&wait.from), "==>", &wait.label(), &id(&wait.to));
    }
    out.push_str(&edges.text);
    out.push_str("  classDef root fill:#4c1d95,stroke:#4c1d95,color:#fff,stroke-width:2px\n");
    out.push_str("  classDef template fill:#fff,stroke:#334155,color:#0f172a\n");
    out.push_str("  classDef observe fill:#f0fdf4,stroke:#15803d,color:#14532d,stroke-dasharray:4 3\n");
    out.push_str("  classDef absent fill:#fef2f2,stroke:#b91c1c,color:#7f1d1d,stroke-dasharray:4 3\n");
    out.push_str("  classDef value fill:#fefce8,stroke:#a16207,color:#713f12\n");
    out.push_str("  classDef condition fill:#fffbeb,stroke:#b45309,color:#b45309\n");
    out.push_str(&moods(picture, &id));
    for (class, style) in [
        (Class::Also, "stroke:#94a3b8"),
        (Class::Deleting, "stroke:#b91c1c"),
        (Class::Sequence, "stroke:#1d4ed8,stroke-width:2px"),
    ] {
        let indices = edges.of(class);
        if !indices.is_empty() {
            out.push_str(&format!("  linkStyle {} {style}\n", indices.join(",")));
        }
    }
    out
}

/// The colours of a plan, and what they mean.
fn moods(picture: &Picture, id: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    let moods = picture.moods();
    if moods.is_empty() {
        return out;
    }
    out.push_str("  subgraph legend [\"legend\"]\n    direction LR\n");
    for mood in &moods {
        out.push_str(&format!("    l_{}[\"{}\"]\n", mood.class(), mood.meaning()));
    }
    out.push_str("  end\n");
    for mood in moods {
        let colours = mood.colours();
        out.push_str(&format!(
            "  classDef {} fill:{},stroke:{},color:{}\n",
            mood.class(),
            colours.fill,
            colours.stroke,
            colours.text
        ));
        let of = |item: &&Item| item.state.as_ref().is_some_and(|it| it.mood == mood);
        let mut ids: Vec<String> = picture.items.iter().filter(of).map(|item| id(&item.name)).collect();
        ids.push(format!("l_{}", mood.class()));
        out.push_str(&format!("  class {} {}\n", ids.join(","), mood.class()));
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Also,
    Deleting,
    Sequence,
}

/// Mermaid styles edges by their number: they are counted as they are written.
#[derive(Default)]
struct Edges {
    text: String,
    classes: Vec<Class>,
}

impl Edges {
    fn add(&mut self, class: Class, from: &str, arrow: &str, label: &str, to: &str) {
        let label = if label.is_empty() { String::new() } else { format!("|\"{}\"|", escaped(label)) };
        self.text.push_str(&format!("  {from} {arrow}{label} {to}\n"));
        self.classes.push(class);
    }

    fn of(&self, class: Class) -> Vec<String> {
        self.classes
            .iter()
            .enumerate()
            .filter(|(_, it)| **it == class)
            .map(|(index, _)| index.to_string())
            .collect()
    }
}

fn vertex(id: &str, item: &Item) -> String {
    let subtitle = item.subtitle();
    let name = escaped(&item.name);
    let label = if subtitle.is_empty() {
        format!("<b>{name}</b>")
    } else {
        format!("<b>{name}</b><br/>{}", escaped(&subtitle))
    };
    let label = match &item.state {
        Some(state) => format!("{label}<br/><i>{}</i>", escaped(&state.words)),
        None => label,
    };
    let (open, close) = match item.role {
        Role::Root => ("([", "])"),
        Role::Template | Role::Absent => ("[", "]"),
        Role::Observe => ("(", ")"),
        Role::Value => ("{{", "}}"),
    };
    format!("{id}{open}\"{label}\"{close}:::{}", item.role.name())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('#', "&#35;")
}
