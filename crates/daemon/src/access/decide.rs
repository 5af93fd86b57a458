//! Decides whether a caller may run a function. Requests and explanations use the same code; an explanation also records
//! each step.

use std::collections::BTreeSet;
use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_controller::select::TargetSelector;
use rocksalt_core::request::RunRequest;
use rocksalt_core::target::{DELIMITER, TargetKind};

use super::grammar::AuthEntry;
use super::rule::{self, AccessRule, CallView};
use super::{ALWAYS_ALLOWED, AccessGrant, AccessPolicy};
use crate::requests::{Refusal, RefusalKind};

/// The two kinds of functions that the controller itself runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    Runner,
    Wheel,
}

impl FunctionKind {
    pub fn name(self) -> &'static str {
        match self {
            FunctionKind::Runner => "runner",
            FunctionKind::Wheel => "wheel",
        }
    }
}

/// Records the steps of a decision if they are requested.
pub struct DecisionTrace<'a>(Option<&'a mut Vec<String>>);

impl<'a> DecisionTrace<'a> {
    pub fn off() -> DecisionTrace<'a> {
        DecisionTrace(None)
    }

    pub fn to(lines: &'a mut Vec<String>) -> DecisionTrace<'a> {
        DecisionTrace(Some(lines))
    }

    pub fn add(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.0 {
            lines.push(line());
        }
    }
}

impl AccessPolicy {
    /// Whether a function may run, and on which targets; `None` if it may not.
    pub(super) async fn check_function(
        &self,
        entries: &[&AuthEntry],
        run: &RunRequest,
        controller: &Arc<Controller>,
        trace: &mut DecisionTrace<'_>,
    ) -> Result<Option<AccessGrant>, Refusal> {
        if !is_name(&run.function) {
            trace.add(|| "that is not a valid function name".into());
            return Ok(None);
        }
        if run.function == ALWAYS_ALLOWED {
            trace.add(|| format!("{ALWAYS_ALLOWED} is allowed to every authenticated user"));
            return Ok(Some(AccessGrant::default()));
        }
        let mut wanted: Option<BTreeSet<String>> = None;
        let mut covered = BTreeSet::new();
        for (position, rule) in numbered_rules(entries) {
            let within = match rule_scope(&position, rule, run, trace) {
                RuleScope::None => continue,
                RuleScope::AllTargets => return Ok(Some(AccessGrant::default())),
                RuleScope::Targets(within) => within,
            };
            if wanted.is_none() {
                wanted = Some(select_ids(controller, target_of(run)?).await?);
            }
            let Some(wanted) = &wanted else { continue };
            let limits =
                TargetSelector { kind: TargetKind::Compound, text: within.to_owned(), delimiter: DELIMITER.to_owned() };
            let inside = select_ids(controller, limits).await?;
            let outside: Vec<&String> = wanted.difference(&inside).collect();
            if outside.is_empty() {
                trace.add(|| format!("  and '{}' is inside '{within}' ({} selected)", run.target, wanted.len()));
                return Ok(Some(AccessGrant { only: Some(wanted.clone()), ..AccessGrant::default() }));
            }
            trace.add(|| format!("  but '{}' is not inside '{within}': {}", run.target, shortened(&outside)));
            covered.extend(wanted.intersection(&inside).cloned());
        }
        match wanted {
            Some(wanted) if self.expanded && wanted.is_subset(&covered) => {
                trace.add(|| "the rules above cover it together (auth.enable_expanded_auth_matching)".into());
                Ok(Some(AccessGrant { only: Some(wanted), ..AccessGrant::default() }))
            }
            _ => Ok(None),
        }
    }
}

/// Where a rule allows a function.
enum RuleScope<'r> {
    None,
    AllTargets,
    /// On the targets of a compound expression.
    Targets(&'r str),
}

fn rule_scope<'r>(
    position: &RulePosition<'_>,
    rule: &'r AccessRule,
    run: &RunRequest,
    trace: &mut DecisionTrace<'_>,
) -> RuleScope<'r> {
    let call = CallView { function: &run.function, args: &run.args, kwargs: &run.kwargs };
    match rule {
        AccessRule::Function(pattern) => {
            if let Some(kind) = pattern.matches(&run.function) {
                trace.add(|| format!("{position}: '{}' matches {}, on any target", pattern.text, kind.name()));
                return RuleScope::AllTargets;
            }
            trace.add(|| match pattern.matches_prefix(&run.function) {
                true => format!("{position}: '{}' matches only the beginning, which is not enough", pattern.text),
                false => format!("{position}: '{}' is another function", pattern.text),
            });
            RuleScope::None
        }
        AccessRule::Controller { name, .. } => {
            trace.add(|| format!("{position}: '@{name}' is for functions of the controller"));
            RuleScope::None
        }
        AccessRule::Target { within, functions } => match rule::first_match(functions, call) {
            (None, why) => {
                let why = why.unwrap_or_else(|| "none of its functions matches".into());
                trace.add(|| format!("{position}: '{within}': {why}"));
                RuleScope::None
            }
            (Some((index, kind)), _) => {
                let function = &functions[index].function.text;
                trace.add(|| format!("{position}: '{within}': '{function}' matches {}", kind.name()));
                if within != "*" {
                    return RuleScope::Targets(within);
                }
                trace.add(|| "  and it applies to any target".into());
                RuleScope::AllTargets
            }
        },
    }
}

