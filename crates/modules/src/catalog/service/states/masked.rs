//! `service.masked` and `service.unmasked`: whether a service can be started at all.

use rocksalt_core::Map;
use rocksalt_macros::state;

use super::super::provider;
use super::{touches, watch};
use crate::Result;
use crate::catalog::Plan;
use crate::catalog::file::Flag;
use crate::catalog::{Decision, State, Step, Touches, Verdict};
use crate::machine::{Probe, System};

/// Makes sure that a service is masked and can't be started. With systemd only.
///
/// ```yaml
/// telnetd:
///   service.masked: []
/// ```
///
/// A mask and one that lasts until the next boot (`runtime`) have nothing to do with each other.
#[state("service.masked", strict, watches)]
pub struct Masked {
    /// The service.
    name: String,
    /// Only until the next boot.
    runtime: Flag,
}

/// Makes sure that a service may be started. With systemd only.
///
/// ```yaml
/// nginx:
///   service.unmasked: []
/// ```
#[state("service.unmasked", strict, watches)]
pub struct Unmasked {
    /// The service.
    name: String,
    /// The mask that lasts until the next boot.
    runtime: Flag,
}

/// The service to mask or unmask.
struct Mask<'a> {
    name: &'a str,
    runtime: bool,
    mask: bool,
}

impl Mask<'_> {
    fn word(&self) -> &'static str {
        match (self.runtime, self.mask) {
            (false, true) => "masked",
            (true, true) => "runtime masked",
            (false, false) => "unmasked",
            (true, false) => "runtime unmasked",
        }
    }

    fn changed(&self, verdict: Verdict) -> Verdict {
        let kind = if self.runtime { "runtime masked" } else { "masked" };
        verdict.change(kind, Map::from_iter([("old".into(), (!self.mask).into()), ("new".into(), self.mask.into())]))
    }

    fn plan(&self, machine: &dyn Probe) -> Result<Decision> {
        let (name, word) = (self.name, self.word());
        let Some(masks) = provider(machine, Some(name))?.masks() else {
            return Ok(Decision::Settled(Verdict::bad("Service masking not available on this minion")));
        };
        if masks.masked(machine, name, self.runtime)? == self.mask {
            let is = if self.mask { "is" } else { "was" };
            return Ok(Decision::Settled(Verdict::good(format!("Service {name} {is} already {word}"))));
        }
        Ok(Decision::Change(Plan::default(), self.changed(Verdict::would(format!("Service {name} would be {word}")))))
    }

    fn apply(&self, machine: &dyn System) -> Result<Verdict> {
        let (name, word) = (self.name, self.word());
        let Some(masks) = provider(machine, Some(name))?.masks() else {
            return Ok(Verdict::bad("Service masking not available on this minion"));
        };
        let failed = format!("Failed to {} service {name}", if self.mask { "mask" } else { "unmask" });
        if let Err(error) = masks.set_mask(machine, name, self.runtime, self.mask) {
            return Ok(Verdict::bad(format!("{failed}\n\n{error}")));
        }
        if masks.masked(machine, name, self.runtime)? != self.mask {
            return Ok(Verdict::bad(failed));
        }
        Ok(self.changed(Verdict::good(format!("Service {name} was {word}"))))
    }
}

impl State for Masked {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Mask { name: &self.name, runtime: self.runtime.0, mask: true }.plan(machine)
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        Mask { name: &self.name, runtime: self.runtime.0, mask: true }.apply(machine)
    }

    fn watched(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(watch::unable("masked"))
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}

impl State for Unmasked {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Mask { name: &self.name, runtime: self.runtime.0, mask: false }.plan(machine)
    }

    fn apply(&self, _: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        Mask { name: &self.name, runtime: self.runtime.0, mask: false }.apply(machine)
    }

    fn watched(&self, _: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        Ok(watch::unable("unmasked"))
    }

    fn touches(&self) -> Touches {
        touches(&self.name)
    }
}
