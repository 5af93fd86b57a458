//! apt's sources: `/etc/apt/sources.list` and the files in `sources.list.d`, in both formats.

mod line;
mod section;

use std::path::{Path, PathBuf};

use rocksalt_core::{Map, Value};

use self::line::AptLine;
use self::section::AptSection;
use crate::machine::Probe;
use crate::{Error, Result};

const MAIN: &str = "/etc/apt/sources.list";
const FOLDER: &str = "/etc/apt/sources.list.d";

/// A file with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AptFile {
    pub path: PathBuf,
    entries: Vec<AptEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AptEntry {
    Line(AptLine),
    Section(AptSection),
    /// Not a repository; kept unchanged.
    Other(String),
}

/// All files; changed ones are found by comparing.
#[derive(Clone, Debug)]
pub struct AptSources {
    pub files: Vec<AptFile>,
}

/// A requested repository.
#[derive(Clone, Debug, Default)]
pub struct RepositorySpec {
    line: AptLine,
    pub file: Option<String>,
    pub components: Option<Vec<String>>,
    pub architectures: Option<Vec<String>>,
    pub disabled: bool,
    pub suite: Option<String>,
    pub uri: Option<String>,
    pub signed_by: Option<String>,
    pub trusted: Option<bool>,
    pub comments: Option<String>,
}

impl RepositorySpec {
    pub fn new(name: &str) -> Result<RepositorySpec> {
        match AptLine::read(name) {
            Some(line) => Ok(RepositorySpec { disabled: line.disabled, line, ..RepositorySpec::default() }),
            None => Err(Error::arguments(format!(
                "Name {name} is not valid. This must be the complete repo entry as seen in the sources file"
            ))),
        }
    }

    /// The line that identifies the repository later.
    pub fn shown(&self) -> String {
        self.apply_line(None).text
    }

    /// The path of its key.
    pub fn signed_by(&self) -> Option<&str> {
        self.signed_by.as_deref().or_else(|| self.line.option("signed-by"))
    }

    pub fn is_trusted(&self) -> bool {
        self.trusted.unwrap_or_else(|| self.line.option("trusted") == Some("yes"))
    }

    fn components(&self) -> &[String] {
        self.components.as_deref().unwrap_or(&self.line.components)
    }

    fn architectures(&self) -> Vec<String> {
        self.architectures.clone().unwrap_or_else(|| self.line.architectures())
    }

    /// The new line, based on an existing one if there is one.
    fn apply_line(&self, file_line: Option<&AptLine>) -> AptLine {
        let mut line = self.line.clone();
        line.disabled = self.disabled;
        line.components = self.components().to_vec();
        if let Some(suite) = &self.suite {
            line.suite.clone_from(suite);
        }
        if let Some(uri) = &self.uri {
            line.uri.clone_from(uri);
        }
        if let Some(architectures) = self.architectures.as_ref().filter(|list| !list.is_empty()) {
            line.set_option("arch", &architectures.join(","));
        }
        if let Some(path) = &self.signed_by {
            line.set_option("signed-by", path);
        }
        match self.trusted {
            Some(true) => line.set_option("trusted", "yes"),
            Some(false) => line.options.retain(|option| !option.starts_with("trusted=")),
            None => {}
        }
        line.comment = match (&self.comments, file_line) {
            (Some(comments), _) => comments.clone(),
            (None, Some(known)) => known.comment.clone(),
            (None, None) => line.comment,
        };
        line.text = line.write();
        line
    }

    fn apply_section(&self, known: Option<&AptSection>) -> AptSection {
        let mut section = known.cloned().unwrap_or_default();
        if known.is_none() {
            section.set("Types", &self.line.kind);
            section.set("URIs", &self.line.uri);
            section.set("Suites", &self.line.suite);
        }
        if let Some(uri) = &self.uri {
            section.set("URIs", uri);
        }
        if let Some(suite) = &self.suite {
            section.set("Suites", suite);
        }
        match self.components() {
            [] => section.remove("Components"),
            components => section.set("Components", &components.join(" ")),
        }
        let architectures = self.architectures();
        if !architectures.is_empty() {
            section.set("Architectures", &architectures.join(" "));
        }
        if let Some(path) = self.signed_by() {
            section.set("Signed-By", path);
        }
        if self.is_trusted() {
            section.set("Trusted", "yes");
        } else if self.trusted == Some(false) {
            section.remove("Trusted");
        }
        match self.disabled {
            true => section.set("Enabled", "no"),
            false => section.remove("Enabled"),
        }
        if let Some(comments) = &self.comments {
            section.remark(comments);
        }
        section
    }
}

