//! YAML and JSON as kubectl reads them: as trees, with the order of the fields and their places, or as values.

use std::fmt;

use pemdas_core::import::{Content, Field, Tree};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Location, NonFiniteFloatPolicy, Spanned};

use super::scalar;

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// In one line, with the line and the column before it.
    pub(crate) why: String,
    /// Where.
    pub(crate) at: Option<(u32, u32)>,
}

impl Unreadable {
    fn new(error: &serde_saphyr::Error, text: &str) -> Self {
        // The first line says it all; below it stands a snippet of the file.
        let said = error.to_string();
        let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let why = first.chars().take(200).collect();
        Self { why, at: error.location().and_then(|it| place(&it, text)) }
    }

    /// Why, without the place: where that is shown, the words would say it twice.
    pub(crate) fn without_place(&self) -> &str {
        let split = self.why.split_once(": ").filter(|(place, _)| place.starts_with("line "));
        split.map_or(self.why.as_str(), |it| it.1)
    }
}

/// The documents of a text, empty ones as null.
///
/// # Errors
/// If it is neither YAML nor JSON.
pub(crate) fn trees(text: &str) -> Result<Vec<Tree>, Unreadable> {
    // What a number is that JSON does not have is decided here: to kubectl, `1e400` is a string.
    let options = serde_saphyr::options! { non_finite_float_policy: NonFiniteFloatPolicy::PassThrough };
    let documents: Vec<Spanned<Read>> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| Unreadable::new(&error, text))?;
    documents.into_iter().map(|it| tree(it, text)).collect()
}

/// The documents of a text as values, without the empty ones.
///
/// # Errors
/// If it is neither YAML nor JSON.
pub(crate) fn values(text: &str) -> Result<Vec<Value>, Unreadable> {
    let trees = trees(text)?;
    Ok(trees.iter().filter(|it| it.content != Content::Null).map(Tree::to_json).collect())
}

/// The bytes of a place.
fn place(location: &Location, text: &str) -> Option<(u32, u32)> {
    if location.line() == 0 {
        return None;
    }
    if let (Some(start), Some(length)) = (location.span().byte_offset(), location.span().byte_len()) {
        return Some((u32::try_from(start).ok()?, u32::try_from(start + length).ok()?));
    }
    let (line, column) = (usize::try_from(location.line()).ok()?, usize::try_from(location.column()).ok()?);
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let within: usize = text.get(before..)?.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    let start = u32::try_from(before + within).ok()?;
    Some((start, start))
}

/// What the parser tells, in its order.
enum Read {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    /// A number that JSON does not have.
    NoJson,
    List(Vec<Spanned<Read>>),
    Record(Vec<(Spanned<String>, Spanned<Read>)>),
}

fn tree(read: Spanned<Read>, text: &str) -> Result<Tree, Unreadable> {
    let at = place(&read.referenced, text);
    let defined = place(&read.defined, text);
    let content = match read.value {
        Read::List(items) => {
            Content::List(items.into_iter().map(|it| tree(it, text)).collect::<Result<_, _>>()?)
        }
        Read::Record(fields) => {
            Content::Record(fields.into_iter().map(|it| field(it, text)).collect::<Result<_, _>>()?)
        }
        Read::Text(said) => match word(defined, text).filter(|it| *it == said) {
            Some(word) => meant(word, at)?,
            None => Content::Text(said),
        },
        Read::NoJson => meant(word(defined, text).unwrap_or(".nan"), at)?,
        Read::Null => word(defined, text).map_or(Ok(Content::Null), |it| meant(it, at))?,
        Read::Bool(said) => word(defined, text).map_or(Ok(Content::Bool(said)), |it| meant(it, at))?,
        Read::Number(said) => word(defined, text).map_or(Ok(Content::Number(said)), |it| meant(it, at))?,
    };
    Ok(Tree { content, at, above: Vec::new(), beside: None })
}

fn field((name, value): (Spanned<String>, Spanned<Read>), text: &str) -> Result<Field, Unreadable> {
    let at = place(&name.referenced, text);
    let written = word(place(&name.defined, text), text).filter(|it| *it == name.value);
    let name = match written {
        Some(word) => scalar::name(word).ok_or_else(|| Unreadable {
            why: format!("`{word}` is no name of a field; in quotes it is one"),
            at,
        })?,
        None => name.value,
    };
    Ok(Field { name, at, value: tree(value, text)? })
}

/// The scalar at a place, if it has neither quotes nor a tag, and is written on one line.
fn word(at: Option<(u32, u32)>, text: &str) -> Option<&str> {
    let (start, end) = at?;
    let start = usize::try_from(start).ok()?;
    let word = text.get(start..usize::try_from(end).ok()?)?.trim_matches([' ', '\t', '\r', '\n']);
    if is_string(text, start) {
        return None;
    }
    let before = text.get(..start)?.trim_end_matches([' ', '\t']);
    let last = |text: &'_ str| text.rsplit(char::is_whitespace).next().unwrap_or_default().to_owned();
    // An anchor may stand between a tag and what it is about.
    let anchor = Some(last(before)).filter(|it| it.starts_with('&'));
    let before = before.strip_suffix(anchor.as_deref().unwrap_or_default())?.trim_end_matches([' ', '\t']);
    (!word.contains('\n') && !last(before).starts_with('!')).then_some(word)
}

