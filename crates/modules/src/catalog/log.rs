//! `log`: lines that state files leave for whoever debugs them.
//!
//! Salt writes them to the minion's log. There is none here: the functions say `True`, so that files
//! that use them work.

use rocksalt_core::Value;
use rocksalt_macros::{arguments, function};

use super::{Entry, Function, entry};
use crate::Result;
use crate::machine::System;

pub const FUNCTIONS: &[Entry] = &[
    entry::<Critical>(),
    entry::<Debug>(),
    entry::<Error>(),
    entry::<Exception>(),
    entry::<Info>(),
    entry::<Trace>(),
    entry::<Warning>(),
];

/// What all of them take.
#[arguments]
pub struct Message {
    /// The line.
    #[allow(dead_code, reason = "nobody reads it")]
    #[required]
    message: Value,
}

macro_rules! levels {
    ($($(#[$doc:meta])+ $name:ident = $function:literal;)+) => {
        $(
            $(#[$doc])+
            #[function($function, reads, repeatable)]
            pub struct $name(#[allow(dead_code, reason = "nobody reads it")] Message);

            impl Function for $name {
                type Output = bool;

                fn call(self, _: &dyn System) -> Result<bool> {
                    Ok(true)
                }
            }
        )+
    };
}

levels! {
    /// Takes a line about something that can't go on.
    ///
    /// ```text
    /// rocksalt '*' log.critical 'the disk is gone'
    /// ```
    Critical = "log.critical";
    /// Takes a line for whoever debugs a state file.
    ///
    /// ```text
    /// rocksalt '*' log.debug 'the map is loaded'
    /// ```
    Debug = "log.debug";
    /// Takes a line about something that went wrong.
    ///
    /// ```text
    /// rocksalt '*' log.error 'there is no such package'
    /// ```
    Error = "log.error";
    /// Takes a line about an exception.
    ///
    /// ```text
    /// rocksalt '*' log.exception 'it was not caught'
    /// ```
    Exception = "log.exception";
    /// Takes a line that is good to know.
    ///
    /// ```text
    /// rocksalt '*' log.info 'version 2 is in use'
    /// ```
    Info = "log.info";
    /// Takes a line about the smallest of steps.
    ///
    /// ```text
    /// rocksalt '*' log.trace 'in the loop'
    /// ```
    Trace = "log.trace";
    /// Takes a line about something that may go wrong.
    ///
    /// ```text
    /// rocksalt '*' log.warning 'this pillar key is old'
    /// ```
    Warning = "log.warning";
}
