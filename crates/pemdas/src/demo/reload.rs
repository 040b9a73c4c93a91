//! A folder that somebody edits while it is played: read again whenever its files have changed.

use std::{
    collections::BTreeMap,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::play::{self, Play};
use crate::load::{self, Checked};

/// How long between two looks at the files.
const PAUSE: Duration = Duration::from_millis(300);

/// What was read again.
pub(crate) struct Edited {
    /// What is played now.
    pub(crate) play: Play,
    /// The blueprint, and what is wrong with it.
    pub(crate) checked: Checked,
}

/// Reads a folder again and again, in a thread of its own: checking a blueprint takes a while.
pub(crate) struct Reload(Option<Receiver<Result<Edited, String>>>);

impl Reload {
    /// Looks at a folder. An example of the binary never changes.
    pub(crate) fn of(name: &str, play: &Play) -> Self {
        if !play.is_folder {
            return Self(None);
        }
        let (tell, edited) = mpsc::sync_channel(1);
        let name = name.to_owned();
        let mut last = Ok(Contents::of(play));
        thread::spawn(move || {
            loop {
                thread::sleep(PAUSE);
                let read = play::find(&name).map_err(|it| it.message);
                let now = read.as_ref().map(Contents::of).map_err(Clone::clone);
                if now == last {
                    continue;
                }
                last = now;
                if tell.send(read.map(checked)).is_err() {
                    return;
                }
            }
        });
        Self(Some(edited))
    }

    /// What was edited since the last time; an error says why it cannot be read.
    pub(crate) fn edited(&self) -> Option<Result<Edited, String>> {
        self.0.as_ref()?.try_iter().last()
    }
}

fn checked(mut play: Play) -> Edited {
    let files = play.given.files.clone();
    let checked = load::check(std::mem::take(&mut play.given));
    play.given.files = files;
    Edited { play, checked }
}

/// What makes a difference.
#[derive(PartialEq)]
struct Contents {
    files: BTreeMap<String, String>,
    objects: Vec<(String, Value)>,
    readable: bool,
}

impl Contents {
    fn of(play: &Play) -> Self {
        let Play { given, objects, .. } = play;
        Self { files: given.files.clone(), objects: objects.clone(), readable: !given.unreadable }
    }
}
