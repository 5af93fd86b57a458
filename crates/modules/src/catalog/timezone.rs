//! `timezone`: which time it is at the target's place.

use std::path::Path;

use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::machine::{Probe, System};
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[entry::<GetZone>()];

/// The name of the time zone.
///
/// ```text
/// rocksalt '*' timezone.get_zone
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetZone {}

impl Function for GetZone {
    const NAME: &'static str = "timezone.get_zone";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        linked(machine).or_else(|| written(machine)).ok_or_else(|| {
            Error::failed("Unable to get timezone")
                .hint("neither is /etc/localtime a link into /usr/share/zoneinfo, nor is there /etc/timezone")
        })
    }
}

/// What counts for the C library, and what `timedatectl` shows.
fn linked(machine: &dyn Probe) -> Option<String> {
    let target = machine.read_link(Path::new("/etc/localtime")).ok()?;
    let text = target.to_string_lossy();
    text.split_once("zoneinfo/").map(|(_, zone)| zone.to_owned())
}

fn written(machine: &dyn Probe) -> Option<String> {
    let content = machine.read(Path::new("/etc/timezone")).ok()?;
    let zone = String::from_utf8_lossy(&content).trim().to_owned();
    (!zone.is_empty()).then_some(zone)
}
