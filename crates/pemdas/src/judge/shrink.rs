//! From a blueprint that fails to the smallest one that fails in the same way.

use serde_json::Value;

use super::{
    Broken, Law, Verdict,
    draft::{Body, Draft, Kind},
};

/// How many drafts are tried.
const MAX_TRIES: usize = 1_500;

/// The smallest draft that breaks a law in the same way.
pub(super) fn shrink(broken: Broken, law: Law) -> Broken {
    let kind = |it: &str| it.split(':').next().unwrap_or_default().to_owned();
    let wanted = kind(&broken.why);
    let Broken { seed, mut draft, mut why } = broken;
    let (mut tries, mut from) = (0, 0);
    loop {
        // What came before `from` was tried with a draft that was hardly larger: it is tried again at the end.
        let smaller = smaller(&draft).into_iter().enumerate().skip(from);
        let found = smaller.take(MAX_TRIES - tries).find_map(|(at, next)| {
            tries += 1;
            match law(&next) {
                Verdict::Differs(other) if kind(&other) == wanted => Some((at, next, other)),
                _ => None,
            }
        });
        match found {
            Some((at, next, other)) => (from, draft, why) = (at, next, other),
            None if from == 0 || tries == MAX_TRIES => return Broken { seed, draft, why },
            None => from = 0,
        }
    }
}

/// A draft and simpler ones.
struct Simpler<'d> {
    of: &'d Draft,
    all: Vec<Draft>,
}

impl Simpler<'_> {
    fn with(&mut self, change: impl Fn(&mut Draft)) {
        let mut next = self.of.clone();
        change(&mut next);
        if next != *self.of {
            self.all.push(next);
        }
    }
}

/// Smaller drafts, the smallest first.
fn smaller(draft: &Draft) -> Vec<Draft> {
    let all = (1..draft.nodes.len()).rev().map(|at| draft.without(at)).collect();
    let mut simpler = Simpler { of: draft, all };
    for at in 0..draft.roots.len() {
        simpler.with(|it| {
            if it.roots.len() > 1 {
                drop(it.roots.remove(at));
            }
        });
    }
    simpler.with(|it| it.around.clear());
    simpler.with(|it| it.gap = false);
    simpler.with(|it| it.deleting.clear());
    for at in 0..draft.nodes.len() {
        node(&mut simpler, at);
    }
    for version in 0..draft.roots.len() {
        root(&mut simpler, version);
    }
    let count = draft.clone().expressions().len();
    for at in 0..count {
        for expression in draft.clone().expressions()[at].simpler() {
            simpler.with(|it| *it.expressions()[at] = expression.clone());
        }
    }
    simpler.all
}

fn node(simpler: &mut Simpler<'_>, at: usize) {
    let node = &simpler.of.nodes[at];
    simpler.with(|it| it.nodes[at].members = None);
    simpler.with(|it| it.nodes[at].ready = None);
    for also in 0..node.also.len() {
        simpler.with(|it| drop(it.nodes[at].also.remove(also)));
        simpler.with(|it| it.nodes[at].also[also].when = None);
        simpler.with(|it| {
            let also = &mut it.nodes[at].also[also];
            for gone in std::mem::take(&mut also.before) {
                also.when.iter_mut().for_each(|it| it.without(gone.from, false));
            }
        });
    }
    for before in 0..node.before.len() {
        simpler.with(|it| {
            let gone = it.nodes[at].before.remove(before).from;
            it.nodes[at].forget(gone);
        });
        simpler.with(|it| it.nodes[at].before[before].until = None);
        simpler.with(|it| it.nodes[at].before[before].each = false);
        simpler.with(|it| {
            it.nodes[at].before[before].extract = None;
            let from = it.nodes[at].before[before].from;
            it.nodes[at].forget(from);
        });
    }
    body(simpler, at);
}

fn body(simpler: &mut Simpler<'_>, at: usize) {
    simpler.with(|it| {
        if let Body::Template { data, namespace, named, late, .. } = &mut it.nodes[at].body {
            data.clear();
            (*namespace, *named, *late) = (None, false, false);
        }
    });
    simpler.with(|it| {
        if let Body::Template { data, .. } | Body::State { data, .. } = &mut it.nodes[at].body {
            data.pop();
        }
    });
    simpler.with(|it| {
        if let Body::Template { named, late, .. } = &mut it.nodes[at].body {
            (*named, *late) = (false, false);
        }
    });
    simpler.with(|it| {
        if let Body::Template { once: Some(once), .. } = &mut it.nodes[at].body {
            (once.key, once.result) = (None, None);
        }
    });
    simpler.with(|it| match &mut it.nodes[at].body {
        Body::State { key, .. } => *key = None,
        Body::Absent { having, .. } => *having = None,
        Body::Template { kind, once: None, .. } => *kind = Kind::ConfigMap,
        _ => {}
    });
}

fn root(simpler: &mut Simpler<'_>, version: usize) {
    let spec = simpler.of.roots[version]["spec"].as_object();
    for field in spec.into_iter().flatten().map(|(name, _)| name.clone()) {
        simpler.with(|it| {
            if let Some(spec) = it.roots[version]["spec"].as_object_mut() {
                spec.remove(&field);
            }
        });
    }
    simpler.with(|it| it.roots[version]["metadata"]["labels"] = Value::Object(serde_json::Map::new()));
}
