//! Parses dates in the forms that people write.

use super::dates::{MONTHS, Moment, WEEKDAYS, of_seconds};

/// Parses a date with an optional time; `None` if the text has no known form.
///
/// A time zone is accepted and ignored: the time stays as written.
pub(super) fn parse(text: &str) -> Option<Moment> {
    let text = text.trim();
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.parse().ok().map(|seconds: i64| of_seconds(seconds, 0));
    }
    let mut words = DateWords(tokens(text));
    let mut date = None;
    let mut time = None;
    let mut year = None;
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("t") || word == "," || weekday(&word) {
            continue;
        }
        if let Some(month) = month(&word) {
            // `December 25, 2002`
            let day = words.number()?;
            words.skip(",");
            date = Some((words.year(), month, day));
            continue;
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            if zone(&word) && time.is_some() {
                words.zone_offset();
                continue;
            }
            return None;
        }
        match words.peek() {
            Some(":") => time = Some(clock(&word, &mut words)?),
            Some("-" | "/" | ".") if date.is_none() => date = Some(numeric(&word, &mut words)?),
            Some("+") | Some("-") if time.is_some() => words.zone_offset(),
            Some(next) if month(next).is_some() => {
                // `25 December 2002`
                let month = month(&words.next()?)?;
                words.skip(",");
                words.skip("-");
                date = Some((words.year(), month, word.parse().ok()?));
            }
            _ if date.is_none() && word.len() == 8 => {
                let part = |range: std::ops::Range<usize>| word[range].parse::<i64>().ok();
                date = Some((part(0..4), part(4..6)?, part(6..8)?));
            }
            _ if date.is_some() && word.len() == 4 && year.is_none() => year = word.parse().ok(),
            _ => return None,
        }
        words.sign_offset(time.is_some());
    }
    let (written, month, day) = date?;
    let (hour, minute, second, microsecond) = time.unwrap_or_default();
    let year = written.or(year)?;
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 25 && minute < 60 && second < 61;
    let moment = Moment { year, month, day, hour, minute, second, microsecond };
    // Converting through seconds turns the 31st of a short month into a day of the next month.
    fits.then(|| of_seconds(moment.seconds(), microsecond))
}

/// A word such as `tomorrow`, whose meaning depends on the clock.
pub(super) struct Shift {
    days: i64,
    midnight: bool,
}

pub(super) fn relative(text: &str) -> Option<Shift> {
    let (days, midnight) = match text.trim().to_ascii_lowercase().as_str() {
        "now" => (0, false),
        "today" | "midnight" => (0, true),
        "tomorrow" => (1, true),
        "yesterday" => (-1, true),
        _ => return None,
    };
    Some(Shift { days, midnight })
}

impl Shift {
    pub fn apply(&self, now: Moment) -> Moment {
        let seconds = now.seconds() + self.days * 86_400;
        of_seconds(if self.midnight { seconds - seconds.rem_euclid(86_400) } else { seconds }, 0)
    }
}

/// Parses `2002-12-25`, `2002/12/25`, `12/25/2002`, `25.12.2002` or `25-12-2002`.
fn numeric(first: &str, words: &mut DateWords) -> Option<(Option<i64>, i64, i64)> {
    let separator = words.next()?;
    let second = words.next()?;
    if let Some(month) = month(&second) {
        words.skip(&separator);
        return Some((words.year(), month, first.parse().ok()?));
    }
    if words.peek() != Some(separator.as_str()) {
        return None;
    }
    words.skip(&separator);
    let third = words.next()?;
    let [a, b, c] = [first, &second, &third].map(|part| part.parse::<i64>().ok());
    let (a, b, c) = (a?, b?, c?);
    if first.len() == 4 {
        Some((Some(a), b, c))
    } else if third.len() != 4 {
        None
    } else if separator == "/" {
        Some((Some(c), a, b))
    } else {
        Some((Some(c), b, a))
    }
}

/// Parses `10:11`, `10:11:12` or `10:11:12.5`, with an optional `AM` or `PM`.
fn clock(first: &str, words: &mut DateWords) -> Option<(i64, i64, i64, i64)> {
    let mut hour: i64 = first.parse().ok()?;
    words.skip(":");
    let minute = words.number()?;
    let (mut second, mut microsecond) = (0, 0);
    if words.skip(":") {
        second = words.number()?;
        if words.skip(".") || words.skip(",") {
            let digits = words.next()?;
            microsecond = format!("{digits:0<6}").get(..6)?.parse().ok()?;
        }
    }
    let half = words.peek().map(str::to_ascii_lowercase);
    if let Some(half @ ("am" | "pm")) = half.as_deref() {
        let late = half == "pm";
        words.next();
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + if late { 12 } else { 0 };
    }
    Some((hour, minute, second, microsecond))
}

fn month(word: &str) -> Option<i64> {
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    let fits = |name: &str| {
        let name = name.to_ascii_lowercase();
        word == name || word == name[..3] || (word == "sept" && name == "september")
    };
    MONTHS.iter().position(|name| fits(name)).map(|index| index as i64 + 1)
}

fn weekday(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    WEEKDAYS.iter().any(|name| {
        let name = name.to_ascii_lowercase();
        word == name || word == name[..3]
    })
}

fn zone(word: &str) -> bool {
    matches!(word.to_ascii_uppercase().as_str(), "Z" | "UTC" | "GMT" | "+" | "-")
}

/// Splits text into runs of digits, runs of letters, and other single characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut kind = ' ';
    for c in text.chars() {
        let this = match c {
            c if c.is_ascii_digit() => '0',
            c if c.is_alphabetic() => 'a',
            c if c.is_whitespace() => ' ',
            _ => '.',
        };
        match tokens.last_mut() {
            Some(last) if this == kind && this != '.' && this != ' ' => last.push(c),
            _ if this != ' ' => tokens.push(c.to_string()),
            _ => {}
        }
        kind = this;
    }
    tokens.reverse();
    tokens
}

/// The remaining tokens; the next one is last.
struct DateWords(Vec<String>);

impl DateWords {
    fn next(&mut self) -> Option<String> {
        self.0.pop()
    }

    fn peek(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.0.pop();
        }
        found
    }

    fn number(&mut self) -> Option<i64> {
        let number = self.next()?.parse().ok()?;
        // `25th`
        if self.peek().is_some_and(|word| matches!(word, "st" | "nd" | "rd" | "th")) {
            self.next();
        }
        Some(number)
    }

    /// Takes a year of four digits, if it is next.
    fn year(&mut self) -> Option<i64> {
        let year = self.peek().filter(|word| word.len() == 4)?.parse().ok()?;
        self.next();
        Some(year)
    }

    fn sign_offset(&mut self, after_time: bool) {
        if after_time && matches!(self.peek(), Some("+" | "-")) {
            self.next();
            self.zone_offset();
        }
    }

    /// Skips the digits of `+02:00`, after the sign.
    fn zone_offset(&mut self) {
        if self.peek().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            self.next();
            if self.skip(":") {
                self.next();
            }
        }
    }
}
