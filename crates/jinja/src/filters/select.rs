//! The filters `map`, `select`, `reject` and the like.

use super::attribute::Path;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Value, quoted};

pub fn map(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let mut mapped = Vec::new();
    // A false value is accepted with any arguments, even wrong ones.
    if !value.truth()? {
        return Ok(Value::generator("sync_do_map", mapped));
    }
    if arguments.positional_left() == 0
        && let Some(attribute) = arguments.keyword("attribute")
    {
        let default = arguments.keyword("default");
        if let Some((name, _)) = arguments.keywords().first() {
            return Err(Error::filter_argument(format!("Unexpected keyword argument {}", quoted(name))));
        }
        let path = Path::new(Some(&attribute), default);
        for item in value.iterate()? {
            scope.charge(1)?;
            mapped.push(path.get(scope, &item?)?);
        }
        return Ok(Value::generator("sync_do_map", mapped));
    }
    let Some(name) = arguments.next_positional() else {
        return Err(Error::filter_argument("map requires a filter argument"));
    };
    let name = name.to_text()?;
    let arguments = FunctionArguments::new(arguments.rest(), arguments.keywords());
    for item in value.iterate()? {
        scope.charge(1)?;
        mapped.push(scope.filter(&name, item?, arguments.clone())?);
    }
    Ok(Value::generator("sync_do_map", mapped))
}

pub fn select(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    chosen(scope, value, arguments, false, true)
}

pub fn reject(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    chosen(scope, value, arguments, false, false)
}

pub fn selectattr(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    chosen(scope, value, arguments, true, true)
}

pub fn rejectattr(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    chosen(scope, value, arguments, true, false)
}

fn chosen(
    scope: &Scope<'_>,
    value: Value,
    mut arguments: FunctionArguments,
    by_attribute: bool,
    wanted: bool,
) -> Result<Value> {
    let mut chosen = Vec::new();
    // A false value is accepted with any arguments, even wrong ones.
    if !value.truth()? {
        return Ok(Value::generator("select_or_reject", chosen));
    }
    let path = if by_attribute {
        let attribute = arguments.next_positional();
        Path::new(Some(&attribute.ok_or_else(|| Error::filter_argument("Missing parameter for attribute name"))?), None)
    } else {
        Path::new(None, None)
    };
    let test = arguments.next_positional().map(|name| name.to_text()).transpose()?;
    let arguments = FunctionArguments::new(arguments.rest(), arguments.keywords());
    for item in value.iterate()? {
        scope.charge(1)?;
        let item = item?;
        let subject = path.get(scope, &item)?;
        let holds = match &test {
            Some(test) => scope.test(test, subject, arguments.clone())?,
            None => subject.truth()?,
        };
        if holds == wanted {
            chosen.push(item);
        }
    }
    Ok(Value::generator("select_or_reject", chosen))
}
