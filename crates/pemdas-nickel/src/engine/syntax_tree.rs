//! The evaluator's syntax tree as plain data.

use std::collections::BTreeMap;

use nickel_lang_core::ast::pattern::bindings::Bindings as _;
use nickel_lang_core::ast::pattern::{FieldPattern, Pattern, PatternData, TailPattern};
use nickel_lang_core::ast::primop::PrimOp;
use nickel_lang_core::ast::record::{FieldDef, FieldPathElem, Record};
use nickel_lang_core::ast::typ::Type;
use nickel_lang_core::ast::{
    Annotation, Ast, Import, LetBinding, MergePriority, Node as AstNode, StringChunk,
};
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::typ::TypeF;

use pemdas_core::diagnostic::Span;

use super::Engine;
use super::files::FileTable;
use super::walk::{asts_in_pattern, asts_in_type};
use crate::request::Failure;
use crate::syntax::{Expr, FieldSyntax, Name, Node, NodeId, PatternSyntax, Syntax, TakenFields};

impl Engine {
    /// The syntax of the blueprint's own Nickel files. Loading has made sure that none is nested too deeply.
    pub(super) fn syntax(&self) -> Result<BTreeMap<String, Syntax>, Failure> {
        let mut trees = BTreeMap::new();
        for (name, _) in self.sources.iter() {
            let ast = self.ids.get(name).and_then(|id| self.ctx.import_resolver.asts.get(*id));
            if let Some(ast) = ast {
                let mut builder = Builder { files: &self.files, nodes: Vec::new() };
                let root = builder.add(ast);
                trees.insert(name.to_owned(), Syntax { root, nodes: builder.nodes });
            }
        }
        Ok(trees)
    }
}

struct Builder<'a> {
    files: &'a FileTable,
    nodes: Vec<Node>,
}

