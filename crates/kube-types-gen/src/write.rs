//! The table as text: sorted, one fact a line, so that a new version of Kubernetes is a diff one can read.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use crate::Table;
use crate::kinds::Kinds;
use crate::schema::Type;

pub(crate) fn table(version: &str, kinds: &Kinds, all: &BTreeMap<String, Type>) -> Result<Table> {
    let types = used(kinds, all)?;
    let (mut type_blocks, mut doc_blocks) = (types_blocks(&types)?, docs_blocks(&types));
    let mut index = String::new();
    let (mut type_at, mut doc_at) = (0, 0);
    for ((id, fields), docs) in types.keys().zip(&type_blocks).zip(&doc_blocks) {
        index += &format!("{id}\t{type_at}\t{}\t{doc_at}\t{}\n", fields.len(), docs.len());
        type_at += fields.len();
        doc_at += docs.len();
    }
    Ok(Table {
        kinds: kinds_text(version, kinds),
        types: type_blocks.drain(..).collect(),
        docs: doc_blocks.drain(..).collect(),
        index,
    })
}

/// The types that a kind is made of. What only discovery and lists speak of stays out.
fn used<'a>(kinds: &Kinds, all: &'a BTreeMap<String, Type>) -> Result<BTreeMap<&'a str, &'a Type>> {
    let mut used = BTreeMap::new();
    let mut waiting: Vec<&str> = kinds.values().map(|kind| kind.type_id.as_str()).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let (id, found) = all.get_key_value(id).with_context(|| format!("no definition of {id}"))?;
        used.insert(id.as_str(), found);
        waiting.extend(found.fields.values().flat_map(|field| &field.references).map(String::as_str));
    }
    Ok(used)
}

fn kinds_text(version: &str, kinds: &Kinds) -> String {
    let mut text = format!("#{version}\n");
    for ((api_version, kind), facts) in kinds {
        let scope = if facts.namespaced { 'N' } else { 'C' };
        let verbs = facts.verbs.iter().copied().collect::<Vec<_>>().join(",");
        let subresources = facts.subresources.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        text += &format!(
            "{api_version}\t{kind}\t{}\t{scope}\t{}\t{verbs}\t{subresources}\n",
            facts.plural, facts.type_id
        );
    }
    text
}

fn types_blocks(types: &BTreeMap<&str, &Type>) -> Result<Vec<String>> {
    let mut blocks = Vec::new();
    for (id, body) in types {
        let mut text = format!("={id}{}\n", body.attributes);
        for (name, field) in &body.fields {
            // A reader's eye takes a line that begins so for a new type.
            ensure!(!name.starts_with('='), "{id} has a field {name}");
            text += &format!("{name}\t{}{}\n", field.shape, field.attributes);
        }
        blocks.push(text);
    }
    Ok(blocks)
}

/// Every text once: a repeated one is a reference to the type and field that had it first.
fn docs_blocks(types: &BTreeMap<&str, &Type>) -> Vec<String> {
    let mut first: BTreeMap<&str, String> = BTreeMap::new();
    let mut blocks = Vec::new();
    for (id, body) in types {
        let mut text = format!("={id}\n");
        let own = std::iter::once(("", body.doc.as_str()));
        let fields = body.fields.iter().map(|(name, field)| (name.as_str(), field.doc.as_str()));
        for (name, doc) in own.chain(fields) {
            if doc.is_empty() {
                continue;
            }
            let place = format!("@{id}#{name}");
            let earlier = first.get(doc).filter(|earlier| earlier.len() < doc.len());
            let shown = earlier.cloned().unwrap_or_else(|| escaped(doc));
            text += &format!("{name}\t{shown}\n");
            first.entry(doc).or_insert(place);
        }
        blocks.push(text);
    }
    blocks
}

/// One line: a backslash, a line break and a leading `@` are escaped.
fn escaped(doc: &str) -> String {
    let line = doc.replace('\\', "\\\\").replace("\r\n", "\n").replace('\n', "\\n");
    if line.starts_with('@') { format!("\\{line}") } else { line }
}
