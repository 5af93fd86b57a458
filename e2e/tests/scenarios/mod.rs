//! The requirements of the product, each with its test.

mod bad_input;
mod clients;
mod commands;
mod daemon;
mod daemon_kill;
mod diagnostics;
mod documented;
mod faults;
mod fifty;
mod identity;
mod logins;
mod machine_faults;
mod machines;
mod many;
mod odd_hosts;
mod reboot;
mod secrets;
mod states;
mod two_agents;
mod webserver;
mod with_daemon;
