//! Applies `exclude`: removes states by sls or by id.

use std::collections::HashSet;

use rocksalt_core::Value;
use rocksalt_core::pattern::glob::Glob;

use super::High;

impl High {
    pub(super) fn apply_excludes(&mut self) {
        let excludes = std::mem::take(&mut self.excludes);
        let (mut globs, mut ids) = (Vec::new(), HashSet::new());
        for entry in &excludes {
            match entry {
                Value::String(sls) => globs.push(Glob::new(sls)),
                Value::Map(map) if map.len() == 1 => {
                    globs.extend(map.get("sls").and_then(Value::as_str).map(Glob::new));
                    ids.extend(map.get("id").and_then(Value::as_str));
                }
                _ => {}
            }
        }
        if globs.is_empty() && ids.is_empty() {
            return;
        }
        self.states.retain(|id, body| {
            !ids.contains(id.as_str()) && (id.starts_with("__") || !globs.iter().any(|glob| glob.matches(&body.sls)))
        });
    }
}