/// Whether a string begins at a byte that is written as one: in quotes, or as a block of lines; or what is repeated from elsewhere.
pub(crate) fn is_string(text: &str, start: usize) -> bool {
    if text.get(start..).is_some_and(|it| it.starts_with(['"', '\'', '|', '>', '!', '&', '*'])) {
        return true;
    }
    // The place of a block is that of its first line.
    let before = text.get(..start).unwrap_or_default().trim_end_matches([' ', '\t']);
    if !before.ends_with('\n') {
        return false;
    }
    let above = before.trim_end().rsplit('\n').next().unwrap_or_default();
    let above = above.split(" #").next().unwrap_or_default().trim_end();
    let word = above.rsplit([' ', '\t']).next().unwrap_or_default();
    word.starts_with(['|', '>']) && word.chars().skip(1).all(|it| it.is_ascii_digit() || "+-".contains(it))
}

fn meant(word: &str, at: Option<(u32, u32)>) -> Result<Content, Unreadable> {
    let why = || format!("`{word}` is a number that JSON does not have");
    scalar::read(word).ok_or_else(|| Unreadable { why: why(), at })
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Read;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Read, E> {
        Ok(Read::Null)
    }

    fn visit_none<E>(self) -> Result<Read, E> {
        Ok(Read::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Read, E> {
        Ok(Read::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Read, E> {
        Ok(Read::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Read, E> {
        Ok(Read::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Read, E> {
        Ok(Number::from_f64(value).map_or(Read::NoJson, Read::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Read, E> {
        Ok(Read::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Read, E> {
        Ok(Read::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Read, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Read::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Read, A::Error> {
        let mut all = Vec::new();
        while let Some(field) = fields.next_entry()? {
            all.push(field);
        }
        Ok(Read::Record(all))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{trees, values};

    fn value(text: &str) -> Value {
        values(text).unwrap_or_else(|why| panic!("{text}: {why:?}")).remove(0)
    }

    #[test]
    fn words_mean_what_they_mean_to_kubectl() {
        for (word, meant) in [
            ("0400", json!(256)),
            ("0755", json!(493)),
            ("0o17", json!(15)),
            ("-010", json!(-8)),
            ("+012", json!(10)),
            ("0x1F", json!(31)),
            ("0b101", json!(5)),
            ("08", json!(8)),
            ("1_000", json!(1000)),
            ("0", json!(0)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            ("2.0", json!(2)),
            ("1.10", json!(1.1)),
            ("1e3", json!(1000)),
            (".5", json!(0.5)),
            ("1.", json!(1)),
            ("1e400", json!("1e400")),
            ("0x", json!("0x")),
            ("1.2.3", json!("1.2.3")),
            ("12:30:45", json!("12:30:45")),
            ("2026-01-02", json!("2026-01-02")),
            ("_1", json!("_1")),
            ("yes", json!(true)),
            ("y", json!(true)),
            ("Off", json!(false)),
            ("oN", json!("oN")),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("nULL", json!("nULL")),
        ] {
            assert_eq!(value(&format!("a: {word}\nb: 1\n"))["a"], meant, "{word}");
            assert_eq!(value(&format!("a: {word} # said\nb: 1\n"))["a"], meant, "{word}");
            assert_eq!(value(&format!("- {word}\n"))[0], meant, "{word}");
            assert_eq!(value(&format!("a: [1, {word}, {{b: {word}}}]\n"))["a"][1], meant, "{word}");
            assert_eq!(value(&format!("a: &x {word}\nb: *x\n"))["b"], meant, "{word}");
            let quoted = [
                format!("'{word}'"),
                format!("\"{word}\""),
                format!("!!str {word}"),
                format!("!!str &x {word}"),
                format!("|-\n  {word}"),
                format!(">-\n  {word}"),
            ];
            for quoted in quoted {
                assert_eq!(value(&format!("a: {quoted}\n"))["a"], json!(word), "{quoted}");
            }
        }
        assert_eq!(value("a: 0400\n  0400\n")["a"], "0400 0400");
        assert_eq!(value("ä: ö\nb: {ü: 010}\n")["b"]["ü"], 8, "places are bytes");
    }

    #[test]
    fn names_of_fields_mean_what_they_mean_to_kubectl() {
        let read = value("{on: 1, \"off\": 2, 0x10: 3, 1.10: 4, 'yes': 5, 007: 6, plain: 7}\n");
        assert_eq!(read, json!({ "true": 1, "off": 2, "16": 3, "1.1": 4, "yes": 5, "7": 6, "plain": 7 }));
    }

    #[test]
    fn what_json_cannot_say_is_refused_at_its_place() {
        for word in [".nan", "-.inf", "+.Inf"] {
            let text = format!("a: {word}\n");
            assert_eq!(trees(&text).unwrap_err().at.map(|it| it.0), Some(3), "{word}");
        }
        assert!(trees("null: 1\n").is_err(), "null is no name of a field");
    }

    #[test]
    fn records_are_merged_and_repeated() {
        let read = value("a: &a {x: 010, z: yes}\nb:\n  <<: *a\n  z: \"no\"\nc: *a\n");
        assert_eq!(read["b"], json!({ "x": 8, "z": "no" }));
        assert_eq!(read["c"], json!({ "x": 8, "z": true }));
    }
}
