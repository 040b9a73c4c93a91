//! The documentation page of each diagnostic code, built into the binary.

/// Code and page, in the order of the codes.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The page of a code, however it is capitalised.
pub(crate) fn page(code: &str) -> Option<&'static str> {
    PAGES.iter().find(|(name, _)| name.eq_ignore_ascii_case(code)).map(|(_, text)| *text)
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
    let distance = |name: &str| strsim::levenshtein(&code.to_uppercase(), name);
    let found = PAGES.iter().map(|(name, _)| (distance(name), *name)).min()?;
    (found.0 <= 2).then_some(found.1)
}

#[cfg(test)]
mod tests {
    use super::{PAGES, nearest, page, title};

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
        assert_eq!(page("pm0103"), page("PM0103"));
        assert_eq!(title("PM0103"), Some("nodes wait for each other in a circle"));
        assert_eq!(nearest("PM103"), Some("PM0103"));
        assert_eq!(nearest("nonsense"), None);
    }
}
