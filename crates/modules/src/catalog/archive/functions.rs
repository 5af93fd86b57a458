//! Functions that make, list and extract archives.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::function;

use super::super::cp;
use super::super::file::absolute;
use super::place::Archive;
use super::{ArchiveFormat, Function, tar, zip};
use crate::machine::{Command, Output, Probe, System};
use crate::text::{glob, words};
use crate::{Error, Result};

/// Runs tar with any options, and returns the lines that it prints.
///
/// ```text
/// rocksalt '*' archive.tar -cjvf /tmp/site.tar.bz2 /srv/site
/// ```
#[function("archive.tar", changes)]
pub struct Tar {
    /// Options; the last letter of the first must be `f`.
    options: String,
    /// The archive.
    tarfile: String,
    /// What to put into it, or take out of it: a list, or a comma-separated text; patterns are filled in.
    sources: Vec<String>,
    /// The directory to extract into.
    dest: Option<String>,
    /// The directory to run in.
    cwd: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for Tar {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        if self.options.trim().is_empty() {
            return Err(Error::arguments("Tar options can not be empty"));
        }
        let mut argv: Vec<String> = vec!["tar".into()];
        argv.extend(self.options.split_whitespace().map(str::to_owned));
        argv.push(self.tarfile);
        if let Some(dest) = self.dest {
            argv.extend(["-C".into(), dest]);
        }
        argv.push("--".into());
        argv.extend(expanded(machine, &self.sources, self.cwd.as_deref()));
        if argv.last().is_some_and(|last| last == "--") {
            argv.pop();
        }
        lines(machine, argv, self.cwd.as_deref(), self.runas)
    }
}

/// Compresses a file with gzip.
///
/// ```text
/// rocksalt '*' archive.gzip /var/log/old.log options=--keep
/// ```
#[function("archive.gzip", changes)]
pub struct Gzip {
    /// The file.
    sourcefile: String,
    /// The user to run as.
    runas: Option<String>,
    /// Options of gzip.
    options: Option<String>,
}

impl Function for Gzip {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        compress(machine, "gzip", self.options.as_deref(), self.sourcefile, self.runas)
    }
}

/// Decompresses a file with gunzip.
///
/// ```text
/// rocksalt '*' archive.gunzip /var/log/old.log.gz
/// ```
#[function("archive.gunzip", changes)]
pub struct Gunzip {
    /// The file.
    gzipfile: String,
    /// The user to run as.
    runas: Option<String>,
    /// Options of gunzip.
    options: Option<String>,
}

impl Function for Gunzip {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        compress(machine, "gunzip", self.options.as_deref(), self.gzipfile, self.runas)
    }
}

/// The contents of an archive.
///
/// ```text
/// rocksalt '*' archive.list salt://tool-1.2.tar.gz verbose=True
/// ```
#[function("archive.list", changes)]
pub struct List {
    /// `salt://…`, `http(s)://…` or a path on the target.
    name: String,
    /// `tar` or `zip`; else by the name.
    archive_format: Option<String>,
    /// A command that decompresses the archive, where tar can't by itself.
    options: Option<String>,
    /// Leave out this many leading parts of each path.
    strip_components: Option<usize>,
    /// Remove the copy in the cache afterwards.
    clean: bool,
    /// Sorted by directories, files and links.
    verbose: bool,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// The hash that it must have.
    source_hash: Option<String>,
}

impl Function for List {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let source = cp::source::ContentSource::parse(machine, &self.name, self.saltenv.as_deref())?;
        let format = match &self.archive_format {
            Some(name) => ArchiveFormat::named(name)
                .filter(|format| *format != ArchiveFormat::Rar)
                .ok_or_else(|| Error::arguments(format!("Unsupported archive format '{name}'")))?,
            None => ArchiveFormat::of(&source.name()).ok_or_else(|| {
                Error::arguments("Unable to guess archive format, please pass an 'archive_format' argument.")
            })?,
        };
        let path = cached(machine, &self.name, self.saltenv.as_deref(), self.source_hash.as_deref())?;
        let archive = Archive::File(path.clone());
        let strip = self.strip_components.unwrap_or(0);
        let contents = match format {
            ArchiveFormat::Zip => zip::list(machine, &archive, None),
            ArchiveFormat::Tar => tar::list(machine, &archive, self.options.as_deref(), strip),
            ArchiveFormat::Rar => Err(Error::failed("rar archives can't be listed").hint("use cmd.run with unrar")),
        };
        let contents = contents.map_err(|error| Error::failed(format!("{}: {error}", self.name)))?;
        if self.clean && !matches!(source, cp::source::ContentSource::Local(_)) {
            let _ = machine.remove(&path);
        }
        if self.verbose {
            return Ok(contents.sorted().into());
        }
        let mut all = [contents.dirs, contents.files, contents.links].concat();
        all.sort();
        Ok(Value::List(all.into_iter().map(Value::from).collect()))
    }
}

