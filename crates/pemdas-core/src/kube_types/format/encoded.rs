//! Times and bytes, written as strings.

const DATE_TIME: &str = "it must be a time such as 2026-01-31T12:00:00Z";
const BASE64: &str = "it must be base64, padded with =";

/// A time as RFC 3339 writes it, and as leniently as Go reads it: an hour of one digit, an offset up to `+24:60`.
///
/// # Errors
/// What it must be.
pub fn date_time(text: &str) -> Result<(), &'static str> {
    parse_date_time(text).ok_or(DATE_TIME)
}

fn parse_date_time(text: &str) -> Option<()> {
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (hour, rest) = rest.strip_prefix('T')?.split_once(':')?;
    let [hour] = numbers(hour, ':', [hour.len().clamp(1, 2)])?;
    let (time, rest) = rest.split_at_checked(5)?;
    let [minute, second] = numbers(time, ':', [2, 2])?;
    let zone = match rest.strip_prefix(['.', ',']) {
        None => rest,
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return None;
            }
            zone
        }
    };
    let in_range = (1..=12).contains(&month)
        && (1..=days(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    (in_range && is_zone(zone)).then_some(())
}

fn is_zone(zone: &str) -> bool {
    zone == "Z"
        || zone.strip_prefix(['+', '-']).is_some_and(|offset| {
            numbers(offset, ':', [2, 2]).is_some_and(|[hours, minutes]| hours <= 24 && minutes <= 60)
        })
}

/// Numbers of fixed widths between separators.
fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[u32; N]> {
    let mut parts = text.split(separator);
    let mut found = [0; N];
    for (number, width) in found.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Bytes in the standard alphabet of base64, with padding. Line breaks are skipped.
///
/// # Errors
/// What it must be.
pub fn base64(text: &str) -> Result<(), &'static str> {
    let (mut letters, mut padding) = (0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'\n' | b'\r' => {}
            b'=' => padding += 1,
            b'+' | b'/' | b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' if padding == 0 => letters += 1,
            _ => return Err(BASE64),
        }
    }
    let fits = (letters + padding).is_multiple_of(4) && padding <= 2;
    if fits { Ok(()) } else { Err(BASE64) }
}
