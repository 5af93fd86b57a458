//! `log`: log lines of state files.
//!
//! Salt writes them to the minion's log. There is no such log here: the functions return `True`, so that files that use
//! them work.

use rocksalt_core::Value;
use rocksalt_macros::{arguments, function};

use super::{CatalogFunction, entry};
use crate::Result;
use crate::machine::System;

pub const FUNCTIONS: &[CatalogFunction] = &[
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
pub struct LogMessage {
    /// The line.
    #[allow(dead_code, reason = "nobody reads it")]
    #[required]
    message: Value,
}

impl LogMessage {
    fn ignore(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Accepts a log line of level `critical`.
///
/// ```text
/// rocksalt '*' log.critical 'the disk is gone'
/// ```
#[function("log.critical", reads, repeatable, call = LogMessage::ignore -> bool)]
pub struct Critical(LogMessage);

/// Accepts a log line of level `debug`.
///
/// ```text
/// rocksalt '*' log.debug 'the map is loaded'
/// ```
#[function("log.debug", reads, repeatable, call = LogMessage::ignore -> bool)]
pub struct Debug(LogMessage);

/// Accepts a log line of level `error`.
///
/// ```text
/// rocksalt '*' log.error 'there is no such package'
/// ```
#[function("log.error", reads, repeatable, call = LogMessage::ignore -> bool)]
pub struct Error(LogMessage);

/// Accepts a log line about an exception.
///
/// ```text
/// rocksalt '*' log.exception 'it was not caught'
/// ```
#[function("log.exception", reads, repeatable, call = LogMessage::ignore -> bool)]
pub struct Exception(LogMessage);

/// Accepts a log line of level `info`.
///
/// ```text
/// rocksalt '*' log.info 'version 2 is in use'
/// ```
#[function("log.info", reads, repeatable, call = LogMessage::ignore -> bool)]
pub struct Info(LogMessage);

/// Accepts a log line of level `trace`.
///
/// ```text
/// rocksalt '*' log.trace 'in the loop'
/// ```
#[function("log.trace", reads, repeatable, call = LogMessage::ignore -> bool)]
pub struct Trace(LogMessage);

/// Accepts a log line of level `warning`.
///
/// ```text
/// rocksalt '*' log.warning 'this pillar key is old'
/// ```
#[function("log.warning", reads, repeatable, call = LogMessage::ignore -> bool)]
pub struct Warning(LogMessage);
