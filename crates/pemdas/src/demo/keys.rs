//! The keys that somebody presses while a demonstration is shown.

use std::io::{self, IsTerminal as _, Read as _};
use std::sync::mpsc::{self, Receiver};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// End the demonstration.
    Quit,
    /// Create again what was deleted.
    Again,
}

/// Reads single keys from the terminal; without one there are none. The terminal is as before when this is dropped.
pub(crate) struct Keys {
    before: Option<Termios>,
    pressed: Receiver<Key>,
}

impl Keys {
    /// Begins to read, if keys are wanted.
    pub(crate) fn open(wanted: bool) -> Self {
        let (tell, pressed) = mpsc::channel();
        let before = if wanted { single_keys() } else { None };
        if before.is_some() {
            // It waits for a key as long as the process lives: nothing can wake it.
            std::thread::spawn(move || {
                for byte in io::stdin().lock().bytes().map_while(Result::ok) {
                    if let Some(key) = meaning(byte)
                        && tell.send(key).is_err()
                    {
                        return;
                    }
                }
            });
        }
        Self { before, pressed }
    }

    /// What was pressed since the last time.
    pub(crate) fn pressed(&self) -> Vec<Key> {
        self.pressed.try_iter().collect()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that has gone away needs nothing.
            let _restored = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Has the terminal hand over each key at once, and print none; how it was before. Ctrl-C stays a signal.
fn single_keys() -> Option<Termios> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return None;
    }
    let before = tcgetattr(&stdin).ok()?;
    let mut single = before.clone();
    single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Now, &single).ok()?;
    Some(before)
}

fn meaning(byte: u8) -> Option<Key> {
    match byte {
        // Ctrl-D ends other programs that read.
        b'q' | b'Q' | 4 => Some(Key::Quit),
        b'c' | b'C' => Some(Key::Again),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, meaning};

    #[test]
    fn each_key_means_one_thing() {
        assert_eq!(meaning(b'q'), Some(Key::Quit));
        assert_eq!(meaning(b'C'), Some(Key::Again));
        assert_eq!(meaning(b'x'), None);
    }
}
