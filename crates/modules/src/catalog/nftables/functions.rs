//! `nftables`' functions for tables, chains and all rules.

use rocksalt_core::{Map, Value, json};
use rocksalt_macros::function;

use super::super::{Function, tool};
use super::rules::act;
use super::{chains, family, plain, ruleset};
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The form of most results: a boolean and a text.
pub fn answer(result: bool, comment: String) -> Map {
    [("result".into(), result.into()), ("comment".into(), comment.into())].into_iter().collect()
}

/// Salt's result if a table exists.
fn table_answer(machine: &dyn Probe, table: &str, of: &str) -> Result<Map> {
    let there = ruleset::tables(machine, of)?.iter().any(|known| known == table);
    let is = if there { "exists" } else { "does not exist" };
    Ok(answer(there, format!("Table {table} in family {of} {is}")))
}

/// A chain; an error if it doesn't exist.
pub fn needed(machine: &dyn Probe, of: &str, table: &str, chain: &str) -> Result<String> {
    ruleset::chain(machine, of, table, chain)?
        .ok_or_else(|| Error::failed(format!("Chain {chain} in table {table} in family {of} does not exist")))
}

/// The version of the program.
///
/// ```text
/// rocksalt '*' nftables.version
/// ```
#[function("nftables.version", reads)]
pub struct Version {}

impl Function for Version {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let text = tool::told(machine, &[&ruleset::nft(machine)?, "--version"])?;
        Ok(text.split_whitespace().nth(1).unwrap_or_default().to_owned())
    }
}

/// The tables of a family.
///
/// ```text
/// rocksalt '*' nftables.list_tables family=ipv6
/// ```
#[function("nftables.list_tables", reads)]
pub struct ListTables {
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for ListTables {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let text = tool::told(machine, &[&ruleset::nft(machine)?, "--json", "list", "tables", family(&self.family)?])?;
        Ok(objects(&text)?.into_iter().filter_map(|object| object.as_map()?.get("table").cloned()).collect())
    }
}

/// The rules that are in force, a text for each table.
///
/// ```text
/// rocksalt '*' nftables.get_rules
/// rocksalt '*' nftables.get_rules family=ipv6
/// ```
#[function("nftables.get_rules", reads)]
pub struct GetRules {
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetRules {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let nft = ruleset::nft(machine)?;
        let tables = ruleset::tables(machine, &self.family)?;
        let of = family(&self.family)?;
        let show = |table: &String| {
            let argv = [&nft, "--numeric", "list", "table", of, table];
            tool::told(machine, &argv).map(|text| text.trim_end().to_owned())
        };
        tables.iter().map(show).collect()
    }
}

/// The rules that are in force, as data.
///
/// ```text
/// rocksalt '*' nftables.get_rules_json
/// ```
#[function("nftables.get_rules_json", reads)]
pub struct GetRulesJson {
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetRulesJson {
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let argv = [&ruleset::nft(machine)?, "--numeric", "--json", "list", "ruleset", family(&self.family)?];
        objects(&tool::told(machine, &argv)?)
    }
}

/// The objects in the output of `nft --json`.
fn objects(text: &str) -> Result<Vec<Value>> {
    let data =
        json::parse(text).map_err(|error| Error::failed(format!("nft printed something else than JSON: {error}")))?;
    Ok(match data {
        Value::Map(mut map) => map.remove("nftables").and_then(|list| list.as_list().map(<[Value]>::to_vec)),
        _ => None,
    }
    .unwrap_or_default())
}

/// The lines of the file that rules were saved to, without comments.
///
/// ```text
/// rocksalt '*' nftables.get_saved_rules
/// ```
#[function("nftables.get_saved_rules", reads)]
pub struct GetSavedRules {
    /// The file, if it is not the usual one.
    conf_file: Option<String>,
}

impl Function for GetSavedRules {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let given = self.conf_file.as_deref().map(Value::from);
        let path = ruleset::save_path(machine, given.as_ref());
        let text =
            look::text(machine, &path).ok_or_else(|| Error::failed(format!("there are no saved rules in {path}")))?;
        let kept = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        Ok(text.split_inclusive('\n').filter(kept).map(str::to_owned).collect())
    }
}

/// Writes all rules that are in force to a file that `nft -f` takes, and returns its text.
///
/// ```text
/// rocksalt '*' nftables.save /etc/nftables
/// ```
#[function("nftables.save", changes)]
pub struct Save {
    /// The file, if it is not the usual one.
    filename: Option<String>,
    /// Accepted for compatibility with Salt: all families are saved.
    #[default("ipv4")]
    family: String,
}

impl Function for Save {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        family(&self.family)?;
        let given = self.filename.as_deref().map(Value::from);
        ruleset::save(machine, &ruleset::save_path(machine, given.as_ref()))
    }
}

/// Whether there is a table.
///
/// ```text
/// rocksalt '*' nftables.check_table nat
/// ```
#[function("nftables.check_table", reads)]
pub struct CheckTable {
    /// The table.
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for CheckTable {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        table_answer(machine, &self.table, &self.family)
    }
}

