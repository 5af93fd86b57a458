//! `docker_network`: networks of containers.

use serde::{Deserialize, Serialize};

use crate::catalog::Plan;
use crate::catalog::change;
use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::engine::{Engine, sound};
use super::volume::options;
use super::{Decision, State, Step, Verdict, sql};
use crate::Result;
use crate::catalog::file::Flag;
use crate::machine::{Probe, System};

/// Makes sure that a network is there, with these settings.
///
/// ```yaml
/// back:
///   docker_network.present:
///     - driver: bridge
///     - subnet: 10.27.0.0/16
///     - internal: true
/// ```
#[state("docker_network.present")]
pub struct Present {
    /// The network's name.
    name: String,
    /// What makes it.
    driver: Option<String>,
    /// Options of what makes it: a map, or a list of maps.
    driver_opts: Value,
    /// Its addresses.
    subnet: Option<String>,
    /// The address of its gateway.
    gateway: Option<String>,
    /// The part of its addresses that containers get.
    ip_range: Option<String>,
    /// No way out of it.
    internal: Flag,
    /// Also with addresses of version 6.
    enable_ipv6: Flag,
    /// Labels: a map, or a list of maps.
    labels: Value,
    /// Containers that must be in it.
    containers: Vec<String>,
    /// Accepted for compatibility with Salt, and ignored.
    #[expect(dead_code, reason = "an argument without a meaning here")]
    skip_translate: Value,
    /// Connect the containers of the replaced network to the new one.
    #[default(true)]
    reconnect: Flag,
}

#[derive(Serialize, Deserialize)]
pub struct NetworkPlan {
    engine: Engine,
    exists: bool,
    make: bool,
    members: Vec<String>,
    connect: Vec<String>,
    done: Verdict,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: NetworkPlan = plan.into_own()?;
        match self.carry_out(&plan, machine) {
            Ok(()) => Ok(plan.done),
            Err(error) => Ok(Verdict::bad(format!("Failed to create network '{}': {error}", self.name))),
        }
    }
}

impl Present {
    fn look(&self, machine: &dyn Probe) -> Result<Decision<NetworkPlan>> {
        let engine = Engine::find(machine)?;
        let name = sound(&self.name)?;
        let found = engine.inspect(machine, "network", name)?;
        let differences = found.as_ref().map(|network| self.differences(network)).unwrap_or_default();
        let make = found.is_none() || !differences.is_empty();
        let members = match &found {
            Some(_) => members(machine, &engine, name)?,
            None => Vec::new(),
        };
        let mut connect = self.containers.clone();
        connect.retain(|container| make || !members.contains(container));
        let mut changes = Map::new();
        if !differences.is_empty() {
            changes.insert(name, differences);
        }
        if make {
            changes.insert(if found.is_some() { "recreated" } else { "created" }, true);
        }
        if make && self.containers.is_empty() && self.reconnect.0 && !members.is_empty() {
            changes.insert("reconnected", names(&members));
            connect = members.clone();
        } else if !connect.is_empty() {
            changes.insert("connected", names(&connect));
        }
        if changes.is_empty() {
            return sql::settled(Verdict::good(format!(
                "Network '{name}' already exists, and is configured as specified"
            )));
        }
        let (would, comment) = match (&found, make) {
            (None, _) => ("Network will be created".to_owned(), format!("Network '{name}' created")),
            (Some(_), true) => (
                "Network would be recreated with new config".to_owned(),
                format!("Network '{name}' was replaced with updated config"),
            ),
            (Some(_), false) => {
                let same = format!("Network '{name}' already exists, and is configured as specified");
                (same.clone(), same)
            }
        };
        let done = Verdict::good(comment).changes(changes.clone());
        let plan = NetworkPlan { engine, exists: found.is_some(), make, members, connect, done };
        Ok(Decision::Change(plan, Verdict::would(would).changes(changes)))
    }

