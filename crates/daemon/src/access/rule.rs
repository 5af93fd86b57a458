//! [`Rule`]: one line of what somebody may do, and whether a call fits it.

use rocksalt_core::{Map, Value};

use super::words::{Way, Words};

#[derive(Clone, Debug)]
pub enum Rule {
    /// `test.*`: on any target.
    Function(Words),
    /// `web*: [test.*, …]`: on targets that are wholly inside a compound target.
    Target { within: String, functions: Vec<Allowed> },
    /// `@runner`, `@wheel`, `@jobs`; with a list, only these functions.
    Controller { name: String, functions: Option<Vec<Allowed>> },
}

/// A function, with what its arguments must be.
#[derive(Clone, Debug)]
pub struct Allowed {
    pub function: Words,
    /// Any of them is enough; without any, all arguments are free.
    pub arguments: Option<Vec<Arguments>>,
}

/// What is named here must be given and fit; what isn't named is free.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    pub args: Vec<Option<Words>>,
    pub kwargs: Vec<(String, Option<Words>)>,
}

/// A call as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub function: &'a str,
    pub args: &'a [Value],
    pub kwargs: &'a Map,
}

/// Whether a call fits, and how or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    Yes(Way),
    /// Another function.
    Other,
    /// The right function with other arguments.
    Arguments(String),
}

impl Allowed {
    pub fn fit(&self, asked: Asked<'_>) -> Fit {
        let Some(way) = self.function.fits(asked.function) else { return Fit::Other };
        let Some(arguments) = &self.arguments else { return Fit::Yes(way) };
        let mut why = "no arguments are allowed for it".to_owned();
        for wanted in arguments {
            match wanted.fault(asked) {
                None => return Fit::Yes(way),
                Some(fault) => why = fault,
            }
        }
        Fit::Arguments(why)
    }
}

impl Arguments {
    /// Why a call's arguments don't fit. Never says what they are: they may be secret.
    fn fault(&self, asked: Asked<'_>) -> Option<String> {
        for (index, wanted) in self.args.iter().enumerate() {
            let Some(given) = asked.args.get(index) else {
                return Some(format!("argument {} must be given", index + 1));
            };
            if let Some(words) = wanted.as_ref().filter(|words| !matches(words, given)) {
                return Some(format!("argument {} is not '{}'", index + 1, words.text));
            }
        }
        for (name, wanted) in &self.kwargs {
            let Some(given) = asked.kwargs.get(name) else { return Some(format!("`{name}` must be given")) };
            if let Some(words) = wanted.as_ref().filter(|words| !matches(words, given)) {
                return Some(format!("`{name}` is not '{}'", words.text));
            }
        }
        None
    }
}

/// Values are compared as Python prints them, as Salt does.
fn matches(words: &Words, given: &Value) -> bool {
    words.any() || words.fits(&given.to_string()).is_some()
}

/// Whether one of them fits; the best reason why not.
pub fn any(functions: &[Allowed], asked: Asked<'_>) -> (Option<(usize, Way)>, Option<String>) {
    let mut why = None;
    for (index, allowed) in functions.iter().enumerate() {
        match allowed.fit(asked) {
            Fit::Yes(way) => return (Some((index, way)), None),
            Fit::Other => {}
            Fit::Arguments(fault) => why = Some(fault),
        }
    }
    (None, why)
}
