//! Tests that need several crates, the whole workspace, or a real control plane.
//!
//! **Invariant.** Nothing here is part of the product; nothing is tested that a single crate could test alone.
