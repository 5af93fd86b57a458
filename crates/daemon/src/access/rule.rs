//! [`AccessRule`]: a rule of `external_auth`, and whether a call matches it.

use rocksalt_core::{Map, Value};

use super::name_pattern::{MatchKind, NamePattern};

#[derive(Clone, Debug)]
pub enum AccessRule {
    /// `test.*`: on any target.
    Function(NamePattern),
    /// `web*: [test.*, …]`: on targets inside a compound target.
    Target { within: String, functions: Vec<FunctionRule> },
    /// `@runner`, `@wheel`, `@jobs`; with a list only these functions.
    Controller { name: String, functions: Option<Vec<FunctionRule>> },
}

/// A function with conditions on its arguments.
#[derive(Clone, Debug)]
pub struct FunctionRule {
    pub function: NamePattern,
    /// One of them must match; `None` allows any arguments.
    pub arguments: Option<Vec<ArgumentRule>>,
}

/// The arguments that a call may have: these and no others.
#[derive(Clone, Debug, Default)]
pub struct ArgumentRule {
    /// Must be given, in this order.
    pub args: Vec<Option<NamePattern>>,
    /// Must be given.
    pub kwargs: Vec<(String, Option<NamePattern>)>,
    /// May be given.
    pub optional: Vec<(String, Option<NamePattern>)>,
    /// Arguments beyond the named ones are free, as in Salt.
    pub others: bool,
}

/// A call to check.
#[derive(Clone, Copy, Debug)]
pub struct CallView<'a> {
    pub function: &'a str,
    pub args: &'a [Value],
    pub kwargs: &'a Map,
}

/// Whether a call matches, and how or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleMatch {
    Yes(MatchKind),
    /// Another function.
    Other,
    /// The right function with other arguments.
    Arguments(String),
}

impl FunctionRule {
    pub fn check(&self, call: CallView<'_>) -> RuleMatch {
        let Some(kind) = self.function.matches(call.function) else { return RuleMatch::Other };
        let Some(arguments) = &self.arguments else { return RuleMatch::Yes(kind) };
        let mut why = "no arguments are allowed".to_owned();
        for wanted in arguments {
            match wanted.mismatch(call) {
                None => return RuleMatch::Yes(kind),
                Some(fault) => why = fault,
            }
        }
        RuleMatch::Arguments(why)
    }
}

impl ArgumentRule {
    /// Why a call's arguments don't match. Never contains their values: they may be secret.
    fn mismatch(&self, call: CallView<'_>) -> Option<String> {
        for (index, wanted) in self.args.iter().enumerate() {
            let Some(given) = call.args.get(index) else {
                return Some(format!("argument {} must be given", index + 1));
            };
            if let Some(pattern) = wanted.as_ref().filter(|pattern| !value_matches(pattern, given)) {
                return Some(format!("argument {} is not '{}'", index + 1, pattern.text));
            }
        }
        for (name, wanted) in &self.kwargs {
            let Some(given) = call.kwargs.get(name) else { return Some(format!("`{name}` must be given")) };
            if let Some(fault) = named_mismatch(name, wanted.as_ref(), given) {
                return Some(fault);
            }
        }
        for (name, wanted) in &self.optional {
            if let Some(fault) = call.kwargs.get(name).and_then(|given| named_mismatch(name, wanted.as_ref(), given)) {
                return Some(fault);
            }
        }
        if self.others { None } else { self.unnamed(call) }
    }

    /// The first argument that the rule does not name.
    fn unnamed(&self, call: CallView<'_>) -> Option<String> {
        if call.args.len() > self.args.len() {
            return Some(format!("the rule does not name argument {}", self.args.len() + 1));
        }
        let named = |name: &Value| {
            let mut all = self.kwargs.iter().chain(&self.optional);
            all.any(|(named, _)| name.as_str() == Some(named))
        };
        let other = call.kwargs.keys().find(|name| !named(name))?;
        Some(format!("the rule does not name `{other}`"))
    }
}

fn named_mismatch(name: &str, wanted: Option<&NamePattern>, given: &Value) -> Option<String> {
    let pattern = wanted.filter(|pattern| !value_matches(pattern, given))?;
    Some(format!("`{name}` is not '{}'", pattern.text))
}

/// Compares values as Python prints them, like Salt.
fn value_matches(pattern: &NamePattern, given: &Value) -> bool {
    pattern.is_wildcard() || pattern.matches(&given.to_string()).is_some()
}

/// The first function that matches, or the last reason why not.
pub fn first_match(functions: &[FunctionRule], call: CallView<'_>) -> (Option<(usize, MatchKind)>, Option<String>) {
    let mut why = None;
    for (index, allowed) in functions.iter().enumerate() {
        match allowed.check(call) {
            RuleMatch::Yes(kind) => return (Some((index, kind)), None),
            RuleMatch::Other => {}
            RuleMatch::Arguments(fault) => why = Some(fault),
        }
    }
    (None, why)
}
