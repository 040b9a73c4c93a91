//! A process with a breakpoint on each of its functions, until it is met.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, OpenOptions, read_dir, read_link, read_to_string},
    os::unix::fs::FileExt as _,
};

use nix::{
    errno::Errno,
    sys::{
        ptrace::{self, Options},
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use crate::Error;

/// The instruction that stops a process.
const BREAK: u8 = 0xcc;

pub(crate) struct Tracee {
    process: Pid,
    memory: File,
    /// Where the program begins in memory: its addresses count from there.
    base: u64,
    /// By address in the program: what stood there.
    covered: BTreeMap<u64, u8>,
}

impl Tracee {
    /// Stops all threads of a process, and lets them go on with breakpoints at these addresses of the program.
    pub(crate) fn attach(process: i32, addresses: Vec<u64>) -> Result<Self, Error> {
        // Whoever is traced ends with us; what is forked runs through the same breakpoints until it is another program.
        let options = Options::PTRACE_O_EXITKILL
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC;
        let mut stopped = Vec::new();
        for thread in read_dir(format!("/proc/{process}/task"))? {
            let thread = Pid::from_raw(thread?.file_name().to_string_lossy().parse()?);
            ptrace::seize(thread, options)?;
            ptrace::interrupt(thread)?;
            waitpid(thread, Some(WaitPidFlag::__WALL))?;
            stopped.push(thread);
        }
        let base = base(process)?;
        let memory = memory_of(process)?;
        let mut covered = BTreeMap::new();
        for address in addresses {
            let mut byte = [0];
            memory.read_exact_at(&mut byte, base + address)?;
            memory.write_all_at(&[BREAK], base + address)?;
            covered.insert(address, byte[0]);
        }
        for thread in stopped {
            ptrace::cont(thread, None)?;
        }
        Ok(Self { process: Pid::from_raw(process), memory, base, covered })
    }

    /// Handles everything that has happened; whether the process still runs.
    pub(crate) fn look(&mut self, met: &mut BTreeSet<u64>) -> Result<bool, Error> {
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return Ok(true),
                Err(Errno::ECHILD) => return Ok(false),
                Ok(WaitStatus::Exited(process, _) | WaitStatus::Signaled(process, _, _))
                    if process == self.process =>
                {
                    return Ok(false);
                }
                Ok(status) => gone_is_fine(self.go_on(status, met))?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn go_on(&self, status: WaitStatus, met: &mut BTreeSet<u64>) -> Result<(), Errno> {
        match status {
            WaitStatus::PtraceEvent(thread, _, event) if event == ptrace::Event::PTRACE_EVENT_EXEC as i32 => {
                ptrace::detach(thread, None)
            }
            WaitStatus::PtraceEvent(thread, _, _) => ptrace::cont(thread, None),
            WaitStatus::Stopped(thread, Signal::SIGTRAP) => self.uncover(thread, met),
            // How a new thread begins.
            WaitStatus::Stopped(thread, Signal::SIGSTOP) => ptrace::cont(thread, None),
            WaitStatus::Stopped(thread, signal) => ptrace::cont(thread, signal),
            _ => Ok(()),
        }
    }

    /// A thread met a breakpoint: what stood there is put back, and done.
    fn uncover(&self, thread: Pid, met: &mut BTreeSet<u64>) -> Result<(), Errno> {
        let mut registers = ptrace::getregs(thread)?;
        let at = registers.rip - 1;
        let address = at.wrapping_sub(self.base);
        let Some(byte) = self.covered.get(&address) else { return ptrace::cont(thread, Signal::SIGTRAP) };
        met.insert(address);
        let written = self.memory.write_all_at(&[*byte], at);
        // A process that was forked has its own copy.
        let own = memory_of(thread.as_raw()).and_then(|it| it.write_all_at(&[*byte], at));
        written.and(own).map_err(|_| Errno::ESRCH)?;
        registers.rip = at;
        ptrace::setregs(thread, registers)?;
        ptrace::cont(thread, None)
    }
}

/// A thread may end at any moment.
fn gone_is_fine(result: Result<(), Errno>) -> Result<(), Errno> {
    result.or_else(|error| if error == Errno::ESRCH { Ok(()) } else { Err(error) })
}

fn memory_of(process: i32) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/mem"))
}

/// Where a process has the beginning of its program.
fn base(process: i32) -> Result<u64, Error> {
    let program = read_link(format!("/proc/{process}/exe"))?;
    let mappings = read_to_string(format!("/proc/{process}/maps"))?;
    let first = mappings.lines().find(|it| it.ends_with(&*program.to_string_lossy()));
    let (start, _) = first.and_then(|it| it.split_once('-')).ok_or("it has no program")?;
    Ok(u64::from_str_radix(start, 16)?)
}
