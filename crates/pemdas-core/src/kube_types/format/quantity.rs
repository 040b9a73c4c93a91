//! Quantities: `100m`, `1.5Gi`, `2e3`. Kept as decimal digits, so that comparing is exact at every size.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// How a quantity was written, and so how it is written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// `100m`, `5`, `2M`.
    Decimal,
    /// `512Mi`.
    Binary,
    /// `12e6`.
    Exponent,
}

/// Why a text is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There is no number at its start, or something that cannot be a suffix after it.
    #[error("it must be a number with an optional suffix, such as 100m, 1.5 or 512Mi")]
    Form,
    /// The suffix is none of the known ones.
    #[error(
        "its suffix must be one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or e and an exponent"
    )]
    Suffix,
    /// It is longer, or has a larger exponent, than any sensible quantity.
    #[error("it has more digits, or a larger exponent, than a quantity can have")]
    Size,
}

/// A Kubernetes quantity. Two are equal if they mean the same amount, whatever their notation.
#[derive(Debug, Clone)]
pub struct Quantity {
    negative: bool,
    /// Without leading and trailing zeros; empty is zero.
    digits: Vec<u8>,
    /// The power of ten that the last digit counts.
    exponent: i32,
    notation: Notation,
}

/// The longest text: bounds the work of every operation.
const MAX_LENGTH: usize = 128;
/// The largest power of ten in `1e12`; Kubernetes knows no bound, and no use beyond 18.
const MAX_EXPONENT: i32 = 128;
/// Anything finer than nano is rounded up to it.
const NANO: i32 = -9;
/// Binary quantities are capped at 2^63 - 1.
const LARGEST_BINARY: i64 = i64::MAX;
const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Form);
        }
        if text.len() > MAX_LENGTH {
            return Err(QuantityError::Size);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = leading_digits(unsigned);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => leading_digits(rest),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(QuantityError::Form);
        }
        let (factor, power, notation) = suffix_of(suffix)?;
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        multiply(&mut digits, factor);
        let places = i32::try_from(fraction.len()).map_err(|_| QuantityError::Size)?;
        let mut quantity =
            Self { negative: text.starts_with('-'), digits, exponent: power - places, notation };
        quantity.settle();
        Ok(quantity)
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// What the digits are multiplied with, the power of ten, and the notation.
fn suffix_of(suffix: &str) -> Result<(u64, i32, Notation), QuantityError> {
    if let Some((_, power)) = DECIMAL_SUFFIXES.iter().find(|(known, _)| *known == suffix) {
        return Ok((1, *power, Notation::Decimal));
    }
    if let Some(step) = BINARY_SUFFIXES.iter().position(|known| *known == suffix) {
        return Ok((1 << (10 * (step + 1)), 0, Notation::Binary));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::Suffix);
    }
    let power: i32 = exponent.parse().map_err(|_| QuantityError::Size)?;
    if power.abs() > MAX_EXPONENT {
        return Err(QuantityError::Size);
    }
    Ok((1, power, Notation::Exponent))
}

fn multiply(digits: &mut Vec<u8>, factor: u64) {
    if factor == 1 {
        return;
    }
    let mut carry: u128 = 0;
    for digit in digits.iter_mut().rev() {
        let product = u128::from(*digit) * u128::from(factor) + carry;
        *digit = last_digit(product);
        carry = product / 10;
    }
    let mut front = Vec::new();
    while carry > 0 {
        front.push(last_digit(carry));
        carry /= 10;
    }
    front.reverse();
    digits.splice(0..0, front);
}

fn last_digit(number: u128) -> u8 {
    // Always below ten.
    u8::try_from(number % 10).unwrap_or_default()
}

impl Quantity {
    /// How it was written.
    #[must_use]
    pub fn notation(&self) -> Notation {
        self.notation
    }

    /// Whether it is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether it is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Brings it to the one form of its amount: rounded up to nano, capped, without needless zeros.
    fn settle(&mut self) {
        self.trim();
        if self.exponent < NANO && !self.digits.is_empty() {
            let drop = usize::try_from(NANO - self.exponent).unwrap_or(usize::MAX);
            let keep = self.digits.len().saturating_sub(drop);
            // Trimmed: what is dropped ends in a digit other than zero, so this always rounds up.
            self.digits.truncate(keep);
            increment(&mut self.digits);
            self.exponent = NANO;
            self.trim();
        }
        if self.notation == Notation::Binary {
            let largest = Self::from(LARGEST_BINARY);
            if self.compare_amounts(&largest) == Ordering::Greater {
                self.digits = largest.digits;
                self.exponent = largest.exponent;
            }
            let one = Self::from(1);
            if self.compare_amounts(&one) == Ordering::Less && !self.digits.is_empty() {
                self.notation = Notation::Decimal;
            }
        }
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        if self.digits.is_empty() {
            self.exponent = 0;
            self.negative = false;
        }
    }

    /// Compares without the signs.
    fn compare_amounts(&self, other: &Self) -> Ordering {
        // The power of ten of the first digit; zero has none.
        let size = |it: &Self| {
            (!it.digits.is_empty())
                .then(|| i64::from(it.exponent) + i64::try_from(it.digits.len()).unwrap_or(0))
        };
        size(self).cmp(&size(other)).then_with(|| self.digits.cmp(&other.digits))
    }

    /// The whole number it is, if it is one of 64 bits.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        let zeros = usize::try_from(self.exponent).ok()?;
        let mut number: i128 = 0;
        for digit in self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros)) {
            number = number.checked_mul(10)?.checked_add(i128::from(digit))?;
        }
        i64::try_from(if self.negative { -number } else { number }).ok()
    }

    /// The canonical text: the one the API server writes back.
    #[must_use]
    pub fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        match (self.notation, self.as_integer()) {
            (Notation::Binary, Some(whole)) if whole.unsigned_abs() >= 1024 => binary_text(whole),
            (Notation::Exponent, _) => self.decimal_text(|power| match power {
                0 => String::new(),
                power => format!("e{power}"),
            }),
            _ => self.decimal_text(|power| {
                let known = DECIMAL_SUFFIXES.iter().find(|(_, known)| *known == power);
                known.map_or_else(|| format!("e{power}"), |(suffix, _)| (*suffix).to_owned())
            }),
        }
    }

    fn decimal_text(&self, suffix: impl Fn(i32) -> String) -> String {
        let power = self.exponent.div_euclid(3) * 3;
        let zeros = usize::try_from(self.exponent - power).unwrap_or_default();
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        format!("{sign}{digits}{}{}", "0".repeat(zeros), suffix(power))
    }
}

fn binary_text(mut whole: i64) -> String {
    let mut steps = 0;
    while whole % 1024 == 0 && steps < BINARY_SUFFIXES.len() {
        whole /= 1024;
        steps += 1;
    }
    let suffix = if steps == 0 { "" } else { BINARY_SUFFIXES[steps - 1] };
    format!("{whole}{suffix}")
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

impl From<i64> for Quantity {
    fn from(number: i64) -> Self {
        let digits = number.unsigned_abs().to_string().bytes().map(|byte| byte - b'0').collect();
        let mut quantity = Self { negative: number < 0, digits, exponent: 0, notation: Notation::Decimal };
        quantity.trim();
        quantity
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.canonical())
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_amounts(other),
            (true, true) => other.compare_amounts(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}
