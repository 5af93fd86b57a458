//! [`Conf`]: logrotate's settings, with their lines. An edit changes only the lines of the edited setting.

use std::path::Path;

use rocksalt_core::{Map, Value};

use crate::machine::{FileKind, Probe};
use crate::{Error, Result};

const SCRIPTS: [&str; 5] = ["firstaction", "lastaction", "prerotate", "postrotate", "preremove"];
/// The depth limit of included files.
const DEPTH: usize = 8;

/// One file.
pub struct Conf {
    pub path: String,
    lines: Vec<String>,
    settings: Vec<Setting>,
    blocks: Vec<Block>,
    /// The files that it includes, by the names of directories.
    included: Vec<(String, Vec<(String, Conf)>)>,
}

struct Setting {
    line: usize,
    key: String,
    value: Value,
}

/// Files with their settings in braces.
struct Block {
    names: Vec<String>,
    settings: Vec<Setting>,
    /// The line of the closing brace.
    end: usize,
}

impl Conf {
    pub fn read(machine: &dyn Probe, path: &str) -> Result<Conf> {
        Conf::read_at(machine, path, 0)
    }

    fn read_at(machine: &dyn Probe, path: &str, depth: usize) -> Result<Conf> {
        let content = machine.read(Path::new(path)).map_err(|error| Error::io("read", path, &error))?;
        let mut conf = Conf::parse(path, &String::from_utf8_lossy(&content));
        let includes: Vec<String> =
            conf.settings.iter().filter(|one| one.key == "include").map(|one| one.value.to_string()).collect();
        for include in includes.into_iter().filter(|_| depth < DEPTH) {
            let is_file = |path: &str| matches!(machine.stat(Path::new(path), true), Ok(Some(stat)) if stat.kind == FileKind::File);
            let names = match is_file(&include) {
                true => vec![String::new()],
                false => machine.list(Path::new(&include)).map_err(|error| Error::io("list", &include, &error))?,
            };
            let mut files = Vec::new();
            for name in names {
                let path =
                    if name.is_empty() { include.clone() } else { format!("{}/{name}", include.trim_end_matches('/')) };
                if is_file(&path) {
                    files.push((name, Conf::read_at(machine, &path, depth + 1)?));
                }
            }
            conf.included.push((include, files));
        }
        Ok(conf)
    }

    fn parse(path: &str, text: &str) -> Conf {
        let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let mut conf =
            Conf { path: path.to_owned(), lines, settings: Vec::new(), blocks: Vec::new(), included: Vec::new() };
        let mut names: Vec<String> = Vec::new();
        let mut open: Option<Vec<Setting>> = None;
        let mut script: Option<(Setting, Vec<Value>)> = None;
        for (line, text) in conf.lines.iter().enumerate() {
            let text = text.trim();
            if let Some((mut setting, mut body)) = script.take() {
                match text {
                    "endscript" => {
                        setting.value = Value::List(body);
                        open.as_mut().unwrap_or(&mut conf.settings).push(setting);
                    }
                    _ => {
                        body.push(text.into());
                        script = Some((setting, body));
                    }
                }
                continue;
            }
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            if text.contains('{') && !text.contains('}') {
                let here = text.split('{').next().unwrap_or_default();
                names.extend(here.split_whitespace().map(str::to_owned));
                open = Some(Vec::new());
                continue;
            }
            if text.contains('}') {
                let settings = open.take().unwrap_or_default();
                conf.blocks.push(Block { names: std::mem::take(&mut names), settings, end: line });
                continue;
            }
            let is_file = |word: &str| word.starts_with(['/', '~', '"', '\'']) || word.contains(['*', '?', '[']);
            if open.is_none() && words.iter().all(|word| is_file(word)) {
                names.extend(words.iter().map(|word| (*word).to_owned()));
                continue;
            }
            let value = match words.as_slice() {
                [_] => Value::Bool(true),
                [_, one] => number(&(*one).into()),
                [_, rest @ ..] => rest.join(" ").into(),
                [] => continue,
            };
            let setting = Setting { line, key: words[0].to_owned(), value };
            if words.len() == 1 && SCRIPTS.contains(&words[0]) {
                script = Some((setting, Vec::new()));
                continue;
            }
            open.as_mut().unwrap_or(&mut conf.settings).push(setting);
        }
        conf
    }

