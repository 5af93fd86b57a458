//! Logins, rights and the audit log, and that no door is open that should be closed.

mod access;
mod audit;
mod auth;
mod doors;
mod fixture;
mod ldap;
