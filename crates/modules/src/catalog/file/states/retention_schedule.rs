//! `file.retention_schedule`: keeps some of many backups.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::{Action, Decision, Plan, State, Step, Touches, Verdict, look, writes};
use crate::machine::{Command, Probe};
use crate::{Error, Result};

/// Removes backups that a schedule doesn't keep.
///
/// ```yaml
/// /var/backups/shop:
///   file.retention_schedule:
///     - retain:
///         most_recent: 5
///         first_of_day: 7
///         first_of_week: 4
///         first_of_month: 12
///         first_of_year: all
///     - strptime_format: shop-%Y-%m-%d.sql.gz
/// ```
///
/// Only files that have a time count: with `strptime_format` those whose names fit it, else all, by the time of their
/// last change.
#[state("file.retention_schedule", strict, required("retain"))]
pub struct RetentionSchedule {
    /// The directory.
    name: String,
    /// How many to keep of each kind: `most_recent`, `first_of_hour`, `first_of_day`, `first_of_week`,
    /// `first_of_month`, `first_of_year`; a number, or `all`.
    retain: Map,
    /// How the time stands in a file's name: `%Y`, `%m`, `%d`, `%H`, `%M`, `%S`, `%s`, `%y`, `%j`.
    strptime_format: Option<String>,
    /// The time zone of times in names, and in which days begin; the target's unless given.
    timezone: Option<String>,
}

/// Year, month, day, hour, seconds since 1970: the parts that the rules use.
type RuleTime = (i64, i64, i64, i64, i64);

const RULES: &[&str] = &["first_of_year", "first_of_month", "first_of_day", "first_of_hour", "most_recent"];

impl State for RetentionSchedule {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let name = look::name(machine, &self.name);
        if name.is_empty() {
            return Ok(Decision::Settled(Verdict::bad("Must provide name to file.retention_schedule")));
        }
        if !look::is_directory(machine, &name) {
            let problem = "Name provided to file.retention must be a directory";
            return Ok(Decision::Settled(Verdict::bad(problem)));
        }
        let counts = self.counts()?;
        let zone = Zone::of(machine, self.timezone.as_deref());
        let names = machine.list(Path::new(&name)).map_err(|error| Error::io("list", &name, &error))?;
        let mut stamps: Vec<(RuleTime, String)> = Vec::new();
        // Salt includes these too.
        let mut ignored = vec![".".to_owned(), "..".to_owned()];
        for file in names {
            match self.stamp(machine, &zone, &name, &file)? {
                Some(stamp) => stamps.push((stamp, file)),
                None => ignored.push(file),
            }
        }
        stamps.sort();
        let mut kept: BTreeSet<String> = BTreeSet::new();
        for (rule, count) in counts {
            kept.extend(chosen(&stamps, &rule, count));
        }
        let deleted: Vec<String> =
            stamps.iter().map(|(_, file)| file.clone()).filter(|file| !kept.contains(file)).collect();
        let would = format!("{} backups would have been removed from {name}.\n", deleted.len());
        let done = format!("{} backups were removed from {name}.\n", deleted.len());
        if deleted.is_empty() {
            return Ok(Decision::Settled(Verdict::good(if step.test { would } else { done })));
        }
        let changes = Map::from_iter([
            ("retained".into(), backwards(kept.into_iter().collect())),
            ("deleted".into(), backwards(deleted.clone())),
            ("ignored".into(), backwards(ignored)),
        ]);
        let actions = deleted.iter().map(|file| Action::Remove(look::join(&name, file)));
        let plan = Plan::brief(Verdict::good(done).changes(changes.clone())).all(actions);
        Ok(Decision::Change(plan, Verdict::would(would).changes(changes)))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

fn backwards(mut names: Vec<String>) -> Value {
    names.sort_by(|one, other| other.cmp(one));
    Value::List(names.into_iter().map(Value::from).collect())
}

impl RetentionSchedule {
    fn counts(&self) -> Result<Vec<(String, usize)>> {
        let mut counts = Vec::new();
        for (rule, count) in self.retain.iter() {
            let rule = rule.to_string();
            if rule != "first_of_week" && !RULES.contains(&rule.as_str()) {
                return Err(Error::arguments(format!("retain: there is no rule '{rule}'"))
                    .hint(format!("there are first_of_week, {}", RULES.join(", "))));
            }
            let number = match count.as_str() {
                Some("all") => usize::MAX,
                _ => count.to_string().parse().map_err(|_| {
                    Error::arguments(format!("retain: {rule}: a number or 'all' is needed, not '{count}'"))
                })?,
            };
            counts.push((rule, number));
        }
        Ok(counts)
    }

