//! Authentication, access rules and the audit log, and that nothing is accessible without rights.

mod access;
mod audit;
mod auth;
mod doors;
mod fixture;
mod ldap;
