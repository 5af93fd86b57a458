//! Filters on IP addresses and networks.

use super::address::IpAddress;
use super::text::string;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Dict, Generator, Value};

/// Parses a value as an address of that version which has all the options.
fn address(value: &Value, version: Option<u8>, options: Option<&str>) -> Option<IpAddress> {
    let address = IpAddress::parse(value.as_str()?)?;
    if version.is_some_and(|version| version != address.version()) {
        return None;
    }
    let fits = options.unwrap_or_default().split(',').all(|option| address.is(option.trim()).unwrap_or(true));
    fits.then_some(address)
}

fn options(arguments: &mut FunctionArguments) -> Result<Option<String>> {
    match arguments.optional("options")? {
        Some(options) if !options.is_none() => options.to_text().map(Some),
        _ => Ok(None),
    }
}

fn is_address(value: &Value, mut arguments: FunctionArguments, version: Option<u8>) -> Result<Value> {
    let options = options(&mut arguments)?;
    arguments.finish()?;
    Ok(address(value, version, options.as_deref()).is_some().into())
}

pub(super) fn is_ip(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    is_address(&value, arguments, None)
}

pub(super) fn is_ipv4(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    is_address(&value, arguments, Some(4))
}

pub(super) fn is_ipv6(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    is_address(&value, arguments, Some(6))
}

/// The matching addresses of a value: of a single address or of a list.
enum NetworkMatch {
    Nothing,
    One(IpAddress),
    Many(Vec<IpAddress>),
}

fn is_several(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Tuple(_)) || value.downcast::<Generator>().is_some()
}

fn find(value: &Value, version: Option<u8>, options: Option<&str>) -> Result<NetworkMatch> {
    if !is_several(value) {
        return Ok(address(value, version, options).map_or(NetworkMatch::Nothing, NetworkMatch::One));
    }
    let items = value.to_vec()?;
    let versions: &[u8] = match version {
        Some(4) => &[4],
        Some(_) => &[6],
        None => &[4, 6],
    };
    let of = |version: &u8| items.iter().filter_map(|item| address(item, Some(*version), options)).collect::<Vec<_>>();
    Ok(NetworkMatch::Many(versions.iter().flat_map(of).collect()))
}

fn addresses(value: &Value, mut arguments: FunctionArguments, version: Option<u8>) -> Result<Value> {
    let options = options(&mut arguments)?;
    arguments.finish()?;
    Ok(match find(value, version, options.as_deref())? {
        NetworkMatch::Nothing => Value::None,
        NetworkMatch::One(address) => address.text().into(),
        NetworkMatch::Many(found) => Value::list(found.iter().map(|address| address.text().into()).collect()),
    })
}

pub(super) fn ipaddr(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    addresses(&value, arguments, None)
}

pub(super) fn ipv4(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    addresses(&value, arguments, Some(4))
}

pub(super) fn ipv6(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    addresses(&value, arguments, Some(6))
}

/// Calls `tell` on each matching address.
fn each(value: &Value, mut arguments: FunctionArguments, tell: impl Fn(&IpAddress) -> Result<Value>) -> Result<Value> {
    let options = options(&mut arguments)?;
    let version = match arguments.optional("version")? {
        Some(version) if version.truth()? => version.as_i64().and_then(|version| u8::try_from(version).ok()),
        _ => None,
    };
    arguments.finish()?;
    match find(value, version, options.as_deref())? {
        NetworkMatch::Nothing => Ok(Value::None),
        NetworkMatch::One(address) => tell(&address),
        NetworkMatch::Many(found) if found.is_empty() => Ok(Value::None),
        NetworkMatch::Many(found) => Ok(Value::list(found.iter().map(tell).collect::<Result<_>>()?)),
    }
}

pub(super) fn ip_host(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    each(&value, arguments, |address| Ok(address.interface_text().into()))
}

pub(super) fn network_hosts(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    each(&value, arguments, |address| {
        let (first, last) = address.host_bounds();
        let count = usize::try_from(last - first).unwrap_or(usize::MAX);
        // Each address costs a step and some bytes: `::/0` has more addresses than fit into memory.
        scope.charge(count.saturating_add(1))?;
        scope.check_size(count.saturating_mul(32))?;
        Ok(Value::list((first..=last).map(|number| address.address_of(number).into()).collect()))
    })
}

pub(super) fn network_size(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    each(&value, arguments, |address| {
        let (first, last) = address.bounds();
        Ok(Value::integer(num_bigint::BigInt::from(last - first) + 1))
    })
}

pub(super) fn filter_by_networks(_: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let given = arguments.take("networks")?;
    arguments.finish()?;
    if given.is_none() {
        return Ok(value);
    }
    let networks = given.to_vec()?.iter().map(network).collect::<Result<Vec<_>>>()?;
    let inside = |items: &Value| -> Result<Value> {
        let mut kept = Vec::new();
        for item in items.to_vec()? {
            let text = item.to_text()?;
            for network in &networks {
                let address = IpAddress::parse(&text).filter(|address| address.prefix.is_none());
                let address = address.ok_or_else(|| {
                    let shown = item.repr().unwrap_or_default();
                    Error::value_error(format!("{shown} does not appear to be an IPv4 or IPv6 address"))
                })?;
                if network.contains(&address) {
                    kept.push(item.clone());
                }
            }
        }
        Ok(Value::list(kept))
    };
    match &value {
        Value::Dict(dict) => {
            let mut out = Dict::new();
            for (name, items) in dict.borrow().iter() {
                out.insert(name.clone(), inside(items)?)?;
            }
            Ok(Value::dict(out))
        }
        Value::List(_) | Value::Tuple(_) => inside(&value),
        other => Err(Error::value_error(format!("Do not know how to filter a <class '{}'>", other.type_name()))),
    }
}

fn network(value: &Value) -> Result<IpAddress> {
    let text = string(value)?;
    let Some(network) = IpAddress::parse(text) else {
        let shown = value.repr()?;
        return Err(Error::value_error(format!("{shown} does not appear to be an IPv4 or IPv6 network")));
    };
    if network.address_of(network.bounds().0) != (IpAddress { prefix: None, zone: None, ..network.clone() }).text() {
        return Err(Error::value_error(format!("{text} has host bits set")));
    }
    Ok(network)
}

pub(super) fn ipwrap(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let wrap = |value: &Value| match address(value, Some(6), None) {
        Some(address) if address.prefix.is_none() => format!("[{}]", address.text()).into(),
        _ => value.clone(),
    };
    Ok(match &value {
        Value::List(items) | Value::Tuple(items) => Value::list(items.borrow().iter().map(wrap).collect()),
        other => wrap(other),
    })
}

pub(super) fn mac_str_to_bytes(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let text = string(&value)?;
    let digits = match text.chars().count() {
        12 => text.to_owned(),
        17 => {
            let separator = text.chars().nth(2).unwrap_or(':');
            text.replace(separator, "")
        }
        _ => return Err(Error::value_error("Invalid MAC address")),
    };
    let letters: Vec<char> = digits.chars().collect();
    let mut bytes = Vec::new();
    for pair in letters.chunks(2).take(6) {
        let pair: String = pair.iter().collect();
        let byte = u8::from_str_radix(&pair, 16).map_err(|_| {
            Error::value_error(format!("invalid literal for int() with base 16: {}", crate::value::quoted(&pair)))
        })?;
        bytes.push(byte);
    }
    Ok(Value::Bytes(bytes.into()))
}
