//! Blueprints whose objects are named by all kinds of expressions, planned for roots that differ.

mod reads;

use std::fmt::Write as _;
use std::sync::Arc;

use pemdas_core::blueprint::{Body, NamePart, NameSegment};
use pemdas_core::diagnostic::Severity;
use pemdas_core::evaluate::{Answer, Evaluator, Question};
use pemdas_core::plan::{Plan, Verb, known_kinds, plan};
use pemdas_core::program::{Program, Revision};
use pemdas_core::world::{KindKey, Lease, LedgerFact, Live, ObjectKey, World};
use pemdas_nickel::{InProcess, Limits, Loaded, Renderer, Sources};
use serde_json::{Value, json};

/// What stands in front of every blueprint here.
const HEAD: &str = r#"
    let { Blueprint, at, short, base64, .. } = import "pemdas/v1.ncl" in
    let suffixed = fun text suffix => "%{text}-%{suffix}" in
    let of_root = fun the => if the.root.data.env == "prod" then the.root.metadata.name else "%{the.root.metadata.name}-x" in
    let naming = { plainly = fun root => root.metadata.name, chosen | default = fun root => root.data.env } in
    "#;

/// Counts the questions that reach the evaluator.
struct Counting {
    renderer: Renderer<InProcess>,
    asked: usize,
}

impl Evaluator for Counting {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        self.asked += batch.len();
        self.renderer.answers(batch)
    }
}

fn root(name: &str, env: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "shop", "labels": { "app": "yes" } },
        "data": { "env": env, "path": "one/two", "many": "a-b-c" },
    })
}

fn loaded(nodes: &str, also: &[String]) -> Loaded<InProcess> {
    let also: Vec<String> = also.iter().map(|it| format!("\"{it}\"")).collect();
    let text = format!(
        "{HEAD}{{ name = \"x\", nodes = {{
           app = {{ root = {{ apiVersion = \"v1\", kind = \"ConfigMap\", selector.matchLabels.app = \"yes\" }}, also = [{}] }},
           {nodes} }} }} | Blueprint",
        also.join(", ")
    );
    let loaded = Loaded::in_process(&Sources::single(&text), &Limits::default());
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|it| it.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    loaded
}

/// The plan for a root, and how many questions it took.
fn planned(loaded: &Loaded<InProcess>, root: &Value) -> (Plan, usize) {
    let (blueprint, graph) = (loaded.blueprint.clone().unwrap(), loaded.graph.as_ref().unwrap());
    let kinds = known_kinds(&blueprint);
    let revision = Revision { name: "r1".to_owned(), ordinal: 1 };
    let program = Program::new(blueprint, graph, "app", revision).unwrap();
    let name = root["metadata"]["name"].as_str().unwrap();
    let key = ObjectKey::new(KindKey::new("v1", "ConfigMap"), "shop", name);
    let mut world = World::new(key.clone(), "u");
    world.lease = Lease { held: true, epoch: 0 };
    world.ledger = LedgerFact::Absent;
    world.kinds = kinds;
    world.root.live = Some(Arc::new(Live {
        key,
        uid: "u".to_owned(),
        resource_version: 1,
        generation: None,
        terminating: false,
        finalizers: [].into(),
        managed: pemdas_core::packed::Packed::default(),
        body: root.clone().into(),
    }));
    let mut evaluator = Counting { renderer: loaded.renderer.clone().unwrap(), asked: 0 };
    let plan = plan(Some(&program), &mut world, &mut evaluator);
    (plan, evaluator.asked)
}

/// The objects that are made: node, name, namespace and object.
fn made(plan: &Plan) -> Vec<(String, String, String, Value)> {
    let steps = plan.rounds.iter().flat_map(|round| &round.steps).filter(|it| it.verb == Verb::Create);
    steps
        .map(|it| {
            let object = &it.object;
            let after = it.after.clone().unwrap();
            (it.slot.node.clone(), object.name.clone(), object.namespace.clone(), after)
        })
        .collect()
}

