//! Available versions from `apt-cache policy`, and the results of `apt-get update`.

use std::collections::BTreeMap;

use rocksalt_core::{Map, Value};

use super::super::{Options, output, sound};
use crate::Result;
use crate::machine::Probe;

/// The available versions of a package.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PackagePolicy {
    pub candidate: Option<String>,
    /// All versions, the newest first.
    pub versions: Vec<String>,
}

pub fn ask(machine: &dyn Probe, names: &[String], options: &Options) -> Result<BTreeMap<String, PackagePolicy>> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut words = vec!["apt-cache", "-q", "policy"];
    let release = match &options.fromrepo {
        Some(release) => Some(format!("APT::Default-Release={}", sound(release)?)),
        None => None,
    };
    if let Some(release) = &release {
        words.extend(["-o", release]);
    }
    for name in names {
        words.push(sound(name)?);
    }
    let found = read(&output(machine, &words)?);
    Ok(by_asked(found, names))
}

/// `apt-cache` lists `foo:amd64` under the name `foo`, and a foreign package with its architecture.
fn by_asked(mut found: BTreeMap<String, PackagePolicy>, names: &[String]) -> BTreeMap<String, PackagePolicy> {
    for name in names {
        if let Some((plain, _)) = name.split_once(':')
            && !found.contains_key(name)
            && let Some(known) = found.remove(plain)
        {
            found.insert(name.clone(), known);
        }
    }
    found
}

fn read(text: &str) -> BTreeMap<String, PackagePolicy> {
    let mut found = BTreeMap::new();
    let mut name = None;
    let mut table = false;
    for line in text.lines() {
        if let Some(header) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            name = Some(header.to_owned());
            table = false;
            found.insert(header.to_owned(), PackagePolicy::default());
            continue;
        }
        let Some(known) = name.as_ref().and_then(|name| found.get_mut(name)) else { continue };
        let line = line.trim_end();
        if let Some(candidate) = line.trim_start().strip_prefix("Candidate:") {
            known.candidate = Some(candidate.trim().to_owned()).filter(|version| version != "(none)");
        } else if line.trim_start().starts_with("Version table:") {
            table = true;
        } else if table {
            // ` *** 1.0 500` and `     1.0 500` are versions; lines with more indentation are their sources.
            let row = line.strip_prefix(" *** ").or_else(|| line.strip_prefix("     "));
            let version = row.filter(|row| !row.starts_with(' ')).and_then(|row| row.split_whitespace().next());
            known.versions.extend(version.map(str::to_owned));
        }
    }
    found
}

/// The result of `apt-get update` for each list: fetched (`True`), current already (`None`), failed (`False`).
pub fn fetched(text: &str) -> Map {
    let mut found = Map::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(verb) = words.next() else { continue };
        let rest = words.collect::<Vec<_>>().join(" ");
        if verb.starts_with("Get:") {
            // Without the size at the end, which varies.
            let list = match rest.rsplit_once(" [") {
                Some((list, size)) if size.ends_with("B]") => list.to_owned(),
                _ => rest,
            };
            found.insert(list, true);
        } else if verb.starts_with("Ign") || verb.starts_with("Err") {
            found.insert(rest, false);
        } else if verb.starts_with("Hit") {
            found.insert(rest, Value::Null);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_is_read() {
        let text = "hello:\n  Installed: 1.0\n  Candidate: 1.2-1\n  Version table:\n     1.2-1 500\n        500 file:/srv ./ Packages\n \
                    *** 1.0 100\n        100 /var/lib/dpkg/status\nnone:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n";
        let found = read(text);
        assert_eq!(
            found["hello"],
            PackagePolicy { candidate: Some("1.2-1".into()), versions: vec!["1.2-1".into(), "1.0".into()] }
        );
        assert_eq!(found["none"], PackagePolicy::default());
    }

    #[test]
    fn what_was_fetched_is_read() {
        let text = "Hit:1 http://deb bookworm InRelease\nGet:2 file:/srv ./ Packages [1,234 B]\nIgn:3 file:/x ./ Release\nReading package lists...\n";
        let expected = Map::from_iter([
            ("http://deb bookworm InRelease".into(), Value::Null),
            ("file:/srv ./ Packages".into(), true.into()),
            ("file:/x ./ Release".into(), false.into()),
        ]);
        assert_eq!(fetched(text), expected);
    }
}
