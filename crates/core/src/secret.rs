//! [`Secret`]: a value that can't be printed by accident (`docs/security-rules.md#r13`).

use std::fmt;

use zeroize::Zeroize;

/// A secret value. It has no `Display` and no `Serialize`, its `Debug` shows nothing, and it is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T: Zeroize = String>(T);

impl<T: Zeroize> Secret<T> {
    pub fn new(value: T) -> Secret<T> {
        Secret(value)
    }

    /// The only access to the value. Each caller needs a review.
    pub fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Encodes a secret where it must cross a process boundary that only its owner can read: the keeper's socket. Each such
/// field names this module; deriving alone doesn't encode a secret.
pub mod sealed {
    use minicbor::decode::{Decoder, Error};
    use minicbor::encode::{self, Encoder, Write};

    use super::Secret;

    pub fn encode<C, W: Write>(
        secret: &Option<Secret>,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        match secret {
            Some(secret) => e.str(secret.reveal())?.ok(),
            None => e.null()?.ok(),
        }
    }

    pub fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Option<Secret>, Error> {
        match d.datatype()? {
            minicbor::data::Type::Null => d.null().map(|()| None),
            _ => Ok(Some(Secret::new(d.str()?.to_owned()))),
        }
    }

    pub fn is_nil(secret: &Option<Secret>) -> bool {
        secret.is_none()
    }

    pub fn nil() -> Option<Option<Secret>> {
        Some(None)
    }
}
