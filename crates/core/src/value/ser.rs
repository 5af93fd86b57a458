//! Serializes a typed result into a [`Value`].

use std::fmt;

use serde::ser::{self, Serialize, Serializer};

use super::{Map, Value};

/// Converts data to a value. Fails only if a type's own `Serialize` fails, or if a map's key isn't a scalar.
// Not inlined, so that it is compiled once for each type, not for each function that returns it.
#[inline(never)]
pub fn to_value<T: Serialize + ?Sized>(data: &T) -> Result<Value, Error> {
    data.serialize(ToValue)
}

#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Error {
        Error(message.to_string())
    }
}

/// Serializes to the natural form, for JSON, YAML and typed structs. A big integer becomes text.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::BigInt(digits) => serializer.serialize_newtype_struct(BIG_INT, &**digits),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::String(text) => serializer.serialize_str(text),
            Value::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Value::List(items) => serializer.collect_seq(items),
            Value::Map(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

const BIG_INT: &str = "rocksalt::BigInt";

struct ToValue;

impl Serializer for ToValue {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = ListSerializer;
    type SerializeTupleVariant = VariantListSerializer;
    type SerializeMap = MapSerializer;
    type SerializeStruct = MapSerializer;
    type SerializeStructVariant = VariantMapSerializer;

    fn serialize_bool(self, flag: bool) -> Result<Value, Error> {
        Ok(Value::Bool(flag))
    }
    fn serialize_i8(self, number: i8) -> Result<Value, Error> {
        Ok(Value::Int(number.into()))
    }
    fn serialize_i16(self, number: i16) -> Result<Value, Error> {
        Ok(Value::Int(number.into()))
    }
    fn serialize_i32(self, number: i32) -> Result<Value, Error> {
        Ok(Value::Int(number.into()))
    }
    fn serialize_i64(self, number: i64) -> Result<Value, Error> {
        Ok(Value::Int(number))
    }
    fn serialize_u8(self, number: u8) -> Result<Value, Error> {
        Ok(Value::Int(number.into()))
    }
    fn serialize_u16(self, number: u16) -> Result<Value, Error> {
        Ok(Value::Int(number.into()))
    }
    fn serialize_u32(self, number: u32) -> Result<Value, Error> {
        Ok(Value::Int(number.into()))
    }
    fn serialize_u64(self, number: u64) -> Result<Value, Error> {
        Ok(Value::from(number))
    }
    fn serialize_f32(self, number: f32) -> Result<Value, Error> {
        Ok(Value::Float(number.into()))
    }
    fn serialize_f64(self, number: f64) -> Result<Value, Error> {
        Ok(Value::Float(number))
    }
    fn serialize_char(self, c: char) -> Result<Value, Error> {
        Ok(Value::String(c.to_string()))
    }
    fn serialize_str(self, text: &str) -> Result<Value, Error> {
        Ok(Value::from(text))
    }
    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Error> {
        Ok(Value::Bytes(bytes.to_vec()))
    }
    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<Value, Error> {
        Ok(Value::from(name))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<Value, Error> {
        let value = value.serialize(self)?;
        match &value {
            Value::String(digits) if name == BIG_INT => Ok(Value::integer(digits).unwrap_or(value)),
            _ => Ok(value),
        }
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        Ok(Map::from_iter([(name.into(), value.serialize(self)?)]).into())
    }
    fn serialize_seq(self, length: Option<usize>) -> Result<ListSerializer, Error> {
        Ok(ListSerializer(Vec::with_capacity(length.unwrap_or(0))))
    }
    fn serialize_tuple(self, length: usize) -> Result<ListSerializer, Error> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<ListSerializer, Error> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        length: usize,
    ) -> Result<VariantListSerializer, Error> {
        Ok(VariantListSerializer { name, items: self.serialize_seq(Some(length))? })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<MapSerializer, Error> {
        Ok(MapSerializer { map: Map::new(), key: Value::Null })
    }
    fn serialize_struct(self, _: &'static str, length: usize) -> Result<MapSerializer, Error> {
        self.serialize_map(Some(length))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        length: usize,
    ) -> Result<VariantMapSerializer, Error> {
        Ok(VariantMapSerializer { name, fields: self.serialize_map(Some(length))? })
    }
}

struct ListSerializer(Vec<Value>);

impl ser::SerializeSeq for ListSerializer {
    type Ok = Value;
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.0.push(to_value(value)?);
        Ok(())
    }
    fn end(self) -> Result<Value, Error> {
        Ok(Value::List(self.0))
    }
}

impl ser::SerializeTuple for ListSerializer {
    type Ok = Value;
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        ser::SerializeSeq::serialize_element(self, value)
    }
    fn end(self) -> Result<Value, Error> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeTupleStruct for ListSerializer {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        ser::SerializeSeq::serialize_element(self, value)
    }
    fn end(self) -> Result<Value, Error> {
        ser::SerializeSeq::end(self)
    }
}

struct MapSerializer {
    map: Map,
    key: Value,
}

impl ser::SerializeMap for MapSerializer {
    type Ok = Value;
    type Error = Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = to_value(key)?;
        if !self.key.is_scalar() {
            return Err(ser::Error::custom("a key of a map must be a scalar"));
        }
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.map.insert(std::mem::take(&mut self.key), to_value(value)?);
        Ok(())
    }
    fn end(self) -> Result<Value, Error> {
        Ok(Value::Map(self.map))
    }
}

impl ser::SerializeStruct for MapSerializer {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.map.insert(name, to_value(value)?);
        Ok(())
    }
    fn end(self) -> Result<Value, Error> {
        Ok(Value::Map(self.map))
    }
}

/// Serializes the unnamed fields of an enum's variant, under its name.
struct VariantListSerializer {
    name: &'static str,
    items: ListSerializer,
}

impl ser::SerializeTupleVariant for VariantListSerializer {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        ser::SerializeSeq::serialize_element(&mut self.items, value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(Map::from_iter([(self.name.into(), Value::List(self.items.0))]).into())
    }
}

/// Serializes the named fields of an enum's variant, under its name.
struct VariantMapSerializer {
    name: &'static str,
    fields: MapSerializer,
}

impl ser::SerializeStructVariant for VariantMapSerializer {
    type Ok = Value;
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        ser::SerializeStruct::serialize_field(&mut self.fields, name, value)
    }
    fn end(self) -> Result<Value, Error> {
        Ok(Map::from_iter([(self.name.into(), Value::Map(self.fields.map))]).into())
    }
}
