//! The walk along an object and its type.

use super::node::{Entry, Form, Node};
use super::problem::{Finding, Problem};
use super::rules::{self, Rule};
use super::{MAX_FINDINGS, Purpose, scalar};
use crate::kube_types::kind::{Kind, Scope};
use crate::kube_types::types::{Field, ListType, Shape, Type};

/// Deeper than any object of a built-in kind; the schema of a CRD may be nested without end.
const MAX_DEPTH: usize = 100;
/// How far below a record a misplaced field is looked for, and in how many types.
const MAX_SEARCH_DEPTH: usize = 3;
const MAX_SEARCHED: usize = 200;

/// A finding and the place it was found at.
pub(crate) struct Found<M> {
    pub(crate) finding: Finding,
    pub(crate) mark: M,
}

/// Walks along a value of a type; of the kind, if it is a whole object.
pub(crate) fn check<'a, N: Node<'a>>(
    root: N,
    body: Type,
    kind: Option<&Kind>,
    purpose: Purpose,
) -> (Vec<Found<N::Mark>>, bool) {
    let mut walk = Walk { path: Vec::new(), found: Vec::new(), truncated: false, purpose };
    walk.record(root, body, kind);
    (walk.found, walk.truncated)
}

struct Walk<'a, N: Node<'a>> {
    path: Vec<Step<'a>>,
    found: Vec<Found<N::Mark>>,
    truncated: bool,
    purpose: Purpose,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a, N: Node<'a>> Walk<'a, N> {
    fn tell(&mut self, problem: Problem, mark: N::Mark) {
        if self.found.len() >= MAX_FINDINGS {
            self.truncated = true;
            return;
        }
        self.found.push(Found { finding: Finding { path: path_text(&self.path), problem }, mark });
    }

    /// Goes one step further, unless that is too deep or enough was found.
    fn step(&mut self, step: Step<'a>, node: N, go: impl FnOnce(&mut Self)) {
        if self.truncated {
            return;
        }
        self.path.push(step);
        if self.path.len() > MAX_DEPTH {
            self.tell(Problem::TooDeep, node.mark());
        } else {
            go(self);
        }
        self.path.pop();
    }

    fn record(&mut self, node: N, body: Type, kind: Option<&Kind>) {
        let (entries, complete) = match node.form() {
            Form::Unknown | Form::Null => return,
            Form::Alternatives(nodes) => return nodes.for_each(|node| self.record(node, body, kind)),
            Form::Record { entries, complete } => (entries, complete),
            other => return self.tell(scalar::wrong_type(Shape::Record(body.id()), &other), node.mark()),
        };
        let mut seen = Vec::new();
        for entry in entries {
            let Some(field) = body.field(entry.name) else {
                self.unknown_field(&entry, body);
                continue;
            };
            if !entry.value.is_null() {
                seen.push(field.name);
            }
            let kind = kind.copied();
            self.step(Step::Name(entry.name), entry.value, |walk| walk.field(&entry, &field, kind.as_ref()));
        }
        if complete && self.purpose == Purpose::Apply && body.has_required() {
            for field in body.fields().filter(Field::is_required) {
                if !seen.contains(&field.name) {
                    let problem = Problem::MissingField { name: field.name, owner: body.id() };
                    self.tell(problem, node.mark());
                }
            }
        }
    }

    fn unknown_field(&mut self, entry: &Entry<'a, N>, body: Type) {
        let elsewhere = self.home_of(entry.name, body);
        let meant = if elsewhere.is_some() { None } else { body.closest_field(entry.name) };
        let problem =
            Problem::UnknownField { name: entry.name.to_owned(), owner: body.id(), meant, elsewhere };
        self.tell(problem, entry.mark.clone());
    }

    /// Where below a record a field of this name is, nearest first.
    fn home_of(&self, name: &str, body: Type) -> Option<String> {
        let mut waiting = vec![(body, path_text(&self.path), 0)];
        let mut next = 0;
        while let Some((here, path, depth)) = waiting.get(next).cloned() {
            next += 1;
            for field in here.fields().filter(|field| field.name != "status") {
                let (id, item) = match field.shape() {
                    Shape::Record(id) => (id, ""),
                    Shape::List(item) => match item.shape() {
                        Shape::Record(id) => (id, "[]"),
                        _ => continue,
                    },
                    _ => continue,
                };
                let Some(below) = Type::find(id) else { continue };
                // Metadata is everywhere and has fields of many names.
                if id == "meta/v1/ObjectMeta" && depth > 0 {
                    continue;
                }
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{}{item}", field.name);
                if below.field(name).is_some() {
                    return Some(format!("{path}.{name}"));
                }
                if depth + 1 < MAX_SEARCH_DEPTH
                    && waiting.len() < MAX_SEARCHED
                    && waiting.iter().all(|(seen, ..)| *seen != below)
                {
                    waiting.push((below, path, depth + 1));
                }
            }
        }
        None
    }

    fn field(&mut self, entry: &Entry<'a, N>, field: &Field, kind: Option<&Kind>) {
        if let Some(kind) = kind {
            self.field_of_object(entry, field, kind);
        }
        if self.purpose != Purpose::Live
            && let Some(by) = rules::server_field(field.owner(), field.name)
            && !entry.value.is_null()
        {
            self.tell(Problem::ServerField { by }, entry.mark.clone());
        }
        let rule = rules::rule_of(field.owner(), field.name);
        self.value(entry.value, field.shape(), field, rule);
    }

    /// What holds for the topmost fields and the metadata of a whole object only.
    fn field_of_object(&mut self, entry: &Entry<'a, N>, field: &Field, kind: &Kind) {
        let writes_status = self.purpose != Purpose::Live && kind.has_status_subresource();
        match field.name {
            "status" if writes_status && !entry.value.is_null() => {
                self.tell(Problem::ServerField { by: "the controller of its kind" }, entry.mark.clone());
            }
            "apiVersion" => self.expect_text(entry.value, kind.api_version),
            "kind" => self.expect_text(entry.value, kind.name),
            "metadata" => self.metadata(entry.value, kind),
            _ => {}
        }
    }

    fn expect_text(&mut self, node: N, wanted: &'static str) {
        if let Form::Text(Some(text)) = node.form()
            && text != wanted
        {
            let problem = Problem::NotAllowed {
                value: super::problem::quoted(text),
                allowed: vec![wanted],
                meant: Some(wanted),
            };
            self.tell(problem, node.mark());
        }
    }

    fn metadata(&mut self, node: N, kind: &Kind) {
        let Form::Record { entries, .. } = node.form() else { return };
        for entry in entries {
            match (entry.name, entry.value.form()) {
                ("name", form @ Form::Text(_)) => {
                    let rule = Rule::Text(rules::name_rule(kind));
                    if let Some(problem) = scalar::against_rule(rule, &form) {
                        self.step(Step::Name("name"), entry.value, |walk| {
                            walk.tell(problem, entry.value.mark());
                        });
                    }
                }
                ("namespace", Form::Text(text))
                    if kind.scope == Scope::Cluster && text.is_none_or(|text| !text.is_empty()) =>
                {
                    let problem = Problem::NamespaceOfClusterKind { kind: kind.name };
                    self.step(Step::Name("namespace"), entry.value, |walk| {
                        walk.tell(problem, entry.mark.clone());
                    });
                }
                _ => {}
            }
        }
    }

    fn value(&mut self, node: N, shape: Shape, field: &Field, rule: Option<Rule>) {
        let form = node.form();
        match (shape, form) {
            (_, Form::Alternatives(nodes)) => nodes.for_each(|node| self.value(node, shape, field, rule)),
            (Shape::OneOf(choices), form) => {
                let fitting = choices.choices().find(|choice| fits(*choice, &form));
                match fitting {
                    Some(choice) => self.value(node, choice, field, rule),
                    None => self.tell(scalar::wrong_type(shape, &form), node.mark()),
                }
            }
            (Shape::Record(id), _) => {
                if let Some(body) = Type::find(id) {
                    self.record(node, body, None);
                }
            }
            (Shape::List(item), Form::List(items)) => {
                let items: Vec<N> = items.collect();
                for (index, node) in items.iter().copied().enumerate() {
                    self.step(Step::Index(index), node, |walk| walk.item(node, item.shape(), field));
                }
                self.same_keys(&items, item.shape(), field);
            }
            (Shape::Dictionary(item), Form::Record { entries, .. }) => {
                for entry in entries {
                    self.step(Step::Name(entry.name), entry.value, |walk| {
                        walk.dictionary_entry(&entry, item.shape(), field, rule);
                    });
                }
            }
            (Shape::List(_) | Shape::Dictionary(_), Form::Unknown | Form::Null) => {}
            (Shape::List(_) | Shape::Dictionary(_), form) => {
                self.tell(scalar::wrong_type(shape, &form), node.mark());
            }
            (shape, form) => self.scalar(node, shape, &form, field, rule),
        }
    }

    fn item(&mut self, node: N, shape: Shape, field: &Field) {
        // Null is an absent field, but no absent item: it has no key to be merged by.
        let keyed = matches!(field.list_type(), Some(ListType::Map | ListType::Set));
        if keyed && node.is_null() {
            self.tell(scalar::wrong_type(shape, &node.form()), node.mark());
        } else {
            self.value(node, shape, field, None);
        }
    }

    fn scalar(&mut self, node: N, shape: Shape, form: &Form<'a, N>, field: &Field, rule: Option<Rule>) {
        let mut problem = scalar::problem(shape, form);
        if let (None, Form::Text(Some(text))) = (&problem, form) {
            problem = scalar::not_allowed(field, text);
        }
        if problem.is_none() {
            problem = rule.and_then(|rule| scalar::against_rule(rule, form));
        }
        if let Some(problem) = problem {
            self.tell(problem, node.mark());
        }
    }

    fn dictionary_entry(&mut self, entry: &Entry<'a, N>, shape: Shape, field: &Field, rule: Option<Rule>) {
        if let Some(problem) = rule.and_then(|rule| scalar::key_against_rule(rule, entry.name)) {
            self.tell(problem, entry.mark.clone());
        }
        self.value(entry.value, shape, field, None);
        let form = entry.value.form();
        if let Some(problem) = rule.and_then(|rule| scalar::entry_against_rule(rule, &form)) {
            self.tell(problem, entry.value.mark());
        }
    }

    /// Server-side apply refuses a list in which two items cannot be told apart.
    fn same_keys(&mut self, items: &[N], shape: Shape, field: &Field) {
        if self.purpose == Purpose::Live || !matches!(field.list_type(), Some(ListType::Map | ListType::Set))
        {
            return;
        }
        let mut seen: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
        for (index, node) in items.iter().copied().enumerate() {
            let Some(key) = key_of(node, shape, field) else { continue };
            if let Some(&first) = seen.get(&key) {
                self.step(Step::Index(index), node, |walk| {
                    walk.tell(Problem::SameKey { key, first }, node.mark());
                });
            } else {
                seen.insert(key, index);
            }
        }
    }
}

/// What tells an item of a list from the others, if all of it is known.
fn key_of<'a, N: Node<'a>>(node: N, shape: Shape, field: &Field) -> Option<String> {
    let Shape::Record(id) = shape else {
        return known_text(&node.form()).map(|text| format!("the value {text}"));
    };
    let body = Type::find(id)?;
    let Form::Record { entries, complete } = node.form() else { return None };
    let entries: Vec<Entry<'a, N>> = entries.collect();
    let mut parts = Vec::new();
    for key in field.list_keys() {
        let text = match entries.iter().find(|entry| entry.name == key) {
            Some(entry) => known_text(&entry.value.form())?,
            None if complete => body.field(key)?.default()?.to_owned(),
            None => return None,
        };
        parts.push(format!("{key} {text}"));
    }
    (!parts.is_empty()).then(|| parts.join(" and "))
}

fn known_text<'a, N: Node<'a>>(form: &Form<'a, N>) -> Option<String> {
    match form {
        Form::Text(text) => text.map(super::problem::quoted),
        Form::Number(number) => number.map(ToString::to_string),
        _ => None,
    }
}

/// Whether a value can be of a shape at all, without looking inside.
fn fits<'a, N: Node<'a>>(shape: Shape, form: &Form<'a, N>) -> bool {
    match (shape, form) {
        (_, Form::Unknown | Form::Null | Form::Alternatives(_))
        | (Shape::Record(_) | Shape::Dictionary(_), Form::Record { .. })
        | (Shape::List(_), Form::List(_)) => true,
        (Shape::Record(_) | Shape::Dictionary(_) | Shape::List(_), _) => false,
        (shape, form) => scalar::problem(shape, form).is_none(),
    }
}

fn path_text(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Index(index) => text += &format!("[{index}]"),
            Step::Name(name) if plain(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text += name;
            }
            Step::Name(name) => text += &format!("[{}]", super::problem::quoted(name)),
        }
    }
    text
}

fn plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 60
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$'))
}
