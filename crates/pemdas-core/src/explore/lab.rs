//! Blueprints for the abstract world, with functions written in Rust.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use serde_json::{Value, json};

use crate::{
    blueprint::{
        Absent, AlsoEdge, Blueprint, Body, Function, KindVersion, NamePart, NameSegment, Node,
        ObjectIdentity, Observe, Once, OwnedKind, Read, Root, RootTarget, Scope, SequenceEdge, StaticText,
        Template, WantedShape, WantedShapeForm,
    },
    diagnostic::Span,
    evaluate::{Answer, Evaluator, Form, Question},
    graph::Graph,
    program::{Program, Revision},
    shape::Shape,
    world::{KindKey, ObjectKey},
};

type Closure = Rc<dyn Fn(&Value) -> Answer>;

pub(super) fn span() -> Span {
    Span { file: "main.ncl".to_owned(), start: 0, end: 0 }
}

pub(super) fn kind(name: &str) -> KindKey {
    KindKey::new("example.com/v1", name)
}

pub(super) fn key(kind_name: &str, name: &str) -> ObjectKey {
    ObjectKey::new(kind(kind_name), "n".to_owned(), name.to_owned())
}

/// A blueprint in the making and its functions.
#[derive(Clone)]
pub(super) struct Lab {
    pub(super) blueprint: Blueprint,
    pub(super) functions: BTreeMap<String, Closure>,
}

pub(super) fn shape(form: Shape) -> WantedShape {
    WantedShape { span: span(), form: WantedShapeForm::Native(form) }
}

pub(super) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |it, part| &it[part])
}

impl Lab {
    pub(super) fn new() -> Self {
        let mut blueprint = Blueprint::new("lab", 1, span());
        let version = KindVersion { span: span(), stored: true, served: true, spec: None, status: None };
        blueprint.kinds.insert(
            "App".to_owned(),
            OwnedKind {
                span: span(),
                group: "example.com".to_owned(),
                scope: Scope::Namespaced,
                plural: None,
                short_names: Vec::new(),
                versions: [("v1".to_owned(), version)].into(),
            },
        );
        let root = Body::Root(Root { target: RootTarget::Owned("App".to_owned()) });
        blueprint.nodes.insert("app".to_owned(), Node::new(span(), root));
        Self { blueprint, functions: BTreeMap::new() }
    }

    pub(super) fn node(&mut self, name: &str) -> &mut Node {
        self.blueprint.nodes.get_mut(name).unwrap_or_else(|| panic!("no node {name}"))
    }

    /// Gives a function; `reads` are paths such as `root.spec`.
    pub(super) fn function(
        &mut self,
        path: &str,
        reads: &[&str],
        run: impl Fn(&Value) -> Answer + 'static,
    ) -> Function {
        self.functions.insert(path.to_owned(), Rc::new(run));
        let read = |it: &&str| Read {
            path: it.split('.').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            span: span(),
        };
        Function {
            path: path.split('.').map(str::to_owned).collect(),
            span: span(),
            reads: reads.iter().map(read).collect(),
            plain: None,
        }
    }

    pub(super) fn also(mut self, from: &str, to: &str) -> Self {
        self.node(from).also.insert(to.to_owned(), AlsoEdge::new(span()));
        self
    }

    /// Needed only while `spec.FIELD` of the root is true; a missing field is unknown.
    pub(super) fn also_if(mut self, from: &str, to: &str, field: &'static str) -> Self {
        let path = format!("nodes.{from}.also.{to}.when");
        let when = self.function(&path, &[&format!("root.spec.{field}")], move |the| {
            match &the["root"]["spec"][field] {
                Value::Null => Answer::Missing(format!("the.root.spec.{field}")),
                value => Answer::Value(value.clone()),
            }
        });
        self.node(from).also.insert(to.to_owned(), AlsoEdge { when: Some(when), ..AlsoEdge::new(span()) });
        self
    }

    /// The condition of an edge is asked only when `precursor` is ready.
    pub(super) fn asked_after(mut self, from: &str, to: &str, precursor: &str) -> Self {
        let edge = self.node(from).also.get_mut(to).expect("an edge");
        edge.before.insert(precursor.to_owned(), SequenceEdge::new(span()));
        self
    }

    pub(super) fn deleting(mut self, to: &str) -> Self {
        self.node("app").deleting.insert(to.to_owned(), AlsoEdge::new(span()));
        self
    }

    /// A template: kind, spec with the version of the root and the names of what it takes data from.
    pub(super) fn template(self, name: &str, kind_name: &'static str, before: &[&str]) -> Self {
        self.template_with(name, kind_name, before, |_| json!({}))
    }

