//! A draft as a blueprint is written.

use std::fmt::Write as _;

use super::{
    draft::{Also, Before, Body, Draft, Node, Shape},
    expression::{Expression, quoted},
};

const IMPORTS: &str = r#"let { Blueprint, Nat, Nullable, OneOf, Any, Absent, Available, Ready, Complete, Finished, all_of, any_of, not, at_least,
  condition, matches, one_of, at, base64, base64_decode, fold, join_lists, keep, keep_fields, labels_of, record_of, short, sort, sort_by, .. } =
  import "pemdas/v1.ncl" in
let shouted = fun text_ => std.string.lowercase (std.string.uppercase text_) in
"#;

const HEAD: &str = r#"    group = "judge.example.com",
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
"#;

impl Draft {
    /// The blueprint as it is written.
    pub(super) fn text(&self) -> String {
        let mut out = IMPORTS.to_owned();
        for (at, helper) in self.helpers.iter().enumerate() {
            let _ = writeln!(out, "let helper{at} = fun the => {} in", helper.text(&self.names));
        }
        let scope = if self.in_cluster { "    scope = 'Cluster,\n" } else { "" };
        let _ = write!(out, "{{\n  name = \"judged\",\n  kinds.Case = {{\n{scope}{HEAD}");
        let _ = writeln!(out, "      {}\n    }},\n  }},\n  nodes = {{", self.unread);
        for (at, (node, name)) in self.nodes.iter().zip(&self.names).enumerate() {
            let _ = writeln!(out, "    {} = {{", quoted(name));
            self.clauses(node, &mut out);
            if at == 0 {
                self.needs("deleting", &self.deleting, &mut out);
            }
            self.body(&node.body, &mut out);
            out.push_str("    },\n");
        }
        out.push_str("  },\n} | Blueprint\n");
        out
    }

    fn written(&self, it: &Expression) -> String {
        it.text(&self.names)
    }

    fn needs(&self, clause: &str, needs: &[Also], out: &mut String) {
        if needs.is_empty() {
            return;
        }
        let _ = writeln!(out, "      {clause} = {{");
        for also in needs {
            let _ = write!(out, "        {} = {{", quoted(&self.names[also.to]));
            if !also.before.is_empty() {
                let _ = write!(out, " before = {{ {} }},", self.befores(&also.before));
            }
            if let Some(when) = &also.when {
                let _ = write!(out, " when = fun the => {},", self.written(when));
            }
            out.push_str(" },\n");
        }
        out.push_str("      },\n");
    }

    fn clauses(&self, node: &Node, out: &mut String) {
        self.needs("also", &node.also, out);
        if !node.before.is_empty() {
            let _ = writeln!(out, "      before = {{ {} }},", self.befores(&node.before));
        }
        if let Some(members) = &node.members {
            let _ = writeln!(
                out,
                "      for_each = fun the => std.record.map (fun _key word_ => {{ word = word_ }}) ({}),",
                self.written(members)
            );
        }
        if let Some(ready) = &node.ready {
            let _ = writeln!(out, "      ready = {},", self.shape(ready));
        }
    }

    fn body(&self, body: &Body, out: &mut String) {
        let namespace = |it: &Option<Expression>| {
            it.as_ref().map(|it| format!(", namespace = ({})", self.written(it))).unwrap_or_default()
        };
        let meant = "apiVersion = \"v1\", kind = \"ConfigMap\"";
        match body {
            Body::Root => out.push_str("      root = kinds.Case,\n"),
            Body::Template { .. } => self.template(body, out),
            Body::State { of, kind, data, key } => {
                let _ = writeln!(out, "      state_of = \"{}\",", self.names[*of]);
                if let Some(key) = key {
                    let _ = writeln!(out, "      key = fun the => {},", self.written(key));
                }
                out.push_str("      template = fun the => {\n");
                self.data(*kind, data, out);
                out.push_str("      },\n");
            }
            Body::Value(value) => {
                let _ = writeln!(out, "      value = fun the => {},", self.written(value));
            }
            Body::Observe { name, namespace: place, optional } => {
                let (name, place) = (self.written(name), namespace(place));
                let _ = writeln!(out, "      observe = fun the => {{ {meant}, name = ({name}){place} }},");
                if *optional {
                    out.push_str("      optional = true,\n");
                }
            }
            Body::Mirror => {
                let place = if self.in_cluster { "" } else { ", namespace = the.root.metadata.namespace" };
                let _ = writeln!(
                    out,
                    "      observe = fun the => {{ apiVersion = \"judge.example.com/v1\", kind = \"Case\", name = the.root.metadata.name{place} }},"
                );
            }
            Body::Select { label, namespace: place } => {
                let (label, place) = (self.written(label), namespace(place));
                let _ = writeln!(
                    out,
                    "      observe = fun the => {{ {meant}, selector.matchLabels.pool = ({label}){place} }},"
                );
            }
            Body::Absent { name, namespace: place, having } => {
                let (name, place) = (self.written(name), namespace(place));
                let _ = writeln!(out, "      absent = fun the => {{ {meant}, name = ({name}){place} }},");
                if let Some(having) = having {
                    let _ = writeln!(out, "      having = {},", self.shape(having));
                }
            }
        }
    }

    fn template(&self, body: &Body, out: &mut String) {
        let Body::Template { kind, name, namespace, data, named, late, once } = body else { return };
        if let Some(once) = once {
            match &once.result {
                Some(result) => {
                    let _ = writeln!(
                        out,
                        "      once = {{ result = fun live => {{ v = ({}) }} }},",
                        self.written(result)
                    );
                }
                None => out.push_str("      once = true,\n"),
            }
            if let Some(key) = &once.key {
                let _ = writeln!(out, "      key = fun the => {},", self.written(key));
            }
        }
        if *late {
            out.push_str("      late_name = true,\n");
        }
        out.push_str("      template = fun the => {\n");
        let (api_version, word) = kind.named();
        let _ = writeln!(out, "        apiVersion = \"{api_version}\",\n        kind = \"{word}\",");
        let _ = writeln!(out, "        metadata.name = ({}),", self.written(name));
        if let Some(namespace) = namespace {
            let _ = writeln!(out, "        metadata.namespace = ({}),", self.written(namespace));
        }
        self.data(*kind, data, out);
        if *named {
            let _ = writeln!(out, "        metadata.annotations.name = ({}),", self.written(name));
        }
        out.push_str(kind.rest());
        out.push_str("      },\n");
    }

    fn data(&self, kind: super::draft::Kind, data: &[Expression], out: &mut String) {
        for (at, it) in data.iter().enumerate() {
            let _ = writeln!(out, "        {}k{at} = {},", kind.place(), kind.said(&self.written(it)));
        }
    }

    fn shape(&self, shape: &Shape) -> String {
        match shape {
            Shape::Plain(text) => (*text).to_owned(),
            Shape::Of(form, it) => form.replace('§', &format!("({})", self.written(it))),
        }
    }

    fn befores(&self, all: &[Before]) -> String {
        let one = |it: &Before| {
            let mut out = format!("{} = {{", quoted(&self.names[it.from]));
            if let Some(until) = &it.until {
                let _ = write!(out, " until = {},", self.shape(until));
            }
            if let Some(extract) = &it.extract {
                let _ = write!(out, " extract = fun live => {{ v = ({}) }},", self.written(extract));
            }
            if it.each {
                out.push_str(" each = true,");
            }
            out + " }"
        };
        all.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}
