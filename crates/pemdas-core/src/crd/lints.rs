//! Advice on the design of kinds: what experience says an author will regret. Each can be declined for a kind.

use std::collections::{BTreeMap, BTreeSet};

use super::codes;
use super::definition::{KindDraft, VersionDraft};
use super::schema::{Field, Schema, Type};
use crate::diagnostic::{Diagnostic, Span};

/// How many leaves of a spec are many.
const MANY_LEAVES: usize = 40;
/// How many leaves make a group of fields.
const GROUP_LEAVES: usize = 5;
/// How many groups that have nothing to do with each other are several.
const SEVERAL_GROUPS: usize = 3;
/// Endings of names that say a unit, and the type that has units.
const UNITS: [(&str, &str); 16] = [
    ("Seconds", "Duration"),
    ("Minutes", "Duration"),
    ("Hours", "Duration"),
    ("Days", "Duration"),
    ("Millis", "Duration"),
    ("Ms", "Duration"),
    ("Sec", "Duration"),
    ("Secs", "Duration"),
    ("Bytes", "Quantity"),
    ("Kb", "Quantity"),
    ("Mb", "Quantity"),
    ("Gb", "Quantity"),
    ("Mib", "Quantity"),
    ("Gib", "Quantity"),
    ("Millicores", "Quantity"),
    ("Cores", "Quantity"),
];
/// Names that speak of what is, not of what is wanted.
const STATUS_NAMES: [&str; 9] = [
    "phase",
    "state",
    "conditions",
    "observedGeneration",
    "ready",
    "lastError",
    "lastUpdated",
    "currentReplicas",
    "health",
];
/// Beginnings of names of booleans that mostly become a choice of more than two.
const CHOICES: [&str; 4] = ["use", "with", "mode", "is"];

/// The advice on a kind, without what its author declined.
#[must_use]
pub fn advice(draft: &KindDraft, declined: &BTreeSet<String>) -> Vec<Diagnostic> {
    let mut adviser = Adviser { told: Vec::new() };
    for version in draft.versions.values() {
        adviser.version(draft, version);
    }
    adviser.told.retain(|one| !declined.contains(&one.code));
    adviser.told
}

struct Adviser {
    told: Vec<Diagnostic>,
}

impl Adviser {
    fn version(&mut self, draft: &KindDraft, version: &VersionDraft) {
        let leaves = leaves(&version.spec);
        if leaves > MANY_LEAVES {
            self.tell(
                codes::FAT_KIND,
                format!("the spec of {} has {leaves} fields at the end of its branches", draft.kind),
                &version.span,
                "split it: several small kinds that name each other are easier to understand, to own and to change",
            );
        }
        let groups = unrelated_groups(&version.spec);
        if leaves <= MANY_LEAVES && groups.len() >= SEVERAL_GROUPS {
            self.tell(
                codes::FAT_KIND,
                format!("the spec of {} holds several groups of fields that no rule relates: {}", draft.kind, groups.join(", ")),
                &version.span,
                "give each group a kind of its own: what is changed by different people for different reasons lives better apart",
            );
        }
        self.fields(&version.spec, "spec", &version.span);
        self.costs(&version.spec, "spec", &version.span);
    }

    fn fields(&mut self, schema: &Schema, path: &str, near: &Span) {
        match &schema.of {
            // Its fields are not the author's to name or document.
            Type::Record(_) if schema.embedded => {}
            Type::Record(record) => {
                for (name, field) in &record.fields {
                    let place = format!("{path}.{name}");
                    let span = field.schema.span.as_ref().unwrap_or(near);
                    self.field(name, field, &place, span);
                    self.fields(&field.schema, &place, span);
                }
            }
            Type::List(inner) | Type::Dictionary(inner) => {
                self.fields(inner, &format!("{path}[]"), inner.span.as_ref().unwrap_or(near));
            }
            _ => {}
        }
    }

    fn field(&mut self, name: &str, field: &Field, path: &str, span: &Span) {
        let numeric = matches!(field.schema.of, Type::Integer | Type::Number);
        if let Some((unit, of)) = unit_of(name).filter(|_| numeric) {
            self.tell(
                codes::UNIT_IN_NAME,
                format!("{path} has a unit in its name"),
                span,
                &format!("make it a `{of}`: then \"{}\" can be written, and nobody has to know what {unit} means here", example(of)),
            );
        }
        if STATUS_NAMES.contains(&name) {
            self.tell(
                codes::STATUS_IN_SPEC,
                format!("{path} sounds like something that is, not something that is wanted"),
                span,
                "what is seen belongs into the status",
            );
        }
        if field.schema.description.is_none() {
            self.tell(
                codes::UNDOCUMENTED,
                format!("{path} has no documentation"),
                span,
                "add `| doc \"...\"`: `kubectl explain` shows it",
            );
        }
        let begins = |word: &str| {
            name.strip_prefix(word)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_'))
        };
        if matches!(field.schema.of, Type::Boolean) && CHOICES.iter().any(|word| begins(word)) {
            self.tell(
                codes::BOOLEAN,
                format!("{path} is a boolean that sounds like a choice"),
                span,
                "`OneOf [...]` can get a third value later; a boolean never can",
            );
        }
    }