    /// The requested settings that differ. The two programs name them differently.
    fn differences(&self, network: &Value) -> Map {
        let first =
            |paths: [&str; 2]| paths.iter().find_map(|path| network.walk(path, "/")).cloned().unwrap_or_default();
        let subnets: Vec<Value> = match first(["IPAM/Config", "subnets"]) {
            Value::List(subnets) => subnets,
            _ => Vec::new(),
        };
        let of_subnets = |keys: [&str; 2]| -> Vec<String> {
            let one = |subnet: &Value| keys.iter().find_map(|key| subnet.walk(key, "/")).map(ToString::to_string);
            subnets.iter().filter_map(one).collect()
        };
        let mut found = Map::new();
        let mut note = |key: &str, old: Value, new: Value| {
            if old != new {
                found.insert(key, change(old, new));
            }
        };
        if let Some(driver) = &self.driver {
            note("Driver", first(["Driver", "driver"]), driver.as_str().into());
        }
        for (wanted, key, keys) in
            [(&self.subnet, "Subnet", ["Subnet", "subnet"]), (&self.gateway, "Gateway", ["Gateway", "gateway"])]
        {
            let has = of_subnets(keys);
            if let Some(wanted) = wanted.as_ref().filter(|wanted| !has.contains(wanted)) {
                note(key, has.first().cloned().into(), wanted.as_str().into());
            }
        }
        if self.internal.0 {
            note("Internal", first(["Internal", "internal"]).truth().into(), true.into());
        }
        if self.enable_ipv6.0 {
            note("EnableIPv6", first(["EnableIPv6", "ipv6_enabled"]).truth().into(), true.into());
        }
        let labels = options(&first(["Labels", "labels"]));
        let missing: Vec<String> = options(&self.labels).into_iter().filter(|label| !labels.contains(label)).collect();
        if !missing.is_empty() {
            note("Labels", names(&labels), names(&missing));
        }
        found
    }

    fn carry_out(&self, plan: &NetworkPlan, machine: &dyn System) -> Result<()> {
        let (engine, name) = (&plan.engine, self.name.as_str());
        if plan.make {
            if plan.exists {
                remove(machine, engine, name, &plan.members)?;
            }
            let mut words = vec!["network".to_owned(), "create".into()];
            let texts = [
                ("driver", &self.driver),
                ("subnet", &self.subnet),
                ("gateway", &self.gateway),
                ("ip-range", &self.ip_range),
            ];
            words.extend(
                texts.iter().filter_map(|(option, value)| value.as_ref().map(|value| format!("--{option}={value}"))),
            );
            words.extend(options(&self.driver_opts).into_iter().map(|option| format!("--opt={option}")));
            words.extend(options(&self.labels).into_iter().map(|label| format!("--label={label}")));
            words.extend(self.internal.0.then(|| "--internal".to_owned()));
            words.extend(self.enable_ipv6.0.then(|| "--ipv6".to_owned()));
            words.push(name.to_owned());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            engine.tell(machine, &words)?;
        }
        for container in &plan.connect {
            engine.tell(machine, &["network", "connect", name, sound(container)?])?;
        }
        Ok(())
    }
}

fn names(all: &[String]) -> Value {
    Value::List(all.iter().map(|name| name.as_str().into()).collect())
}

/// The containers in a network.
fn members(machine: &dyn Probe, engine: &Engine, name: &str) -> Result<Vec<String>> {
    let filter = format!("--filter=network={name}");
    let printed = engine.ask(machine, &["ps", "--all", &filter, "--format={{.Names}}"])?;
    Ok(printed.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn remove(machine: &dyn System, engine: &Engine, name: &str, members: &[String]) -> Result<()> {
    for container in members {
        engine.tell(machine, &["network", "disconnect", "--force", name, container])?;
    }
    engine.tell(machine, &["network", "rm", name]).map(drop)
}

/// Makes sure that a network is not there.
///
/// ```yaml
/// back:
///   docker_network.absent
/// ```
#[state("docker_network.absent")]
pub struct Absent {
    /// The network's name.
    name: String,
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        sql::or_bad(self.look(machine))?.into_plan()
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let (engine, members, done): (Engine, Vec<String>, Verdict) = plan.into_own()?;
        match remove(machine, &engine, &self.name, &members) {
            Ok(()) => Ok(done),
            Err(error) => Ok(Verdict::bad(format!("Failed to remove network '{}': {error}", self.name))),
        }
    }
}

impl Absent {
    fn look(&self, machine: &dyn Probe) -> Result<Decision<(Engine, Vec<String>, Verdict)>> {
        let engine = Engine::find(machine)?;
        let name = sound(&self.name)?;
        if engine.inspect(machine, "network", name)?.is_none() {
            return sql::settled(Verdict::good(format!("Network '{name}' already absent")));
        }
        let members = members(machine, &engine, name)?;
        let mut done = Verdict::good(format!("Removed network '{name}'"));
        if !members.is_empty() {
            done = done.change("disconnected", names(&members));
        }
        let done = done.change("removed", true);
        let comment = format!("Network '{name}' will be removed");
        let would = Verdict { result: None, comment, ..done.clone() };
        Ok(Decision::Change((engine, members, done), would))
    }
}
