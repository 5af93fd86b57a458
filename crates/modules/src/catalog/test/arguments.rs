//! Functions that show how arguments arrive.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use crate::Result;
use crate::machine::System;

/// How each argument looks in Python's notation.
///
/// ```text
/// rocksalt '*' test.arg_repr 1 "two" 3.1 txt="hello" wow='{a: 1, b: "hello"}'
/// ```
#[function("test.arg_repr", reads, repeatable)]
pub struct ArgRepr {
    /// Any arguments by position.
    args: Vec<Value>,
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for ArgRepr {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let comma = if self.args.len() == 1 { "," } else { "" };
        let list = Value::List(self.args).to_string();
        let tuple = format!("({}{comma})", &list[1..list.len() - 1]);
        Ok(Map::from_iter([
            ("args".into(), tuple.into()),
            ("kwargs".into(), Value::Map(self.kwargs).to_string().into()),
        ]))
    }
}

/// Of which type each argument is, by Python's names.
///
/// ```text
/// rocksalt '*' test.arg_type 1 'two' wow=3.1
/// ```
#[function("test.arg_type", reads, repeatable)]
pub struct ArgType {
    /// Any arguments by position.
    args: Vec<Value>,
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for ArgType {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let args: Vec<Value> = self.args.iter().map(python_type).collect();
        let kwargs: Map = self.kwargs.iter().map(|(name, value)| (name.clone(), python_type(value))).collect();
        Ok(Map::from_iter([("args".into(), args.into()), ("kwargs".into(), kwargs.into())]))
    }
}

fn python_type(value: &Value) -> Value {
    let name = match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::String(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
    };
    format!("<class '{name}'>").into()
}

/// The arguments by position, as they arrived.
///
/// ```text
/// rocksalt '*' test.args 1 two
/// ```
#[function("test.args", reads, repeatable)]
pub struct Args {
    /// Any arguments by position.
    args: Vec<Value>,
}

impl Function for Args {
    type Output = Vec<Value>;

    fn call(self, _: &dyn System) -> Result<Vec<Value>> {
        Ok(self.args)
    }
}

/// The arguments by name, as they arrived.
///
/// ```text
/// rocksalt '*' test.kwarg num=1 txt="two" env='{a: 1, b: "hello"}'
/// ```
#[function("test.kwarg", reads, repeatable)]
pub struct Kwarg {
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for Kwarg {
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Ok(self.kwargs)
    }
}
