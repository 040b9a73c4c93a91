//! The check of a template's syntax tree: exact places, and silence about what is computed.

use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::kube_types::template_tree::{Field, Form, Tree, check, check_as};
use pemdas_core::kube_types::{Kind, Purpose};
use serde_json::{Number, Value};

use super::manifests;

/// Reads JSON with extras as a tree whose places are those of the text: `?` is computed, `?s` a string with
/// computed parts, `fun` a function, `...` in a record or list says that there is more, `a ~ b` is one of both.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

fn tree(text: &str) -> Tree {
    let mut reader = Reader { text, at: 0 };
    let tree = reader.value();
    reader.skip();
    assert_eq!(reader.at, text.len(), "what follows {}", &text[..reader.at]);
    tree
}

impl Reader<'_> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', ',']).len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn span(&self, start: usize) -> Option<Span> {
        let number = |at: usize| u32::try_from(at).unwrap();
        Some(Span { file: "main.ncl".into(), start: number(start), end: number(self.at) })
    }

    fn value(&mut self) -> Tree {
        self.skip();
        let start = self.at;
        let form = self.form();
        let first = Tree { span: self.span(start), form };
        if self.eat("~") {
            let second = self.value();
            return Tree { span: self.span(start), form: Form::Either(vec![first, second]) };
        }
        first
    }

    fn form(&mut self) -> Form {
        if self.eat("{") {
            let (mut fields, mut complete) = (Vec::new(), true);
            while !self.eat("}") {
                if self.eat("...") {
                    complete = false;
                    continue;
                }
                let start = self.at;
                let name = self.word();
                let span = self.span(start);
                assert!(self.eat(":") || self.eat("="), "after {name}");
                fields.push(Field { name, span, value: self.value() });
            }
            return Form::Record { fields, complete };
        }
        if self.eat("[") {
            let (mut items, mut complete) = (Vec::new(), true);
            while !self.eat("]") {
                if self.eat("...") {
                    complete = false;
                } else {
                    items.push(self.value());
                }
            }
            return Form::List { items, complete };
        }
        let simple = [
            ("?s", Form::String(None)),
            ("?n", Form::Number(None)),
            ("?", Form::Unknown),
            ("fun", Form::Function),
            ("null", Form::Null),
            ("true", Form::Boolean),
            ("false", Form::Boolean),
        ];
        for (token, form) in simple {
            if self.eat(token) {
                return form;
            }
        }
        let word = self.word();
        match word.parse::<Number>() {
            Ok(number) if !self.text[..self.at].ends_with('"') => Form::Number(Some(number)),
            _ => Form::String(Some(word)),
        }
    }

    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').unwrap();
            self.at += end + 2;
            return quoted[..end].to_owned();
        }
        let end = rest.find([' ', ',', ':', '=', '}', ']', '\n']).unwrap_or(rest.len());
        assert!(end > 0, "a word at {rest:?}");
        self.at += end;
        rest[..end].to_owned()
    }
}

/// Each diagnostic as: code, the text at its place, what is said there, and the hint.
fn told(text: &str, diagnostics: &[Diagnostic]) -> Vec<String> {
    let line = |diagnostic: &Diagnostic| {
        let label = &diagnostic.labels[0];
        let place = &text[label.span.start as usize..label.span.end as usize];
        let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{} `{place}` {}{hint}", diagnostic.code, label.message)
    };
    diagnostics.iter().map(line).collect()
}

fn checked(text: &str) -> Vec<String> {
    told(text, &check(&tree(text), Purpose::Apply))
}

const DEPLOYMENT: &str = r#"{
  apiVersion = "apps/v1", kind = Deployment,
  metadata = { name = ?s, labels = ? },
  spec = {
    replicsa = 3,
    replicas = "3",
    selector = { matchLabels = { app = ? } },
    template = ?,
    template2 = {},
  }
}"#;

#[test]
fn places_are_exact() {
    assert_eq!(
        checked(DEPLOYMENT),
        [
            "PM0301 `replicsa` no field of DeploymentSpec (did you mean replicas?)",
            "PM0302 `\"3\"` wants a whole number (write 3 without quotes)",
            "PM0301 `template2` no field of DeploymentSpec (did you mean template?)",
        ]
    );
}

