//! [`CronJobSpec`]: a requested job, and the change to a crontab that it needs.

use rocksalt_core::Value;

use super::tab::{CronJob, Tab, When};
use crate::machine::Probe;
use crate::{Error, Result};

pub struct CronJobSpec {
    pub when: When,
    pub cmd: String,
    pub identifier: Option<String>,
    /// `None` keeps an existing comment.
    pub comment: Option<String>,
    pub commented: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CronOutcome {
    Present,
    New,
    Updated,
}

impl CronOutcome {
    pub fn name(self) -> &'static str {
        match self {
            CronOutcome::Present => "present",
            CronOutcome::New => "new",
            CronOutcome::Updated => "updated",
        }
    }
}

impl CronJobSpec {
    /// A job is a single line, so a line break would add another job.
    pub fn check(&self) -> Result<()> {
        let texts = [Some(&self.cmd), self.identifier.as_ref()].into_iter().flatten();
        let when: Vec<&String> = match &self.when {
            When::Times(times) => times.iter().collect(),
            When::Special(spec) => vec![spec],
        };
        if let When::Special(spec) = &self.when
            && (!spec.starts_with('@') || spec.contains(char::is_whitespace))
        {
            return Err(Error::arguments(format!("special: '{spec}' is none; those begin with '@'")));
        }
        if let Some(time) = when.iter().find(|time| time.is_empty() || time.contains(char::is_whitespace)) {
            return Err(Error::arguments(format!("'{time}' is no time of a job")));
        }
        if let Some(text) = texts.chain(when).find(|text| text.contains(['\n', '\r', '\0'])) {
            return Err(Error::arguments(format!("a job is one line, and '{}' has more", text.escape_debug())));
        }
        if self.cmd.is_empty() {
            return Err(Error::arguments("there is no command"));
        }
        Ok(())
    }

    /// Adds or changes the job in a crontab.
    pub fn set(&self, machine: &dyn Probe, tab: &mut Tab) -> Result<CronOutcome> {
        let found = tab.jobs().find(|(_, job)| job.is_meant(&self.cmd, self.identifier.as_deref()));
        let found = found.map(|(index, job)| (index, job.clone()));
        let Some((index, old)) = found else {
            let when = self.settled(machine, None)?;
            let CronJobSpec { cmd, identifier, comment, commented, .. } = self;
            let job = CronJob {
                when,
                cmd: cmd.clone(),
                identifier: identifier.clone(),
                comment: comment.clone(),
                commented: *commented,
            };
            tab.put(None, job);
            return Ok(CronOutcome::New);
        };
        let new = CronJob {
            when: self.settled(machine, Some(&old.when))?,
            cmd: self.cmd.clone(),
            identifier: self.identifier.clone().or_else(|| old.identifier.clone()),
            comment: self.comment.clone().or_else(|| old.comment.clone()),
            commented: self.commented,
        };
        // A missing comment and an empty one are equal.
        let bare =
            |job: &CronJob| CronJob { comment: job.comment.clone().filter(|text| !text.is_empty()), ..job.clone() };
        if bare(&new) == bare(&old) {
            return Ok(CronOutcome::Present);
        }
        let same_kind =
            matches!((&new.when, &old.when), (When::Times(_), When::Times(_)) | (When::Special(_), When::Special(_)));
        if !same_kind {
            tab.remove(index);
        }
        tab.put(same_kind.then_some(index), new);
        Ok(CronOutcome::Updated)
    }

    /// Replaces random fields by values; earlier values are kept.
    fn settled(&self, machine: &dyn Probe, old: Option<&When>) -> Result<When> {
        let When::Times(wanted) = &self.when else { return Ok(self.when.clone()) };
        let old = match old {
            Some(When::Times(times)) => Some(times),
            _ => None,
        };
        let mut times = wanted.clone();
        // The month first: it determines the number of days.
        for index in [0, 1, 3, 4, 2] {
            let Some((least, most)) = choice(index, &wanted[index], &times[3]) else { continue };
            let kept = old.map(|old| &old[index]).filter(|old| {
                let within = old.parse::<u64>().is_ok_and(|number| (least..=most).contains(&number));
                within || wanted[index] == "random" && *old != "*"
            });
            times[index] = match kept {
                Some(kept) => kept.clone(),
                None => (least + random(machine)? % (most - least + 1)).to_string(),
            };
        }
        Ok(When::Times(times))
    }
}

/// The range of a field that is chosen at random: `random`, or `10:20`.
fn choice(index: usize, wanted: &str, month: &str) -> Option<(u64, u64)> {
    const RANGES: [(u64, u64); 5] = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)];
    if wanted == "random" {
        let days = match month {
            "1" | "3" | "5" | "7" | "8" | "10" | "12" => 31,
            "4" | "6" | "9" | "11" => 30,
            _ => 28,
        };
        return Some(if index == 2 { (1, days) } else { RANGES[index] });
    }
    let (a, b) = wanted.split_once(':').filter(|_| index != 2)?;
    let (a, b) = (a.parse().ok()?, b.parse().ok()?);
    Some((u64::min(a, b), u64::max(a, b)))
}

fn random(machine: &dyn Probe) -> Result<u64> {
    let path = std::path::Path::new("/dev/urandom");
    let bytes = machine.read_at(path, 0, 8).map_err(|error| Error::io("read", path, &error))?;
    Ok(bytes.into_iter().fold(0, |number, byte| number << 8 | u64::from(byte)) >> 1)
}

/// A field in the form that users write.
pub fn time(value: &Value) -> String {
    value.to_string().trim().to_lowercase()
}

/// An identifier in the form that users write; false means the command itself.
pub fn identifier(value: &Value, cmd: &str) -> Option<String> {
    match value {
        Value::Bool(false) => Some(cmd.to_owned()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    fn request(minute: &str, cmd: &str) -> CronJobSpec {
        let mut times = ["*"; 5].map(str::to_owned);
        times[0] = minute.to_owned();
        let identifier = Some("id".to_owned());
        CronJobSpec { when: When::Times(times), cmd: cmd.into(), identifier, comment: None, commented: false }
    }

    #[test]
    fn chance_is_decided_once() {
        let machine = Fake::new().file("/dev/urandom", [7; 64]);
        let mut tab = Tab::parse("");
        assert_eq!(request("random", "x").set(&machine, &mut tab).expect("it can be set"), CronOutcome::New);
        let text = tab.text();
        assert_eq!(request("random", "x").set(&machine, &mut tab).expect("it can be set"), CronOutcome::Present);
        assert_eq!(request("0:59", "x").set(&machine, &mut tab).expect("it can be set"), CronOutcome::Present);
        assert_eq!(request("random", "y").set(&machine, &mut tab).expect("it can be set"), CronOutcome::Updated);
        assert_eq!(tab.text(), text.replace(" x\n", " y\n"));
    }

    #[test]
    fn a_job_is_one_line() {
        assert!(request("*", "a\n* * * * * b").check().is_err());
        assert!(request("* *", "a").check().is_err());
        assert!(request("*/5", "a % b").check().is_ok());
    }
}
