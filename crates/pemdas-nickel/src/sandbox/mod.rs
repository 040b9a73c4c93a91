//! Evaluation in worker processes: what they may do, how they are asked, and how they are replaced.
//!
//! A worker is this same binary. Before it reads anybody's code it shuts itself in ([`Isolation`]); it serves one blueprint of one
//! identity in its life; the parent watches clock and memory and kills what does not answer. See `docs/design/evaluation.md`.

mod frame;
mod isolation;
mod pool;
mod process;
mod seccomp;
mod share;
mod worker;

pub use isolation::{Isolation, Landlock};
pub use pool::{Pool, PoolConfig, PoolStats, Sandboxed};
pub use process::WorkerCommand;
pub use share::Used;
pub use worker::worker_main;
