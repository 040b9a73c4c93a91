//! An explanation for people: aligned, readable without colour, the root cause easy to find.

use serde_json::Value;

use super::{Blueprint, Explained, Instance, Listed, State, time};
use crate::{terminal::Style, ui};

/// How many nodes are listed.
const MAX_NODES: usize = 60;
/// How wide the words before a time get, at most.
const MAX_WIDTH: usize = 100;

/// All that was found.
pub(crate) fn explained(all: &[Explained], now: u64, colour: bool) -> String {
    let style = Style { colour };
    let parts: Vec<String> = all
        .iter()
        .map(|it| match it {
            Explained::Instance(instance) => self::instance(instance, now, style),
            Explained::Blueprint(blueprint) => self::blueprint(blueprint, style),
            Explained::Nobodys { object, notes } => {
                let mut out = format!(
                    "{}\n",
                    style.bold(&format!("{object}: no instance of Pemdas has to do with it"))
                );
                list("", notes, style, &mut out);
                out
            }
        })
        .collect();
    parts.join("\n")
}

fn colour_of(state: &str) -> &'static str {
    match state {
        "Ready" => "32",
        "Stalled" => "1;31",
        "Removing" | "Deleting" => "31",
        "Waiting" | "Unknown" => "35",
        _ => "33",
    }
}

fn instance(instance: &Instance, now: u64, style: Style) -> String {
    let since = |text: &Option<String>| text.as_deref().map(|it| time::since(it, now)).unwrap_or_default();
    let state = style.paint(colour_of(instance.state.word()), instance.state.word());
    let mut out =
        format!("{} is {state} {}\n", style.bold(&instance.root.to_string()), since(&instance.since));
    out = out.replace(" \n", "\n");
    facts(instance, style, &mut out);
    let links = instance.chains();
    if !links.is_empty() || !instance.causes.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("Why")));
        for cause in &instance.causes {
            out.push_str(&format!("  {}\n", style.paint("1;31", cause)));
        }
        let lines: Vec<(String, String, bool)> = links
            .iter()
            .map(|it| {
                let branch =
                    if it.depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat(it.depth - 1)) };
                (format!("{branch}{it}"), since(&it.since), it.last)
            })
            .collect();
        let width = lines.iter().map(|(it, ..)| it.chars().count()).max().unwrap_or(0).min(MAX_WIDTH);
        for (text, since, last) in lines {
            let padded = format!("{text:width$}");
            let padded = if last { style.bold(&padded) } else { padded };
            out.push_str(format!("  {padded}  {}", style.dim(&since)).trim_end());
            out.push('\n');
        }
    }
    nodes(instance, now, style, &mut out);
    if !instance.events.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("Told before")));
        for event in &instance.events {
            let text = |field: &str| event.get(field).and_then(Value::as_str).unwrap_or_default();
            let when = time::age(text("when"), now);
            let (reason, message) = (text("reason"), text("message"));
            let said =
                if message.starts_with(reason) { message.to_owned() } else { format!("{reason}: {message}") };
            out.push_str(&format!("  {when:>5} ago  {said}\n"));
        }
    }
    list("What you can do", &instance.advice, style, &mut out);
    list("Good to know", &instance.notes, style, &mut out);
    out
}

fn facts(instance: &Instance, style: Style, out: &mut String) {
    let mut rows: Vec<(&str, String)> = Vec::new();
    if let Some(focus) = &instance.focus {
        let state = focus.state.as_ref().map(|it| format!(", in the state {it}")).unwrap_or_default();
        rows.push(("object", format!("{} is of the node {}{state}", focus.object, focus.slot)));
        let why = match (focus.needed, focus.path.is_empty()) {
            (true, false) => format!("{} needs it", focus.path.join(" → ")),
            (true, true) => "the blueprint needs it".to_owned(),
            (false, _) => "nothing needs it any more: it is deleted".to_owned(),
        };
        rows.push(("there for", why));
        if !focus.after.is_empty() {
            rows.push(("came after", focus.after.join(", ")));
        }
        let own = instance.nodes.get(&focus.slot);
        rows.push(("it is", own.map_or_else(|| "unknown".to_owned(), |it| it.phase.clone())));
        if !focus.waited_for_by.is_empty() {
            let names: Vec<_> = focus.waited_for_by.iter().map(ToString::to_string).collect();
            rows.push(("waiting for it", names.join(", ")));
        } else if !focus.before.is_empty() {
            rows.push(("comes before", focus.before.join(", ")));
        }
    }
    rows.push(("blueprint", format!("{}, as the ServiceAccount {}", instance.blueprint, instance.account)));
    if let Some(revision) = &instance.revision {
        let newer = instance.newer.as_ref().map(|it| format!(", not yet at {it}")).unwrap_or_default();
        rows.push(("revision", format!("{revision}{newer}")));
    }
    let ready = instance.nodes.values().filter(|it| it.is_ready()).count();
    if !instance.nodes.is_empty() {
        rows.push(("nodes", format!("{ready} of {} ready", instance.nodes.len())));
    }
    rows.push(("page", format!("pemdas ui --open {}", page(instance))));
    table(&rows, style, out);
}

/// Where `pemdas ui` shows it, as a word of a shell.
fn page(instance: &Instance) -> String {
    let path = ui::path_of(&instance.root);
    match &instance.focus {
        Some(focus) => format!("'{path}?node={}'", focus.slot.node),
        None => path,
    }
}

fn table(rows: &[(&str, String)], style: Style, out: &mut String) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in rows {
        out.push_str(&format!("  {}  {text}\n", style.dim(&format!("{name:width$}"))));
    }
}

