//! The table of contents.

use std::path::Path;

use super::{files_below, plain, read};

const ALL_OF: &str = "<!-- all of ";

/// The table of contents as mdBook wants it: links from the top, and a page in each line. `<!-- all of FOLDER -->` stands for all pages
/// of that folder of `docs` but its first, `README.md`, if that stands above it already.
pub(super) fn complete(summary: &str, pages: &Path) -> Result<String, String> {
    let mut contents = String::new();
    for line in summary.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some(folder) = line.trim().strip_prefix(ALL_OF).and_then(|it| it.strip_suffix(" -->")) {
            let mut found = Vec::new();
            let place = pages.join("docs").join(folder);
            if place.is_dir() {
                files_below(&place, ".md", &mut found)?;
            }
            for path in found {
                let link = path.strip_prefix(pages).unwrap_or(&path).to_string_lossy().into_owned();
                if !contents.contains(&format!("]({link})")) {
                    contents.push_str(&format!("{indent}- [{}]({link})\n", title(&read(&path)?)));
                }
            }
            continue;
        }
        contents.push_str(&from_the_top(line)?);
        contents.push('\n');
    }
    Ok(contents)
}

/// A line whose link leads from `docs`, with a link that leads from the top.
fn from_the_top(line: &str) -> Result<String, String> {
    let Some((before, rest)) = line.split_once("](") else { return Ok(line.to_owned()) };
    let (link, after) = rest.split_once(')').ok_or_else(|| format!("a link without an end: {line}"))?;
    let link = plain(&format!("docs/{link}")).ok_or_else(|| format!("a link that leads out: {line}"))?;
    Ok(format!("{before}]({link}){after}"))
}

/// The first heading of a page, without what would be markup in a link.
fn title(page: &str) -> String {
    let heading = page.lines().find_map(|it| it.strip_prefix("# ")).unwrap_or("a page without a heading");
    heading.replace(['`', '[', ']', '*'], "")
}

/// Fails if a page of `docs` is not in the table of contents, or one in it is not there.
pub(super) fn everything_is_in(contents: &str, pages: &Path) -> Result<(), String> {
    let links: Vec<&str> =
        contents.split("](").skip(1).filter_map(|it| it.split_once(')')).map(|(link, _)| link).collect();
    let mut found = Vec::new();
    files_below(&pages.join("docs"), ".md", &mut found)?;
    for path in found {
        let name = path.strip_prefix(pages).unwrap_or(&path).to_string_lossy().into_owned();
        if !links.contains(&name.as_str()) {
            return Err(format!("{name} is in no table of contents; docs/SUMMARY.md wants a line for it"));
        }
    }
    let missing = links.iter().find(|it| !pages.join(it).is_file());
    missing.map_or(Ok(()), |it| Err(format!("docs/SUMMARY.md names {it}, which is not there")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says so by panicking")]
    use std::fs;

    use super::{complete, everything_is_in};

    #[test]
    fn pages_are_listed_and_missed() {
        let pages = std::env::temp_dir().join(format!("pemdas-contents-{}", std::process::id()));
        fs::create_dir_all(pages.join("docs/codes")).unwrap();
        for (name, text) in [
            ("a.md", "# A"),
            ("docs/b.md", "# B"),
            ("docs/codes/README.md", "# Codes"),
            ("docs/codes/X.md", "# X: `x`"),
        ] {
            fs::write(pages.join(name), text).unwrap();
        }
        let summary =
            "- [A](../a.md)\n- [Codes](codes/README.md)\n  <!-- all of codes -->\n<!-- all of nothing -->\n";
        let contents = complete(summary, &pages).unwrap();
        let wanted = "- [A](a.md)\n- [Codes](docs/codes/README.md)\n  - [X: x](docs/codes/X.md)\n";
        assert_eq!(contents, wanted);
        let missing = everything_is_in(&contents, &pages).unwrap_err();
        let whole = everything_is_in(&format!("{contents}- [B](docs/b.md)\n"), &pages);
        let too_much = everything_is_in(&format!("{contents}- [B](docs/b.md)\n- [C](c.md)\n"), &pages);
        fs::remove_dir_all(&pages).unwrap();
        assert!(missing.starts_with("docs/b.md is in no table"), "{missing}");
        assert_eq!(whole, Ok(()));
        assert!(too_much.unwrap_err().contains("c.md, which is not there"));
    }
}
