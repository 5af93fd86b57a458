//! Queries of `firewall-cmd`, and the parsing of its output.

use rocksalt_core::{Map, Value};

use super::super::tool;
use crate::machine::Probe;
use crate::{Error, Result};

pub fn program(machine: &dyn Probe) -> Result<String> {
    tool::find(machine, "firewall-cmd")
}

/// Runs it with these options. Returns the output without the final newline.
pub fn ask(machine: &dyn Probe, options: &[&str]) -> Result<String> {
    let program = program(machine)?;
    let argv: Vec<&str> = std::iter::once(program.as_str()).chain(options.iter().copied()).collect();
    let command = tool::command(&argv);
    let output = machine.query(&command)?;
    match output.success() {
        true => Ok(output.text().trim_end().to_owned()),
        false => Err(Error::failed(format!("firewall-cmd failed: {}", tool::fault(&command.argv, &output)))),
    }
}

pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

pub fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Checks a name: zones and services are single words.
pub fn plain(name: &str) -> Result<()> {
    match name.is_empty() || name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c == '\0') {
        true => Err(Error::arguments(format!("'{name}' is no name of a zone or service"))),
        false => Ok(()),
    }
}

/// A port that is forwarded.
#[derive(Clone, Debug, PartialEq)]
pub struct PortForward {
    pub source: String,
    pub destination: String,
    pub protocol: String,
    pub address: String,
}

impl PortForward {
    /// Parses `80:8080:tcp` or `80:8080:tcp:192.0.2.1`, as users write it.
    pub fn parse(text: &str) -> Result<PortForward> {
        let parts: Vec<&str> = text.splitn(4, ':').collect();
        let [source, destination, protocol, rest @ ..] = parts.as_slice() else {
            return Err(Error::arguments(format!("'{text}' is no forwarding"))
                .hint("it is source:destination:protocol, and perhaps :address"));
        };
        let address = rest.first().copied().unwrap_or_default();
        let [source, destination, protocol, address] = [*source, *destination, *protocol, address].map(str::to_owned);
        Ok(PortForward { source, destination, protocol, address })
    }

    /// Parses `port=80:proto=tcp:toport=8080:toaddr=`, as the program prints it.
    pub fn read(line: &str) -> Option<PortForward> {
        let part = |key: &str| {
            let rest = line.split_once(&format!("{key}=")).map(|(_, rest)| rest)?;
            // Only an address may contain colons, and it is the last field.
            Some(if key == "toaddr" { rest } else { rest.split(':').next().unwrap_or_default() }.to_owned())
        };
        Some(PortForward {
            source: line.strip_prefix("port=")?.split(':').next()?.to_owned(),
            protocol: part("proto")?,
            destination: part("toport").unwrap_or_default(),
            address: part("toaddr").unwrap_or_default(),
        })
    }

    pub fn option(&self) -> String {
        let PortForward { source, destination, protocol, address } = self;
        format!("port={source}:proto={protocol}:toport={destination}:toaddr={address}")
    }

    pub fn data(&self) -> Value {
        [
            ("Source port", &self.source),
            ("Destination port", &self.destination),
            ("Protocol", &self.protocol),
            ("Destination address", &self.address),
        ]
        .into_iter()
        .map(|(key, value)| (key.into(), value.as_str().into()))
        .collect::<Map>()
        .into()
    }
}

/// A rule in the program's form: every value in double quotes.
pub fn rich(rule: &str) -> String {
    let quoted = |word: &str| match word.split_once('=') {
        Some((key, value)) if !value.starts_with('"') && !value.ends_with('"') => {
            let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
            format!("{key}=\"{value}\"")
        }
        _ => word.to_owned(),
    };
    rule.split(' ').map(quoted).collect::<Vec<_>>().join(" ")
}

/// Parses the zones of `--list-all`, each with its lines and their indented lines.
pub fn zones(text: &str) -> Map {
    let mut all = Map::new();
    let (mut zone, mut key) = (String::new(), String::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            zone = line.trim_end().to_owned();
            all.insert(zone.as_str(), Map::new());
            continue;
        }
        let Some(Value::Map(known)) = all.get_mut(&zone) else { continue };
        if line.starts_with('\t') {
            if let Some(Value::List(values)) = known.get_mut(&key) {
                values.push(line.trim().into());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            name.trim().clone_into(&mut key);
            known.insert(key.as_str(), Value::List(vec![value.trim().into()]));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        assert_eq!(
            rich("rule family=ipv4 source address='192.0.2.0/24' accept"),
            "rule family=\"ipv4\" source address=\"192.0.2.0/24\" accept"
        );
        let forward = PortForward::parse("80:8080:tcp:2001:db8::1").expect("it is one");
        assert_eq!(PortForward::read(&forward.option()), Some(forward));
        assert!(PortForward::parse("80:8080").is_err());
        let all = zones("public\n  target: default\n  rich rules: \n\trule a\n\trule b\n");
        assert_eq!(
            Value::from(all).to_string(),
            "{'public': {'target': ['default'], 'rich rules': ['', 'rule a', 'rule b']}}"
        );
    }
}
