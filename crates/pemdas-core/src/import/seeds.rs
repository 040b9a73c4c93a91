//! Values of Secrets that Pemdas makes: each instance has one of its own, and keeps it.
//!
//! Each time a chart is rendered, it makes new random passwords. If `import` keeps the rendered password, all instances share it. If
//! Pemdas makes a new one, whatever runs with the old one breaks. So a value stays as it is unless the user asks for a new one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Object, Seeded, codes, tree::Tree};
use crate::{
    diagnostic::{Diagnostic, Span},
    import::tree::Content,
    secrets::decoded,
    suggest,
};

/// What the proof takes for the seed of a node.
pub const SEED: &str = "seed";

/// A value that is made from the seed of its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What it is made for, where several values are made from one seed.
    pub of: Option<String>,
    /// Whether it is written in base64.
    pub encoded: bool,
}

impl Made {
    /// Its value for the seed that the proof takes.
    pub(super) fn value(&self) -> String {
        let text = match &self.of {
            None => SEED.to_owned(),
            Some(of) => {
                let digest = Sha256::digest(format!("{SEED} {of}").as_bytes());
                digest.iter().map(|it| format!("{it:02x}")).collect()
            }
        };
        if self.encoded { base64(text.as_bytes()) } else { text }
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let sign = SIGNS.get(bits >> (18 - 6 * at) & 63).copied().unwrap_or(b'=');
            out.push(if at > three.len() { '=' } else { char::from(sign) });
        }
    }
    out
}

/// The values of a Secret: the field that each stands in, its key, its text, and whether that is encoded.
fn values(object: &Object) -> Vec<(&'static str, &str, Option<String>, &Tree)> {
    if object.kind != "Secret" || object.api_version != "v1" {
        return Vec::new();
    }
    let of = |field: &'static str| {
        let fields = object.tree.get(field).map(Tree::fields).unwrap_or_default();
        fields.iter().map(move |it| {
            let text = match &it.value.content {
                Content::Text(text) if field == "data" => decoded(text),
                Content::Text(text) => Some(text.clone()),
                _ => None,
            };
            (field, it.name.as_str(), text, &it.value)
        })
    };
    of("data").chain(of("stringData")).collect()
}

/// Takes the values that are wished for out of the Secrets, and says which of the others look as if a chart had made them.
pub(super) fn read(objects: &mut [Object], wished: &[(String, String)], problems: &mut Vec<Diagnostic>) {
    let mut chosen: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (secret, key) in wished {
        match find(objects, secret, key) {
            Ok(index) => {
                let keys = chosen.entry(index).or_default();
                if !keys.contains(key) {
                    keys.push(key.clone());
                }
            }
            Err(problem) => problems.push(*problem),
        }
    }
    let places: BTreeSet<(usize, &str)> =
        chosen.iter().flat_map(|(index, keys)| keys.iter().map(|it| (*index, it.as_str()))).collect();
    for (index, key) in &places {
        problems.extend(stands_elsewhere(objects, *index, key, &places));
    }
    for (index, keys) in &chosen {
        let Some(object) = objects.get_mut(*index) else { continue };
        make(object, keys);
    }
    note(objects, problems);
}

fn find(objects: &[Object], secret: &str, key: &str) -> Result<usize, Box<Diagnostic>> {
    let problem = |message: String, known: &[&str]| {
        let problem = Diagnostic::error(codes::SEED, message);
        Box::new(match known {
            [] => problem.hint("there is no Secret with values among the objects"),
            known => problem.hint(format!("there is {}", suggest::quoted(known))),
        })
    };
    let secrets: Vec<(usize, &Object)> =
        objects.iter().enumerate().filter(|(_, it)| !values(it).is_empty()).collect();
    let Some((index, object)) = secrets.iter().find(|it| it.1.name == secret) else {
        let known: Vec<&str> = secrets.iter().map(|it| it.1.name.as_str()).collect();
        return Err(problem(
            format!("--seed {secret}/{key}: there is no Secret `{secret}` with values"),
            &known,
        ));
    };
    let keys: Vec<&str> = values(object).iter().map(|it| it.1).collect();
    match keys.contains(&key) {
        true => Ok(*index),
        false => Err(problem(format!("--seed {secret}/{key}: Secret {secret} has no value `{key}`"), &keys)),
    }
}

