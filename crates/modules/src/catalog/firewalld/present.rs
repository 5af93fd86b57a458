//! `firewalld.present`: a zone with its settings.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict, change, iptables};
use super::ask::{PortForward, ask, lines, plain, program, rich, words};
use crate::catalog::Plan;
use crate::machine::Probe;
use crate::{Error, Result};

/// Makes sure that there is a zone, with ports, services, addresses and rules. Settings are permanent, and loaded at
/// once.
///
/// ```yaml
/// public:
///   firewalld.present:
///     - services: [http, https]
///     - ports: [8080/tcp]
///     - prune_services: True
/// ```
#[state("firewalld.present", strict)]
pub struct Present {
    /// The zone.
    name: String,
    /// Kinds of ICMP that are blocked.
    block_icmp: Vec<String>,
    /// Let pass those that are not named.
    prune_block_icmp: Flag,
    /// Make it the default zone.
    default: Flag,
    /// Hide the addresses behind it, or don't.
    masquerade: Value,
    /// Ports that are open: `80/tcp`.
    ports: Vec<String>,
    /// Close those that are not named.
    prune_ports: Flag,
    /// Ports that are sent elsewhere: `80:8080:tcp`, `22:22:tcp:192.0.2.1`.
    port_fwd: Vec<String>,
    /// Stop sending those that are not named.
    prune_port_fwd: Flag,
    /// Services that are open.
    services: Vec<String>,
    /// Close those that are not named.
    prune_services: Flag,
    /// Interfaces that belong to it.
    interfaces: Vec<String>,
    /// Take away those that are not named.
    prune_interfaces: Flag,
    /// Addresses that belong to it.
    sources: Vec<String>,
    /// Take away those that are not named.
    prune_sources: Flag,
    /// Rules in the daemon's own language.
    rich_rules: Vec<String>,
    /// Take away those that are not given.
    prune_rich_rules: Flag,
}

/// A setting of a zone with several values.
struct ZoneList<'a> {
    key: &'a str,
    /// The suffix of `--list-…`, and the rest of `--add-…` and `--remove-…`.
    list: &'a str,
    option: &'a str,
    wanted: Vec<String>,
    prune: bool,
    /// One value per line, which may contain blanks.
    whole_lines: bool,
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        plain(&self.name)?;
        let kinds = self.kinds()?;
        match self.look(machine, &kinds) {
            Ok(decision) => Ok(decision),
            Err(error) => Ok(Decision::Settled(Verdict::bad(format!("Error: {error}")))),
        }
    }

    fn touches(&self) -> Touches {
        iptables::touches().writes(Thing::Path("/etc/firewalld".into())).writes(Thing::Service("firewalld".into()))
    }
}

