//! `file.find`: files by name, type, owner, size, time or content.

use std::path::{Path, PathBuf};

use rocksalt_core::Value;
use rocksalt_core::sort::sort_by;
use rocksalt_macros::function;

use super::Function;
use super::criteria::Criteria;
use super::path::{expand, walk};
use super::read::digest_kind;
use super::stat::{group_name, user_name};
use crate::machine::{Command, FileKind, Stat, System};
use crate::text::{glob, words};
use crate::{Error, Result};

/// Finds files and directories by all given criteria, and returns their paths or does something to them.
///
/// ```text
/// rocksalt '*' file.find / type=f name='*.bak' size=+10m
/// rocksalt '*' file.find /var mtime=+30d size=+10m print=path,size,mtime
/// rocksalt '*' file.find /var/log name='*.[0-9]' mtime=+30d size=+10m delete=f
/// ```
#[function("file.find", changes)]
pub struct Find {
    /// Where to begin; may be a shell pattern.
    path: String,
    /// `delete` or `print`, as words for `delete=f` and `print=path`.
    args: Vec<String>,
    /// A shell pattern that the name matches.
    name: Option<String>,
    /// As `name`, in upper or lower case.
    iname: Option<String>,
    /// A regular expression that the name begins with.
    regex: Option<String>,
    /// As `regex`, in upper or lower case.
    iregex: Option<String>,
    /// Letters of kinds: `f` file, `d` directory, `l` link, `b` and `c` devices, `p` pipe, `s` socket.
    r#type: Option<String>,
    /// Names or numbers of users.
    owner: Option<Value>,
    /// Names or numbers of groups.
    group: Option<Value>,
    /// `10k`, `+10m` for at least, `-1g` for at most.
    size: Option<String>,
    /// `2d12h` or `+2d` for changed at least so long ago, `-1w` for at most.
    mtime: Option<String>,
    /// A regular expression that matches a line of the file.
    grep: Option<String>,
    /// Leave out what is fewer directories deep.
    mindepth: Option<u32>,
    /// Descend at most this many directories.
    maxdepth: Option<u32>,
    /// What to give: `group`, `md5`, `mode`, `mtime`, `name`, `path`, `size`, `type` and `user`, with commas.
    print: Option<String>,
    /// Remove what is found and of these kinds.
    delete: Option<String>,
    /// Run this command on each, with `{}` for the path.
    exec: Option<String>,
}

impl Function for Find {
    type Output = Vec<Value>;

    fn call(mut self, machine: &dyn System) -> Result<Vec<Value>> {
        for word in &self.args {
            match word.as_str() {
                "delete" => self.delete = Some("f".into()),
                "print" => self.print = Some("path".into()),
                other => return Err(Error::arguments(format!("invalid option \"{other}\""))),
            }
        }
        let criteria = self.criteria(machine)?;
        let delete = self.delete.as_deref().map(kinds).transpose()?;
        if delete.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::arguments("missing value for \"delete\" option").hint("delete=f removes files"));
        }
        let fields: Vec<&str> =
            self.print.as_deref().map(|names| names.split(',').map(str::trim).collect()).unwrap_or_default();
        if let Some(wrong) = fields.iter().find(|name| !FIELDS.contains(name)) {
            return Err(Error::arguments(format!("print: there is nothing called '{wrong}'"))
                .hint(format!("known are {}", FIELDS.join(", "))));
        }

        let found = self.search(machine, &criteria)?;
        let mut results = Vec::new();
        for (path, stat) in &found {
            let name = path.to_string_lossy().into_owned();
            if let Some(command) = &self.exec {
                results.push(Value::String(execute(machine, command, &name)?));
            } else if !fields.is_empty() {
                let mut values: Vec<Value> =
                    fields.iter().map(|field| show(machine, field, path, stat)).collect::<Result<_>>()?;
                results.push(if values.len() == 1 { values.remove(0) } else { Value::List(values) });
            } else if delete.is_none() {
                results.push(name.into());
            }
        }
        if let Some(kinds) = delete {
            // The deepest paths first, so that emptied directories can be deleted too.
            for (path, stat) in found.iter().rev().filter(|(_, stat)| kinds.contains(&stat.kind)) {
                let removed =
                    if stat.kind == FileKind::Directory { machine.remove_dir(path) } else { machine.remove(path) };
                removed.map_err(|error| {
                    let count = results.len();
                    Error::io("remove", path, &error).hint(format!("{count} others were removed before"))
                })?;
                results.push(path.to_string_lossy().into_owned().into());
            }
            results.reverse();
        }
        Ok(results)
    }
}

