//! The controller as a service, alone or in a cluster.
//!
//! The way of a request: a door ([`api`], the unix socket) makes a [`rocksalt_core::request::Request`] of it and finds
//! out who asks ([`auth`]), the [`desk`] asks [`access`] whether they may, notes it in the [`audit`] and has it done.
//! Nothing is done past the desk (rules R1, R2).
