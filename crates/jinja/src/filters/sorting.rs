//! Filters that compare items: `sort`, `unique`, `min`, `groupby` and the like.

use std::cmp::Ordering;

use super::attribute::Path;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Comparison, PythonObject, PythonSet, Slice, Value};
use rocksalt_core::sort::sort_by;

/// Sorts stably, as Python does; fails for items that can't be compared.
pub fn sorted(
    scope: &Scope<'_>,
    items: Vec<Value>,
    reverse: bool,
    key: impl Fn(&Value) -> Result<Value>,
) -> Result<Vec<Value>> {
    scope.charge(items.len() * 4)?;
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        keyed.push((key(&item)?, item));
    }
    let mut failed = None;
    sort_by(&mut keyed, |(a, _), (b, _)| {
        if failed.is_some() {
            return Ordering::Equal;
        }
        // As in Python, the later item is compared with the earlier one first, which shows in the error message.
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        let less = |a: &Value, b: &Value| a.compares(Comparison::Less, b);
        let ordering = less(a, b).and_then(|is_less| match is_less {
            true => Ok(Ordering::Less),
            false => less(b, a).map(|greater| if greater { Ordering::Greater } else { Ordering::Equal }),
        });
        match ordering {
            Ok(ordering) => ordering,
            Err(error) => {
                failed = Some(error);
                Ordering::Equal
            }
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(keyed.into_iter().map(|(_, item)| item).collect()),
    }
}

/// Lowercases a string unless case matters.
fn folded(value: Value, case_sensitive: bool) -> Value {
    match &value {
        Value::String(text) if !case_sensitive => text.to_lowercase().into(),
        _ => value,
    }
}

pub fn sort(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let reverse = arguments.flag("reverse", false)?;
    let case_sensitive = arguments.flag("case_sensitive", false)?;
    let attribute = arguments.optional("attribute")?;
    arguments.finish()?;
    // Several attributes are separated by commas.
    let paths: Vec<Path> = match &attribute {
        Some(Value::String(text)) if text.contains(',') => {
            text.split(',').map(|part| Path::new(Some(&part.into()), None)).collect()
        }
        other => vec![Path::new(other.as_ref(), None)],
    };
    let key = |item: &Value| {
        if let [single] = &paths[..] {
            return Ok(folded(single.get(scope, item)?, case_sensitive));
        }
        let parts = paths.iter().map(|path| Ok(folded(path.get(scope, item)?, case_sensitive)));
        Ok(Value::list(parts.collect::<Result<_>>()?))
    };
    Ok(Value::list(sorted(scope, value.to_vec()?, reverse, key)?))
}

pub fn dictsort(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let case_sensitive = arguments.flag("case_sensitive", false)?;
    let by = arguments.text("by", "key")?;
    let reverse = arguments.flag("reverse", false)?;
    arguments.finish()?;
    let position = match by.as_str() {
        "key" => 0,
        "value" => 1,
        _ => return Err(Error::filter_argument("You can only sort by either \"key\" or \"value\"")),
    };
    let items = match &value {
        Value::Dict(_) => crate::methods::pairs(&value)?,
        Value::Object(object) if object.keys().is_some() => crate::methods::pairs(&value)?,
        other => {
            other.must_be_defined()?;
            let message = format!("'{}' object has no attribute 'items'", other.type_name());
            return Err(Error::exception("AttributeError", message));
        }
    };
    let pairs = items.into_iter().map(|(key, value)| Value::tuple(vec![key, value])).collect();
    let key = |pair: &Value| Ok(folded(pair.to_vec()?.swap_remove(position), case_sensitive));
    Ok(Value::list(sorted(scope, pairs, reverse, key)?))
}

pub fn unique(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let case_sensitive = arguments.flag("case_sensitive", false)?;
    let path = Path::new(arguments.optional("attribute")?.as_ref(), None);
    arguments.finish()?;
    let mut seen = PythonSet::new();
    let mut kept = Vec::new();
    for item in value.iterate()? {
        scope.charge(1)?;
        let item = item?;
        if seen.insert(folded(path.get(scope, &item)?, case_sensitive))? {
            kept.push(item);
        }
    }
    Ok(Value::generator("do_unique", kept))
}

pub fn min(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    extreme(scope, &value, arguments, Comparison::Less)
}

pub fn max(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    extreme(scope, &value, arguments, Comparison::Greater)
}

fn extreme(scope: &Scope<'_>, value: &Value, mut arguments: FunctionArguments, wanted: Comparison) -> Result<Value> {
    let case_sensitive = arguments.flag("case_sensitive", false)?;
    let path = Path::new(arguments.optional("attribute")?.as_ref(), None);
    arguments.finish()?;
    let mut best: Option<(Value, Value)> = None;
    for item in value.iterate()? {
        scope.charge(1)?;
        let item = item?;
        let key = folded(path.get(scope, &item)?, case_sensitive);
        let better = match &best {
            Some((best, _)) => key.compares(wanted, best)?,
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or_else(|| scope.undefined("No aggregated item, sequence was empty."), |(_, item)| item))
}

pub fn groupby(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let attribute = arguments.take("attribute")?;
    let default = arguments.optional("default")?;
    let case_sensitive = arguments.flag("case_sensitive", false)?;
    arguments.finish()?;
    let path = Path::new(Some(&attribute), default);
    let key = |item: &Value| Ok(folded(path.get(scope, item)?, case_sensitive));
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for item in sorted(scope, value.to_vec()?, false, key)? {
        let folded = key(&item)?;
        match groups.last_mut() {
            Some((last, _, items)) if last.equals(&folded)? => items.push(item),
            _ => groups.push((folded, path.get(scope, &item)?, vec![item])),
        }
    }
    let groups =
        groups.into_iter().map(|(_, grouper, items)| Value::object(ItemGroup { parts: [grouper, Value::list(items)] }));
    Ok(Value::list(groups.collect()))
}

/// A tuple with named fields.
struct ItemGroup {
    parts: [Value; 2],
}

impl PythonObject for ItemGroup {
    fn type_name(&self) -> &str {
        "_GroupTuple"
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        match name {
            "grouper" => Some(self.parts[0].clone()),
            "list" => Some(self.parts[1].clone()),
            _ => None,
        }
    }

    fn get_item(&self, key: &Value) -> Result<Option<Value>> {
        Value::tuple(self.parts.to_vec()).get_item(key)
    }

    fn slice(&self, slice: &Slice) -> Option<Result<Value>> {
        Some(Value::tuple(self.parts.to_vec()).slice(slice))
    }

    fn len(&self) -> Option<usize> {
        Some(2)
    }

    fn iterate(&self) -> Option<Vec<Value>> {
        Some(self.parts.to_vec())
    }

    fn equals(&self, other: &Value) -> Option<bool> {
        let own = Value::tuple(self.parts.to_vec());
        match other.downcast::<ItemGroup>() {
            Some(other) => own.equals(&Value::tuple(other.parts.to_vec())).ok(),
            None => own.equals(other).ok(),
        }
    }

    fn repr(&self) -> String {
        Value::tuple(self.parts.to_vec()).repr().unwrap_or_default()
    }
}
