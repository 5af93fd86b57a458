//! [`Rules`]: which functions a target may run on other targets: none, unless a rule allows it.

use rocksalt_core::target::Pcre;
use rocksalt_core::{Map, Value};

/// Salt's `peer`: patterns of ids, each with the patterns of functions that they may publish.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<(Pcre, Vec<Pcre>)>);

#[derive(Debug, thiserror::Error)]
#[error("`peer`: {0}")]
pub struct Error(String);

impl Rules {
    pub fn parse(rules: &Map) -> Result<Rules, Error> {
        let pattern =
            |text: &str| Pcre::new(&format!("(?:{text})\\Z")).map_err(|error| Error(format!("'{text}': {error}")));
        let mut parsed = Vec::new();
        for (id, functions) in rules.iter() {
            let functions = match functions {
                Value::List(items) => items.clone(),
                other => return Err(Error(format!("'{id}' has {} instead of a list of functions", other.kind()))),
            };
            let functions = functions.iter().map(|function| pattern(&function.to_string()));
            parsed.push((pattern(&id.to_string())?, functions.collect::<Result<_, _>>()?));
        }
        Ok(Rules(parsed))
    }

    /// Whether a target may publish a function. `source` is the target that the link belongs to, never what a message
    /// claims (docs/security-rules.md#r3).
    pub fn allow(&self, source: &str, function: &str) -> bool {
        let mine = self.0.iter().filter(|(id, _)| id.matches(source));
        mine.flat_map(|(_, functions)| functions).any(|pattern| pattern.matches(function))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        let value = rocksalt_core::yaml::parse(text).expect("it is YAML");
        Rules::parse(value.as_map().unwrap_or(&Map::new())).expect("these are rules")
    }

    #[test]
    fn nothing_is_allowed_by_default() {
        assert!(!rules("{}").allow("web1", "test.ping"));
    }

    #[test]
    fn a_pattern_means_the_whole_name() {
        let rules = rules("web.*: [test.ping, 'grains\\..*']\n");
        assert!(rules.allow("web1", "test.ping"));
        assert!(rules.allow("web1", "grains.get"));
        assert!(!rules.allow("web1", "test.pingx"));
        assert!(!rules.allow("web1", "cmd.run"));
        assert!(!rules.allow("dbweb1", "test.ping"));
    }
}
