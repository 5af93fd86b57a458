//! `mysql`: users, databases, grants and queries of MySQL and MariaDB servers, through their own client.
//!
//! The path of a call: `states` or `functions`, then `account` and `privileges` (which statements), `client` (runs
//! them) and `reply` (parses the result).

mod account;
mod answer;
mod client;
mod functions;
mod privileges;
mod quote;
mod reply;
mod states;

pub use client::MysqlServer;
pub use functions::FUNCTIONS;
pub use states::{DATABASE_STATES, GRANTS_STATES, QUERY_STATES, USER_STATES};

use super::{Decision, Function, State, StateEntry, Step, Thing, Touches, Verdict, sql};
