//! The operator as a process: its time and memory, with those of its children.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::thread::JoinHandle;
use std::time::Duration;

/// A running operator. It is ended when this is dropped.
pub(crate) struct Running {
    child: Child,
    /// Its own memory at its highest, and that of its children.
    peak: Arc<[AtomicU64; 2]>,
    over: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a command, whose words are separated by spaces.
    pub(crate) fn start(command: &str, kubeconfig: &Path, log: &Path) -> std::io::Result<Self> {
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        let log = fs::File::create(log)?;
        let child = Command::new(program)
            .args(words)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let (peak, over) = (Arc::<[AtomicU64; 2]>::default(), Arc::new(AtomicBool::new(false)));
        let (of, highest, is_over) = (child.id(), peak.clone(), over.clone());
        let watcher = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for (highest, now) in highest.iter().zip(resident(of)) {
                    highest.fetch_max(now, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Ok(Self { child, peak, over, watcher: Some(watcher) })
    }

    /// The seconds of processor time that it and its children have used.
    pub(crate) fn processor_seconds(&self) -> f64 {
        seconds(family(self.child.id()).values())
    }

    /// The most memory that it had, and the most that its children had, in megabytes.
    pub(crate) fn peak_megabytes(&self) -> [f64; 2] {
        [0, 1].map(|at: usize| self.peak[at].load(Ordering::Relaxed) as f64 / 1e6)
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Running {
    /// Ends it, as Kubernetes would, and waits until it has.
    pub(crate) fn end(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        for _ in 0..100 {
            if !self.is_running() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.watcher.take().map(JoinHandle::join);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The processes that this program has started.
pub(crate) fn children() -> BTreeSet<u32> {
    let this = std::process::id();
    family(this).into_iter().filter(|(_, it)| it.parent == this).map(|(pid, _)| pid).collect()
}

/// The seconds that these processes and all below them have used.
pub(crate) fn seconds_of(pids: &BTreeSet<u32>) -> f64 {
    pids.iter().map(|it| seconds(family(*it).values())).sum()
}

struct Stat {
    parent: u32,
    /// Own time, and that of children that have ended.
    ticks: u64,
}

fn seconds<'a>(of: impl Iterator<Item = &'a Stat>) -> f64 {
    of.map(|it| it.ticks).sum::<u64>() as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// The process with all below it.
fn family(of: u32) -> BTreeMap<u32, Stat> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse::<u32>().ok()) else { continue };
        let Ok(text) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may hold anything.
        let Some((_, rest)) = text.rsplit_once(')') else { continue };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|it| it.parse::<u64>().ok()).unwrap_or_default();
        let parent = u32::try_from(number(1)).unwrap_or_default();
        all.insert(pid, Stat { parent, ticks: (11..=14).map(number).sum() });
    }
    let belongs = |mut pid: u32| {
        while let Some(stat) = all.get(&pid) {
            if pid == of {
                return true;
            }
            pid = stat.parent;
        }
        false
    };
    let pids: Vec<u32> = all.keys().copied().filter(|it| belongs(*it)).collect();
    pids.into_iter().filter_map(|it| all.remove(&it).map(|stat| (it, stat))).collect()
}

/// The memory of the process and of all below it, in bytes.
fn resident(of: u32) -> [u64; 2] {
    let page = rustix::param::page_size() as u64;
    let pages = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
        text.split_whitespace().nth(1).and_then(|it| it.parse::<u64>().ok()).unwrap_or_default()
    };
    let all = family(of);
    let below = all.keys().filter(|it| **it != of).map(pages).sum::<u64>();
    [pages(&of) * page, below * page]
}
