//! Filters on whole sequences.

use super::attribute::Path;
use super::escape;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Generator, Value};

pub fn length(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(value.len()?.into())
}

/// Replaces an undefined value, and also a false one if the second argument is true.
pub fn default(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let default = arguments.or("default_value", "")?;
    let boolean = arguments.flag("boolean", false)?;
    arguments.finish()?;
    if value.is_undefined() || (boolean && !value.truth()?) {
        return Ok(default);
    }
    Ok(value)
}

pub fn first(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    match value.iterate()?.next() {
        Some(item) => item,
        None => Ok(scope.undefined("No first item, sequence was empty.")),
    }
}

pub fn last(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    not_reversible(&value)?;
    let last = match &value {
        Value::List(items) | Value::Tuple(items) => items.borrow().last().cloned(),
        other => other.to_vec()?.pop(),
    };
    Ok(last.unwrap_or_else(|| scope.undefined("No last item, sequence was empty.")))
}

fn not_reversible(value: &Value) -> Result<()> {
    let plain = matches!(
        value,
        Value::Set(_) | Value::None | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_)
    );
    if plain || value.downcast::<Generator>().is_some() {
        return Err(Error::type_error(format!("'{}' object is not reversible", value.type_name())));
    }
    Ok(())
}

pub fn random(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let items = value.to_vec()?;
    if items.is_empty() {
        return Ok(scope.undefined("No random item, sequence was empty."));
    }
    let index = scope.environment().random()? % items.len() as u64;
    Ok(items[index as usize].clone())
}

pub fn reverse(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    match &value {
        Value::String(text) => {
            let reversed: String = text.chars().rev().collect();
            Ok(if text.is_safe() { Value::safe(reversed) } else { reversed.into() })
        }
        other => {
            if !other.is_iterable() {
                return Err(Error::filter_argument("argument must be iterable"));
            }
            let mut items = other.to_vec()?;
            items.reverse();
            let function = if matches!(other, Value::List(_)) { "list_reverseiterator" } else { "reversed" };
            // A value that can't be iterated backwards becomes a list first, and remains one.
            let is_list = matches!(other, Value::Set(_)) || other.downcast::<Generator>().is_some();
            Ok(if is_list { Value::list(items) } else { Value::generator(function, items) })
        }
    }
}

pub fn list(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let items = value.iterate()?;
    scope.charge(items.remaining())?;
    Ok(Value::list(items.collect::<Result<_>>()?))
}

pub fn items(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let pairs = match &value {
        Value::Undefined(_) => Vec::new(),
        Value::Dict(_) => crate::methods::pairs(&value)?,
        Value::Object(object) if object.keys().is_some() => crate::methods::pairs(&value)?,
        _ => return Err(Error::type_error("Can only get item pairs from a mapping.")),
    };
    let pairs = pairs.into_iter().map(|(key, value)| Value::tuple(vec![key, value])).collect();
    Ok(Value::generator("do_items", pairs))
}

pub fn join(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let separator = arguments.or("d", "")?;
    let attribute = arguments.optional("attribute")?;
    arguments.finish()?;
    let path = Path::new(attribute.as_ref(), None);
    let mut items = Vec::new();
    for item in value.iterate()? {
        scope.charge(1)?;
        items.push(path.get(scope, &item?)?);
    }
    let safe = scope.autoescape() && (separator.is_safe() || items.iter().any(Value::is_safe));
    let separator = if safe { escape::escaped(&separator)? } else { separator.to_text()? };
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(&separator);
        }
        if safe {
            escape::write_escaped(item, &mut out)?;
        } else {
            item.write_text(&mut out)?;
        }
        if out.len() > 1 << 16 {
            scope.check_size(out.len())?;
        }
    }
    Ok(if safe { Value::safe(out) } else { out.into() })
}

/// Groups items into lists of `linecount` items.
pub fn batch(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let count = arguments.take("linecount")?.to_index()?;
    let fill = arguments.optional("fill_with")?.filter(|fill| !fill.is_none());
    arguments.finish()?;
    let mut batches: Vec<Value> = Vec::new();
    let mut batch: Vec<Value> = Vec::new();
    for item in value.iterate()? {
        scope.charge(1)?;
        if batch.len() as i64 == count {
            batches.push(Value::list(std::mem::take(&mut batch)));
        }
        batch.push(item?);
    }
    if !batch.is_empty() {
        if let Some(fill) = fill {
            let missing = usize::try_from(count).unwrap_or(0).saturating_sub(batch.len());
            scope.charge(missing)?;
            batch.extend(std::iter::repeat_n(fill, missing));
        }
        batches.push(Value::list(batch));
    }
    Ok(Value::generator("do_batch", batches))
}

/// Distributes items over `slices` lists; the first ones get one more if they don't divide evenly.
pub fn slice(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let count = arguments.take("slices")?.to_index()?;
    let fill = arguments.optional("fill_with")?.filter(|fill| !fill.is_none());
    arguments.finish()?;
    let items = value.to_vec()?;
    if count == 0 {
        return Err(Error::exception("ZeroDivisionError", "integer division or modulo by zero"));
    }
    let count = usize::try_from(count).unwrap_or(0);
    scope.charge(count.saturating_add(items.len()))?;
    let (each, longer) = (items.len().checked_div(count).unwrap_or(0), items.len().checked_rem(count).unwrap_or(0));
    let mut slices = Vec::new();
    let mut at = 0;
    for index in 0..count {
        let length = each + usize::from(index < longer);
        let mut slice: Vec<Value> = items[at..at + length].to_vec();
        at += length;
        if let Some(fill) = &fill
            && index >= longer
        {
            slice.push(fill.clone());
        }
        slices.push(Value::list(slice));
    }
    Ok(Value::generator("sync_do_slice", slices))
}
