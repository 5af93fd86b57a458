//! Serializes bytes in a plan as text if they are UTF-8, so that they are readable, otherwise as bytes.

use rocksalt_core::Value;
use serde::{Deserialize, Deserializer, Serializer, de};

pub fn serialize<B: AsRef<[u8]>, S: Serializer>(bytes: &B, to: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes.as_ref()) {
        Ok(text) => to.serialize_str(text),
        Err(_) => to.serialize_bytes(bytes.as_ref()),
    }
}

pub fn deserialize<'de, B: From<Vec<u8>>, D: Deserializer<'de>>(from: D) -> Result<B, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => Ok(text.into_bytes().into()),
        Value::Bytes(bytes) => Ok(bytes.into()),
        other => Err(de::Error::custom(format!("expected a text or bytes, found {}", other.kind()))),
    }
}

/// The same for optional bytes.
pub mod option {
    use super::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => super::serialize(bytes, to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        #[derive(Deserialize)]
        struct Bytes(#[serde(with = "super")] Vec<u8>);
        Ok(Option::<Bytes>::deserialize(from)?.map(|bytes| bytes.0))
    }
}
