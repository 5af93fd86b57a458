//! `log`: lines that state files leave for whoever debugs them.
//!
//! Salt writes them to the minion's log. There is none here: the functions say `True`, so that files
//! that use them work.

use rocksalt_core::Value;
use rocksalt_macros::{arguments, function};

use super::{Entry, entry};
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

impl Message {
    fn ignore(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Takes a line about something that can't go on.
///
/// ```text
/// rocksalt '*' log.critical 'the disk is gone'
/// ```
#[function("log.critical", changes, call = Message::ignore -> bool)]
pub struct Critical(Message);

/// Takes a line for whoever debugs a state file.
///
/// ```text
/// rocksalt '*' log.debug 'the map is loaded'
/// ```
#[function("log.debug", changes, call = Message::ignore -> bool)]
pub struct Debug(Message);

/// Takes a line about something that went wrong.
///
/// ```text
/// rocksalt '*' log.error 'there is no such package'
/// ```
#[function("log.error", changes, call = Message::ignore -> bool)]
pub struct Error(Message);

/// Takes a line about an exception.
///
/// ```text
/// rocksalt '*' log.exception 'it was not caught'
/// ```
#[function("log.exception", changes, call = Message::ignore -> bool)]
pub struct Exception(Message);

/// Takes a line that is good to know.
///
/// ```text
/// rocksalt '*' log.info 'version 2 is in use'
/// ```
#[function("log.info", changes, call = Message::ignore -> bool)]
pub struct Info(Message);

/// Takes a line about the smallest of steps.
///
/// ```text
/// rocksalt '*' log.trace 'in the loop'
/// ```
#[function("log.trace", changes, call = Message::ignore -> bool)]
pub struct Trace(Message);

/// Takes a line about something that may go wrong.
///
/// ```text
/// rocksalt '*' log.warning 'this pillar key is old'
/// ```
#[function("log.warning", changes, call = Message::ignore -> bool)]
pub struct Warning(Message);
