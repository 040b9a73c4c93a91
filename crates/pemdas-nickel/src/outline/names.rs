//! How a name is put together, as far as the way it is written proves it.
//!
//! *The accident*: functions were run with placeholders for what only an instance has. What looks at a placeholder (a condition, a
//! pattern, a function on strings) decides something about the placeholder and not about the name, and two roots got one object.
//!
//! So nothing is run here. Expressions are followed through `let`s, calls of the author's own functions, fields, merges and
//! imports, as long as only one thing can be meant. Everything else is for the evaluator, with the real input.

use std::rc::Rc;

use pemdas_core::blueprint::{NamePart, NameSegment, Read};

use super::scopes::Binding;
use super::template_tree;
use super::trees::{At, Trees};
use crate::syntax::{Expr, FieldSyntax, Name, NodeId};

/// How many expressions are looked at for one object, and how deep.
const MAX_STEPS: usize = 2_000;
const MAX_DEPTH: usize = 60;

/// What the text says of a part of a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Traced<'a> {
    /// It is this.
    Certain(NamePart),
    /// It is computed, by this expression where that is known.
    Open(Option<At<'a>>),
}

/// The parts of a record below some fields of what a function yields. The function is a literal of one parameter.
pub(super) fn trace<'a>(
    trees: &Trees<'a>,
    function: At<'a>,
    below: Option<&str>,
    parts: [&str; 2],
) -> [Traced<'a>; 2] {
    let open = || [Traced::Open(None), Traced::Open(None)];
    let Some(Expr::Function { parameters, body }) = trees.expr(function) else { return open() };
    if !matches!(parameters.as_slice(), [only] if only.name.is_some() && only.inner.is_empty()) {
        return open();
    }
    let mut tracer = Tracer { trees, function, steps: MAX_STEPS };
    let body = At { file: function.file, id: *body };
    let holder = match (tracer.value(body, &None, MAX_DEPTH), below) {
        (Some(Value::Record(fields)), None) => Some(fields),
        (Some(Value::Record(fields)), Some(name)) => match tracer.field(&fields, name, MAX_DEPTH) {
            Some(Value::Record(fields)) => Some(fields),
            // Without a record of that name, no part of it is there.
            None if named(&fields, name).is_some_and(|it| it.is_empty()) => Some(Vec::new()),
            _ => None,
        },
        _ => None,
    };
    let Some(fields) = holder else { return open() };
    parts.map(|name| tracer.part(&fields, name))
}

/// The arguments that a function was called with, and what surrounds it.
type Frames<'a> = Option<Rc<Frame<'a>>>;

struct Frame<'a> {
    function: At<'a>,
    arguments: Vec<(At<'a>, Frames<'a>)>,
    outer: Frames<'a>,
}

/// What an expression is, evaluated as far as needed.
enum Value<'a> {
    /// The argument of the function, or a field of it.
    Argument(Vec<String>, At<'a>),
    /// Text, with fields of the argument in it.
    Text(Vec<NameSegment>),
    Null,
    Record(Vec<Field<'a>>),
    Function(At<'a>, Frames<'a>),
}

/// A definition in a record.
#[derive(Clone)]
struct Field<'a> {
    /// The names on its left; a computed one is none.
    path: Vec<Option<&'a str>>,
    /// None where there is more to it than a name and a value.
    value: Option<At<'a>>,
    frames: Frames<'a>,
}

struct Tracer<'t, 'a> {
    trees: &'t Trees<'a>,
    /// Whose argument it is about.
    function: At<'a>,
    steps: usize,
}

