//! Whether every link of the built pages leads somewhere: to a file of the site, and in it to a place that is named so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{files_below, plain, read};

/// How many wrong links are told.
const MAX_TOLD: usize = 30;

/// Looks at all links; how many there are.
pub(super) fn check(html: &Path) -> Result<usize, String> {
    let mut files = Vec::new();
    files_below(html, "", &mut files)?;
    let mut site = BTreeMap::new();
    for path in files {
        let name = path.strip_prefix(html).unwrap_or(&path).to_string_lossy().into_owned();
        let page = if name.ends_with(".html") { read(&path)? } else { String::new() };
        site.insert(name, page);
    }
    let places: BTreeMap<&str, BTreeSet<&str>> =
        site.iter().map(|(name, page)| (name.as_str(), attributes(page, "id").collect())).collect();
    let mut wrong = Vec::new();
    let mut links = 0;
    for (name, page) in &site {
        for link in attributes(page, "href").chain(attributes(page, "src")) {
            let Some(link) = inside(link) else { continue };
            links += 1;
            if let Err(why) = follow(name, link, &places) {
                wrong.push(format!("{name}: {link}: {why}"));
            }
        }
    }
    wrong.dedup();
    let told = wrong[..wrong.len().min(MAX_TOLD)].join("\n");
    if wrong.is_empty() { Ok(links) } else { Err(format!("{} links lead nowhere\n{told}", wrong.len())) }
}

/// A link within the site; none if it leads elsewhere.
fn inside(link: &str) -> Option<&str> {
    let scheme = link.split(['/', '?', '#']).next().unwrap_or_default();
    let elsewhere = scheme.contains(':') || link.starts_with("//") || link.is_empty();
    (!elsewhere).then_some(link)
}

/// Where a link of a page leads.
fn follow(page: &str, link: &str, places: &BTreeMap<&str, BTreeSet<&str>>) -> Result<(), String> {
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    let path = path.split('?').next().unwrap_or_default();
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = if path.is_empty() { page.to_owned() } else { format!("{folder}/{path}") };
    let whole = plain(&whole).ok_or("it leads out of the site")?;
    let index = if whole.is_empty() { "index.html".to_owned() } else { format!("{whole}/index.html") };
    let named = places.get(whole.as_str()).or_else(|| places.get(index.as_str()));
    let named = named.ok_or("there is no such file")?;
    if place.is_empty() || named.contains(place) {
        Ok(())
    } else {
        Err("there is no such place in it".to_owned())
    }
}

/// The values of an attribute, as they are written between double quotes.
fn attributes<'p>(page: &'p str, name: &'static str) -> impl Iterator<Item = &'p str> {
    let inside_tags = page.split('<').filter_map(|it| it.split_once('>')).map(|(tag, _)| tag);
    let opening = format!("{name}=\"");
    inside_tags.flat_map(move |tag| {
        let found: Vec<&str> = tag
            .match_indices(&opening)
            .filter(|(at, _)| tag[..*at].ends_with(char::is_whitespace))
            .filter_map(|(at, opening)| tag[at + opening.len()..].split('"').next())
            .collect();
        found
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{attributes, follow, inside};

    #[test]
    fn attributes_are_those_of_tags() {
        let page = "<a class=\"x\" href=\"y.html#z\">href=\"no\"</a> <p id=\"guides\" data-id=\"no\"> <img src=\"p.svg\">";
        assert_eq!(attributes(page, "href").collect::<Vec<_>>(), ["y.html#z"]);
        assert_eq!(attributes(page, "id").collect::<Vec<_>>(), ["guides"]);
        assert_eq!(attributes(page, "src").collect::<Vec<_>>(), ["p.svg"]);
    }

    #[test]
    fn links_are_followed() {
        let places = BTreeMap::from([
            ("docs/a.html", BTreeSet::from(["here"])),
            ("docs/b/index.html", BTreeSet::new()),
            ("p.svg", BTreeSet::new()),
        ]);
        for fine in ["#here", "a.html#here", "b", "b/", "../p.svg", "b/index.html?x=1"] {
            assert_eq!(follow("docs/a.html", fine, &places), Ok(()), "{fine}");
        }
        for wrong in ["#there", "c.html", "../../p.svg", "b#here", "../docs"] {
            assert!(follow("docs/a.html", wrong, &places).is_err(), "{wrong}");
        }
        assert_eq!(inside("https://example.com/"), None);
        assert_eq!(inside("mailto:a@example.com"), None);
        assert_eq!(inside("a.html#b:c"), Some("a.html#b:c"));
    }
}
