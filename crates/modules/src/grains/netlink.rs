//! The kernel's list of addresses, requested over netlink: no file contains it, and busybox may lack `ip`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

/// An address of the interface with index `index`.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    pub index: u32,
    pub ip: IpAddr,
    pub prefix: u8,
    pub broadcast: Option<Ipv4Addr>,
    pub label: Option<String>,
    pub secondary: bool,
    /// 0 is global, 200 site, 253 link, 254 host.
    pub scope: u8,
}

const GET_ADDRESS: u16 = 22;
const NEW_ADDRESS: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const HEADER: usize = 16;

/// All addresses of the machine, in the kernel's order.
pub fn addresses() -> io::Result<Vec<Address>> {
    let link = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    set_socket_timeout(&link, Timeout::Recv, Some(Duration::from_secs(2)))?;
    sendto(&link, &request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut found = Vec::new();
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        let (_, length) = recv(&link, &mut buffer[..], RecvFlags::empty())?;
        if length == 0 || !parse(&buffer[..length.min(buffer.len())], &mut found)? {
            return Ok(found);
        }
    }
}

/// The request to dump all addresses of all families.
fn request() -> [u8; 24] {
    const REQUEST_DUMP: u16 = 0x301;
    let mut request = [0; 24];
    request[0..4].copy_from_slice(&24u32.to_ne_bytes());
    request[4..6].copy_from_slice(&GET_ADDRESS.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
    request[8..12].copy_from_slice(&1u32.to_ne_bytes());
    request
}

/// Adds a packet's addresses; false if it was the last one.
fn parse(mut packet: &[u8], found: &mut Vec<Address>) -> io::Result<bool> {
    while packet.len() >= HEADER {
        let length = number(packet, 0) as usize;
        let kind = u16::from_ne_bytes([packet[4], packet[5]]);
        if length < HEADER || length > packet.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match kind {
            DONE => return Ok(false),
            ERROR => return Err(io::Error::other("the kernel refused to list addresses")),
            NEW_ADDRESS => found.extend(address(&packet[HEADER..length])),
            _ => {}
        }
        packet = &packet[length.next_multiple_of(4).min(packet.len())..];
    }
    Ok(true)
}

fn address(message: &[u8]) -> Option<Address> {
    const ADDRESS: u16 = 1;
    const LOCAL: u16 = 2;
    const LABEL: u16 = 3;
    const BROADCAST: u16 = 4;
    const SECONDARY: u8 = 1;
    const IPV4: u8 = 2;
    let [family, prefix, flags, scope, ..] = *message else { return None };
    let index = if message.len() >= 8 { number(message, 4) } else { return None };
    let (mut ip, mut local, mut broadcast, mut label) = (None, None, None, None);
    let mut rest = &message[8..];
    while rest.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([rest[0], rest[1]]));
        let kind = u16::from_ne_bytes([rest[2], rest[3]]);
        let Some(content) = rest.get(4..length) else { break };
        match kind {
            ADDRESS => ip = ip_of(content),
            // On a point-to-point link, ADDRESS is the peer's.
            LOCAL => local = ip_of(content),
            LABEL => label = Some(String::from_utf8_lossy(content).trim_end_matches('\0').to_owned()),
            BROADCAST => broadcast = <[u8; 4]>::try_from(content).ok().map(Ipv4Addr::from),
            _ => {}
        }
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    let secondary = family == IPV4 && flags & SECONDARY != 0;
    Some(Address { index, ip: local.or(ip)?, prefix, broadcast, label, secondary, scope })
}

fn ip_of(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).ok().map(|bytes| IpAddr::V4(Ipv4Addr::from(bytes)));
    four.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(|bytes| IpAddr::V6(Ipv6Addr::from(bytes))))
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = ((content.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_dump_is_read_to_its_end() {
        let mut body = vec![2, 24, 1, 0];
        body.extend(7u32.to_ne_bytes());
        body.extend(attribute(1, &[192, 0, 2, 1]));
        body.extend(attribute(2, &[192, 0, 2, 2]));
        body.extend(attribute(4, &[192, 0, 2, 255]));
        body.extend(attribute(3, b"eth0:1\0"));
        let mut packet = message(NEW_ADDRESS, &body);
        packet.extend(message(DONE, &[0; 4]));
        let mut found = Vec::new();
        assert!(!parse(&packet, &mut found).expect("the packet is sound"));
        let expected = Address {
            index: 7,
            ip: IpAddr::from([192, 0, 2, 2]),
            prefix: 24,
            broadcast: Some(Ipv4Addr::new(192, 0, 2, 255)),
            label: Some("eth0:1".into()),
            secondary: true,
            scope: 0,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_broken_packet_is_an_error() {
        for length in [0u32, 15, 400] {
            let mut packet = message(NEW_ADDRESS, &[0; 8]);
            packet[..4].copy_from_slice(&length.to_ne_bytes());
            assert!(parse(&packet, &mut Vec::new()).is_err(), "{length}");
        }
        assert_eq!(address(&[2, 24]), None);
        assert_eq!(address(&[2, 24, 0, 0, 1, 0, 0, 0, 200, 0, 1, 0, 1]), None);
    }

    #[test]
    fn this_machine_has_addresses() {
        addresses().expect("the kernel lists its addresses");
    }
}
