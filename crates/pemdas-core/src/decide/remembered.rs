//! Rule 9, before all of it: memory that is missing is never taken for memory that is empty.
//!
//! *The accident*: the ledger of a database is deleted while no operator runs. The next operator finds none, restores
//! the old backup once more over the newer data, and makes another password than the one that the volume knows.
//!
//! So the root says that its instance has a ledger, from before anything is done of what the ledger remembers. Where
//! the root says so and there is no ledger, a human decides.

use super::{Cause, pass::Pass, reason};
use crate::{
    action::Action,
    ledger::{Ledger, secret_name},
    world::{LedgerFact, Live, OUR_PREFIX, RootFact, World, place},
};

/// What a human writes on the root to begin without what was remembered.
const START_OVER: &str = "start-over";

/// What a root says of the memory of its instance.
pub(super) struct Mark {
    /// How often somebody began anew, and once for the beginning: who wants to begin anew names it, so that a word on
    /// the root that was meant for an earlier loss has no effect.
    times: u32,
    /// The name of the instance whose ledger it is: another one where the root was restored from a backup.
    pub(super) instance: String,
    /// Whether Pemdas wrote it on a root of this kind and name. What anybody wrote keeps everything from running; only
    /// what Pemdas wrote gives a claim to a ledger.
    pub(super) genuine: bool,
    /// Whether an older key sealed it than the one that seals now.
    older: bool,
}

impl Mark {
    /// What is written on the root; nothing where that was copied from a root of another name.
    pub(super) fn of(world: &World, live: &Live) -> Option<Self> {
        let root = &world.root;
        let text = live.annotation(&root.memory())?;
        let [times, instance, of, seal] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
        let times: u32 = times.parse().ok()?;
        let parts = sealed(root, times, instance);
        let parts = parts.each_ref().map(String::as_str);
        let genuine = world.seal.holds(seal, &parts);
        let older = genuine && !world.seal.is_current(seal, &parts);
        (of == place(&root.key)).then(|| Self { times, instance: instance.to_owned(), genuine, older })
    }

    /// What a human has to write to begin without this memory.
    fn word(&self) -> String {
        format!("forget-{}", self.times)
    }
}

/// What is written on the root of this instance.
fn text(world: &World, times: u32) -> String {
    let root = &world.root;
    let seal = world.seal.of(&sealed(root, times, &root.instance).each_ref().map(String::as_str));
    format!("{times} {} {} {seal}", root.instance, place(&root.key))
}

/// What the seal is of.
fn sealed(root: &RootFact, times: u32, instance: &str) -> [String; 6] {
    let (kind, key) = (&root.key.kind, place(&root.key));
    let [memory, times, instance] = ["memory", &times.to_string(), instance].map(str::to_owned);
    [memory, times, instance, kind.group.clone(), kind.kind.clone(), key]
}

/// What is known of the memory of an instance, and what has to be done about it first.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Memory {
    /// It is as the ledger says, or there never was one.
    Known,
    /// The root has to say first that there is one.
    Unmarked(String),
    /// There should be a ledger, and none was seen: it is looked for.
    Sought,
    /// The ledger went while we looked on: it is written again as it was last seen.
    Torn(Box<Ledger>),
    /// It is lost, and a human said to begin without.
    Anew,
    /// It is lost: why, and what a human can do.
    Lost(String),
}

/// What a root says of its memory, where an older key sealed that.
pub(super) fn older_mark(world: &World, live: &Live) -> Option<Mark> {
    Mark::of(world, live).filter(|it| it.older && it.instance == world.root.instance)
}

