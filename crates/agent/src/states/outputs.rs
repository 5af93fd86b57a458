//! [`Outputs`]: what states provide to later ones: `${ outputs['id'].stdout | trim }`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rocksalt_core::frame::Ask;
use rocksalt_core::sort::sort_by_key;
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::Verdict;
use rocksalt_modules::machine::Probe;
use rocksalt_modules::{Error, Result};
use rocksalt_sls::Chunk;
use rocksalt_sls::outputs::{TextPiece, are_in, elsewhere_in, evaluate, pieces, states_in};

/// Replaces a value that a dry run can't know.
pub const UNKNOWN: &str = "(known after apply)";

/// A key among a state's outputs: the state used a secret.
pub const SECRET: &str = "__secret__";

/// The outputs of the states that ran, by id and by the name they were registered under.
#[derive(Default)]
pub struct Outputs {
    known: Mutex<HashMap<String, StepOutputs>>,
    over: AtomicBool,
}

#[derive(Clone, Default)]
struct StepOutputs {
    values: Map,
    /// For each value the position of its step in the declared order.
    places: HashMap<Value, f64>,
    /// The state would have made changes, but this is a dry run.
    unknown: bool,
    /// The values must not appear in any result.
    secret: bool,
}

impl Outputs {
    pub fn record(&self, chunk: &Chunk, verdict: &Verdict, test: bool) {
        let mut values = verdict.outputs.clone();
        for (key, value) in [
            ("changes", Value::Map(verdict.changes.clone())),
            ("comment", verdict.comment.as_str().into()),
            ("name", chunk.name.as_str().into()),
            ("result", verdict.result.into()),
        ] {
            if !values.contains_key(key) {
                values.insert(key, value);
            }
        }
        // A state that used a secret may have copied it into its outputs.
        let used_secret = values.remove(SECRET).is_some();
        let says = |name: &str| chunk.arguments.get(name).is_some_and(Value::truth);
        let known = StepOutputs {
            values,
            places: HashMap::new(),
            unknown: test && verdict.result.is_none(),
            secret: used_secret || says("no_log") || says("hide_output"),
        };
        let registered = chunk.arguments.get("register").and_then(Value::as_str);
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for name in [Some(chunk.id.as_str()), registered].into_iter().flatten() {
            // Several states may share an id. The first one in declared order provides the value, whichever ends first.
            let entry = all.entry(name.to_owned()).or_default();
            for (key, value) in known.values.iter() {
                let place = entry.places.entry(key.clone()).or_insert(f64::INFINITY);
                if chunk.order() < *place {
                    *place = chunk.order();
                    entry.values.insert(key.clone(), value.clone());
                }
            }
            entry.unknown |= known.unknown;
            entry.secret |= known.secret;
        }
    }

    /// Replaces references by values. Returns the secret texts among the values.
    ///
    /// Outputs of other targets are requested through `machine`.
    pub fn fill(&self, arguments: &mut Map, machine: &dyn Probe, test: bool) -> Result<Vec<String>> {
        let mut secrets = Vec::new();
        for (_, value) in arguments.iter_mut().filter(|(_, value)| are_in(value)) {
            self.fill_value(value, machine, test, &mut secrets)?;
        }
        Ok(secrets)
    }

    fn fill_value(&self, value: &mut Value, machine: &dyn Probe, test: bool, secrets: &mut Vec<String>) -> Result<()> {
        match value {
            Value::String(text) => {
                let pieces = pieces(text);
                if let [TextPiece::Expression(expression)] = pieces[..] {
                    // A reference without other text keeps the type of its value: a number stays a number.
                    *value = self.evaluate(expression, machine, test, secrets)?;
                    return Ok(());
                }
                let mut filled = String::new();
                for piece in pieces {
                    match piece {
                        TextPiece::Text(text) => filled.push_str(text),
                        TextPiece::Expression(expression) => {
                            filled.push_str(&self.evaluate(expression, machine, test, secrets)?.to_string());
                        }
                    }
                }
                *value = filled.into();
                Ok(())
            }
            Value::List(items) => items.iter_mut().try_for_each(|item| self.fill_value(item, machine, test, secrets)),
            Value::Map(map) => map.iter_mut().try_for_each(|(_, item)| self.fill_value(item, machine, test, secrets)),
            _ => Ok(()),
        }
    }

