//! [`Flag`]: yes or no as Python takes it, for arguments that templates make.

use rocksalt_core::Value;
use serde::{Deserialize, Deserializer};

/// True for whatever Python takes for true: `makedirs: 1` and even `makedirs: 'False'` are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

impl From<bool> for Flag {
    fn from(on: bool) -> Flag {
        Flag(on)
    }
}

impl std::ops::Not for Flag {
    type Output = bool;

    fn not(self) -> bool {
        !self.0
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
        Ok(Flag(Value::deserialize(deserializer)?.truth()))
    }
}
