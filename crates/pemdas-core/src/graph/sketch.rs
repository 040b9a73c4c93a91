//! Blueprints for tests, in a notation of a few words a line, with true places.
//!
//! ```text
//! kind Foo
//! app: root Foo                      # or: root v1/Secret
//!   also web when db                 # a condition that reads what it extracts from db
//!   deleting last
//!   status the.web
//! web: template apps/v1 Deployment {root.metadata.name}-web the.db.url
//!   before db extract until Ready
//! ```

use crate::{
    blueprint::{
        Absent, AlsoEdge, Blueprint, Body, Clause, Function, KindVersion, NamePart, NameSegment, Node,
        ObjectIdentity, Observe, Once, OwnedKind, Read, Replace, Report, Root, RootTarget, Scope,
        SequenceEdge, StaticText, Template, WantedShape, WantedShapeForm,
    },
    diagnostic::{Diagnostic, Span},
    shape::Shape,
};

/// A word of a sketch and its place.
#[derive(Debug, Clone)]
struct Word<'a> {
    text: &'a str,
    span: Span,
}

fn words(line: &str, offset: usize) -> Vec<Word<'_>> {
    let line = line.split('#').next().unwrap_or_default();
    let mut found = Vec::new();
    let mut at = 0;
    for text in line.split(' ') {
        if !text.is_empty() {
            let start = u32::try_from(offset + at).unwrap();
            let end = start + u32::try_from(text.len()).unwrap();
            found.push(Word { text, span: Span { file: "main.ncl".to_owned(), start, end } });
        }
        at += text.len() + 1;
    }
    found
}

pub(crate) fn blueprint(text: &str) -> Blueprint {
    let whole = Span { file: "main.ncl".to_owned(), start: 0, end: u32::try_from(text.len()).unwrap() };
    let mut blueprint = Blueprint::new("sketch", 1, whole);
    let mut offset = 0;
    let mut current: Option<String> = None;
    for line in text.split('\n') {
        let words = words(line, offset);
        offset += line.len() + 1;
        match words.as_slice() {
            [] => {}
            [kind, name] if kind.text == "kind" => {
                blueprint.kinds.insert(name.text.to_owned(), owned(&name.span));
            }
            [name, rest @ ..] if name.text.ends_with(':') => {
                let text = name.text.trim_end_matches(':');
                let mut node = Node::new(name.span.clone(), body(rest));
                node.clauses.insert(node.body.clause(), rest[0].span.clone());
                blueprint.nodes.insert(text.to_owned(), node);
                current = Some(text.to_owned());
            }
            [word, rest @ ..] => {
                let node = blueprint.nodes.get_mut(current.as_ref().expect("a node")).expect("a node");
                clause(node, word, rest);
            }
        }
    }
    blueprint
}

fn owned(span: &Span) -> OwnedKind {
    let version = KindVersion { span: span.clone(), stored: true, served: true, spec: None, status: None };
    OwnedKind {
        span: span.clone(),
        group: "example.com".to_owned(),
        scope: Scope::Namespaced,
        plural: None,
        short_names: Vec::new(),
        versions: [("v1".to_owned(), version)].into(),
    }
}

fn body(words: &[Word<'_>]) -> Body {
    match (words[0].text, &words[1..]) {
        ("root", [kind]) => Body::Root(Root {
            target: match kind.text.rsplit_once('/') {
                None => RootTarget::Owned(kind.text.to_owned()),
                Some((api_version, kind)) => RootTarget::Foreign {
                    api_version: api_version.to_owned(),
                    kind: kind.to_owned(),
                    selector: None,
                },
            },
        }),
        ("value", reads) => Body::Value(function(&words[0], reads)),
        ("patch", reads) => Body::Template(Template {
            function: function(&words[0], reads),
            object: ObjectIdentity::default(),
            role: None,
        }),
        (what, [api_version, kind, name, reads @ ..]) => {
            let function = function(&words[0], reads);
            let object = ObjectIdentity {
                api_version: fixed(api_version),
                kind: fixed(kind),
                namespace: NamePart::Missing,
                name: name_part(name),
            };
            match what {
                "template" => Body::Template(Template { function, object, role: None }),
                "absent" => Body::Absent(Absent { function, object, having: None }),
                "observe" => Body::Observe(Observe { function, object, by_selector: false, optional: false }),
                "select" => Body::Observe(Observe { function, object, by_selector: true, optional: false }),
                other => panic!("no body {other}"),
            }
        }
        (other, _) => panic!("no body {other}"),
    }
}

fn fixed(word: &Word<'_>) -> StaticText {
    match word.text {
        "-" => StaticText::Missing,
        "?" => StaticText::Unknown {
            why: "it reads the.root.spec.kind".to_owned(),
            span: Some(word.span.clone()),
        },
        text => StaticText::Known(text.to_owned()),
    }
}

fn name_part(word: &Word<'_>) -> NamePart {
    if word.text == "-" {
        return NamePart::Missing;
    }
    let mut segments = Vec::new();
    for piece in word.text.split_inclusive('}') {
        let (literal, input) = piece.split_once('{').unwrap_or((piece, ""));
        if !literal.is_empty() {
            segments.push(NameSegment::Text(literal.to_owned()));
        }
        if !input.is_empty() {
            let path = input.trim_end_matches('}').split('.').map(str::to_owned).collect();
            segments.push(NameSegment::Input(Read { path, span: word.span.clone() }));
        }
    }
    NamePart::Pattern(segments)
}

fn function(at: &Word<'_>, reads: &[Word<'_>]) -> Function {
    let read = |word: &Word<'_>| Read {
        path: word.text.split('.').skip(1).map(str::to_owned).collect(),
        span: word.span.clone(),
    };
    Function { path: Vec::new(), span: at.span.clone(), reads: reads.iter().map(read).collect(), plain: None }
}

