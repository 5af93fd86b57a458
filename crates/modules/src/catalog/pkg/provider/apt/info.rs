//! dpkg's data about single packages: selections, files, owners, details.

use std::collections::BTreeMap;
use std::path::Path;

use rocksalt_core::Map;

use super::super::{command, output, sound};
use super::run;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Names with their selection (`install`, `hold`, `deinstall`, `purge`), in dpkg's order.
pub fn selections(machine: &dyn Probe, pattern: Option<&str>) -> Result<Vec<(String, String)>> {
    let text = output(machine, &["dpkg", "--get-selections", pattern.unwrap_or("*")])?;
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    Ok(text.lines().filter_map(row).collect())
}

pub fn select(machine: &dyn System, names: &[&str], selection: &str) -> Result<()> {
    let mut input = String::new();
    for name in names {
        input += &format!("{} {selection}\n", sound(name)?);
    }
    let mut transaction = command(["dpkg", "--set-selections"]);
    transaction.stdin = Some(input.into_bytes());
    run::checked(machine, &transaction).map(drop)
}

pub fn owner(machine: &dyn Probe, path: &Path) -> Result<String> {
    let path = path.to_string_lossy();
    // dpkg reads other texts as patterns.
    if !path.starts_with('/') {
        return Ok(String::new());
    }
    let output = machine.query(&command(["dpkg-query", "-S", &path]))?;
    let text = output.text();
    // `diversion by dash from: /bin/sh` names the package that diverted it, not the owner.
    let line = text.lines().find(|line| !line.starts_with("diversion by ")).unwrap_or_default();
    let name = line.rsplit_once(": ").map_or("", |(names, _)| names);
    Ok(name.split([':', ',']).next().unwrap_or_default().to_owned())
}

pub fn files(machine: &dyn Probe, names: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
    let mut words = vec!["dpkg-query", "-f=${db:Status-Status}\t${binary:Package}\n", "-W"];
    for name in names {
        words.push(sound(name)?);
    }
    let text = output(machine, &words)?;
    let mut found = BTreeMap::new();
    for name in text.lines().filter_map(|line| line.strip_prefix("installed\t")) {
        let listing = output(machine, &["dpkg-query", "-L", name])?;
        // Diversions are lines of text.
        let paths = listing.lines().filter(|line| line.starts_with('/')).map(str::to_owned);
        found.insert(name.to_owned(), paths.collect());
    }
    Ok(found)
}

/// Separates packages and their descriptions, which may contain any lines.
const END: &str = "\u{1}end";
const DESCRIPTION: &str = "\u{1}description:";

pub fn of(machine: &dyn Probe, names: &[String]) -> Result<Map> {
    let fields = [
        ("name", "Package"),
        ("architecture", "Architecture"),
        ("packager", "Maintainer"),
        ("source", "source:Package"),
        ("version", "Version"),
        ("group", "Section"),
        ("size", "Size"),
        ("MD5", "MD5sum"),
        ("SHA1", "SHA1"),
        ("SHA256", "SHA256"),
        ("vendor", "Origin"),
        ("url", "Homepage"),
        ("install_date_time_t", "db-fsys:Last-Modified"),
        ("status", "db:Status-Abbrev"),
    ];
    let mut format = "-f=".to_owned();
    for (key, field) in fields {
        format += &format!("{key}:${{{field}}}\n");
    }
    format += &format!("{DESCRIPTION}${{Description}}\n{END}\n");
    let mut words = vec!["dpkg-query", "-W", &format];
    for name in names {
        words.push(sound(name)?);
    }
    let text = output(machine, &words)
        .map_err(|error| Error::failed(format!("Error getting packages information: {error}")))?;
    let mut found = Map::new();
    for package in text.split(&format!("{END}\n")).filter(|text| !text.trim().is_empty()) {
        let (lines, description) = package.split_once(DESCRIPTION).unwrap_or((package, ""));
        let mut info = Map::new();
        let mut there = true;
        for (key, value) in lines.lines().filter_map(|line| line.split_once(':')) {
            match key {
                "status" => there = value.chars().nth(1) == Some('i'),
                "install_date_time_t" => {
                    if let Ok(seconds) = value.parse::<i64>() {
                        info.insert("install_date", date(seconds));
                        info.insert("install_date_time_t", seconds);
                    }
                }
                _ if value.is_empty() => {}
                _ => drop(info.insert(key, value)),
            }
        }
        info.insert("description", description.trim_end());
        if let Some(name) = info.get("name").cloned().filter(|_| there) {
            found.insert(name, info);
        }
    }
    Ok(found)
}

/// `2024-02-29T12:00:00Z`
fn date(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Howard Hinnant's algorithm from days to a civil date.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_dates() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(1_709_208_000), "2024-02-29T12:00:00Z");
        assert_eq!(date(1_735_689_599), "2024-12-31T23:59:59Z");
    }
}
