//! A draft made to fit into a blueprint that is there.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    draft::{Draft, Expression, Part, What},
    names::camel,
};

/// What a draft is put into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The kind whose objects start an instance.
    pub kind: String,
    /// Its group.
    pub group: String,
    /// The node of the root.
    pub root: String,
    /// The fields that its spec has.
    pub fields: BTreeSet<String>,
}

impl Draft {
    /// Gives it the kind and the root of a blueprint that is there. Its parameters get names that are free, and each a default:
    /// the instances that there are say nothing of them.
    pub fn fit(&mut self, home: &Home) {
        self.kind.clone_from(&home.kind);
        self.group.clone_from(&home.group);
        self.root.clone_from(&home.root);
        let mut taken: BTreeSet<String> = home.fields.clone();
        taken.extend(self.parameters.iter().map(|it| it.name.clone()));
        let mut names = BTreeMap::new();
        for parameter in &mut self.parameters {
            parameter.has_default = true;
            if home.fields.contains(&parameter.name) {
                let longer = camel(&format!("{}-{}", self.instance, parameter.name), false);
                let numbered = (2..).map(|it| format!("{longer}{it}"));
                let free = std::iter::once(longer.clone()).chain(numbered).find(|it| !taken.contains(it));
                let name = free.unwrap_or(longer);
                taken.insert(name.clone());
                names.insert(std::mem::replace(&mut parameter.name, name.clone()), name);
            }
        }
        for node in &mut self.nodes {
            rename(&mut node.template, &names);
            node.once.iter_mut().for_each(|it| rename(&mut it.key, &names));
        }
    }
}

fn rename(expression: &mut Expression, names: &BTreeMap<String, String>) {
    let renew = |name: &mut String| {
        if let Some(new) = names.get(name) {
            name.clone_from(new);
        }
    };
    match &mut expression.what {
        What::Read(name) => renew(name),
        What::Text(parts) | What::Encoded(parts) => parts.iter_mut().for_each(|part| {
            if let Part::Parameter(name) = part {
                renew(name);
            }
        }),
        What::List(items) => items.iter_mut().for_each(|it| rename(it, names)),
        What::Record(fields) | What::Labels(_, fields) => {
            fields.iter_mut().for_each(|(_, it)| rename(it, names));
        }
        What::Null | What::Bool(_) | What::Number(_) | What::Made(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Home;
    use crate::import::{Given, Tree, Wishes, draft};

    #[test]
    fn a_parameter_that_is_there_already_gets_another_name_and_gives_the_same() {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "mail-sender", "namespace": "default" },
            "spec": { "replicas": 3, "selector": { "matchLabels": { "app": "mail-sender" } }, "template": {
                "metadata": { "labels": { "app": "mail-sender" } },
                "spec": { "containers": [{ "name": "sender", "image": "mail:1" }] },
            } },
        });
        let given = vec![Given { file: "a.yaml".to_owned(), tree: Tree::from(deployment) }];
        let (draft, _) = draft(given, &Wishes::default());
        let mut draft = draft.unwrap();
        let before = draft.rendered();
        draft.fit(&Home {
            kind: "Shop".to_owned(),
            group: "shop.example.com".to_owned(),
            root: "app".to_owned(),
            fields: ["image".to_owned()].into(),
        });
        let names: Vec<_> = draft.parameters.iter().map(|it| (it.name.as_str(), it.has_default)).collect();
        assert_eq!(names, [("mailSenderImage", true), ("replicas", true)]);
        assert_eq!(draft.rendered(), before);
        assert_eq!(draft.instance()["kind"], "Shop");
    }
}
