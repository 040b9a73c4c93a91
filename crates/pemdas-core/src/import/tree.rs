//! An object as it was written: fields in their order, with their places and the comments beside them.

use serde_json::{Map, Number, Value};

/// A value, where it stands, and what was said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The value.
    pub content: Content,
    /// Its first byte and the one after its last, where it has a place.
    pub at: Option<(u32, u32)>,
    /// The comments on the lines above it, without their marks.
    pub above: Vec<String>,
    /// The comment at the end of its line.
    pub beside: Option<String>,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// Fields, in the order in which they were written.
    Record(Vec<Field>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The first byte of the name and the one after its last, where it has a place.
    pub at: Option<(u32, u32)>,
    /// Its value.
    pub value: Tree,
}

impl Content {
    /// What it is, with its article.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Record(_) => "a record",
        }
    }
}

impl From<Content> for Tree {
    fn from(content: Content) -> Self {
        Self { content, at: None, above: Vec::new(), beside: None }
    }
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        let field = |(name, value): (String, Value)| Field { name, at: None, value: value.into() };
        Self::from(match value {
            Value::Null => Content::Null,
            Value::Bool(it) => Content::Bool(it),
            Value::Number(it) => Content::Number(it),
            Value::String(it) => Content::Text(it),
            Value::Array(items) => Content::List(items.into_iter().map(Self::from).collect()),
            Value::Object(fields) => Content::Record(fields.into_iter().map(field).collect()),
        })
    }
}

impl Tree {
    /// As a value without places, order and comments.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(it) => Value::Bool(*it),
            Content::Number(it) => Value::Number(it.clone()),
            Content::Text(it) => Value::String(it.clone()),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Record(fields) => Value::Object(
                fields.iter().map(|it| (it.name.clone(), it.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.fields().iter().find(|it| it.name == name).map(|it| &it.value)
    }

    /// What is at a path of fields.
    #[must_use]
    pub fn find(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |tree, name| tree.get(name))
    }

    /// The text at a path of fields.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        match &self.find(path)?.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Its fields; none if it is no record.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.content {
            Content::Record(fields) => fields,
            _ => &[],
        }
    }

    /// Its items; none if it is no list.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    fn find_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        let mut tree = self;
        for name in path {
            let Content::Record(fields) = &mut tree.content else { return None };
            tree = &mut fields.iter_mut().find(|it| it.name == *name)?.value;
        }
        Some(tree)
    }

    /// Takes the field at a path away, and gives it.
    pub(crate) fn remove(&mut self, path: &[&str]) -> Option<Self> {
        let (name, above) = path.split_last()?;
        let Content::Record(fields) = &mut self.find_mut(above)?.content else { return None };
        let index = fields.iter().position(|it| it.name == *name)?;
        Some(fields.remove(index).value)
    }

    /// Takes the field at a path away if it is as said, and with it every record above that is empty then.
    pub(crate) fn remove_if(&mut self, path: &[&str], is: impl Fn(&Self) -> bool) {
        if self.find(path).is_some_and(is) {
            self.remove(path);
        }
    }

    /// The record at a path, to keep some of its fields; an empty one goes.
    pub(crate) fn retain(&mut self, path: &[&str], keep: impl Fn(&Field) -> bool) {
        let mut emptied = false;
        if let Some(Self { content: Content::Record(fields), .. }) = self.find_mut(path) {
            let before = fields.len();
            fields.retain(keep);
            emptied = fields.is_empty() && before > 0;
        }
        if emptied {
            self.remove(path);
        }
    }

    pub(crate) fn items_mut(&mut self, path: &[&str]) -> &mut [Self] {
        match self.find_mut(path) {
            Some(Self { content: Content::List(items), .. }) => items,
            _ => &mut [],
        }
    }

    pub(crate) fn record_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        self.find_mut(path).filter(|it| matches!(it.content, Content::Record(_)))
    }

    pub(crate) fn keep_items(&mut self, path: &[&str], keep: impl Fn(&Self) -> bool) {
        let mut emptied = false;
        if let Some(Self { content: Content::List(items), .. }) = self.find_mut(path) {
            let before = items.len();
            items.retain(keep);
            emptied = items.is_empty() && before > 0;
        }
        if emptied {
            self.remove(path);
        }
    }

    /// Writes the namespace behind the name.
    pub(crate) fn set_namespace(&mut self, namespace: &str) {
        let Some(Self { content: Content::Record(fields), .. }) = self.find_mut(&["metadata"]) else {
            return;
        };
        let value = Self::from(Content::Text(namespace.to_owned()));
        match fields.iter_mut().find(|it| it.name == "namespace") {
            Some(field) => field.value.content = value.content,
            None => {
                let behind = fields.iter().position(|it| it.name == "name").map_or(0, |it| it + 1);
                fields.insert(behind, Field { name: "namespace".to_owned(), at: None, value });
            }
        }
    }
}
