//! Parses `external_auth`; errors name the position in it.

use rocksalt_core::target::{DELIMITER, Nodegroups, TargetExpression, TargetKind};
use rocksalt_core::{Map, Value};

use super::name_pattern::NamePattern;
use super::rule::{AccessRule, ArgumentRule, FunctionRule};

/// A principal with its rules.
#[derive(Clone, Debug)]
pub struct AuthEntry {
    pub principal: Principal,
    pub rules: Vec<AccessRule>,
    /// The rules as written, for `perms`.
    pub written: Vec<Value>,
}

#[derive(Clone, Debug)]
pub enum Principal {
    User(NamePattern),
    Group(String),
    /// `*`: users whom no other entry matches.
    Everybody,
}

impl Principal {
    pub fn text(&self) -> String {
        match self {
            Principal::User(pattern) => pattern.text.clone(),
            Principal::Group(name) => format!("{name}%"),
            Principal::Everybody => "*".into(),
        }
    }
}

/// Parses the entries of one backend.
pub struct RuleParser<'a> {
    pub nodegroups: &'a Nodegroups,
    position: Vec<String>,
}

impl RuleParser<'_> {
    pub fn new(nodegroups: &Nodegroups) -> RuleParser<'_> {
        RuleParser { nodegroups, position: vec!["external_auth".into()] }
    }

    pub fn backend(&mut self, name: &str, entries: &Value) -> Result<Vec<AuthEntry>, String> {
        self.within(name, |parser| match entries {
            Value::Null => Ok(Vec::new()),
            Value::Map(entries) => parser.entries(entries),
            other => Err(parser.fault(format!("must be a map of users and their rules, not {}", other.kind()))),
        })
    }

    fn entries(&mut self, entries: &Map) -> Result<Vec<AuthEntry>, String> {
        let mut all = Vec::new();
        for (name, rules) in entries.iter() {
            let name = name.to_string();
            // Options of the backend.
            if name.starts_with('^') {
                continue;
            }
            all.push(self.within(&name, |parser| parser.entry(&name, rules))?);
        }
        Ok(all)
    }

    fn entry(&mut self, name: &str, rules: &Value) -> Result<AuthEntry, String> {
        let principal = match name.strip_suffix('%') {
            _ if name == "*" => Principal::Everybody,
            Some(group) => Principal::Group(group.trim_end_matches('%').to_owned()),
            None => Principal::User(self.pattern(name)?),
        };
        let written = as_list(rules);
        let mut all = Vec::new();
        for (index, rule) in written.iter().enumerate() {
            all.push(self.within(&(index + 1).to_string(), |parser| parser.rule(rule))?);
        }
        Ok(AuthEntry { principal, rules: all, written })
    }

    fn rule(&mut self, rule: &Value) -> Result<AccessRule, String> {
        match rule {
            Value::String(text) => match text.strip_prefix('@') {
                Some(name) => Ok(AccessRule::Controller { name: self.name(name)?, functions: None }),
                None => Ok(AccessRule::Function(self.pattern(text)?)),
            },
            Value::Map(map) => {
                let (key, functions) = self.single_pair(map)?;
                self.within(&key, |parser| {
                    let functions = parser.functions(functions)?;
                    match key.strip_prefix('@') {
                        Some(name) => {
                            Ok(AccessRule::Controller { name: parser.name(name)?, functions: Some(functions) })
                        }
                        None => Ok(AccessRule::Target { within: parser.target(&key)?, functions }),
                    }
                })
            }
            other => Err(self.fault(format!("must be a function or a target with functions, not {}", other.kind()))),
        }
    }

    fn functions(&mut self, functions: &Value) -> Result<Vec<FunctionRule>, String> {
        let mut all = Vec::new();
        for (index, function) in as_list(functions).iter().enumerate() {
            all.push(self.within(&(index + 1).to_string(), |parser| match function {
                Value::String(text) => Ok(FunctionRule { function: parser.pattern(text)?, arguments: None }),
                Value::Map(map) => {
                    let (name, arguments) = parser.single_pair(map)?;
                    parser.within(&name, |parser| {
                        let arguments = as_list(arguments);
                        let arguments: Result<Vec<ArgumentRule>, String> =
                            arguments.iter().map(|arguments| parser.arguments(arguments)).collect();
                        Ok(FunctionRule { function: parser.pattern(&name)?, arguments: Some(arguments?) })
                    })
                }
                other => Err(parser.fault(format!("must be a function, not {}", other.kind()))),
            })?);
        }
        Ok(all)
    }

    fn arguments(&mut self, arguments: &Value) -> Result<ArgumentRule, String> {
        let Some(map) = arguments.as_map() else {
            return Err(self.fault(format!(
                "must be a map of `args`, `kwargs`, `optional` and `others`, not {}",
                arguments.kind()
            )));
        };
        let mut all = ArgumentRule { others: map.is_empty(), ..ArgumentRule::default() };
        for (key, value) in map.iter() {
            match (key.to_string().as_str(), value) {
                (_, Value::Null) => {}
                ("args", Value::List(items)) => {
                    for item in items {
                        all.args.push(self.within("args", |parser| parser.optional(item))?);
                    }
                }
                ("kwargs", Value::Map(named)) => all.kwargs = self.named(named)?,
                ("optional", Value::Map(named)) => all.optional = self.named(named)?,
                ("others", Value::Bool(others)) => all.others = *others,
                ("args", other) => return Err(self.fault(format!("`args` must be a list, not {}", other.kind()))),
                ("kwargs", other) => return Err(self.fault(format!("`kwargs` must be a map, not {}", other.kind()))),
                ("optional", other) => {
                    return Err(self.fault(format!("`optional` must be a map, not {}", other.kind())));
                }
                ("others", other) => {
                    return Err(self.fault(format!("`others` must be true or false, not {}", other.kind())));
                }
                (other, _) => {
                    let known = "`args`, `kwargs`, `optional` and `others`";
                    return Err(self.fault(format!("'{other}' is unknown; there are {known}")));
                }
            }
        }
        Ok(all)
    }

    fn named(&mut self, named: &Map) -> Result<Vec<(String, Option<NamePattern>)>, String> {
        let pattern = |(name, value): (&Value, &Value)| {
            let name = name.to_string();
            let pattern = self.within(&name, |parser| parser.optional(value))?;
            Ok((name, pattern))
        };
        named.iter().map(pattern).collect()
    }

    fn optional(&mut self, value: &Value) -> Result<Option<NamePattern>, String> {
        match value {
            Value::Null => Ok(None),
            Value::List(_) | Value::Map(_) => Err(self.fault(format!("must be a pattern, not {}", value.kind()))),
            scalar => self.pattern(&scalar.to_string()).map(Some),
        }
    }

    fn pattern(&self, text: &str) -> Result<NamePattern, String> {
        NamePattern::parse(text).map_err(|why| self.fault(why))
    }

    fn name(&self, name: &str) -> Result<String, String> {
        match name {
            "" => Err(self.fault("the name after the @ is missing".into())),
            name => Ok(name.to_owned()),
        }
    }

    fn target(&self, text: &str) -> Result<String, String> {
        if text != "*" {
            TargetExpression::parse(TargetKind::Compound, text, DELIMITER, self.nodegroups)
                .map_err(|error| self.fault(error.to_string()))?;
        }
        Ok(text.to_owned())
    }

    fn single_pair<'v>(&self, map: &'v Map) -> Result<(String, &'v Value), String> {
        match (map.len(), map.iter().next()) {
            (1, Some((key, value))) => Ok((key.to_string(), value)),
            (count, _) => Err(self.fault(format!("expected one key, not {count}: put a `-` before each"))),
        }
    }

    fn within<T>(&mut self, position: &str, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.position.push(position.to_owned());
        let result = read(self);
        self.position.pop();
        result
    }

    fn fault(&self, why: String) -> String {
        format!("{}: {why}", self.position.join(" → "))
    }
}

/// A value that isn't a list is a list of one.
fn as_list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::List(items) => items.clone(),
        one => vec![one.clone()],
    }
}
