//! [`External`]: the configuration's `ext_pillar`, one source after the other.

use rocksalt_core::merge::{self, Strategy};
use rocksalt_core::{Map, Value};

use super::{Error, Pillar, Settings, Target, open};

/// A kind and what was opened for it; one that can't be opened says so each time.
type Source = (String, Result<Box<dyn Pillar>, Error>);

/// All external pillars in their order. One that fails leaves the others alone.
pub struct External {
    sources: Vec<Source>,
    malformed: bool,
}

impl External {
    /// `ext_pillar` is a list of maps from a kind to what it is given; `exclude` are kinds to leave out.
    pub fn new(ext_pillar: &Value, exclude: &[String], settings: &Settings) -> External {
        let mut external = External { sources: Vec::new(), malformed: false };
        let runs = match ext_pillar {
            Value::Null => return external,
            Value::List(runs) => runs,
            _ => {
                external.malformed = true;
                return external;
            }
        };
        for run in runs {
            let Value::Map(run) = run else {
                external.malformed = true;
                continue;
            };
            for (kind, config) in run.iter() {
                let kind = kind.to_string();
                if !exclude.contains(&kind) {
                    let source = open(&kind, config, settings);
                    external.sources.push((kind, source));
                }
            }
        }
        external
    }

    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && !self.malformed
    }

    /// The target's pillar with all of them over it, and what failed, in Salt's words.
    pub async fn extend(&self, target: &Target<'_>, strategy: Strategy, merge_lists: bool) -> (Map, Vec<String>) {
        let mut pillar = target.pillar.clone();
        let mut errors = Vec::new();
        if self.malformed {
            errors.push("The \"ext_pillar\" option is malformed".to_owned());
        }
        for (kind, source) in &self.sources {
            let given = match source {
                Ok(source) => {
                    source.pillar(&Target { pillar: &pillar, ..*target }).await.map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            match given {
                Ok(given) if given.is_empty() => {}
                Ok(given) => pillar = merge::merge_maps(pillar, given, strategy, merge_lists),
                Err(text) => errors.push(format!("Failed to load ext_pillar {kind}: {text}")),
            }
        }
        (pillar, errors)
    }
}
