//! `npm`: Node's packages, by the target's own `npm`.

mod functions;
mod states;

use rocksalt_core::{Map, Value, json};

use super::tool::{Tool, variables};
use super::{CatalogFunction, Function, StateEntry, entry, state};
use crate::machine::{Output, Probe};
use crate::{Error, Result};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::CacheClean>(),
    entry::<functions::CacheList>(),
    entry::<functions::Install>(),
    entry::<functions::List>(),
    entry::<functions::Uninstall>(),
];

pub const STATES: &[StateEntry] = &[
    state::<states::Bootstrap>(),
    state::<states::CacheCleaned>(),
    state::<states::Installed>(),
    state::<states::Removed>(),
];

/// npm in a directory, or globally.
fn tool(dir: Option<&str>, user: Option<&str>, registry: Option<&str>, env: &Value) -> Result<Tool> {
    let mut tool = Tool { user: user.map(str::to_owned), cwd: dir.map(str::to_owned), ..Tool::new(["npm"]) };
    tool.env.extend(variables(env)?);
    // A registry's URL may contain a password, so it must not be visible to other users.
    if let Some(registry) = registry {
        tool = tool.with("npm_config_registry", registry);
    }
    Ok(tool
        .with("npm_config_update_notifier", "false")
        .with("npm_config_fund", "false")
        .with("npm_config_audit", "false"))
}

/// The arguments, with `--global` if there is no directory.
fn words(dir: Option<&str>, words: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    if dir.is_none() {
        words.insert(1, "--global".into());
    }
    words
}

/// The installed packages with their details.
fn listed(machine: &dyn Probe, tool: &Tool, dir: Option<&str>) -> Result<Map> {
    let words = words(dir, &["list", "--json", "--depth=0"]);
    let output = tool.look(machine, &words)?;
    read(&output).ok_or_else(|| tool.failed(&words, &output))
}

/// npm exits with an error if a dependency is missing, but its list is still correct.
fn read(output: &Output) -> Option<Map> {
    let text = output.text();
    let found = json::parse(text.get(text.find('{')?..)?).ok()?;
    let all = found.as_map()?.get("dependencies").and_then(Value::as_map).cloned().unwrap_or_default();
    let there = |value: &Value| value.as_map().is_some_and(|map| map.contains_key("version"));
    Some(all.iter().filter(|(_, value)| there(value)).map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Splits `name@1.2` or `@scope/name@^1` into name and version.
fn parts(package: &str) -> (&str, Option<&str>) {
    match package.rfind('@').filter(|at| *at > 0) {
        Some(at) => (&package[..at], Some(&package[at + 1..])),
        None => (package, None),
    }
}

/// Checks that a name can't be taken for an option.
fn sound(name: &str) -> Result<&str> {
    match name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
        true => Err(Error::arguments(format!("'{name}' is no name of a package"))),
        false => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_lists_are_read() {
        assert_eq!(parts("coffee-script@1.0.1"), ("coffee-script", Some("1.0.1")));
        assert_eq!(
            (parts("@scope/name"), parts("@scope/name@^2")),
            (("@scope/name", None), ("@scope/name", Some("^2")))
        );
        let stdout = br#"{"name":"lib","dependencies":{"a":{"version":"1.0.0"},"b":{"missing":true}}}"#.to_vec();
        let found = read(&Output { stdout, code: 1, ..Output::default() }).expect("a list");
        assert_eq!(Value::Map(found).to_string(), "{'a': {'version': '1.0.0'}}");
        assert!(read(&Output::default()).is_none() && sound("--x").is_err() && sound("a").is_ok());
    }
}
