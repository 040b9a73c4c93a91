//! The definitions of kinds in a cluster.

pub mod install;
pub mod live;
