//! `firewalld`'s functions.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::file::Flag;
use super::super::{Function, tool};
use super::ask::{self, PortForward, ask, lines, plain, rich, words};
use crate::Result;
use crate::machine::System;

/// The options for zone and permanence.
fn at(zone: Option<&str>, permanent: Flag) -> Result<Vec<String>> {
    let mut options = Vec::new();
    if permanent.0 {
        options.push("--permanent".to_owned());
    }
    if let Some(zone) = zone {
        plain(zone)?;
        options.push(format!("--zone={zone}"));
    }
    Ok(options)
}

/// Runs a command that reads.
fn show(machine: &dyn System, mut options: Vec<String>, last: &str) -> Result<String> {
    options.push(last.to_owned());
    ask(machine, &options.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs a command that changes something; its output is `success`.
fn act(machine: &dyn System, options: Vec<String>, last: String) -> Result<String> {
    let mut argv = vec![ask::program(machine)?];
    argv.extend(options);
    argv.push(last);
    Ok(tool::done(machine, &argv)?.trim_end().to_owned())
}

/// The version of the daemon.
///
/// ```text
/// rocksalt '*' firewalld.version
/// ```
#[function("firewalld.version", reads)]
pub struct Version {}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        ask(machine, &["--version"])
    }
}

/// Reloads the permanent settings.
///
/// ```text
/// rocksalt '*' firewalld.reload_rules
/// ```
#[function("firewalld.reload_rules", changes)]
pub struct ReloadRules {}

impl Function for ReloadRules {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        act(machine, Vec::new(), "--reload".into())
    }
}

/// Makes the runtime settings permanent.
///
/// ```text
/// rocksalt '*' firewalld.make_permanent
/// ```
#[function("firewalld.make_permanent", changes)]
pub struct MakePermanent {}

impl Function for MakePermanent {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        act(machine, Vec::new(), "--runtime-to-permanent".into())
    }
}

/// The zone of interfaces that have no other.
///
/// ```text
/// rocksalt '*' firewalld.default_zone
/// ```
#[function("firewalld.default_zone", reads)]
pub struct DefaultZone {}

impl Function for DefaultZone {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        ask(machine, &["--get-default-zone"])
    }
}

/// Sets the zone of interfaces that have no other.
///
/// ```text
/// rocksalt '*' firewalld.set_default_zone dmz
/// ```
#[function("firewalld.set_default_zone", changes)]
pub struct SetDefaultZone {
    /// The zone.
    zone: String,
}

impl Function for SetDefaultZone {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.zone)?;
        act(machine, Vec::new(), format!("--set-default-zone={}", self.zone))
    }
}

/// The zones.
///
/// ```text
/// rocksalt '*' firewalld.get_zones
/// ```
#[function("firewalld.get_zones", reads)]
pub struct GetZones {
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for GetZones {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(words(&show(machine, at(None, self.permanent)?, "--get-zones")?))
    }
}

/// The known services.
///
/// ```text
/// rocksalt '*' firewalld.get_services
/// ```
#[function("firewalld.get_services", reads)]
pub struct GetServices {
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for GetServices {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(words(&show(machine, at(None, self.permanent)?, "--get-services")?))
    }
}

/// Creates a zone.
///
/// ```text
/// rocksalt '*' firewalld.new_zone my_zone
/// ```
#[function("firewalld.new_zone", changes)]
pub struct NewZone {
    /// The zone.
    zone: String,
    /// Load the new settings.
    #[default(true)]
    restart: Flag,
}

impl Function for NewZone {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.zone)?;
        let said = act(machine, vec!["--permanent".into()], format!("--new-zone={}", self.zone))?;
        if self.restart.0 { act(machine, Vec::new(), "--reload".into()) } else { Ok(said) }
    }
}

/// Removes a zone.
///
/// ```text
/// rocksalt '*' firewalld.delete_zone my_zone
/// ```
#[function("firewalld.delete_zone", changes)]
pub struct DeleteZone {
    /// The zone.
    zone: String,
    /// Load the new settings.
    #[default(true)]
    restart: Flag,
}

impl Function for DeleteZone {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.zone)?;
        let said = act(machine, vec!["--permanent".into()], format!("--delete-zone={}", self.zone))?;
        if self.restart.0 { act(machine, Vec::new(), "--reload".into()) } else { Ok(said) }
    }
}

/// All settings of a zone.
///
/// ```text
/// rocksalt '*' firewalld.list_all
/// rocksalt '*' firewalld.list_all my_zone
/// ```
#[function("firewalld.list_all", reads)]
pub struct ListAll {
    /// The zone; the default zone if not given.
    zone: Option<String>,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for ListAll {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(ask::zones(&show(machine, at(self.zone.as_deref(), self.permanent)?, "--list-all")?))
    }
}

/// The services that are open in a zone.
///
/// ```text
/// rocksalt '*' firewalld.list_services my_zone
/// ```
#[function("firewalld.list_services", reads)]
pub struct ListServices {
    /// The zone; the default zone if not given.
    zone: Option<String>,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for ListServices {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(words(&show(machine, at(self.zone.as_deref(), self.permanent)?, "--list-services")?))
    }
}

/// Opens a service in a zone.
///
/// ```text
/// rocksalt '*' firewalld.add_service ssh my_zone
/// ```
#[function("firewalld.add_service", changes)]
pub struct AddService {
    /// The service.
    service: String,
    /// The zone; the default zone if not given.
    zone: Option<String>,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for AddService {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.service)?;
        act(machine, at(self.zone.as_deref(), self.permanent)?, format!("--add-service={}", self.service))
    }
}