impl Present {
    fn kinds(&self) -> Result<Vec<ZoneList<'_>>> {
        let kind = |key, list, option, wanted: &[String], prune: Flag| ZoneList {
            key,
            list,
            option,
            wanted: wanted.to_vec(),
            prune: prune.0,
            whole_lines: false,
        };
        let forwards: Result<Vec<String>> =
            self.port_fwd.iter().map(|text| Ok(PortForward::parse(text)?.option())).collect();
        let rules: Vec<String> = self.rich_rules.iter().map(|rule| rich(rule)).collect();
        Ok(vec![
            kind("icmp_types", "icmp-blocks", "icmp-block", &self.block_icmp, self.prune_block_icmp),
            kind("ports", "ports", "port", &self.ports, self.prune_ports),
            ZoneList {
                whole_lines: true,
                ..kind("port_fwd", "forward-ports", "forward-port", &forwards?, self.prune_port_fwd)
            },
            kind("services", "services", "service", &self.services, self.prune_services),
            kind("interfaces", "interfaces", "interface", &self.interfaces, self.prune_interfaces),
            kind("sources", "sources", "source", &self.sources, self.prune_sources),
            ZoneList {
                whole_lines: true,
                ..kind("rich_rules", "rich-rules", "rich-rule", &rules, self.prune_rich_rules)
            },
        ])
    }

    fn look(&self, machine: &dyn Probe, kinds: &[ZoneList<'_>]) -> Result<Decision> {
        let name = &self.name;
        let program = program(machine)?;
        let zone = format!("--zone={name}");
        let zones = words(&ask(machine, &["--permanent", "--get-zones"])?);
        let is_new = !zones.contains(name);
        let mut changes = Map::new();
        let mut plan = Plan::new(Verdict::good(format!("'{name}' was configured.")));
        if is_new {
            changes.insert(
                name.as_str(),
                change(Value::List(zones.into_iter().map(Value::from).collect()), name.as_str()),
            );
            plan = plan.run(&[&*program, "--permanent", &format!("--new-zone={name}")]);
        }
        for (index, kind) in kinds.iter().enumerate() {
            // The changes are in Salt's order: blocks, default zone, masquerading, and the rest.
            if index == 1 {
                plan = self.single(machine, plan, &mut changes, is_new, &program)?;
            }
            if kind.wanted.is_empty() && !kind.prune {
                continue;
            }
            if kind.key == "icmp_types" {
                let known = words(&ask(machine, &["--permanent", "--get-icmptypes"])?);
                if let Some(wrong) = kind.wanted.iter().find(|wanted| !known.contains(wanted)) {
                    return Err(Error::failed(format!("{wrong} is an invalid ICMP type")));
                }
            }
            let now = match is_new {
                true => Vec::new(),
                false => {
                    let text = ask(machine, &["--permanent", &zone, &format!("--list-{}", kind.list)])?;
                    if kind.whole_lines { lines(&text) } else { words(&text) }
                }
            };
            let add: Vec<&String> = kind.wanted.iter().filter(|one| !now.contains(one)).collect();
            let remove: Vec<&String> = now.iter().filter(|one| kind.prune && !kind.wanted.contains(one)).collect();
            for (verb, list) in [("add", &add), ("remove", &remove)] {
                for one in list {
                    plan = plan.run(&[&*program, "--permanent", &zone, &format!("--{verb}-{}={one}", kind.option)]);
                }
            }
            if !add.is_empty() || !remove.is_empty() {
                let new: Vec<&String> = match kind.prune {
                    true => kind.wanted.iter().collect(),
                    false => now.iter().chain(add).collect(),
                };
                changes.insert(kind.key, change(shown(kind.key, now.iter()), shown(kind.key, new.into_iter())));
            }
        }
        if changes.is_empty() {
            return Ok(Decision::Settled(Verdict::good(format!("'{name}' is already in the desired state."))));
        }
        plan.done.changes = changes;
        let plan = plan.run(&[&*program, "--reload"]).or(format!("'{name}' could not be configured:"));
        Ok(plan.announced(format!("Configuration for '{name}' will change:")))
    }

    /// The default zone, and masquerading.
    fn single(
        &self,
        machine: &dyn Probe,
        mut plan: Plan,
        changes: &mut Map,
        is_new: bool,
        program: &str,
    ) -> Result<Plan> {
        let name = &self.name;
        let zone = format!("--zone={name}");
        if self.default.0 {
            let now = ask(machine, &["--get-default-zone"])?;
            if now != *name {
                changes.insert("default", change(now, name.as_str()));
                if is_new {
                    // Otherwise the daemon would not know the new zone.
                    plan = plan.run(&[program, "--reload"]);
                }
                plan = plan.run(&[program, &format!("--set-default-zone={name}")]);
            }
        }
        if !self.masquerade.is_null() {
            let query = [program, "--permanent", &zone, "--query-masquerade"];
            let now = !is_new && machine.query(&super::super::tool::command(&query))?.success();
            let wanted = self.masquerade.truth();
            if now != wanted {
                let (verb, text) = match wanted {
                    true => ("--add-masquerade", "Masquerading successfully set."),
                    false => ("--remove-masquerade", "Masquerading successfully disabled."),
                };
                changes.insert("masquerade", change(now, text));
                plan = plan.run(&[program, "--permanent", &zone, verb]);
            }
        }
        Ok(plan)
    }
}

fn shown<'a>(key: &str, list: impl Iterator<Item = &'a String>) -> Value {
    let one = |text: &String| match PortForward::read(text).filter(|_| key == "port_fwd") {
        Some(forward) => forward.data(),
        None => text.as_str().into(),
    };
    Value::List(list.map(one).collect())
}
