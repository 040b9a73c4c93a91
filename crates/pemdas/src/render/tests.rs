use pemdas_core::diagnostic::{Diagnostic, Span};

use super::{github, json, sarif, text};
use crate::{
    input::{Given, Place},
    load::Checked,
};

/// A blueprint of one file with what is wrong with it.
fn checked(source: &str, diagnostics: Vec<Diagnostic>) -> Checked {
    let mut given = Given { title: "dir".to_owned(), ..Given::default() };
    given.files.insert("main.ncl".to_owned(), source.to_owned());
    given.places.insert("main.ncl".to_owned(), Place::file("dir/main, file.ncl"));
    Checked { given, blueprint: None, graph: None, diagnostics }
}

fn span(start: u32, end: u32) -> Span {
    Span { file: "main.ncl".to_owned(), start, end }
}

#[test]
fn a_place_that_is_not_there_costs_the_picture_not_the_sentence() {
    let beyond =
        Diagnostic::error("PM0101", "far away").at(span(900, 4_000_000_000), "here").hint("come back");
    let turned = Diagnostic::error("PM0102", "turned round").at(span(3, 1), "here");
    let half = Diagnostic::error("PM0103", "half a letter").at(span(1, 2), "here");
    let elsewhere = Diagnostic::error("PM0104", "in the library")
        .at(Span { file: "pemdas/v1.ncl".to_owned(), start: 0, end: 1 }, "there");
    let checked = checked("ö\n", vec![beyond, turned, half, elsewhere]);
    let said = text::diagnostics(&checked, false);
    for sentence in
        ["far away", "hint: come back", "turned round", "half a letter", "in pemdas/v1.ncl: there"]
    {
        assert!(said.contains(sentence), "{sentence} in {said}");
    }
    let all = [checked];
    for output in [json::blueprints(&all), sarif::blueprints(&all)] {
        serde_json::from_str::<serde_json::Value>(&output).expect("JSON");
    }
    assert_eq!(github::blueprints(&all).lines().count(), 4);
}

#[test]
fn annotations_are_escaped() {
    let problem = Diagnostic::error("PM0101", "100 %\nsure: yes, really").at(span(0, 1), "");
    assert_eq!(
        github::blueprints(&[checked("x", vec![problem])]),
        "::error file=dir/main%2C file.ncl,line=1,endLine=1,col=1,endColumn=2,title=PM0101::100 %25%0Asure: yes, really\n"
    );
}

#[test]
fn a_sarif_result_points_to_its_rule_and_places() {
    let problem = Diagnostic::error("PM0103", "a circle").at(span(0, 1), "one").see(span(2, 3), "two");
    let output = sarif::blueprints(&[checked("a\nb\n", vec![problem])]);
    let run = &serde_json::from_str::<serde_json::Value>(&output).expect("JSON")["runs"][0];
    assert_eq!(run["results"][0]["ruleId"], "PM0103");
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "PM0103");
    let region = &run["results"][0]["relatedLocations"][0]["physicalLocation"]["region"];
    assert_eq!((region["startLine"].as_u64(), region["startColumn"].as_u64()), (Some(2), Some(1)));
    let uri = &run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "dir/main%2C%20file.ncl");
}

#[test]
fn a_line_without_end_is_not_shown_as_a_whole() {
    let source = format!("{}wrong{}", "a".repeat(1_000_000), "b".repeat(1_000_000));
    let checked = checked(
        &source,
        vec![Diagnostic::error("PM0101", "far away").at(span(1_000_000, 1_000_005), "here")],
    );
    let said = text::diagnostics(&checked, false);
    assert!(said.len() < 300, "{} bytes", said.len());
    assert!(said.contains("dir/main, file.ncl:1:1000001, near ") && said.contains("aaawrongbbb"), "{said}");
}

#[test]
fn many_warnings_of_one_kind_do_not_bury_an_error() {
    let source = "a\n".repeat(60);
    let mut all: Vec<Diagnostic> = (0..40)
        .map(|line| {
            Diagnostic::warning("PM0124", format!("warning {line}")).at(span(line * 2, line * 2 + 1), "")
        })
        .collect();
    all.push(Diagnostic::error("PM0303", "the error").at(span(90, 91), ""));
    all.extend((0..4).map(|it| Diagnostic::error("PM0101", format!("error {it}")).at(span(0, 1), "")));
    let said = text::diagnostics(&checked(&source, all), false);
    assert_eq!(said.matches("warning[PM0124]").count(), 3, "{said}");
    assert_eq!(said.matches("error[PM0101]").count(), 4, "every error is shown: {said}");
    assert!(said.contains("the error"), "{said}");
    assert!(said.contains("and 37 more of PM0124, at dir/main, file.ncl:4, "), "{said}");
    assert!(said.contains("`pemdas check --accept PM0124` leaves them out"), "{said}");
}
