//! Blueprints by chance: the whole language, and instances that change.

use serde_json::{Value, json};

use super::{
    dice::Dice,
    draft::{Also, Before, Body, Draft, Kind, Node},
    expression::{Expression, Scope, Sort, any, simplest},
};

/// How deep expressions are.
const DEPTH: usize = 3;
/// Shapes that what is made comes to, and one that it never does.
const UNTIL: &[&str] = &[
    "Any",
    "Ready",
    "{ metadata.name = Any }",
    "not Absent",
    "any_of [Ready, { status.never = true }]",
    "all_of [Any, not { status.never = true }]",
    "{ data.k0 = matches \"^[a-zA-Z]\" }",
    "not { data.k1 = \"\" }",
    "{ data.k0 = one_of [\"k\", \"Some Text\", \"\"] }",
    "any_of [Any, Absent]",
    "{ status.never = at_least 1 }",
];
const READY: &[&str] = &[
    "Any",
    "Ready",
    "{ metadata.name = matches \"x\" }",
    "not { status.failed = true }",
    "{ data.k9 = Any }",
];

/// A blueprint, its instance and the cluster around it.
pub(super) fn draft(seed: u64) -> Draft {
    let mut dice = Dice::new(seed);
    let dice = &mut dice;
    let count = 2 + dice.below(7);
    let mut draft = Draft {
        nodes: Vec::new(),
        names: names(count, dice),
        helpers: Vec::new(),
        roots: Vec::new(),
        around: around(),
    };
    let root = Node { body: Body::Root, also: Vec::new(), before: Vec::new(), members: None, ready: None };
    draft.nodes.push(root);
    for at in 1..count {
        let node = node(at, &draft.nodes, dice);
        draft.nodes.push(node);
    }
    for to in 1..count {
        // Something leads to each.
        let from = if dice.once_in(3) { 0 } else { dice.below(to) };
        need(&mut draft.nodes, from, to, dice);
        for from in 0..count {
            if from != to && dice.once_in(8) {
                need(&mut draft.nodes, from, to, dice);
            }
        }
    }
    // What is read is there; mostly.
    for reader in 1..count {
        let read: Vec<usize> =
            draft.nodes[reader].before.iter().filter(|it| it.extract.is_some()).map(|it| it.from).collect();
        for from in read {
            if !dice.once_in(20) && !draft.nodes[reader].also.iter().any(|it| it.to == from) {
                draft.nodes[reader].also.push(Also { to: from, when: None, before: Vec::new() });
            }
        }
    }
    draft.roots = roots(dice);
    draft
}

/// Some before the name of any other, some after it.
pub(super) fn names(count: usize, dice: &mut Dice) -> Vec<String> {
    let name = |at: usize| {
        let letter = char::from(b'a' + u8::try_from(dice.below(26)).expect("a letter"));
        let between = ["", "_", "-", "x"][dice.below(4)];
        format!("{letter}{between}{at}")
    };
    (0..count).map(name).collect()
}

fn node(at: usize, earlier: &[Node], dice: &mut Dice) -> Node {
    let before: Vec<Before> = (1..at)
        .filter_map(|from| if dice.once_in(4) { Some(before(from, &earlier[from], dice)) } else { None })
        .collect();
    let members = (dice.once_in(6)).then(|| any(Sort::Record, 2, &Scope::the(), dice));
    let mut scope = if members.is_some() { Scope::the().member() } else { Scope::the() };
    // Names read the root and the member alone.
    let early = scope.clone();
    scope.from = before.iter().filter(|it| it.extract.is_some()).map(|it| it.from).collect();
    let ready = (dice.once_in(6)).then(|| READY[dice.below(READY.len())]);
    let (body, members, ready) = match dice.below(16) {
        0..=9 => (template(at, members.is_some(), &early, &scope, dice), members, ready),
        10..=12 => (Body::Value(any(Sort::Text, DEPTH, &scope, dice)), None, None),
        13 => {
            let name =
                if dice.coin() { simplest(Sort::Label, 0) } else { any(Sort::Label, 1, &Scope::the(), dice) };
            let namespace = (dice.once_in(3)).then(|| simplest(Sort::Label, 0));
            (Body::Observe { name, namespace, optional: dice.coin() }, None, None)
        }
        14 => {
            let label = any(Sort::Label, 1, &Scope::the(), dice);
            let namespace = match dice.below(3) {
                0 => None,
                1 => Some(Expression::place(dice)),
                _ => Some(Expression::Word("*".to_owned())),
            };
            (Body::Select { label, namespace }, None, None)
        }
        _ => (Body::Absent { name: Expression::gone(dice) }, None, None),
    };
    let before = before.into_iter().map(|it| Before { each: it.each && members.is_some(), ..it }).collect();
    Node { body, also: Vec::new(), before, members, ready }
}

