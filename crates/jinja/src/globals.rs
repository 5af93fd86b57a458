//! The functions that every template has: `range`, `dict`, `namespace` and so on.

mod cycler;
mod lipsum;
mod namespace;
mod range;

pub use range::RangeObject;

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::methods;
use crate::scope::Scope;
use crate::value::{Dict, PythonObject, Value};

/// All of Jinja's global functions by name.
pub fn all() -> impl Iterator<Item = (&'static str, Value)> {
    FUNCTIONS.iter().map(|(name, call)| (*name, Value::object(GlobalFunction { name, call: *call })))
}

type GlobalCall = fn(&Scope<'_>, FunctionArguments) -> Result<Value>;

const FUNCTIONS: &[(&str, GlobalCall)] = &[
    ("cycler", cycler::cycler),
    ("dict", dict),
    ("joiner", cycler::joiner),
    ("lipsum", lipsum::lipsum),
    ("namespace", namespace::namespace),
    ("range", range),
];

/// The largest number of items in a `range`: Jinja's sandbox has a limit too, but a lower one.
const MAX_RANGE: u64 = 10_000_000;

struct GlobalFunction {
    name: &'static str,
    call: GlobalCall,
}

impl PythonObject for GlobalFunction {
    fn type_name(&self) -> &str {
        if matches!(self.name, "lipsum") { "function" } else { "type" }
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn get_attribute(&self, name: &str) -> Option<Value> {
        // `dict.fromkeys` is a method of the type.
        if self.name == "dict" && name == "fromkeys" { methods::bound(&Value::dict(Dict::new()), name) } else { None }
    }

    fn call(&self, scope: &Scope<'_>, arguments: FunctionArguments) -> Result<Value> {
        (self.call)(scope, arguments.named(self.name))
    }

    fn repr(&self) -> String {
        match self.name {
            "range" | "dict" => format!("<class '{}'>", self.name),
            "lipsum" => format!("<function generate_lorem_ipsum at {self:p}>"),
            "namespace" => "<class 'jinja2.utils.Namespace'>".to_owned(),
            "cycler" => "<class 'jinja2.utils.Cycler'>".to_owned(),
            _ => "<class 'jinja2.utils.Joiner'>".to_owned(),
        }
    }
}

fn dict(scope: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let dict = Value::dict(Dict::new());
    if arguments.positional_left() > 1 {
        let given = arguments.positional_left();
        return Err(Error::type_error(format!("dict expected at most 1 argument, got {given}")));
    }
    let update = FunctionArguments::new(arguments.rest(), arguments.keywords());
    if let Some(method) = methods::find(&dict, "update") {
        method(scope, &dict, update)?;
    }
    Ok(dict)
}

fn range(_: &Scope<'_>, mut arguments: FunctionArguments) -> Result<Value> {
    let given = arguments.rest();
    arguments.finish()?;
    let numbers: Vec<i64> = given.iter().map(Value::to_index).collect::<Result<_>>()?;
    let range = match numbers[..] {
        [stop] => RangeObject::new(0, stop, 1)?,
        [start, stop] => RangeObject::new(start, stop, 1)?,
        [start, stop, step] => RangeObject::new(start, stop, step)?,
        [] => return Err(Error::type_error("range expected at least 1 argument, got 0")),
        _ => return Err(Error::type_error(format!("range expected at most 3 arguments, got {}", numbers.len()))),
    };
    if range.count() > MAX_RANGE {
        return Err(Error::limit(format!("a range of {} items is too large", range.count()))
            .with_hint(format!("at most {MAX_RANGE}")));
    }
    Ok(Value::object(range))
}
