//! `jsonl`: a line of JSON for each target, `{"id":…,"value":…}`, for programs that read line by line.

use rocksalt_core::{Map, Value, json};

use super::{Outputter, Style};

pub struct JsonLines;

impl Outputter for JsonLines {
    fn one(&self, id: &str, value: &Value, _: &Style) -> String {
        let line = Map::from_iter([("id".into(), id.into()), ("value".into(), value.clone())]);
        format!("{}\n", json::compact(&line.into()))
    }
}
