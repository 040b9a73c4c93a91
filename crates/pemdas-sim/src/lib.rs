//! A simulated Kubernetes cluster: an API server's semantics, the controllers that play the cluster's part,
//! and faults.
//!
//! **Invariant.** A whole run is a function of its seed and its scenario: no clock, no ambient randomness,
//! no threads. Its semantics count only as far as they are checked against a real API server.
