//! A blueprint and its instance as data: what is drawn by chance, shrunk and rewritten, and only then written down.

use serde_json::{Value, json};

use super::expression::Expression;

/// The group of the roots' kind.
pub(super) const GROUP: &str = "judge.example.com";
/// The kind of the roots.
pub(super) const KIND: &str = "Case";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    /// The first node is the root.
    pub(super) nodes: Vec<Node>,
    /// Their names.
    pub(super) names: Vec<String>,
    /// Functions that stand before the blueprint.
    pub(super) helpers: Vec<Expression>,
    /// What the root needs at its end.
    pub(super) deleting: Vec<Also>,
    /// Whether the roots live in the cluster, and not in a namespace.
    pub(super) in_cluster: bool,
    /// The root object, version by version; its spec and its labels change.
    pub(super) roots: Vec<Value>,
    /// What others made.
    pub(super) around: Vec<Value>,
    /// Whether nobody runs while the root changes, and somebody edits what was made.
    pub(super) gap: bool,
    /// Fields of the kind that no expression reads.
    pub(super) unread: &'static str,
    /// What becomes of these fields in the next revision of the blueprint, and whether the definition may change so.
    pub(super) next: (&'static str, bool),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) body: Body,
    pub(super) also: Vec<Also>,
    pub(super) before: Vec<Before>,
    /// The keys of the members, with a word for each.
    pub(super) members: Option<Expression>,
    pub(super) ready: Option<Shape>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    Root,
    Template {
        kind: Kind,
        name: Expression,
        namespace: Option<Expression>,
        data: Vec<Expression>,
        /// Whether the name stands in the data as well.
        named: bool,
        /// Whether the name may read more than the root.
        late: bool,
        /// What is remembered of it, if it is done once.
        once: Option<Once>,
    },
    /// An earlier state of another node's object.
    State {
        of: usize,
        kind: Kind,
        data: Vec<Expression>,
        key: Option<Expression>,
    },
    Value(Expression),
    Observe {
        name: Expression,
        namespace: Option<Expression>,
        optional: bool,
    },
    /// It observes the root.
    Mirror,
    Select {
        label: Expression,
        namespace: Option<Expression>,
    },
    Absent {
        name: Expression,
        namespace: Option<Expression>,
        having: Option<Shape>,
    },
}

/// Something that is done once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Once {
    pub(super) key: Option<Expression>,
    pub(super) result: Option<Expression>,
}

/// A shape: as it is written, or what a function yields.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Plain(&'static str),
    /// With a Boolean or a text in the place of `§`.
    Of(&'static str, Expression),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ConfigMap,
    Deployment,
    Job,
    Secret,
    ServiceAccount,
    /// Of no namespace.
    ClusterRole,
}

/// A need.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Also {
    pub(super) to: usize,
    pub(super) when: Option<Expression>,
    /// What the condition comes after.
    pub(super) before: Vec<Before>,
}

/// Something that comes first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Before {
    pub(super) from: usize,
    pub(super) until: Option<Shape>,
    pub(super) extract: Option<Expression>,
    pub(super) each: bool,
}

impl Draft {
    /// Every expression in it.
    pub(super) fn expressions(&mut self) -> Vec<&mut Expression> {
        let mut all: Vec<_> = self.nodes.iter_mut().flat_map(Node::expressions).collect();
        all.extend(self.deleting.iter_mut().flat_map(Also::expressions));
        all
    }

    /// The next revision of the blueprint: another definition of the kind, and other data.
    pub(super) fn revised(&self) -> Self {
        let mut draft = Self { unread: self.next.0, ..self.clone() };
        for node in &mut draft.nodes {
            if let Body::Template { data, once: None, .. } = &mut node.body {
                data.push(Expression::Word("revised".to_owned()));
            }
        }
        draft
    }

    /// Without a node, and without all that speaks of it.
    pub(super) fn without(&self, gone: usize) -> Self {
        let mut draft = self.clone();
        draft.nodes.remove(gone);
        draft.names.remove(gone);
        for it in draft.expressions() {
            it.without(gone, true);
        }
        let clean = |before: &mut Vec<Before>| {
            before.retain(|it| it.from != gone);
            before.iter_mut().for_each(|it| it.from -= usize::from(it.from > gone));
        };
        let needs = |needs: &mut Vec<Also>| {
            needs.retain(|it| it.to != gone);
            for also in needs {
                also.to -= usize::from(also.to > gone);
                clean(&mut also.before);
            }
        };
        needs(&mut draft.deleting);
        for node in &mut draft.nodes {
            needs(&mut node.also);
            clean(&mut node.before);
            if let Body::State { of, kind, data, .. } = &mut node.body {
                *of -= usize::from(*of > gone);
                if *of == gone {
                    // It is an object of its own then.
                    let name = Expression::Word("state".to_owned());
                    let (kind, data) = (*kind, std::mem::take(data));
                    node.body = Body::Template {
                        kind,
                        name,
                        namespace: None,
                        data,
                        named: false,
                        late: false,
                        once: None,
                    };
                }
            }
        }
        draft
    }

