//! [`DistinguishedName`]: the name that a certificate is for.

use rocksalt_core::{Map, Value};

use crate::{Error, Result};

/// Salt's names of the parts, in the order in which they are combined, and their object identifiers.
pub const PARTS: [(&str, &str, &str); 12] = [
    ("C", "C", "2.5.4.6"),
    ("ST", "ST", "2.5.4.8"),
    ("L", "L", "2.5.4.7"),
    ("STREET", "street", "2.5.4.9"),
    ("O", "O", "2.5.4.10"),
    ("OU", "OU", "2.5.4.11"),
    ("CN", "CN", "2.5.4.3"),
    ("MAIL", "emailAddress", "1.2.840.113549.1.9.1"),
    ("SN", "SN", "2.5.4.4"),
    ("GN", "GN", "2.5.4.42"),
    ("UID", "UID", "0.9.2342.19200300.100.1.1"),
    ("SERIALNUMBER", "serialNumber", "2.5.4.5"),
];

/// Parts in order: object identifier and value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistinguishedName(pub Vec<(String, String)>);

impl DistinguishedName {
    /// From `subject` (a text as in RFC 4514, a map or a list), otherwise from the single parts.
    pub fn new(subject: &Value, parts: &Map) -> Result<DistinguishedName> {
        match subject {
            Value::Null => Ok(DistinguishedName::of(parts)),
            Value::Map(map) => Ok(DistinguishedName::of(map)),
            Value::List(list) => {
                list.iter().map(|part| part_of(&part.to_string())).collect::<Result<_>>().map(DistinguishedName)
            }
            text => {
                // RFC 4514 reverses the order.
                let parts: Result<Vec<_>> = split(&text.to_string()).iter().rev().map(|part| part_of(part)).collect();
                parts.map(DistinguishedName)
            }
        }
    }

    fn of(map: &Map) -> DistinguishedName {
        let value = |name: &str| map.get(name).filter(|value| !value.is_null()).map(ToString::to_string);
        let old = |name: &str| if name == "MAIL" { value("emailAddress").or_else(|| value("Email")) } else { None };
        let part = |(name, _, oid): &(&str, &str, &str)| Some(((*oid).to_owned(), value(name).or_else(|| old(name))?));
        DistinguishedName(PARTS.iter().filter_map(part).collect())
    }

    /// The name in openssl's form: `/O=Example/CN=host`.
    pub fn slashed(&self) -> Result<String> {
        if self.0.is_empty() {
            return Ok("/".into());
        }
        let mut text = String::new();
        for (oid, value) in &self.0 {
            if value.contains(char::is_control) || value.is_empty() {
                return Err(Error::arguments(format!("'{}' can't be part of a subject", value.escape_debug())));
            }
            let name = PARTS.iter().find(|(_, _, known)| known == oid).map_or(oid.as_str(), |(_, name, _)| name);
            text += &format!("/{name}=");
            for letter in value.chars() {
                if matches!(letter, '/' | '\\' | '+') {
                    text.push('\\');
                }
                text.push(letter);
            }
        }
        Ok(text)
    }
}

/// The name in the form of RFC 4514: `CN=host,O=Example`.
pub fn shown(parts: &[(String, String)]) -> String {
    let part = |(oid, value): &(String, String)| {
        // Email addresses have no short name there.
        let known = PARTS.iter().find(|(name, _, known)| known == oid && *name != "MAIL");
        let name = known.map_or(oid.as_str(), |(name, ..)| name);
        let escaped: String = value
            .chars()
            .flat_map(|letter| if ",+\"\\<>;".contains(letter) { vec!['\\', letter] } else { vec![letter] })
            .collect();
        format!("{name}={escaped}")
    };
    parts.iter().rev().map(part).collect::<Vec<_>>().join(",")
}

fn part_of(text: &str) -> Result<(String, String)> {
    let (name, value) =
        text.trim().split_once('=').ok_or_else(|| Error::arguments(format!("subject: '{text}' is not NAME=value")))?;
    let name = name.trim();
    let known =
        PARTS.iter().find(|(salt, openssl, _)| salt.eq_ignore_ascii_case(name) || openssl.eq_ignore_ascii_case(name));
    let oid = match known {
        Some((_, _, oid)) => (*oid).to_owned(),
        None if name.starts_with(|letter: char| letter.is_ascii_digit()) => name.to_owned(),
        None => return Err(Error::arguments(format!("subject: there is no part '{name}'"))),
    };
    Ok((oid, value.replace("\\,", ",").replace("\\\\", "\\").trim().to_owned()))
}

/// Splits at unescaped commas.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        if letter == ',' && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = letter == '\\' && !escaped;
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    #[test]
    fn names_are_put_together_as_in_salt() {
        let parts = yaml::parse("{CN: a/b, O: 'X, Inc', C: DE}").expect("YAML");
        let subject = DistinguishedName::new(&Value::Null, parts.as_map().expect("a map")).expect("a subject");
        assert_eq!(subject.slashed().expect("a text"), "/C=DE/O=X, Inc/CN=a\\/b");
        assert_eq!(shown(&subject.0), "CN=a/b,O=X\\, Inc,C=DE");
        let same = DistinguishedName::new(&shown(&subject.0).into(), &Map::new()).expect("a subject");
        assert_eq!(same, subject);
        assert!(DistinguishedName::new(&"nonsense".into(), &Map::new()).is_err());
    }
}
