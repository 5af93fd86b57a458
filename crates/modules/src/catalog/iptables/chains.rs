//! `iptables`' states for whole chains.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::super::{Decision, State, Step, Touches, Verdict};
use super::rules::{Saving, known_family, plain_words, save_path, saving};
use super::{program, tables};
use crate::Result;
use crate::catalog::Plan;
use crate::machine::{Probe, System};

/// Makes sure that there is a chain.
///
/// ```yaml
/// LOGGING:
///   iptables.chain_present:
///     - table: filter
/// ```
#[state("iptables.chain_present", strict, aggregates)]
pub struct ChainPresent {
    /// The chain.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl State for ChainPresent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let ChainPresent { name, table, family } = self;
        plain_words(&[name, table])?;
        known_family(family)?;
        let program = program(machine, family)?;
        if tables::has_chain(&tables::of_table(machine, family, table)?, name) {
            let comment = format!("iptables {name} chain is already exist in {table} table for {family}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = format!("iptables {name} chain in {table} table create success for {family}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&[&program, "--wait", "-t", table, "-N", name])
            .or(format!("Failed to create {name} chain in {table} table for {family}:"));
        Ok(plan.announced(format!("iptables {name} chain in {table} table needs to be set for {family}")))
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}

/// Makes sure that there is no such chain; its rules go with it.
///
/// ```yaml
/// LOGGING:
///   iptables.chain_absent
/// ```
#[state("iptables.chain_absent", strict, aggregates)]
pub struct ChainAbsent {
    /// The chain.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
}

impl State for ChainAbsent {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let ChainAbsent { name, table, family } = self;
        plain_words(&[name, table])?;
        known_family(family)?;
        let program = program(machine, family)?;
        if !tables::has_chain(&tables::of_table(machine, family, table)?, name) {
            let comment = format!("iptables {name} chain is already absent in {table} table for {family}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = format!("iptables {name} chain in {table} table delete success for {family}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&[&program, "--wait", "-t", table, "-F", name])
            .run(&[&program, "--wait", "-t", table, "-X", name])
            .or(format!("Failed to delete {name} chain in {table} table for {family}:"));
        Ok(plan.announced(format!("iptables {name} chain in {table} table needs to be removed {family}")))
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}

/// Sets what happens to packets that no rule of a built-in chain has taken.
///
/// ```yaml
/// default to reject:
///   iptables.set_policy:
///     - chain: INPUT
///     - policy: DROP
/// ```
#[state("iptables.set_policy", aggregates, required("chain", "policy"))]
pub struct SetPolicy {
    /// A name for the step, for requisites.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
    /// The chain.
    chain: String,
    /// `ACCEPT` or `DROP`.
    policy: String,
    /// Save the rules afterwards: yes, or a file.
    save: Value,
}

impl State for SetPolicy {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let SetPolicy { name, table, family, chain, policy, save } = self;
        plain_words(&[table, chain, policy])?;
        known_family(family)?;
        let program = program(machine, family)?;
        let now = tables::policy(&tables::of_table(machine, family, table)?, chain);
        if now.as_ref() == Some(policy) {
            let comment = format!(
                "iptables default policy for chain {chain} on table {table} for {family} already set to {policy}"
            );
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = format!("Set default policy for {chain} to {policy} family {family}");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&[&program, "--wait", "-t", table, "-P", chain, policy])
            .or("Failed to set iptables default policy");
        let saving = save_path(machine, Some(save), family)?.map(|path| Saving {
            path,
            comment: format!("Set and saved default policy for {chain} to {policy} family {family}"),
        });
        let would = format!(
            "iptables default policy for chain {chain} on table {table} for {family} needs to be set to {policy}"
        );
        Ok(plan.with_own(&saving)?.announced(would))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let saving: Option<Saving> = plan.take_own()?;
        let verdict = plan.carry_out(machine)?;
        let Some(saving) = saving.filter(|_| verdict.result == Some(true)) else { return Ok(verdict) };
        let comment = saving.comment.clone();
        let verdict = saving.save(machine, &self.family, verdict)?;
        // Salt doesn't report the file here.
        Ok(if verdict.result == Some(true) { Verdict { comment, ..verdict } } else { verdict })
    }

    fn touches(&self) -> Touches {
        saving(super::touches(), Some(&self.save))
    }
}

/// Removes all rules from a chain, or from all chains of a table.
///
/// ```yaml
/// clean:
///   iptables.flush:
///     - chain: INPUT
/// ```
#[state("iptables.flush", aggregates)]
pub struct Flush {
    /// A name for the step, for requisites.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
    /// The chain; all of the table by default.
    #[default]
    chain: String,
}

impl State for Flush {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Flush { name, table, family, chain } = self;
        plain_words(&[table])?;
        known_family(family)?;
        let mut argv = vec![program(machine, family)?, "--wait".into(), "-t".into(), table.clone(), "-F".into()];
        if !chain.is_empty() {
            plain_words(&[chain])?;
            argv.push(chain.clone());
        }
        if tables::rules_of(&tables::of_table(machine, family, table)?, chain).next().is_none() {
            let comment = format!("iptables has no rules in {table} table {chain} chain {family} family");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let done = format!("Flush iptables rules in {table} table {chain} chain {family} family");
        let plan = Plan::new(Verdict::good(done).change("locale", name.as_str()))
            .run(&argv)
            .or("Failed to flush iptables rules");
        Ok(plan.announced(format!("iptables rules in {name} table {table} chain {family} family needs to be flushed")))
    }

    fn touches(&self) -> Touches {
        super::touches()
    }
}
