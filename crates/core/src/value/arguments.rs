//! [`ArgumentReader`]: the fields of an argument struct, each read out of a map by its name.

use serde::de::DeserializeOwned;

use super::de::{Error, from_value};
use super::{Map, Value};

/// Arguments under their names, each of which is taken once.
///
/// Its methods are compiled once for each type of field, not once for each field of each struct: that keeps the agent
/// small.
pub struct ArgumentReader(Map);

impl ArgumentReader {
    pub fn new(arguments: Map) -> ArgumentReader {
        ArgumentReader(arguments)
    }

    /// An argument that must be given.
    #[inline(never)]
    pub fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, Error> {
        match self.0.take(name) {
            Some(value) => read(value, name),
            None => Err(Error::missing(name)),
        }
    }

    /// An argument, or its type's default if it is not given.
    #[inline(never)]
    pub fn or_default<T: DeserializeOwned + Default>(&mut self, name: &'static str) -> Result<T, Error> {
        Ok(self.optional(name)?.unwrap_or_default())
    }

    /// An argument, if it is given.
    #[inline(never)]
    pub fn optional<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, Error> {
        self.0.take(name).map(|value| read(value, name)).transpose()
    }
}

fn read<T: DeserializeOwned>(value: Value, name: &'static str) -> Result<T, Error> {
    from_value(value).map_err(|error| error.of(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_argument() {
        let mut reader = ArgumentReader::new(Map::from_iter([("count".into(), "many".into())]));
        assert_eq!(
            reader.required::<String>("name").map_err(|error| error.to_string()),
            Err("argument 'name' is missing".into())
        );
        assert_eq!(reader.or_default::<Vec<String>>("items").ok(), Some(Vec::new()));
        assert_eq!(
            reader.optional::<u32>("count").map_err(|error| error.to_string()),
            Err("argument 'count': expected a whole number, not negative, found string \"many\"".into())
        );
    }
}