    /// The time of a file; `None` if it is unknown.
    fn stamp(&self, machine: &dyn Probe, zone: &Zone, place: &str, file: &str) -> Result<Option<RuleTime>> {
        match &self.strptime_format {
            Some(format) => match parsed(file, format)? {
                Some(ParsedDate::Local(fields)) => {
                    let [year, month, day, hour, ..] = fields;
                    Ok(Some((year, month, day, hour, seconds(fields))))
                }
                Some(ParsedDate::Seconds(time)) => Ok(Some(zone.stamp(time))),
                None => Ok(None),
            },
            None => {
                let path = Path::new(place).join(file);
                let stat = machine.stat(&path, false).map_err(|error| Error::io("look at", &path, &error))?;
                Ok(stat.map(|stat| zone.stamp(stat.mtime as i64)))
            }
        }
    }
}

/// The first file of each of the newest years, months and so on.
fn chosen(stamps: &[(RuleTime, String)], rule: &str, count: usize) -> Vec<String> {
    let mut groups: BTreeMap<(i64, i64, i64, i64, i64), &String> = BTreeMap::new();
    for (stamp, file) in stamps {
        let (year, month, day, hour, time) = *stamp;
        let key = match rule {
            "first_of_year" => (year, 0, 0, 0, 0),
            "first_of_month" => (year, month, 0, 0, 0),
            "first_of_week" => (year, week(year, month, day), 0, 0, 0),
            "first_of_day" => (year, month, day, 0, 0),
            "first_of_hour" => (year, month, day, hour, 0),
            _ => (year, month, day, hour, time),
        };
        // The files are ordered by time, so the first one stays; of two with the same second, Salt only knows the last.
        match rule {
            "most_recent" => drop(groups.insert(key, file)),
            _ => drop(groups.entry(key).or_insert(file)),
        }
    }
    // As in Salt, one week more.
    let count = if rule == "first_of_week" { count.saturating_add(1) } else { count };
    groups.into_values().rev().take(count).cloned().collect()
}

/// The target's current offset from UTC.
struct Zone {
    seconds: i64,
}

impl Zone {
    fn of(machine: &dyn Probe, name: Option<&str>) -> Zone {
        let mut command = Command::new(["date", "+%z"]);
        command.env.extend(name.map(|name| ("TZ".to_owned(), Some(name.to_owned()))));
        let printed = machine.query(&command).map(|output| output.text()).unwrap_or_default();
        let number: i64 = printed.trim().trim_start_matches(['+', '-']).parse().unwrap_or(0);
        let seconds = (number / 100 * 60 + number % 100) * 60;
        Zone { seconds: if printed.starts_with('-') { -seconds } else { seconds } }
    }

    fn stamp(&self, time: i64) -> RuleTime {
        let local = time + self.seconds;
        let (year, month, day) = date(local.div_euclid(86_400));
        (year, month, day, local.rem_euclid(86_400) / 3600, time)
    }
}

enum ParsedDate {
    /// Year, month, day, hour, minute, second.
    Local([i64; 6]),
    Seconds(i64),
}

/// Parses a name by its format; `None` if it doesn't match.
fn parsed(name: &str, format: &str) -> Result<Option<ParsedDate>> {
    let mut fields = [1900, 1, 1, 0, 0, 0];
    let (mut rest, mut epoch, mut of_year) = (name, None, None);
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            match rest.strip_prefix(letter) {
                Some(after) => rest = after,
                None => return Ok(None),
            }
            continue;
        }
        let (place, most) = match letters.next() {
            Some('Y') => (0, 4),
            Some('m') => (1, 2),
            Some('d') => (2, 2),
            Some('H') => (3, 2),
            Some('M') => (4, 2),
            Some('S') => (5, 2),
            Some('y') => (6, 2),
            Some('j') => (7, 3),
            Some('s') => (8, 12),
            Some('%') => {
                match rest.strip_prefix('%') {
                    Some(after) => rest = after,
                    None => return Ok(None),
                }
                continue;
            }
            other => {
                let letter = other.map(String::from).unwrap_or_default();
                return Err(Error::arguments(format!("strptime_format: '%{letter}' is not known here"))
                    .hint("there are %Y %m %d %H %M %S %s %y %j and %%"));
            }
        };
        let digits = rest.chars().take(most).take_while(char::is_ascii_digit).count();
        let Ok(number) = rest[..digits].parse::<i64>() else { return Ok(None) };
        rest = &rest[digits..];
        match place {
            6 => fields[0] = if number < 69 { 2000 + number } else { 1900 + number },
            7 => of_year = Some(number),
            8 => epoch = Some(number),
            place => fields[place] = number,
        }
    }
    if let Some(number) = of_year {
        let (_, month, day) = date(days(fields[0], 1, 1) + number - 1);
        (fields[1], fields[2]) = (month, day);
    }
    let [year, month, day, hour, minute, second] = fields;
    let sound = (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 62;
    if !rest.is_empty() || !sound || date(days(year, month, day)) != (year, month, day) {
        return Ok(None);
    }
    Ok(Some(epoch.map_or(ParsedDate::Local(fields), ParsedDate::Seconds)))
}

