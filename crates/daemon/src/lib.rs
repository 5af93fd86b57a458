//! The controller as a service, alone or in a cluster.
//!
//! The path of a request: [`serve`] accepts the connection, [`api`] parses it into a
//! [`rocksalt_core::request::Request`], [`auth`] authenticates the caller, [`access`] decides whether it is allowed,
//! [`audit`] logs it, and [`requests`] executes it: on targets as a job, or on the controller with [`runners`] and
//! [`wheels`]. Nothing bypasses the request service (`docs/security-rules.md#r1`, `#r2`).

pub mod serve;

pub mod clock;

pub mod api;
pub mod auth;

pub mod requests;

pub mod access;
pub mod audit;

pub mod functions;
pub mod runners;
pub mod wheels;
