//! What a namespace may have of what all share, as whoever runs the operator sets it.

/// How much there is, and how much of it the blueprints of one namespace have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Blueprints of a namespace that are kept in memory.
    pub blueprints: usize,
    /// How many bytes these have together.
    pub blueprint_bytes: usize,
    /// Writes of all blueprints under way at once.
    pub writes: usize,
    /// Writes of the blueprints of a namespace under way at once.
    pub writes_each: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { blueprints: 200, blueprint_bytes: 8 << 20, writes: 128, writes_each: 96 }
    }
}

impl Limits {
    /// By name, for the metrics.
    #[must_use]
    pub fn named(&self) -> [(&'static str, usize); 4] {
        [
            ("blueprints", self.blueprints),
            ("blueprint_bytes", self.blueprint_bytes),
            ("writes", self.writes),
            ("writes_each", self.writes_each),
        ]
    }
}