impl<'a> Tracer<'_, 'a> {
    fn part(&mut self, fields: &[Field<'a>], name: &str) -> Traced<'a> {
        let of_name: Option<Vec<&Field<'a>>> = named(fields, name);
        if of_name.as_ref().is_some_and(Vec::is_empty) {
            return Traced::Certain(NamePart::Missing);
        }
        match self.field(fields, name, MAX_DEPTH) {
            Some(Value::Null) => Traced::Certain(NamePart::Missing),
            Some(Value::Text(segments)) if segments.iter().all(is_early) => {
                Traced::Certain(NamePart::Pattern(segments))
            }
            Some(Value::Argument(path, at)) if is_early(&self.segment(path.clone(), at)) => {
                Traced::Certain(NamePart::Pattern(vec![self.segment(path, at)]))
            }
            _ => {
                // Only what stands in the function itself is about its own argument.
                let written = of_name.and_then(|all| match all.as_slice() {
                    [only] if only.frames.is_none() && only.path.len() == 1 => only.value,
                    _ => None,
                });
                Traced::Open(written.filter(|it| it.file == self.function.file))
            }
        }
    }

    fn segment(&self, path: Vec<String>, at: At<'a>) -> NameSegment {
        let span = self.trees.span(at).or_else(|| self.trees.span(self.function));
        let nowhere = || pemdas_core::diagnostic::Span { file: at.file.to_owned(), start: 0, end: 0 };
        NameSegment::Input(Read { path, span: span.unwrap_or_else(nowhere) })
    }

    fn value(&mut self, at: At<'a>, frames: &Frames<'a>, depth: usize) -> Option<Value<'a>> {
        let depth = depth.checked_sub(1)?;
        self.steps = self.steps.checked_sub(1)?;
        let here = |id: NodeId| At { file: at.file, id };
        match self.trees.expr(at)? {
            Expr::Null => Some(Value::Null),
            Expr::String(text) => Some(Value::Text(vec![NameSegment::Text(text.clone())])),
            Expr::Interpolation(parts) => self.text(at.file, parts, frames, depth),
            Expr::Record { fields, includes, .. } => {
                Some(Value::Record(definitions(at, fields, includes, frames)))
            }
            Expr::Function { .. } => Some(Value::Function(at, frames.clone())),
            Expr::Let { body, .. } => self.value(here(*body), frames, depth),
            Expr::Annotated { inner, annotations, .. } => {
                let harmless = template_tree::are_harmless(self.trees, at, annotations);
                let value = self.value(here(*inner), frames, depth).filter(|_| harmless)?;
                (!matches!(value, Value::Function(..))).then_some(value)
            }
            Expr::Var(_) => self.name(at, frames, depth),
            Expr::Access { inner, field } => match self.value(here(*inner), frames, depth)? {
                Value::Argument(mut path, _) => {
                    path.push(field.text.clone());
                    Some(Value::Argument(path, at))
                }
                Value::Record(fields) => self.field(&fields, &field.text, depth),
                _ => None,
            },
            Expr::Operator { name, operands } if name == "(&)" => {
                let mut all = Vec::new();
                for operand in operands {
                    match self.value(here(*operand), frames, depth)? {
                        Value::Record(fields) => all.extend(fields),
                        _ => return None,
                    }
                }
                Some(Value::Record(all))
            }
            Expr::Call { head, arguments } => {
                let Value::Function(function, outer) = self.value(here(*head), frames, depth)? else {
                    return None;
                };
                let arguments = arguments.iter().map(|it| (here(*it), frames.clone())).collect();
                self.call(function, outer, arguments, depth)
            }
            Expr::Import(path) => {
                let (file, tree) = self.trees.imported(at.file, path)?;
                self.value(At { file, id: tree.root }, &None, depth)
            }
            _ => None,
        }
    }

    fn text(
        &mut self,
        file: &'a str,
        parts: &[NodeId],
        frames: &Frames<'a>,
        depth: usize,
    ) -> Option<Value<'a>> {
        let mut segments: Vec<NameSegment> = Vec::new();
        for id in parts {
            let more = match self.value(At { file, id: *id }, frames, depth)? {
                Value::Text(more) => more,
                Value::Argument(path, at) => vec![self.segment(path, at)],
                _ => return None,
            };
            for segment in more {
                match (segments.last_mut(), segment) {
                    (Some(NameSegment::Text(last)), NameSegment::Text(more)) => last.push_str(&more),
                    (_, segment) => segments.push(segment),
                }
            }
        }
        Some(Value::Text(segments))
    }

    fn call(
        &mut self,
        function: At<'a>,
        outer: Frames<'a>,
        arguments: Vec<(At<'a>, Frames<'a>)>,
        depth: usize,
    ) -> Option<Value<'a>> {
        let Some(Expr::Function { parameters, body }) = self.trees.expr(function) else { return None };
        let plain = parameters.iter().all(|it| it.ignores || (it.name.is_some() && it.inner.is_empty()));
        // Called by itself, its argument is another one.
        if !plain || parameters.len() != arguments.len() || function == self.function {
            return None;
        }
        let frame = Frame { function, arguments, outer };
        self.value(At { file: function.file, id: *body }, &Some(Rc::new(frame)), depth)
    }

    fn name(&mut self, at: At<'a>, frames: &Frames<'a>, depth: usize) -> Option<Value<'a>> {
        match self.trees.scopes(at.file)?.of_var(at.id)?.binding? {
            Binding::Let { value, whole: true, annotated: false } => {
                self.value(At { file: at.file, id: value }, frames, depth)
            }
            Binding::Parameter { function, index, whole: true } => {
                let function = At { file: at.file, id: function };
                if function == self.function {
                    return Some(Value::Argument(Vec::new(), at));
                }
                let mut frame = frames.as_ref();
                while let Some(it) = frame {
                    if it.function == function {
                        let (value, frames) = it.arguments.get(index)?.clone();
                        return self.value(value, &frames, depth);
                    }
                    frame = it.outer.as_ref();
                }
                None
            }
            // A field of a record around may be another one after a merge.
            _ => None,
        }
    }

    fn field(&mut self, fields: &[Field<'a>], name: &str, depth: usize) -> Option<Value<'a>> {
        let depth = depth.checked_sub(1)?;
        let of_name = named(fields, name)?;
        if let [only] = of_name.as_slice()
            && only.path.len() == 1
        {
            return self.value(only.value?, &only.frames, depth);
        }
        // Several definitions are merged: that is only followed for records.
        let mut below = Vec::new();
        for field in of_name {
            match field.path.as_slice() {
                [_] => match self.value(field.value?, &field.frames, depth)? {
                    Value::Record(fields) => below.extend(fields),
                    _ => return None,
                },
                [_, rest @ ..] => below.push(Field { path: rest.to_vec(), ..field.clone() }),
                [] => return None,
            }
        }
        (!below.is_empty()).then_some(Value::Record(below))
    }
}

/// The definitions of a field; none if there may be others.
fn named<'f, 'a>(fields: &'f [Field<'a>], name: &str) -> Option<Vec<&'f Field<'a>>> {
    let mut found = Vec::new();
    for field in fields {
        match field.path.first()? {
            Some(first) if *first == name => found.push(field),
            Some(_) => {}
            None => return None,
        }
    }
    Some(found)
}

fn definitions<'a>(
    at: At<'a>,
    fields: &'a [FieldSyntax],
    includes: &'a [Name],
    frames: &Frames<'a>,
) -> Vec<Field<'a>> {
    let defined = fields.iter().map(|field| {
        let marked = field.optional || field.ranked || field.not_exported;
        let value = field.value.filter(|_| !marked && !field.annotated);
        let path = field.path.iter().map(|it| it.as_ref().map(|name| name.text.as_str())).collect();
        Field { path, value: value.map(|id| At { file: at.file, id }), frames: frames.clone() }
    });
    // What is included is not followed: as a definition without a value it keeps its name open.
    let included = includes.iter().map(|it| Field {
        path: vec![Some(it.text.as_str())],
        value: None,
        frames: frames.clone(),
    });
    defined.chain(included).collect()
}

/// Whether a piece of a name is known with the root and the member.
fn is_early(segment: &NameSegment) -> bool {
    match segment {
        NameSegment::Text(_) => true,
        NameSegment::Input(read) => {
            matches!(read.path.as_slice(), [first, _, ..] if first == "root" || first == "each")
        }
    }
}