impl AptSources {
    pub fn read(machine: &dyn Probe) -> Result<AptSources> {
        let names = machine.list(Path::new(FOLDER)).unwrap_or_default();
        let known = |name: &String| name.ends_with(".list") || name.ends_with(".sources");
        let others = names.into_iter().filter(known).map(|name| Path::new(FOLDER).join(name));
        let mut files = Vec::new();
        for path in std::iter::once(PathBuf::from(MAIN)).chain(others) {
            match machine.read(&path) {
                Ok(content) => files.push(AptFile::read(path, &String::from_utf8_lossy(&content))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read", &path, &error)),
            }
        }
        Ok(AptSources { files })
    }

    /// Each repository in Salt's form: one for each type, address and suite.
    pub fn all(&self) -> Vec<Map> {
        self.files.iter().flat_map(|file| file.entries.iter().flat_map(|entry| entry.described(&file.path))).collect()
    }

    /// The first repository that a name matches.
    pub fn find(&self, name: &str) -> Result<Option<Map>> {
        let request = RepositorySpec::new(name)?;
        let fits = |found: &Map| {
            let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
            let components = found.get("comps").and_then(Value::as_list).unwrap_or_default();
            let has = |one: &String| components.iter().any(|known| known.as_str() == Some(one));
            text("type") == request.line.kind
                && text("uri").trim_end_matches('/') == request.line.uri.trim_end_matches('/')
                && text("dist") == request.line.suite
                && (request.line.components.is_empty() || request.line.components.iter().any(has))
        };
        Ok(self.all().into_iter().find(fits))
    }

    /// Adds the repository, or replaces the existing ones.
    pub fn put(&mut self, request: &RepositorySpec) {
        for file in &mut self.files {
            for entry in &mut file.entries {
                if !entry.is_meant(request) {
                    continue;
                }
                *entry = match entry {
                    AptEntry::Section(section) => AptEntry::Section(request.apply_section(Some(section))),
                    AptEntry::Line(line) => AptEntry::Line(request.apply_line(Some(line))),
                    AptEntry::Other(text) => AptEntry::Other(text.clone()),
                };
                return;
            }
        }
        let path = PathBuf::from(request.file.as_deref().unwrap_or(MAIN));
        let new = match is_new_form(&path) {
            true => AptEntry::Section(request.apply_section(None)),
            false => AptEntry::Line(request.apply_line(None)),
        };
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.entries.push(new),
            None => self.files.push(AptFile { path, entries: vec![new] }),
        }
    }

    /// Empties a file. Returns its other lines.
    pub fn clean(&mut self, path: &Path, name: &str) -> Vec<String> {
        let Some(file) = self.files.iter_mut().find(|file| file.path == path) else { return Vec::new() };
        let text = file.write();
        let stale = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let stale = stale.filter(|line| *line != name.trim()).map(str::to_owned).collect();
        file.entries.clear();
        stale
    }

    /// Removes a repository; false if there is none like it.
    pub fn take(&mut self, name: &str) -> Result<bool> {
        let request = RepositorySpec::new(name)?;
        let wanted = &request.line;
        let mut found = false;
        for file in &mut self.files {
            file.entries.retain_mut(|entry| {
                let same = |list: &[String], word: &str| list.iter().any(|one| one == word);
                let uri = wanted.uri.trim_end_matches('/');
                let uris = entry.uris();
                let fits = same(&entry.kinds(), &wanted.kind)
                    && entry.architectures() == wanted.architectures()
                    && uris.iter().any(|one| one.trim_end_matches('/') == uri)
                    && same(&entry.suites(), &wanted.suite);
                if !fits {
                    return true;
                }
                let components = entry.components();
                let left: Vec<String> =
                    components.iter().filter(|one| !wanted.components.contains(one)).cloned().collect();
                let equal = left.is_empty() && components.len() == wanted.components.len();
                if equal {
                    found = true;
                    return entry.drop_suite(&wanted.suite);
                }
                if left.len() == components.len() {
                    return true;
                }
                found = true;
                entry.set_components(&left);
                !left.is_empty()
            });
        }
        Ok(found)
    }

    /// The files to write (`None`: remove), by comparison with the previous state.
    pub fn changed(&self, before: &AptSources) -> Vec<(PathBuf, Option<String>)> {
        let mut changed = Vec::new();
        for file in &self.files {
            let old = before.files.iter().find(|old| old.path == file.path);
            if old.is_some_and(|old| old.entries == file.entries) {
                continue;
            }
            let empty = !file.entries.iter().any(AptEntry::is_repository);
            let content = match empty && file.path.starts_with(FOLDER) {
                true => None,
                false => Some(file.write()),
            };
            changed.push((file.path.clone(), content));
        }
        changed
    }
}

impl AptFile {
    fn read(path: PathBuf, text: &str) -> AptFile {
        let entries = match is_new_form(&path) {
            true => AptSection::all(text)
                .into_iter()
                .map(|section| match section.is_repository() {
                    true => AptEntry::Section(section),
                    false => AptEntry::Other(section.write()),
                })
                .collect(),
            false => text
                .lines()
                .map(|line| AptLine::read(line).map_or_else(|| AptEntry::Other(line.to_owned()), AptEntry::Line))
                .collect(),
        };
        AptFile { path, entries }
    }

