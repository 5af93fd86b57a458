//! debconf's database: its files are read here, but written by debconf itself.

use std::collections::BTreeMap;
use std::path::Path;

use rocksalt_core::Value;

use crate::machine::{Command, Probe, System};
use crate::text::words;
use crate::{Error, Result};

const FOLDER: &str = "/var/cache/debconf";

/// A question with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebconfAnswer {
    pub package: String,
    pub question: String,
    pub kind: String,
    pub value: String,
}

impl DebconfAnswer {
    /// The answer in the form of Salt's list.
    pub fn to_value(&self) -> Value {
        Value::List(vec![self.question.as_str().into(), self.kind.as_str().into(), self.value.as_str().into()])
    }

    /// The value, unless it is a password.
    pub fn shown(&self) -> &str {
        if self.kind == "password" { "(password hidden)" } else { &self.value }
    }

    /// Parses a line of `debconf-set-selections`: `package question type value`.
    pub fn read(line: &str) -> Option<DebconfAnswer> {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (package, rest) = line.split_once(char::is_whitespace)?;
        let (question, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        let rest = rest.trim_start();
        let (kind, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let [package, question, kind] = [package, question, kind].map(str::to_owned);
        // One space separates type and value; further ones belong to the value.
        Some(DebconfAnswer { package, question, kind, value: value.to_owned() })
    }
}

/// All answers, ordered by question.
pub fn all(machine: &dyn Probe) -> Result<Vec<DebconfAnswer>> {
    let templates: BTreeMap<String, Fields> = stanzas(machine, "templates.dat")?
        .into_iter()
        .filter_map(|fields| Some((fields.get("Name")?.clone(), fields)))
        .collect();
    let mut found = Vec::new();
    for file in ["config.dat", "passwords.dat"] {
        for fields in stanzas(machine, file)? {
            let Some(question) = fields.get("Name") else { continue };
            let template = fields.get("Template").and_then(|name| templates.get(name));
            let of_template = |key: &str| template.and_then(|template| template.get(key)).cloned();
            let kind = of_template("Type").unwrap_or_default();
            if matches!(kind.as_str(), "" | "text" | "title") {
                continue;
            }
            let value = fields.get("Value").cloned().or_else(|| of_template("Default")).unwrap_or_default();
            let owners = fields.get("Owners").map_or("unknown", String::as_str);
            for package in owners.split(',').map(str::trim).filter(|owner| !owner.is_empty()) {
                let [package, question, kind] = [package, question, &kind].map(str::to_owned);
                found.push(DebconfAnswer { package, question, kind, value: value.clone() });
            }
        }
    }
    Ok(found)
}

type Fields = BTreeMap<String, String>;

fn stanzas(machine: &dyn Probe, file: &str) -> Result<Vec<Fields>> {
    let path = Path::new(FOLDER).join(file);
    let content = match machine.read(&path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read", &path, &error)),
    };
    let text = String::from_utf8_lossy(&content);
    let fields = |stanza: &str| {
        // Indented lines are skipped: texts to show, and variables.
        let lines = stanza.lines().filter(|line| !line.starts_with(' '));
        lines
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.to_owned(), unescaped(value.trim())))
            .collect()
    };
    Ok(text.split("\n\n").map(fields).filter(|fields: &Fields| !fields.is_empty()).collect())
}

/// debconf writes a new line as `\n`.
fn unescaped(value: &str) -> String {
    value.replace("\\n", "\n")
}

/// Sets answers through standard input: passwords must not be visible in the list of processes.
pub fn set(machine: &dyn System, lines: &str) -> Result<()> {
    let mut work = Command::new(["debconf-set-selections"]);
    work.env.push(("LC_ALL".into(), Some("C.UTF-8".into())));
    work.stdin = Some(format!("{}\n", lines.trim_end()).into_bytes());
    let output = machine.run(&work)?;
    let said = String::from_utf8_lossy(&output.stderr);
    // The program continues after an invalid line, and exits with 0.
    let wrong = said.lines().any(|line| line.starts_with("error:"));
    if output.success() && !wrong {
        return Ok(());
    }
    // The error repeats the line, which may contain a password.
    let hidden: Vec<&str> = said.lines().map(|line| line.split('\'').next().unwrap_or_default()).collect();
    let line = words::join(&work.argv);
    Err(Error::failed(format!("'{line}' failed with exit code {}: {}", output.code, hidden.join("\n").trim())))
}

/// One answer as a line, or why it can't be one.
pub fn line(package: &str, question: &str, kind: &str, value: &str) -> Result<String> {
    let word = |what: &str, text: &str| match text.is_empty() || text.contains(char::is_whitespace) {
        true => Err(Error::arguments(format!("debconf: '{text}' is no {what}"))),
        false => Ok(()),
    };
    word("package", package)?;
    word("question", question)?;
    word("type", kind)?;
    if value.contains('\n') {
        return Err(Error::arguments(format!("debconf: the answer to {question} has more than one line")));
    }
    Ok(format!("{package} {question} {kind} {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn the_database_is_read() {
        let fake = Fake::new()
            .file("/var/cache/debconf/templates.dat", "Name: a/q\nType: string\nDefault: d\nDescription: x\nExtended_description: y\n z\n\nName: a/text\nType: text\n\nName: a/pw\nType: password\n\n")
            .file("/var/cache/debconf/config.dat", "Name: a/q\nTemplate: a/q\nOwners: a, b\nFlags: seen\n\nName: a/r\nTemplate: a/q\nValue: own\nOwners: a\nVariables:\n x = y\n\nName: a/text\nTemplate: a/text\nOwners: a\n\n")
            .file("/var/cache/debconf/passwords.dat", "Name: a/pw\nTemplate: a/pw\nValue: secret\nOwners: a\n\n");
        let found: Vec<String> = all(&fake)
            .expect("it is readable")
            .iter()
            .map(|one| format!("{} {} {} {}", one.package, one.question, one.kind, one.shown()))
            .collect();
        assert_eq!(
            found,
            ["a a/q string d", "b a/q string d", "a a/r string own", "a a/pw password (password hidden)"]
        );
    }
}