    /// A step's outputs for another target: the values, and whether they are secret or unknown.
    pub fn get(&self, step: &str) -> Option<Map> {
        let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(step)?;
        let mut answer = Map::new();
        answer.insert("values", known.values.clone());
        answer.insert("unknown", known.unknown);
        answer.insert("secret", known.secret);
        Some(answer)
    }

    /// All outputs as plain data.
    pub fn to_value(&self) -> Value {
        let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let keep = |(step, known): (&String, &StepOutputs)| {
            let place = |(key, value): (&Value, &Value)| {
                let place = known.places.get(key).copied().unwrap_or(f64::INFINITY);
                Value::List(vec![key.clone(), value.clone(), place.into()])
            };
            let values: Vec<Value> = known.values.iter().map(place).collect();
            Value::List(vec![step.as_str().into(), values.into(), known.unknown.into(), known.secret.into()])
        };
        Value::List(all.iter().map(keep).collect())
    }

    /// Restores what [`Outputs::to_value`] returned.
    pub fn restore(&self, kept: &Value) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for one in kept.as_list().unwrap_or_default() {
            let Some([step, values, unknown, secret]) = one.as_list() else { continue };
            let mut known = StepOutputs { unknown: unknown.truth(), secret: secret.truth(), ..StepOutputs::default() };
            for value in values.as_list().unwrap_or_default() {
                let Some([key, value, place]) = value.as_list() else { continue };
                let place = if let Value::Float(place) = place { *place } else { f64::INFINITY };
                known.places.insert(key.clone(), place);
                known.values.insert(key.clone(), value.clone());
            }
            all.insert(step.to_string(), known);
        }
    }

    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn evaluate(&self, expression: &str, machine: &dyn Probe, test: bool, secrets: &mut Vec<String>) -> Result<Value> {
        let (mut variables, mut unknown, mut secret) = (Map::new(), false, false);
        {
            let all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for name in states_in(expression) {
                match all.get(name) {
                    Some(known) => {
                        variables.insert(name, known.values.clone());
                        unknown |= known.unknown;
                        secret |= known.secret;
                    }
                    None => unknown |= test,
                }
            }
        }
        let mut elsewhere = Map::new();
        for (target, step) in elsewhere_in(expression) {
            let ask = Ask::Outputs { target: target.to_owned(), step: step.to_owned() };
            let answer = machine.controller().ask(ask)?;
            let says = |key: &str| answer.walk(key, ":").is_some_and(Value::truth);
            unknown |= says("unknown");
            secret |= says("secret");
            if let Value::Map(of_target) = elsewhere.entry(target) {
                of_target.insert(step, answer.walk("values", ":").cloned().unwrap_or_default());
            } else {
                let values = answer.walk("values", ":").cloned().unwrap_or_default();
                elsewhere.insert(target, Map::from_iter([(step.into(), values)]));
            }
        }
        if unknown {
            return Ok(UNKNOWN.into());
        }
        match evaluate(expression, &variables, &elsewhere) {
            Ok(value) => {
                if secret {
                    collect_secrets(&value, secrets);
                }
                Ok(value)
            }
            // In a dry run nothing was done, so an output of the real run may be missing.
            Err(_) if test => Ok(UNKNOWN.into()),
            Err(error) => Err(Error::failed(format!("could not evaluate ${{ {expression} }}: {error}"))),
        }
    }
}

fn collect_secrets(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| collect_secrets(item, secrets)),
        Value::Map(map) => map.values().for_each(|item| collect_secrets(item, secrets)),
        Value::Null | Value::Bool(_) => {}
        other => {
            let text = other.to_string();
            // Each line alone too: diffs show single lines.
            secrets.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
            secrets.push(text);
        }
    }
    secrets.retain(|secret| !secret.is_empty());
    // The longest first, so that a secret is replaced before its parts.
    sort_by_key(secrets, |secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
}
