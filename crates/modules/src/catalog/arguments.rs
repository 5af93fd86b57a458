//! [`Arguments`]: a struct whose fields are the arguments of a function or a state, and how a call's reach it.
//!
//! The attributes of `rocksalt-macros` implement what is here.

use rocksalt_core::Map;
pub use rocksalt_core::arguments::{NAMED, bind, usage};
use rocksalt_core::description::Nature;
use rocksalt_core::value::{ArgumentReader, FromValueError};

#[cfg(feature = "docs")]
use super::description::ArgumentDescription;

/// A struct of arguments; `#[function]`, `#[state]` and `#[arguments]` implement it.
pub trait Arguments: Sized {
    /// Their names, in the order in which they may be given by position.
    const NAMES: &'static [&'static str];

    fn read(arguments: &mut ArgumentReader) -> Result<Self, FromValueError>;

    /// Adds a description of each.
    #[cfg(feature = "docs")]
    fn describe(into: &mut Vec<ArgumentDescription>);
}

/// What `#[function]` says.
pub trait FunctionAttributes {
    const NAME: &'static str;
    const ALIASES: &'static [&'static str];
    /// The argument that takes all further positional ones as a list. Those after it go by name only.
    const REST: &'static str;
    const NATURE: Nature;
    #[cfg(feature = "docs")]
    const DOC: &'static str;
}

/// What `#[state]` says.
pub trait StateAttributes {
    const NAME: &'static str;
    /// The arguments that must be given, besides `name`, which there always is.
    const REQUIRED: &'static [&'static str];
    /// Whether a `watch` on something that changed makes it act (`State::watched`).
    const WATCHES: bool;
    /// Whether an argument that it does not have is an error, as where Salt's function has no `**kwargs`; else it is
    /// only warned of.
    const STRICT: bool;
    /// Whether Salt can merge several of its module's states into one.
    const AGGREGATES: bool;
    #[cfg(feature = "docs")]
    const DOC: &'static str;
}

/// Reads a struct of arguments.
pub fn read<A: Arguments>(arguments: Map) -> Result<A, FromValueError> {
    A::read(&mut ArgumentReader::new(arguments))
}

/// How many names several lists have together.
pub const fn count(lists: &[&[&str]]) -> usize {
    let (mut total, mut at) = (0, 0);
    while at < lists.len() {
        total += lists[at].len();
        at += 1;
    }
    total
}

/// The names of several lists as one.
pub const fn joined<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut list, mut next) = (0, 0);
    while list < lists.len() {
        let mut item = 0;
        while item < lists[list].len() {
            all[next] = lists[list][item];
            next += 1;
            item += 1;
        }
        list += 1;
    }
    all
}
