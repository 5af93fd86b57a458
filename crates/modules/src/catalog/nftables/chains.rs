//! `nftables`' states for tables and chains.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::file::Flag;
use super::super::{Decision, State, Step, Touches, Verdict, iptables};
use super::rules::{self, touches};
use super::{family, plain, ruleset};
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Makes sure that there is a table.
///
/// ```yaml
/// filter:
///   nftables.table_present:
///     - family: inet
/// ```
#[state("nftables.table_present")]
pub struct TablePresent {
    /// The table.
    name: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl State for TablePresent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let TablePresent { name, family: of } = self;
        plain(&[name])?;
        if ruleset::tables(machine, of)?.contains(name) {
            let comment = format!("nftables table {name} already exists in family {of}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = format!("nftables table {name} successfully created in family {of}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&[&ruleset::nft(machine)?, "add", "table", family(of)?, name])
            .or(format!("Failed to create table {name} for family {of}"));
        Ok(plan.announced(format!("nftables table {name} would be created in family {of}")))
    }

    fn touches(&self) -> Touches {
        iptables::touches()
    }
}

/// Makes sure that there is no such table.
///
/// ```yaml
/// old:
///   nftables.table_absent:
///     - family: inet
/// ```
#[state("nftables.table_absent")]
pub struct TableAbsent {
    /// The table.
    name: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl State for TableAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let TableAbsent { name, family: of } = self;
        plain(&[name])?;
        if !ruleset::tables(machine, of)?.contains(name) {
            let comment = format!("nftables table {name} is already absent from family {of}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = format!("nftables table {name} successfully deleted from family {of}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&[&ruleset::nft(machine)?, "delete", "table", family(of)?, name])
            .or(format!("Failed to delete table {name} from family {of}"));
        Ok(plan.announced(format!("nftables table {name} would be deleted from family {of}")))
    }

    fn touches(&self) -> Touches {
        iptables::touches()
    }
}

