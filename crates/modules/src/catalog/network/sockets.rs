//! Open sockets, and the processes that own them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::function;

use crate::Result;
use crate::catalog::Function;
use crate::grains::look;
use crate::machine::{Probe, System};

const STATES: [&str; 12] = [
    "",
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECV",
    "FIN_WAIT1",
    "FIN_WAIT2",
    "TIME_WAIT",
    "CLOSE",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
];
const ESTABLISHED: usize = 1;

#[derive(Debug, PartialEq)]
struct Socket {
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
    state: usize,
    send: u32,
    receive: u32,
    user: String,
    inode: String,
}

fn sockets(machine: &dyn Probe, protocol: &str) -> Vec<Socket> {
    let text = look::text(machine, &format!("/proc/net/{protocol}")).unwrap_or_default();
    text.lines().skip(1).filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (send, receive) = fields.get(4)?.split_once(':')?;
    let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(Socket {
        local: end(fields.get(1)?)?,
        remote: end(fields.get(2)?)?,
        state: hexadecimal(fields.get(3)?)? as usize,
        send: hexadecimal(send)?,
        receive: hexadecimal(receive)?,
        user: (*fields.get(7)?).to_owned(),
        inode: (*fields.get(9)?).to_owned(),
    })
}

/// Parses `0100007F:1F90`: words of 32 bits in host byte order.
fn end(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let mut bytes = Vec::new();
    for at in (0..address.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

/// The program of each socket, as `12/sshd`. Other users' programs are only visible to root.
fn programs(machine: &dyn Probe) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for pid in look::names(machine, "/proc").iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())) {
        let mut name = None;
        for descriptor in look::names(machine, &format!("/proc/{pid}/fd")) {
            let Ok(target) = machine.read_link(Path::new(&format!("/proc/{pid}/fd/{descriptor}"))) else { continue };
            let target = target.to_string_lossy();
            let Some(inode) = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) else { continue };
            let name =
                name.get_or_insert_with(|| look::line(machine, &format!("/proc/{pid}/comm")).unwrap_or_default());
            found.insert(inode.to_owned(), format!("{pid}/{name}"));
        }
    }
    found
}

/// All TCP and UDP sockets with their state and program.
///
/// ```text
/// rocksalt '*' network.netstat
/// ```
#[function("network.netstat", reads)]
pub struct Netstat {}

impl Function for Netstat {
    type Output = Vec<Map>;

    fn call(self, machine: &dyn System) -> Result<Vec<Map>> {
        let programs = programs(machine);
        let mut result = Vec::new();
        for protocol in ["tcp", "tcp6", "udp", "udp6"] {
            for socket in sockets(machine, protocol) {
                let mut shown = Map::new();
                shown.insert("proto", protocol);
                shown.insert("recv-q", socket.receive.to_string());
                shown.insert("send-q", socket.send.to_string());
                shown.insert("local-address", text(socket.local));
                shown.insert("remote-address", text(socket.remote));
                if protocol.starts_with("tcp") {
                    shown.insert("state", STATES.get(socket.state).copied().unwrap_or_default());
                }
                shown.insert("user", socket.user);
                let program = programs.get(&socket.inode).map_or("-", String::as_str);
                shown.insert("inode", socket.inode);
                shown.insert("program", program);
                result.push(shown);
            }
        }
        Ok(result)
    }
}

fn text((ip, port): (IpAddr, u16)) -> String {
    if port == 0 { format!("{ip}:*") } else { format!("{ip}:{port}") }
}

/// The established TCP connections.
///
/// ```text
/// rocksalt '*' network.active_tcp
/// ```
#[function("network.active_tcp", reads)]
pub struct ActiveTcp {}

impl Function for ActiveTcp {
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let all = [sockets(machine, "tcp"), sockets(machine, "tcp6")].into_iter().flatten();
        let mut result = Map::new();
        for (number, socket) in all.filter(|socket| socket.state == ESTABLISHED).enumerate() {
            let pairs = [
                ("local_addr", Value::from(socket.local.0.to_string())),
                ("local_port", Value::Int(socket.local.1.into())),
                ("remote_addr", socket.remote.0.to_string().into()),
                ("remote_port", Value::Int(socket.remote.1.into())),
            ];
            let shown: Map = pairs.into_iter().map(|(name, value)| (name.into(), value)).collect();
            result.insert(number, shown);
        }
        Ok(result)
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn sockets_are_listed_with_their_programs() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 637 1\n   \
                     1: 020200C0:0016 010200C0:D431 01 00000010:00000002 00:00000000 00000000  1000        0 700 1\n";
        let machine = Fake::new().file("/proc/net/tcp", table).file("/proc/12/comm", "sshd\n").directory("/proc/12/fd");
        machine.symlink(Path::new("socket:[700]"), Path::new("/proc/12/fd/3")).expect("a link");
        let shown = Netstat {}.call(&machine).expect("a list");
        let expected = "{'proto': 'tcp', 'recv-q': '0', 'send-q': '0', 'local-address': '0.0.0.0:2024', \
                        'remote-address': '0.0.0.0:*', 'state': 'LISTEN', 'user': '0', 'inode': '637', 'program': '-'}";
        assert_eq!(Value::Map(shown[0].clone()).to_string(), expected);
        assert_eq!(shown[1].get("program").and_then(Value::as_str), Some("12/sshd"));
        assert_eq!(shown[1].get("recv-q").and_then(Value::as_str), Some("2"));
        let active = ActiveTcp {}.call(&machine).expect("a list");
        let expected = "{0: {'local_addr': '192.0.2.2', 'local_port': 22, 'remote_addr': '192.0.2.1', \
                        'remote_port': 54321}}";
        assert_eq!(Value::Map(active).to_string(), expected);
    }

    #[test]
    fn both_kinds_of_addresses_are_read() {
        let one = end("00000000000000000000000001000000:0016").expect("an address");
        assert_eq!(text(one), "::1:22");
        assert_eq!(end("0100007F"), None);
        assert_eq!(end("zz00007F:0016"), None);
    }
}
