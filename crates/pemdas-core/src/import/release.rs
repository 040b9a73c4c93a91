//! The release of Helm that objects are of: its name, the chart, and the books that Helm keeps in labels and annotations.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Object, codes,
    tree::{Content, Field, Tree},
};
use crate::{diagnostic::Diagnostic, kube_types::format};

/// What labels say of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Release {
    /// Its name: that of the instance.
    pub(super) name: Option<String>,
    /// The chart: what the kind is named after.
    pub(super) chart: Option<String>,
}

/// The labels that say which instance something is of.
pub(super) const INSTANCE: &[&str] = &["app.kubernetes.io/instance", "release"];

/// What the labels of some objects say.
pub(super) fn read(objects: &[Object]) -> Release {
    // Definitions are of no release: Helm does not take them away with one.
    let objects: Vec<&Object> = objects.iter().filter(|it| !it.is_definition()).collect();
    let label = |object: &Object, key: &str| {
        object.tree.find(&["metadata", "labels"]).and_then(|it| it.text(&[key])).map(str::to_owned)
    };
    let most = |values: Vec<String>| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        values.into_iter().for_each(|it| *counts.entry(it).or_default() += 1);
        counts.into_iter().max_by_key(|(name, count)| (*count, std::cmp::Reverse(name.clone())))
    };
    let enough = objects.len().div_ceil(3).max(objects.len().min(2));
    let of = |key: &&str| most(objects.iter().filter_map(|it| label(it, key)).collect());
    let name = INSTANCE.iter().find_map(|key| of(key).filter(|(_, count)| *count >= enough)).map(|it| it.0);
    let chart =
        |it: &&Object| label(it, "helm.sh/chart").or_else(|| label(it, "heritage").and(label(it, "chart")));
    let charts = objects.iter().filter_map(chart).map(|it| without_version(&it).to_owned()).collect();
    Release {
        name: name.filter(|it| it.len() > 1 && it.len() <= 40 && format::dns_label(it).is_ok()),
        chart: most(charts).map(|it| it.0).filter(|it| it.len() <= 40 && format::dns_label(it).is_ok()),
    }
}

/// A chart without its version: `redis-18.1.0` is `redis`.
fn without_version(chart: &str) -> &str {
    let digit = |it: &str| it.trim_start_matches('v').starts_with(|it: char| it.is_ascii_digit());
    let mut ends = chart.match_indices('-').map(|it| it.0);
    let end = ends.find(|at| chart.get(at + 1..).is_some_and(digit));
    end.and_then(|it| chart.get(..it)).unwrap_or(chart)
}

/// Takes out what Helm writes down for itself, unless something is selected by it.
pub(super) fn without_books(objects: &mut [Object], problems: &mut Vec<Diagnostic>) {
    let mut selected = BTreeSet::new();
    objects.iter().for_each(|it| selectors(&it.tree, false, &mut selected));
    // Pods often carry the chart alone.
    let of_helm = |it: &&Object| it.tree.find(&["metadata", "labels", "heritage"]).is_some();
    let chart = |it: &Object| it.tree.find(&["metadata", "labels", "chart"]).map(|it| it.content.clone());
    let charts: Vec<Content> = objects.iter().filter(of_helm).filter_map(chart).collect();
    let mut changed = 0;
    for object in objects.iter_mut() {
        let policy = object.tree.text(&["metadata", "annotations", "helm.sh/resource-policy"]);
        object.kept = policy == Some("keep");
        object.tree.above.retain(|it| !is_source(it));
        if without(&mut object.tree, &selected, &charts) {
            changed += 1;
            object.value = object.tree.to_json();
        }
    }
    if changed > 0 {
        let message = format!(
            "labels and annotations in which Helm keeps its books are left out of {changed} object{}",
            if changed == 1 { "" } else { "s" }
        );
        problems.push(Diagnostic::remark(codes::BOOKS, message));
    }
}

/// Where Helm says that an object is from.
fn is_source(comment: &str) -> bool {
    let path = comment.trim().strip_prefix("Source: ");
    path.is_some_and(|it| it.contains('/') && !it.contains(char::is_whitespace))
}

/// The labels that something is selected by.
fn selectors(tree: &Tree, inside: bool, found: &mut BTreeSet<String>) {
    for field in tree.fields() {
        let is =
            inside || field.name.to_ascii_lowercase().ends_with("selector") || field.name == "matchLabels";
        if inside {
            found.insert(field.name.clone());
        }
        if let (true, Some(key)) = (inside, tree.text(&["key"])) {
            found.insert(key.to_owned());
        }
        selectors(&field.value, is, found);
    }
    tree.items().iter().for_each(|it| selectors(it, inside, found));
}

/// Whether something was taken out.
fn without(tree: &mut Tree, selected: &BTreeSet<String>, charts: &[Content]) -> bool {
    let mut changed = false;
    let is_book = |it: &Field| {
        let text = match &it.value.content {
            Content::Text(text) => text.as_str(),
            _ => "",
        };
        let managed = ["app.kubernetes.io/managed-by", "heritage"].contains(&it.name.as_str())
            && ["Helm", "Tiller"].contains(&text);
        (managed || it.name == "helm.sh/chart") && !selected.contains(&it.name)
    };
    let is_note = |it: &Field| it.name.starts_with("helm.sh/") || it.name.starts_with("meta.helm.sh/");
    match &mut tree.content {
        Content::List(items) => items.iter_mut().for_each(|it| changed |= without(it, selected, charts)),
        Content::Record(fields) => {
            fields.retain_mut(|field| {
                let Content::Record(inner) = &mut field.value.content else {
                    changed |= without(&mut field.value, selected, charts);
                    return true;
                };
                let before = inner.len();
                match field.name.as_str() {
                    "labels" => {
                        let of_chart = inner.iter().any(|it| {
                            it.name == "heritage"
                                || (it.name == "chart" && charts.contains(&it.value.content))
                        });
                        inner.retain(|it| {
                            let chart = it.name == "chart" && of_chart && !selected.contains("chart");
                            !is_book(it) && !chart
                        });
                    }
                    "annotations" => inner.retain(|it| !is_note(it)),
                    _ => {
                        changed |= without(&mut field.value, selected, charts);
                        return true;
                    }
                }
                changed |= inner.len() < before;
                before == inner.len() || !inner.is_empty()
            });
        }
        _ => {}
    }
    changed
}
