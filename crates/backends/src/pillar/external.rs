//! [`External`]: the configuration's `ext_pillar`, its sources by number.

use rocksalt_core::{Map, Value};

use super::{Error, Pillar, Settings, Target, open};

/// All external pillars in their order. Whoever compiles a pillar asks one after the other and merges.
pub struct External {
    sources: Vec<(String, Opened)>,
}

/// What can't be opened fails when it is asked, and leaves the others alone.
type Opened = Result<Box<dyn Pillar>, Error>;

/// The name of a source that is no map, or of all of them if they are no list.
const MALFORMED: &str = "malformed";

impl External {
    /// `ext_pillar` is a list of maps from a kind to what it is given.
    pub fn new(ext_pillar: &Value, settings: &Settings) -> External {
        let sources = flat(ext_pillar).into_iter().map(|(kind, config)| {
            let source = match config {
                Some(config) => open(&kind, config, settings),
                None => Err(Error::Config("The \"ext_pillar\" option is malformed".into())),
            };
            (kind, source)
        });
        External { sources: sources.collect() }
    }

    /// What one of them has for a target, or why it has nothing, in words that a target may see.
    pub async fn ask(&self, number: usize, target: &Target<'_>) -> Result<Map, String> {
        match self.sources.get(number) {
            Some((_, Ok(source))) => source.pillar(target).await.map_err(|error| error.to_string()),
            Some((_, Err(error))) => Err(error.to_string()),
            None => Err(format!("there is no external pillar of number {number}")),
        }
    }
}

/// The kinds of the configuration's sources, in the order in which [`External::ask`] numbers them.
pub fn kinds(ext_pillar: &Value) -> Vec<String> {
    flat(ext_pillar).into_iter().map(|(kind, _)| kind).collect()
}

/// One entry for each kind, though a map may have several.
fn flat(ext_pillar: &Value) -> Vec<(String, Option<&Value>)> {
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
