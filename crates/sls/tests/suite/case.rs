//! [`Case`]: files and the steps to run on them, from a folder in the comparison's form or from one file.

use std::path::Path;

use rocksalt_core::{Map, Value, json, yaml};
use rocksalt_sls::sources::MemorySources;

pub struct Case {
    pub name: String,
    /// `sls`, `do`, `config` and so on.
    pub what: Map,
    pub grains: Map,
    /// Paths below the case, such as `states/main.sls`.
    pub files: Vec<(String, Vec<u8>)>,
    /// Salt's answer for each step.
    pub expected: Vec<Value>,
}

/// The scratch directory that a case's files mention.
pub const SCRATCH: &str = "/tmp/scratch";

impl Case {
    /// Reads a case from one file `family/case.yml`, and Salt's answers from `family/case.json`.
    pub fn from_file(path: &Path, base_grains: &Map) -> Case {
        let text = std::fs::read_to_string(path).expect("the case can be read");
        let Ok(Value::Map(what)) = yaml::parse(&text) else { panic!("{} is no map", path.display()) };
        let mut files = Vec::new();
        for (name, contents) in what.get("files").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            files.push((name.to_string(), contents.to_string().into_bytes()));
        }
        let recorded = std::fs::read_to_string(path.with_extension("json")).unwrap_or_else(|error| {
            panic!("{}: {error}; record it with tests/record.py", path.with_extension("json").display())
        });
        let Ok(Value::List(expected)) = json::parse(&recorded) else { panic!("{} is no list", path.display()) };
        let grains = grains(base_grains, what.get("grains"));
        Case { name: name_of(path), what, grains, files, expected }
    }

    /// Reads a folder with `case.yml`, `states/` and so on, and the answers in `golden.json`.
    pub fn from_folder(path: &Path, base_grains: &Map) -> Case {
        let read = |name: &str| std::fs::read_to_string(path.join(name)).ok().and_then(|text| json::parse(&text).ok());
        let golden = std::fs::read_to_string(path.join("golden.json")).expect("golden.json can be read");
        let golden = json::parse(&golden.replace("@TMP@", SCRATCH)).expect("golden.json is JSON");
        let golden = golden.as_map().expect("golden.json is a map");
        let what = golden.get("case").and_then(Value::as_map).cloned().expect("golden.json holds the case");
        let mut files = Vec::new();
        collect(path, "", &mut files);
        for (_, contents) in &mut files {
            if let Ok(text) = std::str::from_utf8(contents) {
                *contents = text.replace("@TMP@", SCRATCH).into_bytes();
            }
        }
        Case {
            name: name_of(path),
            what,
            grains: grains(base_grains, read("grains.json").as_ref()),
            files,
            expected: golden.get("steps").and_then(Value::as_list).unwrap_or_default().to_vec(),
        }
    }

    /// The tree of each environment: `file_roots` or `pillar_roots` names directories of the case.
    pub fn sources(&self, option: &str, default: &str) -> MemorySources {
        let mut sources = MemorySources::new();
        let roots = match self.what.get(option) {
            Some(Value::Map(roots)) => roots.clone(),
            _ => Map::from_iter([("base".into(), Value::List(vec![default.into()]))]),
        };
        for (saltenv, directories) in roots.iter() {
            sources.add_environment(&saltenv.to_string());
            for directory in directories.as_list().unwrap_or_default() {
                let prefix = format!("{directory}/");
                for (path, contents) in &self.files {
                    if let Some(relative) = path.strip_prefix(&prefix) {
                        sources.add(&saltenv.to_string(), relative, contents.clone());
                    }
                }
            }
        }
        sources
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.what.get(key).filter(|value| !value.is_null()).map(Value::to_string)
    }
}

fn grains(base: &Map, changes: Option<&Value>) -> Map {
    let mut grains = base.clone();
    for (key, value) in changes.and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        if value.is_null() {
            grains.remove(&key.to_string());
        } else {
            grains.insert(key.clone(), value.clone());
        }
    }
    grains
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).expect("the case can be listed").flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.push((name, std::fs::read(entry.path()).expect("the file can be read")));
        }
    }
}

fn name_of(path: &Path) -> String {
    let parts: Vec<_> = path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}
