//! The worker: one process, one blueprint, one request after the other.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};

use super::frame::{FromWorker, ToWorker, parse, read_bytes, write_bytes, write_frame};
use super::isolation::{close_the_door, shut_in};
use crate::engine::Engine;
use crate::evaluator::{THREAD, guarded, is_fault, quiet_panics};
use crate::limits::{Limits, Size};
use crate::memory::MemoryProbe;
use crate::request::{Answer, Failure, Kill};

/// How much address space beyond its limits a worker has: the binary itself, and what allocators reserve without using it.
const ADDRESS_SLACK: u64 = 512 << 20;

/// What a worker process does: shuts itself in, says how well that went, then answers on standard output what it is asked on standard
/// input, until that ends. The binary's hidden subcommand is this function.
#[must_use]
pub fn worker_main() -> ExitCode {
    quiet_panics();
    // The parent decides what a worker may hold; it says so in the arguments, because the walls come before the first message.
    let Some(limits) = limits_from_arguments() else {
        let _ = io::stderr().write_all(b"a worker is started by pemdas, not by hand\n");
        return ExitCode::from(2);
    };
    let probe = MemoryProbe::open();
    let isolation = shut_in(ADDRESS_SLACK.saturating_add(limits.memory).saturating_add(limits.stack));
    let stack = usize::try_from(limits.stack).unwrap_or(usize::MAX);
    let evaluating = thread::Builder::new().name(THREAD.to_owned()).stack_size(stack).spawn(move || {
        let mut isolation = isolation;
        close_the_door(&mut isolation);
        let told = write_frame(&mut io::stdout().lock(), &FromWorker::Ready(isolation));
        // An error means that the pipe broke: the parent is gone or has had enough.
        let code = if told.and_then(|_| serve(probe)).is_ok() { 0 } else { 1 };
        std::process::exit(code)
    });
    if evaluating.is_err() {
        return ExitCode::FAILURE;
    }
    wait_for_the_parents_end();
    ExitCode::SUCCESS
}

/// Returns when nobody can ask any more: the parent has closed its end of the pipe, or has died. Whatever is being evaluated then
/// ends with the process. (The kernel's own signal for the death of a parent means the parent's *thread*.)
fn wait_for_the_parents_end() {
    let stdin = io::stdin();
    loop {
        // No event is asked for: the end of the other side is always told.
        let mut ends = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut ends, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        if ends.iter().any(|end| end.revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
        {
            return;
        }
    }
}

/// The arguments that `worker_main` understands: memory and stack, in bytes.
pub(super) fn arguments(limits: &Limits) -> [String; 2] {
    [format!("--memory={}", limits.memory), format!("--stack={}", limits.stack)]
}

fn limits_from_arguments() -> Option<Limits> {
    let mut limits = Limits::default();
    let mut seen = 0;
    for argument in std::env::args().skip(1) {
        if let Some(memory) = argument.strip_prefix("--memory=") {
            limits.memory = memory.parse().ok()?;
            seen += 1;
        } else if let Some(stack) = argument.strip_prefix("--stack=") {
            limits.stack = stack.parse().ok()?;
            seen += 1;
        }
    }
    (seen == 2).then_some(limits)
}

fn serve(mut probe: Option<MemoryProbe>) -> io::Result<()> {
    let mut engine: Option<Engine> = None;
    loop {
        let Some(bytes) = read_bytes(&mut io::stdin().lock())? else { return Ok(()) };
        match parse(&bytes)? {
            ToWorker::Load { sources, limits } => {
                // One life, one blueprint.
                if engine.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                let memory = limits.memory;
                let loaded = guarded(|| Engine::load(&sources, limits));
                let told = loaded.map(|loaded| {
                    if let Some(probe) = probe.take() {
                        loaded.watch_memory(probe, memory);
                    }
                    engine = Some(loaded);
                });
                write_frame(&mut io::stdout().lock(), &FromWorker::Loaded(told))?;
            }
            ToWorker::Ask(request) => {
                let Some(engine) = engine.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
                let answer = guarded(|| engine.run(&request));
                let spent = is_fault(&answer) || matches!(answer, Err(Failure::Killed { why: Kill::Memory }));
                tell(answer)?;
                if spent {
                    return Ok(());
                }
            }
        }
    }
}

/// Tells an answer, or that it is too long to be told.
fn tell(answer: Result<Answer, Failure>) -> io::Result<()> {
    let bytes = serde_json::to_vec(&FromWorker::Answered(Box::new(answer)))?;
    let mut out = io::stdout().lock();
    if !write_bytes(&mut out, &bytes)? {
        let limit = super::frame::MAX_FRAME as u64;
        let too_large = Err(Failure::TooLarge { what: Size::Output, limit });
        write_frame(&mut out, &FromWorker::Answered(Box::new(too_large)))?;
    }
    Ok(())
}
