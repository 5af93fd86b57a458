//! `locale`: the target's language.

use std::path::Path;

use serde::Deserialize;

use super::{Entry, Function, entry};
use crate::Result;
use crate::machine::System;

pub const FUNCTIONS: &[Entry] = &[entry::<GetLocale>()];

/// Where systems write it down, the newest way first.
const PLACES: [(&str, &str); 4] = [
    ("/etc/locale.conf", "LANG"),
    ("/etc/default/locale", "LANG"),
    ("/etc/sysconfig/i18n", "LANG"),
    ("/etc/sysconfig/language", "RC_LANG"),
];

/// The system's locale; an empty text if it has none.
///
/// ```text
/// rocksalt '*' locale.get_locale
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetLocale {}

impl Function for GetLocale {
    const NAME: &'static str = "locale.get_locale";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let found = PLACES.iter().find_map(|(path, name)| {
            let content = machine.read(Path::new(path)).ok()?;
            let text = String::from_utf8_lossy(&content).into_owned();
            let value = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
            Some(value.trim().trim_matches(['"', '\'']).to_owned())
        });
        Ok(found.unwrap_or_default())
    }
}
