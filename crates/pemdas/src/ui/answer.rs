//! What is found in a cluster, as documents for the page. The forms are those of `pemdas explain` and `pemdas graph`; what is added is
//! an `id` for each item of a list, and where the boxes of a graph stand.

use std::collections::BTreeMap;

use pemdas_kube::connect::Trouble;
use serde_json::{Value, json};

use super::{
    layout, path_of,
    route::{Named, Question},
};
use crate::{
    draw,
    explain::{self, Explained, Explainer, Fleet, Listed, State},
    live::Lost,
    plan::diff,
};

/// The version of the forms.
const VERSION: u32 = 1;
/// How many rows of a fleet are sent: the worst.
const MAX_ROWS: usize = 500;
/// How many boxes a graph has at most.
const MAX_BOXES: usize = 300;
/// How many groups of instances with one cause.
const MAX_GROUPS: usize = 50;

/// What is told, or why not.
pub(super) type Told = Result<Value, Failure>;

/// Why nothing is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) hint: String,
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Nothing { message, hint } => Self { status: 404, message, hint: hint.unwrap_or_default() },
            Lost::Trouble(trouble) => {
                let status = match &trouble {
                    Trouble::Forbidden { .. } => 403,
                    Trouble::Refused { .. } => 502,
                    // 401 would mean the token of the page.
                    Trouble::NoAnswer { .. } | Trouble::Unauthorized { .. } => 503,
                    Trouble::NoCluster | Trouble::Kubeconfig(_) => 500,
                };
                Self { status, message: trouble.to_string(), hint: trouble.hint().to_owned() }
            }
        }
    }
}

impl Failure {
    pub(super) fn document(&self) -> Value {
        json!({ "version": VERSION, "error": self.message, "hint": self.hint, "status": self.status })
    }
}

/// Answers a question.
pub(super) fn answer(explainer: &Explainer<'_>, question: &Question) -> Told {
    match question {
        Question::Fleet { words } => Ok(fleet(&explainer.fleet()?, words)),
        Question::Explain(named) => Ok(explain::json::explained(&explained(explainer, named)?)),
        Question::Instance(named) => instance(&explained(explainer, named)?, named),
        Question::Blueprint(named) => blueprint(explainer, named),
        Question::Object(named) => object(explainer, named),
    }
}

fn explained(explainer: &Explainer<'_>, named: &Named) -> Result<Vec<Explained>, Failure> {
    Ok(explainer.object_in(&named.namespace, &named.word(), &named.name)?)
}

fn badness(state: State) -> u8 {
    match state {
        State::Stalled => 0,
        State::Deleting => 1,
        State::Reconciling => 2,
        State::Suspended => 3,
        State::Ready => 4,
    }
}

fn fleet(fleet: &Fleet, words: &str) -> Value {
    let words: Vec<String> = words.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let has_all = |it: &&Listed| {
        let line = format!("{} {} {} {}", it.root, it.blueprint, it.state.word(), it.cause).to_lowercase();
        words.iter().all(|word| line.contains(word))
    };
    let mut rows: Vec<&Listed> = fleet.listed.iter().filter(has_all).collect();
    rows.sort_by(|a, b| (badness(a.state), &a.root).cmp(&(badness(b.state), &b.root)));
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut of_blueprint: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for it in &fleet.listed {
        *states.entry(it.state.word()).or_default() += 1;
        let (all, ready) = of_blueprint.entry(&it.blueprint).or_default();
        *all += 1;
        *ready += usize::from(it.state == State::Ready);
        if it.state != State::Ready && !it.cause.is_empty() {
            *causes.entry(&it.cause).or_default() += 1;
        }
    }
    let mut groups: Vec<_> = causes.into_iter().filter(|it| it.1 > 1).collect();
    groups.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
    let groups =
        groups.iter().take(MAX_GROUPS).map(|(cause, count)| json!({ "cause": cause, "count": count }));
    let blueprints = fleet.blueprints.iter().map(|(found, trouble)| {
        let title = found.title();
        let (all, ready) = of_blueprint.get(title.as_str()).copied().unwrap_or_default();
        json!({
            "id": title, "namespace": found.namespace, "name": found.name, "instances": all, "ready": ready,
            "trouble": trouble, "problems": found.told.get("problems").and_then(Value::as_array).map_or(0, Vec::len),
        })
    });
    let shown = rows.iter().take(MAX_ROWS).map(|it| {
        let mut row = explain::json::line(it);
        let path = path_of(&it.root);
        row["id"] = json!(format!("{path} {}", it.blueprint));
        row["path"] = json!(path);
        row
    });
    json!({
        "version": VERSION, "states": states, "total": fleet.listed.len() + fleet.more, "found": rows.len(),
        "only": fleet.only, "blueprints": blueprints.collect::<Vec<_>>(), "groups": groups.collect::<Vec<_>>(),
        "rows": shown.collect::<Vec<_>>(), "notes": fleet.notes,
    })
}

