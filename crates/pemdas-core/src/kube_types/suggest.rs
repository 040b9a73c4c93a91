//! What was perhaps meant by a name that does not exist.

/// The name that is closest to what was written, if any is close.
pub fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A longer name than any real one is no typing mistake, and comparing takes time with the length.
    if written.len() > 64 {
        return None;
    }
    let lower = written.to_ascii_lowercase();
    let allowed = 1 + written.chars().count() / 4;
    known
        .into_iter()
        .map(|name| (distance(&lower, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Mistakes in typing: letters added, left out, changed, swapped. The case of letters counts nothing, and
/// neither does a plural.
fn distance(lower: &str, name: &str) -> usize {
    let name = name.to_ascii_lowercase();
    if lower.trim_end_matches('s') == name.trim_end_matches('s') || lower.replace('_', "") == name {
        return 0;
    }
    strsim::osa_distance(lower, &name)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn finds_what_was_meant() {
        let known =
            ["replicas", "selector", "strategy", "template", "imagePullPolicy", "env", "envFrom", "image"];
        for (written, meant) in [
            ("replica", Some("replicas")),
            ("repilcas", Some("replicas")),
            ("Selector", Some("selector")),
            ("image_pull_policy", Some("imagePullPolicy")),
            ("imagepullpolicy", Some("imagePullPolicy")),
            ("envs", Some("env")),
            ("envfrom", Some("envFrom")),
            ("tmplate", Some("template")),
            ("foo", None),
            ("serviceAccountName", None),
        ] {
            assert_eq!(closest(written, known), meant, "{written}");
        }
    }

    #[test]
    fn does_not_compare_endless_names() {
        assert_eq!(closest(&"replicas".repeat(10_000), ["replicas"]), None);
    }
}
