//! Blueprints whose objects are named by all kinds of expressions, planned for roots that differ.

use std::fmt::Write as _;
use std::sync::Arc;

use pemdas_core::blueprint::{Body, NamePart};
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

/// Whether the way it is written says what the expression is, in a function of `the`, and the expression.
const EXPRESSIONS: [(bool, &str); 43] = [
    (true, "the.root.metadata.name"),
    (true, "\"%{the.root.metadata.name}-db\""),
    (true, "suffixed the.root.metadata.name \"x\""),
    (true, "naming.plainly the.root"),
    (true, "let name_ = the.root.metadata.name in \"%{name_}-y\""),
    (true, "let rec f = fun text => \"%{text}-z\" in f the.root.data.env"),
    (true, "(fun text => suffixed text text) the.root.data.env"),
    (false, "naming.chosen the.root"),
    (false, "(naming & { chosen = fun root => \"other\" }).chosen the.root"),
    (
        false,
        "if the.root.data.env == \"prod\" then the.root.metadata.name else \"%{the.root.metadata.name}-%{the.root.data.env}\"",
    ),
    (false, "if the.root.metadata.name == \"a\" then \"first\" else \"second\""),
    (false, "of_root the"),
    (false, "std.string.replace \"application\" \"app\" the.root.metadata.name"),
    (false, "std.string.lowercase the.root.data.env"),
    (false, "std.string.uppercase the.root.data.env |> std.string.lowercase"),
    (false, "the.root.metadata.name |> std.string.replace \"a\" \"b\""),
    (false, "the.root.data.env |> match { \"prod\" => \"live\", _ => \"other\" }"),
    (false, "the.root.data.env |> match { \"prod\" => \"live\", name_ => \"%{name_}-other\" }"),
    (false, "(match { { env, .. } => env }) the.root.data"),
    (false, "let { env, .. } = the.root.data in env"),
    (false, "let { env = renamed, many = env, .. } = the.root.data in \"%{renamed}-%{env}\""),
    (false, "std.array.first (std.string.split \"-\" the.root.data.many)"),
    (false, "std.array.last (std.string.split \"/\" the.root.data.path)"),
    (false, "std.string.join \"-\" (std.string.split \"/\" the.root.data.path)"),
    (false, "std.string.join \"-\" [the.root.metadata.name, the.root.data.env]"),
    (false, "std.string.substring 0 1 the.root.data.env"),
    (false, "std.string.trim \" %{the.root.metadata.name} \""),
    (false, "short 20 \"application-%{the.root.metadata.name}-%{the.root.data.env}\""),
    (false, "short 63 the.root.metadata.name"),
    (false, "std.string.substring 0 8 (std.hash 'Sha256 the.root.metadata.name)"),
    (false, "std.string.lowercase (std.string.substring 0 4 (base64 the.root.metadata.name))"),
    (false, "at \"data.env\" \"z\" the.root"),
    (false, "at \"data.missing\" \"z\" the.root"),
    (false, "at \"metadata.name\" \"z\" the.root"),
    (false, "if std.record.has_field \"env\" the.root.data then \"has\" else \"has-not\""),
    (false, "if std.record.has_field \"gone\" the.root.data then \"has\" else \"has-not\""),
    (false, "std.array.first (std.record.fields the.root.data)"),
    (false, "the.root.data.\"%{the.root.data.env}-key\""),
    (false, "std.to_string (std.string.length the.root.metadata.name)"),
    (false, "std.string.from (std.string.is_match \"^a\" the.root.metadata.name)"),
    (false, "\"x-\" ++ the.root.data.env"),
    (true, "(the.root.metadata.labels.app | String)"),
    (false, "std.function.id the.root.metadata.name"),
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
fn only_what_is_put_together_is_called_a_pattern() {
    for (certain, expression) in EXPRESSIONS {
        let template = &templates(expression, "n")[0];
        let loaded = loaded(&format!("n = {{ template = {template} }}"), &["n".to_owned()]);
        let Body::Template(template) = &loaded.blueprint.unwrap().nodes["n"].body else { panic!() };
        assert_eq!(matches!(template.object.name, NamePart::Pattern(_)), certain, "{expression}");
    }
}