/// Closes a service in a zone.
///
/// ```text
/// rocksalt '*' firewalld.remove_service ssh my_zone
/// ```
#[function("firewalld.remove_service", changes)]
pub struct RemoveService {
    /// The service.
    service: String,
    /// The zone; the default zone if not given.
    zone: Option<String>,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for RemoveService {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.service)?;
        act(machine, at(self.zone.as_deref(), self.permanent)?, format!("--remove-service={}", self.service))
    }
}

/// The ports that are open in a zone.
///
/// ```text
/// rocksalt '*' firewalld.list_ports internal
/// ```
#[function("firewalld.list_ports", reads)]
pub struct ListPorts {
    /// The zone.
    zone: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for ListPorts {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(words(&show(machine, at(Some(&self.zone), self.permanent)?, "--list-ports")?))
    }
}

/// Opens a port in a zone.
///
/// ```text
/// rocksalt '*' firewalld.add_port internal 443/tcp
/// ```
#[function("firewalld.add_port", changes)]
pub struct AddPort {
    /// The zone.
    zone: String,
    /// The port, with its protocol.
    port: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for AddPort {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.port)?;
        act(machine, at(Some(&self.zone), self.permanent)?, format!("--add-port={}", self.port))
    }
}

/// Closes a port in a zone.
///
/// ```text
/// rocksalt '*' firewalld.remove_port internal 443/tcp
/// ```
#[function("firewalld.remove_port", changes)]
pub struct RemovePort {
    /// The zone.
    zone: String,
    /// The port, with its protocol.
    port: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for RemovePort {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.port)?;
        act(machine, at(Some(&self.zone), self.permanent)?, format!("--remove-port={}", self.port))
    }
}

/// The port forwardings of a zone.
///
/// ```text
/// rocksalt '*' firewalld.list_port_fwd public
/// ```
#[function("firewalld.list_port_fwd", reads)]
pub struct ListPortFwd {
    /// The zone.
    zone: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for ListPortFwd {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let text = show(machine, at(Some(&self.zone), self.permanent)?, "--list-forward-ports")?;
        Ok(lines(&text).iter().filter_map(|line| PortForward::read(line)).map(|forward| forward.data()).collect())
    }
}

/// Adds a port forwarding.
///
/// ```text
/// rocksalt '*' firewalld.add_port_fwd public 80 443 tcp
/// ```
#[function("firewalld.add_port_fwd", changes)]
pub struct AddPortFwd {
    /// The zone.
    zone: String,
    /// The source port.
    src: String,
    /// The destination port.
    dest: String,
    /// The protocol.
    #[default("tcp")]
    proto: String,
    /// The destination address, if it is another machine.
    #[default]
    dstaddr: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for AddPortFwd {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let AddPortFwd { zone, src, dest, proto, dstaddr, permanent } = self;
        let forward = PortForward { source: src, destination: dest, protocol: proto, address: dstaddr };
        act(machine, at(Some(&zone), permanent)?, format!("--add-forward-port={}", forward.option()))
    }
}

/// Removes a port forwarding.
///
/// ```text
/// rocksalt '*' firewalld.remove_port_fwd public 80 443 tcp
/// ```
#[function("firewalld.remove_port_fwd", changes)]
pub struct RemovePortFwd {
    /// The zone.
    zone: String,
    /// The source port.
    src: String,
    /// The destination port.
    dest: String,
    /// The protocol.
    #[default("tcp")]
    proto: String,
    /// The destination address, if it is another machine.
    #[default]
    dstaddr: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for RemovePortFwd {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let RemovePortFwd { zone, src, dest, proto, dstaddr, permanent } = self;
        let forward = PortForward { source: src, destination: dest, protocol: proto, address: dstaddr };
        act(machine, at(Some(&zone), permanent)?, format!("--remove-forward-port={}", forward.option()))
    }
}

/// The rich rules of a zone.
///
/// ```text
/// rocksalt '*' firewalld.get_rich_rules public
/// ```
#[function("firewalld.get_rich_rules", reads)]
pub struct GetRichRules {
    /// The zone.
    zone: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for GetRichRules {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(lines(&show(machine, at(Some(&self.zone), self.permanent)?, "--list-rich-rules")?))
    }
}

/// Adds a rich rule to a zone.
///
/// ```text
/// rocksalt '*' firewalld.add_rich_rule public 'rule family=ipv4 source address=192.0.2.7 accept'
/// ```
#[function("firewalld.add_rich_rule", changes)]
pub struct AddRichRule {
    /// The zone.
    zone: String,
    /// The rule.
    rule: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for AddRichRule {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        act(machine, at(Some(&self.zone), self.permanent)?, format!("--add-rich-rule={}", rich(&self.rule)))
    }
}

/// Removes a rule from a zone.
///
/// ```text
/// rocksalt '*' firewalld.remove_rich_rule public 'rule family=ipv4 source address=192.0.2.7 accept'
/// ```
#[function("firewalld.remove_rich_rule", changes)]
pub struct RemoveRichRule {
    /// The zone.
    zone: String,
    /// The rule.
    rule: String,
    /// The permanent settings; otherwise the runtime ones.
    #[default(true)]
    permanent: Flag,
}

impl Function for RemoveRichRule {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        act(machine, at(Some(&self.zone), self.permanent)?, format!("--remove-rich-rule={}", rich(&self.rule)))
    }
}
