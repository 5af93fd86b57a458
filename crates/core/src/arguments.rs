//! Binds the arguments of a call to the parameters of its function.

use crate::call::{ArgumentMisfit, Call, Problem, ProblemKind};
use crate::nearest;
use crate::value::Map;

/// The field that takes all other named arguments, as a map.
pub const NAMED: &str = "kwargs";

/// Binds positional and named arguments to names.
///
/// `rest` names the field for additional positional arguments; fields after it can only be given by name.
pub fn bind(fields: &[&str], rest: &str, call: Call) -> Result<Map, Problem> {
    let fault = |text: String| {
        Problem::new(ProblemKind::Arguments, format!("{}: {text}", call.function)).hint(usage(&call.function))
    };
    let takes_rest = fields.contains(&rest);
    let takes_named = fields.contains(&NAMED);
    let names: Vec<&str> = fields.iter().copied().filter(|name| *name != NAMED).collect();
    let positional: Vec<&str> = names.iter().copied().take_while(|name| *name != rest).collect();
    let mut bound = Map::new();
    let mut further = Vec::new();
    for (index, value) in call.args.iter().enumerate() {
        match positional.get(index) {
            Some(name) => {
                bound.insert(*name, value.clone());
            }
            None if takes_rest => further.push(value.clone()),
            None => {
                let (most, given) = (positional.len(), call.args.len());
                return Err(fault(format!("takes at most {most} arguments by position, got {given}"))
                    .misfit(Some(ArgumentMisfit::TooMany { most: most as u32, given: given as u32 })));
            }
        }
    }
    if takes_rest && (!further.is_empty() || !call.kwargs.contains_key(rest)) {
        bound.insert(rest, further);
    }
    let mut named = Map::new();
    for (key, value) in call.kwargs.iter() {
        let name = key.as_str().unwrap_or_default();
        if names.contains(&name) {
            if bound.contains_key(name) {
                return Err(fault(format!("argument '{name}' was given twice, by position and by name")));
            }
            bound.insert(name, value.clone());
        } else if takes_named {
            named.insert(key.clone(), value.clone());
        } else if !name.starts_with("__") {
            // Names that start with two underscores are Salt's own (`__pub_user` …). Clients send them along, so they
            // are ignored.
            return Err(fault(format!("has no argument '{name}'{}", nearest::hint(name, names.iter().copied()))));
        }
    }
    if takes_named {
        bound.insert(NAMED, named);
    }
    Ok(bound)
}

/// The hint that names the function's documentation.
pub fn usage(function: &str) -> String {
    format!("see `rocksalt doc {function}`")
}
