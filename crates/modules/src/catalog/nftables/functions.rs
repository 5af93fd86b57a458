//! `nftables`' functions for tables, chains and all rules.

use rocksalt_core::{Map, Value, json};
use serde::Deserialize;

use super::super::{Function, tool};
use super::rules::act;
use super::{chains, family, filter, ipv4, plain, ruleset};
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The form of most answers: whether it is so, and a sentence.
pub fn answer(result: bool, comment: String) -> Map {
    [("result".into(), result.into()), ("comment".into(), comment.into())].into_iter().collect()
}

/// That there is a table, in Salt's words.
fn table_answer(machine: &dyn Probe, table: &str, of: &str) -> Result<Map> {
    let there = ruleset::tables(machine, of)?.iter().any(|known| known == table);
    let is = if there { "exists" } else { "does not exist" };
    Ok(answer(there, format!("Table {table} in family {of} {is}")))
}

/// A chain that must be there.
pub fn needed(machine: &dyn Probe, of: &str, table: &str, chain: &str) -> Result<String> {
    ruleset::chain(machine, of, table, chain)?
        .ok_or_else(|| Error::failed(format!("Chain {chain} in table {table} in family {of} does not exist")))
}

/// The version of the program.
///
/// ```text
/// rocksalt '*' nftables.version
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Version {}

impl Function for Version {
    const NAME: &'static str = "nftables.version";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ListTables {
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for ListTables {
    const NAME: &'static str = "nftables.list_tables";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetRules {
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for GetRules {
    const NAME: &'static str = "nftables.get_rules";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetRulesJson {
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for GetRulesJson {
    const NAME: &'static str = "nftables.get_rules_json";
    type Output = Vec<Value>;

    fn call(self, machine: &dyn System) -> Result<Vec<Value>> {
        let argv = [&ruleset::nft(machine)?, "--numeric", "--json", "list", "ruleset", family(&self.family)?];
        objects(&tool::told(machine, &argv)?)
    }
}

/// The objects of what `nft --json` prints.
fn objects(text: &str) -> Result<Vec<Value>> {
    let data =
        json::parse(text).map_err(|error| Error::failed(format!("nft printed something else than JSON: {error}")))?;
    Ok(match data {
        Value::Map(mut map) => map.remove("nftables").and_then(|list| list.as_list().map(<[Value]>::to_vec)),
        _ => None,
    }
    .unwrap_or_default())
}

/// The lines of the file that rules were saved to, without remarks.
///
/// ```text
/// rocksalt '*' nftables.get_saved_rules
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetSavedRules {
    /// The file, if it is not the usual one.
    #[serde(default)]
    conf_file: Option<String>,
}

impl Function for GetSavedRules {
    const NAME: &'static str = "nftables.get_saved_rules";
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

/// Writes all rules that are in force to a file that `nft -f` takes, and gives its text.
///
/// ```text
/// rocksalt '*' nftables.save /etc/nftables
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Save {
    /// The file, if it is not the usual one.
    #[serde(default)]
    filename: Option<String>,
    /// Taken for Salt's sake: all families are saved.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for Save {
    const NAME: &'static str = "nftables.save";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct CheckTable {
    /// The table.
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for CheckTable {
    const NAME: &'static str = "nftables.check_table";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        table_answer(machine, &self.table, &self.family)
    }
}

/// Makes a table.
///
/// ```text
/// rocksalt '*' nftables.new_table filter
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct NewTable {
    /// The table.
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for NewTable {
    const NAME: &'static str = "nftables.new_table";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct DeleteTable {
    /// The table.
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for DeleteTable {
    const NAME: &'static str = "nftables.delete_table";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct CheckChain {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for CheckChain {
    const NAME: &'static str = "nftables.check_chain";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let CheckChain { table, chain, family: of } = self;
        let there = ruleset::chain(machine, &of, &table, &chain)?.is_some();
        let is = if there { "exists" } else { "does not exist" };
        Ok(answer(there, format!("Chain {chain} in table {table} in family {of} {is}")))
    }
}

/// Makes a chain; with a type, a hook and a priority, packets come to it.
///
/// ```text
/// rocksalt '*' nftables.new_chain filter input table_type=filter hook=input priority=0
/// rocksalt '*' nftables.new_chain filter mine
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct NewChain {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// What a base chain does: `filter`, `nat` or `route`.
    #[serde(default)]
    table_type: Option<String>,
    /// Where packets enter it: `input`, `prerouting` …
    #[serde(default)]
    hook: Option<String>,
    /// Its turn among the chains of the hook.
    #[serde(default)]
    priority: Value,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for NewChain {
    const NAME: &'static str = "nftables.new_chain";
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
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct DeleteChain {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for DeleteChain {
    const NAME: &'static str = "nftables.delete_chain";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let DeleteChain { table, chain, family: of } = self;
        needed(machine, &of, &table, &chain)?;
        act(machine, &["delete", "chain", family(&of)?, &table, &chain])?;
        Ok(answer(true, format!("Chain {chain} in table {table} in family {of} deleted")))
    }
}

/// Takes all rules out of a chain, or of all chains of a table.
///
/// ```text
/// rocksalt '*' nftables.flush filter input
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Flush {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain; all of them unless told.
    #[serde(default)]
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for Flush {
    const NAME: &'static str = "nftables.flush";
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

/// What happens to packets that no rule of a base chain has taken; nothing for other chains.
///
/// ```text
/// rocksalt '*' nftables.get_policy filter input
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetPolicy {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for GetPolicy {
    const NAME: &'static str = "nftables.get_policy";
    type Output = Option<String>;

    fn call(self, machine: &dyn System) -> Result<Option<String>> {
        let text = ruleset::chain(machine, &self.family, &self.table, &self.chain)?.unwrap_or_default();
        Ok(ruleset::base(&text).map(|(_, policy)| policy.to_owned()))
    }
}

/// Sets what happens to packets that no rule of a base chain has taken.
///
/// ```text
/// rocksalt '*' nftables.set_policy filter input drop
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct SetPolicy {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// `accept` or `drop`.
    policy: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for SetPolicy {
    const NAME: &'static str = "nftables.set_policy";
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
