//! Running other programs: to their end with their output kept, or as children that cannot outlive us.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::error::{DISK_FULL, Doing, Error, Result};

/// Whether a person or the owner has asked us to end while something long was under way.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Lets everything that waits know that it is time to end.
pub fn end_soon() {
    ENDING.store(true, Ordering::SeqCst);
}

/// Fails if it is time to end.
pub(crate) fn going_on() -> Result<()> {
    if ENDING.load(Ordering::SeqCst) { Err(Error::new("interrupted")) } else { Ok(()) }
}

/// Makes the kernel end the child when we end, however we end, and keeps the terminal's Ctrl-C from it: we end it
/// ourselves, in order.
pub(crate) fn dies_with_us(command: &mut Command) -> &mut Command {
    let us = rustix::process::getpid();
    let before_exec = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // If we died in between, the signal will never come.
        if rustix::process::getppid() == Some(us) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    };
    #[allow(
        unsafe_code,
        reason = "the standard library has no safe way to set a child's parent-death signal"
    )]
    // SAFETY: between fork and exec only prctl and getppid are called: both are async-signal-safe, and neither
    // touches memory.
    unsafe {
        command.process_group(0).pre_exec(before_exec)
    }
}

/// Runs a command to its end and gives its standard output; it ends early when we are asked to end.
pub(crate) fn run(command: &mut Command, what: &str) -> Result<String> {
    let [mut out, mut err] = [scratch()?, scratch()?];
    let mut child = dies_with_us(command)
        .stdin(Stdio::null())
        .stdout(out.try_clone().doing(|| "share a file".into())?)
        .stderr(err.try_clone().doing(|| "share a file".into())?)
        .spawn()
        .doing(|| format!("run {what}"))?;
    let status = loop {
        if let Some(status) = child.try_wait().doing(|| format!("wait for {what}"))? {
            break status;
        }
        if let Err(ending) = going_on() {
            kill_group(child.id());
            let _ = child.wait();
            return Err(ending);
        }
        sleep(Duration::from_millis(20));
    };
    let (said, complained) = (content(&mut out)?, content(&mut err)?);
    if status.success() {
        return Ok(said);
    }
    let error =
        Error::new(format!("{what} failed ({status}):\n{}", last_lines(&format!("{said}{complained}"), 15)));
    let full = complained.to_lowercase().contains("no space left on device");
    Err(if full { error.hint(DISK_FULL) } else { error })
}

/// Ends a child and everything it started in its process group.
pub(crate) fn kill_group(pid: u32) {
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may be gone already: that is what was wanted.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

fn scratch() -> Result<File> {
    tempfile::tempfile().doing(|| "make a temporary file".into())
}

fn content(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).doing(|| "read a temporary file".into())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a long text.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_is_shown() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }

    #[test]
    fn a_failing_command_is_told_with_its_last_words() {
        let error = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"]), "the thing").unwrap_err();
        assert!(
            error.to_string().contains("the thing failed") && error.to_string().contains("why"),
            "{error}"
        );
    }

    #[test]
    fn a_full_disk_is_recognised() {
        let error = run(Command::new("sh").args(["-c", "echo x: No space left on device >&2; exit 1"]), "it");
        assert!(error.unwrap_err().to_string().contains("PEMDAS_CACHE"));
    }
}
