//! Labels that the objects share stand once: a function of the root that every template calls.
//!
//! What selectors pick pods by cannot be changed while an instance lives, unlike a version. So where selectors have only some of the
//! labels, these are a function of their own.

use super::{Expression, What};

/// How many objects have to carry labels before they stand in one place, and how many labels.
const MIN_OBJECTS: usize = 3;
const MIN_LABELS: usize = 2;

/// The labels that stand in one place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels {
    /// Those that selectors have; none if they have all of them.
    pub selecting: Vec<(String, Expression)>,
    /// All of them; none if there is nothing to share.
    pub common: Vec<(String, Expression)>,
}

/// Which of them are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that selectors have.
    Selecting,
    /// All.
    Common,
}

type Fields = Vec<(String, Expression)>;

impl Labels {
    /// Those that are meant.
    #[must_use]
    pub fn of(&self, which: Which) -> &Fields {
        match which {
            Which::Selecting => &self.selecting,
            Which::Common => &self.common,
        }
    }
}

/// Whether a field is the same, whatever stands around it.
fn has(fields: &Fields, wanted: &(String, Expression)) -> bool {
    fields.iter().any(|(name, value)| *name == wanted.0 && value.what == wanted.1.what)
}

fn has_all(fields: &Fields, wanted: &Fields) -> bool {
    !wanted.is_empty() && wanted.iter().all(|it| has(fields, it))
}

/// Finds the labels that most objects carry, and leaves them to the function that gives them.
pub(super) fn share(templates: &mut [&mut Expression]) -> Labels {
    let mut carried: Vec<Fields> = Vec::new();
    let mut others: Vec<Fields> = Vec::new();
    for template in templates.iter_mut() {
        each(template, &mut Vec::new(), &mut |path, what| {
            let (What::Record(fields), Some(own)) = (&*what, place(path)) else { return };
            if own { carried.push(fields.clone()) } else { others.push(fields.clone()) }
        });
    }
    let mut common: Fields = Vec::new();
    for label in carried.iter().flatten() {
        let count = carried.iter().filter(|it| has(it, label)).count();
        // Of two thirds, one in three may carry others.
        if count >= MIN_OBJECTS && count * 3 >= carried.len() * 2 && !has(&common, label) {
            common.push(plain(label));
        }
    }
    let whole = carried.iter().filter(|it| has_all(it, &common)).count();
    if common.len() < MIN_LABELS || whole < MIN_OBJECTS {
        return Labels::default();
    }
    // What selectors do not have would change with them.
    let partly: Vec<&Fields> = others.iter().filter(|it| common.iter().any(|label| has(it, label))).collect();
    let everywhere = |label: &(String, Expression)| partly.iter().all(|it| has(it, label));
    let mut selecting: Fields = common.iter().filter(|it| everywhere(it)).cloned().collect();
    if selecting.len() == common.len() || selecting.len() < MIN_LABELS || partly.is_empty() {
        selecting.clear();
    }
    let labels = Labels { selecting, common };
    for template in templates.iter_mut() {
        each(template, &mut Vec::new(), &mut |path, what| {
            if place(path).is_some() {
                replace(what, &labels);
            }
        });
    }
    labels
}

/// A label without what was said about it in one of the objects.
fn plain((name, value): &(String, Expression)) -> (String, Expression) {
    (name.clone(), Expression { what: value.what.clone(), above: Vec::new(), beside: None })
}

fn replace(what: &mut What, labels: &Labels) {
    let What::Record(fields) = what else { return };
    let whole = [Which::Common, Which::Selecting].into_iter().find(|it| has_all(fields, labels.of(*it)));
    let Some(which) = whole else { return };
    let is_shared = |it: &(String, Expression)| has(labels.of(which), it);
    let is_told = |it: &(String, Expression)| !it.1.above.is_empty() || it.1.beside.is_some();
    // A comment would be lost.
    if fields.iter().any(|it| is_shared(it) && is_told(it)) {
        return;
    }
    let more = std::mem::take(fields).into_iter().filter(|it| !is_shared(it)).collect();
    *what = What::Labels(which, more);
}

/// Whether labels stand at a path: those that the object itself carries, or others of its.
fn place(path: &[String]) -> Option<bool> {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["metadata", "labels"] => Some(true),
        [.., "metadata", "labels"] | [.., "matchLabels"] | ["spec", "selector"] => Some(false),
        _ => None,
    }
}

/// Everything in an expression, with its path.
fn each(expression: &mut Expression, path: &mut Vec<String>, visit: &mut dyn FnMut(&[String], &mut What)) {
    visit(path, &mut expression.what);
    match &mut expression.what {
        What::List(items) => {
            path.push("[]".to_owned());
            items.iter_mut().for_each(|it| each(it, path, visit));
            path.pop();
        }
        What::Record(fields) => {
            for (name, value) in fields {
                path.push(name.clone());
                each(value, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}