impl Builder<'_> {
    fn add(&mut self, ast: &Ast<'_>) -> NodeId {
        let expr = self.expr(ast);
        self.push(self.files.of_pos(ast.pos), expr)
    }

    fn push(&mut self, span: Option<Span>, expr: Expr) -> NodeId {
        self.nodes.push(Node { span, expr });
        u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
    }

    fn add_all<'a>(&mut self, asts: impl IntoIterator<Item = &'a Ast<'a>>) -> Vec<NodeId> {
        asts.into_iter().map(|ast| self.add(ast)).collect()
    }

    fn expr(&mut self, ast: &Ast<'_>) -> Expr {
        match &ast.node {
            AstNode::Null | AstNode::ParseError(_) => Expr::Null,
            AstNode::Bool(flag) => Expr::Bool(*flag),
            AstNode::Number(number) => Expr::Number(number.to_string()),
            AstNode::String(text) => Expr::String((*text).to_owned()),
            AstNode::StringChunks(chunks) => self.string(chunks),
            AstNode::Var(name) => Expr::Var(name.label().to_owned()),
            AstNode::Fun { args, body } => {
                let parameters = args.iter().map(|arg| self.pattern(arg)).collect();
                Expr::Function { parameters, body: self.add(body) }
            }
            AstNode::Let { bindings, body, rec } => {
                let bindings = bindings.iter().map(|binding| self.binding(binding)).collect();
                Expr::Let { recursive: *rec, bindings, body: self.add(body) }
            }
            AstNode::App { head, args } => {
                Expr::Call { head: self.add(head), arguments: self.add_all(args.iter()) }
            }
            AstNode::EnumVariant { tag, arg } => {
                Expr::Enum { tag: self.name(*tag), argument: arg.map(|arg| self.add(arg)) }
            }
            AstNode::Record(record) => self.record(record),
            AstNode::IfThenElse { cond, then_branch, else_branch } => Expr::If {
                condition: self.add(cond),
                then: self.add(then_branch),
                otherwise: self.add(else_branch),
            },
            AstNode::Match(data) => Expr::Match(
                data.branches
                    .iter()
                    .map(|branch| {
                        let pattern = self.pattern(&branch.pattern);
                        let guard = branch.guard.as_ref().map(|guard| self.add(guard));
                        (pattern, guard, self.add(&branch.body))
                    })
                    .collect(),
            ),
            AstNode::Array(elements) => Expr::Array(self.add_all(elements.iter())),
            AstNode::PrimOpApp { op, args } => self.operator(op, args),
            AstNode::Annotated { annot, inner } => {
                let only_contracts = types(annot).all(|it| matches!(it.typ, TypeF::Contract(_)));
                let annotations = self.annotations(annot);
                Expr::Annotated { annotations, only_contracts, inner: self.add(inner) }
            }
            AstNode::Import(Import::Path { path, .. }) => Expr::Import(path.to_string_lossy().into_owned()),
            AstNode::Import(Import::Package { id }) => Expr::Import(id.label().to_owned()),
            AstNode::Type(typ) => Expr::Type(self.add_all(asts_in_type(typ))),
        }
    }

    fn string(&mut self, chunks: &[StringChunk<Ast<'_>>]) -> Expr {
        if chunks.iter().all(|it| matches!(it, StringChunk::Literal(_))) {
            let text = chunks.iter().filter_map(|it| match it {
                StringChunk::Literal(literal) => Some(literal.as_str()),
                StringChunk::Expr(..) => None,
            });
            return Expr::String(text.collect());
        }
        let parts = chunks.iter().map(|chunk| match chunk {
            StringChunk::Literal(literal) => self.push(None, Expr::String(literal.clone())),
            StringChunk::Expr(inner, _) => self.add(inner),
        });
        let parts = parts.collect();
        // In an indented string, each line of what is put in is indented as well.
        if chunks.iter().any(|it| matches!(it, StringChunk::Expr(_, indent) if *indent > 0)) {
            return Expr::Operator { name: "string/indented".to_owned(), operands: parts };
        }
        Expr::Interpolation(parts)
    }

    fn operator(&mut self, op: &PrimOp, args: &[Ast<'_>]) -> Expr {
        match (op, args) {
            (PrimOp::RecordStatAccess(field), [inner]) => {
                Expr::Access { inner: self.add(inner), field: self.name(*field) }
            }
            _ => Expr::Operator { name: op.to_string(), operands: self.add_all(args.iter()) },
        }
    }

    fn record(&mut self, record: &Record<'_>) -> Expr {
        let fields = record.field_defs.iter().map(|field| self.field(field)).collect();
        let includes = record.includes.iter().map(|include| self.name(include.ident)).collect();
        let annotations =
            record.includes.iter().flat_map(|it| self.annotations(&it.metadata.annotation)).collect();
        Expr::Record { fields, includes, annotations, open: record.open }
    }

    fn field(&mut self, field: &FieldDef<'_>) -> FieldSyntax {
        let mut path = Vec::new();
        let mut computed = Vec::new();
        for elem in field.path {
            match elem {
                FieldPathElem::Ident(name) => path.push(Some(self.name(*name))),
                FieldPathElem::Expr(expr) => {
                    path.push(None);
                    computed.push(self.add(expr));
                }
            }
        }
        FieldSyntax {
            path,
            computed,
            span: self.files.of_pos(field.pos),
            value: field.value.as_ref().map(|value| self.add(value)),
            annotations: self.annotations(&field.metadata.annotation),
            annotated: field.metadata.annotation.typ.is_some()
                || !field.metadata.annotation.contracts.is_empty(),
            optional: field.metadata.opt,
            ranked: !matches!(field.metadata.priority, MergePriority::Neutral),
            not_exported: field.metadata.not_exported,
        }
    }

    fn annotations(&mut self, annotation: &Annotation<'_>) -> Vec<NodeId> {
        types(annotation).flat_map(asts_in_type).map(|ast| self.add(ast)).collect()
    }

    fn binding(&mut self, binding: &LetBinding<'_>) -> (PatternSyntax, NodeId) {
        let mut pattern = self.pattern(&binding.pattern);
        let annotation = &binding.metadata.annotation;
        pattern.inner.extend(self.annotations(annotation));
        pattern.annotated = annotation.typ.is_some() || !annotation.contracts.is_empty();
        (pattern, self.add(&binding.value))
    }

    fn pattern(&mut self, pattern: &Pattern<'_>) -> PatternSyntax {
        let name = match &pattern.data {
            PatternData::Any(name) => Some(name.label().to_owned()),
            _ => None,
        };
        let binds = pattern.bindings().iter().map(|binding| self.name(binding.id)).collect();
        let inner = self.add_all(asts_in_pattern(pattern));
        let takes = match &pattern.data {
            PatternData::Record(record) => Some(TakenFields {
                needed: record
                    .patterns
                    .iter()
                    .filter(|field| field.default.is_none())
                    .map(|field| self.name(field.matched_id))
                    .collect(),
                named: record.patterns.iter().map(|field| field.matched_id.label().to_owned()).collect(),
                open: record.tail != TailPattern::Empty,
                bound: record.patterns.iter().filter_map(bound).collect(),
                whole: pattern.alias.is_some() || matches!(record.tail, TailPattern::Capture(_)),
            }),
            _ => None,
        };
        let ignores = matches!(pattern.data, PatternData::Wildcard) && pattern.alias.is_none();
        let span = self.files.of_pos(pattern.pos);
        PatternSyntax { span, name, binds, takes, ignores, annotated: false, inner }
    }

    fn name(&self, name: LocIdent) -> Name {
        Name { text: name.label().to_owned(), span: self.files.of_pos(name.pos) }
    }
}

/// All types and contracts of an annotation.
fn types<'a>(annotation: &'a Annotation<'a>) -> impl Iterator<Item = &'a Type<'a>> {
    annotation.typ.iter().chain(annotation.contracts)
}

/// The field and the name of a part of a pattern that gives the field a name, and no more.
fn bound(field: &FieldPattern<'_>) -> Option<(String, String)> {
    let annotated = field.annotation.typ.is_some() || !field.annotation.contracts.is_empty();
    match field.pattern.data {
        PatternData::Any(name) if !annotated && field.pattern.alias.is_none() => {
            Some((field.matched_id.label().to_owned(), name.label().to_owned()))
        }
        _ => None,
    }
}