    /// The settings in Salt's form, including those of files.
    pub fn shown(&self) -> Map {
        let mut shown = Map::new();
        for setting in &self.settings {
            shown.insert(setting.key.as_str(), setting.value.clone());
        }
        let mut files = Map::new();
        for (name, conf) in self.included.iter().flat_map(|(_, files)| files) {
            let theirs = conf.shown();
            files.insert(name.as_str(), Value::List(theirs.keys().cloned().collect()));
            shown.extend(theirs);
        }
        if !self.included.is_empty() {
            shown.insert("include files", files);
        }
        for block in &self.blocks {
            let settings: Map = block.settings.iter().map(|one| (one.key.as_str().into(), one.value.clone())).collect();
            block.names.iter().for_each(|name| drop(shown.insert(name.as_str(), settings.clone())));
        }
        shown
    }

    /// The value of a setting, or of one in a block; false if there is none.
    pub fn get(&self, key: &str, inner: Option<&str>) -> Value {
        let found = self.shown().remove(key).unwrap_or(Value::Bool(false));
        match (inner.filter(|inner| !inner.is_empty()), &found) {
            (None, _) => found,
            (Some(inner), Value::Map(block)) => block.get(inner).cloned().unwrap_or(Value::Bool(false)),
            (Some(_), _) => Value::Bool(false),
        }
    }

    /// Sets a value. Returns the file to write, and its new text.
    pub fn set(&self, key: &str, value: &Value) -> Result<(String, String)> {
        if self.get(key, None).as_map().is_some() {
            return Err(Error::arguments(format!(
                "Error: {key} includes a dict, and a specific setting inside the dict was not declared"
            )));
        }
        let owner = self.owner(&|conf| conf.settings.iter().any(|setting| setting.key == key)).unwrap_or(self);
        let mut lines = owner.lines.clone();
        let new = line("", key, value);
        match owner.settings.iter().rfind(|setting| setting.key == key) {
            Some(setting) => lines[setting.line] = new,
            None => lines.insert(0, new),
        }
        Ok((owner.path.clone(), lines.concat()))
    }

    /// As [`Conf::set`], in a block, which is created if needed.
    pub fn set_in(&self, key: &str, inner: &str, value: &Value) -> Result<(String, String)> {
        let found = self.get(key, None);
        if found.truth() && found.as_map().is_none() {
            return Err(Error::arguments(
                "Error: A setting for a dict was declared, but the configuration line given is not a dict",
            ));
        }
        let has = |block: &Block| block.names.iter().any(|name| name == key);
        let owner = self.owner(&|conf| conf.blocks.iter().any(has)).unwrap_or(self);
        let mut lines = owner.lines.clone();
        let new = line("    ", inner, value);
        let Some(block) = owner.blocks.iter().rfind(|block| has(block)) else {
            if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
                last.push('\n');
            }
            lines.push(format!("{key} {{\n{new}}}\n"));
            return Ok((owner.path.clone(), lines.concat()));
        };
        match block.settings.iter().rfind(|setting| setting.key == inner) {
            Some(setting) if setting.value.as_list().is_some() => {
                return Err(Error::arguments(format!("{inner} is a script, which can't be set so")));
            }
            Some(setting) => {
                let old = &lines[setting.line];
                let indent: String = old.chars().take_while(|letter| letter.is_whitespace()).collect();
                lines[setting.line] = if new.is_empty() { new } else { line(&indent, inner, value) };
            }
            None => lines.insert(block.end, new),
        }
        Ok((owner.path.clone(), lines.concat()))
    }

    /// The file that contains something; this one has precedence.
    fn owner<'a>(&'a self, has: &dyn Fn(&Conf) -> bool) -> Option<&'a Conf> {
        let mut files = self.included.iter().flat_map(|(_, files)| files);
        if has(self) { Some(self) } else { files.find_map(|(_, conf)| conf.owner(has)) }
    }
}

