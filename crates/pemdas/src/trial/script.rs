//! A scenario as data: what is done, and what is expected.

use pemdas_core::diagnostic::Span;
use pemdas_sim::{Answer, Rule};
use serde_json::Value;

use super::facts::{Fact, Object};

/// A scenario.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// The file, without its ending.
    pub(crate) file: String,
    /// Its name.
    pub(crate) name: String,
    /// What is there from the beginning.
    pub(crate) given: Vec<Value>,
    /// How workloads behave.
    pub(crate) workloads: Vec<Rule>,
    /// What Services answer.
    pub(crate) services: Vec<Answer>,
    /// What is done and expected.
    pub(crate) steps: Vec<Step>,
}

impl Script {
    /// As it is called, and filtered by.
    pub(crate) fn title(&self) -> String {
        format!("{}: {}", self.file, self.name)
    }
}

/// One step, and where it is written.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Where.
    pub(crate) span: Span,
    /// What.
    pub(crate) what: What,
}

/// What is done or expected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// These objects are applied.
    Apply(Vec<Value>),
    /// Some fields are changed.
    Patch(Object, Value),
    /// An object is deleted.
    Delete(Object),
    /// So many milliseconds pass.
    Pass(u64),
    /// Workloads behave otherwise, Services answer otherwise.
    Behave(Vec<Rule>, Vec<Answer>),
    /// The operator dies and starts anew.
    Restart,
    /// A file of the blueprint is changed: this text becomes that.
    Edit(String, String, String),
    /// A human lets an instance try again.
    Resume(Object),
    /// A human opens the gate of a node.
    Approve(Object, String),
    /// It becomes so, within so many milliseconds.
    Eventually(Fact, u64),
    /// It is so.
    Now(Fact),
    /// It is never so from here on.
    Never(Fact),
    /// From here on this comes first, before that comes.
    Order(Box<Fact>, Box<Fact>),
    /// The operator comes to rest within so many milliseconds.
    Settles(u64),
    /// How everything is, and this object, is kept. No author writes this.
    Keep(Object),
    /// What this did to the object is taken back.
    Restore(Object, Value),
    /// Everything is as it was kept.
    AsKept,
}

impl std::fmt::Display for What {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Apply(objects) => {
                let name = |it: &Value| {
                    let text =
                        |at: &str| it.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
                    format!("{} {}", text("/kind"), text("/metadata/name"))
                };
                write!(out, "apply {}", objects.iter().map(name).collect::<Vec<_>>().join(", "))
            }
            Self::Patch(object, _) => write!(out, "patch {object}"),
            Self::Delete(object) => write!(out, "delete {object}"),
            Self::Pass(millis) => write!(out, "{} s pass", seconds(*millis)),
            Self::Behave(rules, answers) => match (rules.len(), answers.len()) {
                (_, 0) => out.write_str("workloads behave otherwise"),
                (0, _) => out.write_str("Services answer otherwise"),
                _ => out.write_str("workloads behave and Services answer otherwise"),
            },
            Self::Restart => out.write_str("the operator is restarted"),
            Self::Edit(file, _, _) => write!(out, "the blueprint is changed: {file}"),
            Self::Resume(object) => write!(out, "a human resumes {object}"),
            Self::Approve(object, node) => write!(out, "a human approves {node} of {object}"),
            Self::Eventually(fact, _) => write!(out, "eventually {fact}"),
            Self::Now(fact) => write!(out, "now {fact}"),
            Self::Never(fact) => write!(out, "never {fact}"),
            Self::Order(first, before) => write!(out, "first {first}, before {before}"),
            Self::Settles(_) => out.write_str("settles"),
            Self::Keep(_) => out.write_str("how it is now is kept in mind"),
            Self::Restore(object, _) => write!(out, "the change of {object} is taken back"),
            Self::AsKept => out.write_str("everything is as it was before"),
        }
    }
}

impl What {
    /// Whether something is done, and not only expected.
    pub(crate) fn acts(&self) -> bool {
        !matches!(
            self,
            Self::Eventually(..)
                | Self::Now(_)
                | Self::Never(_)
                | Self::Order(..)
                | Self::Settles(_)
                | Self::Keep(_)
                | Self::AsKept
        )
    }
}

/// Milliseconds as seconds for people.
pub(crate) fn seconds(millis: u64) -> String {
    if millis.is_multiple_of(1_000) {
        (millis / 1_000).to_string()
    } else {
        format!("{}.{}", millis / 1_000, millis % 1_000 / 100)
    }
}
