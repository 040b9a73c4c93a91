//! Simulated time.

use jiff::Timestamp;

/// An instant: milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub u64);

impl Time {
    /// As objects have it, to the second.
    #[must_use]
    pub fn text(self) -> String {
        let seconds = i64::try_from(self.0 / 1000).unwrap_or(0);
        Timestamp::from_second(seconds).unwrap_or_default().to_string()
    }

    /// The instant that a text of an object names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let stamp: Timestamp = text.parse().ok()?;
        u64::try_from(stamp.as_millisecond()).ok().map(Self)
    }

    /// So many milliseconds later.
    #[must_use]
    pub fn after(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn times_are_written_as_kubernetes_writes_them() {
        let time = Time(1_700_000_000_500);
        assert_eq!(time.text(), "2023-11-14T22:13:20Z");
        assert_eq!(Time::parse("2023-11-14T22:13:20Z"), Some(Time(1_700_000_000_000)));
    }
}
