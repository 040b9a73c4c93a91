//! The files of the page, as they are served.

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asset {
    pub(super) name: &'static str,
    pub(super) form: &'static str,
    pub(super) text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! file {
    ($name:literal, $form:expr) => {
        Asset { name: $name, form: $form, text: include_str!(concat!("page/", $name)) }
    };
}

const FILES: &[Asset] = &[
    file!("index.html", "text/html; charset=utf-8"),
    file!("style.css", "text/css; charset=utf-8"),
    file!("icon.svg", "image/svg+xml"),
    file!("app.js", SCRIPT),
    file!("place.js", SCRIPT),
    file!("stream.js", SCRIPT),
    file!("words.js", SCRIPT),
    file!("parts.js", SCRIPT),
    file!("graph.js", SCRIPT),
    file!("fleet.js", SCRIPT),
    file!("instance.js", SCRIPT),
    file!("outline.js", SCRIPT),
    file!("node.js", SCRIPT),
    file!("blueprint.js", SCRIPT),
    file!("preact.js", SCRIPT),
];

/// The page itself.
pub(super) fn page() -> &'static Asset {
    &FILES[0]
}

/// The file of a name.
pub(super) fn find(name: &str) -> Option<&'static Asset> {
    FILES.iter().find(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::FILES;

    /// How large everything together may be, not compressed. Compressed it is a third of that: the promise is 80 kB.
    const MOST: usize = 80_000;

    #[test]
    fn the_page_is_small() {
        let all: usize = FILES.iter().map(|it| it.text.len()).sum();
        assert!(all <= MOST, "{all} bytes");
    }

    #[test]
    fn every_file_of_the_page_is_served_but_for_licences() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/page");
        let there = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let there: BTreeSet<String> = there.filter(|it| !it.starts_with("LICENSE")).collect();
        assert_eq!(there, FILES.iter().map(|it| it.name.to_owned()).collect());
    }

    #[test]
    fn the_page_is_whole_without_a_network_and_never_makes_markup_of_text() {
        for file in FILES {
            let foreign = file.text.matches("http://").chain(file.text.matches("https://")).count();
            let names = file.text.matches("http://www.w3.org/").count();
            assert_eq!(foreign, names, "{} names something outside", file.name);
            if file.name == "preact.js" {
                continue;
            }
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "style=",
                "onclick=\"",
            ] {
                assert!(!file.text.contains(word), "{} has {word}", file.name);
            }
        }
    }
}
