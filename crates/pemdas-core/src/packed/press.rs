//! Texts that are alike, each kept as what it has other than a model.
//!
//! The objects that one blueprint makes differ in names, uids and a few values; the rest of their text, and nearly all of who owns which
//! fields, is the same a thousand times. The first of a kind is the model that the next ones are pressed against.

use std::{collections::BTreeMap, sync::Arc};

use lz4_flex::block::{compress_with_dict, decompress_with_dict};

use crate::world::KindKey;

/// Kinds that have models; texts of further kinds stay as they are.
const MAX_MODELS: usize = 512;
/// Of a longer text only the beginning is a model.
const MAX_MODEL: usize = 16 << 10;
/// A longer text stays as it is: to unpack it takes as much again.
const MAX_TEXT: usize = 256 << 10;
/// So many more texts that are unlike a model than texts that are like it make the last of them the new one. The old one is kept by those
/// that were pressed against it: if each text could become a model, models would take more than what they save.
const UNLIKE: u32 = 16;

/// Presses texts, and keeps the models.
#[derive(Debug, Default)]
pub struct Press {
    models: BTreeMap<(KindKey, Part), Model>,
}

/// Which text of an object it is: the parts have nothing in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Body,
    Managers,
}

#[derive(Debug)]
struct Model {
    text: Arc<Box<[u8]>>,
    /// How many more were unlike it than like it.
    unlike: u32,
}

impl Model {
    fn of(text: &[u8]) -> Self {
        let beginning = text.get(..MAX_MODEL).unwrap_or(text);
        Self { text: Arc::new(beginning.into()), unlike: 0 }
    }
}

/// A text, plain or pressed.
#[derive(Debug, Clone)]
pub(crate) enum Text {
    Plain(Box<[u8]>),
    /// Plain for good: it is like no model.
    Unlike(Box<[u8]>),
    Pressed {
        model: Arc<Box<[u8]>>,
        /// How long the text is.
        length: u32,
        differs: Box<[u8]>,
    },
}

impl Text {
    /// Reads the text. The same text comes out that went in; if it did not, there is none.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
        match self {
            Self::Plain(text) | Self::Unlike(text) => read(text),
            Self::Pressed { model, length, differs } => {
                let text = decompress_with_dict(differs, usize::try_from(*length).ok()?, model).ok()?;
                read(&text)
            }
        }
    }

    /// The same text, pressed where that is shorter. It is tried once.
    pub(crate) fn pressed(self, kind: &KindKey, part: Part, press: &mut Press) -> Self {
        let Self::Plain(text) = self else { return self };
        press.press(kind, part, &text).unwrap_or(Self::Unlike(text))
    }
}

impl Press {
    fn press(&mut self, kind: &KindKey, part: Part, text: &[u8]) -> Option<Text> {
        let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= MAX_TEXT)?;
        let slot = (kind.clone(), part);
        if !self.models.contains_key(&slot) && self.models.len() >= MAX_MODELS {
            return None;
        }
        let model = self.models.entry(slot).or_insert_with(|| Model::of(text));
        let differs = compress_with_dict(text, &model.text).into_boxed_slice();
        let is_like = differs.len() * 2 <= text.len();
        model.unlike = if is_like { model.unlike.saturating_sub(1) } else { model.unlike + 1 };
        let pressed = Text::Pressed { model: model.text.clone(), length, differs };
        if model.unlike >= UNLIKE {
            *model = Model::of(text);
        }
        // What cannot be read again would be taken for nothing at all, and decided upon.
        let is_same = is_like && pressed.read(|it| Some(it == text)) == Some(true);
        is_same.then_some(pressed)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_MODELS, Part, Press, Text, UNLIKE};
    use crate::world::KindKey;

    fn plain(text: &str) -> Text {
        Text::Plain(text.as_bytes().into())
    }

    fn read(text: &Text) -> String {
        text.read(|it| String::from_utf8(it.to_vec()).ok()).expect("a text")
    }

    /// Bytes that have nothing in common with those of another seed.
    fn unlike(seed: u64) -> String {
        let words =
            (0..40).map(|word| crate::digest::Digest::of(&[], &serde_json::json!([seed, word])).to_string());
        words.collect()
    }

    #[test]
    fn what_is_like_a_model_is_short_and_the_same_again() {
        let mut press = Press::default();
        let kind = KindKey::new("v1", "ConfigMap");
        let base = unlike(0);
        for number in 0..100 {
            let text = format!("{{\"name\":\"web-{number}\",\"data\":\"{base}\"}}");
            let pressed = plain(&text).pressed(&kind, Part::Body, &mut press);
            let Text::Pressed { differs, .. } = &pressed else { panic!("{number} is not pressed") };
            assert!(differs.len() < 100, "{} bytes", differs.len());
            assert_eq!(read(&pressed), text);
            assert_eq!(read(&pressed.pressed(&kind, Part::Body, &mut press)), text, "once is enough");
        }
    }

    #[test]
    fn a_text_of_any_length_is_the_same_again() {
        let kind = KindKey::new("v1", "ConfigMap");
        let (long, other) = (unlike(0), unlike(1));
        for length in 0..long.len() {
            let mut press = Press::default();
            let texts = [
                &long[..length],
                &long[length..],
                &other[..length],
                &long,
                &format!("{other}{}", &long[length..]),
            ];
            for text in texts {
                let pressed = plain(text).pressed(&kind, Part::Body, &mut press);
                assert_eq!(read(&pressed), text, "{length}");
            }
        }
    }

    #[test]
    fn what_is_unlike_stays_plain_and_models_are_few() {
        let mut press = Press::default();
        let kind = KindKey::new("v1", "ConfigMap");
        let first = plain(&unlike(0)).pressed(&kind, Part::Body, &mut press);
        let mut models = 1;
        for seed in 1..=200 {
            let before = press.models[&(kind.clone(), Part::Body)].text.clone();
            let text = plain(&unlike(seed)).pressed(&kind, Part::Body, &mut press);
            assert!(matches!(text, Text::Unlike(_)));
            assert_eq!(read(&text), unlike(seed));
            models += u32::from(before != press.models[&(kind.clone(), Part::Body)].text);
        }
        assert!(models > 1, "a model that nothing is like is replaced");
        assert!(models <= 1 + 200 / UNLIKE, "{models} models");
        assert_eq!(read(&first), unlike(0), "what was pressed against an earlier model is still read");
    }

    #[test]
    fn kinds_without_a_model_and_long_texts_stay_plain() {
        let mut press = Press::default();
        let same = "the same ".repeat(100);
        for number in 0..MAX_MODELS {
            let kind = KindKey::new("v1", &format!("Kind{number}"));
            assert!(matches!(plain(&same).pressed(&kind, Part::Body, &mut press), Text::Pressed { .. }));
        }
        let kind = KindKey::new("v1", "Further");
        assert!(matches!(plain(&same).pressed(&kind, Part::Body, &mut press), Text::Unlike(_)));
        assert_eq!(press.models.len(), MAX_MODELS);
        let long = "long ".repeat(100_000);
        let known = KindKey::new("v1", "Kind0");
        assert!(matches!(plain(&long).pressed(&known, Part::Body, &mut press), Text::Unlike(_)));
        let empty = plain("").pressed(&known, Part::Managers, &mut Press::default());
        assert_eq!(read(&empty), "");
    }
}
