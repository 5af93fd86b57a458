//! `mysql`: users, databases, grants and queries of MySQL and MariaDB servers, through their own client.
//!
//! A call goes `states` or `functions` → `account`, `privileges` (what is to be said) → `client` (saying it)
//! → `reply` (what came back).

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
