//! Sources of content: the controller's tree, a URL, or this machine.

use std::path::Path;
use std::sync::Arc;

use rocksalt_core::Value;

use super::{hashes, look};
use crate::Result;
use crate::catalog::cp;
use crate::machine::{EntryKind, FileKind, Probe};
use crate::text::digest::{self, DigestAlgorithm as Digest};

/// A parsed source.
#[derive(Debug, PartialEq, Eq)]
pub enum ParsedSource<'a> {
    /// Path, and environment if it names one.
    Tree(&'a str, Option<&'a str>),
    Url(&'a str),
    Local(&'a str),
}

impl ParsedSource<'_> {
    pub fn read(text: &str) -> ParsedSource<'_> {
        if text.starts_with("salt://") {
            let (path, saltenv) = tree_url(text);
            return ParsedSource::Tree(path, saltenv);
        }
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https" | "ftp" | "s3" | "swift") => ParsedSource::Url(text),
            Some("file") => ParsedSource::Local(&text["file://".len()..]),
            _ => ParsedSource::Local(text),
        }
    }
}

/// Path and environment of `salt://path?saltenv=dev`. After a leading bar the whole text is the path.
pub fn tree_url(text: &str) -> (&str, Option<&str>) {
    let rest = text.strip_prefix("salt://").unwrap_or(text);
    let (path, saltenv) = match rest.split_once("?saltenv=") {
        Some((path, saltenv)) => (path, Some(saltenv)),
        None => (rest, None),
    };
    (path.strip_prefix('|').unwrap_or(path).trim_start_matches('/'), saltenv)
}

/// The content that was found.
pub struct SourceContent {
    pub bytes: Arc<[u8]>,
    /// The source that it came from.
    pub source: String,
    /// The permission bits of the source, if they are known.
    pub mode: Option<u32>,
}

/// Why content is not available.
pub struct Unfit {
    pub text: String,
    /// The text is the whole comment; otherwise it follows a statement of what failed.
    pub whole: bool,
}

impl From<String> for Unfit {
    fn from(text: String) -> Unfit {
        Unfit { text, whole: false }
    }
}

/// How to verify content.
pub struct Proof<'a> {
    pub source_hash: &'a str,
    pub source_hash_name: Option<&'a str>,
    pub skip_verify: bool,
    /// As in Salt, a dry run accepts any content; nothing is written.
    pub dry: bool,
    /// The destination file; hashes are looked up by its name too.
    pub name: &'a str,
}

/// The first source that exists, with its hash; Salt's text if none does.
pub fn choose(
    machine: &dyn Probe,
    source: &Value,
    source_hash: &str,
    saltenv: &str,
) -> Result<(String, String), String> {
    let Value::List(choices) = source else { return Ok((source.to_string(), source_hash.to_owned())) };
    for choice in choices {
        let (text, hash) = match choice {
            Value::Map(map) if map.len() != 1 => continue,
            Value::Map(map) => match map.iter().next() {
                Some((text, hash)) if hash.truth() => (text.to_string(), hash.to_string()),
                Some((text, _)) => (text.to_string(), source_hash.to_owned()),
                None => continue,
            },
            other => (other.to_string(), source_hash.to_owned()),
        };
        let there = match ParsedSource::read(&text) {
            ParsedSource::Tree(path, asked) => is_in_tree(machine, asked.unwrap_or(saltenv), path),
            ParsedSource::Url(url) => cp::url_content(machine, url).is_ok(),
            ParsedSource::Local(path) => look::is_absolute(path) && look::exists(machine, path),
        };
        if there {
            return Ok((text, hash));
        }
    }
    Err("none of the specified sources were found".into())
}

fn is_in_tree(machine: &dyn Probe, saltenv: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    machine.tree().entries(saltenv).is_ok_and(|entries| entries.iter().any(|entry| entry.path == path))
}

