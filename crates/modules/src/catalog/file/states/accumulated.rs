//! `file.accumulated`: texts that several states collect for the template of one file.

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;

use super::{Decision, State, Step, Touches, Verdict};
use crate::Result;
use crate::machine::Probe;

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
#[state("file.accumulated", required("filename", "text"))]
pub struct Accumulated {
    /// The accumulator's name.
    name: String,
    /// The file whose template finds it.
    #[default]
    filename: String,
    /// A text, or a list of them.
    text: Value,
}

/// The key of the texts in the notes of a run.
const NOTES: &str = "file.accumulated";

impl State for Accumulated {
    /// Stores the texts even in a dry run: that doesn't change the machine, and the dry run of the file needs them.
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
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
        let mut notes = machine.run_notes().lock();
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

    fn touches(&self) -> Touches {
        Touches::nothing()
    }
}

/// The texts for a file: a list under each accumulator's name.
pub fn texts(machine: &dyn Probe, filename: &str) -> Option<Value> {
    let notes = machine.run_notes().lock();
    notes.get(NOTES)?.as_map()?.get(filename).cloned()
}

fn map_of(value: Option<&Value>) -> Map {
    value.and_then(Value::as_map).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use crate::catalog::{Step, Verdict, find_state};
    use crate::machine::{Fake, FakeServices, Probe};

    fn call(state: &str, arguments: &str, machine: &Fake) -> Verdict {
        let low = yaml::parse(arguments).expect("it is YAML").as_map().cloned().expect("it is a map");
        let entry = find_state(state).expect("there is such a state");
        let mut own = low.clone();
        own.remove("require_in");
        let step = Step { id: "id", name: "name", sls: "sls", saltenv: "base", low: &low, test: false };
        entry.call(entry.bind(own), machine, &step, false).expect("it can be called")
    }

    #[test]
    fn texts_reach_the_template() {
        let tree = FakeServices::default()
            .with_file("t", "x")
            .with_renderer(|template| Ok(format!("{:?}", template.context.get("accumulator"))));
        let machine = Fake::new().directory("/d").with_services(tree);
        let left = call("file.accumulated", "{name: a, filename: /d/f, text: [x, y]}", &machine);
        assert_eq!(left.comment, "Orphaned accumulator a in sls:id");
        let left = "{name: a, filename: /d/f, text: [x, y, x], require_in: [{file: f}]}";
        let comment = "Accumulator a for file /d/f was charged by text";
        assert_eq!(call("file.accumulated", left, &machine).comment, comment);
        assert_eq!(call("file.accumulated", left, &machine).comment, "", "they are there already");
        call("file.managed", "{name: /d/f, source: 'salt://t', template: jinja}", &machine);
        let content = machine.read("/d/f".as_ref()).expect("it was made");
        let expected = "Some(Map({String(\"a\"): List([String(\"x\"), String(\"y\")])}))";
        assert_eq!(String::from_utf8_lossy(&content), expected);
    }
}