fn template(at: usize, member: bool, early: &Scope, scope: &Scope, dice: &mut Dice) -> Body {
    let late = dice.once_in(12);
    let within = if late { scope } else { early };
    let name = Expression::tagged(&any(Sort::Label, DEPTH, within, dice), at, member, dice);
    let namespace = (dice.once_in(6)).then(|| Expression::place(dice));
    let data = (0..dice.below(3)).map(|_| any(Sort::Text, DEPTH, scope, dice)).collect();
    let kind = if dice.once_in(8) { Kind::Deployment } else { Kind::ConfigMap };
    Body::Template { kind, name, namespace, data, named: true, late }
}

/// An edge from a node.
fn before(from: usize, node: &Node, dice: &mut Dice) -> Before {
    let scope = match &node.body {
        _ if node.members.is_some() => Scope::many(),
        Body::Select { .. } => Scope::many(),
        Body::Value(_) => Scope::value(),
        _ => Scope::live(),
    };
    let each = node.members.is_some() && dice.once_in(3);
    let reads = !matches!(node.body, Body::Absent { .. }) && dice.coin() && !each;
    let shaped = matches!(node.body, Body::Template { .. }) && dice.once_in(3);
    Before {
        from,
        until: shaped.then(|| UNTIL[dice.below(UNTIL.len())]),
        extract: reads.then(|| any(Sort::Text, 2, &scope, dice)),
        each,
    }
}

fn need(nodes: &mut [Node], from: usize, to: usize, dice: &mut Dice) {
    if nodes[from].also.iter().any(|it| it.to == to) {
        return;
    }
    let mut after = Vec::new();
    let when = (!dice.once_in(3)).then(|| {
        let mut scope = Scope::the();
        if dice.once_in(4) {
            let reads = dice.within(1..nodes.len());
            if reads != to && reads != from {
                after.push(before(reads, &nodes[reads], dice));
                scope.from = after.iter().filter(|it| it.extract.is_some()).map(|it| it.from).collect();
            }
        }
        any(Sort::Bool, DEPTH, &scope, dice)
    });
    nodes[from].also.push(Also { to, when, before: after });
}

/// The root, and what it is changed to.
fn roots(dice: &mut Dice) -> Vec<Value> {
    let name = ["shop", "a-b", "two-words", "x", "oo7"][dice.below(5)];
    let namespace = ["default", "team"][dice.below(2)];
    let labels =
        [json!({}), json!({ "tier": "back" }), json!({ "tier": "", "x": "y" })][dice.below(3)].clone();
    let mut spec = spec(dice);
    let mut all = vec![Draft::root(name, namespace, &labels, &spec)];
    for _ in 0..dice.below(3) {
        let other = self::spec(dice);
        for (field, value) in other.as_object().into_iter().flatten() {
            if dice.once_in(3) {
                spec[field] = value.clone();
            }
        }
        all.push(Draft::root(name, namespace, &labels, &spec));
    }
    all
}

fn spec(dice: &mut Dice) -> Value {
    let mut spec = json!({});
    let texts = ["", "a", "b", "k0", "Some Text", "two-words", "a-b-c", "ö%{x}"];
    let lists = [json!([]), json!(["a"]), json!(["b", "a", "b"]), json!(["two-words", "Some Text"])];
    let mut set = |field: &str, value: Value, dice: &mut Dice| {
        if dice.coin() {
            spec[field] = value;
        }
    };
    for field in ["a", "b", "c", "flag"] {
        let value = json!(dice.coin());
        set(field, value, dice);
    }
    let mode = ["prod", "dev", "two-words"][dice.below(3)];
    set("mode", json!(mode), dice);
    let place = if dice.coin() { "here" } else { "a-b" };
    set("where", json!(place), dice);
    let text = texts[dice.below(texts.len())];
    set("text", json!(text), dice);
    let note = if dice.coin() { Value::Null } else { json!(texts[dice.below(texts.len())]) };
    set("note", note, dice);
    let (size, count) = (dice.below(4), dice.below(3));
    set("size", json!(size), dice);
    set("count", json!(count), dice);
    let (items, hosts) = (lists[dice.below(4)].clone(), lists[dice.below(4)].clone());
    set("items", items, dice);
    set("hosts", hosts, dice);
    let maps = [json!({}), json!({ "k0": "a" }), json!({ "k0": "", "k1": "Some Text", "eu": "b" })];
    let map = maps[dice.below(3)].clone();
    set("map", map, dice);
    spec
}

/// What others made: to be observed, selected, and removed.
fn around() -> Vec<Value> {
    let map = |namespace: &str, name: &str, labels: Value, data: Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": namespace, "labels": labels }, "data": data,
        })
    };
    let mut all = Vec::new();
    for namespace in ["default", "team", "k"] {
        all.push(map(namespace, "k", json!({ "pool": "k" }), json!({ "k0": "outside" })));
        all.push(map(namespace, "prod", json!({ "pool": "k", "tier": "" }), json!({ "k0": "" })));
        all.push(map(namespace, "gone-k", json!({}), json!({ "k0": "" })));
        all.push(map(namespace, "gone-prod", json!({}), json!({ "k0": "" })));
        all.push(map(namespace, "b", json!({ "pool": "prod" }), json!({ "k1": "" })));
    }
    all
}
