//! [`ContentSource`]: where a file's content comes from: the controller's tree, a URL, or this machine.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc;

use rocksalt_core::frame::Ask;
use rocksalt_core::{Problem, Value, call::ProblemKind};

use super::url;
use crate::machine::{Probe, System};
use crate::text::digest::{DigestAlgorithm, DigestHasher};
use crate::{Error, Result};

/// A source of content.
#[derive(Debug, PartialEq, Eq)]
pub enum ContentSource {
    /// A file of the controller's tree: a relative path without `..`, and the environment.
    Tree { path: String, saltenv: String },
    /// `http://` or `https://`. The target fetches it with its own `curl` or `wget`, not the controller: a target must
    /// not make the controller contact addresses that only the controller can reach (`docs/security-rules.md#r4`).
    Url(String),
    /// A file that `rocksalt cp` sends.
    Given(String),
    /// A file of this machine.
    Local(PathBuf),
}

impl ContentSource {
    pub fn parse(machine: &dyn Probe, text: &str, saltenv: Option<&str>) -> Result<ContentSource> {
        if let Some(rest) = text.strip_prefix("salt://") {
            let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
            let asked = query.strip_prefix("saltenv=").or(saltenv);
            return Ok(ContentSource::Tree { path: tree_path(path)?, saltenv: environment(machine, asked)? });
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return Ok(ContentSource::Url(text.to_owned()));
        }
        let path = text.strip_prefix("file://").unwrap_or(text);
        if path.starts_with('/') {
            return Ok(ContentSource::Local(PathBuf::from(path)));
        }
        if text.contains("://") {
            return Err(Error::arguments(format!("'{text}': there is no such kind of source"))
                .hint("known are salt://, http://, https:// and absolute paths"));
        }
        // As in Salt, a bare path is one of the tree.
        Ok(ContentSource::Tree { path: tree_path(text)?, saltenv: environment(machine, saltenv)? })
    }
}

/// The environment to use if the caller names none.
pub fn environment(machine: &dyn Probe, asked: Option<&str>) -> Result<String> {
    let own = || machine.options().get("saltenv").and_then(Value::as_str);
    let name = asked.or_else(own).filter(|name| !name.is_empty()).unwrap_or("base");
    // The name becomes part of a path in the cache; names of git branches may contain slashes.
    let odd = |part: &str| part.is_empty() || part == ".." || part == ".";
    if name.contains('\0') || name.split('/').any(odd) {
        return Err(Error::arguments(format!("saltenv: '{name}' can't be the name of an environment")));
    }
    Ok(name.to_owned())
}

/// Checks a path of the tree, so that it is safe below any directory (`docs/security-rules.md#r6`).
pub fn tree_path(path: &str) -> Result<String> {
    let mut parts = Vec::new();
    for part in Path::new(path.trim_start_matches('/')).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            _ => {
                return Err(
                    Error::arguments(format!("'salt://{path}' leads out of the tree")).hint("leave out the `..`")
                );
            }
        }
    }
    Ok(parts.join("/"))
}

/// The whole content; `None` if there is no such file.
pub fn content(machine: &dyn System, source: &str, saltenv: Option<&str>) -> Result<Option<Vec<u8>>> {
    let source = ContentSource::parse(machine, source, saltenv)?;
    if let ContentSource::Local(path) = &source {
        return match machine.read(path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path, &error)),
        };
    }
    if let ContentSource::Url(url) = &source {
        return url::content(machine, url).map(Some);
    }
    if let ContentSource::Tree { path, saltenv } = &source {
        return Ok(machine.tree().read(saltenv, path)?.map(|content| content.to_vec()));
    }
    let Some(expected) = expected_sum(machine, &source)? else { return Ok(None) };
    let Some(ask) = source.ask() else { return Ok(None) };
    let mut content = Vec::new();
    let mut sum = DigestHasher::new(DigestAlgorithm::Sha256);
    let answer = machine.controller().fetch(ask, &mut |piece| {
        sum.add(piece);
        content.extend_from_slice(piece);
        Ok(())
    })?;
    verify(&sum.end(), &expected, &answer, &format!("{source}"))?;
    Ok(Some(content))
}

