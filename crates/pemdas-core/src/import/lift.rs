//! Which literals become parameters of the proposed kind, and which names are made from the root's.

mod parameters;
mod text;

use std::collections::BTreeMap;

use super::{
    Expression, Object, Parameter, Part, What,
    checksums::Followed,
    names::Named,
    tree::{Content, Tree},
};

/// Where something stands in an object: names of fields, and `[n]` for items.
pub(super) type Path = Vec<String>;

/// What was made of the objects.
#[derive(Debug, Clone)]
pub(super) struct Lifted {
    pub(super) parameters: Vec<Parameter>,
    /// One for each object.
    pub(super) templates: Vec<Expression>,
}

/// Lifts the parameters and derives the names.
pub(super) fn lift(objects: &[Object], named: &Named, followed: &Followed) -> Lifted {
    let mut found = parameters::find(objects, named);
    if objects.iter().any(|it| it.hook.as_ref().is_some_and(super::hooks::Hook::is_of_upgrade)) {
        found.parameters.push(super::once::release());
    }
    let texts = text::Texts::new(objects, named);
    let templates = objects.iter().enumerate().map(|(index, object)| {
        let builder = Builder { index, object, named, followed, texts: &texts, lifted: &found.places };
        builder.build(&object.tree, &mut Vec::new())
    });
    Lifted { templates: templates.collect(), parameters: found.parameters }
}

struct Builder<'a> {
    index: usize,
    object: &'a Object,
    named: &'a Named,
    followed: &'a Followed,
    texts: &'a text::Texts<'a>,
    lifted: &'a BTreeMap<(usize, Path), parameters::Place>,
}

impl Builder<'_> {
    fn build(&self, tree: &Tree, path: &mut Path) -> Expression {
        let made = || {
            let [field, key] = path.as_slice() else { return None };
            let found = self.object.seeded.iter().find(|it| it.field == *field && it.key == *key)?;
            Some(What::Made(found.made.clone()))
        };
        let what = match self.lifted.get(&(self.index, path.clone())) {
            Some(place) if matches!(tree.content, Content::Text(_)) => {
                let before = (!place.before.is_empty()).then(|| Part::Literal(place.before.clone()));
                What::Text(before.into_iter().chain([Part::Parameter(place.name.clone())]).collect())
            }
            Some(place) => What::Read(place.name.clone()),
            None => made().unwrap_or_else(|| self.plain(tree, path)),
        };
        Expression { what, above: tree.above.clone(), beside: tree.beside.clone() }
    }

    fn plain(&self, tree: &Tree, path: &mut Path) -> What {
        match &tree.content {
            Content::Null => What::Null,
            Content::Bool(it) => What::Bool(*it),
            Content::Number(it) => What::Number(it.clone()),
            Content::Text(text) => match self.follows(path) {
                Some(node) => What::Text(vec![Part::Digest { node: node.clone(), was: text.clone() }]),
                None => match self.texts.encoded(self.object, path, text) {
                    Some(parts) => What::Encoded(parts),
                    None => What::Text(self.texts.parts(self.object, path, text)),
                },
            },
            Content::List(items) => What::List(
                items.iter().enumerate().map(|(at, it)| self.under(path, format!("[{at}]"), it)).collect(),
            ),
            Content::Record(fields) => What::Record(
                fields
                    .iter()
                    .map(|it| (it.name.clone(), self.under(path, it.name.clone(), &it.value)))
                    .collect(),
            ),
        }
    }

    /// The node that a checksum in the annotations of pods is of.
    fn follows(&self, path: &[String]) -> Option<&String> {
        let (name, above) = path.split_last()?;
        let to = self.followed.get(self.index)?.get(name)?;
        (above == ["spec", "template", "metadata", "annotations"]).then(|| self.named.nodes.get(*to))?
    }

    fn under(&self, path: &mut Path, step: String, tree: &Tree) -> Expression {
        path.push(step);
        let built = self.build(tree, path);
        path.pop();
        built
    }
}

/// Whether an object is taken as it is: its fields are no places for parameters or names.
fn is_opaque(object: &Object) -> bool {
    object.kind == "CustomResourceDefinition"
}

/// Whether a path lies in the data of a ConfigMap or a Secret.
fn is_data(object: &Object, path: &[String]) -> bool {
    ["ConfigMap", "Secret"].contains(&object.kind.as_str())
        && path.first().is_some_and(|it| ["data", "stringData", "binaryData"].contains(&it.as_str()))
}
