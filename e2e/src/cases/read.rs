//! [`Case`]: one case, read from its file. Unknown and malformed keys are errors.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use rocksalt_core::{Map, Value, json, yaml};
use rocksalt_testkit::{HostKind, Spec};

use super::Expected;

/// A run on its own host, with the expected results.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name, such as `user/present.yml: a user with a home`.
    pub name: String,
    pub spec: Spec,
    pub before: Option<String>,
    /// Paths below the state tree, with their texts.
    pub tree: Vec<(String, String)>,
    pub pillar: Option<String>,
    pub test: Option<Expected>,
    pub apply: Option<Expected>,
    pub again: Option<Expected>,
    pub after: Option<String>,
    pub unpredictable: bool,
    pub restless: bool,
    /// Paths below which the dry run may write.
    pub writes: Vec<String>,
}

const KEYS: [&str; 15] = [
    "what",
    "host",
    "packages",
    "before",
    "tree",
    "pillar",
    "sls",
    "test",
    "apply",
    "again",
    "after",
    "as_salt",
    "unpredictable",
    "restless",
    "writes",
];

/// Reads the cases below a directory: all, or those of a noun or of `noun/name`.
pub fn all(directory: &Path, only: Option<&str>) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for noun in entries(directory)? {
        for file in entries(&noun)?.iter().filter(|file| file.extension().is_some_and(|end| end == "yml")) {
            let name = file.strip_prefix(directory).unwrap_or(file).display().to_string();
            let wanted = |only: &str| {
                let only = only.trim_matches('/').trim_end_matches(".yml");
                name.trim_end_matches(".yml") == only || name.starts_with(&format!("{only}/"))
            };
            if only.is_none_or(|only| only.split([' ', ',']).any(wanted)) {
                let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
                cases.extend(read(&name, &text)?);
            }
        }
    }
    Ok(cases)
}

fn read(file: &str, text: &str) -> Result<Vec<Case>, String> {
    let value = yaml::parse(text).map_err(|error| format!("{file}: {error}"))?;
    let list = value.as_list().ok_or_else(|| format!("{file}: a file is a list of cases"))?;
    let cases = list.iter().enumerate().map(|(index, case)| {
        let map = case.as_map().ok_or_else(|| format!("{file}: case {} is not a map", index + 1))?;
        let what = map.get("what").map_or_else(|| format!("case {}", index + 1), ToString::to_string);
        let name = format!("{file}: {what}");
        one(&name, map).map_err(|problem| format!("{name}: {problem}"))
    });
    cases.collect()
}

fn one(name: &str, case: &Map) -> Result<Case, String> {
    if let Some(key) = case.keys().find(|key| !KEYS.contains(&&*key.to_string())) {
        return Err(format!("`{key}`: a case has no such key; it has {}", KEYS.join(", ")));
    }
    if !case.contains_key("what") {
        return Err("`what` is missing: a line that says what the case is".into());
    }
    let host = text(case, "host")?.unwrap_or_else(|| "debian".into());
    let kind = HostKind::named(&host).ok_or_else(|| format!("`host`: there is no kind of host '{host}'"))?;
    let packages = texts(case, "packages")?;
    let mut tree = Vec::new();
    for (path, content) in map(case, "tree")? {
        let content = content.as_str().ok_or_else(|| format!("`tree`: {path} must have a text"))?;
        tree.push((path.to_string(), content.to_owned()));
    }
    match text(case, "sls")? {
        Some(sls) => tree.push(("case.sls".into(), sls)),
        None if tree.iter().any(|(path, _)| path == "case.sls") => {}
        None => return Err("`sls` is missing: the states to apply".into()),
    }
    let pillar = map(case, "pillar")?;
    let read = Case {
        name: name.into(),
        spec: Spec { kind, ..Spec::default() }.with_packages(packages),
        before: text(case, "before")?,
        tree,
        pillar: (!pillar.is_empty()).then(|| json::compact(&Value::Map(pillar))),
        test: expected(case, "test")?,
        apply: expected(case, "apply")?,
        again: expected(case, "again")?,
        after: text(case, "after")?,
        unpredictable: reason(case, "unpredictable")?,
        restless: reason(case, "restless")?,
        writes: texts(case, "writes")?,
    };
    if read.test.is_none() && read.apply.is_none() {
        return Err("it has neither `test` nor `apply`: nothing would be checked".into());
    }
    Ok(read)
}

fn expected(case: &Map, key: &str) -> Result<Option<Expected>, String> {
    case.get(key).map(|value| Expected::read(value).map_err(|problem| format!("`{key}`: {problem}"))).transpose()
}

fn text(case: &Map, key: &str) -> Result<Option<String>, String> {
    let Some(value) = case.get(key) else { return Ok(None) };
    value.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| format!("`{key}` must be a text"))
}

fn texts(case: &Map, key: &str) -> Result<Vec<String>, String> {
    let Some(value) = case.get(key) else { return Ok(Vec::new()) };
    let problem = || format!("`{key}` must be a list of texts");
    let items = value.as_list().ok_or_else(problem)?;
    items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(problem)).collect()
}

fn map(case: &Map, key: &str) -> Result<Map, String> {
    let Some(value) = case.get(key) else { return Ok(Map::new()) };
    value.as_map().cloned().ok_or_else(|| format!("`{key}` must be a map"))
}

/// Reads a key that says why a check isn't made; the reason must not be empty.
fn reason(case: &Map, key: &str) -> Result<bool, String> {
    match text(case, key)? {
        Some(why) if why.trim().is_empty() => Err(format!("`{key}` must say why")),
        Some(_) => Ok(true),
        None => Ok(false),
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let problem = |error: &dyn Display| format!("{}: {error}", directory.display());
    let read = std::fs::read_dir(directory).map_err(|error| problem(&error))?;
    let mut entries: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_case_is_refused_by_file_and_key() {
        let refused = |text: &str| read("user/present.yml", text).expect_err(text);
        let case = |lines: &str| format!("- what: w\n  sls: 'a: test.nop'\n{lines}");
        for (lines, parts) in [
            ("  applies: []\n", ["user/present.yml: w", "`applies`"]),
            ("", ["neither `test` nor `apply`", "w"]),
            ("  apply: []\n", ["`apply`", "no steps"]),
            ("  host: windows\n", ["`host`", "windows"]),
            ("  packages: cron\n", ["`packages`", "list"]),
            ("  apply: [{outcome: true}]\n", ["`apply`", "outcome"]),
            ("  apply: [{result: true}]\n  restless: ''\n", ["`restless`", "why"]),
        ] {
            let problem = refused(&case(lines));
            assert!(parts.iter().all(|part| problem.contains(part)), "{problem}");
        }
        assert!(refused("- sls: x\n").contains("`what`"));
        assert!(refused("a: [\n").starts_with("user/present.yml: "));
        assert_eq!(read("x", &case("  apply: [{result: true}]\n")).expect("it is valid").len(), 1);
    }
}