    fn write(&self) -> String {
        let gap = if is_new_form(&self.path) { "\n\n" } else { "\n" };
        let text = |entry: &AptEntry| match entry {
            AptEntry::Line(line) => line.text.clone(),
            AptEntry::Section(section) => section.write(),
            AptEntry::Other(text) => text.clone(),
        };
        let texts: Vec<String> = self.entries.iter().map(text).collect();
        if texts.is_empty() { String::new() } else { texts.join(gap) + "\n" }
    }
}

fn is_new_form(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "sources")
}

impl AptEntry {
    fn is_repository(&self) -> bool {
        !matches!(self, AptEntry::Other(_))
    }

    fn field(&self, of_line: impl Fn(&AptLine) -> Vec<String>, key: &str) -> Vec<String> {
        match self {
            AptEntry::Line(line) => of_line(line),
            AptEntry::Section(section) => section.words(key),
            AptEntry::Other(_) => Vec::new(),
        }
    }

    fn kinds(&self) -> Vec<String> {
        self.field(|line| vec![line.kind.clone()], "Types")
    }

    fn uris(&self) -> Vec<String> {
        self.field(|line| vec![line.uri.clone()], "URIs")
    }

    fn suites(&self) -> Vec<String> {
        self.field(|line| vec![line.suite.clone()], "Suites")
    }

    fn components(&self) -> Vec<String> {
        self.field(|line| line.components.clone(), "Components")
    }

    fn architectures(&self) -> Vec<String> {
        self.field(AptLine::architectures, "Architectures")
    }

    fn set_components(&mut self, components: &[String]) {
        match self {
            AptEntry::Line(line) => {
                line.components = components.to_vec();
                line.text = line.write();
            }
            AptEntry::Section(section) => section.set("Components", &components.join(" ")),
            AptEntry::Other(_) => {}
        }
    }

    /// Removes a suite. Returns whether any is left.
    fn drop_suite(&mut self, suite: &str) -> bool {
        let left: Vec<String> = self.suites().into_iter().filter(|one| one != suite).collect();
        if let AptEntry::Section(section) = self {
            section.set("Suites", &left.join(" "));
        }
        !left.is_empty()
    }

    /// Whether a request refers to this paragraph.
    fn is_meant(&self, request: &RepositorySpec) -> bool {
        let wanted = &request.line;
        let uri = wanted.uri.trim_end_matches('/');
        let fits = self.kinds().contains(&wanted.kind)
            && self.uris().iter().any(|one| one.trim_end_matches('/') == uri)
            && self.suites().contains(&wanted.suite);
        let components = self.components();
        let shared = || wanted.components.iter().chain(request.components()).any(|one| components.contains(one));
        fits && (components.is_empty() || shared() || self.architectures() != request.architectures())
    }

    fn described(&self, file: &Path) -> Vec<Map> {
        let (disabled, signed_by) = match self {
            AptEntry::Line(line) => (line.disabled, line.option("signed-by").unwrap_or_default().to_owned().into()),
            AptEntry::Section(section) => {
                (section.is_disabled(), section.get("Signed-By").map_or(Value::Null, Into::into))
            }
            AptEntry::Other(_) => return Vec::new(),
        };
        let list = |words: Vec<String>| Value::List(words.into_iter().map(Value::from).collect());
        let mut all = Vec::new();
        for uri in self.uris() {
            for suite in self.suites() {
                for kind in self.kinds() {
                    let line = match self {
                        AptEntry::Line(line) => line.text.clone(),
                        _ => self.as_line(&kind, &uri, &suite, disabled).write(),
                    };
                    all.push(Map::from_iter([
                        ("file".into(), file.to_string_lossy().into_owned().into()),
                        ("comps".into(), list(self.components())),
                        ("disabled".into(), disabled.into()),
                        ("enabled".into(), (!disabled).into()),
                        ("dist".into(), suite.as_str().into()),
                        ("suites".into(), list(self.suites())),
                        ("type".into(), kind.as_str().into()),
                        ("types".into(), list(self.kinds())),
                        ("uri".into(), uri.as_str().into()),
                        ("uris".into(), list(self.uris())),
                        ("line".into(), line.into()),
                        ("architectures".into(), list(self.architectures())),
                        ("signedby".into(), signed_by.clone()),
                    ]));
                }
            }
        }
        all
    }

    /// The paragraph as an equivalent line.
    fn as_line(&self, kind: &str, uri: &str, suite: &str, disabled: bool) -> AptLine {
        let mut line = AptLine {
            kind: kind.to_owned(),
            uri: uri.to_owned(),
            suite: suite.to_owned(),
            components: self.components(),
            disabled,
            ..AptLine::default()
        };
        if !self.architectures().is_empty() {
            line.set_option("arch", &self.architectures().join(","));
        }
        if let AptEntry::Section(section) = self {
            if let Some(path) = section.get("Signed-By").filter(|text| !text.contains('\n')) {
                line.set_option("signed-by", path);
            }
            if section.get("Trusted").is_some_and(|text| text.eq_ignore_ascii_case("yes")) {
                line.set_option("trusted", "yes");
            }
        }
        line
    }
}
