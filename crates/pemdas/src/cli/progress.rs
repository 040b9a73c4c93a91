//! What a command says on a terminal while it works for longer than two seconds.

use std::{
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::terminal::{self, Colour};

/// After how long it is said what takes so long, and how often from then on.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says what takes so long, in the last line of the terminal, until it is dropped.
pub(super) struct Still {
    end: Option<Sender<()>>,
    teller: Option<JoinHandle<()>>,
}

impl Still {
    /// Always the same words, and the seconds.
    pub(super) fn says(what: impl Into<String>, colour: Colour) -> Self {
        let what = what.into();
        let mut seconds = 0;
        Self::counts(
            move || {
                seconds += PATIENCE.as_secs();
                format!("{what} ({seconds} s)")
            },
            colour,
        )
    }

    /// Words that are asked for each time.
    pub(super) fn counts(mut words: impl FnMut() -> String + Send + 'static, colour: Colour) -> Self {
        let (end, ended) = mpsc::channel();
        let shown = colour.on_stderr();
        let teller = thread::spawn(move || {
            let mut said = false;
            while shown && ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                terminal::progress(&words());
                said = true;
            }
            if said {
                terminal::progress("");
            }
        });
        Self { end: Some(end), teller: Some(teller) }
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        drop(self.end.take());
        // It has nothing to say any more.
        let _ended = self.teller.take().map(JoinHandle::join);
    }
}
