//! Three-valued logic: what is unknown never counts as true, and never as false.

use serde::{Deserialize, Serialize};

/// True, false, or not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// It does not hold.
    False,
    /// It cannot be said.
    Unknown,
    /// It holds.
    True,
}

impl Truth {
    /// Both hold: the smaller of the two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.min(other)
    }

    /// One of them holds: the larger of the two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.max(other)
    }
}

impl std::ops::Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}
