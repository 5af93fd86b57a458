//! `file.tidied`: removes old or large files from a directory.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_macros::state;

use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, look, writes};
use crate::machine::{Command, FileKind, Probe, Stat};
use crate::{Error, Result};

/// Removes files from a directory and those below it, by age, size and name.
///
/// ```yaml
/// cleanup:
///   file.tidied:
///     - name: /var/tmp
///     - rmdirs: True
///     - age: 7
///     - age_size_only: age
///     - matches:
///       - foo
///       - b.*r
/// ```
#[state("file.tidied")]
pub struct Tidied {
    /// The directory.
    name: String,
    /// At least so many days old.
    #[default]
    age: i64,
    /// Regular expressions for names, from their start; all by default.
    matches: Option<Vec<String>>,
    /// Remove directories, too.
    rmdirs: Flag,
    /// At least so big: bytes, or `10m`.
    size: Value,
    /// Regular expressions for names to leave.
    exclude: Vec<String>,
    /// The expressions are for whole paths.
    full_path_match: Flag,
    /// Go into directories that links lead to.
    followlinks: Flag,
    /// Which time counts: `atime`, `mtime` or `ctime`.
    time_comparison: Value,
    /// `AND` if age and size must both fit; else one is enough.
    age_size_logical_operator: Option<String>,
    /// Look at `age` or `size` only.
    age_size_only: Option<String>,
    /// Remove links.
    #[default(true)]
    rmlinks: Flag,
}

impl State for Tidied {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let name = look::name(machine, &self.name);
        if !look::is_absolute(&name) {
            return Ok(Decision::Settled(Verdict::bad(format!("Specified file {name} is not an absolute path"))));
        }
        if !look::is_directory(machine, &name) {
            return Ok(Decision::Settled(Verdict::bad(format!("{name} does not exist or is not a directory."))));
        }
        let mut gone = Vec::new();
        self.walk(machine, &name, &self.rules(machine)?, 0, &mut gone)?;
        if gone.is_empty() {
            let text = format!("Nothing to remove from directory {name}");
            return Ok(Decision::Settled(Verdict::good(text).output("path", name)));
        }
        let removed: Vec<Value> = gone.iter().map(|path| path.as_str().into()).collect();
        let text = format!("Removed {} files or directories from directory {name}", gone.len());
        let would = Verdict::would(format!("{name} is set for tidy")).change("removed", removed.clone());
        let done = Verdict::good(text).change("removed", removed).output("path", name);
        // A directory is removed after its content.
        Ok(Decision::Change(Plan::brief(done).all(gone.into_iter().map(Action::Remove)), would))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

/// The parsed arguments.
struct TidyRules {
    matches: Vec<Pattern>,
    exclude: Vec<Pattern>,
    size: u64,
    /// The offset of local time in seconds.
    offset: i64,
    today: i64,
}

impl Tidied {
    fn rules(&self, machine: &dyn Probe) -> Result<TidyRules> {
        let patterns = |list: &[String]| -> Result<Vec<Pattern>> {
            list.iter().map(|text| Ok(Pattern::at_start(text, Flags::NONE)?)).collect()
        };
        let all = vec![".*".to_owned()];
        let offset = offset(machine);
        Ok(TidyRules {
            matches: patterns(self.matches.as_ref().unwrap_or(&all))?,
            exclude: patterns(&self.exclude)?,
            size: size(&self.size)?,
            offset,
            today: day(machine.now(), offset),
        })
    }

    /// From the bottom up; files before directories.
    fn walk(
        &self,
        machine: &dyn Probe,
        path: &str,
        rules: &TidyRules,
        depth: usize,
        gone: &mut Vec<String>,
    ) -> Result<()> {
        if machine.cancelled() {
            return Err(Error::cancelled());
        }
        let names = machine.list(Path::new(path)).unwrap_or_default();
        let (directories, files): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| look::is_directory(machine, &look::join(path, name)));
        for name in &directories {
            let below = look::join(path, name);
            // A link may lead to a parent directory.
            if depth < 64 && (self.followlinks.0 || !look::is_link(machine, &below)) {
                self.walk(machine, &below, rules, depth + 1, gone)?;
            }
        }
        for name in files.iter().chain(&directories) {
            let whole = look::join(path, name);
            let Some(stat) = look::itself(machine, &whole) else { continue };
            let tested = if self.full_path_match.0 { &whole } else { name };
            if self.fits(&stat, rules) && matches(tested, rules)? {
                gone.push(whole);
            }
        }
        Ok(())
    }

    fn fits(&self, stat: &Stat, rules: &TidyRules) -> bool {
        let (allowed, size) = match stat.kind {
            FileKind::Link => (self.rmlinks.0, 0),
            FileKind::Directory => (self.rmdirs.0, 0),
            _ => (true, stat.size),
        };
        let time = match self.time_comparison.as_str().map(str::to_lowercase).as_deref() {
            Some("ctime") => stat.ctime,
            Some("mtime") => stat.mtime,
            _ => stat.atime,
        };
        let old = (rules.today - day(time, rules.offset)).abs() >= self.age;
        let big = size >= rules.size;
        let both = self.age_size_logical_operator.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("and"));
        allowed
            && match self.age_size_only.as_deref().map(str::to_lowercase).as_deref() {
                Some("age") => old,
                Some("size") => big,
                _ if both => old && big,
                _ => old || big,
            }
    }
}

fn matches(name: &str, rules: &TidyRules) -> Result<bool> {
    for pattern in &rules.matches {
        if pattern.matches(name)? {
            for exclude in &rules.exclude {
                if exclude.matches(name)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
    }
    Ok(false)
}

/// The number of the day, in local time.
fn day(time: f64, offset: i64) -> i64 {
    (time.floor() as i64 + offset).div_euclid(86_400)
}

fn offset(machine: &dyn Probe) -> i64 {
    let output = machine.query(&Command::new(["date", "+%z"])).ok().filter(|output| output.success());
    let text = output.map(|output| output.text()).unwrap_or_default();
    let Ok(number) = text.trim().parse::<i64>() else { return 0 };
    (number / 100) * 3600 + (number % 100) * 60
}

/// Parses `10`, `10k`, `1.5 MB`, `2GiB`; decimal if the unit is a metric one.
fn size(value: &Value) -> Result<u64> {
    let text = match value {
        Value::Null => return Ok(0),
        other => other.to_string(),
    };
    let text = text.trim().to_lowercase();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim();
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some(letter) => "kmgtpezy".find(letter).map_or(0, |index| index as i32 + 1),
    };
    let base: f64 = if unit.len() == 2 && unit.ends_with('b') { 1000.0 } else { 1024.0 };
    let number: f64 =
        number.parse().map_err(|_| Error::arguments(format!("size: '{value}' is no size")).hint("as in 10m"))?;
    Ok((number * base.powi(power)) as u64)
}