/// Writes the content to a file; false if the source doesn't exist. The file keeps its old content until the new one is
/// complete and verified.
pub fn download(machine: &dyn System, source: &ContentSource, path: &Path, mode: Option<u32>) -> Result<bool> {
    let Some(expected) = expected_sum(machine, source)? else { return Ok(false) };
    let Some(ask) = source.ask() else {
        return match source {
            ContentSource::Local(from) => copy(machine, from, path, mode),
            ContentSource::Url(url) => url::download(machine, url, path, mode).map(|()| true),
            ContentSource::Tree { .. } | ContentSource::Given(_) => Ok(false),
        };
    };
    std::thread::scope(|scope| {
        // One side pushes, the other pulls; only a few pieces are buffered between them.
        let (sender, pieces) = mpsc::sync_channel::<Vec<u8>>(4);
        let mut fetching = Some(scope.spawn(move || {
            machine.controller().fetch(ask, &mut |piece| {
                sender.send(piece.to_vec()).map_err(|_| Error::failed("the file could not be written"))
            })
        }));
        let mut sum = Some(DigestHasher::new(DigestAlgorithm::Sha256));
        machine.write_stream(path, mode, &mut || {
            while let Ok(piece) = pieces.recv() {
                if !piece.is_empty() {
                    sum.iter_mut().for_each(|sum| sum.add(&piece));
                    return Ok(piece);
                }
            }
            let (Some(fetching), Some(sum)) = (fetching.take(), sum.take()) else { return Ok(Vec::new()) };
            let answer = fetching.join().map_err(|_| Error::failed(format!("fetching {source} broke off")))??;
            verify(&sum.end(), &expected, &answer, &format!("{source}"))?;
            Ok(Vec::new())
        })
    })?;
    Ok(true)
}

/// The checksum in the controller's tree; `None` if there is no such file.
pub fn tree_sum(machine: &dyn Probe, path: &str, saltenv: &str) -> Result<Option<String>> {
    machine.tree().hash(saltenv, path)
}

/// The expected checksum of the content; empty if it is unknown.
fn expected_sum(machine: &dyn System, source: &ContentSource) -> Result<Option<String>> {
    match source {
        ContentSource::Tree { path, saltenv } => tree_sum(machine, path, saltenv),
        ContentSource::Url(_) | ContentSource::Given(_) | ContentSource::Local(_) => Ok(Some(String::new())),
    }
}

fn verify(sum: &str, expected: &str, answer: &Value, source: &str) -> Result<()> {
    let stated = answer.as_str().or_else(|| answer.as_map()?.get("sha256")?.as_str()).unwrap_or_default();
    for right in [expected, stated].into_iter().filter(|right| !right.is_empty()) {
        if !right.eq_ignore_ascii_case(sum) {
            let text = format!("{source} arrived damaged: its sha256 is {sum}, not {right}; nothing was changed");
            return Err(Problem::new(ProblemKind::Failed, text)
                .hint("try again; it may have changed meanwhile")
                .into());
        }
    }
    Ok(())
}

fn copy(machine: &dyn System, from: &Path, to: &Path, mode: Option<u32>) -> Result<bool> {
    match machine.stat(from, true) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(false),
        Err(error) => return Err(Error::io("look at", from, &error)),
    }
    let mut offset = 0;
    machine.write_stream(to, mode, &mut || {
        let piece = machine.read_at(from, offset, 256 * 1024).map_err(|error| Error::io("read", from, &error))?;
        offset += piece.len() as u64;
        Ok(piece)
    })?;
    Ok(true)
}

impl ContentSource {
    fn ask(&self) -> Option<Ask> {
        match self {
            ContentSource::Tree { path, saltenv } => Some(Ask::File { path: path.clone(), saltenv: saltenv.clone() }),
            ContentSource::Given(url) => Some(Ask::Url { url: url.clone() }),
            ContentSource::Url(_) | ContentSource::Local(_) => None,
        }
    }

    /// The last part of the path.
    pub fn name(&self) -> String {
        let path = match self {
            ContentSource::Tree { path, .. } => path.as_str(),
            ContentSource::Url(url) | ContentSource::Given(url) => url.split(['?', '#']).next().unwrap_or_default(),
            ContentSource::Local(path) => return path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

impl std::fmt::Display for ContentSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ContentSource::Tree { path, .. } => write!(f, "salt://{path}"),
            ContentSource::Url(url) | ContentSource::Given(url) => f.write_str(url),
            ContentSource::Local(path) => path.display().fmt(f),
        }
    }
}
