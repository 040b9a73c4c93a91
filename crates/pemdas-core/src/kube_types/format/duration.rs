//! Durations as Go writes them: `90s`, `1h30m`, `1.5h`, `-250ms`.

use std::fmt;
use std::str::FromStr;

/// Why a text is no duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// It is not a sequence of numbers with units.
    #[error("it must be numbers with units, such as 90s, 1h30m or 500ms")]
    Form,
    /// A number has no unit, or an unknown one.
    #[error("each number needs one of the units ns, us, ms, s, m, h")]
    Unit,
    /// It is beyond about 292 years.
    #[error("it is longer than a duration can be (about 292 years)")]
    Size,
}

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    nanoseconds: i64,
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const SECOND: u64 = 1_000_000_000;
/// The magnitude of the most negative duration.
const LIMIT: u64 = 1 << 63;

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
        let negative = text.starts_with('-');
        if rest == "0" {
            return Ok(Self { nanoseconds: 0 });
        }
        if rest.is_empty() {
            return Err(DurationError::Form);
        }
        let mut sum: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = leading_part(rest)?;
            sum = sum.checked_add(part).filter(|sum| *sum <= LIMIT).ok_or(DurationError::Size)?;
            rest = after;
        }
        // Negated in 128 bits: the most negative duration has no positive twin.
        let signed = if negative { -i128::from(sum) } else { i128::from(sum) };
        i64::try_from(signed).map(|nanoseconds| Self { nanoseconds }).map_err(|_| DurationError::Size)
    }
}

/// The first number with its unit, in nanoseconds, and what follows.
fn leading_part(text: &str) -> Result<(u64, &str), DurationError> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::Form);
    }
    let (unit, rest) =
        rest.split_at(rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len()));
    let (_, factor) = UNITS.iter().find(|(known, _)| *known == unit).ok_or(DurationError::Unit)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| DurationError::Size)? };
    let amount = whole.checked_mul(*factor).ok_or(DurationError::Size)?;
    let amount = amount.checked_add(part_of(fraction, *factor)).ok_or(DurationError::Size)?;
    if amount > LIMIT { Err(DurationError::Size) } else { Ok((amount, rest)) }
}

/// `fraction`, the digits after the point, of a unit. Finer than a nanosecond is cut off.
fn part_of(fraction: &str, unit: u64) -> u64 {
    let mut amount: u128 = 0;
    let mut scale: u128 = 1;
    // More digits than this are below a nanosecond of every unit.
    for digit in fraction.bytes().take(18) {
        amount = amount * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    u64::try_from(amount * u128::from(unit) / scale).unwrap_or_default()
}

impl Duration {
    /// A duration of so many nanoseconds.
    #[must_use]
    pub fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self { nanoseconds }
    }

    /// Its length in nanoseconds.
    #[must_use]
    pub fn as_nanoseconds(self) -> i64 {
        self.nanoseconds
    }
}

impl fmt::Display for Duration {
    /// As Go writes it: `1h30m0s`, `1.5s`, `250ms`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.nanoseconds.unsigned_abs();
        if self.nanoseconds < 0 {
            formatter.write_str("-")?;
        }
        match amount {
            0 => formatter.write_str("0s"),
            1..1_000 => write!(formatter, "{amount}ns"),
            1_000..1_000_000 => write!(formatter, "{}\u{b5}s", decimal(amount, 1_000)),
            1_000_000..SECOND => write!(formatter, "{}ms", decimal(amount, 1_000_000)),
            _ => {
                let (minutes, below) = (amount / (60 * SECOND), amount % (60 * SECOND));
                let (hours, minutes) = (minutes / 60, minutes % 60);
                if hours > 0 {
                    write!(formatter, "{hours}h")?;
                }
                if hours > 0 || minutes > 0 {
                    write!(formatter, "{minutes}m")?;
                }
                write!(formatter, "{}s", decimal(below, SECOND))
            }
        }
    }
}

fn decimal(amount: u64, unit: u64) -> String {
    let (whole, part) = (amount / unit, amount % unit);
    if part == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{}", format!("{part:0width$}").trim_end_matches('0'))
}
