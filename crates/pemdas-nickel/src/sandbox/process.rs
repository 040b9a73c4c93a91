//! The parent's side of one worker.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::frame::{FromWorker, ToWorker, parse, read_bytes, write_bytes};
use super::isolation::Isolation;
use super::worker::arguments;
use crate::limits::Limits;
use crate::memory::resident_of;
use crate::request::{Answer, Failure, Kill, Request};
use crate::sources::Sources;

/// How a worker is started: this binary, with what makes it one.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, before those that the pool adds.
    pub arguments: Vec<OsString>,
}

/// How much longer than the worker itself the parent waits before it kills.
const GRACE: Duration = Duration::from_millis(1_000);
/// How long a worker may take to start and to shut itself in.
const START: Duration = Duration::from_secs(10);
/// How often the parent looks at a busy worker's memory.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// How much of what a worker writes to standard error is kept.
const STDERR_BYTES: usize = 4_096;
/// How much more than its limit a worker may hold before the parent kills it: the binary, the stack it really uses.
const MEMORY_SLACK: u64 = 96 << 20;

/// A running worker with its blueprint.
pub(super) struct Worker {
    child: Child,
    to: Sender<Vec<u8>>,
    from: Receiver<io::Result<Vec<u8>>>,
    /// Gives its last words, when it has ended.
    complaints: Option<JoinHandle<Vec<u8>>>,
    limits: Limits,
    isolation: Isolation,
    answered: u64,
    /// The most memory that it was seen with since it was last asked.
    largest: u64,
}

impl Worker {
    /// Starts a worker and loads a blueprint into it.
    pub(super) fn start(
        command: &WorkerCommand,
        sources: &Sources,
        limits: &Limits,
        require_isolation: bool,
    ) -> Result<Self, Failure> {
        let mut worker = Self::spawn(command, limits)
            .map_err(|error| unavailable(format!("a worker cannot be started: {error}")))?;
        match worker.receive(Instant::now() + START)? {
            FromWorker::Ready(isolation) => worker.isolation = isolation,
            _ => return Err(worker.broken()),
        }
        if require_isolation && !worker.isolation.is_enough() {
            let seen = format!("{:?}", worker.isolation);
            return Err(unavailable(format!("a worker cannot be shut in on this machine: {seen}")));
        }
        worker.send(&ToWorker::Load { sources: Box::new(sources.clone()), limits: limits.clone() })?;
        match worker.receive(worker.deadline())? {
            FromWorker::Loaded(Ok(())) => Ok(worker),
            FromWorker::Loaded(Err(failure)) => Err(failure),
            _ => Err(worker.broken()),
        }
    }

    fn spawn(command: &WorkerCommand, limits: &Limits) -> io::Result<Self> {
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .args(arguments(limits))
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (to, outgoing) = channel();
        // One message may wait; a worker that says more than it was asked is stopped by its own pipe.
        let (incoming, from) = sync_channel(1);
        let mut complaints = None;
        if let (Some(stdin), Some(stdout), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        {
            thread::Builder::new().name("worker-in".to_owned()).spawn(move || write_all(stdin, &outgoing))?;
            thread::Builder::new()
                .name("worker-out".to_owned())
                .spawn(move || read_all(stdout, |frame| incoming.send(frame).is_ok()))?;
            let reader = thread::Builder::new().name("worker-err".to_owned());
            complaints = Some(reader.spawn(move || keep(errors))?);
        }
        let isolation = Isolation::default();
        Ok(Self { child, to, from, complaints, limits: limits.clone(), isolation, answered: 0, largest: 0 })
    }

    /// Asks the worker. After a failure that [`Worker::is_spent`] tells of, it is of no more use.
    pub(super) fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        self.send(&ToWorker::Ask(request.clone()))?;
        self.answered += 1;
        self.largest = 0;
        match self.receive(self.deadline())? {
            FromWorker::Answered(answer) => *answer,
            _ => Err(self.broken()),
        }
    }

    /// Whether the process still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        // Its pipe closes a moment before its end can be seen.
        matches!(self.from.try_recv(), Err(TryRecvError::Empty)) && matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether it has grown so much, or answered so often, that a fresh one is better.
    pub(super) fn is_spent(&self, max_resident: u64, max_answers: u64) -> bool {
        self.answered >= max_answers
            || resident_of(self.child.id()).is_none_or(|resident| resident > max_resident)
    }

    /// How it is shut in.
    pub(super) fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.limits.millis) + GRACE
    }

    fn send(&self, message: &ToWorker) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(message).map_err(|error| unavailable(error.to_string()))?;
        self.to.send(bytes).map_err(|_| Failure::Killed { why: Kill::Crash })
    }

    /// Waits for the next message, with an eye on clock and memory.
    fn receive(&mut self, deadline: Instant) -> Result<FromWorker, Failure> {
        loop {
            match self.from.recv_timeout(LOOK_EVERY) {
                Ok(Ok(bytes)) => return parse(&bytes).map_err(|_| self.broken()),
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(self.post_mortem()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= deadline {
                self.kill();
                return Err(Failure::Killed { why: Kill::Time });
            }
            let resident = resident_of(self.child.id()).unwrap_or(0);
            self.largest = self.largest.max(resident);
            if resident > self.limits.memory.saturating_add(MEMORY_SLACK) {
                self.kill();
                return Err(Failure::Killed { why: Kill::Memory });
            }
        }
    }

    /// It said something that makes no sense.
    fn broken(&mut self) -> Failure {
        self.kill();
        Failure::Killed { why: Kill::Crash }
    }

    /// It is gone: from its last words and the way it ended, why.
    fn post_mortem(&mut self) -> Failure {
        // Its pipe closed; give it a moment to end by itself, so that the way it ends can be seen.
        let until = Instant::now() + Duration::from_secs(2);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                _ => break None,
            }
        };
        self.kill();
        // Its end closes the pipe, so this does not wait for long; looking earlier could miss the last words.
        let words = self.complaints.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        // Nobody but the kernel, short of memory, sends that signal to a worker that we have not given up.
        let killed =
            status.and_then(|status| status.signal()) == Some(rustix::process::Signal::KILL.as_raw());
        // A stack that cannot grow any more has no words for it.
        let full = self.largest > self.limits.memory / 4 * 3;
        let memory = killed || full || words.contains("memory allocation of");
        let why = if memory { Kill::Memory } else { Kill::Crash };
        Failure::Killed { why }
    }

    fn kill(&mut self) {
        // An error means that it has ended already; it must be waited for in either case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(super) fn unavailable(reason: String) -> Failure {
    Failure::Unavailable { reason }
}

fn write_all(mut stdin: ChildStdin, outgoing: &Receiver<Vec<u8>>) {
    while let Ok(bytes) = outgoing.recv() {
        // A pipe that is closed at the other end shows where answers are awaited.
        if !matches!(write_bytes(&mut stdin, &bytes), Ok(true)) {
            return;
        }
    }
}

fn read_all(mut stdout: ChildStdout, mut deliver: impl FnMut(io::Result<Vec<u8>>) -> bool) {
    loop {
        let frame = match read_bytes(&mut stdout) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        let failed = frame.is_err();
        if !deliver(frame) || failed {
            return;
        }
    }
}

/// Keeps the beginning of what a worker complains of, and reads on so that it never waits for us.
fn keep(mut stderr: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = [0_u8; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut chunk) {
        let room = STDERR_BYTES.saturating_sub(kept.len());
        kept.extend(chunk.iter().take(length.min(room)));
    }
    kept
}
