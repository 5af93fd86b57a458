//! Random values and waits.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::Function;
use crate::machine::System;
use crate::text::digest;
use crate::{Error, Result};

/// Waits for a random time, then returns `True`.
///
/// ```text
/// rocksalt '*' test.rand_sleep 60
/// ```
#[function("test.rand_sleep", reads, repeatable)]
pub struct RandSleep {
    /// At most this many seconds.
    #[default(60)]
    max: u32,
}

impl Function for RandSleep {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let bytes = random(machine);
        let part = f64::from(u16::from_le_bytes([bytes[0], bytes[1]])) / f64::from(u16::MAX);
        machine.sleep(f64::from(self.max) * part)?;
        Ok(true)
    }
}

/// A random checksum.
///
/// ```text
/// rocksalt '*' test.random_hash hash_type=sha512
/// ```
#[function("test.random_hash", reads, repeatable, also("test.rand_str"))]
pub struct RandomHash {
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "any amount of randomness gives the same length")]
    size: Value,
    /// md5, sha1, sha224, sha256, sha384 or sha512.
    hash_type: Option<String>,
}

impl Function for RandomHash {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let name = self.hash_type.as_deref().unwrap_or("sha256");
        let kind = digest::DigestAlgorithm::named(name).ok_or_else(|| {
            Error::arguments(format!("Invalid hash type: {name}"))
                .hint(format!("known are {}", digest::DigestAlgorithm::list()))
        })?;
        Ok(digest::of(kind, &random(machine)))
    }
}

/// Random bytes from the system; the time if there are none.
fn random(machine: &dyn System) -> Vec<u8> {
    match machine.read_at(Path::new("/dev/urandom"), 0, 32) {
        Ok(bytes) if bytes.len() == 32 => bytes,
        _ => digest::of(digest::DigestAlgorithm::Sha256, &machine.now().to_le_bytes()).into_bytes(),
    }
}
