//! Date and time, through the target's own `date`.

use rocksalt_macros::function;

use super::{PATIENCE, failure};
use crate::catalog::Function;
use crate::grains::look;
use crate::machine::{Command, Probe, System};
use crate::{Error, Result};

/// The target's time, formatted by its own `date`, which knows its time zone.
pub(in crate::catalog) fn date(machine: &dyn Probe, format: &str, utc_offset: Option<&str>) -> Result<String> {
    let env = zone(utc_offset)?;
    let command = Command { env, timeout: Some(PATIENCE), ..Command::new(["date".to_owned(), format!("+{format}")]) };
    let output = machine.query(&command)?;
    if !output.success() {
        return Err(failure("tell the date", &output.stderr));
    }
    Ok(output.text().trim_end().to_owned())
}

/// `+0200` is the zone `<+0200>-02:00`, where the sign is reversed.
fn zone(utc_offset: Option<&str>) -> Result<Vec<(String, Option<String>)>> {
    let mut env = vec![("LC_ALL".to_owned(), Some("C".to_owned()))];
    if let Some(offset) = utc_offset {
        let digits = offset.strip_prefix(['+', '-']).unwrap_or_default();
        if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Error::arguments(format!("'{offset}' is no offset from UTC")).hint("such as +0200 or -0930"));
        }
        let sign = if offset.starts_with('+') { '-' } else { '+' };
        env.push(("TZ".into(), Some(format!("<{offset}>{sign}{}:{}", &digits[..2], &digits[2..]))));
    }
    Ok(env)
}

/// The target's date, such as `Sun 11/15/2026`.
///
/// ```text
/// rocksalt '*' system.get_system_date
/// ```
#[function("system.get_system_date", reads)]
pub struct GetSystemDate {
    /// Another time zone than the target's: `+0200`.
    utc_offset: Option<String>,
}

impl Function for GetSystemDate {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        date(machine, "%a %m/%d/%Y", self.utc_offset.as_deref())
    }
}

/// The target's date and time, such as `2026-11-15 21:39:36`.
///
/// ```text
/// rocksalt '*' system.get_system_date_time utc_offset='-0500'
/// ```
#[function("system.get_system_date_time", reads)]
pub struct GetSystemDateTime {
    /// Another time zone than the target's: `+0200`.
    utc_offset: Option<String>,
}

impl Function for GetSystemDateTime {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        date(machine, "%Y-%m-%d %H:%M:%S", self.utc_offset.as_deref())
    }
}

/// The target's time, such as `09:39:36 PM`.
///
/// ```text
/// rocksalt '*' system.get_system_time
/// ```
#[function("system.get_system_time", reads)]
pub struct GetSystemTime {
    /// Another time zone than the target's: `+0200`.
    utc_offset: Option<String>,
}

impl Function for GetSystemTime {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        date(machine, "%I:%M:%S %p", self.utc_offset.as_deref())
    }
}

/// Year, month, day, hour, minute, second; `None` leaves a part unchanged.
type Parts = [Option<u32>; 6];

fn set_date(machine: &dyn System, parts: Parts, utc_offset: Option<&str>) -> Result<bool> {
    const LIMITS: [(&str, u32, u32); 6] =
        [("year", 1970, 9999), ("month", 1, 12), ("day", 1, 31), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59)];
    for (part, (name, least, most)) in parts.iter().zip(LIMITS) {
        if let Some(number) = part.filter(|number| !(least..=most).contains(number)) {
            return Err(Error::arguments(format!("{number} is no {name}")));
        }
    }
    let now = date(machine, "%Y %m %d %H %M %S", utc_offset)?;
    let now: Vec<u32> = now.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [year, month, day, hour, minute, second] = now[..] else {
        return Err(failure("understand the date", now_text(&now).as_bytes()));
    };
    let now = [year, month, day, hour, minute, second];
    let wanted: Vec<u32> = parts.iter().zip(now).map(|(part, now)| part.unwrap_or(now)).collect();
    // The format that every `date` accepts.
    let text =
        format!("{:02}{:02}{:02}{:02}{:04}.{:02}", wanted[1], wanted[2], wanted[3], wanted[4], wanted[0], wanted[5]);
    let command =
        Command { env: zone(utc_offset)?, timeout: Some(PATIENCE), ..Command::new(["date".to_owned(), text]) };
    let output = machine.run(&command)?;
    if !output.success() {
        return Err(failure("set the date", &output.stderr));
    }
    if settable_clock(machine) {
        // The date is set; a hardware clock that can't be written is no failure.
        let _ = machine.run(&Command { timeout: Some(PATIENCE), ..Command::new(["hwclock", "--systohc"]) });
    }
    Ok(true)
}

fn now_text(now: &[u32]) -> String {
    format!("`date` gave {now:?}")
}

/// Sets the target's date and time; what is left out stays as it is.
///
/// ```text
/// rocksalt '*' system.set_system_date_time 2026 11 15 21 30 0
/// ```
#[function("system.set_system_date_time", changes)]
pub struct SetSystemDateTime {
    /// The year, with four digits.
    years: Option<u32>,
    /// The month, from 1.
    months: Option<u32>,
    /// The day of the month.
    days: Option<u32>,
    /// The hour, up to 23.
    hours: Option<u32>,
    /// The minute.
    minutes: Option<u32>,
    /// The second.
    seconds: Option<u32>,
    /// Another time zone than the target's: `+0200`.
    utc_offset: Option<String>,
}

