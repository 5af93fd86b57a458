//! The network of a bed: a bridge in its own namespace, and a veth pair to each host.
//!
//! The machine's own network can't reach any of its addresses, and two beds may use the same ones.

use std::fmt::Write;
use std::process::Command;

use crate::bed::Host;
use crate::error::Error;
use crate::tool;

pub(super) struct Network<'a> {
    pub bed: &'a str,
}

impl Network<'_> {
    /// The prefix of the names of all namespaces of a bed.
    pub(super) fn prefix(&self) -> String {
        format!("rocksalt-{}-", self.bed)
    }

    /// The namespace that has the bridge and in which the controller runs.
    pub(super) fn lab(&self) -> String {
        format!("{}lab", self.prefix())
    }

    pub(super) fn of(&self, host: &Host) -> String {
        format!("{}{}", self.prefix(), host.id())
    }

    /// Uses few calls of `ip` for many hosts: a call costs more than its work.
    pub(super) fn create(&self, hosts: &[Host]) -> Result<(), Error> {
        let lab = self.lab();
        let mut outside = format!("netns add {lab}\n");
        let mut inside =
            String::from("link set lo up\nlink add br0 type bridge\naddr add 10.77.0.1/16 dev br0\nlink set br0 up\n");
        // Writing to a string can't fail.
        for host in hosts {
            let _ = writeln!(outside, "netns add {}", self.of(host));
        }
        for host in hosts {
            let (link, own) = (link(host), self.of(host));
            let _ = match host.spec.behind {
                None => writeln!(inside, "link set {link} master br0 up").and_then(|()| {
                    writeln!(outside, "link add {link} netns {lab} type veth peer name eth0 netns {own}")
                }),
                Some(jump) => {
                    let jump = format!("{}h{jump}", self.prefix());
                    writeln!(outside, "link add {link} netns {jump} type veth peer name eth0 netns {own}")
                }
            };
        }
        tool::feed(Command::new("ip").args(["-batch", "-"]), &outside)?;
        tool::feed(Command::new("ip").args(["-netns", &lab, "-batch", "-"]), &inside)?;
        for host in hosts {
            if let Some(jump) = host.spec.behind {
                let (link, jump) = (link(host), format!("{}h{jump}", self.prefix()));
                let lines = format!("addr add 10.78.{}.1/24 dev {link}\nlink set {link} up\n", host.number);
                tool::feed(Command::new("ip").args(["-netns", &jump, "-batch", "-"]), &lines)?;
            }
        }
        Ok(())
    }

    /// Detaches a host from the bridge or attaches it again: neither side sees a carrier change, only silence. (A link
    /// that is set up again may stay silent for another second, until the kernel has told the bridge.)
    pub(super) fn connect(&self, host: &Host, connected: bool) -> Result<(), Error> {
        let link = link(host);
        let (namespace, change) = match (host.spec.behind, connected) {
            (None, true) => (self.lab(), "master br0"),
            (None, false) => (self.lab(), "nomaster"),
            (Some(jump), true) => (format!("{}h{jump}", self.prefix()), "up"),
            (Some(jump), false) => (format!("{}h{jump}", self.prefix()), "down"),
        };
        let mut command = Command::new("ip");
        command.args(["-netns", &namespace, "link", "set", &link]).args(change.split(' '));
        tool::run(&mut command).map(drop)
    }
}

fn link(host: &Host) -> String {
    format!("veth{}", host.number)
}
