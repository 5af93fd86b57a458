//! `debconf.set` and `debconf.set_file`: questions are answered before a package asks them.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::super::cp::{self, source::ContentSource};
use super::answers::{self, DebconfAnswer};
use super::{Decision, State, StateEntry, Step, Thing, Touches, Verdict, state};
use crate::catalog::Plan;
use crate::machine::{Probe, System, Template};
use crate::{Error, Result};

pub const STATES: &[StateEntry] = &[state::<Set>(), state::<SetFile>()];

/// Makes sure that questions of a package have these answers.
///
/// ```yaml
/// tzdata:
///   debconf.set:
///     - data:
///         tzdata/Areas: {type: select, value: Europe}
///         tzdata/Zones/Europe: {type: select, value: Vienna}
/// ```
#[state("debconf.set", required("data"))]
pub struct Set {
    /// The package.
    name: String,
    /// For each question its `type` and `value`.
    data: Value,
}

/// Makes sure that questions have the answers of a file, as `debconf-set-selections` takes them.
///
/// ```yaml
/// answers:
///   debconf.set_file:
///     - source: salt://answers
/// ```
#[state("debconf.set_file", required("source"))]
pub struct SetFile {
    /// Any text.
    #[allow(dead_code, reason = "every state has one")]
    name: String,
    /// `salt://…`, `http(s)://…` or a path on the target.
    #[default]
    source: String,
    /// How to render it: `jinja`.
    template: Option<String>,
    /// Variables for the template.
    context: Value,
    /// Variables for the template that `context` may replace.
    defaults: Value,
}

impl State for Set {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let data = self.data.as_map().ok_or_else(|| {
            Error::arguments("debconf.set: data must be a map of questions, each with type and value")
        })?;
        let known = answers::all(machine)?;
        let (mut lines, mut unchanged) = (String::new(), String::new());
        let mut changes = Map::new();
        for (question, given) in data.iter() {
            let wanted = wanted(&self.name, &question.to_string(), given)?;
            if known.contains(&wanted) {
                unchanged += &format!("{question} ");
                continue;
            }
            lines += &answers::line(&wanted.package, &wanted.question, &wanted.kind, &wanted.value)?;
            lines.push('\n');
            changes.insert(question.clone(), wanted.shown());
        }
        if changes.is_empty() {
            return Ok(Decision::Settled(Verdict::good("All specified answers are already set")));
        }
        let comment = match unchanged.is_empty() {
            true => String::new(),
            false => format!("Unchanged answers: {unchanged}"),
        };
        let done = Verdict::good(comment.as_str()).changes(changes.clone());
        Ok(Decision::Change(Plan::new(done).with_own(&lines)?, Verdict::would(comment).changes(changes)))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        answers::set(machine, &plan.take_own::<String>()?)?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        database()
    }
}

impl State for SetFile {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        for (value, what) in [(&self.context, "Context"), (&self.defaults, "Defaults")] {
            if !value.is_null() && value.as_map().is_none() {
                return Ok(Decision::Settled(Verdict::bad(format!("{what} must be formed as a dict"))));
            }
        }
        let Some(text) = self.text(machine, step)? else {
            return Ok(Decision::Settled(Verdict::bad("Unable to set debconf selections from file.")));
        };
        let known = answers::all(machine)?;
        let wanted = text.lines().filter_map(DebconfAnswer::read);
        let new: Vec<DebconfAnswer> = wanted.filter(|answer| !known.contains(answer)).collect();
        let done = "Debconf selections were set.";
        if new.is_empty() {
            return Ok(Decision::Settled(Verdict::good(done)));
        }
        let changes: Map = new.iter().map(|answer| (answer.question.as_str().into(), answer.shown().into())).collect();
        let plan = Plan::new(Verdict::good(done).changes(changes.clone())).with_own(&text)?;
        Ok(Decision::Change(plan, Verdict::would("Debconf selections would have been set.").changes(changes)))
    }

    fn apply(&self, mut plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        answers::set(machine, &plan.take_own::<String>()?)?;
        Ok(plan.done)
    }

    fn touches(&self) -> Touches {
        match Some(&self.source).filter(|source| source.starts_with('/')) {
            Some(path) => database().reads(Thing::Path(path.clone())),
            None => database(),
        }
    }
}

impl SetFile {
    fn text(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Option<String>> {
        let content = match ContentSource::parse(machine, &self.source, Some(step.saltenv))? {
            ContentSource::Tree { path, saltenv } => machine.tree().read(&saltenv, &path)?.map(|bytes| bytes.to_vec()),
            ContentSource::Local(path) => machine.read(&path).ok(),
            ContentSource::Url(url) => Some(cp::url_content(machine, &url)?),
            ContentSource::Given(_) => None,
        };
        let Some(content) = content else { return Ok(None) };
        let text = String::from_utf8(content).map_err(|_| Error::failed(format!("{} is no text", self.source)))?;
        let Some(renderer) = &self.template else { return Ok(Some(text)) };
        let mut context = self.defaults.as_map().cloned().unwrap_or_default();
        context.extend(self.context.as_map().cloned().unwrap_or_default());
        let template = Template { renderer, text: &text, source: &self.source, saltenv: step.saltenv, context };
        machine.templates().render(&template).map(Some)
    }
}

fn wanted(package: &str, question: &str, given: &Value) -> Result<DebconfAnswer> {
    let field = |name: &str| given.as_map().and_then(|map| map.get(name)).filter(|value| !value.is_null());
    let missing = |name: &str| Error::arguments(format!("debconf.set: {question} has no {name}"));
    let kind = field("type").ok_or_else(|| missing("type"))?.to_string();
    let value = match (kind.as_str(), field("value").ok_or_else(|| missing("value"))?) {
        // Salt treats every text as true, even `false`.
        ("boolean", Value::String(text)) => matches!(&*text.to_ascii_lowercase(), "true" | "yes" | "1").to_string(),
        ("boolean", value) => value.truth().to_string(),
        (_, value) => value.to_string(),
    };
    Ok(DebconfAnswer { package: package.to_owned(), question: question.to_owned(), kind, value })
}

fn database() -> Touches {
    Touches::nothing().writes(Thing::Path("/var/cache/debconf".into()))
}
