//! Where a demonstration is shown: in place on a terminal, line by line elsewhere.

use std::io::{self, IsTerminal as _, Write as _};

use super::{
    frame::{self, Line},
    lines::Told,
    watch::Watched,
};
use crate::terminal::{Colour, Style, printable};

pub(crate) use super::frame::Stage;

/// The size of a terminal that does not say it.
const USUAL: (usize, usize) = (100, 40);

/// Where it is shown.
pub(crate) enum Screen {
    /// On a terminal, drawn again and again on a screen of its own.
    Terminal(Style),
    /// Elsewhere.
    Lines(Told),
}

impl Screen {
    pub(crate) fn open(colour: Colour) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb");
        if !io::stdout().is_terminal() || dumb {
            return Self::Lines(Told::default());
        }
        // Another screen, and no cursor on it: what was on this one comes back at the end.
        put("\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J");
        Self::Terminal(Style { colour: colour.on_stdout() })
    }

    /// Says where it is, before anything happens. A terminal has it on its screen all the time.
    pub(crate) fn begin(&mut self, stage: &Stage) {
        if let Self::Lines(_) = self {
            let name = &stage.picture.name;
            let at = stage.kubeconfig.display();
            put(&printable(&format!("in a browser: {}\n", stage.page)));
            put(&printable(&format!("{name} on a simulated cluster; KUBECONFIG={at}\n")));
            if !stage.has_kubectl {
                put(&printable(&format!("  {}\n", frame::KUBECTL)));
            }
            for attempt in &stage.attempts {
                put(&printable(&format!("  try: {}  # {}\n", attempt.run, attempt.then)));
            }
        }
    }

    /// Whether somebody sits at it.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Shows how it is now. Whether anybody can see it: whoever has gone away need not be shown more.
    pub(crate) fn show(&mut self, stage: &Stage, watched: &Watched<'_>) -> bool {
        match self {
            Self::Lines(told) => {
                told.news(watched).into_iter().all(|line| put(&printable(&format!("{line}\n"))))
            }
            Self::Terminal(style) => {
                let (width, height) = size();
                let mut out = "\u{1b}[H".to_owned();
                for line in frame::lines(stage, watched, width, height.saturating_sub(1)) {
                    out.push_str(&format!("{}\u{1b}[K\r\n", printable(&line.cut(width, *style))));
                }
                out.push_str("\u{1b}[J");
                put(&out)
            }
        }
    }

    /// The end: the last picture stays to be read.
    pub(crate) fn close(self, stage: &Stage, watched: &Watched<'_>) {
        if let Self::Terminal(style) = self {
            let (width, _) = size();
            let last: Vec<Line> = frame::story(stage, watched);
            let text: Vec<String> = last.iter().map(|it| printable(&it.cut(width, style))).collect();
            drop(self);
            put(&format!("{}\n", text.join("\n").trim_end()));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Self::Terminal(_) = self {
            put("\u{1b}[?25h\u{1b}[?1049l");
        }
    }
}

fn size() -> (usize, usize) {
    terminal_size::terminal_size().map_or(USUAL, |(width, height)| (width.0.into(), height.0.into()))
}

/// Writes at once; whether somebody reads.
fn put(text: &str) -> bool {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}
