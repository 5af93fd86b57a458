//! `highstate`: the results of a state run, state by state, with a summary.

mod settings;
mod state;
mod summary;

use rocksalt_core::{Map, Value};

use super::palette::Palette;
use super::{Error, Outputter, Style, finish, named, nested, python};
pub use settings::Settings;
use state::StateResult;
use summary::Summary;

pub struct Highstate {
    pub settings: Settings,
}

impl Highstate {
    pub fn open(settings: &Map) -> Result<Box<dyn Outputter>, Error> {
        Ok(Box::new(Highstate { settings: Settings::read(settings)? }))
    }
}

impl Outputter for Highstate {
    fn one(&self, id: &str, value: &Value, style: &Style) -> String {
        let printer = HighstatePrinter { settings: &self.settings, style, palette: Palette::of(style) };
        finish(&printer.host(id, value, 1).text)
    }
}

/// Printed text, and whether it shows a change.
struct Printed {
    text: String,
    changed: bool,
}

struct HighstatePrinter<'a> {
    settings: &'a Settings,
    style: &'a Style,
    palette: &'static Palette,
}

/// The column of the values after `Comment:` and below `Changes:`.
const COLUMN: usize = 14;

impl HighstatePrinter<'_> {
    /// Prints one target. `level` is 1, or more in nested orchestrations.
    fn host(&self, host: &str, value: &Value, level: usize) -> Printed {
        let palette = self.palette;
        let line = |text: &str| format!("{}    {text}{}", palette.green, palette.end);
        let (colour, lines, changed) = match value {
            Value::Bool(_) | Value::Int(_) => (palette.cyan, vec![line(&value.to_string())], true),
            Value::String(text) => (palette.cyan, python::lines(text).into_iter().map(line).collect(), true),
            Value::List(errors) if errors.iter().all(|error| error.as_str().is_some()) => {
                (palette.light_red, self.compile_errors(errors), false)
            }
            Value::Map(map) => match StateResult::all(map) {
                Some(states) => self.run(host, states, level),
                None => return self.fallback(host, value),
            },
            _ => return self.fallback(host, value),
        };
        let mut text = format!("{colour}{host}:{}", palette.end);
        for line in lines {
            text.push('\n');
            text.push_str(&line);
        }
        Printed { text, changed }
    }

    /// Prints a value that is not the result of a state run.
    fn fallback(&self, host: &str, value: &Value) -> Printed {
        Printed { text: nested::block(&named(host, value), 0, self.style), changed: true }
    }

    fn compile_errors(&self, errors: &[Value]) -> Vec<String> {
        let (red, end) = (self.palette.light_red, self.palette.end);
        let head = format!("    {red}Data failed to compile:{end}");
        let error = |error: &Value| format!("{red}----------\n    {error}{end}");
        std::iter::once(head).chain(errors.iter().map(error)).collect()
    }

    fn run(&self, host: &str, states: Vec<StateResult<'_>>, level: usize) -> (&'static str, Vec<String>, bool) {
        let palette = self.palette;
        let mut colour = palette.green;
        let mut summary = Summary::default();
        let mut lines = Vec::new();
        for state in states {
            let changes = self.changes(&state, level);
            summary.add(&state, changes.changed);
            if (self.settings.only_differences || !self.settings.verbose) && state.result().truth() && !changes.changed
            {
                continue;
            }
            let mut state_colour = if changes.changed { palette.cyan } else { palette.green };
            match state.result() {
                Value::Bool(false) => (colour, state_colour) = (palette.red, palette.red),
                Value::Null => (colour, state_colour) = (palette.light_yellow, palette.light_yellow),
                _ => {}
            }
            let shown = self.settings.shown(state.result(), changes.changed);
            match shown {
                settings::StateDisplay::Not => {}
                settings::StateDisplay::Terse => lines.push(state.terse(self.settings, state_colour, palette)),
                settings::StateDisplay::Full => {
                    lines.extend(state.full(self.settings, state_colour, &changes.text, palette));
                    summary.warnings += usize::from(state.warnings().is_some());
                }
            }
        }
        lines.extend(summary.lines(host, self.settings, palette));
        (colour, lines, summary.changed > 0)
    }

    fn changes(&self, state: &StateResult<'_>, level: usize) -> Printed {
        let changes = state.changes();
        if matches!(state.name(), Some("state.orch" | "state.orchestrate" | "state.sls")) {
            let inner = format!("\n{}", self.orchestrated(changes, level + 1));
            let indent = " ".repeat(COLUMN * level);
            let text = inner.split('\n').map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n");
            return Printed { text, changed: true };
        }
        if !changes.truth() {
            return Printed { text: String::new(), changed: false };
        }
        let Value::Map(map) = changes else {
            return Printed { text: format!("Invalid Changes data: {}", python::text(changes)), changed: true };
        };
        match (map.get("ret"), map.get("out")) {
            (Some(Value::Map(hosts)), Some(Value::String(out))) if out == "highstate" => self.hosts(hosts),
            _ => {
                Printed { text: format!("\n{}", nested::block(changes, COLUMN, self.style).trim_end()), changed: true }
            }
        }
    }

    /// Prints the results of other machines in a state of an orchestration.
    fn hosts(&self, hosts: &Map) -> Printed {
        let mut all = Printed { text: String::new(), changed: false };
        for (host, value) in hosts.iter() {
            let one = self.host(&python::text(host), value, 1);
            for line in python::lines(&one.text) {
                all.text.push_str(&format!("\n{:COLUMN$}{line}", ""));
            }
            all.changed |= one.changed;
        }
        all
    }

    /// Unwraps and prints the result of an orchestration.
    fn orchestrated(&self, value: &Value, level: usize) -> String {
        let inner = |value: &'_ Value, key: &str| value.as_map().and_then(|map| map.get(key)).cloned();
        let value = inner(value, "return").unwrap_or_else(|| value.clone());
        let value = inner(&value, "data").unwrap_or(value);
        match &value {
            Value::Map(hosts) => {
                let hosts = hosts.iter().filter(|(key, _)| key.as_str() != Some("retcode"));
                let texts = hosts.map(|(host, value)| self.host(&python::text(host), value, level).text);
                texts.collect::<Vec<_>>().join("\n")
            }
            other => python::text(other).into_owned(),
        }
    }
}
