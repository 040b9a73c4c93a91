//! The same blueprint in other words: what it comes to has to stay.

use super::{
    dice::Dice,
    draft::{Also, Before, Body, Draft, Kind, Node},
    expression::{Expression, Scope, any},
    forms::Sort,
    generate,
    outcome::{Fate, Outcome, Slot},
};

/// A way to say the same in other words.
pub(super) type Transform = fn(&Draft, &mut Dice) -> Draft;

pub(super) const ALL: &[(&str, Transform)] = &[
    ("renamed", renamed),
    ("with an unrelated node", with_an_unrelated_node),
    ("in lets", in_lets),
    ("in helpers", in_helpers),
    ("in value nodes", in_value_nodes),
];

/// All nodes have other names, in another order.
fn renamed(draft: &Draft, dice: &mut Dice) -> Draft {
    Draft { names: generate::names(draft.names.len(), dice), ..draft.clone() }
}

/// One more node that nobody reads. The others keep their numbers.
fn with_an_unrelated_node(draft: &Draft, dice: &mut Dice) -> Draft {
    let mut draft = draft.clone();
    let to = draft.nodes.len();
    let name = Expression::tagged(&any(Sort::Label, 2, &Scope::the(), dice), to, false, dice);
    let kind = Kind::ConfigMap;
    let namespace = draft.in_cluster.then(|| Expression::place(dice));
    let body =
        Body::Template { kind, name, namespace, data: Vec::new(), named: false, late: false, once: None };
    draft.nodes.push(Node::new(body));
    draft.names.push(format!("{}unrelated", if dice.coin() { "a" } else { "z" }));
    draft.nodes[0].also.push(Also { to, when: None, before: Vec::new() });
    draft
}

fn in_lets(draft: &Draft, _dice: &mut Dice) -> Draft {
    let mut draft = draft.clone();
    for it in draft.expressions() {
        *it = it.clone().in_a_let();
    }
    draft
}

/// Every expression that reads only the root goes into a function of its own that gets all of `the`.
fn in_helpers(draft: &Draft, _dice: &mut Dice) -> Draft {
    let mut draft = draft.clone();
    let count = draft.expressions().len();
    for at in 0..count {
        let it = draft.expressions()[at].clone();
        if it.is_of_root() {
            let number = draft.helpers.len();
            draft.helpers.push(it.clone());
            *draft.expressions()[at] = Expression::Helper(number, it.sort());
        }
    }
    draft
}

/// What a template says of the root comes from a value instead.
fn in_value_nodes(draft: &Draft, _dice: &mut Dice) -> Draft {
    let mut draft = draft.clone();
    for at in 1..draft.nodes.len() {
        let from = draft.nodes.len();
        let Body::Template { data, .. } = &mut draft.nodes[at].body else { continue };
        let Some(it) = data.iter_mut().find(|it| it.is_of_root()) else { continue };
        let value = std::mem::replace(it, Expression::From(from));
        let node = &mut draft.nodes[at];
        let extract = Some(Expression::live());
        node.before.push(Before { from, until: None, extract, each: false });
        draft.nodes.push(Node::new(Body::Value(value)));
        draft.names.push(format!("{}value{from}", draft.names[at]));
    }
    draft
}

/// What became of the nodes of the first draft, under their first names.
pub(super) fn as_before(outcome: &Outcome, before: &Draft, after: &Draft) -> Outcome {
    let back = |name: &str| {
        let at = after.names.iter().position(|it| it == name)?;
        before.names.get(at).cloned()
    };
    let fate = |it: &Fate| match it {
        Fate::Waits(on) => Fate::Waits(on.iter().filter_map(|it| back(it)).collect()),
        Fate::FailsAnyway(on) => Fate::FailsAnyway(on.iter().filter_map(|it| back(it)).collect()),
        other => other.clone(),
    };
    let fates =
        outcome.fates.iter().filter_map(|(slot, it)| Some(((back(&slot.0)?, slot.1.clone()), fate(it))));
    let fates = fates.collect::<std::collections::BTreeMap<Slot, Fate>>();
    let unrelated = |key: &String| {
        before.nodes.len() < after.nodes.len() && key.ends_with(&format!("-t{}", before.nodes.len()))
    };
    let objects =
        outcome.objects.iter().filter(|(key, _)| !unrelated(key)).map(|(key, it)| (key.clone(), it.clone()));
    Outcome { objects: objects.collect(), fates, gone: outcome.gone.clone(), ..Outcome::default() }
}
