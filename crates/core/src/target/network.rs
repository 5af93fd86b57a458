//! [`IpNetwork`]: an address, or all addresses with a common prefix.

use std::fmt;
use std::net::IpAddr;

use super::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    prefix: u8,
}

impl IpNetwork {
    /// Parses `192.0.2.1`, `192.0.2.0/24`, `192.0.2.0/255.255.255.0` or `2001:db8::/32`.
    pub fn parse(text: &str) -> Result<IpNetwork, Error> {
        let bad = |reason: String| Error::BadNetwork { text: text.to_owned(), reason };
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr =
            address.parse().map_err(|_| bad(format!("'{address}' is not an IPv4 or IPv6 address")))?;
        let width = width(address);
        let Some(prefix) = prefix else { return Ok(IpNetwork { address, prefix: width }) };
        let length = prefix_length(prefix, address)
            .ok_or_else(|| bad(format!("'/{prefix}' is not a prefix length from 0 to {width}, nor a netmask")))?;
        let network = IpNetwork { address: truncate(address, length), prefix: length };
        if network.address != address {
            return Err(bad(format!("it has bits set behind its prefix; the network is {network}")));
        }
        Ok(network)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && truncate(address, self.prefix) == self.address
    }

    /// The number of addresses in [`IpNetwork::hosts`].
    pub fn size(&self) -> u128 {
        let (first, last) = self.bounds();
        (last - first).saturating_add(1)
    }

    /// The addresses of hosts, without a network and broadcast address where there is one.
    pub fn hosts(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let (first, last) = self.bounds();
        let like = self.address;
        (first..=last).map(move |number| from_number(number, like))
    }

    fn bounds(&self) -> (u128, u128) {
        let first = to_number(self.address);
        let free = u32::from(width(self.address) - self.prefix);
        let last = first | 1u128.checked_shl(free).map_or(u128::MAX, |end| end - 1);
        if self.address.is_ipv4() && free >= 2 { (first + 1, last - 1) } else { (first, last) }
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.prefix == width(self.address) {
            self.address.fmt(f)
        } else {
            write!(f, "{}/{}", self.address, self.prefix)
        }
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn prefix_length(text: &str, address: IpAddr) -> Option<u8> {
    if let (Ok(mask), true) = (text.parse::<std::net::Ipv4Addr>(), address.is_ipv4()) {
        let bits = u32::from(mask);
        return (bits.leading_ones() == bits.count_ones()).then_some(bits.leading_ones() as u8);
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|length| digits && *length <= width(address))
}

fn truncate(address: IpAddr, prefix: u8) -> IpAddr {
    let free = u32::from(width(address).saturating_sub(prefix));
    let kept = to_number(address).checked_shr(free).and_then(|bits| bits.checked_shl(free)).unwrap_or(0);
    from_number(kept, address)
}

fn to_number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

fn from_number(number: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::from((number as u32).to_be_bytes()),
        IpAddr::V6(_) => IpAddr::from(number.to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<String> {
        IpNetwork::parse(text).expect("it is a network").hosts().take(4).map(|address| address.to_string()).collect()
    }

    #[test]
    fn hosts_leave_out_network_and_broadcast() {
        assert_eq!(hosts("192.0.2.0/30"), ["192.0.2.1", "192.0.2.2"]);
        assert_eq!(hosts("192.0.2.0/31"), ["192.0.2.0", "192.0.2.1"]);
        assert_eq!(hosts("192.0.2.7"), ["192.0.2.7"]);
        assert_eq!(hosts("2001:db8::/127"), ["2001:db8::", "2001:db8::1"]);
        assert_eq!(IpNetwork::parse("::/0").expect("it is a network").size(), u128::MAX);
    }

    #[test]
    fn faults_are_named() {
        let message = |text| IpNetwork::parse(text).expect_err("it is not a network").to_string();
        assert!(message("192.0.2.5/24").contains("the network is 192.0.2.0/24"), "{}", message("192.0.2.5/24"));
        assert!(message("192.0.2.0/33").contains("0 to 32"));
        assert!(message("192.0.2.0/+8").contains("0 to 32"));
        assert!(message("192.0.2").contains("not an IPv4"));
    }

    #[test]
    fn a_netmask_is_a_prefix() {
        assert_eq!(IpNetwork::parse("10.0.0.0/255.0.0.0"), IpNetwork::parse("10.0.0.0/8"));
        assert!(IpNetwork::parse("0.0.0.0/0").expect("it is a network").contains(IpAddr::from([1, 2, 3, 4])));
    }
}
