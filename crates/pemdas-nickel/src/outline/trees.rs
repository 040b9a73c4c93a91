//! The syntax of all files of a blueprint together: what is written where, by its path from the blueprint's value.
//!
//! The evaluator knows what a clause *is*; only the text knows where its names stand. The index follows what an
//! author writes (`let`, imports, merges, calls of local functions) as far as that is plain; where it loses the way,
//! the places that values carry with them help out.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::diagnostic::Span;

use super::scopes::{Binding, Scopes};
use crate::sources::{MAIN, Sources};
use crate::syntax::{Expr, Node, NodeId, Syntax};

/// How many steps the index takes at most: a blueprint can be written so that there is no end of ways to a field.
const MAX_STEPS: usize = 50_000;
/// How deep below the blueprint the index goes: `nodes.x.also.y.before.z.extract` and a bit.
const MAX_PATH: usize = 9;
/// How many names, imports and merges are followed in a row.
const MAX_HOPS: usize = 24;

/// An expression in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At<'a> {
    pub(super) file: &'a str,
    pub(super) id: NodeId,
}

/// A definition of a field.
#[derive(Debug, Clone)]
pub(super) struct Site<'a> {
    /// The name as written: a field, or a string in a list of names.
    pub(super) name: Option<Span>,
    /// The value; none where only a deeper field is given here.
    pub(super) value: Option<At<'a>>,
    /// Whether the value has a type or a contract.
    pub(super) annotated: bool,
}

/// What an expression leads to, and whether it may lead to something else as well.
struct Views<'a> {
    found: Vec<At<'a>>,
    lost: bool,
}

/// The syntax of a blueprint.
pub(super) struct Trees<'a> {
    files: &'a BTreeMap<String, Syntax>,
    texts: &'a Sources,
    scopes: BTreeMap<&'a str, Scopes>,
    functions: BTreeMap<Span, At<'a>>,
    sites: BTreeMap<Vec<String>, Vec<Site<'a>>>,
    records: BTreeMap<At<'a>, Vec<String>>,
    /// Paths below which there may be more than was found.
    open: BTreeSet<Vec<String>>,
}

impl<'a> Trees<'a> {
    /// Reads the syntax of a blueprint.
    pub(super) fn new(files: &'a BTreeMap<String, Syntax>, texts: &'a Sources) -> Self {
        let scopes = files.iter().map(|(name, tree)| (name.as_str(), Scopes::of(tree))).collect();
        let mut functions = BTreeMap::new();
        for (file, tree) in files {
            for (id, node) in (0..).zip(&tree.nodes) {
                if let (Expr::Function { .. }, Some(span)) = (&node.expr, &node.span) {
                    functions.insert(span.clone(), At { file, id });
                }
            }
        }
        let (sites, records, open) = Default::default();
        let mut trees = Self { files, texts, scopes, functions, sites, records, open };
        if let Some((file, tree)) = files.get_key_value(MAIN) {
            let mut steps = MAX_STEPS;
            trees.index(At { file, id: tree.root }, &mut Vec::new(), &mut steps);
        }
        trees
    }

