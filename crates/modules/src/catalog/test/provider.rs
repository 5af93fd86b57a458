//! The Salt module that would serve a name.

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use super::Function;
use crate::Result;
use crate::catalog;
use crate::machine::{Probe, System};

/// The name of the Salt module that would do a noun's work here; an empty text if there is no such noun.
///
/// ```text
/// rocksalt '*' test.provider service
/// ```
///
/// State files ask it to find out what kind of system they are on.
#[function("test.provider", reads, repeatable)]
pub struct Provider {
    /// The noun: `pkg`, `service`, …
    module: String,
}

impl Function for Provider {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        Ok(provider(machine, &self.module).to_owned())
    }
}

/// The nouns there are, each under the name of the Salt module that would do its work here.
///
/// ```text
/// rocksalt '*' test.providers
/// ```
#[function("test.providers", reads, repeatable)]
pub struct Providers {}

impl Function for Providers {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(catalog::nouns().map(|noun| (provider(machine, noun).into(), noun.into())).collect())
    }
}

fn provider<'a>(machine: &dyn Probe, noun: &'a str) -> &'a str {
    let grains = machine.grains();
    let grain = |name: &str| grains.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match (noun, grain("os_family").as_str(), grain("init").as_str()) {
        ("pkg", "Debian", _) => "aptpkg",
        ("pkg", "RedHat", _) => "yumpkg",
        ("pkg", "Suse", _) => "zypperpkg",
        ("pkg", "Arch", _) => "pacmanpkg",
        ("pkg", "Alpine", _) => "apkpkg",
        ("service", _, "systemd") => "systemd_service",
        ("service", "Debian", _) => "debian_service",
        ("service", "RedHat", _) => "rh_service",
        ("service", "Alpine" | "Gentoo", _) => "gentoo_service",
        ("service", _, _) => "linux_service",
        ("user", _, _) => "useradd",
        ("group", _, _) => "groupadd",
        ("cmd", _, _) => "cmdmod",
        ("log", _, _) => "logmod",
        ("random", _, _) => "mod_random",
        ("locale", _, _) => "localemod",
        ("sys", _, _) => "sysmod",
        (noun, _, _) if catalog::nouns().any(|known| known == noun) => noun,
        _ => "",
    }
}