/// The content of a source; Salt's text if it can't be fetched or has another hash.
pub fn fetch(machine: &dyn Probe, source: &str, saltenv: &str, proof: &Proof<'_>) -> Result<SourceContent, Unfit> {
    let made = |bytes: Arc<[u8]>, mode| SourceContent { bytes, source: source.to_owned(), mode };
    match ParsedSource::read(source) {
        ParsedSource::Tree(path, asked) => {
            let environment = asked.unwrap_or(saltenv);
            let found = machine.tree().read(environment, path).map_err(|error| error.to_string())?;
            let bytes = found.ok_or_else(|| format!("Source file {source} not found in saltenv '{saltenv}'"))?;
            Ok(made(bytes, tree_mode(machine, environment, path)))
        }
        ParsedSource::Local(path) => {
            let stat = look::found(machine, path).ok_or_else(|| format!("Local file source {path} does not exist"))?;
            if stat.kind == FileKind::Directory {
                return Err(format!("[Errno 21] Is a directory: '{path}'").into());
            }
            let bytes =
                machine.read(Path::new(path)).map_err(|error| crate::catalog::plan::errno_text(&error, path))?;
            verify(machine, wanted_sum(machine, source, saltenv, proof)?, proof, source, &bytes)?;
            Ok(made(bytes.into(), Some(stat.mode)))
        }
        ParsedSource::Url(url) => {
            if proof.source_hash.is_empty() && !proof.skip_verify {
                let text = format!(
                    "Unable to verify upstream hash of source file {}, please set source_hash or set skip_verify to True",
                    redacted(url)
                );
                return Err(text.into());
            }
            let wanted = wanted_sum(machine, source, saltenv, proof)?;
            let fetched = cp::url_content(machine, url);
            let fetched = fetched.map_err(|error| format!("Failed to cache {}: {error}", redacted(url)))?;
            verify(machine, wanted, proof, source, &fetched)?;
            Ok(made(fetched.into(), None))
        }
    }
}

/// The requested checksum; `None` if none is requested.
pub fn wanted_sum(
    machine: &dyn Probe,
    source: &str,
    saltenv: &str,
    proof: &Proof<'_>,
) -> Result<Option<(Digest, String)>, String> {
    if proof.skip_verify || proof.source_hash.is_empty() {
        return Ok(None);
    }
    let found = hashes::read(machine, proof.source_hash, proof.name, source, proof.source_hash_name, saltenv);
    found.map(Some).map_err(|text| format!("Unable to manage file: {text}"))
}

fn verify(
    machine: &dyn Probe,
    wanted: Option<(Digest, String)>,
    proof: &Proof<'_>,
    source: &str,
    bytes: &[u8],
) -> Result<(), Unfit> {
    let name = proof.name;
    let Some((kind, wanted)) = wanted else { return Ok(()) };
    let found = digest::of(kind, bytes);
    if found == wanted || proof.dry {
        return Ok(());
    }
    let kind = kind.name();
    let text = match look::exists(machine, name) {
        true => format!(
            "Specified {kind} checksum for {source} ({wanted}) does not match actual checksum ({found}). If the \
             'source_hash' value refers to a remote file with multiple possible matches, then it may be necessary \
             to set 'source_hash_name'."
        ),
        false => format!("Specified {kind} checksum for {name} ({wanted}) does not match actual checksum ({found})"),
    };
    Err(Unfit { text, whole: true })
}

fn tree_mode(machine: &dyn Probe, saltenv: &str, path: &str) -> Option<u32> {
    let entries = machine.tree().entries(saltenv).ok()?;
    let index = entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
    match entries.get(index)?.kind {
        EntryKind::File { mode, .. } => Some(mode),
        _ => None,
    }
}

/// The URL without a password in it.
pub fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let Some((_, host)) = host.rsplit_once('@') else { return url.to_owned() };
    match path {
        Some(path) => format!("{scheme}://<redacted>@{host}/{path}"),
        None => format!("{scheme}://<redacted>@{host}"),
    }
}
