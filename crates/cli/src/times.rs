//! Parses and prints times, in UTC like the ids of jobs.

use std::time::{SystemTime, UNIX_EPOCH};

use rocksalt_core::JobId;

use crate::failure::Failure;

const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400 * SECOND;

/// Microseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

/// Parses `2h`, `yesterday`, `2026-01-31`, `2026-01-31 09:30`, `09:30` to microseconds since 1970.
pub fn parse(text: &str, now: u64) -> Result<u64, Failure> {
    read(text.trim(), now).ok_or_else(|| {
        Failure::usage(format!("'{text}' is no time")).hint(
            "write 30m, 2h, 7d (so long ago), today, yesterday, 09:30, 2026-01-31 or 2026-01-31T09:30:00; all in UTC",
        )
    })
}

fn read(text: &str, now: u64) -> Option<u64> {
    let midnight = now / DAY * DAY;
    match text {
        "now" => return Some(now),
        "today" => return Some(midnight),
        "yesterday" => return midnight.checked_sub(DAY),
        _ => {}
    }
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.parse::<u64>().ok()?.checked_mul(SECOND);
    }
    if let Some(ago) = length(text.strip_suffix(" ago").unwrap_or(text)) {
        return Some(now.saturating_sub(ago));
    }
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (day(date)?, clock),
        None if text.contains(':') => (midnight, text),
        None => return day(text),
    };
    let (clock, zone) = zone(clock.trim())?;
    let time = date.checked_add(time_of_day(clock)?)?;
    time.checked_add_signed(-zone)
}

/// Parses `90s`, `2h`, `1d12h`.
fn length(text: &str) -> Option<u64> {
    let mut sum: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = match rest[digits..].chars().next()? {
            's' => SECOND,
            'm' => 60 * SECOND,
            'h' => 3600 * SECOND,
            'd' => DAY,
            'w' => 7 * DAY,
            _ => return None,
        };
        sum = sum.checked_add(number.checked_mul(unit)?)?;
        rest = &rest[digits + 1..];
    }
    (!text.is_empty()).then_some(sum)
}

/// Parses `2026-01-31`.
fn day(text: &str) -> Option<u64> {
    let mut parts = text.split('-');
    let mut number = |length: usize| parts.next().filter(|part| part.len() == length)?.parse::<u64>().ok();
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    if parts.next().is_some() || !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if day > lengths[month as usize - 1] {
        return None;
    }
    let years: u64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    let months: u64 = lengths[..month as usize - 1].iter().sum();
    Some((years + months + day - 1) * DAY)
}

/// Parses `09:30`, `09:30:15`, `09:30:15.25`.
fn time_of_day(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<u64> = whole.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 60 || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let micros: u64 = format!("{fraction:0<6}")[..6].parse().ok()?;
    Some((hour * 3600 + minute * 60 + second) * SECOND + micros)
}

/// Splits off `Z` or `+02:00`. Returns the rest and the offset from UTC in microseconds.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(place) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (clock, offset) = text.split_at(place);
    let digits: String = offset[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i64>().ok()? };
    let minutes = hours.parse::<i64>().ok()? * 60 + minutes;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    Some((clock, sign * minutes * 60 * SECOND.cast_signed()))
}

/// Prints `2026-01-31 09:30:00 UTC`.
pub fn shown(micros: u64) -> String {
    format!("{} UTC", iso(micros)[..19].replace('T', " "))
}

/// Prints `2026-01-31T09:30:00.123456Z`.
pub fn iso(micros: u64) -> String {
    let id = JobId::at(micros);
    let digits = id.as_str();
    let part = |from: usize, to: usize| &digits[from..to];
    let date = [part(0, 4), part(4, 6), part(6, 8)].join("-");
    let time = [part(8, 10), part(10, 12), part(12, 14)].join(":");
    format!("{date}T{time}.{}Z", part(14, 20))
}

/// Prints a duration: `0.3s`, `2m 5s`, `1h 2m`.
pub fn took(micros: u64) -> String {
    let seconds = micros / SECOND;
    match seconds {
        0..60 => format!("{}.{}s", seconds, micros % SECOND / 100_000),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-31T09:30:00Z.
    const NOW: u64 = 1_769_851_800_000_000;

    #[test]
    fn times_are_read_as_people_write_them() {
        let cases = [
            ("now", "2026-01-31T09:30:00.000000Z"),
            ("today", "2026-01-31T00:00:00.000000Z"),
            ("yesterday", "2026-01-30T00:00:00.000000Z"),
            ("2h", "2026-01-31T07:30:00.000000Z"),
            ("90s", "2026-01-31T09:28:30.000000Z"),
            ("1d12h", "2026-01-29T21:30:00.000000Z"),
            ("2w", "2026-01-17T09:30:00.000000Z"),
            ("5m ago", "2026-01-31T09:25:00.000000Z"),
            ("08:15", "2026-01-31T08:15:00.000000Z"),
            ("2026-01-02", "2026-01-02T00:00:00.000000Z"),
            ("2024-02-29", "2024-02-29T00:00:00.000000Z"),
            ("2026-01-02 03:04", "2026-01-02T03:04:00.000000Z"),
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"),
            ("2026-01-02T03:04:05.25", "2026-01-02T03:04:05.250000Z"),
            ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000000Z"),
            ("2026-01-02T23:04-0130", "2026-01-03T00:34:00.000000Z"),
            ("@1769851800", "2026-01-31T09:30:00.000000Z"),
        ];
        for (text, time) in cases {
            assert_eq!(parse(text, NOW).map(iso).ok().as_deref(), Some(time), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_said_to_be_none() {
        let wrong = [
            "",
            "soon",
            "2",
            "h",
            "2x",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "25:00",
            "09:60",
            "2026-01-02T",
            "@x",
            "2026-01-02 03:04 tomorrow",
            "99999999999999999999d",
            "２h",
            "-1h",
            "T09:00",
            "2026-01-02T03:04:05+é",
        ];
        for text in wrong {
            assert!(parse(text, NOW).is_err(), "{text}");
        }
    }

    #[test]
    fn lengths_are_short() {
        assert_eq!([took(340_000), took(125 * SECOND), took(3720 * SECOND)], ["0.3s", "2m 5s", "1h 2m"]);
    }
}
