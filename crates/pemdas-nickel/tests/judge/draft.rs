//! A blueprint and its instance as data: what is drawn by chance, shrunk and rewritten, and only then written down.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    expression::{Expression, quoted},
    known,
};

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
    /// The root object, version by version; only the spec changes.
    pub(super) roots: Vec<Value>,
    /// What others made.
    pub(super) around: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) body: Body,
    pub(super) also: Vec<Also>,
    pub(super) before: Vec<Before>,
    /// The keys of the members, with a word for each.
    pub(super) members: Option<Expression>,
    pub(super) ready: Option<&'static str>,
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
    },
    Value(Expression),
    Observe {
        name: Expression,
        namespace: Option<Expression>,
        optional: bool,
    },
    Select {
        label: Expression,
        namespace: Option<Expression>,
    },
    Absent {
        name: Expression,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ConfigMap,
    Deployment,
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
    pub(super) until: Option<&'static str>,
    pub(super) extract: Option<Expression>,
    pub(super) each: bool,
}

const IMPORTS: &str = r#"let { Blueprint, Nat, Nullable, OneOf, Any, Absent, Available, Ready, all_of, any_of, not, at_least, condition, matches, one_of, at,
  base64, base64_decode, fold, join_lists, keep, keep_fields, labels_of, record_of, short, sort, .. } = import "pemdas/v1.ncl" in
let shouted = fun text_ => std.string.lowercase (std.string.uppercase text_) in
"#;

