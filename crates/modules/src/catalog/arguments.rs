//! [`Arguments`]: a struct whose fields are the arguments of a function or a state, and how a call's arguments fill
//! them.
//!
//! The attributes of `rocksalt-macros` implement these traits.

use rocksalt_core::Map;
pub use rocksalt_core::arguments::{NAMED, bind, usage};
use rocksalt_core::description::Nature;
use rocksalt_core::value::{ArgumentReader, FromValueError};

#[cfg(feature = "docs")]
use super::description::ArgumentDescription;

/// A struct of arguments; `#[function]`, `#[state]` and `#[arguments]` implement it.
pub trait Arguments: Sized {
    /// The names, in positional order.
    const NAMES: &'static [&'static str];

    fn read(arguments: &mut ArgumentReader) -> Result<Self, FromValueError>;

    /// Adds a description of each argument.
    #[cfg(feature = "docs")]
    fn describe(into: &mut Vec<ArgumentDescription>);
}

/// The parameters of `#[function]`.
pub trait FunctionAttributes {
    const NAME: &'static str;
    const ALIASES: &'static [&'static str];
    /// The argument that takes all further positional ones as a list. Those after it can only be given by name.
    const REST: &'static str;
    const NATURE: Nature;
    #[cfg(feature = "docs")]
    const DOC: &'static str;
}

/// The parameters of `#[state]`.
pub trait StateAttributes {
    const NAME: &'static str;
    /// The required arguments, besides `name`, which always exists.
    const REQUIRED: &'static [&'static str];
    /// Whether the state acts if a watched state has changed (`State::watched`).
    const WATCHES: bool;
    /// Whether an unknown argument is an error, as for Salt functions without `**kwargs`; otherwise it causes a
    /// warning.
    const STRICT: bool;
    /// Whether Salt can merge several states of this module into one.
    const AGGREGATES: bool;
    #[cfg(feature = "docs")]
    const DOC: &'static str;
}

/// Parses a struct of arguments.
pub fn read<A: Arguments>(arguments: Map) -> Result<A, FromValueError> {
    A::read(&mut ArgumentReader::new(arguments))
}

/// The total number of names in several lists.
pub const fn count(lists: &[&[&str]]) -> usize {
    let (mut total, mut at) = (0, 0);
    while at < lists.len() {
        total += lists[at].len();
        at += 1;
    }
    total
}

/// Concatenates several lists of names.
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
