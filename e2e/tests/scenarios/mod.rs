//! What the product must show, each requirement a test.

mod bad_input;
mod commands;
mod faults;
mod fifty;
mod logins;
mod odd_hosts;
