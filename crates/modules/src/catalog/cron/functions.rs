//! The functions on crontabs.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::crontab::{read, write};
use super::request::{CronJobSpec, CronOutcome, time};
use super::tab::{CronJob, Tab, When};
use crate::catalog::Function;
use crate::catalog::file::Flag;
use crate::machine::System;
use crate::{Error, Result};

/// A user's crontab as text.
///
/// ```text
/// rocksalt '*' cron.raw_cron root
/// ```
#[function("cron.raw_cron", reads)]
pub struct RawCron {
    /// The user whose crontab it is.
    user: String,
}

impl Function for RawCron {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        read(machine, &self.user)
    }
}

/// A user's crontab, parsed: `crons`, `special`, `env`, and what isn't managed in `pre`.
///
/// ```text
/// rocksalt '*' cron.list_tab root
/// ```
#[function("cron.list_tab", reads, also("cron.ls"))]
pub struct ListTab {
    /// The user whose crontab it is.
    user: String,
}

impl Function for ListTab {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(Tab::parse(&read(machine, &self.user)?).shown())
    }
}

/// A job of a user's crontab; `False` if there is no such job.
///
/// ```text
/// rocksalt '*' cron.get_entry root identifier=backup
/// ```
#[function("cron.get_entry", reads)]
pub struct GetEntry {
    /// The user whose crontab it is.
    user: String,
    /// Its identifier.
    identifier: Option<String>,
    /// Or its command.
    cmd: Option<String>,
}

impl Function for GetEntry {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let tab = Tab::parse(&read(machine, &self.user)?);
        let meant = |job: &CronJob| match (&self.identifier, &self.cmd) {
            (Some(identifier), _) => job.identifier.as_ref() == Some(identifier),
            (None, Some(cmd)) => job.cmd == *cmd,
            (None, None) => false,
        };
        Ok(tab.jobs().find(|(_, job)| meant(job)).map_or(Value::Bool(false), |(_, job)| Value::Map(job.shown())))
    }
}

/// Puts a job into a user's crontab: `new`, `updated` or `present`.
///
/// ```text
/// rocksalt '*' cron.set_job root '*/5' '*' '*' '*' '*' /usr/local/bin/check identifier=check
/// ```
#[function("cron.set_job", changes)]
pub struct SetJob {
    /// The user whose crontab it is.
    user: String,
    /// The minute, or `random`.
    #[required]
    minute: Value,
    /// The hour, or `random`.
    #[required]
    hour: Value,
    /// The day of the month, or `random`.
    #[required]
    daymonth: Value,
    /// The month, or `random`.
    #[required]
    month: Value,
    /// The day of the week, or `random`.
    #[required]
    dayweek: Value,
    /// The command to run.
    cmd: String,
    /// Comment it out, so that it doesn't run.
    commented: Flag,
    /// A comment above it.
    comment: Option<String>,
    /// Its identifier, independent of the command.
    identifier: Option<String>,
}

impl Function for SetJob {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let times = [&self.minute, &self.hour, &self.daymonth, &self.month, &self.dayweek].map(time);
        let request = CronJobSpec {
            when: When::Times(times),
            cmd: self.cmd,
            identifier: self.identifier,
            comment: self.comment,
            commented: self.commented.0,
        };
        set(machine, &self.user, &request)
    }
}

/// Puts a job with a special time into a user's crontab: `new`, `updated` or `present`.
///
/// ```text
/// rocksalt '*' cron.set_special root @hourly 'echo foobar'
/// ```
#[function("cron.set_special", changes)]
pub struct SetSpecial {
    /// The user whose crontab it is.
    user: String,
    /// `@reboot`, `@daily` …
    special: String,
    /// The command to run.
    cmd: String,
    /// Comment it out, so that it doesn't run.
    commented: Flag,
    /// A comment above it.
    comment: Option<String>,
    /// Its identifier, independent of the command.
    identifier: Option<String>,
}

impl Function for SetSpecial {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let request = CronJobSpec {
            when: When::Special(self.special),
            cmd: self.cmd,
            identifier: self.identifier,
            comment: self.comment,
            commented: self.commented.0,
        };
        set(machine, &self.user, &request)
    }
}

/// Removes a job from a user's crontab: `removed` or `absent`.
///
/// ```text
/// rocksalt '*' cron.rm_job root /usr/local/bin/check
/// ```
#[function("cron.rm_job", changes, also("cron.rm"))]
pub struct RmJob {
    /// The user whose crontab it is.
    user: String,
    /// The command to run.
    cmd: String,
    /// Only if it is at this minute.
    minute: Value,
    /// Only if it is at this hour.
    hour: Value,
    /// Only if it is on this day of the month.
    daymonth: Value,
    /// Only if it is in this month.
    month: Value,
    /// Only if it is on this day of the week.
    dayweek: Value,
    /// Its identifier, independent of the command.
    identifier: Option<String>,
}

impl Function for RmJob {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let wanted = [&self.minute, &self.hour, &self.daymonth, &self.month, &self.dayweek];
        let at = |found: &String, wanted: &Value| {
            wanted.is_null() || time(wanted) == *found || time(wanted) == "random" && found != "*"
        };
        remove(machine, &self.user, &|job| match &job.when {
            When::Times(times) => {
                times.iter().zip(wanted).all(|(found, wanted)| at(found, wanted))
                    && job.is_meant(&self.cmd, self.identifier.as_deref())
            }
            When::Special(_) => false,
        })
    }
}