fn nodes(instance: &Instance, now: u64, style: Style, out: &mut String) {
    if instance.nodes.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Nodes")));
    let mut sorted: Vec<_> = instance.nodes.iter().collect();
    sorted.sort_by_key(|(_, it)| it.is_ready());
    let names = |it: &super::Node| it.objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let wide = sorted.iter().map(|(slot, _)| slot.to_string().chars().count()).max().unwrap_or(0).min(40);
    let object = sorted.iter().map(|(_, it)| names(it).chars().count()).max().unwrap_or(0).min(60);
    for (slot, node) in sorted.iter().take(MAX_NODES) {
        let state = style.paint(colour_of(&node.phase), &format!("{:11}", node.phase));
        let since = node.since.as_deref().map(|it| time::since(it, now)).unwrap_or_default();
        let line =
            format!("  {:wide$}  {state}  {:object$}  {}", slot.to_string(), names(node), style.dim(&since));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if let Some(more) = sorted.len().checked_sub(MAX_NODES).filter(|it| *it > 0) {
        out.push_str(&format!("  and {more} more\n"));
    }
}

fn list(heading: &str, lines: &[String], style: Style, out: &mut String) {
    if lines.is_empty() {
        return;
    }
    if !heading.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold(heading)));
    }
    for line in lines {
        out.push_str(&format!("  - {line}\n"));
    }
}

fn blueprint(blueprint: &Blueprint, style: Style) -> String {
    let told = &blueprint.told;
    let text = |field: &str| told.get(field).and_then(Value::as_str).unwrap_or("none").to_owned();
    let number = |at: &str| told.pointer(at).and_then(Value::as_u64).unwrap_or(0);
    let mut out = format!("{}\n", style.bold(&format!("{} is a blueprint", blueprint.object)));
    let mut rows = vec![("account", format!("ServiceAccount {}", blueprint.account))];
    if !told.is_null() {
        rows.push(("revision", format!("{} (number {})", text("revision"), number("/ordinal"))));
        rows.push((
            "instances",
            format!(
                "{}: {} ready, {} stalled",
                number("/instances/total"),
                number("/instances/ready"),
                number("/instances/stalled")
            ),
        ));
    }
    if let Some(upcoming) = told.get("upcoming") {
        let name = upcoming["revision"].as_str().unwrap_or_default();
        let number = upcoming["ordinal"].as_u64().unwrap_or(0);
        rows.push(("next", format!("{name} (number {number}) does not run yet: it waits for its CRDs")));
    }
    if let Some(rollout) = told.get("rollout").filter(|it| !it.is_null()) {
        rows.push(("rollout", rollout_line(rollout)));
    }
    table(&rows, style, &mut out);
    let list_of = |field: &str| told.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let problems: Vec<String> = list_of("problems")
        .iter()
        .map(|it| {
            let text = |field: &str| it.get(field).and_then(Value::as_str).unwrap_or_default();
            format!("{} {}: {}", text("code"), text("place"), text("message")).replace(" :", ":")
        })
        .collect();
    list("Problems", &problems, style, &mut out);
    let definitions: Vec<String> = told
        .get("definitions")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, why)| format!("{name}: {}", why.as_str().unwrap_or_default()))
        .collect();
    list("CRDs", &definitions, style, &mut out);
    let missing: Vec<String> =
        list_of("missing").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    list("The account may not", &missing, style, &mut out);
    list("What you can do", &blueprint.advice, style, &mut out);
    out
}

/// How far a rollout is, in one line.
fn rollout_line(rollout: &Value) -> String {
    let number = |field: &str| rollout.get(field).and_then(Value::as_u64).unwrap_or(0);
    let names = rollout.get("inFlight").and_then(Value::as_array).cloned().unwrap_or_default();
    let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
    let flight = if names.is_empty() { String::new() } else { format!(", in flight: {}", names.join(", ")) };
    let paused =
        rollout.get("paused").and_then(Value::as_str).map(|it| format!("; paused: {it}")).unwrap_or_default();
    format!("{} of {} at the new revision{flight}{paused}", number("rolled"), number("total"))
}

/// A list of instances.
pub(crate) fn listed(all: &[Listed], more: usize, everywhere: bool, now: u64, colour: bool) -> String {
    let style = Style { colour };
    if all.is_empty() {
        return "there are no instances\n".to_owned();
    }
    let name = |it: &Listed| match (everywhere, it.root.namespace.is_empty()) {
        (true, false) => format!("{}/{}", it.root.namespace, it.root.name),
        _ => it.root.name.clone(),
    };
    let wide = all.iter().map(|it| name(it).chars().count()).max().unwrap_or(0).max(4);
    let blueprints = all.iter().map(|it| it.blueprint.chars().count()).max().unwrap_or(0).max(9);
    let head = format!("{:wide$}  {:11}  {:>5}  {:blueprints$}  WHY", "NAME", "STATE", "AGE", "BLUEPRINT");
    let mut out = format!("{}\n", style.bold(&head));
    for it in all {
        let state = style.paint(colour_of(it.state.word()), &format!("{:11}", it.state.word()));
        let age = it.since.as_deref().map(|it| time::age(it, now)).unwrap_or_default();
        let why: String =
            if it.state == State::Ready { String::new() } else { it.why.chars().take(160).collect() };
        let line = format!("{:wide$}  {state}  {age:>5}  {:blueprints$}  {why}", name(it), it.blueprint);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if more > 0 {
        out.push_str(&format!("and {more} more: --limit shows them\n"));
    }
    out
}
