//! `test.check_pillar`: checks that the pillar has the requested keys.

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::{FixedVerdict, Step, Verdict};
use crate::machine::Probe;
use crate::{Error, Result};

/// Fails unless the pillar has these keys, with values of these kinds.
///
/// ```yaml
/// enough in the pillar:
///   test.check_pillar:
///     - present:
///       - nginx:workers
///     - integer: nginx:port
/// ```
///
/// A key is a path with colons, as in `pillar.get`.
#[state("test.check_pillar", watches, strict)]
pub struct CheckPillar {
    /// These have any value but null.
    present: Value,
    /// These are true or false.
    boolean: Value,
    /// These are integers.
    integer: Value,
    /// These are texts.
    string: Value,
    /// These are lists.
    listing: Value,
    /// These are maps.
    dictionary: Value,
    /// Say which keys are as they must be, too.
    verbose: Value,
}

/// Python's name of a type, and its test.
type PythonType = (&'static str, fn(&Value) -> bool);

const KINDS: [PythonType; 6] = [
    ("None", |_| true),
    ("<class 'bool'>", |value| matches!(value, Value::Bool(_))),
    ("<class 'int'>", |value| matches!(value, Value::Bool(_) | Value::Int(_) | Value::BigInt(_))),
    ("(<class 'str'>,)", |value| matches!(value, Value::String(_))),
    ("<class 'list'>", |value| matches!(value, Value::List(_))),
    ("<class 'dict'>", |value| matches!(value, Value::Map(_))),
];

impl FixedVerdict for CheckPillar {
    fn says(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Verdict> {
        let wanted = [&self.present, &self.boolean, &self.integer, &self.string, &self.listing, &self.dictionary];
        if !wanted.iter().any(|keys| keys.truth()) {
            return Err(Error::arguments("Missing required argument text.").hint(
                "name at least one key under `present`, `boolean`, `integer`, `string`, `listing` or `dictionary`",
            ));
        }
        let pillar = Value::Map(machine.pillar()?.as_ref().clone());
        // By key, so that a key that is requested twice is reported once, with its last result.
        let (mut failed, mut fine) = (Vec::new(), Vec::new());
        for (keys, (kind, fits)) in wanted.into_iter().zip(KINDS) {
            for key in list(keys)? {
                match pillar.walk(&key, ":").filter(|value| !value.is_null()) {
                    None => put(&mut failed, key, None),
                    Some(value) if fits(value) => put(&mut fine, key, Some(kind)),
                    Some(_) => put(&mut failed, key, Some(kind)),
                }
            }
        }
        let mut comment = String::new();
        for (key, kind) in &failed {
            comment += &match kind {
                None => format!("Pillar key \"{key}\" is missing.\n"),
                Some(kind) => format!("Pillar key \"{key}\" is not {kind}.\n"),
            };
        }
        if self.verbose.truth() && !fine.is_empty() {
            comment += "Those keys passed the check:\n";
            for (key, kind) in &fine {
                comment += &format!("- {key} ({})\n", kind.unwrap_or_default());
            }
        }
        Ok(if failed.is_empty() { Verdict::good(comment) } else { Verdict::bad(comment) })
    }
}

type PillarFindings = Vec<(String, Option<&'static str>)>;

fn put(found: &mut PillarFindings, key: String, kind: Option<&'static str>) {
    match found.iter_mut().find(|(known, _)| *known == key) {
        Some(entry) => entry.1 = kind,
        None => found.push((key, kind)),
    }
}

fn list(keys: &Value) -> Result<Vec<String>> {
    match keys {
        Value::List(keys) => Ok(keys.iter().map(ToString::to_string).collect()),
        Value::String(key) if !key.is_empty() => Ok(vec![key.clone()]),
        other if !other.truth() => Ok(Vec::new()),
        other => Err(Error::arguments(format!("expected a key or a list of keys, found {}", other.kind()))),
    }
}
