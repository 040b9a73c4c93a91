//! Blueprints by chance: the whole language, and instances that change.

use serde_json::{Value, json};

use super::{
    dice::{Dice, Share},
    draft::{Also, Before, Body, Draft, Kind, Node, Once, Shape},
    expression::{Expression, Scope, any, simplest},
    forms::Sort,
};

/// How deep expressions are.
const DEPTH: usize = 3;
/// Shapes that what is made comes to, and one that it never does.
const UNTIL: &[&str] = &[
    "Any",
    "Ready",
    "{ metadata.name = Any }",
    "not Absent",
    "any_of [Ready, { data.never = Any }]",
    "all_of [Any, not { data.never = Any }]",
    "{ data.k0 = matches \"^[a-zA-Z]\" }",
    "not { data.k1 = \"\" }",
    "{ data.k0 = one_of [\"k\", \"Some Text\", \"\"] }",
    "any_of [Any, Absent]",
    "all_of [not { data.k0 = \"b\" }, any_of [Absent, Ready]]",
    "{ data.never = Any }",
];
/// The same as functions, of a Boolean and of a text.
const UNTIL_IF: &[&str] =
    &["fun the => if § then Any else { data.k0 = Any }", "fun the => if § then Ready else Any"];
const UNTIL_OF: &[&str] =
    &["fun the => { data = not { k0 = § } }", "fun the => any_of [Any, { data.k1 = § }]"];
/// What a once is waited for with.
const DONE: &[&str] = &["Ready", "Complete", "Finished"];
const READY: &[&str] = &[
    "Any",
    "Ready",
    "{ metadata.name = matches \"x\" }",
    "not { status.failed = true }",
    "{ data.k9 = Any }",
    "fun the => { metadata.name = the.self.metadata.name }",
];
const HAVING: &[&str] = &["{ data.k0 = \"\" }", "{ metadata.labels.tier = Any }", "not { data.k0 = \"\" }"];

const UNREAD: &str = "unread | String | default = \"x\",";
/// What becomes of a field that nobody reads, and whether the definition may change so.
const NEXT: &[(&str, bool)] = &[
    (UNREAD, true),
    ("unread | String | default = \"x\", more | String | optional,", true),
    ("unread | String | default = \"x\", more | String | default = \"y\",", true),
    ("", false),
    ("unread | String | default = \"x\", more | String,", false),
];

