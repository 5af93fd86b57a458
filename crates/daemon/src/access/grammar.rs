//! Reads `external_auth`; what is wrong in it is said with its place.

use rocksalt_core::target::{DELIMITER, Expression, Kind, Nodegroups};
use rocksalt_core::{Map, Value};

use super::rule::{Allowed, Arguments, Rule};
use super::words::Words;

/// Whom an entry is for, and what it gives.
#[derive(Clone, Debug)]
pub struct Entry {
    pub who: Who,
    pub rules: Vec<Rule>,
    /// As it was written, for `perms`.
    pub written: Vec<Value>,
}

#[derive(Clone, Debug)]
pub enum Who {
    User(Words),
    Group(String),
    /// `*`: whoever no other name fits.
    Everybody,
}

impl Who {
    pub fn text(&self) -> String {
        match self {
            Who::User(words) => words.text.clone(),
            Who::Group(name) => format!("{name}%"),
            Who::Everybody => "*".into(),
        }
    }
}

/// Reads the entries of one backend.
pub struct Reader<'a> {
    pub nodegroups: &'a Nodegroups,
    place: Vec<String>,
}

impl Reader<'_> {
    pub fn new(nodegroups: &Nodegroups) -> Reader<'_> {
        Reader { nodegroups, place: vec!["external_auth".into()] }
    }

    pub fn backend(&mut self, name: &str, entries: &Value) -> Result<Vec<Entry>, String> {
        self.at(name, |reader| match entries {
            Value::Null => Ok(Vec::new()),
            Value::Map(entries) => reader.entries(entries),
            other => Err(reader.fault(format!("users and what they may, not {}", other.kind()))),
        })
    }

    fn entries(&mut self, entries: &Map) -> Result<Vec<Entry>, String> {
        let mut all = Vec::new();
        for (name, rules) in entries.iter() {
            let name = name.to_string();
            // Options of the backend.
            if name.starts_with('^') {
                continue;
            }
            all.push(self.at(&name, |reader| reader.entry(&name, rules))?);
        }
        Ok(all)
    }

    fn entry(&mut self, name: &str, rules: &Value) -> Result<Entry, String> {
        let who = match name.strip_suffix('%') {
            _ if name == "*" => Who::Everybody,
            Some(group) => Who::Group(group.trim_end_matches('%').to_owned()),
            None => Who::User(self.words(name)?),
        };
        let written = list(rules);
        let mut all = Vec::new();
        for (index, rule) in written.iter().enumerate() {
            all.push(self.at(&(index + 1).to_string(), |reader| reader.rule(rule))?);
        }
        Ok(Entry { who, rules: all, written })
    }

    fn rule(&mut self, rule: &Value) -> Result<Rule, String> {
        match rule {
            Value::String(text) => match text.strip_prefix('@') {
                Some(name) => Ok(Rule::Controller { name: self.name(name)?, functions: None }),
                None => Ok(Rule::Function(self.words(text)?)),
            },
            Value::Map(map) => {
                let (key, functions) = self.only(map)?;
                self.at(&key, |reader| {
                    let functions = reader.functions(functions)?;
                    match key.strip_prefix('@') {
                        Some(name) => Ok(Rule::Controller { name: reader.name(name)?, functions: Some(functions) }),
                        None => Ok(Rule::Target { within: reader.target(&key)?, functions }),
                    }
                })
            }
            other => Err(self.fault(format!("a function, or a target with its functions, not {}", other.kind()))),
        }
    }

    fn functions(&mut self, functions: &Value) -> Result<Vec<Allowed>, String> {
        let mut all = Vec::new();
        for (index, function) in list(functions).iter().enumerate() {
            all.push(self.at(&(index + 1).to_string(), |reader| match function {
                Value::String(text) => Ok(Allowed { function: reader.words(text)?, arguments: None }),
                Value::Map(map) => {
                    let (name, arguments) = reader.only(map)?;
                    reader.at(&name, |reader| {
                        let arguments = list(arguments);
                        let arguments: Result<Vec<Arguments>, String> =
                            arguments.iter().map(|arguments| reader.arguments(arguments)).collect();
                        Ok(Allowed { function: reader.words(&name)?, arguments: Some(arguments?) })
                    })
                }
                other => Err(reader.fault(format!("a function, not {}", other.kind()))),
            })?);
        }
        Ok(all)
    }

    fn arguments(&mut self, arguments: &Value) -> Result<Arguments, String> {
        let Some(map) = arguments.as_map() else {
            return Err(self.fault(format!("`args` and `kwargs`, not {}", arguments.kind())));
        };
        let mut all = Arguments::default();
        for (key, value) in map.iter() {
            match (key.to_string().as_str(), value) {
                (_, Value::Null) => {}
                ("args", Value::List(items)) => {
                    for item in items {
                        all.args.push(self.at("args", |reader| reader.optional(item))?);
                    }
                }
                ("kwargs", Value::Map(named)) => {
                    for (name, value) in named.iter() {
                        let name = name.to_string();
                        let words = self.at(&name, |reader| reader.optional(value))?;
                        all.kwargs.push((name, words));
                    }
                }
                ("args", other) => return Err(self.fault(format!("`args` must be a list, not {}", other.kind()))),
                ("kwargs", other) => return Err(self.fault(format!("`kwargs` must be a map, not {}", other.kind()))),
                (other, _) => return Err(self.fault(format!("'{other}' is neither `args` nor `kwargs`"))),
            }
        }
        Ok(all)
    }

    fn optional(&mut self, value: &Value) -> Result<Option<Words>, String> {
        match value {
            Value::Null => Ok(None),
            Value::List(_) | Value::Map(_) => Err(self.fault(format!("a pattern, not {}", value.kind()))),
            scalar => self.words(&scalar.to_string()).map(Some),
        }
    }

    fn words(&self, text: &str) -> Result<Words, String> {
        Words::parse(text).map_err(|why| self.fault(why))
    }

    fn name(&self, name: &str) -> Result<String, String> {
        match name {
            "" => Err(self.fault("what is behind the @ is missing".into())),
            name => Ok(name.to_owned()),
        }
    }

    fn target(&self, text: &str) -> Result<String, String> {
        if text != "*" {
            Expression::parse(Kind::Compound, text, DELIMITER, self.nodegroups)
                .map_err(|error| self.fault(error.to_string()))?;
        }
        Ok(text.to_owned())
    }

    fn only<'v>(&self, map: &'v Map) -> Result<(String, &'v Value), String> {
        match (map.len(), map.iter().next()) {
            (1, Some((key, value))) => Ok((key.to_string(), value)),
            (count, _) => Err(self.fault(format!("one key is meant here, not {count}: put a `-` before each"))),
        }
    }

    fn at<T>(&mut self, place: &str, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.place.push(place.to_owned());
        let result = read(self);
        self.place.pop();
        result
    }

    fn fault(&self, why: String) -> String {
        format!("{}: {why}", self.place.join(" → "))
    }
}

/// One thing is a list of one.
fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => items.clone(),
        one => vec![one.clone()],
    }
}
