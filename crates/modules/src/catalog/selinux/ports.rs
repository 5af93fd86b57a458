//! `selinux.port_policy_present` and `port_policy_absent`: the types of ports.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::{Decision, State, Step, Thing, Touches, Verdict, tool};
use crate::catalog::Plan;
use crate::machine::Probe;
use crate::{Error, Result};

/// Sets the type of a port.
///
/// ```yaml
/// tcp/8080:
///   selinux.port_policy_present:
///     - sel_type: http_port_t
/// ```
#[state("selinux.port_policy_present", strict, aggregates, required("sel_type"))]
pub struct Present {
    /// The protocol and the port or ports: `tcp/8080`, `udp/5000-5010`.
    name: String,
    /// The type.
    sel_type: String,
    /// The protocol, if the name is another.
    protocol: Option<String>,
    /// The port or ports, if the name is another.
    port: Option<String>,
    /// The range.
    sel_range: Option<String>,
}

/// Makes sure that a port has no type of its own.
///
/// ```yaml
/// tcp/8080:
///   selinux.port_policy_absent
/// ```
#[state("selinux.port_policy_absent", strict, aggregates)]
pub struct Absent {
    /// The protocol and the port or ports: `tcp/8080`, `udp/5000-5010`.
    name: String,
    /// Only if it has this type.
    sel_type: Option<String>,
    /// The protocol, if the name is another.
    protocol: Option<String>,
    /// The port or ports, if the name is another.
    port: Option<String>,
}

/// The protocol and the ports, from the name or from both arguments.
fn place(name: &str, protocol: Option<&str>, port: Option<&str>) -> Result<(String, String)> {
    let split = |text: &str| {
        let (protocol, port) = text.split_once('/')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let sound = port.split_once('-').map_or(digits(port), |(from, to)| digits(from) && digits(to));
        (["tcp", "udp"].contains(&protocol) && sound).then(|| (protocol.to_owned(), port.to_owned()))
    };
    let (given, number) = (protocol.unwrap_or("None"), port.unwrap_or("None"));
    split(name).or_else(|| split(&format!("{given}/{number}"))).ok_or_else(|| {
        Error::arguments(format!(
            "Invalid name \"{name}\" format and protocol and port not provided or invalid: \"{given}\" \"{number}\"."
        ))
    })
}

/// The entry with exactly these ports: `sel_type`, `protocol` and `port`.
fn find(machine: &dyn Probe, sel_type: Option<&str>, protocol: &str, port: &str) -> Result<Option<Map>> {
    let text = tool::told(machine, &[&tool::find(machine, "semanage")?, "port", "--list"])?;
    Ok(text.lines().find_map(|line| {
        let (kind, rest) = line.split_once(char::is_whitespace)?;
        let (of, ports) = rest.trim_start().split_once(char::is_whitespace)?;
        let named = ports.split(',').any(|known| known.trim() == port);
        let right = of == protocol && named && sel_type.is_none_or(|wanted| wanted == kind);
        right.then(|| {
            [("sel_type", kind), ("protocol", of), ("port", ports.trim())]
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect()
        })
    }))
}

impl State for Present {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Present { name, sel_type, .. } = self;
        let (protocol, port) = place(name, self.protocol.as_deref(), self.port.as_deref())?;
        if find(machine, Some(sel_type), &protocol, &port)?.is_some() {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "None".into());
            return Ok(Decision::Settled(Verdict::good(format!(
                "SELinux policy for \"{name}\" already present with specified sel_type \"{sel_type}\", protocol \"{}\" \
                 and port \"{}\".",
                shown(&self.protocol),
                shown(&self.port)
            ))));
        }
        let old = find(machine, None, &protocol, &port)?;
        let action = if old.is_some() { "--modify" } else { "--add" };
        let semanage = tool::find(machine, "semanage")?;
        let mut argv = vec![&*semanage, "port", action, "--proto", &protocol, "--type", sel_type];
        if let Some(range) = &self.sel_range {
            argv.extend(["--range", range]);
        }
        argv.push(&port);
        let new: Map = [("sel_type", sel_type.as_str()), ("protocol", &protocol), ("port", &port)]
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        let done = Verdict::good("").change("old", old.map_or(Value::Null, Value::from)).change("new", new);
        Ok(Plan::new(done).run(&argv).or("Error adding new policy:").announced(""))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

impl State for Absent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let (protocol, port) = place(&self.name, self.protocol.as_deref(), self.port.as_deref())?;
        let Some(old) = find(machine, self.sel_type.as_deref(), &protocol, &port)? else {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "None".into());
            return Ok(Decision::Settled(Verdict::good(format!(
                "SELinux policy for \"{}\" already absent with specified sel_type \"{}\", protocol \"{}\" and port \"{}\".",
                self.name,
                shown(&self.sel_type),
                shown(&self.protocol),
                shown(&self.port)
            ))));
        };
        let done = Verdict::good("").change("old", old).change("new", Value::Null);
        let argv = [&*tool::find(machine, "semanage")?, "port", "--delete", "--proto", &protocol, &port];
        Ok(Plan::new(done).run(&argv).or("Error deleting policy:").announced(""))
    }

    fn touches(&self) -> Touches {
        touches()
    }
}

fn touches() -> Touches {
    Touches::nothing().writes(Thing::Path("/etc/selinux".into())).writes(Thing::Path("/var/lib/selinux".into()))
}
