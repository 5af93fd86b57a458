//! [`Flag`]: a boolean with Python's truth rules, for arguments that templates generate.

use rocksalt_core::Value;
use serde::{Deserialize, Deserializer};

/// True for every value that is true in Python: even `makedirs: 1` and `makedirs: 'False'`.
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
