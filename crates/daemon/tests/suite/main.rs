//! The daemon from outside: authentication and access, Salt's API, and the service itself.

mod rights;
mod salt_api;
mod serve;
