//! `nftables.append`, `insert` and `delete`: single rules.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::tool;
use super::super::{Decision, State, Step, Thing, Touches, Verdict, iptables};
use super::{family, plain, rule, ruleset};
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Appends a rule to a chain, unless the chain has it.
///
/// ```yaml
/// httpd:
///   nftables.append:
///     - table: filter
///     - chain: input
///     - jump: accept
///     - connstate: new
///     - dport: 80
///     - proto: tcp
///     - save: True
/// ```
#[state("nftables.append", required("chain"))]
pub struct Append {
    /// A name for the step, for requisites.
    name: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// Save all rules afterwards.
    save: Value,
    /// The rule: `jump`, `proto`, `dport`, `sports`, `source`, `connstate`, `if`, `of`, `counter` …
    kwargs: Map,
}

/// Inserts a rule at the start of a chain, or before another, unless the chain has it.
///
/// ```yaml
/// ssh first:
///   nftables.insert:
///     - table: filter
///     - chain: input
///     - jump: accept
///     - dport: 22
///     - proto: tcp
/// ```
#[state("nftables.insert", required("chain"))]
pub struct Insert {
    /// A name for the step, for requisites.
    name: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The handle of the rule that it comes before.
    position: Option<u64>,
    /// Save all rules afterwards.
    save: Value,
    /// The rule: `jump`, `proto`, `dport`, `sports`, `source`, `connstate`, `if`, `of`, `counter` …
    kwargs: Map,
}

/// Takes a rule away.
///
/// ```yaml
/// no telnet:
///   nftables.delete:
///     - table: filter
///     - chain: input
///     - jump: accept
///     - dport: 23
///     - proto: tcp
/// ```
#[state("nftables.delete", required("chain"))]
pub struct Delete {
    /// A name for the step, for requisites.
    name: String,
    /// `ipv4`, `ipv6`, `inet`, `arp`, `bridge` or `netdev`.
    #[default("ipv4")]
    family: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// The chain.
    chain: String,
    /// The handle of the rule, if the rule itself is not given.
    position: Option<u64>,
    /// Save all rules afterwards.
    save: Value,
    /// The rule: `jump`, `proto`, `dport`, `sports`, `source`, `connstate`, `if`, `of`, `counter` …
    kwargs: Map,
}

/// The decision for a plan; if the rules are saved afterwards, `save` has the path and the comment.
pub fn announced(plan: Plan, would: String, save: Option<(String, String)>) -> Result<Decision> {
    Ok(plan.with_own(&save)?.announced(would))
}

/// Runs the commands, and saves the rules.
pub fn apply(mut plan: Plan, machine: &dyn System) -> Result<Verdict> {
    let save: Option<(String, String)> = plan.take_own()?;
    let verdict = plan.carry_out(machine)?;
    let Some((path, comment)) = save.filter(|_| verdict.result == Some(true)) else { return Ok(verdict) };
    Ok(match ruleset::save(machine, &path) {
        Ok(_) => Verdict { comment, ..verdict },
        Err(error) => Verdict {
            result: Some(false),
            comment: format!("{}\nbut the rules could not be saved: {error}", verdict.comment),
            ..verdict
        },
    })
}

impl State for Append {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Append { name, family: of, table, chain, save, kwargs } = self;
        let rule = rule::build(kwargs, of)?;
        let known = ruleset::chain(machine, of, table, chain)?.unwrap_or_default();
        if ruleset::handle(&known, &rule).is_some() {
            let comment = format!("nftables rule for {name} already set ({rule}) for {of}");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let plan = Plan::new(set(name, &rule, of))
            .run(&[&ruleset::nft(machine)?, "add", "rule", family(of)?, table, chain, &rule])
            .or(format!("Failed to set nftables rule for {name}.\nAttempted rule was {rule} for {of}."));
        let would = format!("nftables rule for {name} needs to be set ({rule}) for {of}");
        let saved = format!("Set and Saved nftables rule for {name} to: {rule} for {of}");
        announced(plan, would, save.truth().then(|| (ruleset::save_path(machine, None), saved)))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        apply(plan, machine)
    }

