//! `file.decode`: writes bytes that are given in Base64.

use std::path::Path;

use base64::Engine;
use rocksalt_core::Value;
use rocksalt_macros::state;

use super::contents::lookup;
use super::{Action, Decision, Plan, State, Step, Touches, Verdict, look, writes};
use crate::machine::Probe;
use crate::text::digest::{self, DigestAlgorithm};
use crate::{Error, Result};

/// Writes bytes that are given as Base64 to a file.
///
/// ```yaml
/// write_base64_encoded_string_to_a_file:
///   file.decode:
///     - name: /tmp/new_file
///     - encoding_type: base64
///     - contents_pillar: mypillar:thefile
/// ```
#[state("file.decode", strict)]
pub struct Decode {
    /// The file's path.
    name: String,
    /// The bytes as Base64.
    encoded_data: Option<String>,
    /// Their path in the pillar.
    contents_pillar: Option<String>,
    /// There is only `base64`.
    #[allow(dead_code, reason = "there is only one")]
    encoding_type: Value,
    /// By which checksum to compare.
    #[default("md5")]
    checksum: String,
}

impl State for Decode {
    fn plan(&self, machine: &dyn Probe, _: &Step<'_>) -> Result<Decision> {
        let content = self.content(machine)?;
        let kind = DigestAlgorithm::named(&self.checksum).ok_or_else(|| {
            Error::arguments(format!("checksum: there is no '{}'", self.checksum)).hint(DigestAlgorithm::list())
        })?;
        let new = digest::of(kind, &content);
        let old = match look::is_file(machine, &self.name) {
            true => {
                let old = machine.read(Path::new(&self.name));
                Some(digest::of(kind, &old.map_err(|error| Error::io("read", &self.name, &error))?))
            }
            false => None,
        };
        if old.as_ref() == Some(&new) {
            let verdict = Verdict::good("File is in the correct state.").output("path", self.name.as_str());
            return Ok(Decision::Settled(verdict.output("hash", new)));
        }
        let mut would = Verdict::would("File is set to be updated.");
        if let Some(old) = &old {
            would = would.change("old", old.as_str()).change("new", new.as_str());
        }
        let done = Verdict::good("File was updated.").change("old", old).change("new", new.as_str());
        let plan = Plan::brief(done.output("path", self.name.as_str()).output("hash", new));
        let path = super::super::path::followed(machine, Path::new(&self.name)).to_string_lossy().into_owned();
        Ok(Decision::Change(plan.then(Action::Write { path, content, mode: None, parents: false }), would))
    }

    fn touches(&self) -> Touches {
        writes(&self.name)
    }
}

impl Decode {
    fn content(&self, machine: &dyn Probe) -> Result<Vec<u8>> {
        let given = |text: &Option<String>| text.as_ref().filter(|text| !text.is_empty()).cloned();
        let text = match (given(&self.encoded_data), given(&self.contents_pillar)) {
            (None, None) => {
                return Err(Error::arguments("Specify either the 'encoded_data' or 'contents_pillar' argument."));
            }
            (Some(_), Some(_)) => {
                return Err(Error::arguments("Specify only one 'encoded_data' or 'contents_pillar' argument."));
            }
            (Some(text), None) => text,
            (None, Some(path)) => {
                let pillar = machine.pillar()?;
                let found = lookup(&pillar, &path, ":");
                found.ok_or_else(|| Error::failed("Pillar data not found."))?.to_string()
            }
        };
        // Like Salt, skips characters outside of base64: line ends, armour.
        let belongs = |letter: &char| letter.is_ascii_alphanumeric() || "+/=".contains(*letter);
        let bare: String = text.chars().filter(belongs).collect();
        base64::engine::general_purpose::STANDARD
            .decode(bare)
            .map_err(|error| Error::arguments(format!("the data is no Base64: {error}")))
    }
}
