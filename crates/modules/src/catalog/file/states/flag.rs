//! [`Flag`]: yes or no as Python takes it, for arguments that templates make.

use rocksalt_core::Value;
use serde::{Deserialize, Deserializer};

/// True for whatever Python takes for true: `makedirs: 1` and even `makedirs: 'False'` are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

impl Flag {
    /// The default of what is on unless it is switched off.
    pub fn yes() -> Flag {
        Flag(true)
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

#[cfg(feature = "docs")]
impl schemars::JsonSchema for Flag {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "boolean".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        bool::json_schema(generator)
    }
}
