//! The decision itself. Requests and explanations go the same way; an explanation also says each step.

use std::collections::BTreeSet;
use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_controller::select::Target;
use rocksalt_core::request::RunRequest;
use rocksalt_core::target::{DELIMITER, Kind};

use super::grammar::Entry;
use super::rule::{self, Asked, Rule};
use super::{Access, FREE, Grant};
use crate::requests::{Kind as Why, Refusal};

/// Which of the controller's own functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Runner,
    Wheel,
}

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Form::Runner => "runner",
            Form::Wheel => "wheel",
        }
    }
}

/// Says how it goes to whoever wants to know; costs nothing where nobody does.
pub struct Talk<'a>(Option<&'a mut Vec<String>>);

impl<'a> Talk<'a> {
    pub fn silent() -> Talk<'a> {
        Talk(None)
    }

    pub fn into(lines: &'a mut Vec<String>) -> Talk<'a> {
        Talk(Some(lines))
    }

    pub fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.0 {
            lines.push(line());
        }
    }
}

impl Access {
    /// Whether a function may run, and on whom; `None` if it may not.
    pub(super) async fn function(
        &self,
        entries: &[&Entry],
        run: &RunRequest,
        controller: &Arc<Controller>,
        talk: &mut Talk<'_>,
    ) -> Result<Option<Grant>, Refusal> {
        if !is_name(&run.function) {
            talk.say(|| "that is no name of a function".into());
            return Ok(None);
        }
        if run.function == FREE {
            talk.say(|| format!("{FREE} is free for everybody who is logged in"));
            return Ok(Some(Grant::default()));
        }
        let asked = Asked { function: &run.function, args: &run.args, kwargs: &run.kwargs };
        let mut wanted: Option<BTreeSet<String>> = None;
        let mut covered = BTreeSet::new();
        for (entry, rule) in rules(entries) {
            let within = match rule {
                Rule::Function(words) => {
                    if let Some(way) = words.fits(&run.function) {
                        talk.say(|| format!("{entry}: '{}' fits {}, on any target", words.text, way.name()));
                        return Ok(Some(Grant::default()));
                    }
                    talk.say(|| match words.begins(&run.function) {
                        true => format!("{entry}: '{}' fits only the beginning, which is not enough", words.text),
                        false => format!("{entry}: '{}' is another function", words.text),
                    });
                    continue;
                }
                Rule::Controller { name, .. } => {
                    talk.say(|| format!("{entry}: '@{name}' is for functions of the controller"));
                    continue;
                }
                Rule::Target { within, functions } => match rule::any(functions, asked) {
                    (None, why) => {
                        let why = why.unwrap_or_else(|| "none of its functions is this one".into());
                        talk.say(|| format!("{entry}: '{within}': {why}"));
                        continue;
                    }
                    (Some((index, way)), _) => {
                        let function = &functions[index].function.text;
                        talk.say(|| format!("{entry}: '{within}': '{function}' fits {}", way.name()));
                        within
                    }
                },
            };
            if within == "*" {
                talk.say(|| "  and it holds on any target".into());
                return Ok(Some(Grant::default()));
            }
            if wanted.is_none() {
                wanted = Some(ids(controller, target(run)?).await?);
            }
            let Some(wanted) = &wanted else { continue };
            let limits = Target { kind: Kind::Compound, text: within.clone(), delimiter: DELIMITER.to_owned() };
            let inside = ids(controller, limits).await?;
            let outside: Vec<&String> = wanted.difference(&inside).collect();
            if outside.is_empty() {
                talk.say(|| format!("  and '{}' is wholly inside '{within}' ({} of them)", run.target, wanted.len()));
                return Ok(Some(Grant { only: Some(wanted.clone()) }));
            }
            talk.say(|| format!("  but '{}' means more than '{within}': {}", run.target, some(&outside)));
            covered.extend(wanted.intersection(&inside).cloned());
        }
        match wanted {
            Some(wanted) if self.expanded && wanted.is_subset(&covered) => {
                talk.say(|| "the rules above cover it together (auth.enable_expanded_auth_matching)".into());
                Ok(Some(Grant { only: Some(wanted) }))
            }
            _ => Ok(None),
        }
    }
}

/// Whether a function of the controller may run. `.*` alone never covers these.
pub fn controller(entries: &[&Entry], form: Form, asked: Asked<'_>, talk: &mut Talk<'_>) -> bool {
    if !is_name(asked.function) {
        talk.say(|| "that is no name of a function".into());
        return false;
    }
    let (module, short) = asked.function.split_once('.').unwrap_or((asked.function, ""));
    for (entry, rule) in rules(entries) {
        let Rule::Controller { name, functions } = rule else {
            talk.say(|| format!("{entry}: it is for functions on targets; a {} needs '@…'", form.name()));
            continue;
        };
        let whole = name == form.name() || name.strip_suffix('s') == Some(form.name());
        if !whole && name != module {
            talk.say(|| format!("{entry}: '@{name}' is about something else"));
            continue;
        }
        let Some(functions) = functions else {
            talk.say(|| format!("{entry}: '@{name}' allows all of it"));
            return true;
        };
        // A module of that name may be meant as well as all of them.
        let as_whole = if whole { rule::any(functions, asked) } else { (None, None) };
        let as_module = match name == module {
            true => rule::any(functions, Asked { function: short, ..asked }),
            false => (None, None),
        };
        if let Some((index, way)) = as_whole.0.or(as_module.0) {
            talk.say(|| format!("{entry}: '@{name}': '{}' fits {}", functions[index].function.text, way.name()));
            return true;
        }
        let why = as_whole.1.or(as_module.1).unwrap_or_else(|| "none of its functions is this one".into());
        talk.say(|| format!("{entry}: '@{name}': {why}"));
    }
    false
}

/// Patterns are for names: what is none fits no pattern, be it as wide as it may.
fn is_name(function: &str) -> bool {
    !function.is_empty() && function.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// All rules of all entries, each with its place.
fn rules<'e>(entries: &[&'e Entry]) -> impl Iterator<Item = (Place<'e>, &'e Rule)> {
    let places: Vec<(Place<'e>, &'e Rule)> = entries
        .iter()
        .flat_map(|entry| entry.rules.iter().enumerate().map(|(index, rule)| (Place { entry, index }, rule)))
        .collect();
    places.into_iter()
}

struct Place<'e> {
    entry: &'e Entry,
    index: usize,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, rule {}", self.entry.who.text(), self.index + 1)
    }
}

pub fn target(run: &RunRequest) -> Result<Target, Refusal> {
    let invalid = |error: rocksalt_core::target::Error| Refusal::new(Why::Invalid, error.to_string());
    let kind = match run.target_kind.as_str() {
        "" => Kind::Glob,
        name => Kind::from_name(name).map_err(invalid)?,
    };
    let delimiter = run.delimiter.clone().unwrap_or_else(|| DELIMITER.to_owned());
    Ok(Target { kind, text: run.target.clone(), delimiter })
}

async fn ids(controller: &Arc<Controller>, target: Target) -> Result<BTreeSet<String>, Refusal> {
    let selection = controller.select(&target).await.map_err(|error| Refusal::new(Why::Invalid, error.to_string()))?;
    // Those whose grains nobody knows are in no selection: what can't be checked is not inside.
    Ok(selection.entries.into_iter().map(|entry| entry.id).collect())
}

fn some(ids: &[&String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = ids.iter().take(SHOWN).map(|id| id.as_str()).collect();
    match ids.len() {
        count if count > SHOWN => format!("{} and {} more", shown.join(", "), count - SHOWN),
        _ => shown.join(", "),
    }
}
