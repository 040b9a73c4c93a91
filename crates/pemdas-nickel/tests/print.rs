//! What is printed is read as what was meant, whatever the strings hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use std::collections::BTreeMap;

use pemdas_core::import::{Draft, Expression, Labels, Made, Node, Part, SEED, What, Which};
use pemdas_nickel::{Evaluator, InProcess, Limits, Place, Sources, print};
use proptest::prelude::*;
use serde_json::{Value, json};

fn plain(what: What) -> Expression {
    Expression { what, above: Vec::new(), beside: None }
}

fn draft(nodes: Vec<Node>) -> Draft {
    Draft {
        name: "printed".to_owned(),
        kind: "Printed".to_owned(),
        group: "example.com".to_owned(),
        cluster: false,
        root: "printed".to_owned(),
        needs: nodes.iter().map(|it| it.name.clone()).collect(),
        parameters: Vec::new(),
        objects: Vec::new(),
        deleting: Vec::new(),
        observed: Vec::new(),
        definitions: Vec::new(),
        attention: Vec::new(),
        labels: Labels::default(),
        instance: "instance".to_owned(),
        namespace: "space".to_owned(),
        nodes,
    }
}

/// What the printed templates give, without the contract of blueprints: a template may be anything here.
fn evaluated(draft: &Draft) -> Vec<Value> {
    let source = print::blueprint(draft);
    let bare = source.replacen("} | Blueprint\n", "}\n", 1);
    let bare = bare.split_once(" in\n").unwrap().1.to_owned();
    let blueprint = InProcess::load(&Sources::single(&bare), &Limits::default())
        .unwrap_or_else(|failure| panic!("{failure:?}\n{source}"));
    let mut the =
        json!({ "root": { "metadata": { "name": "instance", "namespace": "space" } }, "seed": SEED });
    for (node, was) in draft.nodes.iter().flat_map(Node::digests) {
        the[node] = json!(was);
    }
    let result = draft.nodes.iter().map(|node| {
        let place = Place::at(["nodes", node.name.as_str(), "template"]).call([the.clone().into()]);
        blueprint.evaluate(&place).unwrap_or_else(|failure| panic!("{failure:?}\n{source}"))
    });
    result.collect()
}

