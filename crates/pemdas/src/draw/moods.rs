//! What a plan says of the nodes of a picture: their colours, and a few words.

use std::collections::BTreeSet;

use pemdas_core::plan::Fate;

use super::{Item, Picture, Role};
use crate::plan::{Planned, words};

/// How a node fares, from good to worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mood {
    /// Nothing needs it.
    NotNeeded,
    /// It is as it shall be, or will be without being written.
    Done,
    /// It writes.
    Acts,
    /// It goes.
    Goes,
    /// It waits for something that cannot be foreseen.
    Waits,
    /// A human must look.
    Stalled,
}

/// The colours of a mood.
pub(crate) struct Colours {
    /// Of the inside.
    pub(crate) fill: &'static str,
    /// Of the border.
    pub(crate) stroke: &'static str,
    /// Of the words.
    pub(crate) text: &'static str,
    /// On a terminal.
    pub(crate) ansi: &'static str,
}

impl Mood {
    /// All, in the order of a legend.
    pub(crate) const ALL: [Self; 6] =
        [Self::Done, Self::Acts, Self::Waits, Self::Stalled, Self::Goes, Self::NotNeeded];

    /// How it is called in class names.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::NotNeeded => "unneeded",
            Self::Done => "done",
            Self::Acts => "acts",
            Self::Goes => "goes",
            Self::Waits => "waits",
            Self::Stalled => "stalled",
        }
    }

    /// What it means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::NotNeeded => "not needed",
            Self::Done => "as wanted",
            Self::Acts => "is written in this round",
            Self::Goes => "is removed",
            Self::Waits => "waits, for longer than can be foreseen",
            Self::Stalled => "needs attention",
        }
    }

    pub(crate) fn colours(self) -> Colours {
        let (fill, stroke, text, ansi) = match self {
            Self::NotNeeded => ("#f8fafc", "#cbd5e1", "#94a3b8", "2"),
            Self::Done => ("#ecfdf5", "#059669", "#047857", "32"),
            Self::Acts => ("#eef2ff", "#4f46e5", "#4338ca", "1;34"),
            Self::Goes => ("#fff1f2", "#e11d48", "#be123c", "31"),
            Self::Waits => ("#fffbeb", "#d97706", "#b45309", "33"),
            Self::Stalled => ("#fee2e2", "#dc2626", "#b91c1c", "1;31"),
        };
        Colours { fill, stroke, text, ansi }
    }

    fn of(fate: &Fate) -> Self {
        match fate {
            Fate::NotNeeded => Self::NotNeeded,
            Fate::Done | Fate::Becomes | Fate::Passes => Self::Done,
            Fate::Acts(_) => Self::Acts,
            Fate::Goes(_) => Self::Goes,
            Fate::Waits => Self::Waits,
            Fate::Stalled => Self::Stalled,
        }
    }
}

/// What a plan says of a node.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// How it fares.
    pub(crate) mood: Mood,
    /// In a few words.
    pub(crate) words: String,
    /// The rounds in which it writes.
    pub(crate) rounds: Vec<usize>,
    /// Why it waits.
    pub(crate) why: Vec<String>,
}

impl Picture {
    /// The picture of one instance: what its root may need, each node as the plan says.
    pub(crate) fn of_plan(mut self, planned: &Planned) -> Self {
        let mut shown: BTreeSet<String> = planned.plan.nodes.keys().map(|it| it.node.clone()).collect();
        shown.insert(planned.root.clone());
        self.items.retain(|item| shown.contains(&item.name));
        self.needs.retain(|need| shown.contains(&need.from) && shown.contains(&need.to));
        self.waits.retain(|wait| shown.contains(&wait.from) && shown.contains(&wait.to));
        self.roots.retain(|root| *root == planned.root);
        self.subject = Some(planned.instance.to_string());
        self.add_earlier(planned);
        for item in &mut self.items {
            if item.role != Role::Root {
                item.state = state(planned, &item.name);
            }
        }
        self
    }

    /// What earlier revisions made and nothing needs any more is to be seen as well.
    fn add_earlier(&mut self, planned: &Planned) {
        for step in planned.plan.rounds.iter().flat_map(|round| &round.steps) {
            let name = &step.slot.node;
            if name.is_empty() || self.item(name).is_some() {
                continue;
            }
            self.items.push(Item {
                name: name.clone(),
                role: Role::Template,
                kind: step.object.kind.kind.clone(),
                marks: vec!["of an earlier revision".to_owned()],
                step: None,
                on_deletion: false,
                state: None,
            });
        }
    }

    /// The moods that are to be seen, in the order of a legend.
    pub(crate) fn moods(&self) -> Vec<Mood> {
        let has = |mood: &Mood| {
            self.items.iter().any(|item| item.state.as_ref().is_some_and(|it| it.mood == *mood))
        };
        Mood::ALL.into_iter().filter(has).collect()
    }
}

/// A node with all its members: the worst of them, and the rounds of all.
fn state(planned: &Planned, name: &str) -> Option<State> {
    let members: Vec<_> = planned.plan.nodes.iter().filter(|(slot, _)| slot.node == name).collect();
    let mood = members.iter().map(|(_, it)| Mood::of(&it.fate)).max()?;
    let mut rounds: Vec<usize> =
        members.iter().flat_map(|(_, it)| words::rounds(&it.fate).iter().copied()).collect();
    rounds.sort_unstable();
    rounds.dedup();
    let mut why: Vec<String> = Vec::new();
    for (_, it) in &members {
        if matches!(Mood::of(&it.fate), Mood::Waits | Mood::Stalled) {
            why.extend(words::reasons(&it.last).into_iter().take(2));
        }
    }
    why.dedup();
    let listed: Vec<String> = rounds.iter().map(ToString::to_string).collect();
    let listed = match listed.as_slice() {
        [one] => format!("round {one}"),
        _ => format!("rounds {}", listed.join(", ")),
    };
    let text = match mood {
        Mood::NotNeeded => "not needed".to_owned(),
        Mood::Done => "done".to_owned(),
        Mood::Acts => listed,
        Mood::Goes => format!("goes, {listed}"),
        Mood::Waits => "waits".to_owned(),
        Mood::Stalled => "stalled".to_owned(),
    };
    let count = if members.len() > 1 { format!(" · {} members", members.len()) } else { String::new() };
    Some(State { mood, words: format!("{text}{count}"), rounds, why })
}
