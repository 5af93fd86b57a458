//! [`StepResult`]: a step's result in Salt's form.

use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::Verdict;
use rocksalt_modules::machine::{Command, Probe};
use rocksalt_sls::Chunk;
use rocksalt_sls::schedule::StepOutcome;

/// Salt's replacement for a secret.
pub const HIDDEN: &str = "**********";

/// A verdict with its times and its number.
#[derive(Clone, Default)]
pub struct StepResult {
    pub verdict: Verdict,
    /// The state was called, not skipped because of a requisite.
    pub ran: bool,
    /// Seconds since 1970.
    pub started: f64,
    /// In milliseconds.
    pub duration: f64,
    /// The position among the calls of a run.
    pub number: usize,
    /// The state says `parallel: True`.
    pub parallel: bool,
}

impl StepResult {
    pub fn outcome(&self) -> StepOutcome {
        let skip = self.verdict.further.get("skip_req").is_some_and(Value::truth);
        StepOutcome {
            result: self.verdict.result,
            changed: !self.verdict.changes.is_empty(),
            ran: self.ran,
            skip_requisites: skip,
        }
    }

    /// The result in Salt's form.
    pub fn to_map(&self, chunk: &Chunk, id: &str, clock: &Clock) -> Map {
        let verdict = &self.verdict;
        let mut map = Map::new();
        map.insert("name", chunk.name_value.clone().unwrap_or_else(|| chunk.name.as_str().into()));
        map.insert("changes", verdict.changes.clone());
        map.insert("result", verdict.result);
        map.insert("comment", verdict.comment.as_str());
        if !verdict.warnings.is_empty() {
            let warnings = verdict.warnings.iter().map(|text| text.as_str().into()).collect::<Vec<Value>>();
            map.insert("warnings", warnings);
        }
        map.extend(verdict.further.iter().map(|(key, value)| (key.clone(), value.clone())));
        map.insert("__sls__", &*chunk.sls);
        map.insert("__run_num__", self.number);
        map.insert("start_time", clock.time(self.started));
        map.insert("duration", (self.duration * 1000.0).round() / 1000.0);
        map.insert("__id__", id);
        if !self.ran {
            map.insert("__state_ran__", false);
        }
        if self.parallel {
            map.insert("__parallel__", true);
        }
        map
    }
}

/// Formats times of day in the machine's time zone.
pub struct Clock {
    /// Seconds east of Greenwich.
    offset: f64,
}

impl Clock {
    pub fn of(machine: &dyn Probe) -> Clock {
        let zone = machine.query(&Command::new(["date", "+%z"])).map(|output| output.text()).unwrap_or_default();
        Clock { offset: offset(zone.trim()).unwrap_or(0.0) }
    }

    pub fn time(&self, seconds: f64) -> String {
        let of_day = (seconds + self.offset).rem_euclid(86_400.0);
        let micros = ((of_day * 1e6).round() as u64).min(86_399_999_999);
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        // As in Python, a zero fraction is left out.
        if micros == 0 { time } else { format!("{time}.{micros:06}") }
    }
}

/// Parses `+0130` to seconds.
fn offset(zone: &str) -> Option<f64> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1.0,
        b'-' => -1.0,
        _ => return None,
    };
    let digits = zone.get(1..5)?.parse::<u32>().ok()?;
    Some(sign * f64::from(digits / 100 * 3600 + digits % 100 * 60))
}

/// Replaces these texts wherever they occur in a verdict.
pub fn hide(verdict: &mut Verdict, secrets: &[String]) {
    if secrets.is_empty() {
        return;
    }
    let hidden = |text: &str| secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN));
    verdict.comment = hidden(&verdict.comment);
    verdict.warnings.iter_mut().for_each(|text| *text = hidden(text));
    for map in [&mut verdict.changes, &mut verdict.further] {
        *map = hidden_map(map, &hidden);
    }
}

fn hidden_map(map: &Map, hidden: &dyn Fn(&str) -> String) -> Map {
    map.iter().map(|(key, value)| (hidden_value(key, hidden), hidden_value(value, hidden))).collect()
}

fn hidden_value(value: &Value, hidden: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => hidden(text).into(),
        Value::List(items) => Value::List(items.iter().map(|item| hidden_value(item, hidden)).collect()),
        Value::Map(map) => Value::Map(hidden_map(map, hidden)),
        other => other.clone(),
    }
}

/// Hides all of a result except for whether it succeeded (`no_log`); as in Salt, empty and zero values stay.
pub fn hide_all(verdict: &mut Verdict) {
    fn masked(value: &Value) -> Value {
        match value {
            Value::Map(map) => Value::Map(map.iter().map(|(key, value)| (key.clone(), masked(value))).collect()),
            Value::List(items) => Value::List(items.iter().map(masked).collect()),
            scalar if scalar.truth() => HIDDEN.into(),
            empty => empty.clone(),
        }
    }
    if !verdict.comment.is_empty() {
        verdict.comment = HIDDEN.into();
    }
    if let Value::Map(changes) = masked(&Value::Map(std::mem::take(&mut verdict.changes))) {
        verdict.changes = changes;
    }
    verdict.further.insert("name", HIDDEN);
    verdict.warnings.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_shown_as_python_does() {
        let clock = Clock { offset: offset("+0130").expect("a zone") };
        assert_eq!(clock.time(0.0), "01:30:00");
        assert_eq!(clock.time(86_399.5), "01:29:59.500000");
        assert_eq!(offset("-0200"), Some(-7200.0));
        assert_eq!(offset("CET"), None);
    }

    #[test]
    fn secrets_are_hidden_wherever_they_are() {
        let mut verdict = Verdict::good("wrote s3cret").change("diff", vec![Value::from("+s3cret")]);
        hide(&mut verdict, &["s3cret".into()]);
        assert_eq!(verdict.comment, format!("wrote {HIDDEN}"));
        assert_eq!(Value::Map(verdict.changes).to_string(), format!("{{'diff': ['+{HIDDEN}']}}"));
    }
}