/// What is known of a name without an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// The way it is written proves that it is put together of these fields.
    Pattern,
    /// It is the same for every root.
    Fixed,
    /// Nothing: it is asked for.
    Nothing,
}
use Known::{Fixed, Nothing, Pattern};

/// What is known of an expression in a function of `the`, and the expression.
const EXPRESSIONS: [(Known, &str); 61] = [
    (Pattern, "the.root.metadata.name"),
    (Pattern, "\"%{the.root.metadata.name}-db\""),
    (Pattern, "suffixed the.root.metadata.name \"x\""),
    (Pattern, "naming.plainly the.root"),
    (Pattern, "let name_ = the.root.metadata.name in \"%{name_}-y\""),
    (Pattern, "let rec f = fun text => \"%{text}-z\" in f the.root.data.env"),
    (Pattern, "(fun text => suffixed text text) the.root.data.env"),
    (Nothing, "naming.chosen the.root"),
    (Fixed, "(naming & { chosen = fun root => \"other\" }).chosen the.root"),
    (Fixed, "\"fixed\""),
    (Fixed, "let rec f = fun text n => if n == 0 then \"end\" else f text (n - 1) in f the.root.data.env 3"),
    (Nothing, "(naming & { chosen = fun root => root.metadata.name }).chosen the.root"),
    (Nothing, "(naming & { plainly | force = fun root => root.data.env }).plainly the.root"),
    (Nothing, "(naming & { plainly | priority 2 = fun root => root.data.env }).plainly the.root"),
    (
        Nothing,
        "({ a = { name_ = the.root.metadata.name } } & { a | priority 2 = { name_ = the.root.data.env } }).a.name_",
    ),
    (Nothing, "({ name_ = the.root.metadata.name } & { name_ | force = the.root.data.env }).name_"),
    (
        Nothing,
        "({ name_ | default = the.root.metadata.name, long = \"%{name_}-x\" } & { name_ = the.root.data.env }).long",
    ),
    (
        Nothing,
        "let rec f = fun text n => if n == 0 then text else f \"%{text}-n\" (n - 1) in f the.root.data.env 2",
    ),
    (
        Pattern,
        "let rec odd = fun text => even text, even = fun text => \"%{text}-e\" in odd the.root.data.env",
    ),
    (
        Pattern,
        "let the_ = the in let the = { root.metadata.name = the_.root.data.env } in the.root.metadata.name",
    ),
    (Pattern, "(fun the => the.metadata.name) { metadata.name = the.root.data.env }"),
    (Nothing, "(suffixed the.root.metadata.name) \"x\""),
    (Nothing, "let part = suffixed the.root.metadata.name in part \"x\""),
    (Nothing, "(fun { env, .. } => env) the.root.data"),
    (Nothing, "{ \"%{the.root.data.env}\" = the.root.metadata.name }.\"%{the.root.data.env}\""),
    (Nothing, "let env = the.root.data.env in { include env }.env"),
    (Nothing, "let f | Dyn -> Dyn = fun text => text in f the.root.metadata.name"),
    (
        Nothing,
        "if the.root.data.env == \"prod\" then the.root.metadata.name else \"%{the.root.metadata.name}-%{the.root.data.env}\"",
    ),
    (Nothing, "if the.root.metadata.name == \"a\" then \"first\" else \"second\""),
    (Nothing, "of_root the"),
    (Nothing, "std.string.replace \"application\" \"app\" the.root.metadata.name"),
    (Nothing, "std.string.lowercase the.root.data.env"),
    (Nothing, "std.string.uppercase the.root.data.env |> std.string.lowercase"),
    (Nothing, "the.root.metadata.name |> std.string.replace \"a\" \"b\""),
    (Nothing, "the.root.data.env |> match { \"prod\" => \"live\", _ => \"other\" }"),
    (Nothing, "the.root.data.env |> match { \"prod\" => \"live\", name_ => \"%{name_}-other\" }"),
    (Nothing, "(match { { env, .. } => env }) the.root.data"),
    (Nothing, "let { env, .. } = the.root.data in env"),
    (Nothing, "let { env = renamed, many = env, .. } = the.root.data in \"%{renamed}-%{env}\""),
    (Nothing, "std.array.first (std.string.split \"-\" the.root.data.many)"),
    (Nothing, "std.array.last (std.string.split \"/\" the.root.data.path)"),
    (Nothing, "std.string.join \"-\" (std.string.split \"/\" the.root.data.path)"),
    (Nothing, "std.string.join \"-\" [the.root.metadata.name, the.root.data.env]"),
    (Nothing, "std.string.substring 0 1 the.root.data.env"),
    (Nothing, "std.string.trim \" %{the.root.metadata.name} \""),
    (Nothing, "short 20 \"application-%{the.root.metadata.name}-%{the.root.data.env}\""),
    (Nothing, "short 63 the.root.metadata.name"),
    (Nothing, "std.string.substring 0 8 (std.hash 'Sha256 the.root.metadata.name)"),
    (Nothing, "std.string.lowercase (std.string.substring 0 4 (base64 the.root.metadata.name))"),
    (Nothing, "at \"data.env\" \"z\" the.root"),
    (Nothing, "at \"data.missing\" \"z\" the.root"),
    (Nothing, "at \"metadata.name\" \"z\" the.root"),
    (Nothing, "if std.record.has_field \"env\" the.root.data then \"has\" else \"has-not\""),
    (Nothing, "if std.record.has_field \"gone\" the.root.data then \"has\" else \"has-not\""),
    (Nothing, "std.array.first (std.record.fields the.root.data)"),
    (Nothing, "the.root.data.\"%{the.root.data.env}-key\""),
    (Nothing, "std.to_string (std.string.length the.root.metadata.name)"),
    (Nothing, "std.string.from (std.string.is_match \"^a\" the.root.metadata.name)"),
    (Nothing, "\"x-\" ++ the.root.data.env"),
    (Pattern, "(the.root.metadata.labels.app | String)"),
    (Nothing, "std.function.id the.root.metadata.name"),
];

