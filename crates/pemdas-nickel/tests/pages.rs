//! The pages of the diagnostics of loading and evaluating: each code has one, and its example gives the code.

use std::path::{Path, PathBuf};

use pemdas_nickel::{Evaluator, Failure, InProcess, Limits, Place, Sources, codes};

fn page(code: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics").join(code);
    std::fs::read_to_string(path.with_extension("md")).unwrap_or_default()
}

/// The Nickel programs in a page: what is wrong, and what is right.
fn programs(page: &str) -> Vec<&str> {
    page.split("```nickel\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

fn codes_of(program: &str) -> Vec<String> {
    let evaluate = |loaded: InProcess| loaded.evaluate(&Place::root());
    match InProcess::load(&Sources::single(program), &Limits::default()).and_then(evaluate) {
        Ok(_) => Vec::new(),
        Err(failure @ Failure::Killed { .. }) => vec![format!("{failure:?}")],
        Err(failure) => failure.diagnostics().into_iter().map(|diagnostic| diagnostic.code).collect(),
    }
}

#[test]
fn every_code_has_a_page_with_an_example_that_gives_it() {
    let all = [
        codes::SYNTAX,
        codes::TYPES,
        codes::IMPORT,
        codes::CONTRACT,
        codes::MISSING_FIELD,
        codes::RECURSION,
        codes::EVALUATION,
        codes::NOT_DATA,
        codes::FUEL,
        codes::TOO_LARGE,
        codes::KILLED,
        codes::UNKNOWABLE,
        codes::NO_MAIN,
        codes::SOURCE_NAME,
        codes::UNREADABLE,
        codes::UNAVAILABLE,
        codes::FAULT,
    ];
    let mut tried = 0;
    for code in all {
        let page = page(code);
        assert!(page.starts_with(&format!("# {code}: ")), "{code} has no page, or one without its title");
        assert!(page.contains("\n## How to fix it\n"), "{code} does not say how to mend it");
        let mut programs = programs(&page).into_iter();
        if let Some(wrong) = programs.next() {
            assert_eq!(codes_of(wrong).first().map(String::as_str), Some(code), "the example of {code}");
            tried += 1;
        }
        for right in programs {
            let still: Vec<String> = codes_of(right).into_iter().filter(|other| other == code).collect();
            assert_eq!(still, Vec::<String>::new(), "the mended example of {code} still gives it");
        }
    }
    assert!(tried >= 9, "only {tried} examples were tried");
}