    /// Lists and strings without a bound that rules go through, or stand in.
    fn costs(&mut self, schema: &Schema, path: &str, near: &Span) {
        let span = schema.span.as_ref().unwrap_or(near);
        let (inner, bounded, sign) = match &schema.of {
            Type::Record(record) => {
                for (name, field) in &record.fields {
                    let place = format!("{path}.{name}");
                    let read = field.schema.rules.iter().any(|rule| reads(&rule.rule, "self"))
                        || schema.rules.iter().any(|rule| reads(&rule.rule, &format!("self.{name}")));
                    if read && is_unbounded(&field.schema) {
                        self.tell(
                            codes::UNBOUNDED,
                            format!("{place} has no bound, and a rule reads it"),
                            field.schema.span.as_ref().unwrap_or(span),
                            "bound it (`AtMostLong`, `ListBetween`): what a rule may cost is counted for the largest value that there could be",
                        );
                    }
                    self.costs(&field.schema, &place, span);
                }
                return;
            }
            Type::List(inner) => (inner, schema.max_items.is_some(), "[]"),
            Type::Dictionary(inner) => (inner, schema.max_properties.is_some(), "{}"),
            _ => return,
        };
        if !bounded && inner.has_rules() {
            self.tell(
                codes::UNBOUNDED,
                format!("{path} has no bound, and rules are checked for each of its entries"),
                span,
                "bound it: what a rule may cost depends on how often it may be asked",
            );
        }
        self.costs(inner, &format!("{path}{sign}"), span);
    }

    fn tell(&mut self, code: &str, message: String, span: &Span, hint: &str) {
        self.told.push(Diagnostic::remark(code, message).at(span.clone(), "").hint(hint));
    }
}

/// Whether a value may be as long as an object can be.
fn is_unbounded(schema: &Schema) -> bool {
    match &schema.of {
        Type::String => schema.max_length.is_none() && schema.allowed.is_none() && schema.format.is_none(),
        Type::List(_) => schema.max_items.is_none(),
        Type::Dictionary(_) => schema.max_properties.is_none(),
        _ => false,
    }
}

/// Whether an expression goes through the value of a field: asking for its presence, or comparing it with a literal, does not.
fn reads(rule: &str, field: &str) -> bool {
    rule.match_indices(field).any(|(start, _)| {
        let (before, after) = (&rule[..start], &rule[start + field.len()..]);
        let longer = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let begins = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        let presence = before.ends_with("has(") && after.starts_with(')');
        let literal = ["==", "!="].iter().any(|sign| {
            after
                .trim_start()
                .strip_prefix(sign)
                .is_some_and(|rest| rest.trim_start().starts_with(['"', '\'']))
        });
        begins && !longer && !presence && !literal
    })
}

/// How many fields of the author's own end a branch. Kubernetes' types count as one: they are somebody else's design.
fn leaves(schema: &Schema) -> usize {
    match &schema.of {
        Type::Record(_) if schema.embedded => 1,
        Type::Record(record) if !record.fields.is_empty() => {
            record.fields.values().map(|field| leaves(&field.schema)).sum()
        }
        _ => 1,
    }
}

/// The groups of a spec, by the word that their fields have in common (`backup.bucket`, `backupSchedule`), without those that a rule
/// relates to another.
fn unrelated_groups(spec: &Schema) -> Vec<String> {
    let Some(record) = spec.as_record() else { return Vec::new() };
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    for (name, field) in &record.fields {
        *sizes.entry(first_word(name)).or_default() += leaves(&field.schema);
    }
    sizes.retain(|_, size| *size >= GROUP_LEAVES);
    let named = |word: &String, rule: &str| {
        record.fields.keys().any(|name| first_word(name) == *word && rule.contains(&format!("self.{name}")))
    };
    let alone = |word: &String| {
        let others = || sizes.keys().filter(|other| *other != word);
        !spec
            .rules
            .iter()
            .any(|rule| named(word, &rule.rule) && others().any(|other| named(other, &rule.rule)))
    };
    sizes.keys().filter(|word| alone(word)).cloned().collect()
}

/// `backup` of `backupSchedule`.
fn first_word(name: &str) -> String {
    let end = name.find(|c: char| c.is_ascii_uppercase() || c == '_' || c == '-').unwrap_or(name.len());
    name.get(..end).filter(|word| !word.is_empty()).unwrap_or(name).to_owned()
}

fn unit_of(name: &str) -> Option<(&'static str, &'static str)> {
    let found = UNITS.into_iter().filter(|(unit, _)| {
        let snake = format!("_{}", unit.to_lowercase());
        (name.len() > unit.len() && name.ends_with(unit)) || name.ends_with(&snake)
    });
    found.max_by_key(|(unit, _)| unit.len())
}

fn example(of: &str) -> &'static str {
    if of == "Duration" { "90s" } else { "1.5Gi" }
}

#[cfg(test)]
mod tests;
