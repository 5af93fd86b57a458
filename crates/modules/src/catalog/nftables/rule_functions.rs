//! `nftables`' functions for single rules.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::super::Function;
use super::functions::{answer, needed};
use super::rules::act;
use super::{family, rule, ruleset};
use crate::Result;
use crate::machine::System;

/// A rule as a text, built from the same arguments that the states take.
///
/// ```text
/// rocksalt '*' nftables.build_rule connstate=established,related jump=accept
/// rocksalt '*' nftables.build_rule filter input command=insert position=3 full=True proto=tcp dport=22 jump=accept
/// ```
#[function("nftables.build_rule", reads)]
pub struct BuildRule {
    /// The table.
    table: Option<String>,
    /// The chain.
    chain: Option<String>,
    /// What to do with it: `add` or `insert`.
    command: Option<String>,
    /// The handle of the rule that it comes before.
    position: Value,
    /// The whole command, not only the rule.
    full: Value,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
    /// The rule.
    kwargs: Map,
}

impl Function for BuildRule {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let rule = rule::build(&self.kwargs, &self.family)?;
        let mut text = rule.clone();
        if self.full.truth() {
            let missing = |what: &str| answer(false, format!("{what} needs to be specified"));
            let Some(table) = self.table else { return Ok(missing("Table")) };
            let Some(chain) = self.chain else { return Ok(missing("Chain")) };
            let Some(command) = self.command else { return Ok(missing("Command")) };
            let insert = command.eq_ignore_ascii_case("insert");
            let command = if insert { "insert" } else { &command };
            let place =
                if insert && self.position.truth() { format!(" position {}", self.position) } else { String::new() };
            text = format!("nft {command} rule {} {table} {chain}{place} {rule}", family(&self.family)?);
        }
        let mut built = answer(true, "Successfully built rule".into());
        built.insert("rule", text);
        Ok(built)
    }
}

/// Whether a rule is in a chain.
///
/// ```text
/// rocksalt '*' nftables.check filter input rule='tcp dport 22 counter accept'
/// ```
#[function("nftables.check", reads)]
pub struct Check {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The rule, in the program's own syntax.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for Check {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Check { table, chain, rule, family: of } = self;
        let text = ruleset::chain(machine, &of, &table, &chain)?.unwrap_or_default();
        let there = ruleset::handle(&text, &rule).is_some();
        let is = if there { "exists" } else { "does not exist" };
        Ok(answer(there, format!("Rule {rule} in chain {chain} in table {table} in family {of} {is}")))
    }
}

/// The handle of a rule.
///
/// ```text
/// rocksalt '*' nftables.get_rule_handle filter input rule='tcp dport 22 accept'
/// ```
#[function("nftables.get_rule_handle", reads)]
pub struct GetRuleHandle {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The rule, in the program's own syntax.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetRuleHandle {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let GetRuleHandle { table, chain, rule, family: of } = self;
        match ruleset::handle(&needed(machine, &of, &table, &chain)?, &rule) {
            Some(handle) => {
                Ok([("result".into(), true.into()), ("handle".into(), handle.into())].into_iter().collect())
            }
            None => Ok(answer(false, format!("Could not find rule {rule}"))),
        }
    }
}

/// Appends a rule to a chain, unless the chain has it.
///
/// ```text
/// rocksalt '*' nftables.append filter input rule='tcp dport 22 accept'
/// ```
#[function("nftables.append", changes)]
pub struct Append {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The rule, in the program's own syntax.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for Append {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Append { table, chain, rule, family: of } = self;
        put(machine, "add", &[family(&of)?, &table, &chain], &rule, &of)
    }
}

/// Inserts a rule at the start of a chain, or before another, unless the chain has it.
///
/// ```text
/// rocksalt '*' nftables.insert filter input rule='tcp dport 22 accept'
/// rocksalt '*' nftables.insert filter input position=3 rule='tcp dport 22 accept'
/// ```
#[function("nftables.insert", changes)]
pub struct Insert {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The handle of the rule that it comes before.
    position: Option<u64>,
    /// The rule, in the program's own syntax.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for Insert {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Insert { table, chain, position, rule, family: of } = self;
        let position = position.map(|position| position.to_string());
        let mut place = vec![family(&of)?, &*table, &*chain];
        if let Some(position) = &position {
            place.extend(["position", position]);
        }
        put(machine, "insert", &place, &rule, &of)
    }
}

/// Adds a rule, unless it exists already.
fn put(machine: &dyn System, verb: &str, place: &[&str], rule: &str, of: &str) -> Result<Map> {
    rule::sound(rule)?;
    let (table, chain) = (place[1], place[2]);
    if ruleset::handle(&needed(machine, of, table, chain)?, rule).is_some() {
        let comment = format!("Rule {rule} chain {chain} in table {table} in family {of} already exists");
        return Ok(answer(false, comment));
    }
    let words: Vec<&str> = [verb, "rule"].into_iter().chain(place.iter().copied()).chain([rule]).collect();
    act(machine, &words)?;
    Ok(answer(true, format!("Added rule \"{rule}\" chain {chain} in table {table} in family {of}.")))
}

/// Removes a rule from a chain, given by its text or by its handle.
///
/// ```text
/// rocksalt '*' nftables.delete filter input rule='tcp dport 22 accept'
/// rocksalt '*' nftables.delete filter input position=3
/// ```
#[function("nftables.delete", changes)]
pub struct Delete {
    /// The table.
    table: String,
    /// The chain.
    chain: String,
    /// The handle.
    position: Option<u64>,
    /// The rule, in the program's own syntax.
    rule: Option<String>,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for Delete {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Delete { table, chain, position, rule, family: of } = self;
        let text = needed(machine, &of, &table, &chain)?;
        let (handle, shown) = match (position, rule) {
            (Some(position), None) => (Some(position.to_string()), position.to_string()),
            (None, Some(rule)) => (ruleset::handle(&text, &rule), rule),
            _ => return Ok(answer(false, "Only specify a position or a rule, not both".into())),
        };
        let Some(handle) = handle else {
            let comment = format!("Rule {shown} chain {chain} in table {table} in family {of} does not exist");
            return Ok(answer(false, comment));
        };
        act(machine, &["delete", "rule", family(&of)?, &table, &chain, "handle", &handle])?;
        Ok(answer(true, format!("Deleted rule \"{shown}\" in chain {chain} in table {table} in family {of}.")))
    }
}
