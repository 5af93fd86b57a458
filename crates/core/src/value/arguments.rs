//! [`ArgumentReader`]: reads the fields of an argument struct from a map by name.

use serde::de::DeserializeOwned;

use super::de::{Error, from_value};
use super::{Map, Value};

/// Named arguments, each of which is taken once.
///
/// Its methods are compiled once for each type of field, not for each field of each struct, which keeps the agent
/// small.
pub struct ArgumentReader(Map);

impl ArgumentReader {
    pub fn new(arguments: Map) -> ArgumentReader {
        ArgumentReader(arguments)
    }

    /// Takes a required argument.
    #[inline(never)]
    pub fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, Error> {
        match self.0.take(name) {
            Some(value) => read(value, name),
            None => Err(Error::missing(name)),
        }
    }

    /// Takes an argument, or its type's default if it isn't given.
    #[inline(never)]
    pub fn or_default<T: DeserializeOwned + Default>(&mut self, name: &'static str) -> Result<T, Error> {
        Ok(self.optional(name)?.unwrap_or_default())
    }

    /// Takes an argument, if it is given.
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
