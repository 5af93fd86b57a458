//! Parses times in UTC.

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Microseconds since the Unix epoch of `2026, Jan 31 09:30`, `2026-01-31T09:30:00.5Z`, `2026-01-31`, a job id, or seconds.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let part = |from: usize, to: usize| text[from..to].parse::<u64>().ok();
        let day = days(part(0, 4)?, part(4, 6)?, part(6, 8)?)?;
        return Some(
            ((day * 24 + part(8, 10)?) * 60 + part(10, 12)?) * 60_000_000 + part(12, 14)? * 1_000_000 + part(14, 20)?,
        );
    }
    if let Ok(seconds) = text.parse::<f64>()
        && seconds > 9_999.0
    {
        return Some((seconds * 1e6) as u64);
    }
    let mut words = text.split(|c: char| c.is_whitespace() || c == ',' || c == 'T').filter(|word| !word.is_empty());
    let first = words.next()?;
    let day = match first.split(['-', '/']).collect::<Vec<_>>()[..] {
        [year, month, day] => days(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)?,
        [year] => {
            let name = words.next()?.to_ascii_lowercase();
            let month = MONTHS.iter().position(|month| name.starts_with(month))? as u64 + 1;
            days(year.parse().ok()?, month, words.next()?.parse().ok()?)?
        }
        _ => return None,
    };
    let time = words.next().map_or(Some(0), parse_clock)?;
    words.next().is_none().then_some(day * 86_400_000_000 + time)
}

/// `09:30`, `09:30:00` or `09:30:00.25`, with or without `Z`.
fn parse_clock(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    let mut parts = text.split(':');
    let (hours, minutes): (u64, u64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let seconds: f64 = parts.next().map_or(Some(0.0), |part| part.parse().ok())?;
    let fits = hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds) && parts.next().is_none();
    fits.then_some((hours * 60 + minutes) * 60_000_000 + (seconds * 1e6).round() as u64)
}

/// Days since the Unix epoch.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_times_in_many_ways() {
        let expected = Some(1_769_851_800_000_000);
        for text in [
            "2026, Jan 31 09:30",
            "2026, Jan 31 09:30:00.000000",
            "2026-01-31 09:30",
            "2026-01-31T09:30:00Z",
            "2026/01/31 09:30:00",
            "20260131093000000000",
            "1769851800",
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert_eq!(parse("1970-01-01"), Some(0));
        for text in ["", "yesterday", "2026-13-01", "2026-01-31 25:00", "2026-01-31 09:30 more", "9:30"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
