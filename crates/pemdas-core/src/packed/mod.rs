//! A value that is put away as text until somebody looks at it again.
//!
//! As a tree of maps, an object of the cluster takes some ten times the memory of its text, and an operator knows
//! thousands of objects of which hardly any is looked at in an hour. Whoever is at rest packs what it knows; reading
//! unpacks what is read, once, without anybody asking for it.

mod press;

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

pub use press::Press;
pub(crate) use press::{Part, Text};

use crate::world::KindKey;

/// A value, or the text from which it is made again when it is read.
#[derive(Clone)]
pub struct Packed<T> {
    value: OnceLock<T>,
    text: Option<Text>,
}

impl<T> Packed<T> {
    /// A value that was never read.
    pub(crate) fn unread(text: Vec<u8>) -> Self {
        Self { value: OnceLock::new(), text: Some(Text::Plain(text.into_boxed_slice())) }
    }

    /// Whether reading it would have to unpack it.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.value.get().is_none()
    }

    /// The text, if reading it would have to unpack it.
    pub(crate) fn put_away(&self) -> Option<&Text> {
        self.text.as_ref().filter(|_| self.is_packed())
    }

    /// Whether it is put away and takes no more room than it must.
    pub(crate) fn is_pressed(&self) -> bool {
        self.put_away().is_some_and(|it| !matches!(it, Text::Plain(_)))
    }
}

impl<T: Serialize> Packed<T> {
    /// The same, put away. What cannot be written as text stays as it is.
    #[must_use]
    pub fn packed(&self) -> Self
    where
        T: Clone,
    {
        let text = match (&self.text, self.value.get()) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(value)) => {
                serde_json::to_vec(value).ok().map(|it| Text::Plain(it.into_boxed_slice()))
            }
            (None, None) => None,
        };
        if text.is_none() {
            return self.clone();
        }
        Self { value: OnceLock::new(), text }
    }

    /// The same, put away beside what is like it.
    pub(crate) fn pressed(&self, kind: &KindKey, part: Part, press: &mut Press) -> Self
    where
        T: Clone,
    {
        let Self { value, text } = self.packed();
        Self { value, text: text.map(|it| it.pressed(kind, part, press)) }
    }
}

impl<T> From<T> for Packed<T> {
    fn from(value: T) -> Self {
        Self { value: OnceLock::from(value), text: None }
    }
}

impl<T: DeserializeOwned + Default> Deref for Packed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // The text was made here, from a value of this type.
        self.value.get_or_init(|| {
            self.text
                .as_ref()
                .and_then(|it| it.read(|text| serde_json::from_slice(text).ok()))
                .unwrap_or_default()
        })
    }
}

impl<T: DeserializeOwned + Default> DerefMut for Packed<T> {
    #[expect(clippy::unreachable, reason = "reading it has set it")]
    fn deref_mut(&mut self) -> &mut T {
        let _: &T = self;
        self.text = None;
        match self.value.get_mut() {
            Some(value) => value,
            None => unreachable!(),
        }
    }
}

impl<T: DeserializeOwned + Default> Default for Packed<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T: DeserializeOwned + Default + PartialEq> PartialEq for Packed<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: DeserializeOwned + Default + PartialEq> PartialEq<T> for Packed<T> {
    fn eq(&self, other: &T) -> bool {
        **self == *other
    }
}

impl<T: DeserializeOwned + Default + fmt::Debug> fmt::Debug for Packed<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}

impl<T: DeserializeOwned + Default + Serialize> Serialize for Packed<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Packed<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Packed;

    #[test]
    fn what_was_put_away_is_the_same_when_it_is_read() {
        let value = json!({ "a": [1, 2.5, 0.1, -0.0, u64::MAX, i64::MIN, 1e300, "x\u{0}\"\u{1F980}"], "b": null, "c": {} });
        let whole = Packed::from(value.clone());
        let away = whole.packed();
        assert!(away.is_packed() && !whole.is_packed());
        assert_eq!(away["a"], value["a"]);
        assert!(!away.is_packed(), "reading unpacks");
        assert_eq!(away, whole);
        assert_eq!(away.packed().packed(), value);
    }

    #[test]
    fn what_is_changed_is_not_what_was_put_away() {
        let mut value = Packed::from(json!({ "a": 1 })).packed();
        value["a"] = json!(2);
        assert_eq!(value.packed(), json!({ "a": 2 }));
        let nothing: Packed<Value> = Packed::default();
        assert!(nothing.packed().is_null());
    }
}
