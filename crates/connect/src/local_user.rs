//! [`LocalUser`]: the user on this machine whose ssh settings and keys are used.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Read from the environment by the binary; libraries get it as an argument.
#[derive(Clone, Debug, Default)]
pub struct LocalUser {
    pub name: String,
    pub home: PathBuf,
    pub uid: u32,
    /// The name of this machine, with its domain if it has one.
    pub hostname: String,
    /// For `${NAME}` in paths of the ssh configuration, and for `IdentityAgent`.
    pub environment: BTreeMap<String, String>,
}