impl Function for SetSystemDateTime {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let parts = [self.years, self.months, self.days, self.hours, self.minutes, self.seconds];
        set_date(machine, parts, self.utc_offset.as_deref())
    }
}

/// Sets the target's date.
///
/// ```text
/// rocksalt '*' system.set_system_date 2026-11-15
/// ```
#[function("system.set_system_date", changes)]
pub struct SetSystemDate {
    /// As `2026-11-15`, `11-15-2026` or `11/15/2026`; the year may have two digits.
    newdate: String,
    /// Another time zone than the target's: `+0200`.
    utc_offset: Option<String>,
}

impl Function for SetSystemDate {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let Some([year, month, day]) = parse_date(&self.newdate) else {
            return Err(Error::arguments(format!("Invalid date format: '{}'", self.newdate)).hint("such as 2026-11-15"));
        };
        set_date(machine, [Some(year), Some(month), Some(day), None, None, None], self.utc_offset.as_deref())
    }
}

fn parse_date(text: &str) -> Option<[u32; 3]> {
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let [first, second, third] = parts[..] else { return None };
    let number = |text: &str| text.parse::<u32>().ok();
    if first.len() == 4 {
        return Some([number(first)?, number(second)?, number(third)?]);
    }
    // Two digits as in C: 69 is 1969, 68 is 2068.
    let year = match (third.len(), number(third)?) {
        (4, year) => year,
        (2, year) => year + if year < 69 { 2000 } else { 1900 },
        _ => return None,
    };
    Some([year, number(first)?, number(second)?])
}

/// Sets the target's time.
///
/// ```text
/// rocksalt '*' system.set_system_time '09:30:00 PM'
/// ```
#[function("system.set_system_time", changes)]
pub struct SetSystemTime {
    /// As `21:30`, `21:30:00`, `09:30 PM` or `09:30:00 PM`.
    newtime: String,
    /// Another time zone than the target's: `+0200`.
    utc_offset: Option<String>,
}

impl Function for SetSystemTime {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let Some([hour, minute, second]) = parse_time(&self.newtime) else {
            return Err(Error::arguments(format!("Invalid time format: '{}'", self.newtime)).hint("such as 21:30:00"));
        };
        set_date(machine, [None, None, None, Some(hour), Some(minute), Some(second)], self.utc_offset.as_deref())
    }
}

fn parse_time(text: &str) -> Option<[u32; 3]> {
    let text = text.trim().to_uppercase();
    let (clock, half) = text.split_once(' ').map_or((text.as_str(), None), |(clock, half)| (clock, Some(half.trim())));
    let numbers = clock.split(':').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
    let (hour, minute, second) = match numbers[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let hour = match half {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("AM") => hour % 12,
        Some("PM") => hour % 12 + 12,
        Some(_) => return None,
    };
    Some([hour, minute, second])
}

fn settable_clock(machine: &dyn System) -> bool {
    let Some(hwclock) = look::program(machine, "hwclock") else { return false };
    let command = Command { timeout: Some(PATIENCE), ..Command::new([hwclock.as_str(), "--test", "--systohc"]) };
    machine.query(&command).is_ok_and(|output| output.success())
}

/// Whether the target has a hardware clock that can be set.
///
/// ```text
/// rocksalt '*' system.has_settable_hwclock
/// ```
#[function("system.has_settable_hwclock", reads)]
pub struct HasSettableHwclock {}

impl Function for HasSettableHwclock {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        Ok(settable_clock(machine))
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::{Call, Value};

    use super::*;
    use crate::catalog;
    use crate::machine::{Fake, Output};

    fn says(text: &str) -> Output {
        Output { stdout: text.into(), ..Output::default() }
    }

    #[test]
    fn dates_and_times_are_understood() {
        assert_eq!(parse_date("2026-11-15"), Some([2026, 11, 15]));
        assert_eq!(parse_date("11/15/26"), Some([2026, 11, 15]));
        assert_eq!(parse_date("11-15-1999"), Some([1999, 11, 15]));
        assert_eq!((parse_date("yesterday"), parse_date("1-2"), parse_date("1-2-345")), (None, None, None));
        assert_eq!(parse_time("09:30:05 PM"), Some([21, 30, 5]));
        assert_eq!(parse_time("12:00 am"), Some([0, 0, 0]));
        assert_eq!(parse_time("21:30"), Some([21, 30, 0]));
        assert_eq!((parse_time("13:00 PM"), parse_time("noon"), parse_time("9")), (None, None, None));
    }

    #[test]
    fn only_what_is_given_is_set() {
        let machine = Fake::new()
            .command(&["date", "+%Y %m %d %H %M %S"], says("2026 11 15 21 39 36\n"))
            .command(&["date", "111509302026.00"], says(""));
        let call = |function: &str, arg: &str| catalog::call(Call::new(function).arg(arg), &machine);
        assert_eq!(call("system.set_system_time", "09:30").value, Value::Bool(true));
        assert!(!call("system.set_system_time", "25:00").success());
        assert!(!call("system.set_system_date", "2026-13-01").success());
        assert!(zone(Some("2 hours")).is_err());
        assert_eq!(zone(Some("+0530")).expect("a zone")[1].1.as_deref(), Some("<+0530>-05:30"));
    }
}