/// A blueprint, its instance and the cluster around it.
pub(super) fn draft(seed: u64) -> Draft {
    let mut dice = Dice::new(seed);
    let dice = &mut dice;
    let count = 2 + dice.below(7);
    let in_cluster = dice.part("cluster", 8);
    let mut draft = Draft {
        nodes: vec![Node::new(Body::Root)],
        names: Vec::new(),
        helpers: Vec::new(),
        deleting: Vec::new(),
        in_cluster,
        roots: Vec::new(),
        around: around(),
        gap: dice.part("gap", 3),
        unread: UNREAD,
        next: NEXT[dice.below(NEXT.len())],
    };
    while draft.nodes.len() < count {
        let at = draft.nodes.len();
        let node = node(at, &draft.nodes, in_cluster, dice);
        let state = dice.part("state", 5).then(|| state(at, &node, &draft.nodes, dice)).flatten();
        draft.nodes.push(node);
        draft.nodes.extend(state);
    }
    let count = draft.nodes.len();
    for to in 1..count {
        // Something leads to each.
        let from = if dice.once_in(3) { 0 } else { dice.below(to) };
        need(&mut draft.nodes, from, to, dice);
        for from in 0..count {
            if from != to && dice.part("cross", 8) {
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
    for _ in 0..if dice.part("deleting", 6) { 1 + dice.below(2) } else { 0 } {
        last(&mut draft, dice);
    }
    draft.names = names(draft.nodes.len(), dice);
    draft.roots = roots(in_cluster, dice);
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

fn node(at: usize, earlier: &[Node], in_cluster: bool, dice: &mut Dice) -> Node {
    let mut before: Vec<Before> = (1..at)
        .filter_map(|from| if dice.part("edge", 4) { Some(before(from, &earlier[from], dice)) } else { None })
        .collect();
    let members = dice.part("members", 6).then(|| any(Sort::Record, 2, &Scope::the(), dice));
    let mut scope = if members.is_some() { Scope::the().member() } else { Scope::the() };
    // Names read the root and the member alone.
    let early = scope.clone();
    scope.from = before.iter().filter(|it| it.extract.is_some()).map(|it| it.from).collect();
    let inputs = Scope::the().with(&scope.from);
    for it in before.iter_mut().filter(|it| it.until.is_some()) {
        if matches!(earlier[it.from].body, Body::Template { once: None, .. }) && dice.part("computed", 3) {
            it.until = Some(computed(&inputs, dice));
        }
    }
    let place = |dice: &mut Dice| (in_cluster || dice.once_in(4)).then(|| Expression::place(dice));
    let mut it = Node::new(Body::Mirror);
    let each = members.is_some();
    let drawn = if dice.part("others", 32) { 13 + dice.below(3) } else { dice.below(16) };
    match drawn {
        0..=9 => {
            it.body = template(at, each, &early, &scope, dice);
            if let Body::Template { kind, namespace, .. } = &mut it.body
                && *kind != Kind::ClusterRole
            {
                *namespace = namespace.take().or_else(|| place(dice));
            }
            it.members = members.filter(|_| !matches!(it.body, Body::Template { once: Some(_), .. }));
            it.ready = (dice.once_in(6)).then(|| Shape::Plain(READY[dice.below(READY.len())]));
            it.ready = it.ready.filter(|_| !matches!(it.body, Body::Template { once: Some(_), .. }));
        }
        10..=12 => (it.body, it.members) = (Body::Value(any(Sort::Text, DEPTH, &scope, dice)), members),
        13 if dice.part("mirror", 4) => it.ready = Some(Shape::Plain("Any")),
        13 => {
            let name = match (each, dice.coin()) {
                (true, _) => Expression::for_each(false),
                (false, true) => simplest(Sort::Label, 0),
                (false, false) => any(Sort::Label, 1, &Scope::the(), dice),
            };
            (it.body, it.members) =
                (Body::Observe { name, namespace: place(dice), optional: dice.coin() }, members);
        }
        14 if dice.share("select") != Share::None => {
            let label = any(Sort::Label, 1, &Scope::the(), dice);
            let namespace = if dice.once_in(3) { Some(Expression::everywhere()) } else { place(dice) };
            it.body = Body::Select { label, namespace };
        }
        _ => {
            let name = if each { Expression::for_each(true) } else { Expression::gone(dice) };
            let having = (dice.once_in(3)).then(|| Shape::Plain(HAVING[dice.below(HAVING.len())]));
            (it.body, it.members) = (Body::Absent { name, namespace: place(dice), having }, members);
        }
    }
    let each = it.members.is_some();
    it.before = before.into_iter().map(|it| Before { each: it.each && each, ..it }).collect();
    it
}

fn template(at: usize, member: bool, early: &Scope, outside: &Scope, dice: &mut Dice) -> Body {
    let once = dice.part("once", 8).then(|| Once {
        key: (dice.coin()).then(|| Expression::key(dice)),
        result: (dice.coin()).then(|| any(Sort::Text, 2, &Scope::job(), dice)),
    });
    let member = member && once.is_none();
    let (early, scope) = match &once {
        Some(_) => (Scope::the(), Scope::the().with(&outside.from)),
        None if dice.share("own") == Share::Much => (early.clone(), outside.clone().own(dice)),
        None => (early.clone(), outside.clone()),
    };
    let late = once.is_none() && dice.part("late", 12);
    let within = if late { outside } else { &early };
    let name = Expression::tagged(&any(Sort::Label, DEPTH, within, dice), at, member, dice);
    let namespace = (dice.once_in(6)).then(|| Expression::place(dice));
    let mut data: Vec<_> = (0..dice.below(3)).map(|_| any(Sort::Text, DEPTH, &scope, dice)).collect();
    let kind = match dice.below(12) {
        _ if once.is_some() => Kind::Job,
        _ if dice.share("kinds") == Share::None => Kind::ConfigMap,
        0 => Kind::Deployment,
        1 => Kind::Secret,
        2 => Kind::ServiceAccount,
        3 => Kind::ClusterRole,
        _ => Kind::ConfigMap,
    };
    if kind == Kind::ConfigMap && dice.once_in(10) && dice.share("own") == Share::Much {
        data.insert(0, Expression::own());
    }
    let namespace = namespace.filter(|_| kind != Kind::ClusterRole);
    Body::Template { kind, name, namespace, data, named: true, late, once }
}

/// An earlier state of an object that has no members.
fn state(at: usize, object: &Node, earlier: &[Node], dice: &mut Dice) -> Option<Node> {
    let Body::Template { kind, once: None, late: false, .. } = &object.body else { return None };
    if object.members.is_some() {
        return None;
    }
    let before: Vec<Before> = (1..at)
        .filter_map(|from| if dice.part("edge", 4) { Some(before(from, &earlier[from], dice)) } else { None })
        .map(|it| Before { each: false, ..it })
        .collect();
    let mut scope = Scope::the();
    scope.from = before.iter().filter(|it| it.extract.is_some()).map(|it| it.from).collect();
    let data = (0..1 + dice.below(2)).map(|_| any(Sort::Text, 2, &scope, dice)).collect();
    let key = (dice.coin()).then(|| Expression::key(dice));
    Some(Node { before, ..Node::new(Body::State { of: at, kind: *kind, data, key }) })
}

/// A shape that a function yields.
fn computed(scope: &Scope, dice: &mut Dice) -> Shape {
    if dice.coin() {
        Shape::Of(UNTIL_IF[dice.below(UNTIL_IF.len())], any(Sort::Bool, 2, scope, dice))
    } else {
        Shape::Of(UNTIL_OF[dice.below(UNTIL_OF.len())], any(Sort::Text, 2, scope, dice))
    }
}

/// An edge from a node.
fn before(from: usize, node: &Node, dice: &mut Dice) -> Before {
    let scope = match &node.body {
        _ if node.members.is_some() => Scope::many(),
        Body::Select { .. } => Scope::many(),
        Body::Value(_) => Scope::value(),
        Body::Template { once: Some(_), .. } => Scope::result(),
        _ => Scope::live(),
    };
    let each = node.members.is_some() && dice.part("each", 3);
    let readable = !matches!(node.body, Body::Absent { .. } | Body::State { .. });
    let reads = readable && dice.coin() && !each;
    let shapes = match &node.body {
        Body::Template { once: Some(_), .. } => DONE,
        Body::Template { .. } => UNTIL,
        _ => &[],
    };
    let shaped = !shapes.is_empty() && dice.part("shape", 3);
    Before {
        from,
        until: shaped.then(|| Shape::Plain(shapes[dice.below(shapes.len())])),
        extract: reads.then(|| any(Sort::Text, 2, &scope, dice)),
        each,
    }
}

fn need(nodes: &mut [Node], from: usize, to: usize, dice: &mut Dice) {
    if nodes[from].also.iter().any(|it| it.to == to) {
        return;
    }
    let mut after = Vec::new();
    // What belongs together is often needed for one reason.
    let mut earlier = nodes.iter().flat_map(|it| &it.also).filter(|it| it.before.is_empty());
    let shared = earlier.find_map(|it| it.when.clone()).filter(|_| dice.part("shared", 8));
    let when = shared.is_none() && !dice.once_in(3);
    let when = shared.or(when.then(|| {
        let mut scope = Scope::the();
        if dice.once_in(4) {
            let reads = dice.within(1..nodes.len());
            if reads != to && reads != from {
                after.push(Before { each: false, ..before(reads, &nodes[reads], dice) });
                scope.from = after.iter().filter(|it| it.extract.is_some()).map(|it| it.from).collect();
            }
        }
        any(Sort::Bool, DEPTH, &scope, dice)
    }));
    nodes[from].also.push(Also { to, when, before: after });
}

/// One more node, which the root needs at its end.
fn last(draft: &mut Draft, dice: &mut Dice) {
    let to = draft.nodes.len();
    let name = Expression::tagged(&any(Sort::Label, 2, &Scope::the(), dice), to, false, dice);
    let namespace = draft.in_cluster.then(|| Expression::place(dice));
    let data = vec![any(Sort::Text, 2, &Scope::the(), dice)];
    let once = (dice.coin()).then_some(Once { key: None, result: None });
    let kind = if once.is_some() { Kind::Job } else { Kind::ConfigMap };
    let body = Body::Template { kind, name, namespace, data, named: true, late: false, once };
    let before =
        draft.deleting.iter().map(|it| Before { from: it.to, until: None, extract: None, each: false });
    draft.nodes.push(Node { before: before.collect(), ..Node::new(body) });
    let when = (dice.coin()).then(|| any(Sort::Bool, 2, &Scope::the(), dice));
    draft.deleting.push(Also { to, when, before: Vec::new() });
}

/// The root, and what it is changed to.
fn roots(in_cluster: bool, dice: &mut Dice) -> Vec<Value> {
    let name = ["shop", "a-b", "two-words", "x", "oo7"][dice.below(5)];
    let namespace = Some(["default", "team"][dice.below(2)]).filter(|_| !in_cluster);
    let labels = [json!({}), json!({ "tier": "back" }), json!({ "tier": "", "x": "y" })];
    let (mut at, mut spec) = (dice.below(3), spec(dice));
    let mut all = vec![Draft::root(name, namespace, &labels[at], &spec)];
    for _ in 0..dice.below(3) {
        let other = self::spec(dice);
        for (field, value) in other.as_object().into_iter().flatten() {
            if dice.once_in(3) {
                spec[field] = value.clone();
            } else if dice.once_in(6) {
                spec.as_object_mut().into_iter().for_each(|it| drop(it.remove(field)));
            }
        }
        if dice.once_in(4) {
            at = dice.below(3);
        }
        all.push(Draft::root(name, namespace, &labels[at], &spec));
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
        all.push(map(namespace, "gone-prod", json!({ "tier": "" }), json!({ "k0": "" })));
        all.push(map(namespace, "gone-k0", json!({}), json!({ "k0": "x" })));
        all.push(map(namespace, "b", json!({ "pool": "prod" }), json!({ "k1": "" })));
    }
    for name in ["k0", "k1", "eu"] {
        all.push(map("team", name, json!({}), json!({ "k0": name })));
    }
    all
}
