//! `source_hash` in all its forms: a hash, `sha256=…`, or a file that lists hashes.

use std::path::Path;

use rocksalt_core::pattern::{Flags, Pattern};

use super::source::{self, ParsedSource, Proof};
use crate::machine::Probe;
use crate::text::digest::DigestAlgorithm;

/// Algorithm and hash; Salt's text if there is none.
pub fn read(
    machine: &dyn Probe,
    source_hash: &str,
    name: &str,
    from: &str,
    source_hash_name: Option<&str>,
    saltenv: &str,
) -> Result<(DigestAlgorithm, String), String> {
    let invalid = || invalid(source_hash);
    if source_hash.contains("://") || source_hash.starts_with('/') {
        let list = content(machine, source_hash, saltenv)?;
        let text = String::from_utf8_lossy(&list);
        return extract(&text, name, from, source_hash_name).ok_or_else(invalid);
    }
    let (kind, sum) = match source_hash.split_once('=') {
        Some((kind, sum)) => (Some(kind.trim()), sum.trim()),
        None => (None, source_hash),
    };
    let by_length = DigestAlgorithm::of_length(sum.len());
    let Some(kind) = kind else {
        let digits = !sum.is_empty() && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        return by_length.filter(|_| digits).map(|kind| (kind, sum.to_ascii_lowercase())).ok_or_else(invalid);
    };
    let Some(named) = DigestAlgorithm::named(kind) else {
        return Err(format!(
            "Invalid hash type '{kind}'. Supported hash types are: sha512, sha384, sha256, sha224, sha1, md5. Either \
             remove the hash type and simply use '{sum}' as the source_hash, or change the hash type to a supported \
             type."
        ));
    };
    match by_length {
        None => Err(invalid()),
        Some(right) if right != named => Err(format!(
            "Invalid length ({}) for hash type '{kind}'. Either remove the hash type and simply use '{sum}' as the \
             source_hash, or change the hash type to '{}'",
            sum.len(),
            right.name()
        )),
        Some(_) => Ok((named, sum.to_ascii_lowercase())),
    }
}

fn content(machine: &dyn Probe, source_hash: &str, saltenv: &str) -> Result<Vec<u8>, String> {
    if let ParsedSource::Local(path) = ParsedSource::read(source_hash) {
        return machine.read(Path::new(path)).map_err(|error| crate::catalog::plan::errno_text(&error, path));
    }
    let proof = Proof { source_hash: "", source_hash_name: None, skip_verify: true, dry: false, name: "" };
    let found = source::fetch(machine, source_hash, saltenv, &proof);
    found
        .map(|found| found.bytes.to_vec())
        .map_err(|_| format!("Source hash file {} not found", source::redacted(source_hash)))
}

fn invalid(source_hash: &str) -> String {
    format!(
        "Source hash {} format is invalid. The supported formats are: 1) a hash, 2) an expression in the format \
         <hash_type>=<hash>, or 3) either a path to a local file containing hashes, or a URI of a remote hash file. \
         Supported protocols for remote hash files are: salt, file, http, https, ftp, swift, s3. The hash may also \
         not be of a valid length, the following are supported hash types and lengths: {}.",
        source::redacted(source_hash),
        DigestAlgorithm::list()
    )
}

/// From a list of hashes: the line with the requested name, the file's name or the source's, otherwise the first.
fn extract(text: &str, name: &str, from: &str, source_hash_name: Option<&str>) -> Option<(DigestAlgorithm, String)> {
    let pattern = Pattern::new("(?<![a-zA-Z0-9])([a-fA-F0-9]{32,128})(?![a-zA-Z0-9])", Flags::NONE).ok()?;
    let base = |path: &str| {
        path.split(['?', '#']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned()
    };
    let wanted = [
        (source_hash_name.unwrap_or_default().to_owned(), source_hash_name.unwrap_or_default().to_owned(), ""),
        (name.rsplit('/').next().unwrap_or_default().to_owned(), name.to_owned(), "\\/*"),
        (base(from), from.to_owned(), "\\/*"),
    ];
    let mut first = None;
    let mut found: [Option<(DigestAlgorithm, String)>; 3] = [None, None, None];
    for line in text.lines().map(str::trim) {
        let Ok(Some(sum)) = pattern.find(line) else { continue };
        let Some(kind) = DigestAlgorithm::of_length(sum.len()) else { continue };
        let sum = (kind, sum.to_ascii_lowercase());
        for (slot, (ending, start, separators)) in found.iter_mut().zip(&wanted) {
            if ending.is_empty() || slot.is_some() {
                continue;
            }
            let before = line.strip_suffix(ending.as_str()).and_then(|before| before.chars().next_back());
            let after = line.strip_prefix(start.as_str()).and_then(|after| after.chars().next());
            if before.is_some_and(|sign| sign.is_whitespace() || separators.contains(sign))
                || after.is_some_and(char::is_whitespace)
            {
                *slot = Some(sum.clone());
            }
        }
        first.get_or_insert(sum);
    }
    found.into_iter().flatten().next().or(first)
}
