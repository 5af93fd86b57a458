//! The filters `strftime` and `date_format`.

use super::date_text;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;

/// A point in time as calendar fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub microsecond: i64,
}

pub(super) fn strftime(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let format = arguments.text("format", "%Y-%m-%d")?;
    arguments.finish()?;
    let moment = moment(scope, &value)?;
    Ok(formatted(&moment, &format).into())
}

fn moment(scope: &Scope<'_>, value: &Value) -> Result<Moment> {
    let unreadable = || -> Result<Error> { Ok(Error::value_error(format!("Unable to parse {}", value.to_text()?))) };
    let now = || {
        let machine = scope.environment().machine();
        machine.now().map_err(|reason| Error::exception("CommandExecutionError", format!("strftime: {reason}")))
    };
    let seconds = match value {
        Value::None => now()?,
        Value::String(text) => {
            if let Some(moment) = date_text::parse(text) {
                return Ok(moment);
            }
            if let Some(shift) = date_text::relative(text) {
                let time = now()?;
                let offset = scope.environment().machine().utc_offset(time as i64);
                return Ok(shift.apply(of_seconds(time as i64 + offset, 0)));
            }
            match super::text::float(text) {
                Some(seconds) => seconds,
                None => return Err(unreadable()?),
            }
        }
        other => match other.as_f64() {
            Some(seconds) => seconds,
            None => return Err(unreadable()?),
        },
    };
    // Python's calendar has years of at most four digits.
    if !(-62_135_596_800.0..253_402_300_800.0).contains(&seconds) {
        return Err(unreadable()?);
    }
    let whole = seconds.floor();
    let microsecond = ((seconds - whole) * 1e6).round() as i64;
    let offset = scope.environment().machine().utc_offset(whole as i64);
    Ok(of_seconds(whole as i64 + offset, microsecond.min(999_999)))
}

/// Converts seconds since 1970 to calendar fields.
pub(super) fn of_seconds(seconds: i64, microsecond: i64) -> Moment {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years start in March here, so that the leap day is a year's last day.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Moment { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, microsecond }
}

impl Moment {
    /// Seconds since 1970.
    pub fn seconds(&self) -> i64 {
        self.days() * 86_400 + self.hour * 3600 + self.minute * 60 + self.second
    }

    fn days(&self) -> i64 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (self.month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// The day of the week; Sunday is 0.
    fn weekday(&self) -> i64 {
        (self.days() + 4).rem_euclid(7)
    }

    fn day_of_year(&self) -> i64 {
        self.days() - Moment { month: 1, day: 1, ..*self }.days() + 1
    }
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Formats like C's `strftime` in the C locale.
fn formatted(moment: &Moment, format: &str) -> String {
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let mut padded = true;
        let mut directive = letters.next();
        if directive == Some('-') {
            padded = false;
            directive = letters.next();
        }
        let Some(directive) = directive else {
            out.push('%');
            break;
        };
        match field(moment, directive) {
            Some(text) if padded => out.push_str(&text),
            Some(text) => {
                let bare = text.trim_start_matches(['0', ' ']);
                out.push_str(if bare.is_empty() { "0" } else { bare });
            }
            None => {
                out.push('%');
                out.push(directive);
            }
        }
    }
    out
}

fn field(moment: &Moment, directive: char) -> Option<String> {
    let month = MONTHS[(moment.month - 1).clamp(0, 11) as usize];
    let weekday = WEEKDAYS[moment.weekday() as usize];
    let hour12 = match moment.hour % 12 {
        0 => 12,
        hour => hour,
    };
    let monday = (moment.weekday() + 6) % 7;
    Some(match directive {
        'Y' => moment.year.to_string(),
        'C' => format!("{:02}", moment.year / 100),
        'y' => format!("{:02}", moment.year.rem_euclid(100)),
        'm' => format!("{:02}", moment.month),
        'd' => format!("{:02}", moment.day),
        'e' => format!("{:2}", moment.day),
        'H' => format!("{:02}", moment.hour),
        'k' => format!("{:2}", moment.hour),
        'I' => format!("{hour12:02}"),
        'l' => format!("{hour12:2}"),
        'M' => format!("{:02}", moment.minute),
        'S' => format!("{:02}", moment.second),
        'f' => format!("{:06}", moment.microsecond),
        'p' => if moment.hour < 12 { "AM" } else { "PM" }.into(),
        'P' => if moment.hour < 12 { "am" } else { "pm" }.into(),
        'j' => format!("{:03}", moment.day_of_year()),
        'a' => weekday[..3].into(),
        'A' => weekday.into(),
        'b' | 'h' => month[..3].into(),
        'B' => month.into(),
        'w' => moment.weekday().to_string(),
        'u' => (monday + 1).to_string(),
        'U' => format!("{:02}", (moment.day_of_year() + 6 - moment.weekday()) / 7),
        'W' => format!("{:02}", (moment.day_of_year() + 6 - monday) / 7),
        'V' => format!("{:02}", iso_week(moment).1),
        'G' => iso_week(moment).0.to_string(),
        's' => moment.seconds().to_string(),
        'z' | 'Z' => String::new(),
        'n' => "\n".into(),
        't' => "\t".into(),
        '%' => "%".into(),
        'F' => formatted(moment, "%Y-%m-%d"),
        'T' | 'X' => formatted(moment, "%H:%M:%S"),
        'R' => formatted(moment, "%H:%M"),
        'r' => formatted(moment, "%I:%M:%S %p"),
        'D' | 'x' => formatted(moment, "%m/%d/%y"),
        'c' => formatted(moment, "%a %b %e %H:%M:%S %Y"),
        _ => return None,
    })
}

/// The ISO year and week: those of the week's Thursday.
fn iso_week(moment: &Moment) -> (i64, i64) {
    let monday = (moment.weekday() + 6) % 7;
    let thursday = of_seconds((moment.days() + 3 - monday) * 86_400, 0);
    (thursday.year, (thursday.day_of_year() - 1) / 7 + 1)
}
