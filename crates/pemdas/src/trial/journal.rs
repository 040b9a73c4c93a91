//! What the operator sends: every request, in its order, and what became of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use pemdas_box::{Fate, Listen, Sent};
use pemdas_core::digest::Digest;
use pemdas_sim::{Method, Request, Time};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// A request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// When.
    pub(crate) at: Time,
    /// In which life of the operator, counted from 0.
    pub(crate) life: usize,
    /// The method.
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    /// For whom, if not for the operator itself.
    pub(crate) who: String,
    /// A digest of what was sent.
    body: String,
    /// What it was answered; none if it was not done.
    pub(crate) code: Option<u16>,
    /// Whether it changed anything.
    pub(crate) changed: bool,
    /// What was done to it.
    pub(crate) fault: Option<Fault>,
    /// How often it told something, if it follows changes.
    pub(crate) told: usize,
}

impl Entry {
    /// Whether it may have changed something. Asking what somebody may do is a write by its form only.
    pub(crate) fn writes(&self) -> bool {
        self.method != Method::Get && !self.target.contains("accessreviews")
    }
}

impl Entry {
    /// Whether it follows changes.
    pub(crate) fn watches(&self) -> bool {
        self.method == Method::Get && self.target.contains("watch=true")
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {} {}", self.at.0, self.method.name(), self.target)?;
        if !self.who.is_empty() {
            write!(out, " as {}", self.who)?;
        }
        if !self.body.is_empty() {
            write!(out, " {}", self.body)?;
        }
        match (self.code, &self.fault) {
            (code, Some(fault)) => write!(out, " {fault} {code:?}"),
            (Some(code), None) => write!(out, " {code}"),
            (None, None) => Ok(()),
        }
    }
}

/// What is done to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The operator dies before it is sent.
    CrashBefore,
    /// The operator dies after it is done, and never sees the answer.
    CrashAfter,
    /// It does not arrive.
    Broken,
    /// It is done, and the answer is lost.
    BrokenAfter,
    /// It is refused with this code.
    Refused(u16),
    /// A watch that tells everything ten seconds late.
    Late,
    /// A watch that ends after the first that it tells.
    Cut,
    /// A watch that tells so much, then nothing for a while, and then that its version is gone.
    Gap(usize),
    /// It is done, and nothing is ever heard of it.
    Silent,
    /// There is a second copy of the operator, and everything that the first one sends from here on arrives so late that the other leads.
    Frozen,
    /// The evaluator dies, three times in a row, on what it is asked after this request.
    EvaluatorDies,
    /// The evaluator takes long for what it is asked after this request.
    EvaluatorSlow,
}

/// How late a late watch is.
const LATE: Duration = Duration::from_secs(10);
/// How long a watch with a gap tells nothing.
const GAP: Duration = Duration::from_secs(30);
/// How long a line stands still: longer than a lease lasts.
const FROZEN: Duration = Duration::from_secs(45);
/// How long a slow evaluator takes.
pub(crate) const SLOW: Duration = Duration::from_secs(40);
/// How often in a row a dying evaluator dies.
const DEATHS: usize = 3;

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CrashBefore => out.write_str("crash-before"),
            Self::CrashAfter => out.write_str("crash-after"),
            Self::Broken => out.write_str("broken"),
            Self::BrokenAfter => out.write_str("broken-after"),
            Self::Refused(code) => write!(out, "{code}"),
            Self::Late => out.write_str("late"),
            Self::Cut => out.write_str("cut"),
            Self::Gap(after) => write!(out, "gap-{after}"),
            Self::Silent => out.write_str("silent"),
            Self::Frozen => out.write_str("frozen"),
            Self::EvaluatorDies => out.write_str("evaluator-dies"),
            Self::EvaluatorSlow => out.write_str("evaluator-slow"),
        }
    }
}

impl std::str::FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [
            Self::CrashBefore,
            Self::CrashAfter,
            Self::Broken,
            Self::BrokenAfter,
            Self::Late,
            Self::Cut,
            Self::Silent,
            Self::Frozen,
            Self::EvaluatorDies,
            Self::EvaluatorSlow,
        ];
        if let Some(found) = known.into_iter().find(|it| it.to_string() == text) {
            return Ok(found);
        }
        if let Some(after) = text.strip_prefix("gap-").and_then(|it| it.parse().ok()) {
            return Ok(Self::Gap(after));
        }
        match text.parse() {
            Ok(code @ 400..=599) => Ok(Self::Refused(code)),
            _ => Err(format!(
                "{text} is none of crash-before, crash-after, broken, broken-after, silent, late, cut, gap-NUMBER, frozen, evaluator-dies, evaluator-slow, or a status from 400 to 599"
            )),
        }
    }
}

impl Fault {
    fn fate(self) -> Fate {
        match self {
            Self::CrashBefore => Fate::Lost,
            Self::CrashAfter => Fate::Unanswered,
            Self::Broken => Fate::Broken,
            Self::BrokenAfter => Fate::BrokenAfter,
            Self::Refused(code) => Fate::Refused(code),
            Self::Late => Fate::Late(LATE),
            Self::Cut => Fate::Cut,
            Self::Gap(after) => Fate::Gap(after, GAP),
            Self::Silent => Fate::Unanswered,
            Self::Frozen => Fate::Frozen(FROZEN),
            Self::EvaluatorDies | Self::EvaluatorSlow => Fate::Done,
        }
    }