fn letters() -> impl Strategy<Value = String> {
    let awkward = prop_oneof![
        Just("%".to_owned()),
        Just("%{".to_owned()),
        Just("{".to_owned()),
        Just("\"".to_owned()),
        Just("\"%".to_owned()),
        Just("\\".to_owned()),
        Just("\n".to_owned()),
        Just("\n  ".to_owned()),
        Just("\t".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just(" ".to_owned()),
        Just("#".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{200b}".to_owned()),
        Just("ö日".to_owned()),
        Just("m%\"".to_owned()),
        "[a-z]{1,5}",
        "\\PC{1,3}",
    ];
    prop::collection::vec(awkward, 0..12).prop_map(|it| it.concat())
}

fn texts() -> impl Strategy<Value = What> {
    let part = prop_oneof![
        3 => letters().prop_map(Part::Literal),
        1 => Just(Part::RootName),
        1 => Just(Part::RootNamespace),
    ];
    prop::collection::vec(part, 1..6).prop_map(What::Text)
}

fn values() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        4 => texts(),
        1 => Just(What::Null),
        1 => any::<bool>().prop_map(What::Bool),
        1 => any::<i32>().prop_map(|it| What::Number(it.into())),
        1 => any::<u32>().prop_map(|it| What::Number((i64::from(it) * 1_000_003).into())),
        1 => (-1_000_000i32..1_000_000).prop_map(|it| What::Number(serde_json::Number::from_f64(f64::from(it) / 64.0).unwrap())),
    ];
    let name = prop_oneof![
        letters(),
        prop::sample::select(vec![
            "the", "let", "in", "default", "or", "and", "name", "root", "nodes", "kinds", "_", "a-b", "__x"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_map(plain).prop_recursive(4, 40, 6, move |inner| {
        let inner = (inner, prop::option::of("[a-z #\"%{]{0,8}"), prop::option::of("[a-z #]{0,8}")).prop_map(
            |(expression, above, beside)| Expression {
                above: above.into_iter().collect(),
                beside,
                ..expression
            },
        );
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|it| plain(What::List(it))),
            prop::collection::btree_map(name.clone(), inner, 0..6)
                .prop_map(|it: BTreeMap<_, _>| plain(What::Record(it.into_iter().collect()))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: pemdas_tier::size(60, 10_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_read_as_it_was_meant(template in values()) {
        let node = Node { name: "node".to_owned(), remarks: Vec::new(), edges: Vec::new(), once: None, orphan: false, template };
        let draft = draft(vec![node]);
        let is = evaluated(&draft);
        let wanted = draft.rendered();
        prop_assert_eq!(numbers(&is[0]), numbers(&wanted[0]), "{}", print::blueprint(&draft));
    }
}

#[test]
fn labels_digests_and_seeds_are_read_as_they_were_meant() {
    let text = |text: &str| plain(What::Text(vec![Part::Literal(text.to_owned())]));
    let label = |name: &str, value: &str| (name.to_owned(), text(value));
    let named = ("example.com/instance".to_owned(), plain(What::Text(vec![Part::RootName])));
    let selecting = vec![named.clone(), label("app", "a")];
    for selecting in [selecting, Vec::new()] {
        let more = vec![label("part", "web"), ("the".to_owned(), plain(What::Bool(true)))];
        let made = |of: Option<&str>| plain(What::Made(Made { of: of.map(str::to_owned), encoded: false }));
        let digest = Part::Digest { node: "other".to_owned(), was: "0123".to_owned() };
        let which = if selecting.is_empty() { Which::Common } else { Which::Selecting };
        let fields = [
            ("common", plain(What::Labels(Which::Common, Vec::new()))),
            ("more", plain(What::Labels(Which::Common, more))),
            ("selecting", plain(What::Labels(which, vec![label("long", &"x".repeat(200))]))),
            ("digest", plain(What::Text(vec![Part::Literal("is ".to_owned()), digest]))),
            ("seed", made(None)),
            ("one", made(Some("a \"key\" %{x}"))),
        ];
        let template = plain(What::Record(fields.map(|(name, it)| (name.to_owned(), it)).to_vec()));
        let node = Node {
            name: "node".to_owned(),
            remarks: Vec::new(),
            edges: Vec::new(),
            once: None,
            orphan: false,
            template,
        };
        let mut draft = draft(vec![node]);
        draft.labels =
            Labels { selecting, common: vec![named.clone(), label("app", "a"), label("version", "1")] };
        assert_eq!(evaluated(&draft), draft.rendered(), "{}", print::blueprint(&draft));
    }
}

/// Nickel knows one kind of numbers.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(numbers).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, it)| (name.clone(), numbers(it))).collect())
        }
        other => other.clone(),
    }
}

#[test]
fn short_things_stand_on_one_line_and_paths_have_dots() {
    let text = |text: &str| plain(What::Text(vec![Part::Literal(text.to_owned())]));
    let record = |fields: Vec<(&str, Expression)>| {
        plain(What::Record(fields.into_iter().map(|(name, it)| (name.to_owned(), it)).collect()))
    };
    let template = record(vec![
        ("kind", text("ConfigMap")),
        ("metadata", record(vec![("labels", record(vec![("a.b/c", text("x"))]))])),
        ("data", record(vec![("file", text("one\n%{two}\n")), ("if", text("\"%{x}\""))])),
    ]);
    let node = Node {
        name: "node".to_owned(),
        remarks: vec!["A remark.".to_owned()],
        edges: Vec::new(),
        once: None,
        orphan: false,
        template,
    };
    let wanted = r#"node = {
  # A remark.
  template = fun _the => {
    kind = "ConfigMap",
    metadata.labels."a.b/c" = "x",
    data = {
      file = m%%"
        one
        %{two}

      "%%,
      "if" = "\"\%{x}\"",
    },
  },
},
"#;
    assert_eq!(print::node(&node, 0), wanted);
}
