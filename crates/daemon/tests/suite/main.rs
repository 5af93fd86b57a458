//! The daemon from outside: logins and rights, Salt's API, and the service itself.

mod rights;
mod salt_api;
mod serve;
