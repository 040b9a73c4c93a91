//! The documentation page of each diagnostic code, built into the binary.

/// Code and page, in the order of the codes.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// A code in full: `pm0104`, `0104` and `104` are `PM0104`. Other text stays as it is, in capitals.
pub(crate) fn code(text: &str) -> String {
    let capitals = text.trim().to_uppercase();
    let digits = capitals.strip_prefix("PM").unwrap_or(&capitals);
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit());
    if is_number { format!("PM{digits:0>4}") } else { capitals }
}

/// Whether somebody who writes this means a code.
pub(crate) fn is_code(text: &str) -> bool {
    code(text).strip_prefix("PM").is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
}

/// The page of a code, however it is written.
pub(crate) fn page(code: &str) -> Option<&'static str> {
    let code = self::code(code);
    PAGES.iter().find(|(name, _)| *name == code).map(|(_, text)| *text)
}

/// What a code means, in one line: the title of its page.
pub(crate) fn title(code: &str) -> Option<&'static str> {
    page(code)?.lines().next()?.split_once(": ").map(|(_, title)| title)
}

/// The code that is probably meant.
pub(crate) fn nearest(code: &str) -> Option<&'static str> {
    if code.len() > 16 {
        return None;
    }
    let code = self::code(code);
    let distance = |name: &str| strsim::levenshtein(&code, name);
    let found = PAGES.iter().map(|(name, _)| (distance(name), *name)).min()?;
    (found.0 <= 2).then_some(found.1)
}

#[cfg(test)]
mod tests {
    use super::{PAGES, is_code, nearest, page, title};

    #[test]
    fn every_code_of_the_graphs_has_a_page() {
        let missing: Vec<_> =
            pemdas_core::graph::codes::ALL.iter().filter(|code| page(code).is_none()).collect();
        assert!(missing.is_empty(), "no page for {missing:?}");
    }

    #[test]
    fn every_code_of_definitions_has_a_page() {
        let missing: Vec<_> =
            pemdas_core::crd::codes::ALL.iter().filter(|code| page(code).is_none()).collect();
        assert!(missing.is_empty(), "no page for {missing:?}");
    }

    #[test]
    fn every_code_of_imports_has_a_page() {
        let missing: Vec<_> =
            pemdas_core::import::codes::ALL.iter().filter(|code| page(code).is_none()).collect();
        assert!(missing.is_empty(), "no page for {missing:?}");
    }

    #[test]
    fn every_code_of_rights_has_a_page() {
        let missing: Vec<_> =
            pemdas_core::rights::codes::ALL.iter().filter(|code| page(code).is_none()).collect();
        assert!(missing.is_empty(), "no page for {missing:?}");
    }

    #[test]
    fn every_page_begins_with_its_code_and_says_how_to_mend_it() {
        for (code, text) in PAGES {
            assert!(text.starts_with(&format!("# {code}: ")), "the title of {code}");
            assert!(text.lines().count() > 5, "{code} says too little");
        }
    }

    #[test]
    fn a_code_is_found_by_any_spelling() {
        for spelling in ["PM0103", "pm0103", "0103", "103", "PM103", "pm103"] {
            assert_eq!(page(spelling), PAGES.iter().find(|it| it.0 == "PM0103").map(|it| it.1), "{spelling}");
            assert!(is_code(spelling), "{spelling}");
        }
        for other in ["", "PM", "pods", "pm", "PM01x3", "deploy", "103/one"] {
            assert!(!is_code(other), "{other}");
        }
        assert_eq!(title("PM0103"), Some("nodes wait for each other in a circle"));
        assert_eq!(nearest("PM0193"), Some("PM0103"));
        assert_eq!(nearest("nonsense"), None);
    }
}