fn seconds([year, month, day, hour, minute, second]: [i64; 6]) -> i64 {
    ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
}

/// Days since 1970 of a Gregorian date, counting years from March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = year.rem_euclid(400) * 365 + year.rem_euclid(400) / 4 - year.rem_euclid(400) / 100 + of_year;
    era * 146_097 + of_era - 719_468
}

fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// The week of the ISO calendar.
fn week(year: i64, month: i64, day: i64) -> i64 {
    let this = days(year, month, day);
    let weekday = (this + 3).rem_euclid(7);
    // The week belongs to the year of its Thursday.
    let thursday = this - weekday + 3;
    let (of, ..) = date(thursday);
    (thursday - days(of, 1, 1)) / 7 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_weeks_are_those_of_the_calendar() {
        assert_eq!((days(1970, 1, 1), days(2000, 2, 29), days(2026, 11, 16)), (0, 11_016, 20_773));
        for day in [0, 11_016, 20_773, -1, -719_468] {
            let (year, month, of) = date(day);
            assert_eq!(days(year, month, of), day);
        }
        // date -d 2021-01-03 +%V and so on
        assert_eq!((week(2021, 1, 3), week(2021, 1, 4), week(2020, 12, 31), week(2024, 12, 30)), (53, 1, 53, 1));
    }

    #[test]
    fn names_are_read_by_their_format() {
        let read = |name: &str, format: &str| match parsed(name, format).expect("the format is fine") {
            Some(ParsedDate::Local(fields)) => format!("{fields:?}"),
            Some(ParsedDate::Seconds(time)) => time.to_string(),
            None => "no".into(),
        };
        assert_eq!(read("db-2024-02-29.gz", "db-%Y-%m-%d.gz"), "[2024, 2, 29, 0, 0, 0]");
        assert_eq!(read("db-2023-02-29.gz", "db-%Y-%m-%d.gz"), "no");
        assert_eq!(read("db-2023-02-28.gz.old", "db-%Y-%m-%d.gz"), "no");
        assert_eq!(read("20240301T1015", "%Y%m%dT%H%M"), "[2024, 3, 1, 10, 15, 0]");
        assert_eq!(read("1700000000.tar", "%s.tar"), "1700000000");
        assert_eq!(read("24060", "%y%j"), "[2024, 2, 29, 0, 0, 0]");
        assert!(parsed("x", "%Q").is_err());
    }

    #[test]
    fn the_first_of_each_is_kept() {
        let stamp = |month, day, hour| (2024, month, day, hour, seconds([2024, month, day, hour, 0, 0]));
        let stamps: Vec<(RuleTime, String)> = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 5), (2, 3, 5)]
            .iter()
            .map(|(month, day, hour)| (stamp(*month, *day, *hour), format!("{month}-{day}-{hour}")))
            .collect();
        assert_eq!(chosen(&stamps, "most_recent", 2), ["2-3-5", "2-1-5"]);
        assert_eq!(chosen(&stamps, "first_of_day", usize::MAX), ["2-3-5", "2-1-5", "1-2-1", "1-1-1"]);
        assert_eq!(chosen(&stamps, "first_of_month", 5), ["2-1-5", "1-1-1"]);
        assert_eq!(chosen(&stamps, "first_of_year", 1), ["1-1-1"]);
        assert_eq!(chosen(&stamps, "first_of_week", 1), ["2-1-5", "1-1-1"]);
    }
}
