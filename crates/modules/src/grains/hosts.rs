//! Resolves names without waiting for the network: `/etc/hosts`, then `getent` with a short time limit.

use std::net::IpAddr;
use std::time::Duration;

use super::look;
use crate::machine::{Command, Probe};

/// The result of resolving a name.
#[derive(Debug, Default, PartialEq)]
pub struct ResolvedHost {
    /// The full name, if one is known.
    pub canonical: Option<String>,
    pub addresses: Vec<IpAddr>,
}

/// The lines of `/etc/hosts`: an address and its names, the full one first.
pub struct StaticHosts(Vec<(IpAddr, Vec<String>)>);

impl StaticHosts {
    pub fn read(machine: &dyn Probe) -> StaticHosts {
        StaticHosts::parse(&look::text(machine, "/etc/hosts").unwrap_or_default())
    }

    fn parse(text: &str) -> StaticHosts {
        let lines = text.lines().filter_map(|line| {
            let mut words = line.split('#').next()?.split_whitespace();
            let address = words.next()?.parse().ok()?;
            let names: Vec<String> = words.map(str::to_owned).collect();
            (!names.is_empty()).then_some((address, names))
        });
        StaticHosts(lines.collect())
    }

    pub fn resolve(&self, name: &str) -> ResolvedHost {
        let of_name = || self.0.iter().filter(|(_, names)| names.iter().any(|other| other.eq_ignore_ascii_case(name)));
        let mut addresses: Vec<IpAddr> = Vec::new();
        for (address, _) in of_name() {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        ResolvedHost { canonical: of_name().next().map(|(_, names)| names[0].clone()), addresses }
    }

    /// The names of an address.
    pub fn names(&self, address: IpAddr) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(other, _)| *other == address)
            .flat_map(|(_, names)| names.iter().map(String::as_str))
    }
}

/// Resolves by `/etc/hosts`, then by the target's own name services within the time limit.
pub fn resolve(machine: &dyn Probe, name: &str, patience: Duration) -> ResolvedHost {
    let answer = StaticHosts::read(machine).resolve(name);
    if !answer.addresses.is_empty() {
        return answer;
    }
    // The name may come from a user: it must not be taken for an option.
    if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
        return ResolvedHost::default();
    }
    // Not by the C library: ours is static, and can't load the target's name service modules.
    let ask = |words: &[&str], parse: fn(&str) -> ResolvedHost| {
        let command = Command { timeout: Some(patience), ..Command::new(words.iter().copied()) };
        let output = machine.query(&command).ok().filter(|output| output.success());
        output.map_or_else(ResolvedHost::default, |output| parse(&output.text()))
    };
    // Busybox has no `getent`; its `nslookup` only knows DNS.
    match look::program(machine, "getent").is_none() && look::program(machine, "nslookup").is_some() {
        true => ask(&["nslookup", name], parse_nslookup),
        false => ask(&["getent", "ahosts", name], parse_getent),
    }
}

/// After a line `Name: …` there are lines such as `Address: 192.0.2.7`, in older versions `Address 1: 192.0.2.7 web01`.
/// The lines before it describe the server.
fn parse_nslookup(text: &str) -> ResolvedHost {
    let mut answer = ResolvedHost::default();
    for (label, rest) in text.lines().filter_map(|line| line.split_once(':')) {
        let word = rest.split_whitespace().next();
        if label == "Name" {
            answer.canonical = answer.canonical.or_else(|| word.map(str::to_owned));
        } else if label.starts_with("Address")
            && answer.canonical.is_some()
            && let Some(address) = word.and_then(|word| word.parse().ok())
            && !answer.addresses.contains(&address)
        {
            answer.addresses.push(address);
        }
    }
    answer
}

/// Parses lines such as `192.0.2.7 STREAM web01.example.test`.
fn parse_getent(text: &str) -> ResolvedHost {
    let mut answer = ResolvedHost::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(address) = words.next().and_then(|word| word.split('%').next()?.parse().ok()) else { continue };
        if !answer.addresses.contains(&address) {
            answer.addresses.push(address);
        }
        if let Some(name) = words.nth(1) {
            answer.canonical.get_or_insert_with(|| name.to_owned());
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Output};

    #[test]
    fn the_first_name_of_a_line_is_the_full_one() {
        let hosts = StaticHosts::parse(
            "127.0.0.1 localhost\n127.0.1.1\tweb01.example.test web01 # me\n::1 localhost\nrubbish\n",
        );
        let answer = hosts.resolve("WEB01");
        assert_eq!(answer.canonical.as_deref(), Some("web01.example.test"));
        assert_eq!(answer.addresses, ["127.0.1.1".parse::<IpAddr>().expect("an address")]);
        assert_eq!(hosts.resolve("localhost").addresses.len(), 2);
        assert_eq!(hosts.resolve("nobody"), ResolvedHost::default());
    }

    #[test]
    fn name_services_are_asked_if_the_files_know_nothing() {
        let output = "192.0.2.7      STREAM web01.example.test\n192.0.2.7      DGRAM\nfe80::1%eth0 STREAM\n";
        let output = Output { stdout: output.into(), ..Output::default() };
        let machine = Fake::new().command(&["getent", "ahosts", "web01"], output);
        let answer = resolve(&machine, "web01", Duration::ZERO);
        assert_eq!((answer.canonical.as_deref(), answer.addresses.len()), (Some("web01.example.test"), 2));
        assert_eq!(resolve(&machine, "--help", Duration::ZERO), ResolvedHost::default());
    }

    #[test]
    fn busyboxs_answers_are_read() {
        let new = "Server:\t\t192.0.2.53\nAddress:\t192.0.2.53:53\n\nNon-authoritative answer:\nName:\tweb01.example.test\n\
                   Address: 192.0.2.7\nAddress: 2001:db8::7\n";
        let old = "Server:    192.0.2.53\nAddress 1: 192.0.2.53 ns\n\nName:      web01.example.test\n\
                   Address 1: 192.0.2.7 web01\nAddress 2: 2001:db8::7 web01\n";
        for text in [new, old] {
            let answer = parse_nslookup(text);
            assert_eq!(answer.canonical.as_deref(), Some("web01.example.test"));
            assert_eq!(
                answer.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
                ["192.0.2.7", "2001:db8::7"]
            );
        }
        assert_eq!(parse_nslookup("Server: 192.0.2.53\nAddress: 192.0.2.53\n"), ResolvedHost::default());
    }
}