const HEAD: &str = r#"{
  name = "judged",
  kinds.Case = {
    group = "judge.example.com",
    versions.v1.spec = {
      a | Bool | default = false,
      b | Bool | default = false,
      c | Bool | default = true,
      flag | Bool | optional,
      mode | OneOf ["prod", "dev", "two-words"] | default = "dev",
      where | String | optional,
      text | String | default = "Some Text",
      note | Nullable String | optional,
      size | Nat | default = 1,
      count | Nat | optional,
      items | Array String | default = [],
      hosts | Array String | optional,
      map | { _ | String } | optional,
    },
  },
  nodes = {
"#;

impl Draft {
    /// The blueprint as it is written.
    pub(super) fn text(&self) -> String {
        let mut out = IMPORTS.to_owned();
        for (at, helper) in self.helpers.iter().enumerate() {
            let _ = writeln!(out, "let helper{at} = fun the => {} in", helper.text(&self.names));
        }
        out.push_str(HEAD);
        for (node, name) in self.nodes.iter().zip(&self.names) {
            let _ = writeln!(out, "    {} = {{", quoted(name));
            self.node(node, &mut out);
            out.push_str("    },\n");
        }
        out.push_str("  },\n} | Blueprint\n");
        out
    }

    #[allow(clippy::too_many_lines, reason = "one clause after the other")]
    fn node(&self, node: &Node, out: &mut String) {
        let text = |it: &Expression| it.text(&self.names);
        if !node.also.is_empty() {
            out.push_str("      also = {\n");
            for also in &node.also {
                let _ = write!(out, "        {} = {{", quoted(&self.names[also.to]));
                if !also.before.is_empty() {
                    let _ = write!(out, " before = {{ {} }},", self.befores(&also.before));
                }
                if let Some(when) = &also.when {
                    let _ = write!(out, " when = fun the => {},", text(when));
                }
                out.push_str(" },\n");
            }
            out.push_str("      },\n");
        }
        if !node.before.is_empty() {
            let _ = writeln!(out, "      before = {{ {} }},", self.befores(&node.before));
        }
        if let Some(members) = &node.members {
            let _ = writeln!(
                out,
                "      for_each = fun the => std.record.map (fun _key word_ => {{ word = word_ }}) ({}),",
                text(members)
            );
        }
        if let Some(ready) = node.ready {
            let _ = writeln!(out, "      ready = {ready},");
        }
        let namespace = |it: &Option<Expression>| {
            it.as_ref().map(|it| format!(", namespace = ({})", text(it))).unwrap_or_default()
        };
        match &node.body {
            Body::Root => {
                let _ = writeln!(out, "      root = kinds.Case,");
            }
            Body::Template { kind, name, namespace, data, named, late } => {
                if *late || !known::NAMES_ARE_EVALUATED {
                    out.push_str("      late_name = true,\n");
                }
                out.push_str("      template = fun the => {\n");
                let (api_version, word) = kind.named();
                let _ = writeln!(out, "        apiVersion = \"{api_version}\",\n        kind = \"{word}\",");
                let _ = writeln!(out, "        metadata.name = ({}),", text(name));
                if let Some(namespace) = namespace {
                    let _ = writeln!(out, "        metadata.namespace = ({}),", text(namespace));
                }
                for (at, it) in data.iter().enumerate() {
                    let _ = writeln!(out, "        {}k{at} = ({}),", kind.place(), text(it));
                }
                if *named {
                    let _ = writeln!(out, "        {}name = ({}),", kind.place(), text(name));
                }
                out.push_str(kind.rest());
                out.push_str("      },\n");
            }
            Body::Value(value) => {
                let _ = writeln!(out, "      value = fun the => {},", text(value));
            }
            Body::Observe { name, namespace: place, optional } => {
                let (name, place) = (text(name), namespace(place));
                let _ = writeln!(
                    out,
                    "      observe = fun the => {{ apiVersion = \"v1\", kind = \"ConfigMap\", name = ({name}){place} }},"
                );
                if *optional {
                    out.push_str("      optional = true,\n");
                }
            }
            Body::Select { label, namespace: place } => {
                let (label, place) = (text(label), namespace(place));
                let _ = writeln!(
                    out,
                    "      observe = fun the => {{ apiVersion = \"v1\", kind = \"ConfigMap\", selector.matchLabels.pool = ({label}){place} }},"
                );
            }
            Body::Absent { name } => {
                let name = text(name);
                let _ = writeln!(
                    out,
                    "      absent = fun the => {{ apiVersion = \"v1\", kind = \"ConfigMap\", name = ({name}) }},"
                );
            }
        }
    }

    fn befores(&self, all: &[Before]) -> String {
        let one = |it: &Before| {
            let mut out = format!("{} = {{", quoted(&self.names[it.from]));
            if let Some(until) = it.until {
                let _ = write!(out, " until = {until},");
            }
            if let Some(extract) = &it.extract {
                let _ = write!(out, " extract = fun live => {{ v = ({}) }},", extract.text(&self.names));
            }
            if it.each {
                out.push_str(" each = true,");
            }
            out + " }"
        };
        all.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Every expression in it.
    pub(super) fn expressions(&mut self) -> Vec<&mut Expression> {
        self.nodes.iter_mut().flat_map(Node::expressions).collect()
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
        for node in &mut draft.nodes {
            node.also.retain(|it| it.to != gone);
            for also in &mut node.also {
                also.to -= usize::from(also.to > gone);
                clean(&mut also.before);
            }
            clean(&mut node.before);
        }
        draft
    }

    /// The root object that is written down.
    pub(super) fn root(name: &str, namespace: &str, labels: &Value, spec: &Value) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": KIND,
            "metadata": { "name": name, "namespace": namespace, "labels": labels }, "spec": spec,
        })
    }
}

fn extracts(before: &mut [Before]) -> impl Iterator<Item = &mut Expression> {
    before.iter_mut().filter_map(|it| it.extract.as_mut())
}

impl Node {
    fn expressions(&mut self) -> Vec<&mut Expression> {
        let mut all = Vec::new();
        all.extend(&mut self.members);
        match &mut self.body {
            Body::Root => {}
            Body::Template { name, namespace, data, .. } => {
                all.push(name);
                all.extend(namespace);
                all.extend(data);
            }
            Body::Value(it) | Body::Absent { name: it } => all.push(it),
            Body::Observe { name: it, namespace, .. } | Body::Select { label: it, namespace } => {
                all.push(it);
                all.extend(namespace);
            }
        }
        all.extend(self.also.iter_mut().flat_map(|it| it.when.iter_mut().chain(extracts(&mut it.before))));
        all.extend(extracts(&mut self.before));
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
        }
    }

    /// Where its data is.
    fn place(self) -> &'static str {
        match self {
            Self::ConfigMap => "data.",
            Self::Deployment => "metadata.annotations.",
        }
    }

    fn rest(self) -> &'static str {
        match self {
            Self::ConfigMap => "",
            Self::Deployment => {
                "        spec = { replicas = 1, selector.matchLabels.app = \"x\", template = { metadata.labels.app = \"x\", spec.containers = [{ name = \"x\", image = \"x\" }] } },\n"
            }
        }
    }
}
