//! Checks a call before it is sent, and answers calls about documentation on the controller itself.

use rocksalt_core::{Call, Return, nearest};
use rocksalt_modules::catalog;

use crate::failure::Failure;

/// The function exists and takes such arguments.
pub fn check(call: &Call) -> Result<(), Failure> {
    let entry = catalog::get(&call.function).map_err(|_| {
        let known: Vec<&str> = catalog::all().map(|entry| entry.name).collect();
        let near = nearest::hint(&call.function, known);
        let hint = if call.function.contains('.') {
            "`rocksalt doc` lists what there is"
        } else {
            "a function is written noun.verb, as in test.ping"
        };
        Failure::usage(format!("there is no function '{}'{near}", call.function)).hint(hint)
    })?;
    Ok(entry.check(call.clone())?)
}

/// The answer of a function that needs no target: documentation is on the controller only.
pub fn local_answer(call: &Call) -> Option<Return> {
    if !call.function.starts_with("sys.") {
        return None;
    }
    Some(catalog::call(call.clone(), &rocksalt_modules::machine::Fake::new()))
}
