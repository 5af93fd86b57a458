//! The queue of at(1).

use rocksalt_core::{Map, Value};

use crate::grains::look;
use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

pub const INVALID: &str = "invalid timespec";

/// A comment that identifies a job; the same as Salt's, so that both find each other's jobs.
const TAG: &str = "### SALT: ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    pub id: String,
    /// `2026-11-16`
    pub date: String,
    /// `04:20:00`
    pub time: String,
    pub queue: String,
    pub user: String,
    pub tag: String,
}

impl QueuedJob {
    pub fn to_map(&self) -> Map {
        let mut map = Map::new();
        map.insert("job", Value::integer(&self.id).unwrap_or_else(|| self.id.as_str().into()));
        for (key, text) in [
            ("date", &self.date),
            ("time", &self.time),
            ("queue", &self.queue),
            ("user", &self.user),
            ("tag", &self.tag),
        ] {
            map.insert(key, text.as_str());
        }
        map
    }
}

fn command(machine: &dyn Probe, tool: &str, words: &[&str]) -> Result<Command> {
    let Some(program) = look::program(machine, tool) else {
        return Err(Error::failed(format!("'{tool}' is not on the target")).hint("install the package at"));
    };
    let command = Command::new(std::iter::once(program.as_str()).chain(words.iter().copied()));
    Ok(Command { env: vec![("LC_ALL".into(), Some("C".into()))], ..command })
}

fn failure(doing: &str, output: &Output) -> Error {
    let said = output.text() + &String::from_utf8_lossy(&output.stderr);
    Error::failed(format!("could not {doing}: {}", said.trim()))
}

pub fn all(machine: &dyn Probe) -> Result<Vec<QueuedJob>> {
    let output = machine.query(&command(machine, "atq", &[])?)?;
    if !output.success() {
        return Err(failure("list the jobs of at", &output));
    }
    let mut jobs: Vec<QueuedJob> = output.text().lines().filter_map(parse).collect();
    jobs.sort_by_key(|job| job.id.parse::<u64>().unwrap_or(u64::MAX));
    for job in &mut jobs {
        let script = script(machine, &job.id)?;
        job.tag = script.lines().filter_map(|line| line.strip_prefix(TAG)).next_back().map(tag_of).unwrap_or_default();
    }
    Ok(jobs)
}

/// As in Salt, the first alphanumeric word.
fn tag_of(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// Parses `1\tMon Nov 16 04:20:00 2026 a root`.
fn parse(line: &str) -> Option<QueuedJob> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let [id, _, month, day, time, year, queue, user] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let day: u32 = day.parse().ok()?;
    Some(QueuedJob {
        id: id.to_owned(),
        date: format!("{year}-{month:02}-{day:02}"),
        // at(1) has no seconds, and Salt does not show them.
        time: format!("{}:00", time.get(..5)?),
        queue: queue.to_owned(),
        user: user.to_owned(),
        tag: String::new(),
    })
}

/// A job's script; empty if there is no such job.
pub fn script(machine: &dyn Probe, id: &str) -> Result<String> {
    if id.is_empty() || !id.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::arguments(format!("'{id}' is no number of a job")));
    }
    Ok(machine.query(&command(machine, "at", &["-c", id])?)?.text())
}

/// Adds a job; `None` if at(1) does not understand the time.
pub fn add(
    machine: &dyn System,
    timespec: &str,
    what: &str,
    tag: Option<&str>,
    user: Option<&str>,
) -> Result<Option<QueuedJob>> {
    if timespec.is_empty() || timespec.starts_with('-') {
        return Ok(None);
    }
    if let Some(tag) = tag.filter(|tag| tag.contains('\n')) {
        return Err(Error::arguments(format!("'{tag}' is no tag: it has more than one line")));
    }
    let tag = tag.map(|tag| format!("{TAG}{tag}\n")).unwrap_or_default();
    let command = command(machine, "at", &[timespec])?;
    let stdin = Some(format!("{tag}{what}\n").into_bytes());
    let output = machine.run(&Command { stdin, user: user.map(str::to_owned), ..command })?;
    let said = output.text() + &String::from_utf8_lossy(&output.stderr);
    if said.contains("Garbled time") || said.contains("garbled time") {
        return Ok(None);
    }
    let id = said.lines().find_map(|line| line.strip_prefix("job ")?.split_whitespace().next().map(str::to_owned));
    let Some(id) = id.filter(|_| output.success()) else { return Err(failure("add a job to at", &output)) };
    Ok(all(machine)?.into_iter().find(|job| job.id == id))
}

pub fn remove(machine: &dyn System, ids: &[String]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let words: Vec<&str> = std::iter::once("-d").chain(ids.iter().map(String::as_str)).collect();
    let output = machine.run(&command(machine, "at", &words)?)?;
    if output.success() { Ok(()) } else { Err(failure("remove jobs of at", &output)) }
}

/// Selects jobs.
#[derive(Default)]
pub struct Filter {
    user: Option<String>,
    tag: Option<String>,
    /// Year, month, day, hour, minute.
    parts: [Option<String>; 5],
}

impl Filter {
    pub fn of(arguments: &Map) -> Filter {
        let text = |key: &str| arguments.get(key).filter(|value| value.truth()).map(ToString::to_string);
        let two = |key: &str| text(key).map(|text| format!("{text:0>2}"));
        let year = text("year").map(|year| if year.len() == 2 { format!("20{year}") } else { year });
        Filter {
            user: text("runas"),
            tag: text("tag"),
            parts: [year, two("month"), two("day"), two("hour"), two("minute")],
        }
    }

    pub fn fits(&self, job: &QueuedJob) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        let of_job = job.date.split('-').chain(job.time.split(':'));
        is(&self.user, &job.user)
            && is(&self.tag, &job.tag)
            && self.parts.iter().zip(of_job).all(|(wanted, found)| is(wanted, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_and_filtered() {
        let job = parse("7\tMon Nov  6 04:20:33 2026 a root").expect("a job");
        assert_eq!((job.id.as_str(), job.date.as_str(), job.time.as_str()), ("7", "2026-11-06", "04:20:00"));
        assert_eq!((job.queue.as_str(), job.user.as_str()), ("a", "root"));
        assert!(parse("nonsense").is_none());
        let fits = |arguments: &[(&str, Value)]| {
            let map: Map = arguments.iter().map(|(key, value)| ((*key).into(), value.clone())).collect();
            Filter::of(&map).fits(&job)
        };
        assert!(fits(&[]) && fits(&[("year", 26i64.into())]) && fits(&[("day", 6i64.into()), ("hour", "4".into())]));
        assert!(
            !fits(&[("month", 12i64.into())]) && !fits(&[("tag", "x".into())]) && !fits(&[("runas", "jam".into())])
        );
        assert_eq!(tag_of("rose tree"), "rose");
    }
}
