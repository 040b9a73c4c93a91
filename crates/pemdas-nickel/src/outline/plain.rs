//! Which functions only put together what they read, from the way they are written.

use std::collections::BTreeMap;

use pemdas_core::blueprint::Plain;
use serde_json::Value;

use super::scopes::Binding;
use super::trees::{At, Trees};
use crate::syntax::{Expr, FieldSyntax, NodeId};

/// How deep a result may be nested.
const MAX_DEPTH: usize = 24;
/// How many parts a result may have.
const MAX_PARTS: usize = 2_000;

/// What a function literal of one parameter puts together, if it does no more than that: literals, records, lists, strings with fields
/// in them, and fields of its argument. Everything else (a call, a merge, a condition, a `let`, an annotation) is for the evaluator.
pub(super) fn plain_of(trees: &Trees<'_>, function: At<'_>) -> Option<Plain> {
    let Some(Expr::Function { parameters, body }) = trees.expr(function) else { return None };
    let [parameter] = parameters.as_slice() else { return None };
    // What is taken apart, or annotated, is looked at by the evaluator.
    let name = parameter.name.as_deref().filter(|_| parameter.inner.is_empty())?;
    let mut writer = Writer { trees, function, name, parts: 0 };
    writer.part(*body, MAX_DEPTH)
}

struct Writer<'t, 'a> {
    trees: &'t Trees<'a>,
    function: At<'t>,
    name: &'t str,
    parts: usize,
}

impl Writer<'_, '_> {
    fn part(&mut self, id: NodeId, depth: usize) -> Option<Plain> {
        let depth = depth.checked_sub(1)?;
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return None;
        }
        let trees = self.trees;
        Some(match trees.expr(At { file: self.function.file, id })? {
            Expr::Null => Plain::Value(Value::Null),
            Expr::Bool(flag) => Plain::Value((*flag).into()),
            // Anything but an integer is written in more than one way.
            Expr::Number(number) => Plain::Value(number.parse::<i64>().ok()?.into()),
            Expr::String(text) => Plain::Value(text.clone().into()),
            Expr::Interpolation(parts) => Plain::Text(self.each(parts, depth)?),
            Expr::Array(items) => Plain::List(self.each(items, depth)?),
            Expr::Record { fields, includes, open: false, .. } if includes.is_empty() => {
                self.record(fields, depth)?
            }
            Expr::Var(_) | Expr::Access { .. } => Plain::Read(self.read(id)?),
            _ => return None,
        })
    }

    fn each(&mut self, ids: &[NodeId], depth: usize) -> Option<Vec<Plain>> {
        ids.iter().map(|it| self.part(*it, depth)).collect()
    }

    fn record(&mut self, fields: &[FieldSyntax], depth: usize) -> Option<Plain> {
        let mut record = BTreeMap::new();
        for field in fields {
            let marked = field.optional || field.ranked || field.not_exported;
            if marked || field.annotated || !field.computed.is_empty() {
                return None;
            }
            let names: Option<Vec<&str>> =
                field.path.iter().map(|it| Some(it.as_ref()?.text.as_str())).collect();
            let names = names?;
            // A field of that name would be what the name means within the record.
            if names.contains(&self.name) || names.len() > depth {
                return None;
            }
            let value = self.part(field.value?, depth - names.len())?;
            put(&mut record, &names, value)?;
        }
        Some(Plain::Record(record))
    }

    /// The fields that are read from the argument.
    fn read(&self, id: NodeId) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut at = At { file: self.function.file, id };
        loop {
            match self.trees.expr(at)? {
                Expr::Access { inner, field } => {
                    names.push(field.text.clone());
                    at = At { file: at.file, id: *inner };
                }
                Expr::Var(_) => {
                    let used = self.trees.scopes(at.file)?.of_var(at.id)?;
                    let ours = Binding::Parameter { function: self.function.id, index: 0, whole: true };
                    names.reverse();
                    return (used.binding == Some(ours) && !names.is_empty()).then_some(names);
                }
                _ => return None,
            }
        }
    }
}

/// Puts a definition such as `a.b = 1` into a record, unless it meets another one: merging is the evaluator's.
fn put(record: &mut BTreeMap<String, Plain>, names: &[&str], value: Plain) -> Option<()> {
    let (first, rest) = names.split_first()?;
    if rest.is_empty() {
        return record.insert((*first).to_owned(), value).is_none().then_some(());
    }
    let below = record.entry((*first).to_owned()).or_insert_with(|| Plain::Record(BTreeMap::new()));
    match below {
        Plain::Record(fields) => put(fields, rest, value),
        _ => None,
    }
}
