//! Rosters in Salt's flat form, for the hosts of a bed.

use std::fmt::Write;

/// A roster entry: the target's id, and its keys as in the file.
#[derive(Clone, Debug)]
pub struct TestbedEntry {
    pub id: String,
    pub fields: Vec<(String, String)>,
}

impl TestbedEntry {
    pub fn new(id: impl Into<String>, host: impl Into<String>) -> TestbedEntry {
        TestbedEntry { id: id.into(), fields: Vec::new() }.set("host", host)
    }

    /// Sets a key; replaces an earlier value.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<String>) -> TestbedEntry {
        self.fields.retain(|(known, _)| known != key);
        self.fields.push((key.into(), value.into()));
        self
    }

    /// Removes a key.
    #[must_use]
    pub fn without(mut self, key: &str) -> TestbedEntry {
        self.fields.retain(|(known, _)| known != key);
        self
    }
}

/// The text of the roster file. Values are unquoted, as a person would write them.
pub fn roster<'a>(entries: impl IntoIterator<Item = &'a TestbedEntry>) -> String {
    let mut text = String::new();
    for entry in entries {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}:", entry.id);
        for (key, value) in &entry.fields {
            let _ = writeln!(text, "  {key}: {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_there_once_with_its_last_value() {
        let entry = TestbedEntry::new("web1", "10.0.0.1")
            .set("user", "root")
            .set("user", "deploy")
            .set("port", "22")
            .without("port");
        assert_eq!(roster([&entry]), "web1:\n  host: 10.0.0.1\n  user: deploy\n");
    }
}
