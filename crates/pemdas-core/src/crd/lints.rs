//! Advice on the design of kinds.
