//! What the controller knows of a target better than the target itself (docs/security-rules.md#r3).
//!
//! A target can write anything into its grains. Whoever uses grains in the controller gets them from here.

use rocksalt_core::Map;
use rocksalt_core::roster::{RosterEntry, server_id};

use crate::Controller;

impl Controller {
    /// The options of a target: the controller's, then its own, and its id.
    pub fn options_of(&self, entry: &RosterEntry) -> Map {
        options(&self.options, entry)
    }

    /// The last known grains of a target, as the controller trusts them; `None` if they are not known or too old.
    pub fn known_grains(&self, entry: &RosterEntry) -> Option<Map> {
        Some(self.trusted_grains(entry, self.grains_cache.grains(&entry.id)?))
    }

    /// What a target says of itself, corrected: its id and its controller's name come from the link, and the roster's
    /// grains take precedence.
    pub fn trusted_grains(&self, entry: &RosterEntry, reported: Map) -> Map {
        let (id, master) = (entry.minion_id(), entry.options.get("master").or_else(|| self.options.get("master")));
        let mut grains = reported;
        grains.extend(entry.grains.clone());
        grains.insert("server_id", server_id(&id));
        grains.insert("id", id);
        grains.insert("master", master.map(ToString::to_string).unwrap_or_default());
        grains
    }
}

/// `base` with a target's own options, and its id.
pub fn options(base: &Map, entry: &RosterEntry) -> Map {
    let mut options = base.clone();
    options.extend(entry.options.clone());
    options.insert("id", entry.minion_id());
    options
}
