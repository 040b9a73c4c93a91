//! Times as Kubernetes writes them, in milliseconds since 1970.

/// A time in milliseconds since 1970 as Kubernetes writes it.
pub(crate) fn timestamp(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March: leap days come last. Eras of 400 years repeat themselves.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The time that is written so; none for anything else, and for times before 1970.
pub(crate) fn read_timestamp(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    // Some are written with fractions of a second.
    let time = time.split_once('.').map_or(time, |(whole, _)| whole);
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (year, march_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000)
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = text.split(between).map(|it| it.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest, test_runner::Config as ProptestConfig};

    use super::{read_timestamp, timestamp};

    #[test]
    fn times_are_written_as_kubernetes_does() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(timestamp(1_763_229_599_999), "2025-11-15T17:59:59Z");
        assert_eq!(timestamp(4_107_542_400_000), "2100-03-01T00:00:00Z");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(pemdas_tier::size(256, 50_000)))]

        #[test]
        fn what_is_written_is_read(seconds in 0_u64..250_000_000_000) {
            prop_assert_eq!(read_timestamp(&timestamp(seconds * 1_000)), Some(seconds * 1_000));
        }
    }

    #[test]
    fn what_others_write_is_read() {
        assert_eq!(read_timestamp("2025-11-15T17:59:59.123456Z"), Some(1_763_229_599_000));
        for strange in
            ["", "Z", "2025-11-15", "2025-13-15T17:59:59Z", "2025-11-15T17:59Z", "1969-12-31T23:59:59Z"]
        {
            assert_eq!(read_timestamp(strange), None, "{strange}");
        }
    }
}
