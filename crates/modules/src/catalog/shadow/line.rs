//! [`Shadow`]: a line of `/etc/shadow`, with the password and its expiry.

use std::path::Path;

use rocksalt_core::{Map, Value};

use crate::machine::{Probe, System};
use crate::{Error, Result};

const FILE: &str = "/etc/shadow";

/// The names of the numbers in the file's order, and `chage`'s options for them.
pub const DAYS: [(&str, &str); 6] =
    [("lstchg", "-d"), ("min", "-m"), ("max", "-M"), ("warn", "-W"), ("inact", "-I"), ("expire", "-E")];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadow {
    pub name: String,
    /// The hash; a leading `!` locks it.
    pub passwd: String,
    /// In the order of [`DAYS`]; -1 for an empty field.
    pub days: [i64; 6],
}

impl Shadow {
    pub fn find(machine: &dyn Probe, name: &str) -> Option<Shadow> {
        all(machine).into_iter().find(|entry| entry.name == name)
    }

    pub fn info(&self) -> Map {
        let mut info = Map::from_iter([
            ("name".into(), self.name.as_str().into()),
            ("passwd".into(), self.passwd.as_str().into()),
        ]);
        info.extend(DAYS.iter().zip(self.days).map(|((name, _), days)| ((*name).into(), Value::from(days))));
        info
    }

    /// The values for a user without a line.
    pub fn none() -> Shadow {
        Shadow { name: String::new(), passwd: String::new(), days: [-1; 6] }
    }

    fn parse(line: &str) -> Option<Shadow> {
        let mut fields = line.trim_end().split(':');
        let name = fields.next().filter(|name| !name.is_empty())?.to_owned();
        let passwd = fields.next()?.to_owned();
        let days = std::array::from_fn(|_| fields.next().and_then(|field| field.parse().ok()).unwrap_or(-1));
        Some(Shadow { name, passwd, days })
    }
}

pub fn all(machine: &dyn Probe) -> Vec<Shadow> {
    let content = machine.read(Path::new(FILE)).unwrap_or_default();
    String::from_utf8_lossy(&content).lines().filter_map(Shadow::parse).collect()
}

/// Sets a hash through the standard input of `chpasswd`, which other users can't see.
pub fn set_password(machine: &dyn System, name: &str, hash: &str) -> Result<(), String> {
    if hash.contains([':', '\n', '\0']) {
        return Err("the password is no hash: it has a colon or a line's end in it".into());
    }
    let argv = super::super::user::tool::words(&["chpasswd", "-e"]);
    let line = format!("{name}:{hash}\n").into_bytes();
    super::super::user::tool::run(machine, &argv, Some(line)).map(drop)
}

/// Parses days since 1970, given as a number or as a date.
pub fn days(argument: &str, value: &Value) -> Result<Option<i64>> {
    let fault = || {
        Error::arguments(format!("{argument}: '{value}' is no number of days")).hint("days since 1970, or YYYY-MM-DD")
    };
    match value {
        Value::Null => Ok(None),
        Value::Int(days) => Ok(Some(*days)),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) => text.parse().ok().or_else(|| civil(text)).map(Some).ok_or_else(fault),
        _ => Err(fault()),
    }
}

/// The days from 1970 to a date of the Gregorian calendar.
fn civil(date: &str) -> Option<i64> {
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    Some(365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        for (value, expected) in [
            (Value::from("1970-01-01"), Some(0)),
            ("2000-02-29".into(), Some(11016)),
            ("2026-11-16".into(), Some(20773)),
            ("17".into(), Some(17)),
            (Value::Int(-1), Some(-1)),
            (Value::Null, None),
            ("".into(), None),
        ] {
            assert_eq!(days("expire", &value).expect("it is one"), expected, "{value}");
        }
        assert!(days("expire", &"soon".into()).is_err());
        assert!(days("expire", &"2026-13-01".into()).is_err());
    }
}
