//! [`Verdict`]: the result of a state's step.

use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// `None`: a dry run that would make changes.
    pub result: Option<bool>,
    /// Salt's wording, which people and scripts search for.
    pub comment: String,
    /// The changes, or in a dry run the changes that would be made; empty if there are none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub changes: Map,
    /// Values for later steps besides the changes: `stdout`, `path`, `hash` …
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub outputs: Map,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Additional keys of the result, as in Salt (`skip_watch`, `pchanges` …).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub further: Map,
}

/// Salt's `{old: …, new: …}`.
pub fn change(old: impl Into<Value>, new: impl Into<Value>) -> Map {
    Map::from_iter([("old".into(), old.into()), ("new".into(), new.into())])
}

impl Verdict {
    /// A success; without changes the state was correct before.
    pub fn good(comment: impl Into<String>) -> Verdict {
        Verdict { result: Some(true), comment: comment.into(), ..Verdict::default() }
    }

    pub fn bad(comment: impl Into<String>) -> Verdict {
        Verdict { result: Some(false), comment: comment.into(), ..Verdict::default() }
    }

    /// A dry run that would make changes.
    pub fn would(comment: impl Into<String>) -> Verdict {
        Verdict { result: None, comment: comment.into(), ..Verdict::default() }
    }

    #[must_use]
    pub fn change(mut self, key: impl Into<Value>, value: impl Into<Value>) -> Verdict {
        self.changes.insert(key, value);
        self
    }

    #[must_use]
    pub fn changes(mut self, changes: Map) -> Verdict {
        self.changes = changes;
        self
    }

    #[must_use]
    pub fn output(mut self, key: &str, value: impl Into<Value>) -> Verdict {
        self.outputs.insert(key, value);
        self
    }

    #[must_use]
    pub fn warning(mut self, text: impl Into<String>) -> Verdict {
        self.warnings.push(text.into());
        self
    }
}
