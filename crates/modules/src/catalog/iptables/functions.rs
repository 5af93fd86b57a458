//! `iptables`' functions that only read.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::{Function, tool};
use super::rule::IptablesRule;
use super::rules::{self, plain_words};
use super::{program, saved, tables};
use crate::grains::look;
use crate::machine::System;
use crate::{Error, Result};

/// The version of the program.
///
/// ```text
/// rocksalt '*' iptables.version
/// rocksalt '*' iptables.version family=ipv6
/// ```
#[function("iptables.version", reads)]
pub struct Version {
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let text = tool::told(machine, &[&program(machine, &self.family)?, "--version"])?;
        Ok(text.split_whitespace().nth(1).unwrap_or_default().to_owned())
    }
}

/// A rule as a text, built from the same arguments that the states take.
///
/// ```text
/// rocksalt '*' iptables.build_rule match=state connstate=RELATED,ESTABLISHED jump=ACCEPT
/// rocksalt '*' iptables.build_rule filter INPUT command=I position=3 full=True proto=tcp dport=22 jump=ACCEPT
/// ```
#[function("iptables.build_rule", reads)]
pub struct BuildRule {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: Option<String>,
    /// What to do with it: `A`, `I`, `D`.
    command: Option<String>,
    /// The place in the chain.
    position: Value,
    /// The whole command, not only the rule.
    full: Value,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
    /// The rule.
    kwargs: Map,
}

impl Function for BuildRule {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let rule = IptablesRule::build(&self.kwargs)?;
        if !self.full.truth() {
            return Ok(rule.text);
        }
        let needed = |value: Option<String>, name: &str| {
            value
                .filter(|value| !value.is_empty())
                .ok_or_else(|| Error::arguments(format!("Error: {name} needs to be specified")))
        };
        let (chain, command) = (needed(self.chain, "Chain")?, needed(self.command, "Command")?);
        let position = if self.position.is_null() { String::new() } else { self.position.to_string() };
        Ok(rule.command(&program(machine, &self.family)?, &self.table, &command, &chain, &position))
    }
}

/// The rules that are in force, by table and chain.
///
/// ```text
/// rocksalt '*' iptables.get_rules
/// ```
#[function("iptables.get_rules", reads)]
pub struct GetRules {
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetRules {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        tables::parse(&tables::now(machine, &self.family)?)
    }
}

/// The rules of the file that is loaded at boot, by table and chain.
///
/// ```text
/// rocksalt '*' iptables.get_saved_rules
/// ```
#[function("iptables.get_saved_rules", reads)]
pub struct GetSavedRules {
    /// The file, if it is not the system's own.
    conf_file: Option<String>,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetSavedRules {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        tables::parse(&saved_text(machine, self.conf_file.as_deref(), &self.family)?)
    }
}

fn saved_text(machine: &dyn System, given: Option<&str>, family: &str) -> Result<String> {
    let path = saved::path(machine, given, family)?;
    look::text(machine, &path).ok_or_else(|| Error::failed(format!("there are no saved rules in {path}")))
}

/// The policy of a chain; null if there is no such chain.
///
/// ```text
/// rocksalt '*' iptables.get_policy filter INPUT
/// ```
#[function("iptables.get_policy", reads)]
pub struct GetPolicy {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetPolicy {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        plain_words(&[&self.table])?;
        Ok(tables::policy(&tables::of_table(machine, &self.family, &self.table)?, &self.chain))
    }
}

/// The policy of a chain in the file that is loaded at boot.
///
/// ```text
/// rocksalt '*' iptables.get_saved_policy filter INPUT
/// ```
#[function("iptables.get_saved_policy", reads)]
pub struct GetSavedPolicy {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The file, if it is not the system's own.
    conf_file: Option<String>,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetSavedPolicy {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let all = tables::parse(&saved_text(machine, self.conf_file.as_deref(), &self.family)?)?;
        let chain = all.get(&self.table).and_then(Value::as_map).and_then(|table| table.get(&self.chain));
        Ok(chain.and_then(Value::as_map).and_then(|chain| chain.get("policy")).cloned().unwrap_or_default())
    }
}

/// Whether a rule is in a chain.
///
/// ```text
/// rocksalt '*' iptables.check filter INPUT rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
/// ```
#[function("iptables.check", reads)]
pub struct Check {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The rule, in the program's own syntax.
    rule: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for Check {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        plain_words(&[&self.table, &self.chain])?;
        let program = program(machine, &self.family)?;
        rules::check(machine, &program, &self.table, &self.chain, &IptablesRule::parse(&self.rule)?)
    }
}

/// Whether there is a chain.
///
/// ```text
/// rocksalt '*' iptables.check_chain filter INPUT
/// ```
#[function("iptables.check_chain", reads)]
pub struct CheckChain {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for CheckChain {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        plain_words(&[&self.table])?;
        Ok(tables::has_chain(&tables::of_table(machine, &self.family, &self.table)?, &self.chain))
    }
}
