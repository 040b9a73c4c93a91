//! Pemdas at the Kubernetes API. The only crate of the product that talks to a cluster.
//!
//! **Invariant.** Decides nothing: it turns watch events into facts, and actions into calls. The test
//! `architecture` of the workspace keeps Kubernetes clients out of every other crate.

#[macro_use]
pub mod mutation;

pub mod access;
pub mod call;
pub mod compile;
pub mod connect;
pub mod crds;
pub mod door;
pub mod events;
pub mod files;
mod gate;
pub mod hub;
pub mod identity;
pub mod key;
pub mod lease;
pub mod ledgers;
pub mod limits;
pub mod live;
pub mod machine;
pub mod metrics;
pub mod needs;
mod packed;
pub mod refusal;
pub mod report;
pub mod reseal;
pub mod resource;
pub mod revisions;
pub mod survey;
pub mod watch;
