//! Rule 1: what is needed, and what is kept because that is not known.
//!
//! *The accident*: a condition that cannot be evaluated for a moment (a cache that is not synced, a worker that was
//! killed) counts as false, and everything behind it is deleted.
//!
//! What is needed is a fixpoint: a condition counts once its node is needed, whichever of the two is known first.

use super::{
    Cause, Mode,
    pass::{Asked, Pass},
    reason,
};
use crate::{evaluate::Form, graph::Vertex, truth::Truth};

impl Pass<'_> {
    pub(super) fn begin_need(&mut self) {
        let root = self.program.root.clone();
        self.need.insert(root.clone(), Truth::True);
        self.spread(&root, false);
        if self.mode == Mode::Deleting {
            self.deletion.insert(root.clone(), Truth::True);
            self.spread(&root, true);
        }
    }

    /// Whether a node is needed: true, false, or perhaps.
    pub(super) fn needed(&self, name: &str) -> Truth {
        let present = self.need.get(name).copied().unwrap_or(Truth::False);
        present.or(self.deletion.get(name).copied().unwrap_or(Truth::False))
    }

    /// Whether a node belongs to the root's deletion.
    pub(super) fn of_deletion(&self, name: &str) -> bool {
        self.deletion.get(name).is_some_and(|it| *it != Truth::False)
    }

    /// Carries a node's being needed along its Also edges, as far as their conditions are known.
    fn spread(&mut self, from: &str, deletion: bool) {
        let program = self.program;
        let mut open = vec![from.to_owned()];
        while let Some(name) = open.pop() {
            let map = if deletion { &self.deletion } else { &self.need };
            let here = map.get(&name).copied().unwrap_or(Truth::False);
            for need in program.needs.get(&name).into_iter().flatten() {
                // The deletion starts at the root's own list; its nodes bring their ordinary edges with them.
                let starts = name == program.root;
                if need.deleting != (deletion && starts) || (deletion && need.state) {
                    continue;
                }
                let vertex =
                    Vertex::Condition { from: name.clone(), to: need.to.clone(), deleting: need.deleting };
                let condition = match self.decided.get(&vertex) {
                    _ if !need.conditional => Truth::True,
                    Some(truth) => *truth,
                    None => continue,
                };
                let here_already = self.needed(&need.to) != Truth::False;
                let map = if deletion { &mut self.deletion } else { &mut self.need };
                let known = map.entry(need.to.clone()).or_insert(Truth::False);
                let reached = (*known).or(here.and(condition));
                if reached != *known {
                    let first = *known == Truth::False && (deletion || !here_already);
                    *known = reached;
                    if first && !mutant!(NeedsAreJudgedOnce) {
                        self.judge_again(&need.to);
                    }
                    open.push(need.to.clone());
                }
            }
        }
    }

    /// A node is needed after all: its conditions whose turn came before that was known have to be judged again. Their
    /// turns say nothing of who needs whom, since the order is that of the Sequence graph (and in it that of the names).
    /// What is needed only if one of them holds comes after both: after it, and after the one by which its node is needed.
    fn judge_again(&mut self, from: &str) {
        for need in self.program.needs.get(from).into_iter().flatten().filter(|it| it.conditional) {
            let (from, to) = (from.to_owned(), need.to.clone());
            let condition = Vertex::Condition { from, to, deleting: need.deleting };
            if self.decided.contains_key(&condition) {
                self.early.insert(condition);
            }
        }
    }

    pub(super) fn judge_condition(&mut self, from: &str, to: &str, deleting: bool) {
        if deleting && self.mode != Mode::Deleting {
            return;
        }
        let program = self.program;
        let Some(edge) = program.condition(from, to, deleting) else { return };
        let Some(when) = &edge.when else { return };
        let here = if deleting { Truth::True } else { self.needed(from) };
        let truth = if here == Truth::False {
            Truth::False
        } else if edge.before.keys().any(|it| *it != program.root && self.needed(it) == Truth::False) {
            // What is not needed cannot be read: there is nothing to wait for.
            Truth::False
        } else {
            let causes = self.instance.len();
            let truth = self.condition_truth(from, to, edge, when);
            // What was needed is held as it is while a deletion runs: it does not wait for what may never be known.
            let held = self.mode == Mode::Deleting
                && !deleting
                && (from == program.root || !self.of_deletion(from))
                && !mutant!(DeletionAwaitsConditions);
            if held {
                self.instance.truncate(causes);
            }
            truth
        };
        let truth =
            if truth == Truth::Unknown && mutant!(UnknownConditionIsFalse) { Truth::False } else { truth };
        self.decided.insert(Vertex::Condition { from: from.to_owned(), to: to.to_owned(), deleting }, truth);
        if self.need.get(from).is_some_and(|it| *it != Truth::False) && !deleting {
            self.spread(from, false);
        }
        if self.mode == Mode::Deleting && (deleting || self.of_deletion(from)) {
            self.spread(from, true);
        }
    }

    fn condition_truth(
        &mut self,
        from: &str,
        to: &str,
        edge: &crate::blueprint::AlsoEdge,
        when: &crate::blueprint::Function,
    ) -> Truth {
        let slot = crate::ledger::Slot::new(from, "");
        let edges = self.edges(&slot, &edge.before, None);
        if edges.open != Truth::True {
            self.instance.push(Cause::Unknown(format!("whether {from} needs {to} is not known yet")));
            return Truth::Unknown;
        }
        let answer = match self.the(when, &edges, None, None) {
            Err(cause) => Asked::Unknown(cause.to_string()),
            Ok(the) => self.ask(when, Form::Whole, &the),
        };
        match answer {
            Asked::Value(value) => match value.value().as_bool() {
                Some(holds) => holds.into(),
                None => {
                    let text = format!("the condition of {to} is no Boolean");
                    self.instance.push(Cause::stalled(reason::ERROR, text));
                    Truth::Unknown
                }
            },
            Asked::Error(text) => {
                let text = format!("the condition of {to}: {text}");
                self.instance.push(Cause::stalled(reason::ERROR, text));
                Truth::Unknown
            }
            // What the root does not say, nobody will say by and by: a human has to.
            Asked::Unknown(text) if text.starts_with("the.root.") && !mutant!(MissingIsUnknown) => {
                let text = format!("the condition of {to}: {text}");
                self.instance.push(Cause::stalled(reason::ERROR, text));
                Truth::Unknown
            }
            Asked::Unknown(text) => {
                self.instance.push(Cause::Unknown(format!("whether {from} needs {to}: {text}")));
                Truth::Unknown
            }
        }
    }
}
