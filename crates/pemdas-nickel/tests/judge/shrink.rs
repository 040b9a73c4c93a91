//! From a blueprint that fails to the smallest one that fails in the same way.

use serde_json::Value;

use super::{
    Verdict,
    draft::{Body, Draft},
};

/// How many drafts are tried.
const MAX_TRIES: usize = 1_500;

/// The smallest draft that fails of the same kind, with what is wrong with it.
pub(super) fn shrink(draft: Draft, why: String, check: fn(&Draft) -> Verdict) -> (Draft, String) {
    let kind = |it: &str| it.split(':').next().unwrap_or_default().to_owned();
    let wanted = kind(&why);
    let (mut draft, mut why) = (draft, why);
    let mut tries = 0;
    'smaller: loop {
        for next in smaller(&draft) {
            tries += 1;
            if tries > MAX_TRIES {
                return (draft, why);
            }
            if let Verdict::Differs(other) = check(&next)
                && kind(&other) == wanted
            {
                (draft, why) = (next, other);
                continue 'smaller;
            }
        }
        return (draft, why);
    }
}

/// Smaller drafts, the smallest first.
#[allow(clippy::too_many_lines, reason = "one simplification after the other")]
fn smaller(draft: &Draft) -> Vec<Draft> {
    let mut all: Vec<Draft> = (1..draft.nodes.len()).rev().map(|at| draft.without(at)).collect();
    let mut with = |change: &dyn Fn(&mut Draft)| {
        let mut next = draft.clone();
        change(&mut next);
        if next != *draft {
            all.push(next);
        }
    };
    for at in 0..draft.roots.len() {
        with(&|it| {
            if it.roots.len() > 1 {
                drop(it.roots.remove(at));
            }
        });
    }
    with(&|it| it.around.clear());
    for (at, node) in draft.nodes.iter().enumerate() {
        with(&|it| it.nodes[at].members = None);
        with(&|it| it.nodes[at].ready = None);
        for also in 0..node.also.len() {
            with(&|it| drop(it.nodes[at].also.remove(also)));
            with(&|it| it.nodes[at].also[also].when = None);
            with(&|it| {
                let also = &mut it.nodes[at].also[also];
                for gone in std::mem::take(&mut also.before) {
                    also.when.iter_mut().for_each(|it| it.without(gone.from, false));
                }
            });
        }
        for before in 0..node.before.len() {
            with(&|it| {
                let gone = it.nodes[at].before.remove(before).from;
                it.nodes[at].forget(gone);
            });
            with(&|it| it.nodes[at].before[before].until = None);
            with(&|it| it.nodes[at].before[before].each = false);
            with(&|it| {
                it.nodes[at].before[before].extract = None;
                let from = it.nodes[at].before[before].from;
                it.nodes[at].forget(from);
            });
        }
        with(&|it| {
            if let Body::Template { data, namespace, named, late, .. } = &mut it.nodes[at].body {
                data.clear();
                *namespace = None;
                *named = false;
                *late = false;
            }
        });
        with(&|it| {
            if let Body::Template { data, .. } = &mut it.nodes[at].body {
                data.pop();
            }
        });
        with(&|it| {
            if let Body::Template { named, late, .. } = &mut it.nodes[at].body {
                *named = false;
                *late = false;
            }
        });
    }
    for version in 0..draft.roots.len() {
        for field in
            draft.roots[version]["spec"].as_object().into_iter().flatten().map(|(name, _)| name.clone())
        {
            with(&|it| {
                if let Some(spec) = it.roots[version]["spec"].as_object_mut() {
                    spec.remove(&field);
                }
            });
        }
        with(&|it| it.roots[version]["metadata"]["labels"] = Value::Object(serde_json::Map::new()));
    }
    let count = draft.clone().expressions().len();
    for at in 0..count {
        let simpler = draft.clone().expressions()[at].simpler();
        for expression in simpler {
            with(&|it| *it.expressions()[at] = expression.clone());
        }
    }
    all
}
