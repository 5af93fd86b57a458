//! `log`: log lines of state files.
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
    /// Accepts a log line of level `critical`.
    ///
    /// ```text
    /// rocksalt '*' log.critical 'the disk is gone'
    /// ```
    Critical = "log.critical";
    /// Accepts a log line of level `debug`.
    ///
    /// ```text
    /// rocksalt '*' log.debug 'the map is loaded'
    /// ```
    Debug = "log.debug";
    /// Accepts a log line of level `error`.
    ///
    /// ```text
    /// rocksalt '*' log.error 'there is no such package'
    /// ```
    Error = "log.error";
    /// Accepts a log line about an exception.
    ///
    /// ```text
    /// rocksalt '*' log.exception 'it was not caught'
    /// ```
    Exception = "log.exception";
    /// Accepts a log line of level `info`.
    ///
    /// ```text
    /// rocksalt '*' log.info 'version 2 is in use'
    /// ```
    Info = "log.info";
    /// Accepts a log line of level `trace`.
    ///
    /// ```text
    /// rocksalt '*' log.trace 'in the loop'
    /// ```
    Trace = "log.trace";
    /// Accepts a log line of level `warning`.
    ///
    /// ```text
    /// rocksalt '*' log.warning 'this pillar key is old'
    /// ```
    Warning = "log.warning";
}
