//! Functions that test whether other hosts can be reached.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;
use serde::Serialize;

use crate::catalog::Function;
use crate::grains::{hosts, look};
use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// Checks a host, which may come from a user: it must not be taken for an option.
fn sound_host(host: &str) -> Result<&str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
    if host.is_empty() || host.starts_with('-') || !host.chars().all(allowed) {
        return Err(Error::arguments(format!("'{host}' is neither a host name nor an address")));
    }
    Ok(host)
}

fn run(machine: &dyn Probe, program: &str, of: &str, words: &[&str]) -> Result<Output> {
    let Some(path) = look::program(machine, program) else {
        return Err(
            Error::failed(format!("'{program}' is not on the target")).hint(format!("it comes with the package {of}"))
        );
    };
    machine.query(&Command::new(std::iter::once(path.as_str()).chain(words.iter().copied())))
}

/// Pings a host four times, with the target's own `ping`.
///
/// ```text
/// rocksalt '*' network.ping example.com
/// rocksalt '*' network.ping example.com timeout=3 return_boolean=True
/// ```
#[function("network.ping", reads)]
pub struct Ping {
    /// The name or address.
    host: String,
    /// How many seconds to wait for each answer.
    timeout: Value,
    /// Only return whether it answered.
    return_boolean: bool,
}

impl Function for Ping {
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        let timeout = self.timeout.to_string();
        let mut words = vec!["-c", "4"];
        if self.timeout.truth() {
            if !timeout.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Error::arguments(format!("'{timeout}' is no number of seconds")));
            }
            words.extend(["-W", &timeout]);
        }
        words.push(sound_host(&self.host)?);
        let output = run(machine, "ping", "iputils-ping", &words)?;
        Ok(if self.return_boolean {
            Value::Bool(output.success())
        } else {
            let text = output.text() + &String::from_utf8_lossy(&output.stderr);
            text.trim_end().into()
        })
    }
}

/// Queries DNS with the target's own `dig`.
///
/// ```text
/// rocksalt '*' network.dig example.com
/// ```
#[function("network.dig", reads)]
pub struct Dig {
    /// The name or address.
    host: String,
}

impl Function for Dig {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let output = run(machine, "dig", "dnsutils", &[sound_host(&self.host)?])?;
        Ok(output.text().trim_end().to_owned())
    }
}

/// The first address that a name has on the target.
///
/// ```text
/// rocksalt '*' network.dns_check example.com
/// ```
#[function("network.dns_check", reads)]
pub struct DnsCheck {
    /// The name.
    host: String,
}

impl Function for DnsCheck {
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let found = addresses(machine, sound_host(&self.host)?);
        let first = found.first().map(ToString::to_string);
        first.ok_or_else(|| Error::failed(format!("DNS lookup or connection check of '{}' failed.", self.host)))
    }
}

fn addresses(machine: &dyn Probe, host: &str) -> Vec<IpAddr> {
    if let Ok(ip) = host.parse() {
        return vec![ip];
    }
    hosts::resolve(machine, host, Duration::from_secs(10)).addresses
}

/// Whether a port could be reached.
#[derive(Serialize)]
pub struct Reachability {
    result: bool,
    comment: String,
}

/// Whether a port of a host can be reached from the target.
///
/// ```text
/// rocksalt '*' network.connect example.com 443
/// rocksalt '*' network.connect 192.0.2.53 port=53 proto=udp timeout=3
/// ```
#[function("network.connect", reads)]
pub struct Connect {
    /// The name or address.
    host: String,
    /// The port.
    port: Option<u32>,
    /// `proto` (tcp or udp), `timeout` in seconds (5), `family` (ipv4 or ipv6).
    kwargs: Map,
}

impl Function for Connect {
    type Output = Reachability;

    fn call(self, machine: &dyn System) -> Result<Reachability> {
        let failed = |comment: String| Ok(Reachability { result: false, comment });
        let option = |name: &str| self.kwargs.get(name).map(ToString::to_string);
        let known = ["proto", "timeout", "family"];
        if let Some((unknown, _)) = self.kwargs.iter().find(|(name, _)| !known.contains(&name.to_string().as_str())) {
            return Err(Error::arguments(format!("network.connect has no argument '{unknown}'")));
        }
        let Some(port) = self.port else { return failed("Required argument, port, is missing.".into()) };
        let Ok(port) = u16::try_from(port) else { return failed(format!("{port} is no port")) };
        let host = sound_host(&self.host)?;
        let protocol = option("proto").unwrap_or_else(|| "tcp".into());
        let seconds = option("timeout").map_or(Some(5.0), |text| text.parse().ok());
        let timeout = seconds.and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok());
        let Some(timeout) = timeout.filter(|timeout| !timeout.is_zero()) else {
            return Err(Error::arguments("the timeout must be a number of seconds above zero"));
        };
        let family = option("family");
        let fits = |ip: &IpAddr| match family.as_deref() {
            Some("ipv4") => ip.is_ipv4(),
            Some("ipv6") => ip.is_ipv6(),
            _ => true,
        };
        let Some(ip) = addresses(machine, host).into_iter().find(fits) else {
            return failed(format!("Unable to connect to {host} (unknown) on {protocol} port {port}"));
        };
        let reached = match protocol.as_str() {
            "tcp" => TcpStream::connect_timeout(&SocketAddr::new(ip, port), timeout).map(drop),
            "udp" => datagram(ip, port, timeout),
            other => return Err(Error::arguments(format!("'{other}' is neither tcp nor udp"))),
        };
        let result = reached.is_ok();
        let how = if result { "Successfully connected" } else { "Unable to connect" };
        Ok(Reachability { result, comment: format!("{how} to {host} ({ip}) on {protocol} port {port}") })
    }
}

