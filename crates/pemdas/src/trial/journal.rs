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
    /// What was done to it.
    pub(crate) fault: Option<Fault>,
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
}

/// How late a late watch is.
const LATE: Duration = Duration::from_secs(10);

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
        }
    }
}

impl std::str::FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known =
            [Self::CrashBefore, Self::CrashAfter, Self::Broken, Self::BrokenAfter, Self::Late, Self::Cut];
        if let Some(found) = known.into_iter().find(|it| it.to_string() == text) {
            return Ok(found);
        }
        match text.parse() {
            Ok(code @ 400..=599) => Ok(Self::Refused(code)),
            _ => Err(format!(
                "{text} is none of crash-before, crash-after, broken, broken-after, late, cut, or a status from 400 to 599"
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
    life: usize,
    /// By the number of a request, counted over all lives.
    faults: Vec<(usize, Fault)>,
}

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

    /// How many requests write.
    pub(crate) fn writes(&self) -> usize {
        self.pages().entries.iter().filter(|it| it.writes()).count()
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
}

impl Listen for Ear {
    fn sent(&self, sent: &Sent) -> Fate {
        let mut pages = self.journal.pages();
        let number = pages.entries.len();
        self.numbers().insert(sent.number, number);
        let fault = pages.faults.iter().find(|(of, _)| *of == number).map(|it| it.1);
        let life = pages.life;
        pages.entries.push(Entry { fault, ..entry(sent, life) });
        drop(pages);
        if fault.is_some_and(Fault::is_crash) {
            self.journal.died.notify_one();
        }
        fault.map_or(Fate::Done, Fault::fate)
    }

    fn done(&self, sent: &Sent, code: u16) {
        let Some(number) = self.numbers().remove(&sent.number) else { return };
        if let Some(entry) = self.journal.pages().entries.get_mut(number) {
            entry.code = Some(code);
        }
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
        fault: None,
    }
}