/// Whether a runner or wheel function may run. `.*` alone never allows these.
pub fn check_controller_function(
    entries: &[&AuthEntry],
    kind: FunctionKind,
    call: CallView<'_>,
    trace: &mut DecisionTrace<'_>,
) -> bool {
    if !is_name(call.function) {
        trace.add(|| "that is not a valid function name".into());
        return false;
    }
    let (module, short) = call.function.split_once('.').unwrap_or((call.function, ""));
    for (position, rule) in numbered_rules(entries) {
        let AccessRule::Controller { name, functions } = rule else {
            trace.add(|| format!("{position}: it is for functions on targets; a {} needs '@…'", kind.name()));
            continue;
        };
        let whole = name == kind.name() || name.strip_suffix('s') == Some(kind.name());
        if !whole && name != module {
            trace.add(|| format!("{position}: '@{name}' is for other functions"));
            continue;
        }
        let Some(functions) = functions else {
            trace.add(|| format!("{position}: '@{name}' allows all of its functions"));
            return true;
        };
        // The name may be a kind of functions and a module at the same time.
        let as_whole = if whole { rule::first_match(functions, call) } else { (None, None) };
        let as_module = match name == module {
            true => rule::first_match(functions, CallView { function: short, ..call }),
            false => (None, None),
        };
        if let Some((index, kind)) = as_whole.0.or(as_module.0) {
            let function = &functions[index].function.text;
            trace.add(|| format!("{position}: '@{name}': '{function}' matches {}", kind.name()));
            return true;
        }
        let why = as_whole.1.or(as_module.1).unwrap_or_else(|| "none of its functions matches".into());
        trace.add(|| format!("{position}: '@{name}': {why}"));
    }
    false
}

/// Whether a function's name is plain: any other text matches no pattern, however wide.
fn is_name(function: &str) -> bool {
    !function.is_empty() && function.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// All rules of all entries with their positions.
fn numbered_rules<'e>(entries: &[&'e AuthEntry]) -> impl Iterator<Item = (RulePosition<'e>, &'e AccessRule)> {
    let rules: Vec<(RulePosition<'e>, &'e AccessRule)> = entries
        .iter()
        .flat_map(|entry| entry.rules.iter().enumerate().map(|(index, rule)| (RulePosition { entry, index }, rule)))
        .collect();
    rules.into_iter()
}

struct RulePosition<'e> {
    entry: &'e AuthEntry,
    index: usize,
}

impl std::fmt::Display for RulePosition<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, rule {}", self.entry.principal.text(), self.index + 1)
    }
}

fn target_of(run: &RunRequest) -> Result<TargetSelector, Refusal> {
    let invalid = |error: rocksalt_core::target::Error| Refusal::new(RefusalKind::Invalid, error.to_string());
    let kind = match run.target_kind.as_str() {
        "" => TargetKind::Glob,
        name => TargetKind::from_name(name).map_err(invalid)?,
    };
    let delimiter = run.delimiter.clone().unwrap_or_else(|| DELIMITER.to_owned());
    Ok(TargetSelector { kind, text: run.target.clone(), delimiter })
}

async fn select_ids(controller: &Arc<Controller>, target: TargetSelector) -> Result<BTreeSet<String>, Refusal> {
    let selection =
        controller.select(&target).await.map_err(|error| Refusal::new(RefusalKind::Invalid, error.to_string()))?;
    // Targets whose grains are unknown are not selected, because they can't be checked.
    Ok(selection.entries.into_iter().map(|entry| entry.id).collect())
}

fn shortened(ids: &[&String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = ids.iter().take(SHOWN).map(|id| id.as_str()).collect();
    match ids.len() {
        count if count > SHOWN => format!("{} and {} more", shown.join(", "), count - SHOWN),
        _ => shown.join(", "),
    }
}