/// Makes sure that there is a chain.
///
/// ```yaml
/// input:
///   nftables.chain_present:
///     - family: inet
///     - table: filter
///     - table_type: filter
///     - hook: input
///     - priority: 0
/// ```
#[state("nftables.chain_present", strict)]
pub struct ChainPresent {
    /// The chain.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
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

/// The definition of a base chain, from all three arguments or none.
pub fn base(kind: Option<&str>, hook: Option<&str>, priority: &Value) -> Result<Option<String>> {
    let priority = if priority.is_null() { None } else { Some(priority.to_string()) };
    match (kind, hook, priority) {
        (None, None, None) => Ok(None),
        (Some(kind), Some(hook), Some(priority)) => {
            let number = priority.trim_start_matches('-');
            plain(&[kind, hook, number])?;
            Ok(Some(format!("{{ type {kind} hook {hook} priority {priority}; }}")))
        }
        _ => Err(Error::arguments("Table_type, hook, and priority required.")),
    }
}

impl State for ChainPresent {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let ChainPresent { name, table, family: of, .. } = self;
        let base = base(self.table_type.as_deref(), self.hook.as_deref(), &self.priority)?;
        if ruleset::chain(machine, of, table, name)?.is_some() {
            let comment = format!("nftables {name} chain is already exist in {table} table for {of}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        // In a dry run an earlier step may create the table.
        if !step.test && !ruleset::tables(machine, of)?.contains(table) {
            return Ok(Decision::Settled(Verdict::bad(format!(
                "Failed to create {name} chain in {table} table: Table {table} in family {of} does not exist for {of}"
            ))));
        }
        let nft = ruleset::nft(machine)?;
        let mut argv = vec![&*nft, "--", "add", "chain", family(of)?, table, name];
        argv.extend(base.as_deref());
        let done = format!("nftables {name} chain in {table} table create success for {of}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&argv)
            .or(format!("Failed to create {name} chain in {table} table for {of}:"));
        Ok(plan.announced(format!("nftables chain {name} would be created in table {table} for family {of}")))
    }

    fn touches(&self) -> Touches {
        iptables::touches()
    }
}

/// Makes sure that there is no such chain; its rules go with it.
///
/// ```yaml
/// old:
///   nftables.chain_absent:
///     - table: filter
/// ```
#[state("nftables.chain_absent", strict)]
pub struct ChainAbsent {
    /// The chain.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
}

impl State for ChainAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let ChainAbsent { name, table, family: of } = self;
        if ruleset::chain(machine, of, table, name)?.is_none() {
            let comment = format!("nftables {name} chain is already absent in {table} table for {of}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let nft = ruleset::nft(machine)?;
        let done = format!("nftables {name} chain in {table} table delete success for {of}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&[&nft, "flush", "chain", family(of)?, table, name])
            .run(&[&nft, "delete", "chain", family(of)?, table, name])
            .or(format!("Failed to delete {name} chain in {table} table for {of}:"));
        Ok(plan.announced(format!("nftables chain {name} would be deleted from table {table} for family {of}")))
    }

    fn touches(&self) -> Touches {
        iptables::touches()
    }
}

/// Removes all rules from a chain, or from all chains of a table.
///
/// ```yaml
/// clean:
///   nftables.flush:
///     - table: filter
///     - chain: input
/// ```
#[state("nftables.flush")]
pub struct Flush {
    /// A name for the step, for requisites.
    name: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
    /// A table or chain that isn't there is all right.
    ignore_absence: Flag,
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain; all of the table by default.
    #[default]
    chain: String,
}

impl State for Flush {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Flush { name, family: of, ignore_absence, table, chain } = self;
        plain(&[table])?;
        let absent = |text: String| match ignore_absence.0 {
            true => Verdict::good(format!("nftables has no rules in {table} table {chain} chain {of} family")),
            false => Verdict::bad(text),
        };
        if !ruleset::tables(machine, of)?.contains(table) {
            let text = format!("Failed to flush table {table} in family {of}, table does not exist.");
            return Ok(Decision::Settled(absent(text)));
        }
        let nft = ruleset::nft(machine)?;
        let (text, argv) = match chain.as_str() {
            "" => {
                let argv = vec![&*nft, "--handle", "list", "table", family(of)?, table];
                (super::super::tool::told(machine, &argv)?, vec![&*nft, "flush", "table", family(of)?, table])
            }
            chain => match ruleset::chain(machine, of, table, chain)? {
                Some(text) => (text, vec![&*nft, "flush", "chain", family(of)?, table, chain]),
                None => {
                    let text =
                        format!("Failed to flush chain {chain} in table {table} in family {of}, chain does not exist.");
                    return Ok(Decision::Settled(absent(text)));
                }
            },
        };
        if ruleset::rules(&text).next().is_none() {
            let comment = format!("nftables has no rules in {table} table {chain} chain {of} family");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = format!("Flush nftables rules in {table} table {chain} chain {of} family");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&argv)
            .or("Failed to flush nftables rules");
        Ok(plan.announced("nftables flush not performed in test mode."))
    }

    fn touches(&self) -> Touches {
        iptables::touches()
    }
}

/// Sets the policy of a base chain.
///
/// ```yaml
/// default to drop:
///   nftables.set_policy:
///     - table: filter
///     - chain: input
///     - policy: drop
/// ```
#[state("nftables.set_policy", required("chain", "policy"))]
pub struct SetPolicy {
    /// A name for the step, for requisites.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
    /// The chain.
    chain: String,
    /// `accept` or `drop`.
    policy: String,
    /// Save all rules afterwards.
    save: Value,
    /// The file to save to.
    save_filename: Option<String>,
}

impl State for SetPolicy {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let SetPolicy { name, table, family: of, chain, policy, .. } = self;
        let lower = policy.to_ascii_lowercase();
        if !["accept", "drop"].contains(&lower.as_str()) {
            return Err(Error::arguments(format!("the policy is accept or drop, not '{policy}'")));
        }
        let text = ruleset::chain(machine, of, table, chain)?;
        let known = text.as_deref().and_then(ruleset::base);
        if known.is_some_and(|(_, now)| now == lower) {
            let comment =
                format!("nftables default policy for chain {chain} on table {table} for {of} already set to {policy}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        if known.is_none() && !step.test {
            let why = if text.is_some() { "is no base chain" } else { "does not exist" };
            let comment =
                format!("Failed to set nftables default policy\nChain {chain} in table {table} in family {of} {why}");
            return Ok(Decision::Settled(Verdict::bad(comment)));
        }
        let kind = known.map_or("", |(kind, _)| kind);
        let done = format!("Set default policy for {chain} to {policy} family {of}");
        let base = format!("{{ {kind}; policy {lower}; }}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&[&ruleset::nft(machine)?, "--", "add", "chain", family(of)?, table, chain, &base])
            .or("Failed to set nftables default policy");
        let would =
            format!("nftables default policy for chain {chain} on table {table} for {of} needs to be set to {policy}");
        let saved = format!("Set and saved default policy for {chain} to {policy} family {of}");
        let given = self.save_filename.as_deref().map(Value::from);
        let save = self.save.truth().then(|| (ruleset::save_path(machine, given.as_ref()), saved));
        rules::announced(plan, would, save)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        rules::apply(plan, machine)
    }

    fn touches(&self) -> Touches {
        let touches = touches(&self.save);
        match &self.save_filename {
            Some(path) => touches.writes(super::super::Thing::Path(path.clone())),
            None => touches,
        }
    }
}
