//! A walk over everything in a syntax tree, the parts that the evaluator's own traversal leaves out included: patterns with
//! their defaults and annotations, the arguments of enum rows, computed field names.
//!
//! It keeps its own list of what is to come, so no nesting can overflow the stack.

use nickel_lang_core::ast::pattern::{Pattern, PatternData};
use nickel_lang_core::ast::record::{FieldMetadata, FieldPathElem};
use nickel_lang_core::ast::typ::{EnumRows, RecordRows, Type};
use nickel_lang_core::ast::{Annotation, Ast, Node, StringChunk};
use nickel_lang_core::typ::{EnumRowsF, RecordRowsF, TypeF};

/// Something that can contain expressions.
#[derive(Clone, Copy)]
enum Item<'a> {
    Ast(&'a Ast<'a>),
    Type(&'a Type<'a>),
    Pattern(&'a Pattern<'a>),
}

/// Visits every expression below and including `root`, in no particular order. Gives the depth of the deepest thing, or stops with none
/// as soon as something is deeper than `max_depth`.
pub(crate) fn walk<'a>(root: &'a Ast<'a>, max_depth: u64, visit: &mut dyn FnMut(&'a Ast<'a>)) -> Option<u64> {
    let mut todo = vec![(Item::Ast(root), 1_u64)];
    let mut deepest = 0;
    while let Some((item, depth)) = todo.pop() {
        if depth > max_depth {
            return None;
        }
        deepest = deepest.max(depth);
        let mut push = |child: Item<'a>| todo.push((child, depth + 1));
        match item {
            Item::Ast(ast) => {
                visit(ast);
                in_ast(ast, &mut push);
            }
            Item::Type(typ) => in_type(typ, &mut push),
            Item::Pattern(pattern) => in_pattern(pattern, &mut push),
        }
    }
    Some(deepest)
}

/// The expressions that a type contains.
pub(crate) fn asts_in_type<'a>(typ: &'a Type<'a>) -> Vec<&'a Ast<'a>> {
    asts_below(vec![Item::Type(typ)])
}

/// The expressions that a pattern contains.
pub(crate) fn asts_in_pattern<'a>(pattern: &'a Pattern<'a>) -> Vec<&'a Ast<'a>> {
    asts_below(vec![Item::Pattern(pattern)])
}

/// The nearest expressions below some items.
fn asts_below<'a>(mut todo: Vec<Item<'a>>) -> Vec<&'a Ast<'a>> {
    let mut found = Vec::new();
    while let Some(item) = todo.pop() {
        match item {
            Item::Ast(ast) => found.push(ast),
            Item::Type(typ) => in_type(typ, &mut |child| todo.push(child)),
            Item::Pattern(pattern) => in_pattern(pattern, &mut |child| todo.push(child)),
        }
    }
    found.reverse();
    found
}

fn in_ast<'a>(ast: &'a Ast<'a>, push: &mut dyn FnMut(Item<'a>)) {
    match &ast.node {
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) | Node::Var(_) => {}
        Node::Import(_) | Node::ParseError(_) => {}
        Node::StringChunks(chunks) => {
            for chunk in *chunks {
                if let StringChunk::Expr(inner, _) = chunk {
                    push(Item::Ast(inner));
                }
            }
        }
        Node::Fun { args, body } => {
            args.iter().for_each(|arg| push(Item::Pattern(arg)));
            push(Item::Ast(body));
        }
        Node::Let { bindings, body, .. } => {
            for binding in *bindings {
                push(Item::Pattern(&binding.pattern));
                in_annotation(&binding.metadata.annotation, push);
                push(Item::Ast(&binding.value));
            }
            push(Item::Ast(body));
        }
        Node::App { head, args } => {
            push(Item::Ast(head));
            args.iter().for_each(|arg| push(Item::Ast(arg)));
        }
        Node::EnumVariant { arg, .. } => arg.iter().for_each(|arg| push(Item::Ast(arg))),
        Node::Record(record) => {
            for field in record.field_defs {
                for elem in field.path {
                    if let FieldPathElem::Expr(expr) = elem {
                        push(Item::Ast(expr));
                    }
                }
                in_metadata(&field.metadata, push);
                field.value.iter().for_each(|value| push(Item::Ast(value)));
            }
            record.includes.iter().for_each(|include| in_metadata(&include.metadata, push));
        }
        Node::IfThenElse { cond, then_branch, else_branch } => {
            [cond, then_branch, else_branch].into_iter().for_each(|part| push(Item::Ast(part)));
        }
        Node::Match(data) => {
            for branch in data.branches {
                push(Item::Pattern(&branch.pattern));
                branch.guard.iter().for_each(|guard| push(Item::Ast(guard)));
                push(Item::Ast(&branch.body));
            }
        }
        Node::Array(elements) => elements.iter().for_each(|element| push(Item::Ast(element))),
        Node::PrimOpApp { args, .. } => args.iter().for_each(|arg| push(Item::Ast(arg))),
        Node::Annotated { annot, inner } => {
            in_annotation(annot, push);
            push(Item::Ast(inner));
        }
        Node::Type(typ) => push(Item::Type(typ)),
    }
}

