//! Numbers and Kubernetes quantities (`100m`, `10Gi`), compared exactly.

use std::cmp::Ordering;

use serde_json::Value;

/// A number or quantity: `mantissa * 10^exponent`, kept exactly, as long as it is of a sane size.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    mantissa: i128,
    exponent: i32,
}

/// The most digits (and the largest exponent) a quantity may have: enough for every real one, and no overflow.
const MAX_DIGITS: usize = 24;
const MAX_EXPONENT: i32 = 40;

impl Quantity {
    /// Reads a JSON number, or a string that is a quantity.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Self::parse(&number.to_string()),
            Value::String(text) => Self::parse(text),
            _ => None,
        }
    }

    /// Reads `12`, `-1.5`, `1e3`, `100m`, `10Gi`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let negative = text.starts_with('-');
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = whole.len() + fraction.len();
        if digits == 0 || digits > MAX_DIGITS || fraction.contains('.') {
            return None;
        }
        let mut mantissa: i128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            mantissa = mantissa * 10 + i128::from(digit - b'0');
        }
        let (factor, power) = suffix_of(suffix)?;
        let mantissa = mantissa.checked_mul(factor)?;
        let exponent = power - i32::try_from(fraction.len()).ok()?;
        Some(Self { mantissa: if negative { -mantissa } else { mantissa }, exponent })
    }

    /// Compares exactly; none if one of them is too large for that.
    #[must_use]
    pub fn compare(self, other: Self) -> Option<Ordering> {
        let common = self.exponent.min(other.exponent);
        let scaled = |it: Self| {
            if it.mantissa == 0 {
                return Some(0);
            }
            let steps = u32::try_from(it.exponent - common).ok()?;
            it.mantissa.checked_mul(10_i128.checked_pow(steps)?)
        };
        match (scaled(self), scaled(other)) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            // Only one of them can overflow the common scale: it is the one further from zero.
            (None, Some(_)) => Some(self.mantissa.cmp(&0)),
            (Some(_), None) => Some(0.cmp(&other.mantissa)),
            (None, None) => None,
        }
    }
}

/// What a suffix multiplies with, and which power of ten it stands for.
fn suffix_of(suffix: &str) -> Option<(i128, i32)> {
    let binary = |steps: u32| Some((1024_i128.pow(steps), 0));
    match suffix {
        "" => Some((1, 0)),
        "n" => Some((1, -9)),
        "u" => Some((1, -6)),
        "m" => Some((1, -3)),
        "k" => Some((1, 3)),
        "M" => Some((1, 6)),
        "G" => Some((1, 9)),
        "T" => Some((1, 12)),
        "P" => Some((1, 15)),
        "E" => Some((1, 18)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        other => {
            let power: i32 = other.strip_prefix(['e', 'E'])?.parse().ok()?;
            (power.abs() <= MAX_EXPONENT).then_some((1, power))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn quantities_compare_by_what_they_mean() {
        let ascending =
            ["-2", "-1.5", "0", "1n", "100m", "0.5", "1", "1e3", "1Ki", "1M", "1Mi", "10Gi", "1E", "1e40"];
        for (index, small) in ascending.iter().enumerate() {
            for large in &ascending[index + 1..] {
                let (a, b) = (Quantity::parse(small).unwrap(), Quantity::parse(large).unwrap());
                assert_eq!(a.compare(b), Some(std::cmp::Ordering::Less), "{small} < {large}");
                assert_eq!(b.compare(a), Some(std::cmp::Ordering::Greater), "{large} > {small}");
            }
        }
        for (a, b) in [("1000m", "1"), ("1e3", "1k"), ("1024", "1Ki"), ("0.10", "100m"), ("-0", "0")] {
            let (left, right) = (Quantity::parse(a).unwrap(), Quantity::parse(b).unwrap());
            assert_eq!(left.compare(right), Some(std::cmp::Ordering::Equal), "{a} = {b}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in [
            "",
            "-",
            "Gi",
            "1.2.3",
            "1GiB",
            "ten",
            "1e",
            "1e999",
            "0x10",
            "1 Gi",
            "9999999999999999999999999",
        ] {
            assert!(Quantity::parse(text).is_none(), "{text:?}");
        }
    }
}
