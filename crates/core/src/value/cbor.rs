//! Values as CBOR, with a limit on depth.

use minicbor::data::{IanaTag, Type};
use minicbor::decode::Error;
use minicbor::encode::{self, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};

use super::{MAX_DEPTH, Map, Value};

/// Encodes a value for files.
pub fn to_cbor(value: &Value) -> Vec<u8> {
    // Writing into memory can't fail.
    minicbor::to_vec(value).unwrap_or_default()
}

/// Decodes the bytes of [`to_cbor`]; `None` if there is anything else, or more.
pub fn from_cbor(bytes: &[u8]) -> Option<Value> {
    let mut decoder = Decoder::new(bytes);
    let value = decoder.decode().ok()?;
    (decoder.position() == bytes.len()).then_some(value)
}

impl<C> Encode<C> for Value {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, ctx: &mut C) -> Result<(), encode::Error<W::Error>> {
        match self {
            Value::Null => e.null()?.ok(),
            Value::Bool(flag) => e.bool(*flag)?.ok(),
            Value::Int(number) => e.i64(*number)?.ok(),
            // The bignum tag contains decimal text, since we only pass the number on.
            Value::BigInt(digits) => e.tag(IanaTag::PosBignum)?.str(digits)?.ok(),
            Value::Float(number) => e.f64(*number)?.ok(),
            Value::String(text) => e.str(text)?.ok(),
            Value::Bytes(bytes) => e.bytes(bytes)?.ok(),
            Value::List(items) => {
                e.array(items.len() as u64)?;
                items.iter().try_for_each(|item| item.encode(e, ctx))
            }
            Value::Map(map) => map.encode(e, ctx),
        }
    }
}

impl<C> Encode<C> for Map {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, ctx: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.map(self.len() as u64)?;
        self.iter().try_for_each(|(key, value)| {
            key.encode(e, ctx)?;
            value.encode(e, ctx)
        })
    }
}

impl<'b, C> Decode<'b, C> for Value {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Value, Error> {
        value(d, MAX_DEPTH)
    }
}

impl<'b, C> Decode<'b, C> for Map {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Map, Error> {
        map(d, MAX_DEPTH)
    }
}

fn value(d: &mut Decoder<'_>, depth: usize) -> Result<Value, Error> {
    let Some(inner) = depth.checked_sub(1) else {
        return Err(Error::message("a value nests too deeply"));
    };
    Ok(match d.datatype()? {
        Type::Null | Type::Undefined => d.skip().map(|()| Value::Null)?,
        Type::Bool => Value::Bool(d.bool()?),
        Type::U64 => Value::from(d.u64()?),
        Type::U8 | Type::U16 | Type::U32 | Type::I8 | Type::I16 | Type::I32 | Type::I64 => Value::Int(d.i64()?),
        Type::F32 => Value::Float(f64::from(d.f32()?)),
        Type::F64 => Value::Float(d.f64()?),
        Type::String => Value::String(d.str()?.to_owned()),
        Type::Bytes => Value::Bytes(d.bytes()?.to_vec()),
        Type::Tag if d.tag()? == IanaTag::PosBignum.tag() => {
            Value::integer(d.str()?).ok_or_else(|| Error::message("not a decimal integer"))?
        }
        Type::Array => {
            let count = d.array()?.ok_or_else(|| Error::message("a list without a length"))?;
            // Don't allocate by the claimed length: lists may nest, and each may lie.
            let mut items = Vec::with_capacity(count.min(16) as usize);
            for _ in 0..count {
                items.push(value(d, inner)?);
            }
            Value::List(items)
        }
        Type::Map => Value::Map(map(d, inner)?),
        other => return Err(Error::message(format!("unexpected {other} in a value"))),
    })
}

fn map(d: &mut Decoder<'_>, depth: usize) -> Result<Map, Error> {
    let count = d.map()?.ok_or_else(|| Error::message("a map without a length"))?;
    let mut map = Map::new();
    for _ in 0..count {
        let key = value(d, depth)?;
        if !key.is_scalar() {
            return Err(Error::message("a key of a map must be a scalar"));
        }
        map.insert(key, value(d, depth)?);
    }
    Ok(map)
}
