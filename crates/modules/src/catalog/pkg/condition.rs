//! Conditions on versions as users write them: `1.2`, `1.2*`, `>=1.2, <2`, `!=1.3`, `latest`.

use std::cmp::Ordering;

use super::provider::PackageProvider;
use crate::text::glob;

/// Compares versions by a package manager's rules.
pub struct Judge<'a> {
    pub provider: &'a dyn PackageProvider,
    /// Ignore the epoch; `None`: only if the request is a single version without an epoch.
    pub ignore_epoch: Option<bool>,
}

impl Judge<'_> {
    /// Whether one of the versions meets the request.
    pub fn fulfilled(&self, versions: &[String], request: &str, allow_updates: bool) -> bool {
        let mut conditions: Vec<(&str, &str)> = conditions(request);
        if let [(operator @ "==", _)] = conditions.as_mut_slice()
            && allow_updates
        {
            *operator = ">=";
        }
        versions.iter().any(|version| conditions.iter().all(|(operator, wanted)| self.holds(version, operator, wanted)))
    }

    fn holds(&self, version: &str, operator: &str, wanted: &str) -> bool {
        if operator == "==" && glob::matches(wanted, version) {
            return true;
        }
        let plain = !operator.contains(['<', '>']) && !wanted.contains(':');
        let order = match self.ignore_epoch.unwrap_or(plain) {
            true => self.provider.compare(without_epoch(version), without_epoch(wanted)),
            false => self.provider.compare(version, wanted),
        };
        match operator {
            "<" | "<<" => order == Ordering::Less,
            "<=" => order != Ordering::Greater,
            "==" => order == Ordering::Equal,
            ">=" => order != Ordering::Less,
            ">" | ">>" => order == Ordering::Greater,
            "!=" | "<>" => order != Ordering::Equal,
            _ => false,
        }
    }

    /// The version to request from the manager, chosen from the available ones (newest first).
    ///
    /// A version without operators and patterns is requested even if it isn't available: the manager's own message is
    /// the best error.
    pub fn choose(&self, name: &str, request: &str, available: &[String]) -> Result<String, String> {
        let conditions = conditions(request);
        if let [("==", version)] = conditions.as_slice()
            && !glob::is_pattern(version)
        {
            let same = |known: &&String| known.as_str() == *version;
            let alike = |known: &&String| self.holds(known, "==", version);
            let found = available.iter().find(same).or_else(|| available.iter().find(alike));
            return Ok(found.map_or_else(|| (*version).to_owned(), String::clone));
        }
        let fits = |known: &&String| self.fulfilled(std::slice::from_ref(known), request, false);
        available.iter().find(fits).cloned().ok_or_else(|| {
            let known = if available.is_empty() { "None".to_owned() } else { available.join(", ") };
            format!("No version matching '{name}{}' could be found (available: {known})", joined(request))
        })
    }
}

/// The condition to append to a name: `=1.0`, or `>=1.0` unchanged.
pub fn joined(request: &str) -> String {
    match request.is_empty() || request.starts_with(['<', '>', '=']) {
        true => request.to_owned(),
        false => format!("={request}"),
    }
}

fn conditions(request: &str) -> Vec<(&str, &str)> {
    request.trim().split(',').filter(|part| !part.trim().is_empty()).map(|part| split(part.trim())).collect()
}

fn split(condition: &str) -> (&str, &str) {
    let known = ["<=>", "!=", "==", ">=", "<=", ">>", "<<", "<>", ">", "<", "="];
    for operator in known {
        if let Some(version) = condition.strip_prefix(operator) {
            return (if operator == "=" { "==" } else { operator }, version.trim_start());
        }
    }
    ("==", condition)
}

fn without_epoch(version: &str) -> &str {
    version.split_once(':').map_or(version, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::super::provider::by_name;
    use super::*;

    fn judge() -> Judge<'static> {
        Judge { provider: by_name("apt").expect("apt is there"), ignore_epoch: None }
    }

    #[test]
    fn wishes_are_judged_as_in_salt() {
        let cases = [
            ("1.2-1", "1.2-1", true),
            ("1.2-1", "1.2*", true),
            ("1:1.2-1", "1.2-1", true),
            ("1:1.2-1", ">=2", true),
            ("1.2-1", ">=1.2, <2", true),
            ("2.0", ">=1.2, <2", false),
            ("1.3", ">=1.2,!=1.3", false),
            ("1.3", "= 1.3", true),
            ("1.3", "> 1.3", false),
            ("1.3", "<=> 1.3", false),
        ];
        for (version, request, expected) in cases {
            assert_eq!(judge().fulfilled(&[version.to_owned()], request, false), expected, "{version} {request}");
        }
        assert!(judge().fulfilled(&["1.4".to_owned()], "1.3", true), "updates are allowed");
        let strict = Judge { ignore_epoch: Some(false), ..judge() };
        assert!(!strict.fulfilled(&["1:1.2".to_owned()], "1.2", false));
    }

    #[test]
    fn a_version_is_chosen_from_those_there_are() {
        let there: Vec<String> = ["2:3.0", "2.1", "2.0", "1.9"].map(str::to_owned).to_vec();
        let chosen = |request: &str| judge().choose("x", request, &there);
        assert_eq!(chosen("2.0"), Ok("2.0".into()));
        assert_eq!(chosen("3.0"), Ok("2:3.0".into()), "the epoch goes without saying");
        assert_eq!(chosen("2.*"), Ok("2.1".into()));
        assert_eq!(chosen("<2.1"), Ok("2.0".into()));
        assert_eq!(chosen(">=1.9, <2"), Ok("1.9".into()));
        assert_eq!(chosen("9.9"), Ok("9.9".into()), "the manager says what is wrong with it");
        assert_eq!(
            chosen("<1"),
            Err("No version matching 'x<1' could be found (available: 2:3.0, 2.1, 2.0, 1.9)".into())
        );
    }
}