/// Whether a zip archive needs a password.
///
/// ```text
/// rocksalt '*' archive.is_encrypted salt://tool.zip
/// ```
#[function("archive.is_encrypted", changes)]
pub struct IsEncrypted {
    /// `salt://…`, `http(s)://…` or a path on the target.
    name: String,
    /// Remove the copy in the cache afterwards.
    clean: bool,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// The hash that it must have.
    source_hash: Option<String>,
}

impl Function for IsEncrypted {
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let path = cached(machine, &self.name, self.saltenv.as_deref(), self.source_hash.as_deref())?;
        let answer = zip::is_encrypted(machine, &Archive::File(path.clone()));
        if self.clean && !self.name.starts_with('/') {
            let _ = machine.remove(&path);
        }
        answer.map_err(|error| Error::failed(format!("{} {error}", self.name)))
    }
}

/// Extracts a zip archive, without any tool of the target's.
///
/// ```text
/// rocksalt '*' archive.unzip /tmp/site.zip /srv/site excludes=README
/// ```
#[function("archive.unzip", changes)]
pub struct Unzip {
    /// The archive.
    zip_file: String,
    /// The directory to extract into.
    dest: String,
    /// Members to leave out: a list, or a comma-separated text.
    excludes: Vec<String>,
    /// Return at most this many names; `True` means 100.
    trim_output: Value,
    /// The archive's password.
    #[secret]
    password: Option<String>,
    /// With the permissions that the archive has.
    #[default(true)]
    extract_perms: bool,
}

impl Function for Unzip {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let (file, dest) = (absolute(machine, &self.zip_file)?, absolute(machine, &self.dest)?);
        let excludes = split(&self.excludes);
        let request = zip::ExtractOptions {
            password: self.password.as_deref(),
            permissions: self.extract_perms,
            excludes: &excludes,
        };
        let names = zip::extract(machine, &Archive::File(file), &dest, &request)
            .map_err(|error| Error::failed(format!("{}: {error}", self.zip_file)))?;
        Ok(trimmed(names, &self.trim_output))
    }
}

/// Extracts a zip archive with the target's `unzip`, and returns the lines that it prints.
///
/// ```text
/// rocksalt '*' archive.cmd_unzip /tmp/site.zip /srv/site options=-o
/// ```
#[function("archive.cmd_unzip", changes)]
pub struct CmdUnzip {
    /// The archive.
    zip_file: String,
    /// The directory to extract into.
    dest: String,
    /// Members to leave out: a list, or a comma-separated text.
    excludes: Vec<String>,
    /// Options of unzip.
    options: Option<String>,
    /// The user to run as.
    runas: Option<String>,
    /// Return at most this many lines; `True` means 100.
    trim_output: Value,
    /// Refused: it would be seen by everybody on the target. `archive.unzip` takes one.
    #[secret]
    password: Option<String>,
}

impl Function for CmdUnzip {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        if self.password.is_some() {
            return Err(Error::arguments("unzip takes a password only where everybody on the target sees it")
                .hint("use archive.unzip"));
        }
        let (file, dest) = (absolute(machine, &self.zip_file)?, absolute(machine, &self.dest)?);
        let lines = unzip(machine, &file, &dest, self.options.as_deref(), &split(&self.excludes), self.runas)?;
        Ok(trimmed(lines, &self.trim_output))
    }
}

/// Creates a zip archive with the target's `zip`, and returns the names in it.
///
/// ```text
/// rocksalt '*' archive.zip /tmp/site.zip site cwd=/srv
/// ```
#[function("archive.zip", changes)]
pub struct Zip {
    /// The archive.
    zip_file: String,
    /// What to put into it: a list, or a comma-separated text; patterns are filled in.
    #[required]
    sources: Vec<String>,
    /// The directory that relative paths begin in.
    cwd: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for Zip {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let sources = expanded(machine, &self.sources, self.cwd.as_deref());
        if self.cwd.is_none() && sources.iter().any(|source| !source.starts_with('/')) {
            return Err(Error::arguments("Relative paths require the 'cwd' parameter"));
        }
        let name = |line: String| {
            let (_, rest) = line.split_once(": ")?;
            Some(rest.rsplit_once(" (").map_or(rest, |(name, _)| name).to_owned())
        };
        Ok(make_zip(machine, self.zip_file, sources, self.cwd.as_deref(), self.runas)?
            .into_iter()
            .filter_map(name)
            .collect())
    }
}

/// Creates a zip archive with the target's `zip`, and returns the lines that it prints.
///
/// ```text
/// rocksalt '*' archive.cmd_zip /tmp/site.zip /srv/site
/// ```
#[function("archive.cmd_zip", changes)]
pub struct CmdZip {
    /// The archive.
    zip_file: String,
    /// What to put into it: a list, or a comma-separated text; patterns are filled in.
    #[required]
    sources: Vec<String>,
    /// The directory that relative paths begin in.
    cwd: Option<String>,
    /// The user to run as.
    runas: Option<String>,
}

