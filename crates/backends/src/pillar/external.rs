//! [`ExternalPillars`]: the sources of the configuration's `ext_pillar`, by number.

use rocksalt_core::{Map, Value};

use super::{Error, PillarSource, PillarTarget, Settings, open};

/// All external pillars in order. The pillar compiler fetches one after the other and merges the results.
pub struct ExternalPillars {
    sources: Vec<(String, OpenResult)>,
}

/// A source that can't be opened fails when it is fetched; the others still work.
type OpenResult = Result<Box<dyn PillarSource>, Error>;

/// The kind of a source that isn't a map, or of the whole `ext_pillar` if it isn't a list.
const MALFORMED: &str = "malformed";

impl ExternalPillars {
    /// `ext_pillar` is a list of maps from a kind to its arguments.
    pub fn new(ext_pillar: &Value, settings: &Settings) -> ExternalPillars {
        let sources = flatten(ext_pillar).into_iter().map(|(kind, config)| {
            let source = match config {
                Some(config) => open(&kind, config, settings),
                None => Err(Error::Config("The \"ext_pillar\" option is malformed".into())),
            };
            (kind, source)
        });
        ExternalPillars { sources: sources.collect() }
    }

    /// Fetches a target's pillar from one source. The error text is safe to show to the target.
    pub async fn fetch(&self, number: usize, target: &PillarTarget<'_>) -> Result<Map, String> {
        match self.sources.get(number) {
            Some((_, Ok(source))) => source.pillar(target).await.map_err(|error| error.to_string()),
            Some((_, Err(error))) => Err(error.to_string()),
            None => Err(format!("there is no external pillar number {number}")),
        }
    }
}

/// The kinds of the configured sources, in the order in which [`ExternalPillars::fetch`] numbers them.
pub fn kinds(ext_pillar: &Value) -> Vec<String> {
    flatten(ext_pillar).into_iter().map(|(kind, _)| kind).collect()
}

/// One item for each kind; a map in the list may have several.
fn flatten(ext_pillar: &Value) -> Vec<(String, Option<&Value>)> {
    let malformed = || vec![(MALFORMED.to_owned(), None)];
    match ext_pillar {
        Value::Null => Vec::new(),
        Value::List(runs) => runs
            .iter()
            .flat_map(|run| match run {
                Value::Map(run) => run.iter().map(|(kind, config)| (kind.to_string(), Some(config))).collect(),
                _ => malformed(),
            })
            .collect(),
        _ => malformed(),
    }
}