    /// Every file with its tree and scopes.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a str, &'a Syntax, &Scopes)> {
        self.files
            .iter()
            .filter_map(|(file, tree)| Some((file.as_str(), tree, self.scopes.get(file.as_str())?)))
    }

    pub(super) fn node(&self, at: At<'_>) -> Option<&'a Node> {
        self.files.get(at.file)?.get(at.id)
    }

    pub(super) fn expr(&self, at: At<'_>) -> Option<&'a Expr> {
        self.node(at).map(|node| &node.expr)
    }

    pub(super) fn span(&self, at: At<'_>) -> Option<Span> {
        self.node(at)?.span.clone()
    }

    pub(super) fn scopes(&self, file: &str) -> Option<&Scopes> {
        self.scopes.get(file)
    }

    /// The text at a place.
    pub(super) fn text(&self, span: &Span) -> Option<&'a str> {
        self.texts.get(&span.file)?.get(span.start as usize..span.end as usize)
    }

    /// The function literal that is written at a place.
    pub(super) fn function_at(&self, span: &Span) -> Option<At<'a>> {
        self.functions.get(span).copied()
    }

    /// Where a path of the blueprint is written.
    pub(super) fn sites(&self, path: &[String]) -> &[Site<'a>] {
        self.sites.get(path).map_or(&[], Vec::as_slice)
    }

    /// Where the last name of a path is written.
    pub(super) fn name_of(&self, path: &[String]) -> Option<Span> {
        self.sites(path).iter().find_map(|site| site.name.clone())
    }

    /// The expression that a path is defined as.
    pub(super) fn value_of(&self, path: &[String]) -> Option<At<'a>> {
        self.sites(path).iter().find_map(|site| site.value)
    }

    /// The function literal that a path is defined as, if it is certainly that.
    pub(super) fn function_of(&self, path: &[String]) -> Option<At<'a>> {
        if (0..path.len()).any(|depth| self.open.contains(&path[..depth])) {
            return None;
        }
        let mut sites = self.sites(path).iter();
        let site = sites.next().filter(|site| !site.annotated && sites.next().is_none())?;
        match self.all_views(site.value?)?.as_slice() {
            [at] if matches!(self.expr(*at), Some(Expr::Function { .. })) => Some(*at),
            _ => None,
        }
    }

    /// The path of the blueprint that a record literal is the value of.
    pub(super) fn path_of_record(&self, record: At<'a>) -> Option<&[String]> {
        self.records.get(&record).map(Vec::as_slice)
    }

    /// What an expression leads to, through names, annotations, merges, branches, imports and local functions.
    pub(super) fn views(&self, at: At<'a>) -> Vec<At<'a>> {
        self.views_within(at, MAX_HOPS).found
    }

    /// The same, if it leads to nothing else: nowhere the way was lost, and no contract but the library's stands on it.
    pub(super) fn all_views(&self, at: At<'a>) -> Option<Vec<At<'a>>> {
        let views = self.views_within(at, MAX_HOPS);
        (!views.lost).then_some(views.found)
    }

    fn follow(&self, at: At<'a>, hops: usize, views: &mut Views<'a>) {
        let (Some(expr), Some(hops)) = (self.expr(at), hops.checked_sub(1)) else {
            views.lost = true;
            return;
        };
        let here = |id: NodeId| At { file: at.file, id };
        match expr {
            Expr::Let { body, .. } => self.follow(here(*body), hops, views),
            Expr::Annotated { inner, annotations, only_contracts } => {
                let of_library = |it: &NodeId| self.is_of_library(here(*it), hops);
                views.lost |= !(*only_contracts && annotations.iter().all(of_library));
                self.follow(here(*inner), hops, views);
            }
            Expr::Operator { name, operands } if name == "(&)" => {
                operands.iter().for_each(|operand| self.follow(here(*operand), hops, views));
            }
            Expr::If { then, otherwise, .. } => {
                self.follow(here(*then), hops, views);
                self.follow(here(*otherwise), hops, views);
            }
            Expr::Import(path) => match self.imported(at.file, path) {
                Some((file, tree)) => self.follow(At { file, id: tree.root }, hops, views),
                None => views.lost = true,
            },
            Expr::Call { head, arguments } => {
                let heads = self.views_within(here(*head), hops);
                views.lost |= heads.lost || heads.found.is_empty();
                for function in heads.found {
                    let Some(Expr::Function { body, parameters }) = self.expr(function) else {
                        views.lost = true;
                        continue;
                    };
                    views.lost |= parameters.len() != arguments.len();
                    self.follow(At { file: function.file, id: *body }, hops, views);
                }
            }
            Expr::Access { inner, field } => {
                for value in self.fields_of(here(*inner), &field.text, hops, views) {
                    self.follow(value, hops, views);
                }
            }
            Expr::Var(name) => self.follow_name(at, name, hops, views),
            _ => views.found.push(at),
        }
    }

    fn follow_name(&self, at: At<'a>, name: &str, hops: usize, views: &mut Views<'a>) {
        let here = |id: NodeId| At { file: at.file, id };
        let binding = self.scopes(at.file).and_then(|scopes| scopes.of_var(at.id)?.binding);
        // A field may be another one in the end, and a field that is taken apart may have got another name.
        views.lost |= !matches!(binding, Some(Binding::Let { whole: true, annotated: false, .. }));
        match binding {
            Some(Binding::Let { value, whole: true, .. }) => self.follow(here(value), hops, views),
            Some(Binding::Let { value: holder, whole: false, .. } | Binding::Field { record: holder }) => {
                for value in self.fields_of(here(holder), name, hops, views) {
                    self.follow(value, hops, views);
                }
            }
            Some(Binding::Parameter { .. } | Binding::Pattern) | None => {}
        }
    }

    /// Whether an expression is something that the library has. Its contracts leave the author's functions as they are.
    fn is_of_library(&self, at: At<'a>, hops: usize) -> bool {
        let (Some(expr), Some(hops)) = (self.expr(at), hops.checked_sub(1)) else { return false };
        let here = |id: NodeId| At { file: at.file, id };
        match expr {
            Expr::Import(path) => {
                self.imported_name(at.file, path).is_some_and(|it| crate::is_library_file(&it))
            }
            Expr::Access { inner, .. } => self.is_of_library(here(*inner), hops),
            Expr::Var(_) => match self.scopes(at.file).and_then(|scopes| scopes.of_var(at.id)?.binding) {
                Some(Binding::Let { value, annotated: false, .. }) => self.is_of_library(here(value), hops),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an expression chooses between others.
    pub(super) fn is_conditional(&self, at: At<'a>) -> bool {
        let here = |id: NodeId| At { file: at.file, id };
        match self.expr(at) {
            Some(Expr::Let { body, .. }) => self.is_conditional(here(*body)),
            Some(Expr::Annotated { inner, .. }) => self.is_conditional(here(*inner)),
            Some(Expr::Call { head, .. }) => self.is_conditional(here(*head)),
            Some(Expr::If { .. } | Expr::Match(_)) => true,
            _ => false,
        }
    }

    fn views_within(&self, at: At<'a>, hops: usize) -> Views<'a> {
        let mut views = Views { found: Vec::new(), lost: false };
        self.follow(at, hops, &mut views);
        views
    }

    /// The values of a field of what an expression leads to, where the field is defined as a whole.
    fn fields_of(&self, at: At<'a>, name: &str, hops: usize, views: &mut Views<'a>) -> Vec<At<'a>> {
        let mut values = Vec::new();
        let holders = self.views_within(at, hops);
        views.lost |= holders.lost;
        for view in holders.found {
            let Some(Expr::Record { fields, includes, .. }) = self.expr(view) else {
                views.lost = true;
                continue;
            };
            views.lost |= includes.iter().any(|include| include.text == name);
            for field in fields {
                match field.path.as_slice() {
                    [Some(only)] if only.text == name => {
                        views.lost |= field.annotated || field.value.is_none();
                        values.extend(field.value.map(|id| At { file: view.file, id }));
                    }
                    [Some(first), ..] => views.lost |= first.text == name,
                    // A computed name may be any.
                    _ => views.lost = true,
                }
            }
        }
        views.lost |= values.is_empty();
        values
    }

    /// The file of the blueprint that an import names.
    pub(super) fn imported(&self, importer: &str, path: &str) -> Option<(&'a str, &'a Syntax)> {
        let mut parts: Vec<&str> = importer.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                name => parts.push(name),
            }
        }
        self.files.get_key_value(&parts.join("/")).map(|(file, tree)| (file.as_str(), tree))
    }

    /// The name of the file that an import names, whatever is in it: one of the blueprint, or of the library.
    pub(super) fn imported_name(&self, importer: &str, path: &str) -> Option<String> {
        let own = crate::engine::name_within(importer, path).filter(|name| self.texts.get(name).is_some());
        own.or_else(|| crate::is_library_file(path).then(|| path.to_owned()))
    }

    fn index(&mut self, at: At<'a>, path: &mut Vec<String>, steps: &mut usize) {
        if path.len() >= MAX_PATH {
            return;
        }
        let views = self.views_within(at, MAX_HOPS);
        if views.lost {
            self.open.insert(path.clone());
        }
        for view in views.found {
            let Some(left) = steps.checked_sub(1) else {
                self.open.insert(Vec::new());
                return;
            };
            *steps = left;
            match self.expr(view) {
                Some(Expr::Record { fields, includes, .. }) => {
                    self.records.entry(view).or_insert_with(|| path.clone());
                    for include in includes {
                        self.add_site(
                            path,
                            &include.text,
                            Site { name: include.span.clone(), value: None, annotated: false },
                        );
                        self.open.insert(path.iter().chain([&include.text]).cloned().collect());
                    }
                    for field in fields {
                        self.index_field(view.file, field, path, steps);
                    }
                }
                // A list of names stands for a record of edges.
                Some(Expr::Array(items)) => {
                    for item in items {
                        let item = At { file: view.file, id: *item };
                        if let Some(Expr::String(text)) = self.expr(item) {
                            self.add_site(
                                path,
                                text,
                                Site { name: self.span(item), value: None, annotated: false },
                            );
                        }
                    }
                }
                _ => {
                    self.open.insert(path.clone());
                }
            }
        }
    }

    fn index_field(
        &mut self,
        file: &'a str,
        field: &'a crate::syntax::FieldSyntax,
        path: &mut Vec<String>,
        steps: &mut usize,
    ) {
        let depth = path.len();
        for (position, name) in field.path.iter().enumerate() {
            let Some(name) = name else {
                self.open.insert(path.clone());
                break;
            };
            let last = position + 1 == field.path.len();
            let value = field.value.filter(|_| last).map(|id| At { file, id });
            let annotated = last && field.annotated;
            self.add_site(path, &name.text, Site { name: name.span.clone(), value, annotated });
            path.push(name.text.clone());
            if annotated {
                self.open.insert(path.clone());
            }
            if let Some(value) = value {
                self.index(value, path, steps);
            }
        }
        path.truncate(depth);
    }

    fn add_site(&mut self, path: &[String], name: &str, site: Site<'a>) {
        let mut full = path.to_vec();
        full.push(name.to_owned());
        self.sites.entry(full).or_default().push(site);
    }
}