fn in_metadata<'a>(metadata: &'a FieldMetadata<'a>, push: &mut dyn FnMut(Item<'a>)) {
    in_annotation(&metadata.annotation, push);
}

fn in_annotation<'a>(annotation: &'a Annotation<'a>, push: &mut dyn FnMut(Item<'a>)) {
    annotation.typ.iter().for_each(|typ| push(Item::Type(typ)));
    annotation.contracts.iter().for_each(|typ| push(Item::Type(typ)));
}

fn in_type<'a>(typ: &'a Type<'a>, push: &mut dyn FnMut(Item<'a>)) {
    match &typ.typ {
        TypeF::Contract(ast) => push(Item::Ast(ast)),
        TypeF::Arrow(from, to) => {
            push(Item::Type(from));
            push(Item::Type(to));
        }
        TypeF::Forall { body, .. } => push(Item::Type(body)),
        TypeF::Dict { type_fields, .. } => push(Item::Type(type_fields)),
        TypeF::Array(element) => push(Item::Type(element)),
        TypeF::Enum(rows) => in_enum_rows(rows, push),
        TypeF::Record(rows) => in_record_rows(rows, push),
        TypeF::Dyn
        | TypeF::Number
        | TypeF::Bool
        | TypeF::String
        | TypeF::Symbol
        | TypeF::ForeignId
        | TypeF::Var(_)
        | TypeF::Wildcard(_) => {}
    }
}

fn in_enum_rows<'a>(rows: &'a EnumRows<'a>, push: &mut dyn FnMut(Item<'a>)) {
    let mut rows = rows;
    while let EnumRowsF::Extend { row, tail } = &rows.0 {
        if let Some(typ) = row.typ {
            push(Item::Type(typ));
        }
        rows = tail;
    }
}

fn in_record_rows<'a>(rows: &'a RecordRows<'a>, push: &mut dyn FnMut(Item<'a>)) {
    let mut rows = rows;
    while let RecordRowsF::Extend { row, tail } = &rows.0 {
        push(Item::Type(row.typ));
        rows = tail;
    }
}

fn in_pattern<'a>(pattern: &'a Pattern<'a>, push: &mut dyn FnMut(Item<'a>)) {
    match &pattern.data {
        PatternData::Wildcard | PatternData::Any(_) | PatternData::Constant(_) => {}
        PatternData::Record(record) => {
            for field in record.patterns {
                in_annotation(&field.annotation, push);
                field.default.iter().for_each(|default| push(Item::Ast(default)));
                push(Item::Pattern(&field.pattern));
            }
        }
        PatternData::Array(array) => array.patterns.iter().for_each(|inner| push(Item::Pattern(inner))),
        PatternData::Enum(variant) => variant.pattern.iter().for_each(|inner| push(Item::Pattern(inner))),
        PatternData::Or(either) => either.patterns.iter().for_each(|inner| push(Item::Pattern(inner))),
    }
}
