//! `retry`: calls a state again until its result is the expected one.

use rocksalt_core::{Map, Value};

/// The values of `retry`. A value of the wrong type counts as Salt's default.
pub struct Retry {
    pub until: bool,
    pub attempts: i64,
    pub interval: i64,
    pub splay: i64,
}

const STANDARD: Retry = Retry { until: true, attempts: 2, interval: 30, splay: 0 };

impl Retry {
    pub fn of(given: &Value) -> Retry {
        match given {
            Value::Map(given) => Retry {
                until: given.get("until").and_then(Value::as_bool).unwrap_or(STANDARD.until),
                attempts: number(given, "attempts", STANDARD.attempts),
                interval: number(given, "interval", STANDARD.interval),
                splay: number(given, "splay", STANDARD.splay),
            },
            Value::Bool(false) => Retry { attempts: 0, ..STANDARD },
            _ => STANDARD,
        }
    }

    /// The addition to the comment of a dry run.
    pub fn dry_run_comment(&self) -> String {
        format!(
            "The state would be retried every {} seconds (with a splay of up to {} seconds) a maximum of {} times \
             or until a result of {} is returned",
            self.interval,
            self.splay,
            self.attempts,
            Value::Bool(self.until)
        )
    }

    /// How long to wait before the next attempt; `chance` is between 0 and 1.
    pub fn pause(&self, chance: f64) -> f64 {
        self.interval as f64 + ((self.splay as f64 + 1.0) * chance).floor().clamp(0.0, self.splay.max(0) as f64)
    }
}

fn number(given: &Map, name: &str, standard: i64) -> i64 {
    match given.get(name) {
        Some(Value::Int(number)) => *number,
        Some(Value::Bool(flag)) => i64::from(*flag),
        _ => standard,
    }
}
