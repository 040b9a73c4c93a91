//! Both graphs for the terminal: what each root needs as a tree, and the order as a list of steps.

use std::collections::BTreeSet;

use pemdas_core::graph::AlsoOrigin;

use super::{Graphs, Item, Need, Picture, Role, Wait};
use crate::terminal::Style;

fn name_of(style: Style, item: &Item, text: &str) -> String {
    style.paint(
        match item.role {
            Role::Root => "1;35",
            Role::Template => "36",
            Role::Observe => "32",
            Role::Absent => "31",
            Role::Value => "33",
        },
        text,
    )
}

/// The whole picture.
pub(crate) fn picture(picture: &Picture, colour: bool) -> String {
    let style = Style { colour };
    let subject = picture.subject.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let mut out = format!("{}\n", style.bold(&format!("{}{subject}", picture.name)));
    if picture.graphs != Graphs::Sequence {
        out.push_str(&format!("\n{}\n", style.bold("What is needed (Also)")));
        for root in &picture.roots {
            tree(picture, root, style, &mut out);
        }
    }
    if picture.graphs != Graphs::Also {
        out.push_str(&format!("\n{}\n", style.bold("What comes after what (Sequence)")));
        order(picture, style, &mut out);
    }
    states(picture, style, &mut out);
    out
}

/// What a plan says of the nodes that wait, and what its words mean.
fn states(picture: &Picture, style: Style, out: &mut String) {
    let waiting: Vec<_> = picture
        .items
        .iter()
        .filter_map(|item| item.state.as_ref().filter(|it| !it.why.is_empty()).map(|it| (item, it)))
        .collect();
    if !waiting.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("What is waited for")));
    }
    let width = waiting.iter().map(|(item, _)| item.name.chars().count()).max().unwrap_or(0);
    for (item, state) in waiting {
        let name = format!("{:width$}", item.name);
        for (at, why) in state.why.iter().enumerate() {
            let shown =
                if at == 0 { style.paint(state.mood.colours().ansi, &name) } else { " ".repeat(width) };
            out.push_str(&format!("  {shown}  {why}\n"));
        }
    }
    if picture.subject.is_some() {
        out.push_str(&format!(
            "\n{}\n",
            style.dim("Rounds are those of `pemdas plan`: what acts at the same time.")
        ));
    }
}

fn described(item: &Item, style: Style) -> String {
    let subtitle = item.subtitle();
    let gap = if subtitle.is_empty() { "" } else { "  " };
    let state = item
        .state
        .as_ref()
        .map(|it| format!("  {}", style.paint(it.mood.colours().ansi, &format!("[{}]", it.words))));
    let state = state.unwrap_or_default();
    format!("{}{gap}{}{state}", name_of(style, item, &item.name), style.dim(&subtitle))
}

fn tree(picture: &Picture, root: &str, style: Style, out: &mut String) {
    if let Some(item) = picture.item(root) {
        out.push_str(&format!("  {}\n", described(item, style)));
    }
    let mut drawn = BTreeSet::from([root.to_owned()]);
    branch(picture, root, "  ", style, &mut drawn, out);
}

fn branch(
    picture: &Picture,
    from: &str,
    indent: &str,
    style: Style,
    drawn: &mut BTreeSet<String>,
    out: &mut String,
) {
    let mut needs: Vec<&Need> = picture.needs.iter().filter(|need| need.from == from).collect();
    // A state is drawn beside its object, not above it; what is read is drawn only where nothing else needs it.
    let asked = |name: &str| picture.needs.iter().any(|need| need.to == name && need.is_written());
    needs.retain(|need| match need.origin {
        AlsoOrigin::State => false,
        AlsoOrigin::Extract => !asked(&need.to),
        AlsoOrigin::Written | AlsoOrigin::Deleting | AlsoOrigin::OwnRoot => true,
    });
    needs.dedup_by_key(|need| (need.to.clone(), need.origin == AlsoOrigin::Deleting));
    for (index, need) in needs.iter().enumerate() {
        let Some(item) = picture.item(&need.to) else { continue };
        let last = index + 1 == needs.len();
        let (fork, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let again = drawn.contains(&need.to);
        let known = if again { style.dim("  (above)") } else { String::new() };
        let said = if again { name_of(style, item, &item.name) } else { described(item, style) };
        out.push_str(&format!("{indent}{}{said}{known}{}\n", style.dim(fork), remarks(need, style)));
        if drawn.insert(need.to.clone()) {
            branch(picture, &need.to, &format!("{indent}{}", style.dim(below)), style, drawn, out);
        }
    }
}

fn remarks(need: &Need, style: Style) -> String {
    let mut parts = Vec::new();
    match need.origin {
        AlsoOrigin::Deleting => parts.push("on deletion".to_owned()),
        AlsoOrigin::Extract => parts.push("read".to_owned()),
        AlsoOrigin::State | AlsoOrigin::Written | AlsoOrigin::OwnRoot => {}
    }
    if let Some(when) = &need.when {
        parts.push(format!("when {when}"));
    }
    let reads: Vec<_> = need.reads.iter().map(|read| read.from.as_str()).collect();
    if !reads.is_empty() {
        parts.push(format!("known after {}", reads.join(", ")));
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!("  {}", style.dim(&format!("[{}]", parts.join("; "))))
    }
}

fn order(picture: &Picture, style: Style, out: &mut String) {
    let ordered = |item: &&Item| {
        item.step.is_none() || picture.waits.iter().any(|wait| wait.from == item.name || wait.to == item.name)
    };
    let mut items: Vec<&Item> = picture.items.iter().filter(ordered).collect();
    items.sort_by_key(|item| item.step.unwrap_or(usize::MAX));
    let width = items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
    let kinds = items.iter().map(|item| item.subtitle().chars().count()).max().unwrap_or(0).min(36);
    let mut shown = None;
    for item in &items {
        let step = item.step.map_or_else(|| "?".to_owned(), |step| (step + 1).to_string());
        let margin = if shown.as_ref() == Some(&step) { String::new() } else { step.clone() };
        shown = Some(step);
        let name = format!("{:width$}", item.name);
        let subtitle = format!("{:kinds$}", item.subtitle());
        let waits: Vec<_> = picture.waits.iter().filter(|wait| wait.to == item.name).collect();
        let mut lines = waits.iter().map(|wait| waited(wait));
        let line = format!(
            "{}  {}  {}  {}",
            style.bold(&format!("{margin:>4}")),
            name_of(style, item, &name),
            style.dim(&subtitle),
            lines.next().unwrap_or_default()
        );
        out.push_str(&format!("{}\n", line.trim_end()));
        let pad = " ".repeat(4 + 2 + width + 2 + kinds + 2);
        for more in lines {
            out.push_str(&format!("{pad}{more}\n"));
        }
    }
    let free: Vec<_> = picture
        .items
        .iter()
        .filter(|item| item.role != Role::Root && !items.iter().any(|it| it.name == item.name))
        .map(|item| name_of(style, item, &item.name))
        .collect();
    if !free.is_empty() {
        out.push_str(&format!("  {} {}\n", style.dim("at any time:"), free.join(", ")));
    }
}

fn waited(wait: &Wait) -> String {
    let mut text = format!("after {}", wait.from);
    if wait.state {
        text.push_str(" (an earlier state)");
    }
    let label = wait.label();
    let named = label.chars().all(char::is_alphabetic);
    match label.as_str() {
        "" => {}
        _ if named => text.push_str(&format!(" is {label}")),
        _ => text.push_str(&format!(" has {label}")),
    }
    if wait.extract {
        text.push_str(", and reads it");
    }
    text
}
