//! `pemdas ui`: why, in a browser.

use std::{io, process::Stdio};

use clap::Args;

use super::{Outcome, cluster::Reading, could_not_run, run::stopped, workers};
use crate::{
    operate::Workers,
    terminal::{self, Colour},
    ui,
};

/// Show the instances of a cluster in a browser: their graphs as they change, and why each one waits
///
/// Serves a page on this machine only, at a loopback address. It reads the cluster with your own kubeconfig and permissions, and it
/// writes nothing. Only the printed link opens it: the link ends with a token of this run.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 stopped, 2 it cannot run.",
    after_long_help = "\
Examples:
  pemdas ui                                              all instances that you may see
  pemdas ui --open                                       and open the browser
  pemdas ui --open /i/shop.example.com/Shop/default/one  one instance: `pemdas explain` prints its path

Ctrl-C stops it.

Exit status: 0 stopped, 2 it cannot run."
)]
pub(super) struct Ui {
    /// What to show first: the path of a screen
    #[arg(value_name = "URL-PATH", default_value = "/", value_parser = path)]
    path: String,
    /// The local port of the page; 0 for any free port
    #[arg(long, value_name = "PORT", default_value_t = ui::PORT)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    reading: Reading,
}

fn path(text: &str) -> Result<String, String> {
    let printable = text.chars().all(|it| it.is_ascii_graphic() && it != '#');
    let known = text == "/" || text.starts_with("/i/") || text.starts_with("/b/") || text.starts_with("/?");
    if printable && known {
        Ok(text.to_owned())
    } else {
        Err("a path is /, /i/GROUP/KIND/NAMESPACE/NAME or /b/NAMESPACE/NAME".to_owned())
    }
}

impl Ui {
    pub(super) fn run(&self, _colour: Colour) -> Outcome {
        let session = match self.reading.session() {
            Ok(session) => session,
            Err(outcome) => return outcome,
        };
        let workers = match workers(Workers::new()) {
            Ok(workers) => workers,
            Err(outcome) => return outcome,
        };
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(why) => return could_not_run(&format!("nothing can be served from here: {why}"), None),
        };
        let ui = match ui::Ui::open(self.port, move || Some(session), workers) {
            Ok(ui) => ui,
            Err(why) => return self.not_served(&why),
        };
        let link = ui.link(&self.path);
        terminal::say(&format!("{link}\n"));
        if self.open {
            open(&link);
        }
        let ended = runtime.block_on(async {
            tokio::select! {
                served = ui.serve() => served,
                () = stopped() => Ok(()),
            }
        });
        // What is still looked at has nobody to tell it to.
        runtime.shutdown_background();
        ended.map_or_else(|why| self.not_served(&why), |()| Outcome::Clean)
    }

    fn not_served(&self, why: &io::Error) -> Outcome {
        if why.kind() == io::ErrorKind::AddrInUse {
            let hint = "another `pemdas ui` may run: use its link; or take another port, --port 0 takes any";
            return could_not_run(&format!("the port {} is in use", self.port), Some(hint));
        }
        could_not_run(&format!("the page cannot be served: {why}"), None)
    }
}

/// Opens the browser of the desktop. The link was printed: whoever has no desktop uses that.
fn open(link: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let command = std::process::Command::new(program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if command.is_err() {
        terminal::remark(&format!("no browser was opened: there is no {program} here\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn only_screens_of_the_page_are_opened() {
        for good in ["/", "/i/shop.example.com/Shop/default/one?node=web", "/b/default/shop", "/?q=stalled"] {
            assert_eq!(path(good).as_deref(), Ok(good));
        }
        for bad in
            ["", "i/x", "//evil.example", "/i/x#token=1", "/i/a b", "/etc/passwd", "http://evil.example/"]
        {
            assert!(path(bad).is_err(), "{bad}");
        }
    }
}
