//! `file.accumulated`: texts that several states leave for the template of one file.

use rocksalt_core::{Map, Value};
use serde::Deserialize;

use super::{Decision, State, Step, Touches, Verdict};
use crate::Result;
use crate::machine::{Probe, System};

/// Leaves texts for the template of a `file.managed`, which finds them as `accumulator['name']`.
///
/// ```yaml
/// animals in the file:
///   file.accumulated:
///     - filename: /tmp/animal_file.txt
///     - text: the jumps over the lazy dog.
///     - require_in:
///       - file: animal_file
/// ```
///
/// That file must be named under `require_in` or `watch_in`.
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Accumulated {
    /// The accumulator's name.
    name: String,
    /// The file whose template finds it.
    #[serde(default)]
    filename: String,
    /// A text, or a list of them.
    #[serde(default)]
    text: Value,
}

/// The key that the texts have among the notes of a run.
const NOTES: &str = "file.accumulated";

impl State for Accumulated {
    const NAME: &'static str = "file.accumulated";
    const REQUIRED: &'static [&'static str] = &["filename", "text"];
    type Plan = ();

    /// Leaves the texts even in a dry run: nothing on the machine changes, and the file's own dry run needs them.
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision<()>> {
        if self.name.is_empty() {
            return Ok(Decision::Settled(Verdict::bad("Must provide name to file.accumulated")));
        }
        if self.text.is_null() {
            return Ok(Decision::Settled(Verdict::bad("No text supplied for accumulator")));
        }
        let named = |key: &str| {
            let list = step.low.get(key).and_then(Value::as_list).unwrap_or_default();
            list.iter()
                .any(|one| one.as_map().is_some_and(|one| one.contains_key("file")) || one.as_str() == Some("file"))
        };
        if !named("require_in") && !named("watch_in") {
            let text = format!("Orphaned accumulator {} in {}:{}", self.name, step.sls, step.id);
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let texts = match &self.text {
            Value::List(texts) => texts.clone(),
            single => vec![single.clone()],
        };
        let mut notes = machine.tree().notes().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut files = map_of(notes.get(NOTES));
        let mut of_file = map_of(files.get(&self.filename));
        let mut known = of_file.get(&self.name).and_then(Value::as_list).unwrap_or_default().to_vec();
        let mut comment = String::new();
        for text in texts {
            if !known.contains(&text) {
                known.push(text);
                comment = format!("Accumulator {} for file {} was charged by text", self.name, self.filename);
            }
        }
        of_file.insert(self.name.as_str(), known);
        files.insert(self.filename.as_str(), of_file);
        notes.insert(NOTES, files);
        Ok(Decision::Settled(Verdict::good(comment)))
    }

    fn apply(&self, (): (), _: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        Ok(Verdict::good(""))
    }

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}

/// What was left for a file: a list of texts under each accumulator's name.
pub fn texts(machine: &dyn Probe, filename: &str) -> Option<Value> {
    let notes = machine.tree().notes().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    notes.get(NOTES)?.as_map()?.get(filename).cloned()
}

fn map_of(value: Option<&Value>) -> Map {
    value.and_then(Value::as_map).cloned().unwrap_or_default()
}