fn also(words: &[Word<'_>]) -> (String, AlsoEdge) {
    let mut edge = AlsoEdge::new(words[0].span.clone());
    if let Some(when) = words.get(1) {
        let mut reads = words[2..].to_vec();
        for word in &reads {
            if !word.text.contains('.') {
                let mut read = SequenceEdge::new(word.span.clone());
                read.extract = Some(function(word, &[]));
                edge.before.insert(word.text.to_owned(), read);
            }
        }
        reads.retain(|word| word.text.contains('.'));
        match when.text {
            "when" => edge.when = Some(function(when, &reads)),
            "reads" => {}
            other => panic!("no part of an edge: {other}"),
        }
    }
    (words[0].text.to_owned(), edge)
}

fn before(words: &[Word<'_>]) -> (String, SequenceEdge) {
    let mut edge = SequenceEdge::new(words[0].span.clone());
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        match word.text {
            "extract" => edge.extract = Some(function(word, &[])),
            "each" => edge.each = true,
            "until" => edge.until = Some(wanted(rest.next().expect("a shape"))),
            other => panic!("no part of an edge: {other}"),
        }
    }
    (words[0].text.to_owned(), edge)
}

/// The name of a shape, or reads of a function that yields one.
fn wanted(word: &Word<'_>) -> WantedShape {
    let form = if word.text.starts_with("the.") {
        WantedShapeForm::Function(function(word, std::slice::from_ref(word)))
    } else {
        let data = serde_json::json!({ crate::shape::SHAPE_TAG: word.text });
        WantedShapeForm::Native(Shape::from_value(&data).expect("a shape"))
    };
    WantedShape { span: word.span.clone(), form }
}

fn clause(node: &mut Node, word: &Word<'_>, rest: &[Word<'_>]) {
    let name =
        Clause::ALL.iter().find(|it| it.name() == word.text).unwrap_or_else(|| panic!("{}", word.text));
    node.clauses.insert(*name, word.span.clone());
    match name {
        Clause::Also => {
            let (to, edge) = also(rest);
            node.also.insert(to, edge);
        }
        Clause::Deleting => {
            let (to, edge) = also(rest);
            node.deleting.insert(to, edge);
        }
        Clause::Before => {
            let (from, edge) = before(rest);
            node.before.insert(from, edge);
        }
        Clause::StateOf => node.state_of = Some(rest[0].text.to_owned()),
        Clause::Once => node.once = Some(Once { done: None, result: None, retry: 0 }),
        Clause::Key => node.key = Some(function(word, rest)),
        Clause::ForEach => node.for_each = Some(function(word, rest)),
        Clause::Status => node.status = Some(function(word, rest)),
        Clause::Conditions => node.conditions = Some(function(word, rest)),
        Clause::LateName => node.late_name = true,
        Clause::Ready => node.ready = Some(wanted(&rest[0])),
        Clause::Fails => node.fails = Some(wanted(&rest[0])),
        Clause::Having => {
            if let Body::Absent(absent) = &mut node.body {
                absent.having = Some(wanted(&rest[0]));
            }
        }
        Clause::Replace => node.replace = Replace::Before,
        Clause::Report => {
            node.report = Some(Report {
                service: rest[0].text.to_owned(),
                service_span: rest[0].span.clone(),
                port: 80,
                path: "/".to_owned(),
                field: None,
                map: None,
            });
        }
        _ => {}
    }
}

/// Diagnostics for a snapshot: each place with its line and what stands there.
pub(super) fn render(text: &str, problems: &[Diagnostic]) -> String {
    let mut out = String::new();
    for problem in problems {
        let severity = format!("{:?}", problem.severity).to_lowercase();
        out.push_str(&format!("{severity}[{}]: {}\n", problem.code, problem.message));
        for label in &problem.labels {
            let (start, end) = (label.span.start as usize, label.span.end as usize);
            let line = text[..start].matches('\n').count() + 1;
            let shown = if end - start > 40 { "(all of it)" } else { &text[start..end] };
            let mark = if label.primary { '>' } else { ' ' };
            out.push_str(&format!("  {mark} line {line}, {shown}: {}\n", label.message));
        }
        for note in &problem.notes {
            out.push_str(&format!("  note: {note}\n"));
        }
        if let Some(hint) = &problem.hint {
            out.push_str(&format!("  hint: {hint}\n"));
        }
    }
    if out.is_empty() { "clean\n".to_owned() } else { out }
}
