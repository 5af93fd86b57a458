//! What the product must show, each requirement a test.

mod bad_input;
mod commands;
mod faults;
mod fifty;
mod logins;
mod machines;
mod many;
mod odd_hosts;
mod states;
