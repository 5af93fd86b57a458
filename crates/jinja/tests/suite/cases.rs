//! Renders the templates in `cases/` and compares with real Jinja2 and real Salt (recorded by `generate.py`).
//!
//! `JINJA_CASES=filters cargo test -p rocksalt-jinja --test suite` runs the cases whose name contains the word;
//! `JINJA_FOLDER=…` runs those in another folder (see `random_templates.py`).

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::rc::Rc;

use rocksalt_core::{Map, Value as Core};
use rocksalt_jinja::{
    Environment, Error, LoadedTemplate, Options, TemplateLoader, TemplateMachine, UndefinedKind, Value,
};

#[test]
fn templates_render_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let wanted = std::env::var("JINJA_CASES").unwrap_or_default();
    let known = known_differences(&folder.join("differences.txt"));

    let mut report = String::new();
    let (mut total, mut failed) = (0, 0);
    let mut by_topic: Vec<(String, usize, usize)> = Vec::new();
    let cases = std::env::var_os("JINJA_FOLDER").map_or(folder.join("cases"), Into::into);
    for path in case_files(&cases) {
        let topic = path.file_stem().expect("case files have names").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("case files can be read");
        let (mut topic_total, mut topic_failed) = (0, 0);
        for line in text.lines() {
            let case = Case::read(line);
            if !case.name.contains(&wanted) {
                continue;
            }
            topic_total += 1;
            let got = case.run();
            let differs = case.differs(&got);
            let complaint = match (differs, known.get(&case.name)) {
                (None, None) | (Some(_), Some(_)) => continue,
                (None, Some(_)) => "it is in differences.txt, but there is no difference".to_owned(),
                (Some(difference), None) => difference,
            };
            topic_failed += 1;
            let _ = writeln!(report, "--- {}\n{}\n{complaint}", case.name, case.shown());
        }
        total += topic_total;
        failed += topic_failed;
        by_topic.push((topic, topic_total, topic_failed));
    }

    let mut summary = String::new();
    for (topic, cases, failures) in by_topic.iter().filter(|(_, cases, _)| *cases > 0) {
        let _ = writeln!(summary, "{topic}: {} of {cases}", cases - failures);
    }
    assert!(total > 0, "no case has a name with {wanted:?} in it");
    assert!(failed == 0, "{report}\n{summary}{failed} of {total} templates differ from what was recorded");
}

struct Case {
    name: String,
    template: String,
    context: Map,
    files: HashMap<String, String>,
    options: Map,
    salt: bool,
    expected: Expected,
}

enum Expected {
    Output(String),
    Error { kind: String, message: String, line: Option<i64> },
}

impl Case {
    fn read(line: &str) -> Case {
        let parsed = rocksalt_core::json::parse(line).expect("a case is JSON");
        let map = parsed.as_map().expect("a case is an object");
        let text = |map: &Map, key: &str| map.get(key).and_then(Core::as_str).map(str::to_owned);
        let part = |key: &str| map.get(key).and_then(Core::as_map).cloned().unwrap_or_default();
        let expected = match map.get("error").and_then(Core::as_map) {
            Some(error) => Expected::Error {
                kind: text(error, "kind").expect("an error has a kind"),
                message: text(error, "message").expect("an error has a message"),
                line: error.get("line").and_then(Core::as_i64),
            },
            None => Expected::Output(text(map, "output").expect("a case has an output or an error")),
        };
        Case {
            name: text(map, "name").expect("a case has a name"),
            template: text(map, "template").expect("a case has a template"),
            context: part("context"),
            files: part("files")
                .iter()
                .filter_map(|(name, source)| Some((name.as_str()?.to_owned(), source.as_str()?.to_owned())))
                .collect(),
            options: part("options"),
            salt: map.get("salt").is_some_and(Core::truth),
            expected,
        }
    }

    fn run(&self) -> Result<String, Error> {
        let mut options = self.options();
        let mut template = self.template.clone();
        if self.salt
            && let Some((own, rest)) = options.of_file(&template)
        {
            (options, template) = (own, rest);
        }
        let mut environment = Environment::new(options);
        environment.set_loader(Rc::new(Files(self.files.clone())));
        environment.set_machine(Rc::new(Dice(Cell::new(1))));
        let context: Vec<(&str, Value)> = self
            .context
            .iter()
            .map(|(name, value)| (name.as_str().expect("names are strings"), Value::from(value.clone())))
            .collect();
        environment.render_str(&template, "<template>", &context)
    }