    /// How often it is met, if it is one of the evaluator.
    fn of_evaluator(self) -> Option<usize> {
        match self {
            Self::EvaluatorDies => Some(DEATHS),
            Self::EvaluatorSlow => Some(1),
            _ => None,
        }
    }

    /// Whether the operator dies of it.
    pub(crate) fn is_crash(self) -> bool {
        matches!(self, Self::CrashBefore | Self::CrashAfter)
    }
}

#[derive(Default)]
struct Pages {
    entries: Vec<Entry>,
    /// How many of them write.
    writes: usize,
    life: usize,
    /// By the number of a request, counted over all lives.
    faults: Vec<(usize, Fault)>,
    /// Whether there were more requests than any sound run has.
    too_many: bool,
    /// How many requests there were when the evaluator was asked.
    asked: Vec<usize>,
    /// Faults of the evaluator that have begun, and how often they were met.
    met: BTreeMap<usize, usize>,
}

/// The most requests of a run: what sends more has no end.
const MAX_REQUESTS: usize = 5_000;

/// Keeps what was sent, and does to requests what it was told to.
#[derive(Default)]
pub(crate) struct Journal {
    pages: Mutex<Pages>,
    died: Notify,
}

impl Journal {
    /// A journal that does something to some requests.
    pub(crate) fn with(faults: Vec<(usize, Fault)>) -> Self {
        Self { pages: Mutex::new(Pages { faults, ..Pages::default() }), died: Notify::new() }
    }

    /// The operator begins to live once more.
    pub(crate) fn begin(&self) {
        let mut pages = self.pages();
        pages.life += usize::from(!pages.entries.is_empty());
    }

    /// An ear for a line.
    pub(crate) fn ear(self: &Arc<Self>) -> Arc<Ear> {
        Arc::new(Ear { journal: Arc::clone(self), numbers: Mutex::default() })
    }

    /// Waits until the operator dies.
    pub(crate) async fn death(&self) {
        self.died.notified().await;
    }

    /// Everything that was sent.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.pages().entries.clone()
    }

    /// Whether there were more requests than any sound run has.
    pub(crate) fn too_many(&self) -> bool {
        self.pages().too_many
    }

    /// How many requests there were whenever the evaluator was asked.
    pub(crate) fn asked(&self) -> Vec<usize> {
        self.pages().asked.clone()
    }

    /// The evaluator is asked: what becomes of it.
    pub(crate) fn ask(&self) -> Option<Fault> {
        let mut pages = self.pages();
        let now = pages.entries.len();
        if pages.asked.last() != Some(&now) {
            pages.asked.push(now);
        }
        let Pages { faults, met, .. } = &mut *pages;
        let due = faults.iter().filter(|(number, fault)| *number <= now && fault.of_evaluator().is_some());
        for (number, fault) in due {
            let times = met.entry(*number).or_default();
            if fault.of_evaluator().is_some_and(|most| *times < most) {
                *times += 1;
                return Some(*fault);
            }
        }
        None
    }

    /// Whether a second copy of the operator runs.
    pub(crate) fn needs_two(&self) -> bool {
        self.pages().faults.iter().any(|(_, it)| *it == Fault::Frozen)
    }

    /// How many requests write.
    pub(crate) fn writes(&self) -> usize {
        self.pages().writes
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes into the journal what it hears on one line.
pub(crate) struct Ear {
    journal: Arc<Journal>,
    /// Which numbers in the journal the requests of this line have.
    numbers: Mutex<BTreeMap<u64, usize>>,
}

impl Ear {
    fn numbers(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, usize>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, sent: &Sent, change: impl FnOnce(&mut Entry)) {
        let number = self.numbers().get(&sent.number).copied();
        let mut pages = self.journal.pages();
        if let Some(entry) = number.and_then(|it| pages.entries.get_mut(it)) {
            change(entry);
        }
    }
}

impl Listen for Ear {
    fn sent(&self, sent: &Sent) -> Fate {
        // Who leads is agreed upon beside everything else; only where there are two.
        if sent.request.path.contains("/leases") {
            return Fate::Done;
        }
        let mut pages = self.journal.pages();
        let number = pages.entries.len();
        self.numbers().insert(sent.number, number);
        let fault = pages.faults.iter().find(|(of, _)| *of == number).map(|it| it.1);
        let life = pages.life;
        let entry = Entry { fault, ..entry(sent, life) };
        pages.writes += usize::from(entry.writes());
        pages.entries.push(entry);
        pages.too_many |= number >= MAX_REQUESTS;
        let ends = pages.too_many || fault.is_some_and(Fault::is_crash);
        drop(pages);
        if ends {
            self.journal.died.notify_one();
        }
        fault.map_or(Fate::Done, Fault::fate)
    }

    fn done(&self, sent: &Sent, code: u16, changed: bool) {
        self.change(sent, |entry| (entry.code, entry.changed) = (Some(code), changed));
    }

    fn told(&self, sent: &Sent) {
        self.change(sent, |entry| entry.told += 1);
    }
}

fn entry(sent: &Sent, life: usize) -> Entry {
    let Request { method, path, query, headers, body } = &sent.request;
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let body = match body.as_slice() {
        [] => String::new(),
        some => {
            let value: Value = serde_json::from_slice(some).unwrap_or_else(|_| json!(some));
            Digest::of(&[], &value).short()
        }
    };
    Entry {
        at: sent.at,
        life,
        method: *method,
        target: format!("{path}{query}"),
        who: headers.get("impersonate-user").cloned().unwrap_or_default(),
        body,
        code: None,
        changed: false,
        fault: None,
        told: 0,
    }
}
