//! Filters that hash, sign or encode.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::text::bytes;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;
use rocksalt_core::hex;

pub(super) fn md5(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    hash::<Md5>(&value, arguments)
}

pub(super) fn sha1(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    hash::<Sha1>(&value, arguments)
}

pub(super) fn sha256(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    hash::<Sha256>(&value, arguments)
}

pub(super) fn sha512(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    hash::<Sha512>(&value, arguments)
}

fn hash<D: Digest>(value: &Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(hex(&D::digest(bytes(value)?)).into())
}

/// Hashes data by the algorithm's name, in hexadecimal; an unknown name's error lists the known ones.
pub(super) fn named(name: &str, data: &[u8]) -> Result<String> {
    Ok(match name {
        "md5" => hex(&Md5::digest(data)),
        "sha1" => hex(&Sha1::digest(data)),
        "sha224" => hex(&sha2::Sha224::digest(data)),
        "sha256" => hex(&Sha256::digest(data)),
        "sha384" => hex(&sha2::Sha384::digest(data)),
        "sha512" => hex(&Sha512::digest(data)),
        other => {
            let message = format!("module 'hashlib' has no attribute '{other}'");
            let hint = "there are md5, sha1, sha224, sha256, sha384 and sha512";
            return Err(Error::exception("AttributeError", message).with_hint(hint));
        }
    })
}

fn signature(value: &Value, secret: &Value) -> Result<Vec<u8>> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(&bytes(secret)?).map_err(|_| Error::value_error("the secret can't be a key"))?;
    mac.update(&bytes(value)?);
    Ok(mac.finalize().into_bytes().to_vec())
}

pub(super) fn hmac(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let secret = arguments.take("shared_secret")?;
    let challenge = arguments.take("challenge_hmac")?;
    arguments.finish()?;
    let valid = STANDARD.encode(signature(&value, &secret)?);
    Ok((valid.as_bytes() == bytes(&challenge)?).into())
}

pub(super) fn hmac_compute(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let secret = arguments.take("shared_secret")?;
    arguments.finish()?;
    Ok(hex(&signature(&value, &secret)?).into())
}

pub(super) fn base64_encode(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(STANDARD.encode(bytes(&value)?).into())
}

pub(super) fn base64_decode(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    // Characters that aren't digits are ignored, as in Python.
    let digits: Vec<u8> = bytes(&value)?
        .into_iter()
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        .collect();
    let decoded = STANDARD.decode(&digits).map_err(|_| Error::exception("Error", "Incorrect padding"))?;
    Ok(match String::from_utf8(decoded) {
        Ok(text) => text.into(),
        Err(error) => Value::Bytes(error.into_bytes().into()),
    })
}

/// The name-based UUID of a text, in Salt's namespace.
pub(super) fn uuid(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    const NAMESPACE: u128 = 0x9163_3EBF_1C86_5E33_935A_2806_1F4B_480E;
    arguments.finish()?;
    let mut hasher = Sha1::new();
    hasher.update(NAMESPACE.to_be_bytes());
    hasher.update(bytes(&value)?);
    let mut id: Vec<u8> = hasher.finalize().to_vec();
    id.truncate(16);
    id[6] = (id[6] & 0x0f) | 0x50;
    id[8] = (id[8] & 0x3f) | 0x80;
    let digits = hex(&id);
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(parts.join("-").into())
}
