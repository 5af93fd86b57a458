//! Checks a call before it is sent, and answers calls about documentation on the controller itself.

/// Answers functions that need no target: only the controller has the documentation.
pub use rocksalt_catalog::sys::answer as local_answer;
use rocksalt_core::{Call, nearest};

use crate::failure::Failure;

/// Checks that the function exists and accepts these arguments.
pub fn check(call: &Call) -> Result<(), Failure> {
    let function = rocksalt_catalog::get(&call.function).map_err(|_| {
        let known: Vec<&str> = rocksalt_catalog::FUNCTIONS.iter().map(|one| one.name).collect();
        let near = nearest::hint(&call.function, known);
        let hint = if call.function.contains('.') {
            "`rocksalt doc` lists what there is"
        } else {
            "a function is written noun.verb, as in test.ping"
        };
        Failure::usage(format!("there is no function '{}'{near}", call.function)).hint(hint)
    })?;
    Ok(function.check(call.clone())?)
}