    fn options(&self) -> Options {
        let mut options = if self.salt { Options::salt() } else { Options::jinja() };
        for (name, value) in self.options.iter() {
            let name = name.as_str().expect("names are strings");
            match (name, value.as_str()) {
                ("undefined", Some("strict")) => options.undefined = UndefinedKind::Strict,
                ("undefined", Some("chainable")) => options.undefined = UndefinedKind::Chainable,
                _ => assert!(options.set(name, value), "{}: no option {name:?} is known here", self.name),
            }
        }
        options
    }

    /// Describes the difference from the recorded result, if there is one.
    fn differs(&self, got: &Result<String, Error>) -> Option<String> {
        match (&self.expected, got) {
            (Expected::Output(expected), Ok(output)) => {
                (expected != output).then(|| format!("expected: {expected:?}\n     got: {output:?}"))
            }
            (Expected::Output(expected), Err(error)) => {
                Some(format!("expected: {expected:?}\n     got: {}", told(error)))
            }
            (Expected::Error { kind, message, .. }, Ok(output)) => {
                Some(format!("expected: {kind}: {message}\n     got: {output:?}"))
            }
            (Expected::Error { kind, message, line }, Err(error)) => {
                // The recorder renders a text that has no name.
                let got = error.message.replace(" in '<template>'", "");
                let same = *kind == error.exception
                    && *message == got
                    && line.is_none_or(|line| line == i64::from(error.line));
                (!same).then(|| {
                    let place = line.map_or(String::new(), |line| format!(" (line {line})"));
                    format!("expected: {kind}: {message}{place}\n     got: {}", told(error))
                })
            }
        }
    }

    fn shown(&self) -> String {
        let mut shown = format!("template: {}", self.template);
        if !self.context.is_empty() {
            let _ = write!(shown, "\ncontext: {}", rocksalt_core::json::compact(&Core::Map(self.context.clone())));
        }
        if !self.options.is_empty() {
            let _ = write!(shown, "\noptions: {}", rocksalt_core::json::compact(&Core::Map(self.options.clone())));
        }
        for (name, source) in &self.files {
            let _ = write!(shown, "\n{name}: {source:?}");
        }
        shown
    }
}

fn told(error: &Error) -> String {
    format!("{}: {} (line {})", error.exception, error.message, error.line)
}

/// Files by name; as in Salt, `./` and `../` are relative to the importing file.
struct Files(HashMap<String, String>);

impl TemplateLoader for Files {
    fn load(&self, name: &str, parent: Option<&str>) -> Result<Option<LoadedTemplate>, String> {
        let mut parts: Vec<&str> = Vec::new();
        if name.starts_with("./") || name.starts_with("../") {
            let folder = parent.and_then(|parent| parent.rsplit_once('/')).map_or("", |(folder, _)| folder);
            parts.extend(folder.split('/').filter(|part| !part.is_empty()));
        }
        for part in name.split('/') {
            match part {
                "." => {}
                ".." if parts.pop().is_none() => return Ok(None),
                ".." => {}
                part => parts.push(part),
            }
        }
        let name = parts.join("/");
        Ok(self.0.get(&name).map(|source| LoadedTemplate { name: name.clone(), source: source.as_str().into() }))
    }
}

/// A machine that supports only pseudorandom numbers.
struct Dice(Cell<u64>);

impl TemplateMachine for Dice {
    fn random(&self, bytes: &mut [u8]) -> Result<(), String> {
        for byte in bytes {
            self.0.set(self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
            *byte = (self.0.get() >> 56) as u8;
        }
        Ok(())
    }
}

fn case_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("there are cases").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Reads lines of `name: reason`. The cases named here must differ from the recording.
fn known_differences(path: &Path) -> HashMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, reason) = line.split_once(": ").expect("a line is `name: reason`");
            assert!(!reason.trim().is_empty(), "{name} has no reason");
            (name.to_owned(), reason.to_owned())
        })
        .collect()
}