/// True is written as the bare word, false by leaving it out.
fn line(indent: &str, key: &str, value: &Value) -> String {
    match value {
        Value::Bool(true) => format!("{indent}{key}\n"),
        value if !value.truth() && value.as_i64().is_none() => String::new(),
        value => format!("{indent}{key} {value}\n"),
    }
}

/// Converts a text that looks like a number.
pub fn number(value: &Value) -> Value {
    match value {
        Value::String(text) => text.parse().map_or_else(|_| value.clone(), Value::Int),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    const MAIN: &str =
        "# see man\nweekly\nrotate 4\ninclude /etc/logrotate.d\n/var/log/wtmp {\n    monthly\n    rotate 1\n}\n";
    const SYSLOG: &str = "/var/log/a\n/var/log/b\n{\n\trotate 7\n\tpostrotate\n\t\tkill -HUP 1\n\tendscript\n\tcreate 0640 root adm\n}\n";

    fn conf() -> Conf {
        let machine = Fake::new().file("/etc/logrotate.conf", MAIN).file("/etc/logrotate.d/syslog", SYSLOG);
        Conf::read(&machine, "/etc/logrotate.conf").expect("it can be read")
    }

    #[test]
    fn settings_are_read_with_what_is_included() {
        let block = "{'rotate': 7, 'postrotate': ['kill -HUP 1'], 'create': '0640 root adm'}";
        let expected = format!(
            "{{'weekly': True, 'rotate': 4, 'include': '/etc/logrotate.d', '/var/log/a': {block}, '/var/log/b': {block}, \
             'include files': {{'syslog': ['/var/log/a', '/var/log/b']}}, '/var/log/wtmp': {{'monthly': True, 'rotate': 1}}}}"
        );
        assert_eq!(Value::Map(conf().shown()).to_string(), expected);
        assert_eq!(conf().get("/var/log/b", Some("rotate")), Value::Int(7));
        assert_eq!(conf().get("nosuch", None), Value::Bool(false));
    }

    #[test]
    fn only_the_line_that_is_meant_changes() {
        let (path, text) = conf().set("rotate", &Value::Int(9)).expect("it can be set");
        assert_eq!((path.as_str(), text), ("/etc/logrotate.conf", MAIN.replace("rotate 4", "rotate 9")));
        let (_, text) = conf().set("compress", &Value::Bool(true)).expect("it can be set");
        assert_eq!(text, format!("compress\n{MAIN}"));
        let (path, text) = conf().set_in("/var/log/b", "rotate", &Value::Int(8)).expect("it can be set");
        assert_eq!((path.as_str(), text), ("/etc/logrotate.d/syslog", SYSLOG.replace("rotate 7", "rotate 8")));
        let (_, text) = conf().set_in("/var/log/wtmp", "missingok", &Value::Bool(true)).expect("it can be set");
        assert!(text.ends_with("    rotate 1\n    missingok\n}\n"), "{text}");
        let (_, text) = conf().set_in("/var/log/wtmp", "monthly", &Value::Bool(false)).expect("it can be set");
        assert!(text.ends_with("/var/log/wtmp {\n    rotate 1\n}\n"), "{text}");
        let (_, text) = conf().set_in("/var/log/new", "daily", &Value::Bool(true)).expect("it can be set");
        assert!(text.ends_with("}\n/var/log/new {\n    daily\n}\n"), "{text}");
        assert!(conf().set("/var/log/a", &Value::Int(1)).is_err());
        assert!(conf().set_in("weekly", "x", &Value::Int(1)).is_err());
        assert!(conf().set_in("/var/log/a", "postrotate", &"x".into()).is_err());
    }
}