/// An instance: what `explain` says of it, with its nodes and edges as lists of their own.
fn instance(all: &[Explained], named: &Named) -> Told {
    let nothing = || Failure {
        status: 404,
        message: format!("{} {} is no instance of a blueprint", named.kind, named.name),
        hint: "the fleet lists the instances".to_owned(),
    };
    let all = explain::json::explained(all);
    let found = all["explained"].as_array().into_iter().flatten().find(|it| it["type"] == "instance");
    let mut told = found.cloned().ok_or_else(nothing)?;
    let fields = told.as_object_mut().ok_or_else(nothing)?;
    let mut nodes = fields.remove("nodes").unwrap_or_default();
    let graph = fields.remove("graph").unwrap_or_default();
    for node in nodes.as_array_mut().into_iter().flatten() {
        let id = match node["member"].as_str() {
            Some(member) => format!("{}[{member}]", text(node, "node")),
            None => text(node, "node").to_owned(),
        };
        node["id"] = json!(id);
    }
    let mut document = drawn(&graph, nodes.as_array().map_or(&[], Vec::as_slice));
    document["version"] = json!(VERSION);
    document["instance"] = told;
    document["nodes"] = nodes;
    Ok(document)
}

fn blueprint(explainer: &Explainer<'_>, named: &Named) -> Told {
    let (found, compiled) = explainer.blueprint(&named.namespace, &named.name)?;
    let explained = explained(explainer, named)?;
    let told = explain::json::explained(&explained);
    let told = told["explained"].as_array().into_iter().flatten().find(|it| it["type"] == "blueprint");
    let (graph, trouble) = match &compiled {
        Ok(it) => (draw::json::document(&it.picture), None),
        Err(why) => (Value::Null, Some(why)),
    };
    let mut document = drawn(&graph, &[]);
    document["version"] = json!(VERSION);
    document["blueprint"] = told.cloned().unwrap_or_default();
    document["trouble"] = json!(trouble);
    let files = found.files.as_ref().map(|files| {
        files.iter().map(|(name, text)| json!({ "id": name, "text": text })).collect::<Vec<_>>()
    });
    document["files"] = json!(files.unwrap_or_default());
    Ok(document)
}