    fn touches(&self) -> Touches {
        touches(&self.save)
    }
}

impl State for Insert {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Insert { name, family: of, table, chain, position, save, kwargs } = self;
        let rule = rule::build(kwargs, of)?;
        let known = ruleset::chain(machine, of, table, chain)?.unwrap_or_default();
        if ruleset::handle(&known, &rule).is_some() {
            let comment = format!("nftables rule for {name} already set for {of} ({rule})");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        let nft = ruleset::nft(machine)?;
        let mut argv: Vec<String> = [&nft, "insert", "rule", family(of)?, table, chain].map(str::to_owned).to_vec();
        if let Some(position) = position.filter(|position| *position > 0) {
            argv.extend(["position".to_owned(), position.to_string()]);
        }
        argv.push(rule.clone());
        let plan = Plan::new(set(name, &rule, of))
            .run(&argv)
            .or(format!("Failed to set nftables rule for {name}.\nAttempted rule was {rule}"));
        let would = format!("nftables rule for {name} needs to be set for {of} ({rule})");
        let saved = format!("Set and Saved nftables rule for {name} to: {rule} for {of}");
        announced(plan, would, save.truth().then(|| (ruleset::save_path(machine, None), saved)))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        apply(plan, machine)
    }

    fn touches(&self) -> Touches {
        touches(&self.save)
    }
}

impl State for Delete {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Delete { name, family: of, table, chain, position, save, kwargs } = self;
        let rule = rule::build(kwargs, of)?;
        plain(&[table, chain])?;
        let known = ruleset::chain(machine, of, table, chain)?.unwrap_or_default();
        let handle = match position {
            Some(position) => {
                let position = position.to_string();
                ruleset::rules(&known).find(|(_, handle)| *handle == position).map(|(_, handle)| handle.to_owned())
            }
            None if rule.is_empty() => {
                return Err(Error::arguments("nftables.delete: neither a rule nor a position is given"));
            }
            None => ruleset::handle(&known, &rule),
        };
        let Some(handle) = handle else {
            let comment = format!("nftables rule for {name} already absent for {of} ({rule})");
            return Ok(Decision::Settled(Verdict::good(comment)));
        };
        let done = Verdict::good(format!("Delete nftables rule for {name} {rule}")).change("locale", name.as_str());
        let plan = Plan::new(done)
            .run(&[&ruleset::nft(machine)?, "delete", "rule", family(of)?, table, chain, "handle", &handle])
            .or(format!("Failed to delete nftables rule for {name}.\nAttempted rule was {rule}"));
        let would = format!("nftables rule for {name} needs to be deleted for {of} ({rule})");
        let saved = format!("Deleted and Saved nftables rule for {name} for {rule}{of}");
        announced(plan, would, save.truth().then(|| (ruleset::save_path(machine, None), saved)))
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        apply(plan, machine)
    }

    fn touches(&self) -> Touches {
        touches(&self.save)
    }
}

fn set(name: &str, rule: &str, family: &str) -> Verdict {
    Verdict::good(format!("Set nftables rule for {name} to: {rule} for {family}")).change("locale", name)
}

pub fn touches(save: &Value) -> Touches {
    let touches = iptables::touches();
    if save.truth() { touches.writes(Thing::Path("/etc/nftables".into())) } else { touches }
}

/// Runs `nft`, which prints nothing on success.
pub fn act(machine: &dyn System, words: &[&str]) -> Result<()> {
    let nft = ruleset::nft(machine)?;
    let argv: Vec<&str> = std::iter::once(nft.as_str()).chain(words.iter().copied()).collect();
    tool::done(machine, &argv).map(drop)
}
