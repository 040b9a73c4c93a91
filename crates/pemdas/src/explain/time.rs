//! Times as people read them: the hour today, the day before, and how long ago.

use jiff::{Timestamp, tz::TimeZone};

/// A time of Kubernetes, as of now: `since 10:04:12 (3m)`.
pub(crate) fn since(text: &str, now: u64) -> String {
    let Ok(at) = text.parse::<Timestamp>() else { return format!("since {text}") };
    let passed = i64::try_from(now / 1_000).unwrap_or(i64::MAX).saturating_sub(at.as_second()).max(0);
    let form = if passed < 86_400 { "%H:%M:%SZ" } else { "%Y-%m-%d %H:%MZ" };
    format!("since {} ({})", at.to_zoned(TimeZone::UTC).strftime(form), ago(passed))
}

/// How long a number of seconds is, as kubectl says it.
pub(crate) fn ago(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long ago a time was.
pub(crate) fn age(text: &str, now: u64) -> String {
    let Ok(at) = text.parse::<Timestamp>() else { return String::new() };
    ago(i64::try_from(now / 1_000).unwrap_or(i64::MAX).saturating_sub(at.as_second()).max(0))
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn a_time_is_told_as_short_as_it_can_be() {
        let now = 1_763_229_600_000; // 2025-11-15T18:00:00Z
        assert_eq!(since("2025-11-15T17:59:59Z", now), "since 17:59:59Z (1s)");
        assert_eq!(since("2025-11-15T17:00:00Z", now), "since 17:00:00Z (60m)");
        assert_eq!(since("2025-11-12T18:00:00Z", now), "since 2025-11-12 18:00Z (3d)");
        assert_eq!(since("2025-11-15T19:00:00Z", now), "since 19:00:00Z (0s)", "a clock that is ahead");
        assert_eq!(since("yesterday", now), "since yesterday");
    }
}
