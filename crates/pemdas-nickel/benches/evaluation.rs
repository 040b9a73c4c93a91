//! What evaluation costs.
fn main() {}
