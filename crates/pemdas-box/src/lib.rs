//! A simulated cluster that clients speak to: in the same process, or at a loopback port.
//!
//! [`Host`] holds a [`pemdas_sim::Cluster`] and is a tower service: a client of Kubernetes is built on it without a socket.
//! [`Line`] is the same with somebody who listens, and who decides what becomes of each request. [`Port`] serves it to others, `kubectl` among them. Time is told by the one who holds the host, or passes as on the
//! wall ([`Clock`]).
//!
//! **Invariant.** Nothing of Kubernetes is decided here: what a request means stands in `pemdas-sim`.

mod bell;
mod guard;
mod host;
mod line;
mod port;
mod wire;

pub use host::{Clock, Host};
pub use line::{Cut, Fate, Line, Listen, Sent};
pub use port::Port;
