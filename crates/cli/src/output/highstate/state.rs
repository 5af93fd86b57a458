//! One state's result, in full or in one line.

use std::borrow::Cow;

use rocksalt_core::{Map, Value};

use super::super::palette::Palette;
use super::super::python;
use super::{COLUMN, Settings};

pub struct StateResult<'a> {
    module: &'a str,
    id: &'a str,
    name: &'a str,
    function: &'a str,
    entry: &'a Map,
}

impl<'a> StateResult<'a> {
    /// The states of a run in the order of execution; `None` if the map isn't the result of a state run.
    pub fn all(map: &'a Map) -> Option<Vec<StateResult<'a>>> {
        let mut states = map.iter().map(|(key, entry)| StateResult::read(key, entry)).collect::<Option<Vec<_>>>()?;
        states.sort_by_key(|state| state.entry.get("__run_num__").and_then(Value::as_i64).unwrap_or(0));
        Some(states)
    }

    fn read(key: &'a Value, entry: &'a Value) -> Option<StateResult<'a>> {
        let entry = entry.as_map().filter(|entry| entry.contains_key("result"))?;
        let (module, rest) = key.as_str()?.split_once("_|-")?;
        let (rest, function) = rest.rsplit_once("_|-")?;
        let (id, name) = rest.split_once("_|-")?;
        Some(StateResult { module, id, name, function, entry })
    }

    pub fn result(&self) -> &'a Value {
        self.entry.get("result").unwrap_or(&Value::Null)
    }

    pub fn changes(&self) -> &'a Value {
        self.entry.get("changes").unwrap_or(&Value::Null)
    }

    /// The name in the result itself.
    pub fn name(&self) -> Option<&'a str> {
        self.entry.get("name").and_then(Value::as_str)
    }

    pub fn is_parallel(&self) -> bool {
        self.entry.contains_key("__parallel__")
    }

    pub fn milliseconds(&self) -> f64 {
        match self.entry.get("duration") {
            Some(Value::Int(number)) => *number as f64,
            Some(Value::Float(number)) => *number,
            Some(Value::String(text)) => text.trim_end_matches("ms").trim().parse().unwrap_or(0.0),
            _ => 0.0,
        }
    }

    pub fn warnings(&self) -> Option<String> {
        match self.entry.get("warnings")? {
            Value::List(items) => Some(items.iter().map(python::text).collect::<Vec<_>>().join("\n")),
            other => Some(python::text(other).into_owned()),
        }
    }

    pub fn full(&self, settings: &Settings, colour: &str, changes: &str, palette: &Palette) -> Vec<String> {
        let end = palette.end;
        let line = |label: &str, text: &str| format!("    {colour}{label:>8}: {text}{end}");
        let mut lines = vec![
            format!("{colour}----------{end}"),
            line("ID", self.id),
            line("Function", &format!("{}.{}", self.module, self.function)),
        ];
        if self.id != self.shown_name(settings) {
            lines.push(line("Name", self.name));
        }
        lines.push(line("Result", &python::text(self.result())));
        lines.push(line("Comment", &self.comment()));
        if let Some(start) = self.start(settings) {
            let duration = match self.duration() {
                text if text.is_empty() || text.ends_with("ms") => text,
                text => format!("{text} ms").into(),
            };
            lines.push(line("Started", &start));
            lines.push(line("Duration", &duration));
        }
        lines.push(format!("{colour}     Changes:   {changes}{end}"));
        if let Some(warnings) = self.warnings() {
            lines.push(format!("   {} Warnings: {}{end}", palette.light_red, wrapped(&warnings)));
        }
        lines
    }

    pub fn terse(&self, settings: &Settings, colour: &str, palette: &Palette) -> String {
        let result = match (self.result(), self.changes().truth()) {
            (Value::Bool(false), _) => "Failed",
            (Value::Null, _) => "Differs",
            (_, true) => "Changed",
            (_, false) => "Clean",
        };
        let (name, module, function, end) = (self.shown_name(settings), self.module, self.function, palette.end);
        let warnings = match self.warnings() {
            Some(text) if settings.tabular => format!("{}Warnings:\n{text}{end}\n", palette.light_red),
            Some(text) => format!("{}Warnings:\n{text}{end}", palette.light_red),
            None => String::new(),
        };
        let start = self.start(settings);
        if settings.tabular {
            let times = start.map(|start| format!("{start} [{:>7} ms] ", self.duration())).unwrap_or_default();
            return format!("{warnings}{colour}{times}{module:>10}.{function:<10} {result:7}   Name: {name}{end}");
        }
        let times = start
            .map(|start| format!(" - Started: {start} - Duration: {} ms", self.duration().trim_end_matches(" ms")))
            .unwrap_or_default();
        format!("{warnings} {colour} Name: {name} - Function: {module}.{function} - Result: {result}{times}{end}")
    }

    fn shown_name(&self, settings: &Settings) -> &'a str {
        if settings.by_id { self.id } else { self.name }
    }

    fn start(&self, settings: &Settings) -> Option<Cow<'a, str>> {
        self.entry.get("start_time").filter(|_| settings.profile).map(python::text)
    }

    fn duration(&self) -> Cow<'a, str> {
        self.entry.get("duration").map(python::text).unwrap_or_default()
    }

    fn comment(&self) -> String {
        let comment = self.entry.get("comment").map(python::text).unwrap_or_default();
        let mut text = comment.trim().replace('\n', &format!("\n{:COLUMN$}", ""));
        match self.entry.get("data") {
            None => {}
            Some(Value::List(items)) => {
                items.iter().for_each(|item| text.push_str(&format!(" {}", python::text(item))))
            }
            Some(Value::Map(map)) => {
                for (key, value) in map.iter() {
                    text.push_str(&format!("\n\t\t{}: {}", python::text(key), python::text(value)));
                }
            }
            Some(other) => text.push_str(&format!(" {}", python::text(other))),
        }
        text
    }
}

/// Wraps text to 80 columns, indented like comments.
fn wrapped(text: &str) -> String {
    let room = 80 - COLUMN;
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > room {
            lines.push(String::new());
            width = 0;
        }
        if let Some(line) = lines.last_mut() {
            if width > 0 {
                line.push(' ');
                width += 1;
            }
            line.push_str(word);
            width += length;
        }
    }
    lines.join(&format!("\n{:COLUMN$}", ""))
}
