//! `firewalld.service`: the ports and protocols of a service.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::{Decision, State, Step, Thing, Touches, Verdict, iptables};
use super::ask::{ask, plain, program, words};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::Probe;

/// Makes sure that there is a service, with exactly these ports and protocols.
///
/// ```yaml
/// app:
///   firewalld.service:
///     - ports: [8080/tcp, 8443/tcp]
/// ```
#[state("firewalld.service", strict)]
pub struct Service {
    /// The service.
    name: String,
    /// Its ports: `80/tcp`.
    ports: Vec<String>,
    /// Its protocols.
    protocols: Vec<String>,
}

impl State for Service {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        plain(&self.name)?;
        match self.look(machine) {
            Ok(decision) => Ok(decision),
            Err(error) => Ok(Decision::Settled(Verdict::bad(format!("Error: {error}")))),
        }
    }

    fn touches(&self) -> Touches {
        iptables::touches().writes(Thing::Path("/etc/firewalld".into())).writes(Thing::Service("firewalld".into()))
    }
}

impl Service {
    fn look(&self, machine: &dyn Probe) -> Result<Decision> {
        let name = &self.name;
        let program = program(machine)?;
        let service = format!("--service={name}");
        let is_new = !words(&ask(machine, &["--permanent", "--get-services"])?).contains(name);
        let mut plan = Plan::new(Verdict::good(format!("'{name}' was configured.")));
        if is_new {
            plan.done.changes.insert("service", name.as_str());
            plan = plan.run(&[&*program, "--permanent", &format!("--new-service={name}")]);
        }
        for (key, option, wanted) in [("ports", "port", &self.ports), ("protocols", "protocol", &self.protocols)] {
            let now = match is_new {
                true => Vec::new(),
                false => words(&ask(machine, &["--permanent", &service, &format!("--get-{key}")])?),
            };
            let add = wanted.iter().filter(|one| !now.contains(one)).map(|one| ("add", one));
            let remove = now.iter().filter(|one| !wanted.contains(one)).map(|one| ("remove", one));
            let all: Vec<(&str, &String)> = add.chain(remove).collect();
            if all.is_empty() {
                continue;
            }
            for (verb, one) in &all {
                plan = plan.run(&[&*program, "--permanent", &service, &format!("--{verb}-{option}={one}")]);
            }
            let list = |all: &[String]| Value::List(all.iter().map(|one| one.as_str().into()).collect());
            let change: Map = [("old".into(), list(&now)), ("new".into(), list(wanted))].into_iter().collect();
            plan.done.changes.insert(key, change);
        }
        if plan.done.changes.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("'{name}' is already in the desired state."))));
        }
        let plan = plan.run(&[&*program, "--reload"]).or(format!("'{name}' could not be configured:"));
        Ok(plan.announced(format!("Configuration for '{name}' will change.")))
    }
}
