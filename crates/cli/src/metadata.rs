//! Metadata by which a job can be found: `--metadata`, and Salt's `metadata` among a function's arguments.

use rocksalt_core::{Call, Map, Value};

use crate::arguments;
use crate::commands::state;
use crate::failure::Failure;

/// The job's metadata. Removes `metadata` from the call, unless the function itself has that argument.
pub fn of(inherited: &Value, words: &[String], call: &mut Call) -> Result<Value, Failure> {
    let mut all = inherited.as_map().cloned().unwrap_or_default();
    if let Some(Value::Map(given)) = call.kwargs.get("metadata")
        && !takes_metadata(call)
    {
        all.extend(given.clone());
        call.kwargs.remove("metadata");
    }
    all.extend(parse("--metadata", words)?);
    Ok(if all.is_empty() { Value::Null } else { all.into() })
}

/// Parses words: each is `key=value`, or a map.
pub fn parse(option: &str, words: &[String]) -> Result<Map, Failure> {
    let mut all = Map::new();
    for word in words {
        let (args, kwargs) = arguments::parse(std::slice::from_ref(word)).map_err(|error| Failure::caused(&error))?;
        match (&args[..], kwargs.is_empty()) {
            ([], false) => all.extend(kwargs),
            _ => match state::data(option, word)? {
                Value::Map(map) => all.extend(map),
                other => {
                    return Err(Failure::usage(format!("{option} takes key=value or a map, not {}", other.kind()))
                        .hint(format!("as in {option} ticket=4711")));
                }
            },
        }
    }
    Ok(all)
}

/// Whether the function itself has an argument of that name.
fn takes_metadata(call: &Call) -> bool {
    let Some(function) = rocksalt_catalog::find(&call.function) else { return false };
    let mut without = call.clone();
    without.kwargs.remove("metadata");
    function.check(call.clone()).is_ok() || function.check(without).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_taken_out_of_a_call_that_has_no_use_for_it() {
        let given = Map::from_iter([("a".into(), 1.into())]);
        let mut call = Call::new("test.ping").kwarg("metadata", given.clone());
        let all = of(&Value::Null, &["b=x".into(), "{c: [1]}".into()], &mut call).expect("it is metadata");
        let wanted = Map::from_iter([
            ("a".into(), 1.into()),
            ("b".into(), "x".into()),
            ("c".into(), vec![Value::Int(1)].into()),
        ]);
        assert_eq!(all, wanted.into());
        assert!(call.kwargs.is_empty());
        assert!(of(&Value::Null, &["plain".into()], &mut call).is_err());
    }
}