    pub(super) fn template_with(
        mut self,
        name: &str,
        kind_name: &'static str,
        before: &[&str],
        more: impl Fn(&Value) -> Value + 'static,
    ) -> Self {
        let precursors: Vec<String> = before.iter().map(|it| (*it).to_owned()).collect();
        let mut reads = vec!["root.spec", "root.metadata.name"];
        reads.extend(before);
        let node_name = name.to_owned();
        let function = self.function(&format!("nodes.{name}.template"), &reads, move |the| {
            let uses: Vec<_> = precursors.iter().map(|it| the[it].clone()).collect();
            let mut spec = json!({ "v": the["root"]["spec"]["v"], "uses": uses });
            for (field, value) in more(the).as_object().into_iter().flatten() {
                spec[field] = value.clone();
            }
            Answer::Value(json!({
                "apiVersion": "example.com/v1", "kind": kind_name,
                "metadata": { "name": format!("a-{node_name}") }, "spec": spec,
            }))
        });
        let name_part = NamePart::Pattern(vec![NameSegment::Text(format!("a-{name}"))]);
        let object = identity(kind_name, name_part);
        let mut node = Node::new(span(), Body::Template(Template { function, object, role: None }));
        for precursor in before {
            let path = format!("nodes.{name}.before.{precursor}.extract");
            let extract = self.function(&path, &["metadata.name", "kind"], |live| {
                match (live["kind"].as_str(), live["metadata"]["name"].as_str()) {
                    (Some(kind), Some(name)) => Answer::Value(json!(format!("{kind}/{name}"))),
                    _ => Answer::Missing("metadata.name".to_owned()),
                }
            });
            let edge = SequenceEdge { extract: Some(extract), ..SequenceEdge::new(span()) };
            node.before.insert((*precursor).to_owned(), edge);
        }
        self.blueprint.nodes.insert(name.to_owned(), node);
        self
    }

    /// The name of the node's object is its base and a field of the root's spec, or the member's key.
    pub(super) fn named_by(mut self, name: &str, read: &str) -> Self {
        let path = read.split('.').map(str::to_owned).collect();
        let input = NameSegment::Input(Read { path, span: span() });
        let part = NamePart::Pattern(vec![NameSegment::Text(format!("a-{name}-")), input]);
        match &mut self.node(name).body {
            Body::Template(it) => it.object.name = part,
            other => panic!("{other:?} has no name"),
        }
        let path = format!("nodes.{name}.template");
        let unnamed = self.functions[&path].clone();
        let (base, read) = (name.to_owned(), read.to_owned());
        let named = move |the: &Value| match (unnamed(the), at(the, &read)) {
            (Answer::Value(_), Value::Null) => Answer::Missing(format!("the.{read}")),
            (Answer::Value(mut object), value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                object["metadata"]["name"] = json!(format!("a-{base}-{text}"));
                Answer::Value(object)
            }
            (other, _) => other,
        };
        self.functions.insert(path, Rc::new(named));
        self
    }

    pub(super) fn orders(mut self, name: &str, precursor: &str) -> Self {
        self.node(name).before.insert(precursor.to_owned(), SequenceEdge::new(span()));
        self
    }

    pub(super) fn until(mut self, name: &str, precursor: &str, wanted: Shape) -> Self {
        let edge = self.node(name).before.get_mut(precursor).expect("an edge");
        edge.until = Some(shape(wanted));
        self
    }

    pub(super) fn with(mut self, name: &str, change: impl FnOnce(&mut Node)) -> Self {
        change(self.node(name));
        self
    }

    pub(super) fn once(self, name: &str) -> Self {
        let keyed = self.keyed(name, "root.spec.v");
        keyed.with(name, |it| it.once = Some(Once { done: None, result: None, retry: 0 }))
    }

    pub(super) fn keyed(mut self, name: &str, read: &'static str) -> Self {
        let key = self
            .function(&format!("nodes.{name}.key"), &[read], move |the| Answer::Value(at(the, read).clone()));
        self.node(name).key = Some(key);
        self
    }

    /// One member for each field of `spec.FIELD`.
    pub(super) fn for_each(mut self, name: &str, field: &'static str) -> Self {
        let path = format!("nodes.{name}.for_each");
        let each = self.function(&path, &[&format!("root.spec.{field}")], move |the| {
            match &the["root"]["spec"][field] {
                Value::Null => Answer::Missing(field.to_owned()),
                value => Answer::Value(value.clone()),
            }
        });
        self.node(name).for_each = Some(each);
        if let Body::Template(it) = &mut self.node(name).body {
            it.function.reads.push(Read { path: vec!["each".to_owned()], span: span() });
        }
        self.named_by(name, "each.key")
    }