fn object(explainer: &Explainer<'_>, named: &Named) -> Told {
    let live = explainer.live(&named.namespace, &named.word(), &named.name)?;
    let managers = live.body.pointer("/metadata/managedFields").and_then(Value::as_array);
    let managers = managers.into_iter().flatten().map(|it| {
        json!({
            "manager": it["manager"], "operation": it["operation"], "time": it["time"], "part": it["subresource"],
        })
    });
    let managers: Vec<_> = managers.collect();
    Ok(json!({ "version": VERSION, "yaml": diff::shown(&live.body), "managers": managers }))
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// How bad a phase is: what is shown of a node with members is its worst.
const PHASES: [&str; 6] = ["Stalled", "Unknown", "Removing", "Progressing", "Waiting", "Ready"];

/// The boxes and lines of a graph, in the form of `pemdas graph`, in the states of its nodes.
fn drawn(graph: &Value, nodes: &[Value]) -> Value {
    let mut of_node: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for node in nodes {
        of_node.entry(text(node, "node")).or_default().push(node);
    }
    let items = graph["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut boxes: Vec<Value> = items
        .iter()
        .filter(|it| text(it, "role") != "root")
        .map(|it| json!({ "id": it["name"], "role": it["role"], "kind": it["kind"], "marks": it["marks"], "late": it["onDeletion"] }))
        .collect();
    // What an earlier revision made, or all where the blueprint cannot be read.
    for name in of_node.keys() {
        if !items.iter().any(|it| text(it, "name") == *name) {
            boxes.push(json!({ "id": name, "role": "template", "kind": "", "marks": [], "late": false }));
        }
    }
    for it in &mut boxes {
        let slots = of_node.get(text(it, "id")).map_or(&[][..], Vec::as_slice);
        let state = PHASES.iter().find(|phase| slots.iter().any(|it| text(it, "state") == **phase));
        it["state"] = json!(if nodes.is_empty() { "" } else { state.copied().unwrap_or("NotNeeded") });
        it["count"] = json!(slots.len());
        it["ready"] = json!(slots.iter().filter(|it| text(it, "state") == "Ready").count());
        it["members"] = json!(slots.iter().any(|it| it["member"].is_string()));
    }
    let names: Vec<String> = boxes.iter().map(|it| text(it, "id").to_owned()).collect();
    let at = |name: &str| names.iter().position(|it| it == name);
    let edges = graph["sequence"].as_array().map_or(&[][..], Vec::as_slice);
    let ends: Vec<(usize, usize)> =
        edges.iter().filter_map(|it| Some((at(text(it, "from"))?, at(text(it, "to"))?))).collect();
    let wanted: Vec<bool> =
        boxes.iter().map(|it| !matches!(text(it, "state"), "Ready" | "NotNeeded" | "")).collect();
    let shown = layout::shown(&wanted, &ends, MAX_BOXES);
    let kept: Vec<usize> = (0..boxes.len()).filter(|it| shown[*it]).collect();
    let again = |end: usize| kept.iter().position(|it| *it == end);
    let lines: Vec<(usize, usize)> =
        ends.iter().filter_map(|(from, to)| Some((again(*from)?, again(*to)?))).collect();
    let places = layout::place(kept.len(), &lines);
    let folded = boxes.len() - kept.len();
    for (at, (column, row)) in kept.iter().zip(&places.boxes) {
        (boxes[*at]["column"], boxes[*at]["row"]) = (json!(column), json!(row));
    }
    let via: BTreeMap<(usize, usize), &Vec<layout::Place>> =
        lines.iter().map(|(from, to)| (kept[*from], kept[*to])).zip(&places.via).collect();
    let via_of = |it: &Value| via.get(&(at(text(it, "from"))?, at(text(it, "to"))?)).copied();
    let boxes: Vec<Value> = kept.into_iter().map(|it| boxes[it].clone()).collect();
    let edges: Vec<Value> = edges
        .iter()
        .map(|it| {
            let mut edge = it.clone();
            edge["id"] = json!(format!("{} {}", text(it, "from"), text(it, "to")));
            edge["via"] = json!(via_of(it).cloned().unwrap_or_default());
            edge
        })
        .collect();
    json!({ "boxes": boxes, "edges": edges, "also": graph["also"], "roots": graph["roots"], "folded": folded })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::drawn;

    fn graph(count: usize) -> Value {
        let node = |it: usize| json!({ "name": format!("n{it}"), "role": "template", "kind": "ConfigMap", "marks": [], "onDeletion": false });
        let edge =
            |it: usize| json!({ "from": format!("n{}", it - 1), "to": format!("n{it}"), "now": "open" });
        json!({
            "nodes": (0..count).map(node).collect::<Vec<_>>(),
            "sequence": (1..count).map(edge).collect::<Vec<_>>(), "also": [], "roots": ["root"],
        })
    }

    fn node(name: &str, member: Option<&str>, state: &str) -> Value {
        json!({ "node": name, "member": member, "state": state })
    }

    #[test]
    fn a_node_with_members_is_one_box_in_its_worst_state() {
        let nodes =
            [node("n0", Some("a"), "Ready"), node("n0", Some("b"), "Waiting"), node("old", None, "Removing")];
        let drawn = drawn(&graph(2), &nodes);
        let boxes = drawn["boxes"].as_array().unwrap();
        assert_eq!(boxes.len(), 3);
        assert_eq!(
            (&boxes[0]["state"], &boxes[0]["ready"], &boxes[0]["count"]),
            (&json!("Waiting"), &json!(1), &json!(2))
        );
        assert_eq!(boxes[1]["state"], "NotNeeded");
        assert_eq!((&boxes[2]["id"], &boxes[2]["state"]), (&json!("old"), &json!("Removing")));
    }

    #[test]
    fn of_many_nodes_the_worst_are_shown_and_the_others_are_counted() {
        let nodes: Vec<Value> = (0..1_000)
            .map(|it| node(&format!("n{it}"), None, if it == 900 { "Stalled" } else { "Ready" }))
            .collect();
        let drawn = drawn(&graph(1_000), &nodes);
        let boxes = drawn["boxes"].as_array().unwrap();
        assert_eq!((boxes.len(), &drawn["folded"]), (300, &json!(700)));
        assert!(["n899", "n900", "n901"].iter().all(|name| boxes.iter().any(|it| it["id"] == *name)));
    }
}
