//! [`Value`]: any data of a state file, an argument, a grain or a result.

mod arguments;
mod cbor;
mod de;
mod fields;
pub(crate) mod index;
mod map;
mod print;
#[cfg(feature = "docs")]
mod schema;
mod ser;

use std::hash::{Hash, Hasher};

pub use arguments::ArgumentReader;
pub use cbor::{from_cbor, to_cbor};
pub use de::{Error as FromValueError, from_value};
pub use fields::fields_of;
pub use map::Map;
pub use ser::to_value;

/// Data as in Salt: JSON with ordered maps, scalar keys of any type, and exact integers.
#[derive(Clone, Debug, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits, as its canonical decimal text.
    BigInt(Box<str>),
    Float(f64),
    String(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Map(Map),
}

/// The depth limit of values, wherever they come from (`docs/security-rules.md#r14`).
pub const MAX_DEPTH: usize = 128;

impl Value {
    /// Parses decimal digits with an optional sign; `None` if the text isn't an integer.
    pub fn integer(text: &str) -> Option<Value> {
        if let Ok(small) = text.parse::<i64>() {
            return Some(Value::Int(small));
        }
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let canonical = format!("{sign}{}", digits.trim_start_matches('0'));
        match canonical.parse::<i64>() {
            Ok(small) => Some(Value::Int(small)),
            Err(_) if canonical.len() <= sign.len() => Some(Value::Int(0)),
            Err(_) => Some(Value::BigInt(canonical.into())),
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether the value is a scalar, which can be a map's key.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Value::List(_) | Value::Map(_))
    }

    /// Python's truth value: empty values, zero and null are false.
    pub fn truth(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(flag) => *flag,
            Value::Int(number) => *number != 0,
            Value::BigInt(_) => true,
            Value::Float(number) => *number != 0.0,
            Value::String(text) => !text.is_empty(),
            Value::Bytes(bytes) => !bytes.is_empty(),
            Value::List(items) => !items.is_empty(),
            Value::Map(map) => !map.is_empty(),
        }
    }

    /// The kind of value, in words for users.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::BigInt(_) => "an integer",
            Value::Float(_) => "a float",
            Value::String(_) => "a string",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Whether Python considers the values equal: `1`, `1.0` and `True` are.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b)),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get_value(key).is_some_and(|b| a.equals(b)))
            }
            (Value::Float(a), b) | (b, Value::Float(a)) => match b {
                Value::Float(b) => a == b,
                // Integers of this size are exact as floats; larger ones are hardly ever meant as floats.
                b => b.whole().is_some_and(|b| b.unsigned_abs() < 1 << 53 && *a == b as f64),
            },
            (a, b) => a == b || a.whole().is_some_and(|a| b.whole() == Some(a)),
        }
    }

    /// The integer that Python uses for a boolean or an integer.
    fn whole(&self) -> Option<i64> {
        match self {
            Value::Bool(flag) => Some(i64::from(*flag)),
            other => other.as_i64(),
        }
    }

    /// Follows a path such as `ip_interfaces:eth0:0` through maps and lists, like Salt's `traverse`.
    ///
    /// In a list, a step is a key of one of its maps, or else an index. A map's key is looked up as text, and then as
    /// the value that YAML reads from it.
    pub fn walk(&self, path: &str, delimiter: &str) -> Option<&Value> {
        match delimiter {
            "" => self.step(path),
            delimiter => path.split(delimiter).try_fold(self, Value::step),
        }
    }

    fn step(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(map) => map.step(key),
            Value::List(items) => {
                let mut maps = items.iter().filter_map(Value::as_map);
                match key.trim().parse::<i64>() {
                    Ok(index) => maps.find_map(|map| map.get_value(&Value::Int(index))).or_else(|| {
                        // As in Python, a negative index counts from the end.
                        let from_end = usize::try_from(index.unsigned_abs()).ok()?;
                        let index = if index < 0 { items.len().checked_sub(from_end)? } else { from_end };
                        items.get(index)
                    }),
                    Err(_) => maps.find_map(|map| map.get(key)),
                }
            }
            _ => None,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::BigInt(a), Value::BigInt(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // A text must hash like a bare `str`, since maps are searched by `&str`.
            Value::String(text) => text.as_str().hash(state),
            Value::Null => 0u8.hash(state),
            Value::Bool(flag) => (1u8, flag).hash(state),
            Value::Int(number) => (2u8, number).hash(state),
            Value::BigInt(digits) => (3u8, digits).hash(state),
            Value::Float(number) if *number == 0.0 || number.is_nan() => 4u8.hash(state),
            Value::Float(number) => (4u8, number.to_bits()).hash(state),
            Value::Bytes(bytes) => (5u8, bytes).hash(state),
            Value::List(items) => (6u8, items).hash(state),
            // Equal maps may differ in order, so the hash must not depend on it.
            Value::Map(map) => (7u8, map.len()).hash(state),
        }
    }
}

macro_rules! from {
    ($($type:ty => $make:expr),+ $(,)?) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Value { ($make)(value) }
        })+
    };
}

from! {
    bool => Value::Bool,
    i64 => Value::Int,
    i32 => |number| Value::Int(i64::from(number)),
    u32 => |number| Value::Int(i64::from(number)),
    f64 => Value::Float,
    &str => |text: &str| Value::String(text.to_owned()),
    String => Value::String,
    Vec<Value> => Value::List,
    Vec<String> => |texts: Vec<String>| Value::List(texts.into_iter().map(Value::String).collect()),
    Map => Value::Map,
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        i64::try_from(number).map_or_else(|_| Value::BigInt(number.to_string().into()), Value::Int)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::from(number as u64)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_exact() {
        assert_eq!(Value::integer("007"), Some(Value::Int(7)));
        assert_eq!(Value::integer("-0"), Some(Value::Int(0)));
        assert_eq!(Value::integer("000000000000000000000000"), Some(Value::Int(0)));
        let big = "123456789012345678901234567890";
        assert_eq!(Value::integer(big), Some(Value::BigInt(big.into())));
        assert_eq!(Value::integer("12a"), None);
        assert_eq!(Value::integer(""), None);
    }

    #[test]
    fn a_path_walks_maps_and_lists() {
        let map: Map =
            [("a".into(), Value::List(vec![Map::from_iter([("b".into(), 1i64.into())]).into()]))].into_iter().collect();
        let value = Value::Map(map);
        assert_eq!(value.walk("a:0:b", ":"), Some(&Value::Int(1)));
        assert_eq!(value.walk("a:b", ":"), Some(&Value::Int(1)));
        assert_eq!(value.walk("a:1", ":"), None);
        assert_eq!(value.walk("a:-1:b", ":"), Some(&Value::Int(1)));
        assert_eq!(value.walk("a:-2", ":"), None);
        assert_eq!(value.walk("a:0:b:c", ":"), None);
        assert_eq!(value.walk("a", ""), value.walk("a", ":"));
    }

    #[test]
    fn a_path_finds_keys_that_are_no_texts() {
        let value = crate::yaml::parse("{1: a, false: b, l: [x, {1: c}], 2.5: d, '3': e}").expect("it is YAML");
        for (path, found) in [("1", "a"), ("False", "b"), ("l:1", "c"), ("l:0", "x"), ("2.5", "d"), ("3", "e")] {
            assert_eq!(value.walk(path, ":"), Some(&found.into()), "{path}");
        }
        assert_eq!(value.walk("4", ":"), None);
    }
}
