//! Deserializes a [`Value`] into a typed struct: how arguments reach a function.
//!
//! It is lenient for Salt's users: a number or boolean is accepted as text, a single item as a list, and a quoted
//! number as a number.

use std::fmt;

use serde::Deserialize;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fields::FieldNames;
use super::{Map, Value};

/// Deserializes a value. A struct's field may only be missing if it is `#[serde(default)]`.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    T::deserialize(value)
}

/// Why a value doesn't fit a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    text: Box<str>,
    /// The required argument that is missing.
    missing: Option<Box<str>>,
}

impl Error {
    // Out of line, since every reader of every type can fail.
    #[cold]
    #[inline(never)]
    fn new(message: fmt::Arguments<'_>) -> Error {
        Error { text: message.to_string().into(), missing: None }
    }

    /// The required argument that is missing.
    pub fn missing_argument(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    #[cold]
    #[inline(never)]
    fn mismatch(found: &Value, expected: &dyn Expected) -> Error {
        Error::new(format_args!("expected {}, found {}", in_words(expected), unexpected(found)))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn missing(field: &str) -> Error {
        Error { missing: Some(field.into()), ..Error::new(format_args!("argument '{field}' is missing")) }
    }

    /// Adds the name of the field that had the value.
    #[cold]
    #[inline(never)]
    pub(super) fn of(self, field: &str) -> Error {
        Error::new(format_args!("argument '{field}': {self}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Error {
        Error::new(format_args!("{message}"))
    }

    // Out of line, since serde's default would be inlined at each place that can fail.
    #[cold]
    #[inline(never)]
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Error {
        Error::new(format_args!("expected {}, found {found}", in_words(expected)))
    }

    #[cold]
    #[inline(never)]
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Error {
        Error::new(format_args!("expected {}, found {found}", in_words(expected)))
    }

    #[cold]
    #[inline(never)]
    fn missing_field(field: &'static str) -> Error {
        Error { missing: Some(field.into()), ..Error::new(format_args!("the argument '{field}' is missing")) }
    }

    #[cold]
    #[inline(never)]
    fn invalid_length(length: usize, expected: &dyn Expected) -> Error {
        Error::new(format_args!("invalid length {length}, expected {expected}"))
    }
}

/// Replaces Rust's type names, which mean nothing to a user.
fn in_words(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not negative".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        _ => text,
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(flag) => Unexpected::Bool(*flag),
        Value::Int(number) => Unexpected::Signed(*number),
        Value::BigInt(_) => Unexpected::Other("an integer beyond 64 bits"),
        Value::Float(number) => Unexpected::Float(*number),
        Value::String(text) => Unexpected::Str(text),
        Value::Bytes(bytes) => Unexpected::Bytes(bytes),
        Value::List(_) => Unexpected::Seq,
        Value::Map(_) => Unexpected::Map,
    }
}

/// Each method accepts only the values that can fit: the visitor's other methods are then not compiled, which halves
/// the agent.
impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Int(number) => visitor.visit_i64(number),
            Value::BigInt(digits) => visitor.visit_newtype_struct(BigInt(digits)),
            Value::Float(number) => visitor.visit_f64(number),
            Value::String(text) => visitor.visit_string(text),
            Value::Bytes(bytes) => visitor.visit_byte_buf(bytes),
            Value::List(items) => visitor.visit_seq(ListItems(items.into_iter())),
            Value::Map(map) => visitor.visit_map(MapPairs { pairs: map.into_iter(), value: Value::Null }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_none(),
            other => visitor.visit_some(other),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Bool(flag) => visitor.visit_bool(flag),
            other => Err(Error::mismatch(&other, &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::String(text) => visitor.visit_string(text),
            Value::Bytes(bytes) => visitor.visit_byte_buf(bytes),
            Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                visitor.visit_string(self.to_string())
            }
            other => Err(Error::mismatch(&other, &visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let items = match self {
            Value::List(items) => items,
            Value::Null => Vec::new(),
            single => vec![single],
        };
        visitor.visit_seq(ListItems(items.into_iter()))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Map(map) => visitor.visit_map(MapPairs { pairs: map.into_iter(), value: Value::Null }),
            other => Err(Error::mismatch(&other, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Value::Map(map) => {
                let mut fields = FieldNames::new(fields, map);
                // Reading by position needs far less code than by name.
                visitor.visit_seq(&mut fields).map_err(|error| fields.explain(error))
            }
            other => Err(Error::mismatch(&other, &visitor)),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match integer(self) {
            Ok(number) => visitor.visit_i64(number),
            Err(other) => Err(Error::mismatch(&other, &visitor)),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let number = match &self {
            Value::Float(number) => Some(*number),
            Value::Int(number) => return visitor.visit_i64(*number),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => visitor.visit_f64(number),
            None => Err(Error::mismatch(&self, &visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Value::String(_) => visitor.visit_enum(Variant { name: self, content: Value::Null }),
            Value::Map(map) if map.len() == 1 => {
                let Some((name, content)) = map.into_iter().next() else { unreachable!("its length is one") };
                visitor.visit_enum(Variant { name, content })
            }
            other => Err(de::Error::custom(format!("expected a name, found {}", other.kind()))),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct
        tuple tuple_struct identifier ignored_any
    }
}

/// Converts a number or a quoted number; returns any other value unchanged.
fn integer(value: Value) -> Result<i64, Value> {
    match &value {
        Value::Int(number) => Ok(*number),
        Value::String(text) => text.trim().parse().map_err(|_| value),
        _ => Err(value),
    }
}

struct ListItems(std::vec::IntoIter<Value>);

impl<'de> SeqAccess<'de> for ListItems {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(item)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct MapPairs {
    pairs: std::vec::IntoIter<(Value, Value)>,
    /// The value of the last returned key.
    value: Value,
}

impl<'de> MapAccess<'de> for MapPairs {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((key, value)) = self.pairs.next() else { return Ok(None) };
        self.value = value;
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(std::mem::take(&mut self.value))
    }
}

/// A value deserializes into itself: an argument of type `Value` is passed on unchanged.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Map, D::Error> {
        match deserializer.deserialize_map(Any)? {
            Value::Map(map) => Ok(map),
            other => Err(de::Error::custom(format!("expected a map, found {}", other.kind()))),
        }
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Value, E> {
        Ok(Value::Bytes(bytes))
    }

    // Only a big integer is passed this way (see `deserialize_any`), with its digits as text.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let digits = String::deserialize(deserializer)?;
        Value::integer(&digits).ok_or_else(|| de::Error::custom("not an integer"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, value)) = access.next_entry::<Value, Value>()? {
            map.insert(key, value);
        }
        Ok(Value::Map(map))
    }
}

struct BigInt(Box<str>);

impl<'de> Deserializer<'de> for BigInt {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0.into())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Variant {
    name: Value,
    content: Value,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = BufferedValue;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, BufferedValue), Error> {
        Ok((seed.deserialize(self.name)?, BufferedValue(self.content)))
    }
}

struct BufferedValue(Value);

impl<'de> VariantAccess<'de> for BufferedValue {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_struct("", fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Debug, PartialEq)]
    struct Arguments {
        name: String,
        #[serde(default)]
        count: Option<u32>,
        #[serde(default)]
        items: Vec<String>,
        #[serde(default)]
        any: Value,
    }

    #[test]
    fn arguments_are_taken_as_users_mean_them() {
        let map: Map = [
            ("name".into(), Value::Int(5)),
            ("count".into(), "7".into()),
            ("items".into(), "one".into()),
            ("any".into(), Value::BigInt("99999999999999999999".into())),
        ]
        .into_iter()
        .collect();
        let arguments: Arguments = from_value(Value::Map(map)).expect("these are fine");
        assert_eq!(arguments.name, "5");
        assert_eq!(arguments.count, Some(7));
        assert_eq!(arguments.items, ["one"]);
        assert_eq!(arguments.any, Value::BigInt("99999999999999999999".into()));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let cases = [
            (vec![("count", Value::Int(1))], "argument 'name' is missing"),
            (
                vec![("name", "x".into()), ("count", "y".into())],
                "argument 'count': expected a whole number, not negative, found string \"y\"",
            ),
            (
                vec![("name", "x".into()), ("count", Value::Int(-1))],
                "argument 'count': expected a whole number, not negative, found integer `-1`",
            ),
            (vec![("name", Value::List(Vec::new()))], "argument 'name': expected a string, found sequence"),
        ];
        for (pairs, expected) in cases {
            let map: Map = pairs.into_iter().map(|(name, value)| (Value::from(name), value)).collect();
            let error = from_value::<Arguments>(Value::Map(map)).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
    }
}