    pub(super) fn state(mut self, name: &str, object: &str, patch: Value, before: &[&str]) -> Self {
        let function =
            self.function(&format!("nodes.{name}.template"), &[], move |_| Answer::Value(patch.clone()));
        let template = Template { function, object: ObjectIdentity::default(), role: None };
        let mut node = Node::new(span(), Body::Template(template));
        node.state_of = Some(object.to_owned());
        for precursor in before {
            node.before.insert((*precursor).to_owned(), SequenceEdge::new(span()));
        }
        self.blueprint.nodes.insert(name.to_owned(), node);
        self
    }

    pub(super) fn observe(mut self, name: &str, kind_name: &'static str, target: &'static str) -> Self {
        let function = self.function(&format!("nodes.{name}.observe"), &[], move |_| {
            Answer::Value(json!({ "apiVersion": "example.com/v1", "kind": kind_name, "name": target }))
        });
        let object = identity(kind_name, NamePart::Pattern(vec![NameSegment::Text(target.to_owned())]));
        let observe = Observe { function, object, by_selector: false, optional: false };
        self.blueprint.nodes.insert(name.to_owned(), Node::new(span(), Body::Observe(observe)));
        self
    }

    /// All objects of a kind in the root's namespace.
    pub(super) fn select(self, name: &str, kind_name: &'static str) -> Self {
        self.select_by(name, kind_name, json!({ "selector": {} }))
    }

    /// All objects of a kind, where and of which labels `fields` says.
    pub(super) fn select_by(mut self, name: &str, kind_name: &'static str, fields: Value) -> Self {
        let function = self.function(&format!("nodes.{name}.observe"), &[], move |_| {
            let mut which = fields.clone();
            which["apiVersion"] = json!("example.com/v1");
            which["kind"] = json!(kind_name);
            Answer::Value(which)
        });
        let object = identity(kind_name, NamePart::Missing);
        let observe = Observe { function, object, by_selector: true, optional: false };
        self.blueprint.nodes.insert(name.to_owned(), Node::new(span(), Body::Observe(observe)));
        self
    }

    pub(super) fn absent(
        mut self,
        name: &str,
        kind_name: &'static str,
        target: &'static str,
        before: &[&str],
    ) -> Self {
        let function = self.function(&format!("nodes.{name}.absent"), &[], move |_| {
            Answer::Value(json!({ "apiVersion": "example.com/v1", "kind": kind_name, "name": target }))
        });
        let object = identity(kind_name, NamePart::Pattern(vec![NameSegment::Text(target.to_owned())]));
        let mut node = Node::new(span(), Body::Absent(Absent { function, object, having: None }));
        for precursor in before {
            node.before.insert((*precursor).to_owned(), SequenceEdge::new(span()));
        }
        self.blueprint.nodes.insert(name.to_owned(), node);
        self
    }

    /// Whoever answers for its functions.
    pub(super) fn evaluation(&self) -> super::sim::Evaluation {
        Rc::new(RefCell::new(Closures(self.functions.clone())))
    }

    pub(super) fn program(&self, ordinal: u64) -> Program {
        let (graph, problems) = Graph::of(&self.blueprint);
        let bad: Vec<_> = problems
            .iter()
            .map(|it| it.message.clone())
            .filter(|it| !it.contains("namespace") && !it.contains("which is no Service"))
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
        let revision = Revision { name: format!("r{ordinal}"), ordinal };
        Program::new(self.blueprint.clone(), &graph, "app", revision).expect("a program")
    }
}

fn identity(kind_name: &str, name: NamePart) -> ObjectIdentity {
    ObjectIdentity {
        api_version: StaticText::Known("example.com/v1".to_owned()),
        kind: StaticText::Known(kind_name.to_owned()),
        namespace: NamePart::Missing,
        name,
    }
}

/// Answers from closures.
struct Closures(BTreeMap<String, Closure>);

impl Evaluator for Closures {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        let answer = |question: &Question| {
            let path = question.path.join(".");
            let Some(function) = self.0.get(&path) else {
                return Answer::Error(format!("no function {path}"));
            };
            match (question.form, function(&question.input)) {
                (Form::Identity, Answer::Value(value)) => Answer::Value(value["metadata"].clone()),
                (_, answer) => answer,
            }
        };
        batch.iter().map(answer).collect()
    }
}

/// Knows nothing for a while.
pub(super) struct Killed;

impl Evaluator for Killed {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        batch.iter().map(|_| Answer::Unknown("killed".to_owned())).collect()
    }
}
