//! A demonstration: the operator itself, unchanged, on a simulated cluster of this process that `kubectl` can reach.
//!
//! `examples`, `script` and `play` say what is played; `bed` is the cluster; `watch` looks at it as `pemdas explain` does, and
//! `story` tells what was written; `frame` (with `tree`) and `lines` show both, on a terminal and elsewhere, which
//! `screen` knows. `keys` are those that somebody presses, and `reload` reads a folder again that somebody edits.

pub(crate) mod bed;
pub(crate) mod examples;
mod frame;
pub(crate) mod keys;
mod lines;
pub(crate) mod play;
pub(crate) mod reload;
pub(crate) mod screen;
mod script;
pub(crate) mod story;
mod tree;
pub(crate) mod watch;

pub(crate) use script::Attempt;