/// A value that stands somewhere else too would no longer be the same there.
fn stands_elsewhere(
    objects: &[Object],
    index: usize,
    key: &str,
    places: &BTreeSet<(usize, &str)>,
) -> Option<Diagnostic> {
    let object = objects.get(index)?;
    let (_, _, text, _) = values(object).into_iter().find(|it| it.1 == key)?;
    // A short word stands in many places by chance.
    let text = text.filter(|it| it.len() >= 6)?;
    let other = objects.iter().enumerate().find_map(|(at, other)| {
        let mut own: Vec<String> = Vec::new();
        let secret = values(other);
        for (_, other_key, value, _) in &secret {
            let is_made = places.contains(&(at, *other_key)) && at == index;
            own.extend(value.clone().filter(|_| !is_made));
        }
        let said = match secret.is_empty() {
            true => holds(&other.value, &text),
            false => own.iter().any(|it| it.contains(&text)),
        };
        said.then(|| other.title())
    })?;
    let message =
        format!("--seed {}/{key}: the same value stands in {other}, which would not follow it", object.name);
    let hint = "make both outside of the blueprint and `observe` them, or take that value out first";
    Some(object.place(Diagnostic::error(codes::SEED, message), "").hint(hint))
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(it) => it.contains(text),
        Value::Array(items) => items.iter().any(|it| holds(it, text)),
        Value::Object(fields) => fields.values().any(|it| holds(it, text)),
        _ => false,
    }
}

/// Marks the values of a Secret: what has one value has one afterwards.
fn make(object: &mut Object, keys: &[String]) {
    let found: Vec<(String, String, String)> = values(object)
        .into_iter()
        .filter(|it| keys.iter().any(|key| key == it.1))
        .map(|(field, key, text, tree)| {
            // Bytes that are not text are compared in the form in which they are written.
            (field.to_owned(), key.to_owned(), text.unwrap_or_else(|| tree.to_json().to_string()))
        })
        .collect();
    let texts: BTreeSet<&String> = found.iter().map(|it| &it.2).collect();
    for (field, key, text) in &found {
        let first = found.iter().find(|it| it.2 == *text).map(|it| it.1.clone());
        let made = Made { of: first.filter(|_| texts.len() > 1), encoded: field == "data" };
        object.seeded.push(Seeded { field: field.clone(), key: key.clone(), made });
    }
    let names: Vec<&str> = found.iter().map(|it| it.1.as_str()).collect();
    object
        .remarks
        .push(format!("Pemdas makes {} at random, once for each instance.", suggest::quoted(&names)));
}

/// Writes into the values of objects what is made for the seed that the proof takes.
pub(super) fn expect(objects: &mut [Object]) {
    for object in objects {
        for Seeded { field, key, made } in &object.seeded {
            if let Some(place) = object.value.get_mut(field).and_then(|it| it.get_mut(key)) {
                *place = json!(made.value());
            }
        }
    }
}

/// Which values look as if they had been made at random.
fn note(objects: &[Object], problems: &mut Vec<Diagnostic>) {
    let mut found: Vec<String> = Vec::new();
    let mut place: Option<Span> = None;
    for object in objects {
        for (_, key, text, _) in values(object) {
            let is_seeded = object.seeded.iter().any(|it| it.key == key);
            if !is_seeded && text.is_some_and(|it| looks_random(&it)) {
                found.push(format!("{}/{key}", object.name));
                place = place.or_else(|| object.span());
            }
        }
    }
    let Some(first) = found.first() else { return };
    let hint = format!(
        "--seed {first} lets Pemdas make the value for each instance; what runs with the old value needs it as it is"
    );
    let names: Vec<&str> = found.iter().map(String::as_str).collect();
    let message =
        format!("values of Secrets look as if they were made at random: {}", suggest::quoted(&names));
    let note = Diagnostic::remark(codes::RANDOM, message).hint(hint);
    problems.push(match place {
        Some(span) => note.at(span, ""),
        None => note,
    });
}

/// Letters and digits that change often from small to large and to digits: no word does.
fn looks_random(text: &str) -> bool {
    let plain = text.chars().all(|it| it.is_ascii_alphanumeric() || "-_+/=.".contains(it));
    if !plain || text.len() < 8 || text.len() > 256 {
        return false;
    }
    let class = |it: char| (it.is_ascii_lowercase(), it.is_ascii_uppercase(), it.is_ascii_digit());
    let letters: Vec<_> = text.chars().map(class).collect();
    let changes = letters.windows(2).filter(|it| it[0] != it[1]).count();
    changes * 3 >= text.len()
}

#[cfg(test)]
mod tests {
    use super::{base64, looks_random};

    #[test]
    fn what_a_chart_makes_looks_random_and_words_do_not() {
        for text in ["Xy7QpLm2Zk", "n4VtR8sWqe", "aB3xY9kQz7LmN2pR", "0f3a9c1d7e5b2a4f8c6d"] {
            assert!(looks_random(text), "{text}");
        }
        for text in
            ["mailer", "admin123", "MyPassword", "postgres", "Xy7Q", "smtp.example.com", "a b3C d4E f5"]
        {
            assert!(!looks_random(text), "{text}");
        }
    }

    #[test]
    fn bytes_are_written_as_base64() {
        for (text, wanted) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
    }
}
