//! `file.cached`: a copy of a file in the target's cache.

use std::path::Path;

use rocksalt_core::Value;
use rocksalt_macros::state;

use super::missing_directories;
use super::source::{self, Proof, redacted};
use super::{Action, Decision, Flag, Plan, State, Step, Touches, Verdict, hashes, look};
use crate::Result;
use crate::catalog::cp::{self, source::ContentSource};
use crate::machine::Probe;
use crate::text::digest::{self, DigestAlgorithm};

/// Makes sure that the target's cache has a copy of a file, for states that use it later.
///
/// ```yaml
/// https://example.com/big.tar.gz:
///   file.cached:
///     - source_hash: sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
/// ```
#[state("file.cached", strict)]
pub struct Cached {
    /// Where it comes from: `salt://…`, `http(s)://…` or a path.
    name: String,
    /// The hash that it must have: a hash, `sha256=…`, or the address of a list of hashes.
    source_hash: Value,
    /// The name to look for in a list of hashes.
    source_hash_name: Option<String>,
    /// Take what is from elsewhere without a hash.
    skip_verify: Flag,
    /// The environment that `salt://` files are read from.
    saltenv: Option<String>,
    /// As `skip_verify`: only a hash says that a copy is good.
    use_etag: Flag,
}

impl State for Cached {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let source = ContentSource::parse(machine, &self.name, self.saltenv.as_deref())?;
        let copy = match &source {
            ContentSource::Local(path) => path.clone(),
            other => cp::destination(machine, other)?,
        };
        let decided = self.decide(machine, step, &source, &copy.to_string_lossy());
        Ok(decided.unwrap_or_else(Decision::Settled))
    }

    fn touches(&self) -> Touches {
        super::writes(&self.name)
    }
}

impl Cached {
    fn decide(
        &self,
        machine: &dyn Probe,
        step: &Step<'_>,
        source: &ContentSource,
        copy: &str,
    ) -> Result<Decision, Verdict> {
        let name = &self.name;
        let hash = if self.source_hash.truth() { self.source_hash.to_string() } else { String::new() };
        let unsure = hash.is_empty() && !self.skip_verify && !self.use_etag;
        if matches!(source, ContentSource::Url(_)) && unsure {
            return Err(Verdict::bad(format!(
                "Unable to verify upstream hash of source file {}, please set source_hash or set skip_verify or \
                 use_etag to True",
                redacted(name)
            )));
        }
        let saltenv = self.saltenv.as_deref().unwrap_or("base");
        let wanted = match hash.is_empty() {
            true => None,
            false => Some(
                hashes::read(machine, &hash, "", name, self.source_hash_name.as_deref(), saltenv)
                    .map_err(Verdict::bad)?,
            ),
        };
        let kind = wanted.as_ref().map_or(DigestAlgorithm::Sha256, |(kind, _)| *kind);
        let there = look::is_file(machine, copy);
        let old = machine.read(Path::new(copy)).ok().filter(|_| there).map(|content| digest::of(kind, &content));
        if step.test {
            // Files of this machine are not cached.
            let old = old.as_ref().filter(|_| !matches!(source, ContentSource::Local(_)));
            return Err(self.dry(wanted.as_ref().map(|(_, sum)| sum), old));
        }
        if let ContentSource::Local(path) = source {
            return Err(self.local(&path.to_string_lossy(), old, wanted.map(|(_, sum)| sum)));
        }
        let sum = wanted.as_ref().map(|(_, sum)| sum.clone()).filter(|_| !self.skip_verify);
        if let (Some(sum), Some(old)) = (&sum, &old)
            && sum == old
        {
            let text = format!("File is already cached to {copy} with hash {old}");
            return Err(Verdict::good(text).output("path", copy).output("hash", old.as_str()));
        }
        let proof = Proof { source_hash: "", source_hash_name: None, skip_verify: true, dry: false, name: copy };
        let failed =
            |_| Verdict::bad(format!("Failed to cache {}, check minion log for more information", redacted(name)));
        let found = source::fetch(machine, name, saltenv, &proof).map_err(failed)?;
        let new = digest::of(kind, &found.bytes);
        if let Some(sum) = sum.as_ref().filter(|sum| **sum != new) {
            return Err(Verdict::bad(format!(
                "File is cached to {copy}, but the hash ({new}) does not match the specified hash ({sum})"
            )));
        }
        let text = match sum {
            Some(_) => format!("File is already cached to {copy} with hash {new}"),
            None => format!("File is cached to {copy}"),
        };
        let mut done = Verdict::good(text).output("path", copy).output("hash", new.as_str());
        if old.as_ref() == Some(&new) {
            return Err(done);
        }
        let change = [("old".into(), old.into()), ("new".into(), new.as_str().into())];
        done = done.change("hash", rocksalt_core::Map::from_iter(change));
        let make = |path| Action::MakeDirectory { path, mode: 0o700, uid: None, gid: None };
        let plan = Plan::brief(done).all(missing_directories(machine, look::above(copy)).into_iter().map(make));
        let write =
            Action::Write { path: copy.to_owned(), content: found.bytes.to_vec(), mode: Some(0o600), parents: false };
        Ok(Decision::Change(plan.then(write), Verdict::would(format!("File will be cached: {name}"))))
    }

    fn dry(&self, wanted: Option<&String>, old: Option<&String>) -> Verdict {
        let name = &self.name;
        Verdict::would(match (old, wanted) {
            (None, _) => format!("File will be cached: {name}"),
            (Some(_), None) => format!("No hash found. File will be cached: {name}"),
            (Some(old), Some(wanted)) if old == wanted => format!("File already cached: {name}"),
            _ => format!("Hashes don't match.\nFile will be cached: {name}"),
        })
    }

    fn local(&self, path: &str, found: Option<String>, wanted: Option<String>) -> Verdict {
        let wanted = wanted.filter(|_| !self.skip_verify);
        match (found, wanted) {
            (None, _) => Verdict::bad(format!("File {path} is not present on the minion")),
            (Some(_), None) => Verdict::good(format!("File {path} is present on the minion")).output("path", path),
            (Some(found), Some(wanted)) if found == wanted => {
                Verdict::good(format!("File {path} is present on the minion and has hash {found}")).output("path", path)
            }
            (Some(found), Some(wanted)) => Verdict::bad(format!(
                "File {path} is present on the minion, but the hash ({found}) does not match the specified hash \
                 ({wanted})"
            )),
        }
    }
}
