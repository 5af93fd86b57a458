//! `firewalld`'s functions.

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::super::file::Flag;
use super::super::{Function, tool};
use super::ask::{self, Forward, ask, lines, plain, rich, words};
use crate::Result;
use crate::machine::System;

/// The options that say where: for good or for now, and in which zone.
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

/// Looks.
fn show(machine: &dyn System, mut options: Vec<String>, last: &str) -> Result<String> {
    options.push(last.to_owned());
    ask(machine, &options.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Changes; the answer is `success`.
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Version {}

impl Function for Version {
    const NAME: &'static str = "firewalld.version";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        ask(machine, &["--version"])
    }
}

/// Loads the permanent settings.
///
/// ```text
/// rocksalt '*' firewalld.reload_rules
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ReloadRules {}

impl Function for ReloadRules {
    const NAME: &'static str = "firewalld.reload_rules";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        act(machine, Vec::new(), "--reload".into())
    }
}

/// Keeps the settings of this moment.
///
/// ```text
/// rocksalt '*' firewalld.make_permanent
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct MakePermanent {}

impl Function for MakePermanent {
    const NAME: &'static str = "firewalld.make_permanent";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct DefaultZone {}

impl Function for DefaultZone {
    const NAME: &'static str = "firewalld.default_zone";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct SetDefaultZone {
    /// The zone.
    zone: String,
}

impl Function for SetDefaultZone {
    const NAME: &'static str = "firewalld.set_default_zone";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetZones {
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for GetZones {
    const NAME: &'static str = "firewalld.get_zones";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(words(&show(machine, at(None, self.permanent)?, "--get-zones")?))
    }
}

/// The services that are known.
///
/// ```text
/// rocksalt '*' firewalld.get_services
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetServices {
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for GetServices {
    const NAME: &'static str = "firewalld.get_services";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(words(&show(machine, at(None, self.permanent)?, "--get-services")?))
    }
}

/// Makes a zone.
///
/// ```text
/// rocksalt '*' firewalld.new_zone my_zone
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct NewZone {
    /// The zone.
    zone: String,
    /// Load the new settings.
    #[serde(default = "Flag::yes")]
    restart: Flag,
}

impl Function for NewZone {
    const NAME: &'static str = "firewalld.new_zone";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct DeleteZone {
    /// The zone.
    zone: String,
    /// Load the new settings.
    #[serde(default = "Flag::yes")]
    restart: Flag,
}

impl Function for DeleteZone {
    const NAME: &'static str = "firewalld.delete_zone";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListAll {
    /// The zone; the default one unless told.
    #[serde(default)]
    zone: Option<String>,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for ListAll {
    const NAME: &'static str = "firewalld.list_all";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListServices {
    /// The zone; the default one unless told.
    #[serde(default)]
    zone: Option<String>,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for ListServices {
    const NAME: &'static str = "firewalld.list_services";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct AddService {
    /// The service.
    service: String,
    /// The zone; the default one unless told.
    #[serde(default)]
    zone: Option<String>,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for AddService {
    const NAME: &'static str = "firewalld.add_service";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct RemoveService {
    /// The service.
    service: String,
    /// The zone; the default one unless told.
    #[serde(default)]
    zone: Option<String>,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for RemoveService {
    const NAME: &'static str = "firewalld.remove_service";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListPorts {
    /// The zone.
    zone: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for ListPorts {
    const NAME: &'static str = "firewalld.list_ports";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct AddPort {
    /// The zone.
    zone: String,
    /// The port, with its protocol.
    port: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for AddPort {
    const NAME: &'static str = "firewalld.add_port";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct RemovePort {
    /// The zone.
    zone: String,
    /// The port, with its protocol.
    port: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for RemovePort {
    const NAME: &'static str = "firewalld.remove_port";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        plain(&self.port)?;
        act(machine, at(Some(&self.zone), self.permanent)?, format!("--remove-port={}", self.port))
    }
}

/// The ports of a zone that are sent elsewhere.
///
/// ```text
/// rocksalt '*' firewalld.list_port_fwd public
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListPortFwd {
    /// The zone.
    zone: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for ListPortFwd {
    const NAME: &'static str = "firewalld.list_port_fwd";
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let text = show(machine, at(Some(&self.zone), self.permanent)?, "--list-forward-ports")?;
        Ok(lines(&text).iter().filter_map(|line| Forward::read(line)).map(|forward| forward.data()).collect())
    }
}

/// Sends a port elsewhere.
///
/// ```text
/// rocksalt '*' firewalld.add_port_fwd public 80 443 tcp
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct AddPortFwd {
    /// The zone.
    zone: String,
    /// The port that is sent.
    src: String,
    /// The port it is sent to.
    dest: String,
    /// The protocol.
    #[serde(default = "tcp")]
    proto: String,
    /// The address it is sent to, if it is another machine.
    #[serde(default)]
    dstaddr: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for AddPortFwd {
    const NAME: &'static str = "firewalld.add_port_fwd";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let AddPortFwd { zone, src, dest, proto, dstaddr, permanent } = self;
        let forward = Forward { source: src, destination: dest, protocol: proto, address: dstaddr };
        act(machine, at(Some(&zone), permanent)?, format!("--add-forward-port={}", forward.option()))
    }
}

/// Stops sending a port elsewhere.
///
/// ```text
/// rocksalt '*' firewalld.remove_port_fwd public 80 443 tcp
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct RemovePortFwd {
    /// The zone.
    zone: String,
    /// The port that is sent.
    src: String,
    /// The port it is sent to.
    dest: String,
    /// The protocol.
    #[serde(default = "tcp")]
    proto: String,
    /// The address it is sent to, if it is another machine.
    #[serde(default)]
    dstaddr: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for RemovePortFwd {
    const NAME: &'static str = "firewalld.remove_port_fwd";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let RemovePortFwd { zone, src, dest, proto, dstaddr, permanent } = self;
        let forward = Forward { source: src, destination: dest, protocol: proto, address: dstaddr };
        act(machine, at(Some(&zone), permanent)?, format!("--remove-forward-port={}", forward.option()))
    }
}

fn tcp() -> String {
    "tcp".to_owned()
}

/// The rules of a zone in the daemon's own language.
///
/// ```text
/// rocksalt '*' firewalld.get_rich_rules public
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetRichRules {
    /// The zone.
    zone: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for GetRichRules {
    const NAME: &'static str = "firewalld.get_rich_rules";
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        Ok(lines(&show(machine, at(Some(&self.zone), self.permanent)?, "--list-rich-rules")?))
    }
}

/// Adds a rule to a zone.
///
/// ```text
/// rocksalt '*' firewalld.add_rich_rule public 'rule family=ipv4 source address=192.0.2.7 accept'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct AddRichRule {
    /// The zone.
    zone: String,
    /// The rule.
    rule: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for AddRichRule {
    const NAME: &'static str = "firewalld.add_rich_rule";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        act(machine, at(Some(&self.zone), self.permanent)?, format!("--add-rich-rule={}", rich(&self.rule)))
    }
}

/// Takes a rule from a zone.
///
/// ```text
/// rocksalt '*' firewalld.remove_rich_rule public 'rule family=ipv4 source address=192.0.2.7 accept'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct RemoveRichRule {
    /// The zone.
    zone: String,
    /// The rule.
    rule: String,
    /// The settings that stay; else those of this moment.
    #[serde(default = "Flag::yes")]
    permanent: Flag,
}

impl Function for RemoveRichRule {
    const NAME: &'static str = "firewalld.remove_rich_rule";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        act(machine, at(Some(&self.zone), self.permanent)?, format!("--remove-rich-rule={}", rich(&self.rule)))
    }
}
