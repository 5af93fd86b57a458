//! The time zone: `/etc/localtime`, which the C library uses, and `/etc/timezone`, which Debian has in addition.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::super::Function;
use super::super::tool;
use crate::catalog::Action;
use crate::catalog::plan::apply_action;
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub const LOCALTIME: &str = "/etc/localtime";
pub const TIMEZONE: &str = "/etc/timezone";

/// The current zone.
pub fn current(machine: &dyn Probe) -> Result<String> {
    linked(machine).or_else(|| written(machine)).or_else(|| copied(machine)).ok_or_else(|| {
        Error::failed("Unable to get timezone")
            .hint("neither is /etc/localtime a link into /usr/share/zoneinfo, nor is there /etc/timezone")
    })
}

/// The zone that the C library uses and `timedatectl` shows.
fn linked(machine: &dyn Probe) -> Option<String> {
    let target = machine.read_link(Path::new(LOCALTIME)).ok()?;
    let text = target.to_string_lossy();
    text.split_once("zoneinfo/").map(|(_, zone)| zone.to_owned())
}

fn written(machine: &dyn Probe) -> Option<String> {
    look::line(machine, TIMEZONE)
}

/// The zone of a plain file in place of the link, which does not contain its name. Only UTC is recognised, by comparing
/// the content.
fn copied(machine: &dyn Probe) -> Option<String> {
    let content = machine.read(Path::new(LOCALTIME)).ok()?;
    let universal = machine.read(Path::new(&file_of("UTC"))).ok()?;
    (content == universal).then(|| "UTC".to_owned())
}

/// Whether all files have this zone.
pub fn is_set(machine: &dyn Probe, zone: &str) -> Result<bool> {
    sound(zone)?;
    let link = linked(machine);
    if link.is_none() {
        // A copy of the right file is as good as a link to it.
        let (here, there) = (machine.read(Path::new(LOCALTIME)), machine.read(Path::new(&file_of(zone))));
        if !matches!((here, there), (Ok(here), Ok(there)) if here == there) {
            return Ok(false);
        }
    }
    Ok(link.is_none_or(|link| link == zone) && written(machine).is_none_or(|written| written == zone))
}

/// Checks a zone, which becomes part of a path.
pub fn sound(zone: &str) -> Result<()> {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-.".contains(&b))
    };
    match zone.split('/').all(plain) {
        true => Ok(()),
        false => Err(Error::arguments(format!("'{zone}' is no time zone")).hint("a zone is called like Europe/Paris")),
    }
}

pub fn file_of(zone: &str) -> String {
    format!("/usr/share/zoneinfo/{zone}")
}

/// Salt's text for a zone that the target does not know.
pub fn unknown(machine: &dyn Probe, zone: &str) -> Option<String> {
    let path = file_of(zone);
    let there = look::exists(machine, &path) && !look::is_directory(machine, &path);
    (!there).then(|| format!("Zone does not exist: {path}"))
}

/// The actions that set a zone, through systemd if it runs, since it also updates the kernel.
pub fn change(machine: &dyn Probe, zone: &str) -> Vec<Action> {
    let mut actions = Vec::new();
    if tool::booted_by_systemd(machine)
        && let Some(timedatectl) = look::program(machine, "timedatectl")
    {
        actions.push(Action::try_run(tool::command(&[timedatectl.as_str(), "set-timezone", zone])));
    }
    actions.push(Action::ReplaceLink { target: file_of(zone), link: LOCALTIME.into() });
    let family = machine.grains().get("os_family").and_then(Value::as_str).map(str::to_owned);
    if matches!(family.as_deref(), Some("Debian" | "Gentoo")) || look::exists(machine, TIMEZONE) {
        actions.push(Action::Write {
            path: TIMEZONE.into(),
            content: format!("{zone}\n").into_bytes(),
            mode: None,
            parents: true,
        });
    }
    actions
}

/// The name of the time zone.
///
/// ```text
/// rocksalt '*' timezone.get_zone
/// ```
#[function("timezone.get_zone", reads)]
pub struct GetZone {}

impl Function for GetZone {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        current(machine)
    }
}

/// Whether the target is in a time zone.
///
/// ```text
/// rocksalt '*' timezone.zone_compare America/Denver
/// ```
#[function("timezone.zone_compare", reads)]
pub struct ZoneCompare {
    /// The zone.
    timezone: String,
}

impl Function for ZoneCompare {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        is_set(machine, &self.timezone)
    }
}

/// Sets the target's time zone. Running programs may need a restart to see it.
///
/// ```text
/// rocksalt '*' timezone.set_zone America/Denver
/// ```
#[function("timezone.set_zone", changes)]
pub struct SetZone {
    /// The zone.
    timezone: String,
}

impl Function for SetZone {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        sound(&self.timezone)?;
        if let Some(text) = unknown(machine, &self.timezone) {
            return Err(Error::failed(text).hint("on Debian, the zones come with the package tzdata"));
        }
        change(machine, &self.timezone).into_iter().try_for_each(|action| apply_action(action, machine))?;
        Ok(true)
    }
}

/// The current offset from UTC, as `-0700`.
///
/// ```text
/// rocksalt '*' timezone.get_offset
/// ```
#[function("timezone.get_offset", reads)]
pub struct GetOffset {}

impl Function for GetOffset {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(tool::told(machine, &["date", "+%z"])?.trim_end().to_owned())
    }
}

/// The current abbreviation of the time zone, as `MDT`.
///
/// ```text
/// rocksalt '*' timezone.get_zonecode
/// ```
#[function("timezone.get_zonecode", reads)]
pub struct GetZonecode {}

impl Function for GetZonecode {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(tool::told(machine, &["date", "+%Z"])?.trim_end().to_owned())
    }
}
