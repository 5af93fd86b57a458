//! Tests against the real OpenSSH: its server, its client and its key tool.

mod ssh_files;
mod sshd;
mod transports;
