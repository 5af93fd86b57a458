//! `nftables`' functions.

use rocksalt_core::{Map, Value, json};
use serde::Deserialize;

use super::super::{Function, tool};
use super::rules::act;
use super::{chains, family, filter, ipv4, plain, rule, ruleset};
use crate::grains::look;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// The form of most answers: whether it is so, and a sentence.
fn answer(result: bool, comment: String) -> Map {
    [("result".into(), result.into()), ("comment".into(), comment.into())].into_iter().collect()
}

/// That there is a table, in Salt's words.
fn table_answer(machine: &dyn Probe, table: &str, of: &str) -> Result<Map> {
    let there = ruleset::tables(machine, of)?.iter().any(|known| known == table);
    let is = if there { "exists" } else { "does not exist" };
    Ok(answer(there, format!("Table {table} in family {of} {is}")))
}

/// A chain that must be there.
fn needed(machine: &dyn Probe, of: &str, table: &str, chain: &str) -> Result<String> {
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

/// A rule as a text, built from the same arguments that the states take.
///
/// ```text
/// rocksalt '*' nftables.build_rule connstate=established,related jump=accept
/// rocksalt '*' nftables.build_rule filter input command=insert position=3 full=True proto=tcp dport=22 jump=accept
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct BuildRule {
    /// The table.
    #[serde(default)]
    table: Option<String>,
    /// The chain.
    #[serde(default)]
    chain: Option<String>,
    /// What to do with it: `add` or `insert`.
    #[serde(default)]
    command: Option<String>,
    /// The handle of the rule that it comes before.
    #[serde(default)]
    position: Value,
    /// The whole command, not only the rule.
    #[serde(default)]
    full: Value,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
    /// The rule.
    #[serde(default)]
    kwargs: Map,
}

impl Function for BuildRule {
    const NAME: &'static str = "nftables.build_rule";
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

/// Whether a rule is in a chain.
///
/// ```text
/// rocksalt '*' nftables.check filter input rule='tcp dport 22 counter accept'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Check {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The rule, as for the program.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for Check {
    const NAME: &'static str = "nftables.check";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Check { table, chain, rule, family: of } = self;
        let text = ruleset::chain(machine, &of, &table, &chain)?.unwrap_or_default();
        let there = ruleset::handle(&text, &rule).is_some();
        let is = if there { "exists" } else { "does not exist" };
        Ok(answer(there, format!("Rule {rule} in chain {chain} in table {table} in family {of} {is}")))
    }
}

/// The number by which a rule can be named.
///
/// ```text
/// rocksalt '*' nftables.get_rule_handle filter input rule='tcp dport 22 accept'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetRuleHandle {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The rule, as for the program.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for GetRuleHandle {
    const NAME: &'static str = "nftables.get_rule_handle";
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

/// Puts a rule at the end of a chain, if it is nowhere in it.
///
/// ```text
/// rocksalt '*' nftables.append filter input rule='tcp dport 22 accept'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Append {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The rule, as for the program.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for Append {
    const NAME: &'static str = "nftables.append";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let Append { table, chain, rule, family: of } = self;
        put(machine, "add", &[family(&of)?, &table, &chain], &rule, &of)
    }
}

/// Puts a rule at the beginning of a chain, or before another, if it is nowhere in it.
///
/// ```text
/// rocksalt '*' nftables.insert filter input rule='tcp dport 22 accept'
/// rocksalt '*' nftables.insert filter input position=3 rule='tcp dport 22 accept'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Insert {
    /// The table.
    #[serde(default = "filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The handle of the rule that it comes before.
    #[serde(default)]
    position: Option<u64>,
    /// The rule, as for the program.
    rule: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for Insert {
    const NAME: &'static str = "nftables.insert";
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

/// Puts a rule somewhere, unless it is there already.
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

/// Takes a rule out of a chain, named by itself or by its handle.
///
/// ```text
/// rocksalt '*' nftables.delete filter input rule='tcp dport 22 accept'
/// rocksalt '*' nftables.delete filter input position=3
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Delete {
    /// The table.
    table: String,
    /// The chain.
    chain: String,
    /// The handle.
    #[serde(default)]
    position: Option<u64>,
    /// The rule, as for the program.
    #[serde(default)]
    rule: Option<String>,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[serde(default = "ipv4")]
    family: String,
}

impl Function for Delete {
    const NAME: &'static str = "nftables.delete";
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
