//! Jinja's tests, which follow `is`.

use num_bigint::BigInt;

use crate::arguments::FunctionArguments;
use crate::ast::Operator;
use crate::environment::TestFunction;
use crate::error::Result;
use crate::scope::Scope;
use crate::value::{Comparison, Value, arithmetic};

pub const TESTS: &[(&str, TestFunction)] = &[
    ("!=", |_, value, arguments| other(value, arguments, |a, b| Ok(!a.equals(b)?))),
    ("<", |_, value, arguments| ordered(value, arguments, Comparison::Less)),
    ("<=", |_, value, arguments| ordered(value, arguments, Comparison::LessOrEqual)),
    ("==", |_, value, arguments| other(value, arguments, Value::equals)),
    (">", |_, value, arguments| ordered(value, arguments, Comparison::Greater)),
    (">=", |_, value, arguments| ordered(value, arguments, Comparison::GreaterOrEqual)),
    ("boolean", |_, value, arguments| plain(arguments, matches!(value, Value::Bool(_)))),
    ("callable", |_, value, arguments| plain(arguments, value.is_callable() || value.is_undefined())),
    ("defined", |_, value, arguments| plain(arguments, !value.is_undefined())),
    ("divisibleby", divisible_by),
    ("eq", |_, value, arguments| other(value, arguments, Value::equals)),
    ("equalto", |_, value, arguments| other(value, arguments, Value::equals)),
    ("escaped", |_, value, arguments| plain(arguments, value.is_safe())),
    ("even", |scope, value, arguments| parity(scope, value, arguments, 0)),
    ("false", |_, value, arguments| plain(arguments, matches!(value, Value::Bool(false)))),
    ("filter", |scope, value, arguments| {
        plain(arguments, value.as_str().is_some_and(|name| scope.environment().filter(name).is_some()))
    }),
    ("float", |_, value, arguments| plain(arguments, matches!(value, Value::Float(_)))),
    ("ge", |_, value, arguments| ordered(value, arguments, Comparison::GreaterOrEqual)),
    ("greaterthan", |_, value, arguments| ordered(value, arguments, Comparison::Greater)),
    ("gt", |_, value, arguments| ordered(value, arguments, Comparison::Greater)),
    ("in", |_, value, arguments| other(value, arguments, |item, sequence| sequence.contains(item))),
    ("integer", |_, value, arguments| plain(arguments, matches!(value, Value::Int(_) | Value::BigInt(_)))),
    ("iterable", |_, value, arguments| {
        value.must_be_usable()?;
        plain(arguments, value.is_iterable())
    }),
    ("le", |_, value, arguments| ordered(value, arguments, Comparison::LessOrEqual)),
    ("lessthan", |_, value, arguments| ordered(value, arguments, Comparison::Less)),
    ("lower", |_, value, arguments| cased(value, arguments, char::is_uppercase, char::is_lowercase)),
    ("lt", |_, value, arguments| ordered(value, arguments, Comparison::Less)),
    ("mapping", |_, value, arguments| plain(arguments, is_mapping(&value))),
    ("ne", |_, value, arguments| other(value, arguments, |a, b| Ok(!a.equals(b)?))),
    ("none", |_, value, arguments| plain(arguments, value.is_none())),
    ("number", |_, value, arguments| {
        plain(arguments, matches!(value, Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_)))
    }),
    ("odd", |scope, value, arguments| parity(scope, value, arguments, 1)),
    ("sameas", |_, value, arguments| other(value, arguments, |a, b| Ok(a.same(b)))),
    ("sequence", |_, value, arguments| {
        // A sequence has a length and can be indexed.
        let indexed = match &value {
            Value::Object(object) => {
                object.len().is_some() && !matches!(object.type_name(), "dict_keys" | "dict_values" | "dict_items")
            }
            Value::Undefined(_) => {
                value.must_be_usable()?;
                true
            }
            Value::Set(_) => false,
            other => other.len().is_ok(),
        };
        plain(arguments, indexed)
    }),
    ("string", |_, value, arguments| plain(arguments, matches!(value, Value::String(_)))),
    ("test", |scope, value, arguments| {
        plain(arguments, value.as_str().is_some_and(|name| scope.environment().test(name).is_some()))
    }),
    ("true", |_, value, arguments| plain(arguments, matches!(value, Value::Bool(true)))),
    ("undefined", |_, value, arguments| plain(arguments, value.is_undefined())),
    ("upper", |_, value, arguments| cased(value, arguments, char::is_lowercase, char::is_uppercase)),
];

fn plain(arguments: FunctionArguments, holds: bool) -> Result<bool> {
    arguments.finish()?;
    Ok(holds)
}

fn is_mapping(value: &Value) -> bool {
    match value {
        Value::Dict(_) => true,
        Value::Object(object) => object.keys().is_some(),
        _ => false,
    }
}

fn other(
    value: Value,
    mut arguments: FunctionArguments,
    holds: impl Fn(&Value, &Value) -> Result<bool>,
) -> Result<bool> {
    if arguments.is_empty() && !matches!(arguments.function(), "in" | "sameas") {
        let message = format!("{} expected 2 arguments, got 1", arguments.function());
        return Err(crate::error::Error::type_error(message));
    }
    let other = arguments.take("other")?;
    arguments.finish()?;
    holds(&value, &other)
}

fn ordered(value: Value, arguments: FunctionArguments, comparison: Comparison) -> Result<bool> {
    other(value, arguments, |a, b| a.compares(comparison, b))
}

fn parity(scope: &Scope<'_>, value: Value, arguments: FunctionArguments, wanted: i64) -> Result<bool> {
    arguments.finish()?;
    value.must_be_defined()?;
    arithmetic::binary(scope, Operator::Modulo, value, Value::Int(2))?.equals(&Value::Int(wanted))
}

fn divisible_by(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<bool> {
    let by = arguments.take("num")?;
    arguments.finish()?;
    value.must_be_defined()?;
    by.must_be_defined()?;
    arithmetic::binary(scope, Operator::Modulo, value, by)?.equals(&Value::integer(BigInt::from(0)))
}

/// Like `str.islower` and `str.isupper` on the value's text.
fn cased(value: Value, arguments: FunctionArguments, not: fn(char) -> bool, some: fn(char) -> bool) -> Result<bool> {
    arguments.finish()?;
    let text = value.to_text()?;
    Ok(!text.chars().any(not) && text.chars().any(some))
}