    /// The root object that is written down.
    pub(super) fn root(name: &str, namespace: Option<&str>, labels: &Value, spec: &Value) -> Value {
        let mut root = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": KIND,
            "metadata": { "name": name, "labels": labels }, "spec": spec,
        });
        if let Some(namespace) = namespace {
            root["metadata"]["namespace"] = namespace.into();
        }
        root
    }
}

impl Also {
    fn expressions(&mut self) -> impl Iterator<Item = &mut Expression> {
        self.when.iter_mut().chain(self.before.iter_mut().flat_map(Before::expressions))
    }
}

impl Before {
    fn expressions(&mut self) -> impl Iterator<Item = &mut Expression> {
        self.extract.iter_mut().chain(self.until.as_mut().and_then(Shape::expression))
    }
}

impl Shape {
    fn expression(&mut self) -> Option<&mut Expression> {
        match self {
            Self::Plain(_) => None,
            Self::Of(_, it) => Some(it),
        }
    }
}

impl Node {
    pub(super) fn new(body: Body) -> Self {
        Self { body, also: Vec::new(), before: Vec::new(), members: None, ready: None }
    }

    fn expressions(&mut self) -> Vec<&mut Expression> {
        let mut all = Vec::new();
        all.extend(&mut self.members);
        all.extend(self.ready.as_mut().and_then(Shape::expression));
        match &mut self.body {
            Body::Root | Body::Mirror => {}
            Body::Template { name, namespace, data, once, .. } => {
                all.push(name);
                all.extend(namespace);
                all.extend(data);
                all.extend(once.iter_mut().flat_map(|it| it.key.iter_mut().chain(&mut it.result)));
            }
            Body::State { data, key, .. } => {
                all.extend(data);
                all.extend(key);
            }
            Body::Value(it) => all.push(it),
            Body::Observe { name: it, namespace, .. } | Body::Select { label: it, namespace } => {
                all.push(it);
                all.extend(namespace);
            }
            Body::Absent { name, namespace, having } => {
                all.push(name);
                all.extend(namespace);
                all.extend(having.as_mut().and_then(Shape::expression));
            }
        }
        all.extend(self.also.iter_mut().flat_map(Also::expressions));
        all.extend(self.before.iter_mut().flat_map(Before::expressions));
        all
    }

    /// Nothing in it reads what an edge from this node carries, for a while. The conditions of its needs have edges of their own.
    pub(super) fn forget(&mut self, precursor: usize) {
        let also = std::mem::take(&mut self.also);
        self.expressions().into_iter().for_each(|it| it.without(precursor, false));
        self.also = also;
    }
}

impl Kind {
    pub(super) fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::ConfigMap => ("v1", "ConfigMap"),
            Self::Deployment => ("apps/v1", "Deployment"),
            Self::Job => ("batch/v1", "Job"),
            Self::Secret => ("v1", "Secret"),
            Self::ServiceAccount => ("v1", "ServiceAccount"),
            Self::ClusterRole => ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        }
    }

    /// Where its data is.
    pub(super) fn place(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "data.",
            _ => "metadata.annotations.",
        }
    }

    /// What is said of its data.
    pub(super) fn said(self, text: &str) -> String {
        match self {
            Self::Secret => format!("base64 ({text})"),
            _ => format!("({text})"),
        }
    }

    /// The rest of it, with lists and records that are empty.
    pub(super) fn rest(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "",
            Self::Deployment => {
                "        spec = { replicas = 1, selector.matchLabels.app = \"x\", template = { metadata.labels.app = \"x\", spec = { volumes = [], containers = [{ name = \"x\", image = \"x\", env = [] }] } } },\n"
            }
            Self::Job => {
                "        spec.template.spec = { restartPolicy = \"Never\", containers = [{ name = \"x\", image = \"x\", args = [] }] },\n"
            }
            Self::ServiceAccount => "        secrets = [],\n",
            Self::ClusterRole => "        rules = [],\n",
        }
    }
}