/// What stands around the metadata must not matter either. Each object has a namespace of its own: many have one name.
fn templates(expression: &str, namespace: &str) -> [String; 4] {
    let config = "apiVersion = \"v1\", kind = \"ConfigMap\"";
    [
        format!(
            "fun the => {{ {config}, metadata.name = {expression}, metadata.namespace = \"{namespace}\", data.name = {expression} }}"
        ),
        format!(
            "fun the => {{ {config}, metadata = {{ name = {expression}, namespace = \"{namespace}\" }} }} & {{ data.name = {expression} }}"
        ),
        format!(
            "fun the => let name_ = {expression} in {{ {config}, data.name = name_, metadata.namespace = \"{namespace}\" }} & {{ metadata.name = name_ }}"
        ),
        format!(
            "let named = fun the name_ => {{ {config}, metadata = {{ name = name_, namespace = \"{namespace}\" }}, data.name = name_ }} in fun the => named the ({expression})"
        ),
    ]
}

#[test]
fn a_name_is_what_its_expression_says() {
    let mut compared = 0;
    for variant in 0..4 {
        let mut nodes = String::new();
        let mut also = Vec::new();
        for (at, (_, expression)) in EXPRESSIONS.iter().enumerate() {
            let template = &templates(expression, &format!("n{at}"))[variant];
            let _ = writeln!(nodes, "n{at} = {{ template = {template} }},");
            also.push(format!("n{at}"));
        }
        let loaded = loaded(&nodes, &also);
        for (name, env) in
            [("a", "prod"), ("application", "Staging"), ("application-with-a-long-name", "prod-2")]
        {
            let mut root = root(name, env);
            root["data"][format!("{env}-key")] = json!("found");
            let (plan, _) = planned(&loaded, &root);
            let made = made(&plan);
            assert_eq!(made.len(), EXPRESSIONS.len(), "{:#?}", plan.nodes);
            for (node, name, _, object) in made {
                let (_, expression) = EXPRESSIONS[node[1..].parse::<usize>().unwrap()];
                assert_eq!(object["data"]["name"], json!(name), "{expression}");
                assert_eq!(object["metadata"]["name"], json!(name), "{expression}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, EXPRESSIONS.len() * 4 * 3);
}

/// A namespace is said by an expression as much as a name is.
#[test]
fn a_namespace_is_what_its_expression_says() {
    let mut nodes = String::new();
    let mut also = Vec::new();
    for (at, (_, expression)) in EXPRESSIONS.iter().enumerate() {
        let _ = writeln!(
            nodes,
            "n{at} = {{ template = fun the => {{ apiVersion = \"v1\", kind = \"ConfigMap\",
               metadata = {{ name = \"n{at}\", namespace = {expression} }}, data.namespace = {expression} }} }},"
        );
        also.push(format!("n{at}"));
    }
    let loaded = loaded(&nodes, &also);
    let mut root = root("application", "Staging");
    root["data"]["Staging-key"] = json!("found");
    let (plan, _) = planned(&loaded, &root);
    let made = made(&plan);
    assert_eq!(made.len(), EXPRESSIONS.len(), "{:#?}", plan.nodes);
    for (node, _, namespace, object) in made {
        let (_, expression) = EXPRESSIONS[node[1..].parse::<usize>().unwrap()];
        assert_eq!(object["data"]["namespace"], json!(namespace), "{expression}");
    }
}

/// The name of an object of a member, and of what is observed or kept away.
#[test]
fn members_have_the_names_that_their_expressions_say() {
    let config = "apiVersion = \"v1\", kind = \"ConfigMap\"";
    let loaded = loaded(
        &format!(
            "n = {{ for_each = fun the => {{ one = {{ size = \"S\" }}, two = {{ size = \"L\" }} }},
                   template = fun the =>
                     let name_ = \"%{{the.each.key}}-%{{std.string.lowercase the.each.value.size}}\" in
                     {{ {config}, metadata.name = name_, data.name = name_ }} }}"
        ),
        &["n".to_owned()],
    );
    let (plan, _) = planned(&loaded, &root("a", "prod"));
    let made = made(&plan);
    let names: Vec<&str> = made.iter().map(|(_, name, ..)| name.as_str()).collect();
    assert_eq!(names, ["one-s", "two-l"]);
    assert!(made.iter().all(|(_, name, _, object)| object["data"]["name"] == json!(name)));
}

/// The digest of a long name keeps roots apart: it is one of the name, and of nothing that stands in its place.
#[test]
fn roots_with_long_names_do_not_collide() {
    let loaded = loaded(
        "n = { template = fun the => { apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = short 20 \"application-%{the.root.metadata.name}\" } }",
        &["n".to_owned()],
    );
    let name = |root: &Value| made(&planned(&loaded, root).0).remove(0).1;
    let (one, two) = (name(&root("with-a-long-name-1", "prod")), name(&root("with-a-long-name-2", "prod")));
    assert_ne!(one, two);
    assert!(one.len() <= 20 && two.len() <= 20, "{one} {two}");
}

/// What is put together of fields costs no question of its own, whatever else the template does.
#[test]
fn a_plain_name_is_no_question() {
    let template = |name: &str| {
        format!(
            "n = {{ template = fun the => {{ apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = {name}, data.env = std.string.lowercase the.root.data.env }} }}"
        )
    };
    let asked = |name: &str| planned(&loaded(&template(name), &["n".to_owned()]), &root("a", "prod")).1;
    assert_eq!(asked("\"%{the.root.metadata.name}-x\""), 1);
    assert_eq!(asked("std.string.lowercase the.root.metadata.name"), 2);
}

/// A name that comes out otherwise without what comes from precursors is nobody's name.
#[test]
fn a_name_that_depends_on_a_precursor_makes_nothing() {
    let config = "apiVersion = \"v1\", kind = \"ConfigMap\"";
    let loaded = loaded(
        &format!(
            "n = {{ before.v.extract = fun v => {{ include v }},
                    template = fun the => {{ {config}, metadata.name = at \"v.v\" \"none\" the }} }},
             v = {{ value = \"some\" }}"
        ),
        &["n".to_owned(), "v".to_owned()],
    );
    let (plan, _) = planned(&loaded, &root("a", "prod"));
    assert!(made(&plan).is_empty(), "{plan:#?}");
    let said = format!("{:?}", plan.nodes);
    assert!(said.contains("late_name"), "{said}");
}

#[test]
fn only_what_is_proved_is_known_without_an_instance() {
    for (wanted, expression) in EXPRESSIONS {
        let template = &templates(expression, "n")[0];
        let loaded = loaded(&format!("n = {{ template = {template} }}"), &["n".to_owned()]);
        let Body::Template(template) = &loaded.blueprint.unwrap().nodes["n"].body else { panic!() };
        let known = match &template.object.name {
            NamePart::Pattern(parts) if parts.iter().all(|it| matches!(it, NameSegment::Text(_))) => Fixed,
            NamePart::Pattern(_) => Pattern,
            NamePart::Missing | NamePart::Computed(_) => Nothing,
        };
        assert_eq!(known, wanted, "{expression}: {:?}", template.object.name);
    }
}

/// What flows along an edge is what its expression says, however the live object goes into it.
#[test]
fn what_is_taken_from_a_precursor_is_what_its_expression_says() {
    let v = json!({ "x": 1, "y": { "z": "s" } });
    let forms = [
        ("fun a => { include a }", json!({ "a": v })),
        ("fun a => let b = a.y in { include [a, b] }", json!({ "a": v, "b": { "z": "s" } })),
        ("fun { x, y, .. } => { include [x, y] }", v.clone()),
        ("fun a => { deep = { include a } }", json!({ "deep": { "a": v } })),
        ("fun a => a & { more = 1 }", json!({ "x": 1, "y": { "z": "s" }, "more": 1 })),
        ("fun a => { x = a.x } & { z = a.y.z }", json!({ "x": 1, "z": "s" })),
        ("fun a => std.record.insert \"more\" a.x a", json!({ "x": 1, "y": { "z": "s" }, "more": 1 })),
        ("let kept = fun t => { it = t } in fun a => kept a", json!({ "it": v })),
        ("let part = fun t => { it = t.y } in fun a => part a", json!({ "it": { "z": "s" } })),
        ("fun a => { it = [a] }", json!({ "it": [v] })),
    ];
    let mut nodes = "v = { value = { x = 1, y = { z = \"s\" } } },".to_owned();
    let mut also = vec!["v".to_owned()];
    for (at, (form, _)) in forms.iter().enumerate() {
        let _ = writeln!(
            nodes,
            "n{at} = {{ before.v.extract = {form}, template = fun the => {{ apiVersion = \"v1\", kind = \"ConfigMap\",
               metadata.name = \"n{at}\", data.got = std.serialize 'Json the.v }} }},"
        );
        also.push(format!("n{at}"));
    }
    let (plan, _) = planned(&loaded(&nodes, &also), &root("a", "prod"));
    let made = made(&plan);
    assert_eq!(made.len(), forms.len(), "{:#?}", plan.nodes);
    for (node, _, _, object) in made {
        let (form, wanted) = &forms[node[1..].parse::<usize>().unwrap()];
        let got: Value = serde_json::from_str(object["data"]["got"].as_str().unwrap()).unwrap();
        assert_eq!(got, *wanted, "{form}");
    }
}
