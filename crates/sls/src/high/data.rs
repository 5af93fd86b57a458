//! Reads high data that the caller passes instead of files.

use std::sync::Arc;

use rocksalt_core::Value;
use rocksalt_core::yaml::NodeContent;

use super::High;
use super::read::SlsReader;
use crate::fault::SlsFault;
use crate::files::SourceFiles;
use crate::render::placeless;

impl High {
    /// Reads the data as that of one state file without a name; `include` has no effect.
    pub fn of_data(data: &Value, saltenv: &str) -> Result<High, Vec<SlsFault>> {
        let NodeContent::Map(pairs) = placeless(data.clone()).content else {
            let text = format!("High data is not a dictionary and is invalid: it is {}", data.kind());
            return Err(vec![SlsFault::new(text)]);
        };
        let (sls, saltenv): (Arc<str>, Arc<str>) = (Arc::from(""), Arc::from(saltenv));
        let files = SourceFiles::default();
        let mut reader = SlsReader { sls: &sls, saltenv: &saltenv, file: 0, files: &files, faults: Vec::new() };
        let part = reader.read(pairs);
        match reader.faults.is_empty() {
            true => Ok(High {
                states: part.states,
                misfits: part.misfits,
                extends: part.extends,
                excludes: part.excludes,
                ..High::default()
            }),
            false => Err(reader.faults),
        }
    }
}
