//! A shape in few words (for a *why*, for the label of an edge), and the paths it reads.

use std::collections::BTreeSet;

use super::Shape;
use crate::{path::FieldPath, text};

/// How many characters a description has at most.
const MAX_DESCRIPTION: usize = 120;

impl Shape {
    /// The shape in few words, such as `status.applied = "4"`.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = self.words();
        if let Some((end, _)) = text.char_indices().nth(MAX_DESCRIPTION) {
            text.truncate(end);
            text.push_str("...");
        }
        text
    }

    fn words(&self) -> String {
        match self {
            Self::Any => "present".to_owned(),
            Self::Absent => "absent".to_owned(),
            Self::Ready => "Ready".to_owned(),
            Self::Available => "Available".to_owned(),
            Self::Complete => "Complete".to_owned(),
            Self::Failed => "Failed".to_owned(),
            Self::Finished => "Finished".to_owned(),
            Self::Bound => "Bound".to_owned(),
            Self::Condition { kind, status, reason } => {
                let reason =
                    reason.as_ref().map(|it| format!(" ({})", text::shorten(it))).unwrap_or_default();
                let value =
                    if status == "True" { String::new() } else { format!("={}", text::shorten(status)) };
                format!("condition {}{value}{reason}", text::shorten(kind))
            }
            Self::Has(fields) if fields.is_empty() => "a record".to_owned(),
            Self::Has(_) => {
                let mut wants = Vec::new();
                self.leaves(&FieldPath::root(), &mut wants);
                wants.join(", ")
            }
            Self::Items(items) => format!("a list of {}", items.len()),
            Self::Equals(value) => text::brief(value),
            Self::AtLeast(bound) => format!("at least {}", text::brief(bound)),
            Self::AtMost(bound) => format!("at most {}", text::brief(bound)),
            Self::MoreThan(bound) => format!("more than {}", text::brief(bound)),
            Self::LessThan(bound) => format!("less than {}", text::brief(bound)),
            Self::OneOf(values) => {
                let shown: Vec<_> = values.iter().take(5).map(text::brief).collect();
                let more = if values.len() > shown.len() { ", ..." } else { "" };
                format!("one of {}{more}", shown.join(", "))
            }
            Self::Matches(pattern) => format!("a match of /{}/", text::shorten(pattern)),
            Self::SomeItem(item) => format!("some item: {}", item.describe()),
            Self::EveryItem(item) => format!("every item: {}", item.describe()),
            Self::AllOf(shapes) => joined(shapes, " and "),
            Self::AnyOf(shapes) => joined(shapes, " or "),
            Self::Not(shape) => match **shape {
                Self::AllOf(_) | Self::AnyOf(_) | Self::Has(_) => format!("not ({})", shape.describe()),
                _ => format!("not {}", shape.describe()),
            },
            Self::Contract(_) => "its contract".to_owned(),
        }
    }

    /// The wanted fields below a `has`, one text each; stops when there is enough to show.
    fn leaves(&self, path: &FieldPath, wants: &mut Vec<String>) {
        if wants.len() > 4 {
            return;
        }
        match self {
            Self::Has(fields) if !fields.is_empty() => {
                for (name, shape) in fields {
                    shape.leaves(&path.field(name), wants);
                }
            }
            Self::Equals(_) => wants.push(format!("{path} = {}", self.describe())),
            Self::Any | Self::Absent => wants.push(format!("{path} {}", self.describe())),
            _ => wants.push(format!("{path}: {}", self.describe())),
        }
    }

    /// The paths of the object that the judgement depends on. A path stands for everything below it.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<FieldPath> {
        let mut paths = BTreeSet::new();
        self.collect_reads(&FieldPath::root(), &mut paths);
        paths
    }

    fn collect_reads(&self, at: &FieldPath, paths: &mut BTreeSet<FieldPath>) {
        match self {
            Self::Has(fields) if !fields.is_empty() => {
                for (name, shape) in fields {
                    shape.collect_reads(&at.field(name), paths);
                }
            }
            Self::Ready | Self::Failed | Self::Finished => {
                for name in ["apiVersion", "kind", "spec", "status"] {
                    paths.insert(at.field(name));
                }
                for name in ["generation", "deletionTimestamp"] {
                    paths.insert(at.field("metadata").field(name));
                }
            }
            Self::Available | Self::Complete | Self::Condition { .. } => {
                paths.insert(at.field("status").field("conditions"));
                paths.insert(at.field("metadata").field("generation"));
                if matches!(self, Self::Complete) {
                    paths.insert(at.field("status").field("phase"));
                }
            }
            Self::Bound => {
                paths.insert(at.field("status").field("phase"));
            }
            Self::AllOf(shapes) | Self::AnyOf(shapes) => {
                for shape in shapes {
                    shape.collect_reads(at, paths);
                }
            }
            Self::Not(shape) => shape.collect_reads(at, paths),
            _ => {
                paths.insert(at.clone());
            }
        }
    }
}

fn joined(shapes: &[Shape], word: &str) -> String {
    let part = |shape: &Shape| match shape {
        Shape::AllOf(_) | Shape::AnyOf(_) => format!("({})", shape.describe()),
        _ => shape.describe(),
    };
    if shapes.is_empty() {
        return if word == " and " { "anything" } else { "nothing" }.to_owned();
    }
    shapes.iter().take(6).map(part).collect::<Vec<_>>().join(word)
}