impl Find {
    fn criteria(&self, machine: &dyn System) -> Result<Criteria> {
        let mut criteria = Criteria::default();
        criteria.name(self.name.as_deref(), self.iname.as_deref());
        criteria.regex(self.regex.as_deref(), self.iregex.as_deref())?;
        criteria.kinds = self.r#type.as_deref().map(kinds).transpose()?;
        criteria.owner(machine, self.owner.as_ref(), self.group.as_ref())?;
        criteria.size(self.size.as_deref())?;
        criteria.mtime(self.mtime.as_deref(), machine.now())?;
        criteria.grep(self.grep.as_deref())?;
        Ok(criteria)
    }

    /// All paths that fit, in order.
    fn search(&self, machine: &dyn System, criteria: &Criteria) -> Result<Vec<(PathBuf, Stat)>> {
        let top = expand(machine, &self.path);
        let tops = match glob::is_pattern(&self.path) && matches!(machine.stat(&top, false), Ok(None)) {
            true => glob::paths(machine, &top.to_string_lossy()),
            false => vec![top],
        };
        let (least, most) = (self.mindepth.unwrap_or(0) as usize, self.maxdepth.unwrap_or(u32::MAX) as usize);
        let mut found = Vec::new();
        for top in tops {
            walk(machine, &top, &mut |path, stat| {
                let depth = path.components().count().saturating_sub(top.components().count());
                if depth >= least && criteria.fit(machine, path, stat)? {
                    found.push((path.to_owned(), stat.clone()));
                }
                Ok(depth < most)
            })?;
        }
        sort_by(&mut found, |one, other| one.0.cmp(&other.0));
        Ok(found)
    }
}

const FIELDS: [&str; 10] = ["group", "md5", "mode", "mtime", "name", "owner", "path", "size", "type", "user"];

fn show(machine: &dyn System, field: &str, path: &Path, stat: &Stat) -> Result<Value> {
    Ok(match field {
        "group" => group_name(machine, stat.gid),
        "md5" if stat.kind == FileKind::File => super::content::sum_of(machine, path, digest_kind("md5")?)?.into(),
        "md5" => "".into(),
        "mode" => stat.mode.into(),
        "mtime" => Value::Int(stat.mtime as i64),
        "name" => path.file_name().unwrap_or_default().to_string_lossy().into_owned().into(),
        "size" => stat.size.into(),
        "type" => letter(stat.kind).into(),
        "owner" | "user" => user_name(machine, stat.uid),
        _ => path.to_string_lossy().into_owned().into(),
    })
}

fn execute(machine: &dyn System, command: &str, path: &str) -> Result<String> {
    let argv = words::split(command).map_err(|reason| Error::arguments(format!("exec: {reason}")))?;
    let argv: Vec<String> = argv.iter().map(|word| word.replace("{}", path)).collect();
    let shown = command.replace("{}", path);
    let output = machine.run(&Command::new(argv))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(format!("{shown}:\n{}{errors}\n", output.text()))
}

fn kinds(letters: &str) -> Result<Vec<FileKind>> {
    const ALL: [FileKind; 7] = [
        FileKind::File,
        FileKind::Directory,
        FileKind::Link,
        FileKind::BlockDevice,
        FileKind::CharDevice,
        FileKind::Pipe,
        FileKind::Socket,
    ];
    let known = |wanted: char| ALL.into_iter().find(|kind| letter(*kind).starts_with(wanted));
    letters
        .chars()
        .filter(|letter| !letter.is_whitespace() && *letter != ',')
        .map(|wanted| {
            known(wanted).ok_or_else(|| {
                Error::arguments(format!("invalid file type \"{wanted}\"")).hint("known are f, d, l, b, c, p and s")
            })
        })
        .collect()
}

fn letter(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "f",
        FileKind::Directory => "d",
        FileKind::Link => "l",
        FileKind::BlockDevice => "b",
        FileKind::CharDevice => "c",
        FileKind::Pipe => "p",
        FileKind::Socket => "s",
    }
}
