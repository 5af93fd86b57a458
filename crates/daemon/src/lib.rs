//! The controller as a service, alone or in a cluster.
//!
//! The way of a request: a door ([`api`] over TCP or the unix socket that [`serve`] opens) makes a
//! [`rocksalt_core::request::Request`] of it and finds out who asks ([`auth`]); the [`requests`] asks [`access`] whether they
//! may, notes it in the [`audit`] and has it done: on targets by the controller's runs, by itself with [`runners`] and
//! [`wheels`]. Nothing is done past the request service (rules R1, R2).

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