#[test]
fn what_is_computed_is_not_judged() {
    for text in [
        r#"{ apiVersion = "apps/v1", kind = Deployment, metadata = ?, spec = ? }"#,
        r#"{ apiVersion = "apps/v1", kind = ?s, sepc = {} }"#,
        "{ apiVersion = ?, kind = Deployment, sepc = {} }",
        r#"{ apiVersion = "apps/v1", kind = Deployment, spec = { ... replicas = ?n } }"#,
        r#"{ apiVersion = "v1", kind = ConfigMap, data = { a = ?s, b = ? } }"#,
        r#"{ apiVersion = "example.com/v1", kind = Widget, anything = 1 }"#,
        "?",
        "3",
    ] {
        assert_eq!(checked(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_type_of_what_is_computed_is_judged() {
    assert_eq!(
        checked(
            r#"{ apiVersion = "apps/v1", kind = Deployment, spec = { ... replicas = ?s, paused = ?n, minReadySeconds = fun } }"#
        ),
        [
            "PM0302 `?s` wants a whole number",
            "PM0302 `?n` wants a boolean",
            "PM0302 `fun` wants a whole number (call the function, or write the value)",
        ]
    );
}

#[test]
fn missing_fields_are_told_where_all_fields_are_known() {
    let text = r#"{ apiVersion = "apps/v1", kind = Deployment, spec = { selector = ? } }"#;
    assert_eq!(checked(text), ["PM0303 `{ selector = ? }` has no template"]);
    assert_eq!(told(text, &check(&tree(text), Purpose::Patch)), Vec::<String>::new());
}

#[test]
fn both_branches_are_judged() {
    assert_eq!(
        checked(
            r#"{ apiVersion = "v1", kind = Service, spec = { ports = [{ port = 80 ~ http }, { prot = 1, ... } ~ ?] ~ [] } }"#
        ),
        ["PM0302 `http` wants a whole number", "PM0301 `prot` no field of ServicePort (did you mean port?)"]
    );
}

#[test]
fn unknown_kinds_are_told_at_the_right_word() {
    for (text, expected) in [
        (
            r#"{ apiVersion = "apps/v1", kind = "Deploymnet" }"#,
            "PM0307 `\"Deploymnet\"` no kind of apps/v1 (did you mean Deployment?)",
        ),
        (
            r#"{ apiVersion = "extensions/v1beta1", kind = "Ingress" }"#,
            "PM0307 `\"extensions/v1beta1\"` has no Ingress (Ingress is in networking.k8s.io/v1)",
        ),
        (r#"{ apiVersion = "v1", kind = "Job" }"#, "PM0307 `\"v1\"` has no Job (Job is in batch/v1)"),
        (
            r#"{ apiVersion = "batch/v2", kind = "Zebra" }"#,
            "PM0307 `\"batch/v2\"` not served (this group has the versions batch/v1)",
        ),
    ] {
        assert_eq!(checked(text), [expected]);
    }
}

#[test]
fn a_patch_is_judged_as_the_kind_it_is_of() {
    let kind = Kind::find("apps/v1", "Deployment").unwrap();
    let text = "{ spec = { replicas = 0, replica = 1 } }";
    assert_eq!(
        told(text, &check_as(&tree(text), &kind, Purpose::Patch)),
        ["PM0301 `replica` no field of DeploymentSpec (did you mean replicas?)"]
    );
}

#[test]
fn keys_that_are_computed_are_not_the_same() {
    let with = |ports: &str| {
        checked(&format!(r#"{{ apiVersion = "v1", kind = Service, spec = {{ ports = [{ports}] }} }}"#)).len()
    };
    assert_eq!(with("{ port = 80 }, { port = 80 }"), 1);
    assert_eq!(with("{ port = 80 }, { port = 80, ... }"), 0);
    assert_eq!(with("{ port = 80 }, { port = ? }"), 0);
    assert_eq!(with(r#"{ port = 80 }, { port = 80, protocol = "UDP" }"#), 0);
}

#[test]
fn a_value_without_a_place_is_told_at_the_place_around_it() {
    let mut tree = tree(r#"{ apiVersion = "apps/v1", kind = Deployment, spec = { ... replicas = "3" } }"#);
    strip(&mut tree);
    tree.span = Some(Span { file: "main.ncl".into(), start: 7, end: 9 });
    let diagnostics = check(&tree, Purpose::Apply);
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].labels[0].span.start, 7);
}

fn strip(tree: &mut Tree) {
    tree.span = None;
    if let Form::Record { fields, .. } = &mut tree.form {
        for field in fields {
            field.span = None;
            strip(&mut field.value);
        }
    }
}

#[test]
fn two_definitions_are_one_record() {
    let merged = tree("{ a = { b = 1 }, c = 2 }").merge(tree("{ a = { d = 3 }, c = ? }"));
    let names = |tree: &Tree| match &tree.form {
        Form::Record { fields, complete } => {
            (fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>(), *complete)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(names(&merged), (vec!["a".to_owned(), "c".to_owned()], true));
    assert_eq!(names(merged.field("a").unwrap()), (vec!["b".to_owned(), "d".to_owned()], true));
    assert!(matches!(merged.field("c").unwrap().form, Form::Number(Some(_))));
    assert!(!names(&tree("{ a = 1 }").merge(tree("?"))).1);
    assert!(matches!(tree("1").merge(tree("2")).form, Form::Either(_)));
}

#[test]
fn nothing_is_missing_where_something_may_be_merged_in() {
    let base = r#"{ apiVersion = "apps/v1", kind = Deployment, spec = { replicas = 1 } }"#;
    assert_eq!(check(&tree(base), Purpose::Apply).len(), 2);
    for other in
        ["?", "{ ... }", "{ spec = ? }", "{ metadata = {} } ~ {}", "{ spec = { paused = true } } ~ ?"]
    {
        for merged in [tree(base).merge(tree(other)), tree(other).merge(tree(base))] {
            assert_eq!(check(&merged, Purpose::Apply), [], "{other}");
        }
    }
    // Both are judged by what they do have.
    let wrong = tree(base).merge(tree("{ spec = { pausd = true } } ~ {}"));
    let told = check_as(&wrong, &Kind::find("apps/v1", "Deployment").unwrap(), Purpose::Apply);
    assert_eq!(told.len(), 1, "{told:?}");
}

fn of_value(value: &Value) -> Tree {
    Tree::new(match value {
        Value::Null => Form::Null,
        Value::Bool(_) => Form::Boolean,
        Value::Number(number) => Form::Number(Some(number.clone())),
        Value::String(text) => Form::String(Some(text.clone())),
        Value::Array(items) => Form::List { items: items.iter().map(of_value).collect(), complete: true },
        Value::Object(fields) => Form::Record {
            fields: fields
                .iter()
                .map(|(name, value)| Field { name: name.clone(), span: None, value: of_value(value) })
                .collect(),
            complete: true,
        },
    })
}

#[test]
fn good_manifests_are_good_templates() {
    for object in manifests() {
        assert_eq!(check(&of_value(&object), Purpose::Apply), [], "{}", object["kind"]);
    }
}
