//! Reads the current rules through `nft`.

use rocksalt_core::Value;

use super::super::tool;
use super::rule::normal;
use super::{family, plain};
use crate::Result;
use crate::grains::look;
use crate::machine::{Probe, System};

/// The names of the tables of a family.
pub fn tables(machine: &dyn Probe, name: &str) -> Result<Vec<String>> {
    let text = tool::told(machine, &[&nft(machine)?, "list", "tables", family(name)?])?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned)).collect())
}

pub fn nft(machine: &dyn Probe) -> Result<String> {
    tool::find(machine, "nft")
}

/// A chain's listing with the handle of each rule; `None` if the chain doesn't exist.
pub fn chain(machine: &dyn Probe, name: &str, table: &str, chain: &str) -> Result<Option<String>> {
    plain(&[table, chain])?;
    let argv = [&nft(machine)?, "--handle", "list", "chain", family(name)?, table, chain];
    let output = machine.query(&tool::command(&argv))?;
    Ok(output.success().then(|| output.text()))
}

/// The rules of a chain, each with its handle.
pub fn rules(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let inside = text.lines().skip_while(|line| !line.trim_start().starts_with("chain ")).skip(1);
    inside.filter_map(|line| line.trim().rsplit_once(" # handle ")).filter(|(rule, _)| !rule.ends_with('{'))
}

/// The handle of a rule in a chain.
pub fn handle(text: &str, rule: &str) -> Option<String> {
    let wanted = normal(rule);
    rules(text).find(|(known, _)| normal(known) == wanted).map(|(_, handle)| handle.to_owned())
}

/// The definition of a base chain, `type filter hook input priority filter`, and its policy.
pub fn base(text: &str) -> Option<(&str, &str)> {
    let line = text.lines().map(str::trim).find(|line| line.starts_with("type "))?;
    let (kind, rest) = line.split_once(';')?;
    Some((kind, rest.trim().strip_prefix("policy ").unwrap_or("accept").trim_end_matches(';')))
}

/// The file in which rules are saved: Salt's path, which is a file or a directory.
pub fn save_path(machine: &dyn Probe, given: Option<&Value>) -> String {
    let path = given.filter(|path| path.truth()).map_or("/etc/nftables".to_owned(), ToString::to_string);
    if look::is_directory(machine, &path) { format!("{path}/salt-all-in-one.nft") } else { path }
}

/// Writes all current rules to a file that `nft -f` accepts.
pub fn save(machine: &dyn System, path: &str) -> Result<String> {
    let text = tool::told(machine, &[&nft(machine)?, "list", "ruleset"])?;
    let text = format!("#! nft -f\n\n{}\n", text.trim_end());
    tool::write(machine, path, text.as_bytes(), None)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: &str = "table ip filter { # handle 1\n\tchain input { # handle 2\n\t\ttype filter hook input \
        priority filter; policy drop;\n\t\ttcp dport 22 accept # handle 3\n\t\tct state { established, related } \
        accept # handle 5\n\t}\n}\n";

    #[test]
    fn chains_are_read() {
        assert_eq!(rules(CHAIN).count(), 2);
        assert_eq!(handle(CHAIN, "ct state { related,established } accept").as_deref(), Some("5"));
        assert_eq!(handle(CHAIN, "tcp dport 23 accept"), None);
        assert_eq!(base(CHAIN), Some(("type filter hook input priority filter", "drop")));
    }
}
