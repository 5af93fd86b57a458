//! `iptables.append`, `insert` and `delete`: single rules.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::tool;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::rule::IptablesRule;
use super::{program, saved, tables};
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Appends a rule to a chain, unless the chain has it.
///
/// All further arguments are `iptables`' long options: `jump`, `match`, `proto`, `dport`, `source`, `to-ports`;
/// `connstate` is `--state`, and `name_` is `--name`. A value that begins with `!` or `not` is inverted.
///
/// ```yaml
/// httpd:
///   iptables.append:
///     - chain: INPUT
///     - jump: ACCEPT
///     - match: state
///     - connstate: NEW
///     - dport: 80
///     - proto: tcp
///     - save: True
/// ```
#[state("iptables.append", aggregates, required("chain"))]
pub struct Append {
    /// A name for the step, for requisites.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
    /// `chain`, `save` (yes, or a file), and the rule.
    kwargs: Map,
}

/// Puts a rule at a place in a chain, if it is nowhere in it.
///
/// ```yaml
/// ssh first:
///   iptables.insert:
///     - position: 1
///     - chain: INPUT
///     - jump: ACCEPT
///     - proto: tcp
///     - dport: 22
/// ```
#[state("iptables.insert", aggregates, required("chain", "position"))]
pub struct Insert {
    /// A name for the step, for requisites.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
    /// `chain`, `position` (negative ones count from the end), `save`, and the rule.
    kwargs: Map,
}

/// Takes a rule away.
///
/// ```yaml
/// no telnet:
///   iptables.delete:
///     - chain: INPUT
///     - jump: ACCEPT
///     - proto: tcp
///     - dport: 23
/// ```
#[state("iptables.delete", aggregates, required("chain"))]
pub struct Delete {
    /// A name for the step, for requisites.
    name: String,
    /// The table.
    #[default("filter")]
    table: String,
    /// `ipv4` or `ipv6`.
    #[default("ipv4")]
    family: String,
    /// `chain`, `position` (instead of a rule: whatever stands there), `save`, and the rule.
    kwargs: Map,
}

/// The arguments that all three states share.
struct RuleRequest<'a> {
    name: &'a str,
    table: &'a str,
    family: &'a str,
    chain: String,
    position: Option<i64>,
    /// The command in Salt's form.
    shown: String,
    program: String,
    rule: IptablesRule,
    /// The file to save to.
    save: Option<String>,
}

/// The file in which rules are saved after the commands, and the comment that precedes Salt's then.
#[derive(Serialize, Deserialize)]
pub struct Saving {
    pub path: String,
    pub comment: String,
}

impl<'a> RuleRequest<'a> {
    fn new(
        machine: &dyn Probe,
        (name, table, family): (&'a str, &'a str, &'a str),
        verb: &str,
        arguments: &Map,
    ) -> Result<RuleRequest<'a>> {
        plain_words(&[table])?;
        known_family(family)?;
        let chain =
            chain(arguments).ok_or_else(|| Error::arguments(format!("{name}: the argument 'chain' is missing")))?;
        let position = match arguments.get("position") {
            None | Some(Value::Null) => None,
            Some(value) => Some(value.to_string().trim().parse().map_err(|_| {
                Error::arguments(format!("{name}: the argument 'position' must be a number, not '{value}'"))
            })?),
        };
        let rule = IptablesRule::build(arguments)?;
        let program = program(machine, family)?;
        let shown_position = position.map(|position: i64| position.to_string()).unwrap_or_default();
        let shown = rule.command(&program, table, verb, &chain, &shown_position);
        let save = save_path(machine, arguments.get("save"), family)?;
        Ok(RuleRequest { name, table, family, chain, position, shown, program, rule, save })
    }

    fn is_there(&self, machine: &dyn Probe) -> Result<bool> {
        check(machine, &self.program, self.table, &self.chain, &self.rule)
    }