impl Function for CmdZip {
    type Output = Vec<String>;

    fn call(self, machine: &dyn System) -> Result<Vec<String>> {
        let sources = expanded(machine, &self.sources, self.cwd.as_deref());
        make_zip(machine, self.zip_file, sources, self.cwd.as_deref(), self.runas)
    }
}

/// Extracts with the target's `unzip`, after checking that nothing leads out of the directory.
pub fn unzip(
    machine: &dyn System,
    file: &Path,
    dest: &Path,
    options: Option<&str>,
    excludes: &[String],
    runas: Option<String>,
) -> Result<Vec<String>> {
    if let Some(text) = zip::list(machine, &Archive::File(file.to_owned()), None)?.escape() {
        return Err(Error::failed(format!("the archive is refused: {text}")));
    }
    let mut argv = vec!["unzip".to_owned()];
    argv.extend(
        words::split(options.unwrap_or_default()).map_err(|reason| Error::arguments(format!("options: {reason}")))?,
    );
    argv.extend([file.to_string_lossy().into_owned(), "-d".into(), dest.to_string_lossy().into_owned()]);
    if !excludes.is_empty() {
        argv.push("-x".into());
        argv.extend(excludes.iter().cloned());
    }
    let output = checked(machine, Command { merge_stderr: true, user: runas, ..Command::new(argv) })?;
    Ok(output.text().trim_end().lines().map(str::to_owned).collect())
}

fn make_zip(
    machine: &dyn System,
    file: String,
    sources: Vec<String>,
    cwd: Option<&str>,
    runas: Option<String>,
) -> Result<Vec<String>> {
    let mut argv =
        vec!["zip".to_owned(), "-r".into(), absolute(machine, &file)?.to_string_lossy().into_owned(), "--".into()];
    argv.extend(sources);
    lines(machine, argv, cwd, runas)
}

fn compress(
    machine: &dyn System,
    tool: &str,
    options: Option<&str>,
    file: String,
    runas: Option<String>,
) -> Result<Vec<String>> {
    let mut argv = vec![tool.to_owned()];
    argv.extend(
        words::split(options.unwrap_or_default()).map_err(|reason| Error::arguments(format!("options: {reason}")))?,
    );
    argv.extend(["--".into(), file]);
    lines(machine, argv, None, runas)
}

fn lines(machine: &dyn System, argv: Vec<String>, cwd: Option<&str>, runas: Option<String>) -> Result<Vec<String>> {
    let cwd = cwd.map(|cwd| absolute(machine, cwd)).transpose()?;
    let output = checked(machine, Command { cwd, user: runas, merge_stderr: true, ..Command::new(argv) })?;
    Ok(output.text().trim_end().lines().map(str::to_owned).collect())
}

fn checked(machine: &dyn System, command: Command) -> Result<Output> {
    let output = machine.run(&command)?;
    if output.success() {
        return Ok(output);
    }
    let said = output.text();
    Err(Error::failed(format!("'{}' failed with exit code {}: {}", command.argv.join(" "), output.code, said.trim())))
}

/// Expands patterns to the paths that match; a pattern without matches stays.
fn expanded(machine: &dyn Probe, sources: &[String], cwd: Option<&str>) -> Vec<String> {
    let one = |source: String| {
        if !source.contains(['*', '?', '[']) {
            return vec![source];
        }
        let whole = match (source.starts_with('/'), cwd) {
            (false, Some(cwd)) => format!("{}/{source}", cwd.trim_end_matches('/')),
            _ => source,
        };
        glob::paths(machine, &whole).iter().map(|path| path.to_string_lossy().into_owned()).collect()
    };
    split(sources).into_iter().flat_map(one).collect()
}

fn split(texts: &[String]) -> Vec<String> {
    texts
        .iter()
        .flat_map(|text| text.split(','))
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect()
}

fn cached(machine: &dyn System, name: &str, saltenv: Option<&str>, hash: Option<&str>) -> Result<std::path::PathBuf> {
    let source = cp::source::ContentSource::parse(machine, name, saltenv)?;
    cp::cached(machine, &source, hash)?.ok_or_else(|| Error::failed(format!("Failed to cache {name}")))
}

fn trimmed(mut lines: Vec<String>, trim: &Value) -> Vec<String> {
    let count = match trim {
        Value::Null | Value::Bool(false) => return lines,
        Value::Bool(true) => 100,
        other => other.to_string().parse().unwrap_or(100),
    };
    if lines.len() > count {
        lines.truncate(count);
        lines.push(format!("List trimmed after {count} files."));
    }
    lines
}
