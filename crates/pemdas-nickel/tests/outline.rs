//! What is wrong with a blueprint is told all at once, each with its code and its place; what is right is not.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod reading;

use pemdas_core::blueprint::{
    Blueprint, Body, NamePart, NameSegment, Removal, RootTarget, StaticText, WantedShapeForm,
};
use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::shape::Shape;
use pemdas_nickel::outline::{self, Outline};
use pemdas_nickel::{Limits, Sources};

const HEAD: &str =
    "let { Blueprint, Int, OneOf, Ready, Available, Failed, all_of, at, fits, labels_of, not, short, .. } =
  import \"pemdas/v1.ncl\" in\n";

fn sources(body: &str) -> Sources {
    Sources::single(format!("{HEAD}{body}"))
}

fn outline_of(sources: &Sources) -> Outline {
    outline::load(sources, &Limits::default()).1
}

/// Code and text of the primary place, in order.
fn told(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<(String, String)> {
    let text_of = |diagnostic: &Diagnostic| {
        let span = &diagnostic.labels.iter().find(|label| label.primary).expect("a place to mend").span;
        let text = sources.get(&span.file).expect("a file of the blueprint");
        text.get(span.start as usize..span.end as usize).expect("a range of the file").to_owned()
    };
    diagnostics.iter().map(|diagnostic| (diagnostic.code.clone(), text_of(diagnostic))).collect()
}

/// Checks the nodes of a blueprint: which diagnostics there are, and where.
fn nodes_give(nodes: &str, expected: &[(&str, &str)]) {
    let sources = sources(&format!("{{ name = \"test\", nodes = {{ {nodes} }} }} | Blueprint"));
    let outline = outline_of(&sources);
    let found = told(&outline.diagnostics, &sources);
    let found: Vec<(&str, &str)> = found.iter().map(|(code, text)| (code.as_str(), text.as_str())).collect();
    assert_eq!(found, expected, "{nodes}\n{}", reading::shown(&outline.diagnostics, &sources));
}

fn clean(sources: &Sources) -> Blueprint {
    let outline = outline_of(sources);
    assert!(outline.diagnostics.is_empty(), "{}", reading::shown(&outline.diagnostics, sources));
    outline.blueprint.expect("a blueprint")
}

fn clean_nodes(nodes: &str) -> Blueprint {
    clean(&sources(&format!("{{ name = \"test\", nodes = {{ {nodes} }} }} | Blueprint")))
}

const POD: &str = "apiVersion = \"v1\", kind = \"Pod\"";

#[test]
fn all_problems_come_at_once() {
    nodes_give(
        "a = { value = null, befor = [], also = 3, once = true },
         b = { template = fun the => { apiVersion = \"v1\", kind = \"Pod\", metadata.name = \"b\" }, own = 'Shared, conflict = \"No\",
               before.a = { within = 3, unti = Ready, extract = 4 }, ready = 5, lane = 1 },
         c = {},
         d = 7,
         e = { template = 3 },
         f = { observe = { apiVersion = \"v1\", kind = \"Pod\" }, optional = \"yes\" },
         g = { root = { apiVersion = \"v1\" }, deleting = [\"b\"] },
         h = { value = null, deleting = [\"b\"], for_each = [\"x\"] }",
        &[
            ("PM0204", "befor"),
            ("PM0201", "3"),
            ("PM0205", "once"),
            ("PM0203", "'Shared"),
            ("PM0206", "\"No\""),
            ("PM0203", "3"),
            ("PM0204", "unti"),
            ("PM0201", "4"),
            ("PM0201", "5"),
            ("PM0203", "lane"),
            ("PM0202", "{}"),
            ("PM0201", "7"),
            ("PM0201", "3"),
            ("PM0210", "{ apiVersion = \"v1\", kind = \"Pod\" }"),
            ("PM0201", "\"yes\""),
            ("PM0201", "{ apiVersion = \"v1\" }"),
            ("PM0203", "deleting"),
            ("PM0203", "for_each"),
        ],
    );
}

#[test]
fn what_is_later_is_refused_with_its_name() {
    for (clause, shown) in [
        ("clock = \"x\", value = null", "clock"),
        ("value = null, keep = 3", "keep"),
        ("value = null, before.a = { \"for\" = 3 }", "3"),
        (
            "template = { apiVersion = \"v1\", kind = \"Pod\", metadata.name = \"a\" }, own = \"Fields\"",
            "\"Fields\"",
        ),
    ] {
        nodes_give(&format!("x = {{ {clause} }}"), &[("PM0203", shown)]);
    }
}

#[test]
fn a_clause_stands_where_it_means_something() {
    for (node, clause) in [
        ("value = null, ready = Ready", "ready"),
        ("value = null, fails = Failed", "fails"),
        ("value = null, key = fun the => 1", "key"),
        ("value = null, own = 'Adopt", "own"),
        ("value = null, having = Ready", "having"),
        ("value = null, optional = true", "optional"),
        ("value = null, status = fun the => {}", "status"),
        ("root = { apiVersion = \"v1\", kind = \"Pod\" }, conditions = fun the => {}", "conditions"),
        ("root = { apiVersion = \"v1\", kind = \"Pod\" }, before = [\"a\"]", "before"),
        ("root = { apiVersion = \"v1\", kind = \"Pod\" }, for_each = fun the => {}", "for_each"),
        ("template = {}, state_of = \"a\", on_delete = 'Orphan", "on_delete"),
    ] {
        nodes_give(&format!("x = {{ {node} }}"), &[("PM0205", clause)]);
    }
}

#[test]
fn an_edge_says_which_end_goes_first_or_that_either_may() {
    let edge =
        |clause: &str| format!("y = {{ value = 1 }}, x = {{ value = null, before.y = {{ {clause} }} }}");
    nodes_give(&edge("removal = 'Never"), &[("PM0206", "'Never")]);
    nodes_give(&edge("removals = 'Any"), &[("PM0204", "removals")]);
    clean_nodes(&edge("removal = 'Reverse"));
    let nodes = edge("removal = 'Any");
    let blueprint = clean(&sources(&format!("{{ name = \"test\", nodes = {{ {nodes} }} }} | Blueprint")));
    assert_eq!(blueprint.nodes["x"].before["y"].removal, Removal::Any);
}

#[test]
fn names_that_mean_something_else_are_told() {
    nodes_give("x = { value = fun the => let a = 1 in { a = a } }", &[("PM0220", "a")]);
    nodes_give("x = { value = fun the => let a = \"1\" in { b = { a = \"%{a}-x\" } } }", &[("PM0220", "a")]);
    nodes_give("x = { value = fun the => let a = { b = 1 } in { a.b = a.b } }", &[("PM0220", "a")]);
    nodes_give("x = { value = fun { root, .. } => { root = root.metadata.name } }", &[("PM0222", "root")]);
    nodes_give(
        "x = { value = fun { root, .. } => { root = 1, b = root.metadata.name } }",
        &[("PM0222", "root")],
    );
    nodes_give("y = { value = 1 }, x = { value = fun the => y.status }", &[("PM0221", "y")]);
    nodes_give("x = { value = fun the => key.a, key = 3 }", &[("PM0221", "key"), ("PM0205", "key")]);
    nodes_give(
        "y = { value = 1 }, x = { value = null, also = { y = { when = fun the => y.a } } }",
        &[("PM0221", "y")],
    );
}

#[test]
fn names_that_mean_what_they_say_are_not() {
    clean_nodes(
        "y = { template = fun the => { apiVersion = \"v1\", kind = \"Pod\", metadata.name = the.root.metadata.name } },
         x = { template = fun the => y.template the & { metadata.labels.a = \"b\" }, late_name = true },
         z = { value = fun the => let name = 1 in { metadata.name = name, b = { include name } } },
         w = { value = fun the => { a = 1, b = a + 1, c = fun d => { d = 1 }, e = [{ a = b }] } },
         v = { value = fun the => let y = 2 in y + 1 }",
    );
}

#[test]
fn comparisons_that_never_hold_are_told() {
    nodes_give("x = { value = fun the => the.root.spec.a == 'B }", &[("PM0223", "'B")]);
    nodes_give("x = { value = fun the => 'B != the.root.spec.a }", &[("PM0223", "'B")]);
    nodes_give(
        "x = { value = fun the => the.root.spec.a |> match { 'B => 1, _ => 2 } }",
        &[("PM0223", "'B")],
    );
    nodes_give(
        "x = { value = fun the => the.root.metadata.uid >= the.seed }",
        &[("PM0226", "the.root.metadata.uid")],
    );
    nodes_give("x = { value = fun the => \"a\" < \"b\" }", &[("PM0226", "\"a\"")]);
    clean_nodes(
        "x = { value = fun the => the.root.spec.a == \"B\" && the.root.spec.n < 3 },
         y = { value = fun the => std.string.compare \"a\" \"b\" == 'Lesser },
         z = { value = fun the => the.root.spec.a |> match { \"B\" => 1, _ => 2 } }",
    );
}

#[test]
fn fields_of_owned_kinds_are_known() {
    let text = "{
      name = \"test\",
      kinds.App = { group = \"a.b\", versions.v1.spec = { tier | OneOf [\"a\"], mode | [| 'X |], n | Int, s | String } },
      nodes = { app = { root = kinds.App }, x = { value = fun the => the.root.spec.s < the.root.spec.tier || the.root.spec.n < 3 } },
    } | Blueprint";
    let sources = sources(text);
    let outline = outline_of(&sources);
    let found = told(&outline.diagnostics, &sources);
    let expected = [("PM0223", "[| 'X |]"), ("PM0226", "the.root.spec.s")];
    assert_eq!(found, expected.map(|(code, text)| (code.to_owned(), text.to_owned())));
}

#[test]
fn merges_that_cannot_be_are_told() {
    nodes_give("x = { value = fun the => { a.b = 1 } & { a = { b = 2 } } }", &[("PM0225", "b")]);
    nodes_give(
        "x = { value = let base = { a = \"1\", c = 1 } in fun the => base & { a = the.seed } }",
        &[("PM0225", "a")],
    );
    clean_nodes(
        "x = { value = fun the => { a.b | default = 1 } & { a = { b = 2 } } & { c = 3 } },
         y = { value = fun the => { a = 1 } & { a | force = 2 } },
         z = { value = fun the => { a = 1, b = labels_of \"x\" the.root } & { a = 1, b = { c = 2 } } }",
    );
}

#[test]
fn inputs_outside_of_functions_are_told() {
    nodes_give("x = { value = the.root.a }", &[("PM0227", "the")]);
    nodes_give("x = { value = fun the => root.metadata.name }", &[("PM0227", "root")]);
}

#[test]
fn kinds_are_checked() {
    let text = "{ name = \"test\", kinds = {
      Good = { group = \"a.b\", versions.v1.spec = { a | String } },
      bad = { group = \"a.b\", versions.v1 = {} },
      Other = { versions = { one = {} }, scop = 'Cluster },
      Two = { group = \"a.b\", versions = { v1 = {}, v2 = {} } },
    }, nodes = {} } | Blueprint";
    let sources = sources(text);
    let outline = outline_of(&sources);
    let found = told(&outline.diagnostics, &sources);
    let expected =
        [("PM0209", "bad"), ("PM0209", "Other"), ("PM0209", "one"), ("PM0204", "scop"), ("PM0209", "Two")];
    assert_eq!(
        found,
        expected.map(|(code, text)| (code.to_owned(), text.to_owned())),
        "{}",
        reading::shown(&outline.diagnostics, &sources)
    );
}

#[test]
fn what_is_no_blueprint_is_told() {
    for (text, code) in [
        ("3", "PM0200"),
        ("{ name = \"a\", nodes = {} }", "PM0200"),
        ("{ nodes = {} } | Blueprint", "PM0200"),
        ("{ name = \"a\" } | Blueprint", "PM0200"),
        ("{ name = \"a\", nodes = {}, more = 1 } | Blueprint", "PM0200"),
        ("{ name = \"A B\", nodes = {} } | Blueprint", "PM0004"),
        ("{ name = \"a\", nodes = 3 } | Blueprint", "PM0004"),
        ("{ name = \"a\", nodes = {} } | Blueprint)", "PM0001"),
    ] {
        let sources = sources(text);
        let outline = outline_of(&sources);
        let codes: Vec<&str> = outline.diagnostics.iter().map(|it| it.code.as_str()).collect();
        assert_eq!(codes, [code], "{text}\n{}", reading::shown(&outline.diagnostics, &sources));
    }
}

fn identity(blueprint: &Blueprint, node: &str) -> (StaticText, NamePart) {
    let object = blueprint.nodes[node].body.identity().expect("an object");
    (object.kind.clone(), object.name.clone())
}

/// A name as text, inputs in angle brackets.
fn pattern(part: &NamePart) -> String {
    match part {
        NamePart::Missing => "missing".to_owned(),
        NamePart::Computed(reads) => {
            let reads: Vec<String> = reads.iter().map(|read| read.path.join(".")).collect();
            format!("computed from {}", reads.join(", "))
        }
        NamePart::Pattern(segments) => segments
            .iter()
            .map(|segment| match segment {
                NameSegment::Text(text) => text.clone(),
                NameSegment::Input(read) => format!("<{}>", read.path.join(".")),
            })
            .collect(),
    }
}

#[test]
fn kind_and_name_are_found_whatever_they_go_through() {
    let blueprint = clean(&sources(&format!(
        "let named = fun root suffix => \"%{{root.metadata.name}}-%{{suffix}}\" in
         let pod = fun the name_ => {{ {POD}, metadata = {{ name = name_, labels = labels_of \"x\" the.root }} }} in
         {{ name = \"test\", nodes = {{
           plain = {{ template = fun the => {{ {POD}, metadata.name = the.root.metadata.name }} }},
           fixed = {{ template = {{ {POD}, metadata.name = \"a\" }} }},
           helped = {{ template = fun the => pod the (named the.root \"x\") }},
           member = {{ for_each = fun the => {{}}, template = fun the => pod the \"%{{the.root.spec.a}}-%{{the.each.key}}\" }},
           merged = {{ template = fun the => pod the \"b\" & {{ metadata.annotations.a = the.seed }} }},
           cut = {{ template = fun the => pod the (std.string.substring 0 1 the.root.metadata.name) }},
           late = {{ before.plain.extract = fun live => live, late_name = true,
                     template = fun the => pod the the.plain.metadata.uid }},
           seen = {{ observe = fun the => {{ apiVersion = \"v1\", kind = \"Node\", selector.matchLabels.a = the.seed }} }},
         }} }} | Blueprint"
    )));
    for (node, name) in [
        ("plain", "<root.metadata.name>"),
        ("fixed", "a"),
        ("helped", "<root.metadata.name>-x"),
        ("member", "<root.spec.a>-<each.key>"),
        ("merged", "b"),
        ("late", "computed from plain.metadata.uid"),
        ("seen", "missing"),
    ] {
        let (kind, found) = identity(&blueprint, node);
        assert!(matches!(kind, StaticText::Known(_)), "{node}: {kind:?}");
        assert_eq!(pattern(&found), name, "{node}");
    }
    let (_, cut) = identity(&blueprint, "cut");
    assert!(matches!(cut, NamePart::Computed(_)), "{cut:?}");
    assert!(matches!(&blueprint.nodes["seen"].body, Body::Observe(seen) if seen.by_selector));
}

#[test]
fn a_kind_that_depends_on_an_instance_says_where() {
    let text = format!(
        "{{ name = \"test\", nodes = {{
          a = {{ template = fun the => {{ apiVersion = \"v1\", kind = the.root.spec.kind, metadata.name = \"a\" }} }},
          b = {{ template = fun the => if the.root.spec.big then {{ {POD}, metadata.name = \"b\" }} else {{}} }},
        }} }} | Blueprint"
    );
    let sources = sources(&text);
    let blueprint = clean(&sources);
    for (node, shown, says) in
        [("a", "the.root", "it reads the.root"), ("b", "the.root", "a condition around the whole object")]
    {
        let (kind, _) = identity(&blueprint, node);
        let StaticText::Unknown { why, span: Some(span) } = kind else { panic!("{node}: {kind:?}") };
        assert!(why.contains(says), "{node}: {why}");
        let text = sources.get(&span.file).expect("the file");
        assert!(text[span.start as usize..span.end as usize].starts_with(shown), "{node}: {span:?}");
    }
}

fn reads(blueprint: &Blueprint, node: &str) -> Vec<String> {
    let Body::Value(function) = &blueprint.nodes[node].body else { panic!("{node} is a value") };
    function.reads.iter().map(|read| read.path.join(".")).collect()
}

#[test]
fn reads_are_followed_into_the_authors_own_functions() {
    let parts = "{ helper = fun the => the.b.c, other = fun x the => \"%{x} %{the.e}\" }";
    let main = format!(
        "{HEAD}let parts = import \"parts.ncl\" in
         let near = fun n the => the.d + n in
         {{ name = \"test\", nodes = {{
           chain = {{ value = fun the => the.root.spec.image }},
           shadow = {{ value = fun the => (fun the => the.no) the.yes }},
           local = {{ value = fun the => near 1 the }},
           imported = {{ value = fun the => parts.helper the ++ parts.other \"x\" the }},
           whole = {{ value = fun the => std.serialize 'Json the }},
           apart = {{ value = fun {{ root, a, .. }} => root.x + a }},
           constant = {{ value = {{ a = 1 }} }},
           made = {{ value = let f = fun n the => the.g + n in fun the => f 1 the }},
         }} }} | Blueprint"
    );
    let blueprint = clean(&Sources::single(main).with("parts.ncl", parts));
    for (node, expected) in [
        ("chain", vec!["root.spec.image"]),
        ("shadow", vec!["yes"]),
        ("local", vec!["d"]),
        ("imported", vec!["b.c", "e"]),
        ("whole", vec![""]),
        ("apart", vec!["root.x", "a"]),
        ("constant", vec![]),
        ("made", vec!["g"]),
    ] {
        assert_eq!(reads(&blueprint, node), expected, "{node}");
    }
}

#[test]
fn a_blueprint_may_have_several_files() {
    let main = format!(
        "{HEAD}{{ name = \"test\", kinds = import \"kinds.ncl\", nodes = (import \"parts/nodes.ncl\") & {{ more = {{ value = 1, also = [\"x\"] }} }} }}
         | Blueprint"
    );
    let sources = Sources::single(main)
        .with("kinds.ncl", "{ App = { group = \"a.b\", versions.v1.spec = { a | String } } }")
        .with("parts/nodes.ncl", "let { Ready, .. } = import \"pemdas/v1.ncl\" in\n{ app = { root = \"App\", also = [\"x\"] }, x = { value = null, before.more.until = Ready } }");
    let blueprint = clean(&sources);
    let app = &blueprint.nodes["app"];
    assert_eq!(app.span.file, "parts/nodes.ncl");
    assert_eq!(app.also["x"].span.file, "parts/nodes.ncl");
    assert_eq!(blueprint.nodes["more"].span.file, "main.ncl");
    assert!(matches!(&app.body, Body::Root(root) if root.target == RootTarget::Owned("App".to_owned())));
    let until = blueprint.nodes["x"].before["more"].until.as_ref().expect("a shape");
    assert_eq!(until.form, WantedShapeForm::Native(Shape::Ready));
}

#[test]
fn shapes_are_data_functions_or_contracts() {
    let blueprint = clean_nodes(&format!(
        "a = {{ template = {{ {POD}, metadata.name = \"a\" }}, ready = {{ a.b = at_least_two }} }},
         b = {{ template = {{ {POD}, metadata.name = \"b\" }}, ready = fun the => {{ a = the.seed }} }},
         c = {{ template = {{ {POD}, metadata.name = \"c\" }}, ready = fits {{ a | Int }} }},
         d = {{ template = {{ {POD}, metadata.name = \"d\" }}, ready = all_of [Ready, not Failed, fits {{ a | Int }}] }},
         e = {{ template = {{ {POD}, metadata.name = \"e\" }}, ready = {{ spec.port = Int }} }}"
    ).replace("at_least_two", "[1, \"x\"]"));
    let form = |node: &str| blueprint.nodes[node].ready.as_ref().expect("a shape").form.clone();
    assert!(matches!(form("a"), WantedShapeForm::Native(Shape::Has(_))));
    assert!(matches!(form("b"), WantedShapeForm::Function(function) if function.reads.len() == 1));
    assert!(
        matches!(form("c"), WantedShapeForm::Contract(contract) if contract.path == ["nodes", "c", "ready", "contract"])
    );
    let WantedShapeForm::Native(Shape::AllOf(parts)) = form("d") else { panic!("{:?}", form("d")) };
    let path = ["nodes", "d", "ready", "shapes", "2", "contract"].map(str::to_owned);
    assert_eq!(parts[2], Shape::Contract(path.to_vec()));
    assert!(matches!(form("e"), WantedShapeForm::Native(Shape::Has(_))));
}

/// Checks a whole program beside a file `own.ncl`: what is told, where, and what is hinted.
fn program_gives(program: &str, expected: &[(&str, &str, &str)]) {
    let sources =
        Sources::single(program).with("own.ncl", "{ one = 1, two = 2 }").with("data.yaml", "a: 1\n");
    let outline = outline_of(&sources);
    let hints = outline.diagnostics.iter().map(|it| it.hint.clone().unwrap_or_default());
    let found: Vec<(String, String, String)> = told(&outline.diagnostics, &sources)
        .into_iter()
        .zip(hints)
        .map(|((code, text), hint)| (code, text, hint))
        .collect();
    let found: Vec<(&str, &str, &str)> =
        found.iter().map(|(code, text, hint)| (code.as_str(), text.as_str(), hint.as_str())).collect();
    assert_eq!(found, expected, "{program}\n{}", reading::shown(&outline.diagnostics, &sources));
}

#[test]
fn a_name_that_an_import_does_not_have_is_told_with_what_was_meant() {
    let rest = "in { name = \"test\", nodes = {} } | Blueprint";
    program_gives(
        &format!("let {{ Blueprint, Intt, Nta, .. }} = import \"pemdas/v1.ncl\" {rest}"),
        &[("PM0230", "Intt", "did you mean `Int`?"), ("PM0230", "Nta", "did you mean `Nat`?")],
    );
    program_gives(
        &format!("let {{ Blueprint, Int }} = import \"pemdas/v1.ncl\" {rest}"),
        &[("PM0230", "{ Blueprint, Int }", "end the pattern in `..`: `{ Blueprint, Int, .. }`")],
    );
    program_gives(
        &format!("let {{ Blueprint, Zzzzzzzz, .. }} = import \"pemdas/v1.ncl\" {rest}"),
        &[("PM0230", "Zzzzzzzz", "the pages of the language list what the library has")],
    );
    // Where it is read by its name, even if nothing evaluates it.
    program_gives(
        "let p = import \"pemdas/v1.ncl\" in
         { name = \"test\", nodes.a = { value = fun the => p.labels_off the.root } } | p.Blueprint",
        &[("PM0230", "labels_off", "did you mean `labels_of`?")],
    );
    // The blueprint's own files.
    let own = |file: &str| {
        format!(
            "let {{ Blueprint, .. }} = import \"pemdas/v1.ncl\" in let {{ twoo, .. }} = import \"{file}\" {rest}"
        )
    };
    program_gives(&own("own.ncl"), &[("PM0230", "twoo", "did you mean `two`?")]);
    program_gives(&own("data.yaml"), &[("PM0230", "twoo", "it has: a")]);
    // A default makes do without it, and what nobody evaluates fails nobody.
    program_gives(
        &format!(
            "let {{ Blueprint, Intt ? 3, .. }} = import \"pemdas/v1.ncl\" in
             let data = fun _x => (let {{ twoo, .. }} = import \"own.ncl\" in twoo) {rest}"
        ),
        &[],
    );
}

const WEB: &str = "web = { template = fun the => {
  apiVersion = \"apps/v1\", kind = \"Deployment\", metadata.name = NAME, spec = { REPLICAS
    selector.matchLabels.app = \"web\",
    template = { metadata.labels.app = \"web\", spec.containers = [{ name = \"web\", image = \"web:1\" }] },
  },
} EXTRA }";

const HPA: &str = "hpa = { template = fun the => {
  apiVersion = \"autoscaling/v2\", kind = \"HorizontalPodAutoscaler\", metadata.name = \"hpa\",
  spec = { maxReplicas = 5, scaleTargetRef = { apiVersion = \"apps/v1\", kind = \"KIND\", name = TARGET } },
} }";

#[test]
fn a_number_of_replicas_beside_an_autoscaler_is_told() {
    let nodes = |name: &str, target: &str, kind: &str, replicas: &str, extra: &str| {
        let web = WEB.replace("NAME", name).replace("REPLICAS", replicas).replace("EXTRA", extra);
        format!(
            "app.also = [\"web\", \"hpa\"], app.value = fun _the => {{}}, {web}, {}",
            HPA.replace("TARGET", target).replace("KIND", kind)
        )
    };
    let app = "the.root.metadata.name";
    let told = [("PM0233", "3")];
    // The same name, literally or as it is written, or the only one of its kind.
    for (name, target) in [("\"web\"", "\"web\""), (app, app), (app, "\"%{the.root.metadata.name}\"")] {
        nodes_give(&nodes(name, target, "Deployment", "replicas = 3,", ""), &told);
    }
    let silent = [
        ("\"web\"", "\"other\"", "Deployment", "replicas = 3,", ""),
        (app, app, "StatefulSet", "replicas = 3,", ""),
        (app, app, "Deployment", "", ""),
        (app, app, "Deployment", "replicas = null,", ""),
        (app, app, "Deployment", "replicas = 3,", ", conflict = 'Yield"),
        (app, app, "Deployment", "replicas = 3,", ", conflict = 'Force"),
    ];
    for (name, target, kind, replicas, extra) in silent {
        nodes_give(&nodes(name, target, kind, replicas, extra), &[]);
    }
    // Of several of the kind, only the one of that name.
    let second =
        WEB.replace("web =", "second =").replace("NAME", "\"second\"").replace("REPLICAS", "replicas = 4,");
    let both = format!(
        "{}, {}",
        nodes("\"web\"", "\"web\"", "Deployment", "replicas = 3,", ""),
        second.replace("EXTRA", "")
    );
    nodes_give(&both.replace("[\"web\", \"hpa\"]", "[\"web\", \"hpa\", \"second\"]"), &told);
}

#[test]
fn a_job_that_deletes_itself_is_a_once() {
    let node = |kind: &str, spec: &str, extra: &str| {
        format!(
            "app = {{ root = {{ apiVersion = \"v1\", kind = \"Namespace\" }}, also = [\"job\"] }},\n\
             job = {{ {extra}template = fun the => {{ apiVersion = \"batch/v1\", kind = \"{kind}\", metadata = {{ \
             name = the.root.metadata.name, namespace = the.root.metadata.name }}, spec = {{\n{spec}\ntemplate.spec = {{ \
             restartPolicy = \"Never\", containers = [{{ name = \"c\", image = \"i\" }}] }} }} }} }}"
        )
    };
    nodes_give(&node("Job", "ttlSecondsAfterFinished = 60,", ""), &[("PM0234", "60")]);
    for (spec, extra) in [
        ("ttlSecondsAfterFinished = 60,", "once = true, "),
        ("ttlSecondsAfterFinished = null,", ""),
        ("", ""),
    ] {
        nodes_give(&node("Job", spec, extra), &[]);
    }
}

#[test]
fn a_selector_without_the_name_of_the_root_picks_the_pods_of_every_instance() {
    let nodes = |root: &str, name: &str, selector: &str, extra: &str| {
        format!(
            "app = {{ root = {{ apiVersion = \"example.com/v1\", kind = \"{root}\" }}, also = [\"web\", \"front\"] }},\n\
             web.template = fun the => {{ apiVersion = \"apps/v1\", kind = \"Deployment\", metadata = {{ name = {name}{extra} }}, \
             spec = {{ selector.matchLabels = {selector}, template = {{ metadata.labels = {{ app = \"web\", at = the.root.metadata.name }}, \
             spec.containers = [{{ name = \"c\", image = \"i\" }}] }} }} }},\n\
             front.template = fun the => {{ apiVersion = \"v1\", kind = \"Service\", metadata = {{ name = {name}{extra} }}, \
             spec = {{ selector = {selector}, ports = [{{ port = 80 }}] }} }}"
        )
    };
    let named = "\"%{the.root.metadata.name}-web\"";
    let told = [("PM0235", "{ app = \"web\" }"), ("PM0235", "{ app = \"web\" }")];
    nodes_give(&nodes("Shop", named, "{ app = \"web\" }", ""), &told);
    let path = nodes("Shop", named, "PATH", "").replace("matchLabels = PATH", "matchLabels.app = \"one\"");
    nodes_give(&path.replace("selector = PATH", "selector.app = \"two\""), &[("PM0235", "\"one\"")]);
    // What it picks is not made here: another Service may well have a fixed selector.
    nodes_give(&nodes("Shop", named, "{ app = \"other\" }", ""), &[("PM0235", "{ app = \"other\" }")]);
    // The name of the root, however it comes there; a namespace for each instance.
    for selector in ["{ app = \"web\", at = the.root.metadata.name }", "labels_of \"web\" the.root"] {
        nodes_give(&nodes("Shop", named, selector, ""), &[]);
    }
    nodes_give(&nodes("Shop", named, "{ app = \"web\" }", ", namespace = the.root.metadata.name"), &[]);
}

/// A blueprint as a beginner writes it, without a mistake.
const SHOP: &str = r#"let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "shop",
  kinds.Shop = { group = "example.com", versions.v1.spec = { size | Number | default = 1 } },
  nodes = {
    shop = { root = kinds.Shop, also = ["web"] },
    web = {
      template = fun the => {
        apiVersion = "v1",
        kind = "ConfigMap",
        metadata.name = "%{the.root.metadata.name}-settings",
        data.size = std.to_string the.root.spec.size,
      },
    },
  },
} | Blueprint
"#;

/// What is said of a change to it, in one line: message, then hint.
fn said_of(from: &str, to: &str) -> String {
    assert!(SHOP.contains(from), "{from}");
    let sources = Sources::single(SHOP.replacen(from, to, 1));
    let outline = outline_of(&sources);
    let said = outline
        .diagnostics
        .iter()
        .map(|it| format!("{} / {}", it.message, it.hint.as_deref().unwrap_or("-")));
    said.collect::<Vec<_>>().join("\n")
}

/// What is changed, into what, and what is said then.
const MISTAKES: [(&str, &str, &str); 22] = [
    (
        "\"ConfigMap\",",
        "\"ConfigMap\"",
        "expected `,` after line 10 / every field of a record and every element of a list ends in `,`",
    ),
    (
        "      },\n    },\n  },",
        "      }\n    }\n    other.value = 1,\n  },",
        "expected `,` after line 14 / every field of a record and every element of a list ends in `,`",
    ),
    (
        "kind = \"Con",
        "kind: \"Con",
        "a field is set with `=`, not with `:` / write `kind = \"ConfigMap\"`; a `:` declares a type",
    ),
    ("\"shop\",", "\"shop\";", "fields are separated by `,`, not by `;` / write `,` here"),
    ("fun the", "the", "a function begins with `fun` / write `fun the => ...`"),
    ("  name =", "  // mine\n  name =", "a comment begins with `#` / write `#`"),
    (
        "std.to_string the.root.spec.size,",
        "if true then 1,",
        "an `if` needs an `else` / write `if CONDITION then VALUE else OTHER`",
    ),
    (
        "std.to_string the.root.spec.size,",
        "the.x ? 1 : 2,",
        "Nickel has no `? :` / write `if CONDITION then VALUE else OTHER`",
    ),
    (
        "data.size",
        "data.app.kubernetes.io/name",
        "a name with `/` or a space stands in quotes / write `\"app.kubernetes.io/name\" = ...`",
    ),
    (
        "also = [\"web\"]",
        "also =\n      - name = 1",
        "a list is written in brackets, not with `-` / write `[{ name = \"one\" }, { name = \"two\" }]`",
    ),
    ("    },\n  },\n} |", "    },\n} |", "the `{` of line 5 is not closed / add `}` before line 15"),
    ("nodes = {", "nodes = [", "the `[` of line 5 is not closed / add `]` before line 15"),
    ("} | Blueprint", "}} | Blueprint", "this `}` closes nothing / remove it, or add the `{` that it closes"),
    (
        "v1.ncl",
        "v2.ncl",
        "\"pemdas/v2.ncl\" is neither a file of this blueprint nor of the library / did you mean \"pemdas/v1.ncl\"?",
    ),
    (
        "size | Number",
        "size | number",
        "unbound identifier `number` / did you mean `Number`? The types are Number, String, Bool, Dyn, Array, and records",
    ),
    (
        "size | Number",
        "size | Int",
        "unbound identifier `Int` / take it from the library: `let { Int, .. } = import \"pemdas/v1.ncl\" in`",
    ),
    ("\"shop\",", "shop,", "unbound identifier `shop` / a string stands in quotes: \"shop\""),
    (
        "also = [\"web\"]",
        "also = [\"web\"], also.web.when = fun _the => true",
        "a field is a list here and a record there / choose one form: the edges `before = [\"a\"]` and `before.a = {}` mean the same",
    ),
    ("\"shop\",", "True,", "unbound identifier `True` / did you mean `true`?"),
    (
        "template =",
        "dependsOn = [\"shop\"],\n      template =",
        "there is no clause `dependsOn` / what comes before this node stands in `before = [\"NODE\"]`",
    ),
    (
        "name = \"shop\"",
        "name = 3",
        "`name`: expected a DNS label (lower-case letters, digits, '-'; at most 63), got the number 3 / -",
    ),
    (
        "\"%{the.root.metadata.name}-settings\"",
        "the.root.metadata.name + \"-s\"",
        "metadata.name is a number, wants a string / `+` adds numbers; strings are joined with `++`, or as \"%{a}-%{b}\"",
    ),
];

#[test]
fn a_beginners_mistake_is_told_as_what_it_is() {
    assert_eq!(said_of("shop", "shop"), "");
    for (from, to, wanted) in MISTAKES {
        assert_eq!(said_of(from, to), wanted, "{from} -> {to}");
    }
    let said = said_of("%{the", "${the");
    assert!(said.contains("Nickel fills a string with `%{...}`"), "{said}");
    let said = said_of("\"shop\",", "(let x = { a = y, y = a } in x.a),");
    assert!(
        said.contains("infinite recursion: the value of `name.a` needs `y`, which needs `name.a`"),
        "{said}"
    );
}
