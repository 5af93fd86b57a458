//! Filters that combine items: Python's `itertools` and `zip`.

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;

pub(super) fn combinations(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    let (pool, length) = (value.to_vec()?, length(arguments, "combinations")?);
    choose(scope, "combinations", &pool, length, |chosen, next| chosen.last().is_none_or(|last| next > *last))
}

pub(super) fn combinations_with_replacement(
    scope: &Scope<'_>,
    value: Value,
    arguments: FunctionArguments,
) -> Result<Value> {
    let (pool, length) = (value.to_vec()?, length(arguments, "combinations_with_replacement")?);
    choose(scope, "combinations_with_replacement", &pool, length, |chosen, next| {
        chosen.last().is_none_or(|last| next >= *last)
    })
}

pub(super) fn permutations(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let pool = value.to_vec()?;
    let length = match arguments.optional("r")? {
        Some(length) if !length.is_none() => size(&length)?,
        _ => pool.len(),
    };
    arguments.finish()?;
    choose(scope, "permutations", &pool, length, |chosen, next| !chosen.contains(&next))
}

fn length(mut arguments: FunctionArguments, function: &str) -> Result<usize> {
    let Some(length) = arguments.optional("r")? else {
        return Err(Error::type_error(format!("{function}() missing required argument 'r' (pos 2)")));
    };
    arguments.finish()?;
    size(&length)
}

fn size(value: &Value) -> Result<usize> {
    usize::try_from(value.to_index()?).map_err(|_| Error::value_error("r must be non-negative"))
}

/// All ways to choose `length` items in order, where `fits` says which item may follow the chosen ones.
fn choose(
    scope: &Scope<'_>,
    name: &'static str,
    pool: &[Value],
    length: usize,
    fits: impl Fn(&[usize], usize) -> bool,
) -> Result<Value> {
    let mut out = Vec::new();
    // If more items are wanted than there are, nothing fits; the search would find that out only at its end.
    if length > pool.len() && !fits(&[0], 0) {
        return Ok(Value::generator(name, out));
    }
    scope.check_size(length.saturating_mul(16))?;
    let mut chosen: Vec<usize> = Vec::new();
    let mut next = 0;
    loop {
        // `fits` looks at all items chosen so far.
        scope.charge(1 + chosen.len() / 16)?;
        if chosen.len() == length {
            scope.charge(length)?;
            out.push(Value::tuple(chosen.iter().map(|index| pool[*index].clone()).collect()));
        } else if next < pool.len() {
            if fits(&chosen, next) {
                chosen.push(next);
                next = 0;
            } else {
                next += 1;
            }
            continue;
        }
        match chosen.pop() {
            Some(last) => next = last + 1,
            None => break,
        }
    }
    Ok(Value::generator(name, out))
}

pub(super) fn product(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let repeat = arguments.keyword("repeat").map_or(Ok(1), |repeat| size(&repeat))?;
    let mut pools = vec![value.to_vec()?];
    for given in arguments.rest() {
        pools.push(given.to_vec()?);
    }
    arguments.finish()?;
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    for _ in 0..repeat {
        for pool in &pools {
            let length = rows.first().map_or(0, Vec::len) + 1;
            scope.charge(rows.len().saturating_mul(pool.len()).saturating_mul(length).saturating_add(1))?;
            rows = rows
                .iter()
                .flat_map(|row| pool.iter().map(|item| row.iter().cloned().chain([item.clone()]).collect()))
                .collect();
        }
    }
    Ok(Value::generator("product", rows.into_iter().map(Value::tuple).collect()))
}

pub(super) fn compress(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let selectors = arguments.take("selectors")?.to_vec()?;
    arguments.finish()?;
    let mut kept = Vec::new();
    for (item, selector) in value.to_vec()?.into_iter().zip(selectors) {
        if selector.truth()? {
            kept.push(item);
        }
    }
    Ok(Value::generator("compress", kept))
}

pub(super) fn zip(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let columns = columns(&value, &mut arguments)?;
    arguments.finish()?;
    let length = columns.iter().map(Vec::len).min().unwrap_or(0);
    let rows = (0..length).map(|row| Value::tuple(columns.iter().map(|column| column[row].clone()).collect()));
    Ok(Value::generator("zip", rows.collect()))
}

pub(super) fn zip_longest(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let columns = columns(&value, &mut arguments)?;
    let fill = arguments.keyword("fillvalue").unwrap_or(Value::None);
    arguments.finish()?;
    let length = columns.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |column: &Vec<Value>, row: usize| column.get(row).unwrap_or(&fill).clone();
    let rows = (0..length).map(|row| Value::tuple(columns.iter().map(|column| cell(column, row)).collect()));
    Ok(Value::generator("zip_longest", rows.collect()))
}

fn columns(value: &Value, arguments: &mut FunctionArguments) -> Result<Vec<Vec<Value>>> {
    let mut columns = vec![value.to_vec()?];
    for given in arguments.rest() {
        columns.push(given.to_vec()?);
    }
    Ok(columns)
}
