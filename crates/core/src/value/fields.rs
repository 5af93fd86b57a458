//! Reads a struct's fields from a map, and lists their names.

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::de::Error;
use super::{Map, Value};

/// The names of a struct's fields in order, which is also the order of positional arguments.
pub fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // The field reader always fails; only the field names that it records matter.
    let _ = T::deserialize(FieldReader(&mut found));
    found
}

/// Returns a value for each field in order, or nothing for a missing one, for which serde uses the default.
pub(super) struct FieldNames {
    names: &'static [&'static str],
    map: Map,
    /// The number of fields requested so far.
    asked: usize,
    /// Whether the map had the last one.
    found: bool,
}

impl FieldNames {
    pub fn new(names: &'static [&'static str], map: Map) -> FieldNames {
        FieldNames { names, map, asked: 0, found: true }
    }

    fn name(&self) -> &'static str {
        self.names.get(self.asked.wrapping_sub(1)).copied().unwrap_or_default()
    }

    fn next(&mut self) -> Option<Value> {
        self.asked += 1;
        let value = self.map.take(self.name());
        self.found = value.is_some();
        value
    }

    /// Replaces serde's error for a missing field: since fields are read by position, it would be about lengths.
    #[cold]
    #[inline(never)]
    pub fn explain(&self, error: Error) -> Error {
        if self.found { error } else { Error::missing(self.name()) }
    }
}

impl<'de> SeqAccess<'de> for &mut FieldNames {
    type Error = Error;

    // Compiled once for each type of field, not for each field of each struct.
    #[inline(never)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(value) = self.next() else { return Ok(None) };
        seed.deserialize(value).map(Some).map_err(|error| error.of(self.name()))
    }
}

/// Records the field names that a struct's `Deserialize` requests, and fails.
struct FieldReader<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldReader<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom("only structs have fields"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(serde::de::Error::custom("fields noted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_names_come_in_order() {
        #[derive(serde::Deserialize)]
        #[expect(dead_code, reason = "only its names count")]
        struct Arguments {
            name: String,
            #[serde(default)]
            count: Option<u32>,
        }
        assert_eq!(fields_of::<Arguments>(), ["name", "count"]);
    }
}
