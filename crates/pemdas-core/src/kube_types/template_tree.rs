//! What can be read of a template without evaluating it, and the check of that against the type of its kind.
//!
//! Whoever reads a syntax tree fills a [`Tree`]: records with the places of their fields, lists and literals as
//! they are written, and [`Form::Unknown`] for everything that is computed. What is unknown is never wrong here;
//! it is checked again, as a value, once it is computed.

use serde_json::Number;

use super::check::{self, Node as _, Purpose};
use super::kind::{Kind, UnknownKind};
use crate::diagnostic::{Diagnostic, Span};

/// A value as far as it is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// Where it is written; none if it has no place of its own.
    pub span: Option<Span>,
    /// What is written.
    pub form: Form,
}

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Something computed: it can be anything.
    Unknown,
    /// `null`.
    Null,
    /// `true` or `false`, or something that is one of them.
    Boolean,
    /// A number; none if it is computed.
    Number(Option<Number>),
    /// A string or a tag; none if parts of it are computed.
    String(Option<String>),
    /// A function: no value at all.
    Function,
    /// A list.
    List {
        /// Its items, as far as they are written down.
        items: Vec<Tree>,
        /// Whether these are all.
        complete: bool,
    },
    /// A record.
    Record {
        /// Its fields, as far as they are written down, in the order of the file.
        fields: Vec<Field>,
        /// Whether these are all.
        complete: bool,
    },
    /// One of several, such as the branches of an `if`.
    Either(Vec<Tree>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where the name is written.
    pub span: Option<Span>,
    /// Its value.
    pub value: Tree,
}

impl Tree {
    /// A tree without a place.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self { span: None, form }
    }

    /// Something computed.
    #[must_use]
    pub fn unknown(span: Option<Span>) -> Self {
        Self { span, form: Form::Unknown }
    }

    /// The value of a field of a record.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        match &self.form {
            Form::Record { fields, .. } => {
                fields.iter().find(|field| field.name == name).map(|field| &field.value)
            }
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.form {
            Form::String(text) => text.as_deref(),
            _ => None,
        }
    }

    /// Both at once, as `a & b` or two definitions of one field are: the fields of both records; of the rest,
    /// the one that is known.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let span = self.span.clone().or_else(|| other.span.clone());
        match (self.form, other.form) {
            (Form::Record { fields, complete }, Form::Record { fields: more, complete: also_complete }) => {
                Self { span, form: merge_records(fields, more, complete && also_complete) }
            }
            // What is written is part of the result, whatever the computed side adds.
            (Form::Unknown, known) | (known, Form::Unknown) => Self { span, form: known }.loosened(),
            (left, right) if left == right => Self { span, form: left },
            // Each is judged alone: which branch it is depends, and so does which of two plain values wins.
            (left, right) => {
                let sides = [Self { span: span.clone(), form: left }, Self { span: other.span, form: right }];
                let mut all = Vec::new();
                for side in sides {
                    match side.form {
                        Form::Either(branches) => all.extend(branches.into_iter().map(Self::loosened)),
                        form => all.push(Self { span: side.span, form }.loosened()),
                    }
                }
                Self { span, form: Form::Either(all) }
            }
        }
    }

    /// The same, where something else may be merged in: no record in it is all that there is.
    fn loosened(mut self) -> Self {
        match &mut self.form {
            Form::Record { fields, complete } => {
                *complete = false;
                for field in fields {
                    let value = std::mem::replace(&mut field.value, Self::unknown(None));
                    field.value = value.loosened();
                }
            }
            Form::Either(branches) => {
                *branches = std::mem::take(branches).into_iter().map(Self::loosened).collect();
            }
            // Lists are not merged: there is nothing to be added to their items.
            _ => {}
        }
        self
    }
}

fn merge_records(mut fields: Vec<Field>, more: Vec<Field>, complete: bool) -> Form {
    for field in more {
        match fields.iter_mut().find(|one| one.name == field.name) {
            None => fields.push(field),
            Some(one) => {
                let before = std::mem::replace(&mut one.value, Tree::unknown(None));
                one.value = before.merge(field.value);
            }
        }
    }
    let merged = Tree::new(Form::Record { fields, complete });
    // What was left out of one side may be any field at any depth.
    if complete { merged.form } else { merged.loosened().form }
}

/// What is wrong with a template of a built-in kind. Nothing is said of custom resources, nor of a template whose
/// apiVersion or kind is computed.
#[must_use]
pub fn check(tree: &Tree, purpose: Purpose) -> Vec<Diagnostic> {
    let text = |name: &str| tree.field(name).and_then(Tree::as_text);
    match (text("apiVersion"), text("kind")) {
        (Some(api_version), Some(kind)) => check_named(tree, api_version, kind, purpose),
        _ => Vec::new(),
    }
}

