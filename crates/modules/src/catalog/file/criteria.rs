//! The criteria of `file.find`.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};

use super::owner::owner;
use crate::machine::{FileKind, Probe, Stat, System};
use crate::text::glob;
use crate::{Error, Result};

#[derive(Default)]
pub struct Criteria {
    name: Option<String>,
    lower_name: Option<String>,
    patterns: Vec<Pattern>,
    pub kinds: Option<Vec<FileKind>>,
    users: Option<Vec<u32>>,
    groups: Option<Vec<u32>>,
    /// Minimum and maximum.
    size: Option<(u64, u64)>,
    mtime: Option<(f64, f64)>,
    grep: Option<Pattern>,
}

impl Criteria {
    pub fn name(&mut self, name: Option<&str>, lower: Option<&str>) {
        self.name = name.map(str::to_owned);
        self.lower_name = lower.map(str::to_lowercase);
    }

    pub fn regex(&mut self, regex: Option<&str>, lower: Option<&str>) -> Result<()> {
        for (text, ignore_case) in [(regex, false), (lower, true)] {
            if let Some(text) = text {
                self.patterns.push(Pattern::at_start(text, Flags { ignore_case, ..Flags::NONE })?);
            }
        }
        Ok(())
    }

    pub fn owner(&mut self, machine: &dyn Probe, users: Option<&Value>, groups: Option<&Value>) -> Result<()> {
        for name in users.map(each).unwrap_or_default() {
            self.users.get_or_insert_default().extend(owner(machine, &name, &Value::Null)?.0);
        }
        for name in groups.map(each).unwrap_or_default() {
            self.groups.get_or_insert_default().extend(owner(machine, &Value::Null, &name)?.1);
        }
        Ok(())
    }

    /// A size without a sign matches all sizes that round down to it: `1k` is 1024 to 2047 bytes.
    pub fn size(&mut self, text: Option<&str>) -> Result<()> {
        let Some(text) = text else { return Ok(()) };
        let broken = || Error::arguments(format!("invalid size: \"{text}\"")).hint("as in 10k, +10m or -1g");
        let (sign, rest) = signed(text.trim());
        let digits = rest.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit: u64 = match rest[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" => 1 << 10,
            "m" => 1 << 20,
            "g" => 1 << 30,
            "t" => 1 << 40,
            _ => return Err(broken()),
        };
        let number: f64 = digits.trim().parse().ok().filter(|number| *number >= 0.0).ok_or_else(broken)?;
        let size = (number * unit as f64) as u64;
        self.size = Some(match sign {
            Some('+') => (size, u64::MAX),
            Some(_) => (0, size),
            None => (size, size.saturating_add(unit - 1)),
        });
        Ok(())
    }

    pub fn mtime(&mut self, text: Option<&str>, now: f64) -> Result<()> {
        let Some(text) = text else { return Ok(()) };
        let broken = || Error::arguments(format!("invalid time interval: \"{text}\"")).hint("as in 2d12h, +30d or -1w");
        let (sign, rest) = signed(text.trim());
        let mut seconds = 0.0;
        let mut digits = String::new();
        for letter in rest.chars() {
            let unit = match letter.to_ascii_lowercase() {
                '0'..='9' | '.' => {
                    digits.push(letter);
                    continue;
                }
                'w' => 604_800.0,
                'd' => 86_400.0,
                'h' => 3_600.0,
                'm' => 60.0,
                's' => 1.0,
                _ => return Err(broken()),
            };
            seconds += digits.parse::<f64>().map_err(|_| broken())? * unit;
            digits.clear();
        }
        if !digits.is_empty() {
            seconds += digits.parse::<f64>().map_err(|_| broken())?;
        }
        self.mtime = Some(if sign == Some('-') { (now - seconds, f64::MAX) } else { (f64::MIN, now - seconds) });
        Ok(())
    }

    pub fn grep(&mut self, text: Option<&str>) -> Result<()> {
        self.grep = text.map(|text| Pattern::new(text, Flags::NONE)).transpose()?;
        Ok(())
    }

    pub fn fit(&self, machine: &dyn System, path: &Path, stat: &Stat) -> Result<bool> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if self.name.as_deref().is_some_and(|pattern| !glob::matches(pattern, &name))
            || self.lower_name.as_deref().is_some_and(|pattern| !glob::matches(pattern, &name.to_lowercase()))
        {
            return Ok(false);
        }
        for pattern in &self.patterns {
            if !pattern.matches(&name)? {
                return Ok(false);
            }
        }
        // A link matches as the type of its target, and as a link.
        let behind = match stat.kind {
            FileKind::Link => machine.stat(path, true).ok().flatten(),
            _ => None,
        };
        let seen = behind.as_ref().unwrap_or(stat);
        if self.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&seen.kind) && !kinds.contains(&stat.kind))
            || self.users.as_ref().is_some_and(|users| !users.contains(&seen.uid))
            || self.groups.as_ref().is_some_and(|groups| !groups.contains(&seen.gid))
            || self.size.is_some_and(|(least, most)| seen.size < least || seen.size > most)
            || self.mtime.is_some_and(|(from, to)| seen.mtime < from || seen.mtime > to)
        {
            return Ok(false);
        }
        let Some(pattern) = &self.grep else { return Ok(true) };
        if seen.kind != FileKind::File {
            return Ok(false);
        }
        let content = machine.read(path).unwrap_or_default();
        for line in String::from_utf8_lossy(&content).lines() {
            if pattern.matches(line)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn signed(text: &str) -> (Option<char>, &str) {
    match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.chars().next(), rest),
        None => (None, text),
    }
}

/// The items of a list, or of a text separated by commas or blanks.
fn each(value: &Value) -> Vec<Value> {
    match value {
        Value::List(items) => items.clone(),
        Value::String(text) => text.split([',', ' ']).filter(|name| !name.is_empty()).map(Value::from).collect(),
        other => vec![other.clone()],
    }
}
