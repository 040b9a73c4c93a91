//! The processes of one cluster: each with a log of its own, all ended together.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{dies_with_us, going_on, kill_group, last_lines};
use crate::error::{Doing, Error, Result};

/// The running processes.
#[derive(Debug)]
pub(crate) struct Processes {
    logs: PathBuf,
    running: Vec<Process>,
}

#[derive(Debug)]
struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Processes {
    /// None yet; their logs will be in the folder `logs`.
    pub(crate) fn new(logs: &Path) -> Self {
        Self { logs: logs.to_path_buf(), running: Vec::new() }
    }

    /// Starts one.
    pub(crate) fn start(&mut self, name: &'static str, command: &mut Command) -> Result<()> {
        let log = self.logs.join(format!("{name}.log"));
        let file = File::create(&log).doing(|| format!("make {}", log.display()))?;
        let both = file.try_clone().doing(|| format!("open {}", log.display()))?;
        let child = dies_with_us(command)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(both)
            .spawn()
            .doing(|| format!("start {name}"))?;
        self.running.push(Process { name, child, log });
        Ok(())
    }

    /// Fails if one of them has ended by itself, with the end of its log.
    pub(crate) fn all_alive(&mut self) -> Result<()> {
        for process in &mut self.running {
            if let Ok(Some(status)) = process.child.try_wait() {
                return Err(Error::new(format!(
                    "{} ended by itself ({status}); its last words:\n{}",
                    process.name,
                    tail(&process.log)
                )));
            }
        }
        Ok(())
    }

    /// Waits until `ready` says so, while all processes live and nobody asks us to end.
    pub(crate) fn wait_until(
        &mut self,
        what: &str,
        limit: Duration,
        mut ready: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let started = Instant::now();
        loop {
            going_on()?;
            self.all_alive()?;
            if ready()? {
                return Ok(());
            }
            if started.elapsed() > limit {
                let logs: Vec<String> =
                    self.running.iter().map(|it| format!("--- {}\n{}", it.name, tail(&it.log))).collect();
                return Err(Error::new(format!(
                    "waited {} s in vain until {what}; the logs end so:\n{}",
                    limit.as_secs(),
                    logs.join("\n")
                )));
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// Ends all, the last started first. Nothing they hold is worth a graceful end: their data goes with them.
    pub(crate) fn stop(&mut self) {
        for process in self.running.iter().rev() {
            kill_group(process.child.id());
        }
        for mut process in self.running.drain(..).rev() {
            let _ = process.child.wait();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop();
    }
}

fn tail(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let end = bytes.get(bytes.len().saturating_sub(4000)..).unwrap_or_default();
    last_lines(&String::from_utf8_lossy(end), 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_by_itself_is_told_with_its_last_words() {
        let logs = tempfile::tempdir().unwrap();
        let mut processes = Processes::new(logs.path());
        processes.start("short", Command::new("sh").args(["-c", "echo farewell; exit 7"])).unwrap();
        let error =
            processes.wait_until("never", Duration::from_secs(60), || Ok(false)).unwrap_err().to_string();
        assert!(error.contains("short ended by itself") && error.contains("farewell"), "{error}");
    }

    #[test]
    fn nothing_runs_on_after_the_end_not_even_grandchildren() {
        let logs = tempfile::tempdir().unwrap();
        let file = logs.path().join("pid");
        let mut processes = Processes::new(logs.path());
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        processes.start("parent", Command::new("sh").args(["-c", &script])).unwrap();
        let written = || Ok(std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
        processes.wait_until("the child has started", Duration::from_secs(60), written).unwrap();
        let pid = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        drop(processes);
        let gone = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            status.is_empty() || status.contains(") Z ")
        };
        for _ in 0..200 {
            if gone() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        assert!(gone(), "the grandchild {pid} lives on");
    }
}
