//! Blueprints as Nickel programs. The only crate that names Nickel; JSON and strings at its border.
//!
//! **Invariant.** Every evaluation has a limit on time, memory and output; imports resolve only from the
//! blueprint's own sources and the library; a user's mistake is a diagnostic with a span and a code, never a
//! panic. The test `architecture` of the workspace keeps Nickel out of every other crate.