/// What is wrong with a template whose apiVersion and kind are known from elsewhere.
#[must_use]
pub fn check_named(tree: &Tree, api_version: &str, kind: &str, purpose: Purpose) -> Vec<Diagnostic> {
    match Kind::find(api_version, kind) {
        Ok(kind) => check_as(tree, &kind, purpose),
        Err(_) => {
            let place =
                |name: &str| tree.field(name).and_then(|field| field.span.as_ref()).or(tree.span.as_ref());
            unknown_kind(api_version, kind, place("apiVersion"), place("kind")).into_iter().collect()
        }
    }
}

/// What is wrong with a template, or with a patch over one, whose kind is known from elsewhere.
#[must_use]
pub fn check_as(tree: &Tree, kind: &Kind, purpose: Purpose) -> Vec<Diagnostic> {
    let Some(body) = kind.body() else { return Vec::new() };
    let root = Placed { tree, around: tree.span.as_ref() };
    let (found, truncated) = check::check(root, body, Some(kind), purpose);
    let mut diagnostics: Vec<Diagnostic> = found
        .into_iter()
        .map(|found| {
            let diagnostic = found.finding.diagnostic();
            match found.mark {
                Some(span) => diagnostic.at(span.clone(), found.finding.problem.label()),
                None => diagnostic,
            }
        })
        .collect();
    if truncated && let Some(last) = diagnostics.last_mut() {
        last.notes.push(format!("there is more: only the first {} are shown", check::MAX_FINDINGS));
    }
    diagnostics
}

/// What is wrong with a kind that is not served: in an apiVersion of Kubernetes' own, which is written at the first
/// place, the kind at the second. None for a kind that is served, and for a custom resource.
#[must_use]
pub fn unknown_kind(
    api_version: &str,
    kind: &str,
    version_place: Option<&Span>,
    kind_place: Option<&Span>,
) -> Option<Diagnostic> {
    let (place, label, hint) = match Kind::find(api_version, kind).err()? {
        UnknownKind::Custom => return None,
        UnknownKind::OtherVersion(versions) | UnknownKind::OtherGroup(versions) => {
            (version_place, format!("has no {kind}"), Some(format!("{kind} is in {}", versions.join(", "))))
        }
        UnknownKind::NoVersion(versions) => (
            version_place,
            "not served".to_owned(),
            Some(format!("this group has the versions {}", versions.join(", "))),
        ),
        UnknownKind::Misspelt(meant) => (
            kind_place,
            format!("no kind of {api_version}"),
            meant.map(|meant| format!("did you mean {meant}?")),
        ),
    };
    let message = format!(
        "Kubernetes {} has no kind {} in {}",
        super::version(),
        check::quoted(kind),
        check::quoted(api_version)
    );
    let mut diagnostic = Diagnostic::error("PM0307", message);
    if let Some(span) = place {
        diagnostic = diagnostic.at(span.clone(), label);
    }
    diagnostic.hint = hint;
    Some(diagnostic)
}

/// A tree with the nearest place around it, for what has no place of its own.
#[derive(Clone, Copy)]
struct Placed<'a> {
    tree: &'a Tree,
    around: Option<&'a Span>,
}

impl<'a> Placed<'a> {
    fn inner(self, tree: &'a Tree) -> Self {
        Self { tree, around: self.mark() }
    }
}

impl<'a> check::Node<'a> for Placed<'a> {
    type Mark = Option<&'a Span>;

    fn form(self) -> check::Form<'a, Self> {
        match &self.tree.form {
            Form::Unknown => check::Form::Unknown,
            Form::Null => check::Form::Null,
            Form::Boolean => check::Form::Boolean,
            Form::Number(number) => check::Form::Number(number.as_ref()),
            Form::String(text) => check::Form::Text(text.as_deref()),
            Form::Function => check::Form::Function,
            Form::List { items, .. } => {
                check::Form::List(Box::new(items.iter().map(move |item| self.inner(item))))
            }
            Form::Record { fields, complete } => check::Form::Record {
                entries: Box::new(fields.iter().map(move |field| {
                    let mark = field.span.as_ref().or(self.mark());
                    check::Entry { name: &field.name, mark, value: Self { tree: &field.value, around: mark } }
                })),
                complete: *complete,
            },
            Form::Either(trees) => {
                check::Form::Alternatives(Box::new(trees.iter().map(move |tree| self.inner(tree))))
            }
        }
    }

    fn mark(self) -> Self::Mark {
        self.tree.span.as_ref().or(self.around)
    }

    fn is_null(self) -> bool {
        self.tree.form == Form::Null
    }
}