/// What is known of the memory of an instance.
pub(super) fn memory(world: &World, live: &Live) -> Memory {
    let root = &world.root;
    let mark = Mark::of(world, live).filter(|_| !mutant!(LostIsEmpty));
    let said = live.annotation(&format!("{OUR_PREFIX}{START_OVER}"));
    let is_spent = |mark: &Mark| said == Some(mark.word().as_str());
    match (&world.ledger, mark) {
        (LedgerFact::Unknown, _) => Memory::Known,
        (LedgerFact::Absent, mark) => match (mark, &world.torn_ledger) {
            (_, Some(last)) => Memory::Torn(last.clone()),
            (None, None) => Memory::Known,
            (Some(_), None) if !world.ledger_missed => Memory::Sought,
            (Some(mark), None) if is_spent(&mark) => Memory::Anew,
            (Some(mark), None) => Memory::Lost(gone(root, &mark)),
        },
        (LedgerFact::Present { .. }, _) if mutant!(LostIsEmpty) => Memory::Known,
        (LedgerFact::Present { .. }, Some(mark))
            if mark.instance == root.instance && mark.genuine && !is_spent(&mark) =>
        {
            Memory::Known
        }
        (LedgerFact::Unreadable, Some(mark)) if mark.instance == root.instance => {
            Memory::Lost(unreadable(root, &mark))
        }
        (LedgerFact::Present { .. } | LedgerFact::Unreadable, mark) => {
            let times = mark.map_or(1, |it| it.times.saturating_add(u32::from(is_spent(&it))));
            Memory::Unmarked(text(world, times))
        }
    }
}

fn gone(root: &RootFact, mark: &Mark) -> String {
    let secret = secret_name(&mark.instance);
    let (word, instance) = (mark.word(), &mark.instance);
    let begin = format!(
        "to begin anew, which runs everything that runs once again and makes new random values, annotate {} with \
         {OUR_PREFIX}{START_OVER}={word}",
        root.key
    );
    if *instance == root.instance {
        return format!(
            "its ledger is gone, so nobody knows what has run and which random values were made: restore the Secret {secret} \
             from a backup; or {begin}"
        );
    }
    format!(
        "{} was made anew, and has no memory of what has run: restore the Secret {secret} from a backup and annotate the root with \
         {OUR_PREFIX}reclaim={instance}; or {begin}",
        root.key
    )
}

fn unreadable(root: &RootFact, mark: &Mark) -> String {
    let secret = secret_name(&root.instance);
    format!(
        "its ledger cannot be read, so nobody knows what has run and which random values were made: restore the Secret {secret}, or \
         the Secret with the key of the operator, from a backup; to begin anew, which runs everything that runs once again and makes new random \
         values, delete {secret} and annotate {} with {OUR_PREFIX}{START_OVER}={}",
        root.key,
        mark.word()
    )
}

impl Pass<'_> {
    /// Sees to it that the root says what there is to remember, and the ledger what was remembered. The ledger that has
    /// to be written for that.
    pub(super) fn keep_memory(&mut self) -> Option<Ledger> {
        let world = self.facts.all();
        match memory(world, self.root) {
            Memory::Known => {
                let older = older_mark(world, self.root).filter(|_| self.facts.reseals());
                if let Some(mark) = older {
                    self.mark_root(Some(text(world, mark.times)));
                }
                None
            }
            Memory::Lost(_) => None,
            Memory::Torn(last) => Some(*last),
            Memory::Anew => Some(Ledger::default()),
            Memory::Sought => {
                if world.ledger_write.is_none() {
                    self.push(Action::ReadLedger);
                }
                None
            }
            Memory::Unmarked(text) => {
                self.mark_root(Some(text));
                None
            }
        }
    }

    fn mark_root(&mut self, memory: Option<String>) {
        let world = self.facts.all();
        let root = &world.root.key;
        if world.writes.contains_key(root) || self.actions.iter().any(Action::writes_root) {
            return;
        }
        let action = mark(world, self.root, memory);
        let refused = self.facts.refused(root).filter(|it| it.tried == action.tried());
        self.instance.extend(refused.map(|it| Cause::refused_of("the memory noted on the root", it)));
        self.push(action);
    }

    /// Says that the memory is lost.
    pub(super) fn tell_lost_memory(&mut self) {
        if let Memory::Lost(why) = memory(self.facts.all(), self.root) {
            self.instance.push(Cause::stalled(reason::MEMORY_LOST, why));
        }
    }
}

/// Writes on the root what its instance remembers; nothing takes that off.
pub(super) fn mark(world: &World, live: &Live, memory: Option<String>) -> Action {
    let (uid, resource_version) = (live.uid.clone(), live.resource_version);
    Action::Mark { uid, resource_version, annotation: world.root.memory(), memory }
}

/// Before the ledger of an instance goes whose root stays: the root says so no more. One that is picked again begins
/// anew.
pub(super) fn unmark(world: &World) -> Option<Action> {
    let live = world.root.live.as_ref().filter(|it| !it.terminating)?;
    live.annotation(&world.root.memory())?;
    Some(mark(world, live, None))
}
