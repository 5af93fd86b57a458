//! Texts that a state adds to a file, from arguments or templates.

use rocksalt_core::Value;
use rocksalt_macros::arguments;

use super::source::{self, Proof};
use super::{Step, Verdict, contents};
use crate::machine::Probe;

/// The arguments about templates, behind the one that says where the first comes from.
#[arguments]
pub struct SourceArguments {
    /// Accepted for compatibility with Salt, and ignored.
    source_hash: Value,
    /// `jinja`: sources are templates.
    #[default("jinja")]
    template: Value,
    /// Several sources.
    sources: Value,
    /// Accepted for compatibility with Salt, and ignored.
    source_hashes: Value,
    /// Variables of the templates that `context` doesn't name.
    defaults: Value,
    /// Variables of the templates.
    context: Value,
}

impl SourceArguments {
    pub fn sources<'a>(&'a self, source: &'a Value) -> TextSources<'a> {
        TextSources {
            source,
            source_hash: &self.source_hash,
            sources: &self.sources,
            source_hashes: &self.source_hashes,
            template: &self.template,
            defaults: &self.defaults,
            context: &self.context,
        }
    }
}

/// The arguments that define the sources of templates.
pub struct TextSources<'a> {
    pub source: &'a Value,
    pub source_hash: &'a Value,
    pub sources: &'a Value,
    pub source_hashes: &'a Value,
    pub template: &'a Value,
    pub defaults: &'a Value,
    pub context: &'a Value,
}

impl TextSources<'_> {
    pub fn list(&self) -> Result<Vec<String>, Verdict> {
        if self.source.truth() && self.sources.truth() {
            return Err(Verdict::bad("source and sources are mutually exclusive"));
        }
        if self.source_hash.truth() && self.source_hashes.truth() {
            return Err(Verdict::bad("source_hash and source_hashes are mutually exclusive"));
        }
        if self.source.truth() {
            return Ok(vec![self.source.to_string()]);
        }
        Ok(list(self.sources).iter().map(ToString::to_string).collect())
    }

    /// The texts of all sources, rendered.
    pub fn texts(&self, machine: &dyn Probe, step: &Step<'_>, list: &[String]) -> Result<Vec<String>, Verdict> {
        let failed = |source: &str| Verdict::bad(format!("Failed to load template file {source}"));
        let proof = Proof { source_hash: "", source_hash_name: None, skip_verify: true, dry: step.test, name: "" };
        let mut texts = Vec::new();
        for source in list {
            let found = source::fetch(machine, source, step.saltenv, &proof).map_err(|_| failed(source))?;
            let text = std::str::from_utf8(&found.bytes).map_err(|_| failed(source))?;
            let context = contents::variables(self.defaults, self.context);
            let renderer = self.template.to_string();
            let text = contents::render(machine, &renderer, text, source, step.saltenv, context);
            let text =
                text.map_err(|reason| Verdict::bad(format!("Failed to load template file {source}: {reason}")))?;
            if text.is_empty() {
                return Err(Verdict::bad(format!("Failed to read rendered template file ({source})")));
            }
            texts.push(text);
        }
        Ok(texts)
    }
}

/// The items of a list, or a single item; null is none.
pub fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => items.clone(),
        single => vec![single.clone()],
    }
}

/// Texts by Salt's rules: a list of any values, or a single one.
pub fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        single => vec![single.to_string()],
    }
}
