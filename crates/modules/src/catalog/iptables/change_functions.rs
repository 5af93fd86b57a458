//! `iptables`' functions that change rules or chains.

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::super::{Function, tool};
use super::rule::IptablesRule;
use super::rules::{self, known_family, plain_words};
use super::{program, saved};
use crate::machine::System;
use crate::{Error, Result};

/// Runs the program, which prints nothing on success.
fn act(machine: &dyn System, family: &str, words: &[&str]) -> Result<()> {
    known_family(family)?;
    let program = program(machine, family)?;
    let argv: Vec<&str> = [program.as_str(), "--wait"].into_iter().chain(words.iter().copied()).collect();
    tool::done(machine, &argv).map(drop)
}

/// Sets the policy of a chain.
///
/// ```text
/// rocksalt '*' iptables.set_policy filter INPUT ACCEPT
/// ```
#[function("iptables.set_policy", changes)]
pub struct SetPolicy {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ACCEPT` or `DROP`.
    policy: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for SetPolicy {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        plain_words(&[&self.table, &self.chain, &self.policy])?;
        act(machine, &self.family, &["-t", &self.table, "-P", &self.chain, &self.policy]).map(|()| "")
    }
}

/// Writes the rules that are in force to the file that is loaded at boot.
///
/// ```text
/// rocksalt '*' iptables.save /etc/sysconfig/iptables
/// ```
#[function("iptables.save", changes)]
pub struct Save {
    /// The file, if it is not the system's own.
    filename: Option<String>,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for Save {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let path = saved::path(machine, self.filename.as_deref(), &self.family)?;
        saved::save(machine, &path, &self.family)
    }
}

/// Creates a chain.
///
/// ```text
/// rocksalt '*' iptables.new_chain filter LOGGING
/// ```
#[function("iptables.new_chain", changes)]
pub struct NewChain {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for NewChain {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        plain_words(&[&self.table, &self.chain])?;
        act(machine, &self.family, &["-t", &self.table, "-N", &self.chain]).map(|()| true)
    }
}

/// Removes a chain that has no rules.
///
/// ```text
/// rocksalt '*' iptables.delete_chain filter LOGGING
/// ```
#[function("iptables.delete_chain", changes)]
pub struct DeleteChain {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for DeleteChain {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        plain_words(&[&self.table, &self.chain])?;
        act(machine, &self.family, &["-t", &self.table, "-X", &self.chain]).map(|()| true)
    }
}

/// Appends a rule to a chain; `False` if the chain has it already.
///
/// ```text
/// rocksalt '*' iptables.append filter INPUT rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
/// ```
#[function("iptables.append", changes)]
pub struct Append {
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

impl Function for Append {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let Append { table, chain, rule, family } = self;
        plain_words(&[&table, &chain])?;
        let rule = IptablesRule::parse(&rule)?;
        if rules::check(machine, &program(machine, &family)?, &table, &chain, &rule)? {
            return Ok(false);
        }
        let words: Vec<&str> =
            ["-t", &table, "-A", &chain].into_iter().chain(rule.words.iter().map(String::as_str)).collect();
        act(machine, &family, &words).map(|()| true)
    }
}

/// Inserts a rule at a position in a chain; `False` if the chain has it already.
///
/// ```text
/// rocksalt '*' iptables.insert filter INPUT position=3 rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
/// ```
#[function("iptables.insert", changes)]
pub struct Insert {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The position; negative ones count from the end.
    position: i64,
    /// The rule, in the program's own syntax.
    rule: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for Insert {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let Insert { table, chain, position, rule, family } = self;
        plain_words(&[&table, &chain])?;
        if position == 0 {
            return Err(Error::arguments("Error: Position needs to be specified or use append (-A)"));
        }
        let rule = IptablesRule::parse(&rule)?;
        if rules::check(machine, &program(machine, &family)?, &table, &chain, &rule)? {
            return Ok(Value::Bool(false));
        }
        let place = if position < 0 { rules::from_end(machine, &family, &table, &chain, position)? } else { position };
        let place = place.to_string();
        let words: Vec<&str> =
            ["-t", &table, "-I", &chain, &place].into_iter().chain(rule.words.iter().map(String::as_str)).collect();
        act(machine, &family, &words).map(|()| "".into())
    }
}

/// Removes a rule from a chain, given by its text or by its position.
///
/// ```text
/// rocksalt '*' iptables.delete filter INPUT position=3
/// rocksalt '*' iptables.delete filter INPUT rule='-m state --state RELATED,ESTABLISHED -j ACCEPT'
/// ```
#[function("iptables.delete", changes)]
pub struct Delete {
    /// The table.
    table: String,
    /// The chain.
    chain: String,
    /// The place.
    position: Option<u32>,
    /// The rule, in the program's own syntax.
    rule: Option<String>,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for Delete {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        plain_words(&[&self.table, &self.chain])?;
        let rest = match (self.position, self.rule) {
            (Some(position), None) => vec![position.to_string()],
            (None, Some(rule)) => IptablesRule::parse(&rule)?.words,
            _ => return Err(Error::arguments("Error: Only specify a position or a rule, not both")),
        };
        let words: Vec<&str> =
            ["-t", &self.table, "-D", &self.chain].into_iter().chain(rest.iter().map(String::as_str)).collect();
        act(machine, &self.family, &words).map(|()| "")
    }
}

/// Removes all rules from a chain, or from all chains of a table.
///
/// ```text
/// rocksalt '*' iptables.flush filter INPUT
/// ```
#[function("iptables.flush", changes)]
pub struct Flush {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain; all of them by default.
    #[default]
    chain: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl Function for Flush {
    type Output = &'static str;

    fn call(self, machine: &dyn System) -> Result<&'static str> {
        plain_words(&[&self.table])?;
        let words = ["-t", &self.table, "-F", &self.chain];
        act(machine, &self.family, if self.chain.is_empty() { &words[..3] } else { &words }).map(|()| "")
    }
}
