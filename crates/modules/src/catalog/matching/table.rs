//! Tables whose keys are target expressions.

use rocksalt_core::target::{DELIMITER, TargetKind};
use rocksalt_core::{Map, Value, merge};
use rocksalt_macros::function;

use super::Function;
use super::target::matches;
use crate::machine::System;
use crate::{Error, Result};

fn compound() -> String {
    TargetKind::Compound.name().into()
}

/// Parses the kind of targets in a table's keys; Salt calls lists `list_` here.
fn kind(name: &str) -> Result<TargetKind> {
    TargetKind::from_name(if name == "list_" { "list" } else { name })
        .map_err(|error| Error::arguments(error.to_string()))
}

/// The first entry of a table whose key matches this target.
///
/// ```text
/// rocksalt '*' match.filter_by '{web*: app, db*: sql}' tgt_type=glob
/// ```
#[function("match.filter_by", reads, repeatable)]
pub struct FilterBy {
    /// The table; its keys are target expressions.
    #[required]
    lookup: Map,
    /// The kind of target expression.
    #[default(compound())]
    tgt_type: String,
    /// The id to match; by default this target's.
    minion_id: Option<String>,
    /// A map that is merged over the entry.
    merge: Value,
    /// Join lists when merging, instead of replacing them.
    merge_lists: bool,
    /// The key of the entry that is used if none matches.
    #[default("default")]
    default: Value,
}

impl Function for FilterBy {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let kind = kind(&self.tgt_type)?;
        for (target, entry) in self.lookup.iter() {
            if matches(machine, kind, &target.to_string(), DELIMITER, self.minion_id.as_deref())? {
                return merged(entry.clone(), self.merge, self.merge_lists);
            }
        }
        Ok(self.lookup.get_value(&self.default).cloned().unwrap_or_default())
    }
}

fn merged(entry: Value, over: Value, merge_lists: bool) -> Result<Value> {
    match (entry, over) {
        (entry, over) if !over.truth() => Ok(entry),
        (Value::Null, over @ Value::Map(_)) => Ok(over),
        (Value::Map(mut entry), Value::Map(over)) => {
            merge::update(&mut entry, over, merge_lists);
            Ok(Value::Map(entry))
        }
        (_, Value::Map(_)) => Err(Error::failed(merge::NotMaps.to_string())),
        _ => Err(Error::failed("filter_by merge argument must be a dictionary.")),
    }
}

/// The keys of a table whose list of target expressions has one that matches this target; null if there are none.
///
/// ```text
/// rocksalt '*' match.search_by '{web: [node1, "web*"], db: [node2]}'
/// ```
#[function("match.search_by", reads, repeatable)]
pub struct SearchBy {
    /// The table: lists of target expressions.
    #[required]
    lookup: Map,
    /// The kind of target expression.
    #[default(compound())]
    tgt_type: String,
    /// The id to match; by default this target's.
    minion_id: Option<String>,
}

impl Function for SearchBy {
    type Output = Option<Vec<Value>>;

    fn call(self, machine: &dyn System) -> Result<Option<Vec<Value>>> {
        let kind = kind(&self.tgt_type)?;
        let mut found = Vec::new();
        for (key, targets) in self.lookup.iter() {
            // A key applies once for each of its targets that matches.
            for target in targets.as_list().unwrap_or(std::slice::from_ref(targets)) {
                if matches(machine, kind, &target.to_string(), DELIMITER, self.minion_id.as_deref())? {
                    found.push(key.clone());
                }
            }
        }
        Ok(if found.is_empty() { None } else { Some(found) })
    }
}

/// The value of the first condition that holds: conditions and values in turn, and a default at the end.
///
/// ```text
/// rocksalt '*' match.ifelse 'web*' app 'db*' sql none
/// ```
#[function("match.ifelse", reads, repeatable)]
pub struct Ifelse {
    /// A condition is a target expression, or true or false.
    args: Vec<Value>,
    /// The kind of target expression.
    #[default(compound())]
    tgt_type: String,
    /// The id to match; by default this target's.
    minion_id: Option<String>,
    /// A map that is merged over the value.
    merge: Value,
    /// Join lists when merging, instead of replacing them.
    merge_lists: bool,
}

impl Function for Ifelse {
    type Output = Value;

    fn call(mut self, machine: &dyn System) -> Result<Value> {
        if self.args.len().is_multiple_of(2) {
            return Err(Error::arguments("The ifelse function must have an odd number of arguments!"));
        }
        let kind = kind(&self.tgt_type)?;
        let last = self.args.pop().unwrap_or_default();
        let (pairs, _) = self.args.as_chunks::<2>();
        for [condition, value] in pairs {
            let holds = match condition {
                Value::Bool(holds) => *holds,
                target => matches(machine, kind, &target.to_string(), DELIMITER, self.minion_id.as_deref())?,
            };
            if holds {
                return merged(value.clone(), self.merge, self.merge_lists);
            }
        }
        Ok(last)
    }
}