    fn argv(&self, verb: &str, position: Option<i64>, rule: bool) -> Vec<String> {
        let mut argv: Vec<String> =
            [&self.program, "--wait", "-t", self.table, verb, &self.chain].map(str::to_owned).to_vec();
        argv.extend(position.map(|position| position.to_string()));
        if rule {
            argv.extend(self.rule.words.iter().cloned());
        }
        argv
    }

    /// The rule is in the kernel already; the file may still need saving.
    fn already(&self, machine: &dyn Probe, comment: String) -> Result<Decision> {
        let Some(path) = &self.save else { return Ok(Decision::Settled(Verdict::good(comment))) };
        if !saved::is_stale(machine, path, self.family)? {
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        // Salt saves even in a dry run, and reports no change.
        let RuleRequest { name, family, shown, .. } = self;
        let would = format!("{comment}\nThe rules for {family} need to be saved to {path}");
        let save = Saving {
            path: path.clone(),
            comment: format!("{comment}\nSaved iptables rule {name} for {family}\n{shown}"),
        };
        let plan = Plan::new(Verdict::good(comment).change("saved", path.as_str()));
        Ok(plan.with_own(&Some(save))?.announced(would))
    }

    fn change(&self, argv: Vec<String>, told: String, saved: &str, failure: String, would: String) -> Result<Decision> {
        let plan = Plan::new(Verdict::good(told).change("locale", self.name)).run(&argv).or(failure);
        let save = self.save.clone().map(|path| Saving {
            path,
            comment: format!("{saved} and saved iptables rule {} for {}\n{}", self.name, self.family, self.shown),
        });
        Ok(plan.with_own(&save)?.announced(would))
    }
}

fn apply(mut plan: Plan, machine: &dyn System, family: &str) -> Result<Verdict> {
    let saving: Option<Saving> = plan.take_own()?;
    let verdict = plan.carry_out(machine)?;
    match saving {
        Some(saving) if verdict.result == Some(true) => saving.save(machine, family, verdict),
        _ => Ok(verdict),
    }
}

impl Saving {
    pub fn save(self, machine: &dyn System, family: &str, verdict: Verdict) -> Result<Verdict> {
        Ok(match saved::save(machine, &self.path, family) {
            Ok(said) => Verdict { comment: format!("{}\n{said}", self.comment), ..verdict },
            Err(error) => Verdict {
                result: Some(false),
                comment: format!("{}\nbut the rules could not be saved: {error}", verdict.comment),
                ..verdict
            },
        })
    }
}

impl State for Append {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Append { name, table, family, kwargs } = self;
        let request = RuleRequest::new(machine, (name, table, family), "A", kwargs)?;
        let shown = &request.shown;
        if request.is_there(machine)? {
            return request.already(machine, format!("iptables rule for {name} already set ({shown}) for {family}"));
        }
        request.change(
            request.argv("-A", None, true),
            format!("Set iptables rule for {name} to: {shown} for {family}"),
            "Set",
            format!("Failed to set iptables rule for {name}.\nAttempted rule was {shown} for {family}"),
            format!("iptables rule for {name} needs to be set ({shown}) for {family}"),
        )
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        apply(plan, machine, &self.family)
    }

    fn touches(&self) -> Touches {
        touches(&self.kwargs)
    }
}

impl State for Insert {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Insert { name, table, family, kwargs } = self;
        let request = RuleRequest::new(machine, (name, table, family), "I", kwargs)?;
        let shown = &request.shown;
        if request.is_there(machine)? {
            return request.already(machine, format!("iptables rule for {name} already set for {family} ({shown})"));
        }
        let position = match request.position {
            None | Some(0) => {
                return Err(Error::arguments("iptables.insert: Position needs to be specified or use append (-A)"));
            }
            Some(position) if position < 0 => from_end(machine, family, table, &request.chain, position)?,
            Some(position) => position,
        };
        request.change(
            request.argv("-I", Some(position), true),
            format!("Set iptables rule for {name} to: {shown} for {family}"),
            "Set",
            format!("Failed to set iptables rule for {name}.\nAttempted rule was {shown}"),
            format!("iptables rule for {name} needs to be set for {family} ({shown})"),
        )
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        apply(plan, machine, &self.family)
    }

    fn touches(&self) -> Touches {
        touches(&self.kwargs)
    }
}

