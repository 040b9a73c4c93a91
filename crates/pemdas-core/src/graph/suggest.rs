//! "Did you mean": the nearest of some names.

/// How many characters of a name are compared: longer ones are not misspelt but different.
const MAX_COMPARED: usize = 64;

/// A hint that names what is probably meant, or else what there is.
pub(super) fn did_you_mean<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut names: Vec<_> = names.into_iter().filter(|name| name.len() <= MAX_COMPARED).collect();
    names.sort_unstable();
    if wrong.len() <= MAX_COMPARED
        && let Some(near) = nearest(wrong, &names)
    {
        return Some(format!("did you mean `{near}`?"));
    }
    match names.len() {
        0 => None,
        1..=8 => Some(format!("there are: {}", quoted(&names))),
        more => Some(format!("there are {more}, among them: {}", quoted(&names[..8]))),
    }
}

fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    let allowed = (wrong.chars().count() / 3).max(1);
    names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&wrong.to_lowercase(), &name.to_lowercase()), *name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Names side by side, each in backticks.
pub(super) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}