/// Creates a table.
///
/// ```text
/// rocksalt '*' nftables.new_table filter
/// ```
#[function("nftables.new_table", changes)]
pub struct NewTable {
    /// The table.
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for NewTable {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let NewTable { table, family: of } = self;
        plain(&[&table])?;
        let known = table_answer(machine, &table, &of)?;
        if known.get("result").is_some_and(Value::truth) {
            return Ok(known);
        }
        act(machine, &["add", "table", family(&of)?, &table])?;
        Ok(answer(true, format!("Table {table} in family {of} created")))
    }
}

/// Removes a table with all that is in it.
///
/// ```text
/// rocksalt '*' nftables.delete_table filter
/// ```
#[function("nftables.delete_table", changes)]
pub struct DeleteTable {
    /// The table.
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for DeleteTable {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let DeleteTable { table, family: of } = self;
        plain(&[&table])?;
        let known = table_answer(machine, &table, &of)?;
        if !known.get("result").is_some_and(Value::truth) {
            return Ok(known);
        }
        act(machine, &["delete", "table", family(&of)?, &table])?;
        Ok(answer(true, format!("Table {table} in family {of} deleted")))
    }
}

/// Whether there is a chain.
///
/// ```text
/// rocksalt '*' nftables.check_chain filter input
/// ```
#[function("nftables.check_chain", reads)]
pub struct CheckChain {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for CheckChain {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let CheckChain { table, chain, family: of } = self;
        let there = ruleset::chain(machine, &of, &table, &chain)?.is_some();
        let is = if there { "exists" } else { "does not exist" };
        Ok(answer(there, format!("Chain {chain} in table {table} in family {of} {is}")))
    }
}

/// Creates a chain; with a type, a hook and a priority it is a base chain.
///
/// ```text
/// rocksalt '*' nftables.new_chain filter input table_type=filter hook=input priority=0
/// rocksalt '*' nftables.new_chain filter mine
/// ```
#[function("nftables.new_chain", changes)]
pub struct NewChain {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// What a base chain does: `filter`, `nat` or `route`.
    table_type: Option<String>,
    /// Where packets enter it: `input`, `prerouting` …
    hook: Option<String>,
    /// Its turn among the chains of the hook.
    priority: Value,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for NewChain {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let NewChain { table, chain, family: of, .. } = self;
        let base = chains::base(self.table_type.as_deref(), self.hook.as_deref(), &self.priority)?;
        if ruleset::chain(machine, &of, &table, &chain)?.is_some() {
            return Ok(answer(false, format!("Chain {chain} in table {table} in family {of} already exists")));
        }
        let mut words = vec!["--", "add", "chain", family(&of)?, &table, &chain];
        words.extend(base.as_deref());
        act(machine, &words)?;
        Ok(answer(true, format!("Chain {chain} in table {table} in family {of} created")))
    }
}

/// Removes a chain that has no rules.
///
/// ```text
/// rocksalt '*' nftables.delete_chain filter mine
/// ```
#[function("nftables.delete_chain", changes)]
pub struct DeleteChain {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for DeleteChain {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let DeleteChain { table, chain, family: of } = self;
        needed(machine, &of, &table, &chain)?;
        act(machine, &["delete", "chain", family(&of)?, &table, &chain])?;
        Ok(answer(true, format!("Chain {chain} in table {table} in family {of} deleted")))
    }
}

/// Removes all rules from a chain, or from all chains of a table.
///
/// ```text
/// rocksalt '*' nftables.flush filter input
/// ```
#[function("nftables.flush", changes)]
pub struct Flush {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain; all of them by default.
    #[default]
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for Flush {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Flush { table, chain, family: of } = self;
        plain(&[&table])?;
        if chain.is_empty() {
            act(machine, &["flush", "table", family(&of)?, &table])?;
            return Ok(answer(true, format!("Flushed rules from table {table} in family {of}.")));
        }
        needed(machine, &of, &table, &chain)?;
        act(machine, &["flush", "chain", family(&of)?, &table, &chain])?;
        Ok(answer(true, format!("Flushed rules from chain {chain} in table {table} in family {of}.")))
    }
}

/// The policy of a base chain; null for other chains.
///
/// ```text
/// rocksalt '*' nftables.get_policy filter input
/// ```
#[function("nftables.get_policy", reads)]
pub struct GetPolicy {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for GetPolicy {
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        let text = ruleset::chain(machine, &self.family, &self.table, &self.chain)?.unwrap_or_default();
        Ok(ruleset::base(&text).map(|(_, policy)| policy.to_owned()))
    }
}

/// Sets the policy of a base chain.
///
/// ```text
/// rocksalt '*' nftables.set_policy filter input drop
/// ```
#[function("nftables.set_policy", changes)]
pub struct SetPolicy {
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `accept` or `drop`.
    policy: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl Function for SetPolicy {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let SetPolicy { table, chain, policy, family: of } = self;
        plain(&[&policy])?;
        let text = needed(machine, &of, &table, &chain)?;
        let Some((kind, _)) = ruleset::base(&text) else {
            return Err(Error::failed(format!("Chain {chain} in table {table} in family {of} is no base chain")));
        };
        act(
            machine,
            &["--", "add", "chain", family(&of)?, &table, &chain, &format!("{{ {kind}; policy {policy}; }}")],
        )?;
        Ok(true)
    }
}
