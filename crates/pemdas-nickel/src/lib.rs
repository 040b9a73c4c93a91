//! Blueprints as Nickel programs. The only crate that names Nickel; JSON and strings at its border.
//!
//! **Invariant.** Every evaluation has a limit on time, memory and output; imports resolve only from the
//! blueprint's own sources and the library; a user's mistake is a diagnostic with a span and a code, never a
//! panic. The test `architecture` of the workspace keeps Nickel out of every other crate.
//!
//! # The evaluator
//!
//! A blueprint is a set of [`Sources`] (file name to text, `main.ncl` first). An [`Evaluator`] is one blueprint, compiled once, that
//! answers [`Request`]s with an [`Answer`] or a [`Failure`]; all of them are plain data. [`InProcess`] evaluates on a thread of this process
//! (trusted local files, deterministic tests); [`Sandboxed`], from a [`Pool`], in worker processes that are shut in, watched and replaced
//! ([`worker_main`] is what such a process does). [`Memo`] remembers answers. What a request speaks of is a [`Place`]: fields, elements and calls from the value of
//! `main.ncl` (or of another file, [`Place::file`]); it serves as the handle of a function as well.
//!
//! ```
//! use pemdas_nickel::{Evaluator, InProcess, Input, Limits, Place, Sources};
//! use serde_json::json;
//!
//! let sources = Sources::single("{ greet = fun the => { text = \"Hello %{the.name}\", late = the.status } }");
//! let blueprint = InProcess::load(&sources, &Limits::default()).map_err(|failure| format!("{failure:?}"))?;
//! let the = Input::Record([
//!     ("name".to_owned(), json!("Ada").into()),
//!     ("status".to_owned(), Input::Poison("the.status".to_owned())),
//! ].into());
//! let result = Place::at(["greet"]).call([the]);
//! // Only the fields asked for are evaluated; one that reads what cannot be known says so.
//! let parts = blueprint.select(&result, &[&["text"], &["late"]]).map_err(|failure| format!("{failure:?}"))?;
//! assert_eq!(parts[0], Ok(json!("Hello Ada")));
//! assert!(parts[1].is_err());
//! # Ok::<(), String>(())
//! ```
//!
//! Reading files is the caller's business; [`imported_files`] says which ones a file needs.
//!
//! | to | ask |
//! | --- | --- |
//! | call a function, evaluate to JSON | [`Evaluator::evaluate`] of a place that ends in a call |
//! | force only chosen fields | [`Evaluator::select`] |
//! | apply a contract to data | [`Evaluator::check`] |
//! | see fields, kinds and spans without evaluating | [`Evaluator::look`] |
//! | a contract's structure | [`Evaluator::describe`] |
//! | how the files are written | [`Evaluator::syntax`] |

pub mod codes;
pub mod contract;
mod engine;
mod evaluator;
mod imports;
pub mod kinds;
pub mod kube_contracts;
mod library;
mod limits;
mod memo;
mod memory;
pub mod outline;
mod patient;
pub mod print;
pub mod renderer;
mod request;
mod sandbox;
mod sources;
pub mod syntax;
mod written;

pub use evaluator::{Evaluator, InProcess};
pub use imports::imported_files;
pub use library::{LIBRARY, LibraryFile, is_library_file};
pub use limits::{Limits, Size};
pub use memo::{Memo, Memoized};
pub use patient::Patient;
pub use renderer::{Loaded, Renderer};
pub use request::{Answer, Failure, FieldSeen, Input, Kill, Kind, Place, RenderCall, Request, Seen, Step};
pub use sandbox::{
    Isolation, Landlock, Pool, PoolConfig, PoolStats, Sandboxed, Used, WorkerCommand, worker_main,
};
pub use sources::{MAIN, Sources};
pub use written::{Written, place_of, written};