impl State for Delete {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let Delete { name, table, family, kwargs } = self;
        let request = RuleRequest::new(machine, (name, table, family), "D", kwargs)?;
        let shown = &request.shown;
        if request.position.is_none() && !request.is_there(machine)? {
            let comment = format!("iptables rule for {name} already absent for {family} ({shown})");
            return Ok(Decision::Settled(Verdict::good(comment)));
        }
        request.change(
            request.argv("-D", request.position, request.position.is_none()),
            format!("Delete iptables rule for {name} {shown}"),
            "Deleted",
            format!("Failed to delete iptables rule for {name}.\nAttempted rule was {shown}"),
            format!("iptables rule for {name} needs to be deleted for {family} ({shown})"),
        )
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        apply(plan, machine, &self.family)
    }

    fn touches(&self) -> Touches {
        touches(&self.kwargs)
    }
}

/// Whether a rule is in a chain. A missing chain has no rules.
pub fn check(machine: &dyn Probe, program: &str, table: &str, chain: &str, rule: &IptablesRule) -> Result<bool> {
    let mut argv = vec![program, "--wait", "-t", table, "-C", chain];
    argv.extend(rule.words.iter().map(String::as_str));
    Ok(machine.query(&tool::command(&argv))?.success())
}

/// Converts a negative position: -1 is before the last rule.
pub fn from_end(machine: &dyn Probe, family: &str, table: &str, chain: &str, position: i64) -> Result<i64> {
    let text = tables::of_table(machine, family, table)?;
    let count = tables::rules_of(&text, chain).count() as i64;
    Ok((count + position + 1).max(1))
}

/// The chain in the arguments.
pub fn chain(arguments: &Map) -> Option<String> {
    let chain = arguments.get("chain").filter(|chain| !chain.is_null())?.to_string();
    plain_words(&[&chain]).is_ok().then_some(chain)
}

/// The path to save to: `save` is true, false, or a file.
pub fn save_path(machine: &dyn Probe, save: Option<&Value>, family: &str) -> Result<Option<String>> {
    match save {
        Some(Value::Bool(true)) => saved::path(machine, None, family).map(Some),
        Some(save) if save.truth() => Ok(Some(save.to_string())),
        _ => Ok(None),
    }
}

/// Checks tables and chains: single words that can't be taken for options.
pub fn plain_words(words: &[&str]) -> Result<()> {
    let wrong = |word: &&&str| word.is_empty() || word.starts_with(['-', '!']) || word.contains(char::is_whitespace);
    match words.iter().find(wrong) {
        Some(word) => Err(Error::arguments(format!("'{word}' is no name of a table or chain"))),
        None => Ok(()),
    }
}

pub fn known_family(family: &str) -> Result<()> {
    match family {
        "ipv4" | "ipv6" => Ok(()),
        other => Err(Error::arguments(format!("the family is ipv4 or ipv6, not '{other}'"))),
    }
}

fn touches(arguments: &Map) -> Touches {
    saving(super::touches(), arguments.get("save"))
}

/// Adds the file that rules are saved to.
pub fn saving(touches: Touches, save: Option<&Value>) -> Touches {
    match save {
        Some(Value::Bool(true)) => touches
            .writes(Thing::Path("/etc/iptables".into()))
            .writes(Thing::Path("/etc/sysconfig".into()))
            .writes(Thing::Path("/var/lib/iptables".into()))
            .writes(Thing::Path("/var/lib/ip6tables".into())),
        Some(save) if save.truth() => touches.writes(Thing::Path(save.to_string())),
        _ => touches,
    }
}
