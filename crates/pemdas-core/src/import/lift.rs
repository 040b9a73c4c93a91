//! Which literals become parameters of the proposed kind, and which names are made from the root's.

mod parameters;
mod text;

use std::collections::BTreeMap;

use super::{
    Expression, Object, Parameter, Part, What,
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
pub(super) fn lift(objects: &[Object], named: &Named) -> Lifted {
    let mut found = parameters::find(objects, named);
    if objects.iter().any(|it| it.hook.as_ref().is_some_and(super::hooks::Hook::is_of_upgrade)) {
        found.parameters.push(super::once::release());
    }
    let texts = text::Texts::new(objects, named);
    let templates = objects.iter().enumerate().map(|(index, object)| {
        let builder = Builder { index, object, texts: &texts, lifted: &found.places };
        builder.build(&object.tree, &mut Vec::new())
    });
    Lifted { templates: templates.collect(), parameters: found.parameters }
}

struct Builder<'a> {
    index: usize,
    object: &'a Object,
    texts: &'a text::Texts<'a>,
    lifted: &'a BTreeMap<(usize, Path), parameters::Place>,
}

impl Builder<'_> {
    fn build(&self, tree: &Tree, path: &mut Path) -> Expression {
        let what = match self.lifted.get(&(self.index, path.clone())) {
            Some(place) if matches!(tree.content, Content::Text(_)) => {
                let before = (!place.before.is_empty()).then(|| Part::Literal(place.before.clone()));
                What::Text(before.into_iter().chain([Part::Parameter(place.name.clone())]).collect())
            }
            Some(place) => What::Read(place.name.clone()),
            None => self.plain(tree, path),
        };
        Expression { what, above: tree.above.clone(), beside: tree.beside.clone() }
    }

    fn plain(&self, tree: &Tree, path: &mut Path) -> What {
        match &tree.content {
            Content::Null => What::Null,
            Content::Bool(it) => What::Bool(*it),
            Content::Number(it) => What::Number(it.clone()),
            Content::Text(text) => What::Text(self.texts.parts(self.object, path, text)),
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