/// Tests a UDP port. Only a refusal means that it is closed: a service may be silent.
fn datagram(ip: IpAddr, port: u16, timeout: Duration) -> std::io::Result<()> {
    let any: IpAddr = if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((ip, port))?;
    socket.set_read_timeout(Some(timeout))?;
    socket.send(b"rocksalt")?;
    match socket.recv(&mut [0; 64]) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
        other => other.map(drop),
    }
}

/// Wakes a machine by its hardware address; the target sends the packet.
///
/// ```text
/// rocksalt 'gateway' network.wol 08:00:27:13:69:77
/// ```
#[function("network.wol", changes)]
pub struct Wol {
    /// The sleeping machine's hardware address.
    mac: String,
    /// Where to send the packet.
    #[default("255.255.255.255")]
    bcast: String,
    /// To which port.
    #[default(9)]
    destport: u32,
}

impl Function for Wol {
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        let packet = magic_packet(&self.mac)?;
        let fault =
            |error: std::io::Error| Error::failed(format!("could not send the packet to {}: {error}", self.bcast));
        let target: Ipv4Addr =
            self.bcast.parse().map_err(|_| Error::arguments(format!("'{}' is no IPv4 address", self.bcast)))?;
        let port =
            u16::try_from(self.destport).map_err(|_| Error::arguments(format!("{} is no port", self.destport)))?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(fault)?;
        socket.set_broadcast(true).map_err(fault)?;
        socket.send_to(&packet, (target, port)).map_err(fault)?;
        Ok(true)
    }
}

/// The magic packet: six times 255, then the address sixteen times.
fn magic_packet(mac: &str) -> Result<Vec<u8>> {
    let digits: String = mac.chars().filter(|c| !":-.".contains(*c)).collect();
    let fault = || Error::arguments(format!("Invalid MAC address '{mac}'"));
    if digits.len() != 12 || !digits.is_ascii() {
        return Err(fault());
    }
    let address: Vec<u8> = (0..12)
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16))
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| fault())?;
    Ok([vec![255; 6], address.repeat(16)].concat())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rocksalt_core::Call;

    use super::*;
    use crate::catalog;
    use crate::machine::Fake;

    #[test]
    fn a_port_is_open_or_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let call = || Call::new("network.connect").arg("127.0.0.1").arg(i64::from(port));
        let answer = catalog::call(call(), &Fake::new()).value.to_string();
        let expected = format!("Successfully connected to 127.0.0.1 (127.0.0.1) on tcp port {port}");
        assert_eq!(answer, format!("{{'result': True, 'comment': '{expected}'}}"));
        drop(listener);
        let answer = catalog::call(call(), &Fake::new()).value.to_string();
        assert!(answer.contains("Unable to connect to 127.0.0.1 (127.0.0.1)"), "{answer}");
        let missing = catalog::call(Call::new("network.connect").arg("127.0.0.1"), &Fake::new()).value.to_string();
        assert_eq!(missing, "{'result': False, 'comment': 'Required argument, port, is missing.'}");
    }

    #[test]
    fn hosts_are_not_options_and_missing_tools_are_named() {
        let answer = catalog::call(Call::new("network.ping").arg("-f"), &Fake::new());
        assert!(answer.value.to_string().contains("neither a host name"), "{}", answer.value);
        let answer = catalog::call(Call::new("network.ping").arg("localhost"), &Fake::new());
        assert!(answer.value.to_string().contains("'ping' is not on the target"), "{}", answer.value);
    }

    #[test]
    fn a_magic_packet_has_102_bytes() {
        let packet = magic_packet("08:00:27:13:69:77").expect("an address");
        assert_eq!((packet.len(), packet[5], packet[6], packet[101]), (102, 255, 8, 0x77));
        assert!(magic_packet("nope").is_err() && magic_packet("08:00:27:13:69:7é").is_err());
    }
}
