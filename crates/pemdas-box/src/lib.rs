//! A simulated cluster that clients speak to: in the same process, or at a loopback port.
//!
//! [`Host`] holds a [`pemdas_sim::Cluster`] and is a tower service: a client of Kubernetes is built on it without a socket.
//! [`Port`] serves it to others, `kubectl` among them. Time is told by the one who holds the host, or passes as on the
//! wall ([`Clock`]).
//!
//! **Invariant.** Nothing of Kubernetes is decided here: what a request means stands in `pemdas-sim`.

mod host;
mod port;
mod wire;

pub use host::{Clock, Host};
pub use port::Port;
