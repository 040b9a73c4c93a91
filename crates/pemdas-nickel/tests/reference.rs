//! The page of everything that the library exports is made from the library. `PEMDAS_RENEW=1` writes it anew.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod reading;

use pemdas_nickel::{
    Evaluator as _, InProcess, Kind, Limits, Place, Sources,
    contract::{Contract, FieldContract, Form},
};

const INTRODUCTION: &str = "\
# Everything exported

What the library documents of itself, made from its sources by a test. The other pages of this reference say how it goes together.
";

/// Records of clauses: the name in `v1/clauses.ncl`, what it is called here, and what is said of it.
const RECORDS: &[(&str, &str, &str)] = &[
    ("Blueprint", "A blueprint", "`{ ... } | Blueprint`"),
    ("Kind", "A kind", "in `kinds`"),
    ("Version", "A version of a kind", "in `versions`"),
    ("Node", "A node", "in `nodes`; which clauses go together is in [clauses.md](clauses.md)"),
    ("AlsoEdge", "An Also edge", "in `also` and `deleting`, where these are records"),
    ("SequenceEdge", "A Sequence edge", "in `before`, where it is a record"),
    ("Once", "A one-off", "in `once`, where it is a record"),
    ("Report", "A report", "in `report`"),
    ("Pace", "A rollout", "in `rollout`"),
];

/// Files of exports, and what they are called here.
const FILES: &[(&str, &str)] = &[
    ("values", "Value types"),
    ("relations", "Rules about fields and changes"),
    ("shapes", "Shapes"),
    ("helpers", "Helpers"),
];

fn load(text: &str) -> InProcess {
    InProcess::load(&Sources::single(text), &Limits::default())
        .unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Text for a cell of a table: one line, and no bar that would end it.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn doc(doc: Option<&str>, name: &str) -> String {
    cell(doc.unwrap_or_else(|| panic!("{name} has no documentation")))
}

fn table(head: &str, rows: &[String]) -> String {
    format!("\n| {head} | |\n| --- | --- |\n{}", rows.concat())
}

/// The fields of a record of clauses.
fn fields(library: &InProcess, name: &str) -> String {
    let seen = library.look(&Place::at(["clauses", name])).expect("a record");
    // What begins so is for the engine, and what is not documented is refused: it is not available yet.
    let fields = seen.fields.iter().filter(|it| !it.name.starts_with('~') && it.doc.is_some());
    let row = |name: &str, doc: &str| format!("| `{name}` | {} |\n", cell(doc));
    let rows: Vec<String> = fields.map(|it| row(&it.name, it.doc.as_deref().unwrap_or_default())).collect();
    assert!(!rows.is_empty(), "{name} has no fields");
    table("field", &rows)
}

/// What a file exports; of a type also what becomes of it in a CRD.
fn exports(library: &InProcess, file: &str) -> String {
    let seen = library.look(&Place::at([file])).expect("a record");
    let rows: Vec<String> = seen
        .fields
        .iter()
        .map(|it| {
            let place = Place::at([file, &it.name]);
            let kind = library.look(&place).expect("an export").kind;
            let schema =
                if file == "values" && kind == Kind::Contract { schema(&it.name) } else { String::new() };
            format!("| `{}` | {}{schema} |\n", it.name, doc(it.doc.as_deref(), &it.name))
        })
        .collect();
    table("name", &rows)
}

/// What a type becomes in a CRD, where it is data.
fn schema(name: &str) -> String {
    let asked = load(&format!("let v = import \"pemdas/v1.ncl\" in '\"pemdas/describe\" | v.{name}"));
    let schema = asked.evaluate(&Place::root()).map(|it| cell(&it.to_string()));
    schema.map(|it| format!(" In a CRD: `{it}`.")).unwrap_or_default()
}

/// The fields of a part of a scenario.
fn described(fields: &[FieldContract], title: &str) -> String {
    let row = |it: &FieldContract| format!("| `{}` | {} |\n", it.name, doc(it.doc.as_deref(), &it.name));
    format!("\n### {title}\n{}", table("field", &fields.iter().map(row).collect::<Vec<_>>()))
}

/// The fields of a record, or of the items of a list of them.
fn inside(contract: &Contract) -> &[FieldContract] {
    match &contract.form {
        Form::Record { fields, .. } => fields,
        Form::Array(item) => inside(item),
        Form::All(all) => all.iter().map(inside).find(|it| !it.is_empty()).unwrap_or_default(),
        _ => &[],
    }
}

fn field<'c>(fields: &'c [FieldContract], name: &str) -> &'c [FieldContract] {
    let found = fields.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("no field {name}"));
    let inside = inside(&found.contract);
    assert!(!inside.is_empty(), "{name} is no record: {:?}", found.contract);
    inside
}

fn scenarios() -> String {
    let library = load("import \"pemdas/test/v1.ncl\"");
    let contract = library.describe(&Place::at(["Scenario"])).expect("a contract");
    let scenario = inside(&contract);
    let steps = field(scenario, "steps");
    let mut text = "\n## Scenarios\n\n`import \"pemdas/test/v1.ncl\"` exports all of the above, `Scenario` and `Scenarios` ([test](../test.md)).\n".to_owned();
    text.push_str(&described(scenario, "A scenario"));
    text.push_str(&described(steps, "A step"));
    text.push_str(&described(field(steps, "now"), "A fact"));
    text.push_str(&described(field(scenario, "workloads"), "A workload"));
    text.push_str(&described(field(scenario, "services"), "What a Service answers"));
    text
}

#[test]
fn the_page_is_made_from_the_library() {
    let files: String =
        FILES.iter().map(|(file, _)| format!("{file} = import \"pemdas/v1/{file}.ncl\", ")).collect();
    let library = load(&format!("{{ clauses = import \"pemdas/v1/clauses.ncl\", {files} }}"));
    let mut today = INTRODUCTION.to_owned();
    for (name, title, place) in RECORDS {
        today.push_str(&format!("\n## {title}\n\n{place}\n{}", fields(&library, name)));
    }
    for (file, title) in FILES {
        today.push_str(&format!("\n## {title}\n{}", exports(&library, file)));
    }
    today.push_str(&scenarios());
    let place = reading::workspace("docs/language/library.md");
    if std::env::var_os("PEMDAS_RENEW").is_some() {
        std::fs::write(&place, &today).expect("written");
    }
    let shown = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(shown == today, "the page is out of date: run this test with PEMDAS_RENEW=1");
}