/// Removes a job with a special time from a user's crontab: `removed` or `absent`.
///
/// ```text
/// rocksalt '*' cron.rm_special root 'echo foobar' special=@hourly
/// ```
#[function("cron.rm_special", changes)]
pub struct RmSpecial {
    /// The user whose crontab it is.
    user: String,
    /// The command to run.
    cmd: String,
    /// Only if it is at this time.
    special: Option<String>,
    /// Its identifier, independent of the command.
    identifier: Option<String>,
}

impl Function for RmSpecial {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        remove(machine, &self.user, &|job| match &job.when {
            When::Special(spec) => {
                self.special.as_ref().is_none_or(|wanted| wanted == spec)
                    && job.is_meant(&self.cmd, self.identifier.as_deref())
            }
            When::Times(_) => false,
        })
    }
}

/// Sets a variable in a user's crontab: `new`, `updated` or `present`.
///
/// ```text
/// rocksalt '*' cron.set_env root MAILTO user@example.com
/// ```
#[function("cron.set_env", changes)]
pub struct SetEnv {
    /// The user whose crontab it is.
    user: String,
    /// The variable's name.
    name: String,
    /// Its value.
    value: Option<String>,
}

impl Function for SetEnv {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let mut tab = Tab::parse(&read(machine, &self.user)?);
        let outcome = set_variable(&mut tab, &self.name, self.value.as_deref())?;
        if outcome != CronOutcome::Present {
            write(machine, &self.user, &tab.text()).map_err(Error::failed)?;
        }
        Ok(outcome.name())
    }
}

/// Removes a variable from a user's crontab: `removed` or `absent`.
///
/// ```text
/// rocksalt '*' cron.rm_env root MAILTO
/// ```
#[function("cron.rm_env", changes)]
pub struct RmEnv {
    /// The user whose crontab it is.
    user: String,
    /// The variable's name.
    name: String,
}

impl Function for RmEnv {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        let mut tab = Tab::parse(&read(machine, &self.user)?);
        let found = tab.variables().find(|(_, name, _)| *name == self.name).map(|(index, ..)| index);
        let Some(index) = found else { return Ok("absent") };
        tab.remove(index);
        write(machine, &self.user, &tab.text()).map_err(Error::failed)?;
        Ok("removed")
    }
}

/// Installs a file of the target as a user's crontab.
///
/// ```text
/// rocksalt '*' cron.write_cron_file root /tmp/new_cron
/// ```
#[function("cron.write_cron_file", changes)]
pub struct WriteCronFile {
    /// The user whose crontab it is.
    user: String,
    /// The file's path.
    path: String,
}

impl Function for WriteCronFile {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = Path::new(&self.path);
        let content = machine.read(path).map_err(|error| Error::io("read", path, &error))?;
        write(machine, &self.user, &String::from_utf8_lossy(&content)).map_err(Error::failed)?;
        Ok(true)
    }
}

fn set(machine: &dyn System, user: &str, request: &CronJobSpec) -> Result<&'static str> {
    request.check()?;
    let mut tab = Tab::parse(&read(machine, user)?);
    let outcome = request.set(machine, &mut tab)?;
    if outcome != CronOutcome::Present {
        write(machine, user, &tab.text()).map_err(Error::failed)?;
    }
    Ok(outcome.name())
}

fn remove(machine: &dyn System, user: &str, meant: &dyn Fn(&CronJob) -> bool) -> Result<&'static str> {
    let mut tab = Tab::parse(&read(machine, user)?);
    let Some(index) = tab.jobs().find(|(_, job)| meant(job)).map(|(index, _)| index) else { return Ok("absent") };
    tab.remove(index);
    write(machine, user, &tab.text()).map_err(Error::failed)?;
    Ok("removed")
}

/// Sets a variable in a crontab. An empty value is written as two quotes.
pub fn set_variable(tab: &mut Tab, name: &str, value: Option<&str>) -> Result<CronOutcome> {
    let value = value.filter(|value| !value.is_empty()).unwrap_or("\"\"");
    if name.is_empty() || name.contains([' ', '=', '#', '\n']) || value.contains(['\n', '\r', '\0']) {
        return Err(Error::arguments(format!("'{}' can't be a variable of a crontab", name.escape_debug())));
    }
    let found = tab.variables().find(|(_, known, _)| *known == name).map(|(index, _, old)| (index, old.to_owned()));
    let outcome = match &found {
        Some((_, old)) if old == value => return Ok(CronOutcome::Present),
        Some(_) => CronOutcome::Updated,
        None => CronOutcome::New,
    };
    tab.put_variable(found.map(|(index, _)| index), name, value);
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_is_written_once() {
        let mut tab = Tab::parse("");
        assert_eq!(set_variable(&mut tab, "MAILTO", None).expect("it can be"), CronOutcome::New);
        assert_eq!(set_variable(&mut tab, "MAILTO", Some("")).expect("it can be"), CronOutcome::Present);
        assert_eq!(set_variable(&mut tab, "MAILTO", Some("me")).expect("it can be"), CronOutcome::Updated);
        assert!(tab.text().ends_with("edit\nMAILTO=me\n"));
        assert!(set_variable(&mut tab, "A", Some("x\n* * * * * evil")).is_err());
    }
}
