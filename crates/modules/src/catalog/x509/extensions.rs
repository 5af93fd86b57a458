//! Extensions of certificates, as openssl's configuration.

use rocksalt_core::{Map, Value};

use super::parsed::{Extension, ParsedCertificate};
use crate::{Error, Result};

/// Names in Salt's order, and their object identifiers.
pub const KNOWN: [(&str, &str); 16] = [
    ("basicConstraints", "2.5.29.19"),
    ("keyUsage", "2.5.29.15"),
    ("extendedKeyUsage", "2.5.29.37"),
    ("subjectKeyIdentifier", "2.5.29.14"),
    ("authorityKeyIdentifier", "2.5.29.35"),
    ("issuerAltName", "2.5.29.18"),
    ("authorityInfoAccess", "1.3.6.1.5.5.7.1.1"),
    ("subjectAltName", "2.5.29.17"),
    ("crlDistributionPoints", "2.5.29.31"),
    ("certificatePolicies", "2.5.29.32"),
    ("policyConstraints", "2.5.29.36"),
    ("inhibitAnyPolicy", "2.5.29.54"),
    ("nameConstraints", "2.5.29.30"),
    ("noCheck", "1.3.6.1.5.5.7.48.1.5"),
    ("tlsfeature", "1.3.6.1.5.5.7.1.24"),
    ("nsComment", "2.16.840.1.113730.1.13"),
];

/// The section `ext` of openssl's configuration. Other extensions of a signing request are copied unchanged.
pub fn section(requests: &Map, request: Option<&ParsedCertificate>) -> Result<String> {
    let mut lines = vec!["[ext]".to_owned()];
    for (name, _) in KNOWN {
        if let Some(value) = requests.get(name).filter(|value| !value.is_null()) {
            lines.push(format!("{name} = {}", line(name, value)?));
        }
    }
    for extension in request.map(|request| request.extensions.as_slice()).unwrap_or_default() {
        let known = KNOWN.iter().find(|(_, oid)| *oid == extension.oid);
        // Only the signer may define who is a CA, and the key identifiers.
        let forbidden = ["2.5.29.19", "2.5.29.14", "2.5.29.35", "2.5.29.30", "2.5.29.36", "2.5.29.54"];
        let Some((name, oid)) = known.filter(|(_, oid)| !forbidden.contains(oid)) else { continue };
        if requests.get(name).is_none_or(Value::is_null) {
            let digits: String = extension.value.iter().map(|byte| format!("{byte:02X}")).collect();
            let critical = if extension.critical { "critical," } else { "" };
            lines.push(format!("{oid} = {critical}DER:{digits}"));
        }
    }
    Ok(lines.join("\n") + "\n")
}

fn line(name: &str, value: &Value) -> Result<String> {
    let mut words: Vec<String> = match value {
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        Value::Map(map) => {
            let mut words: Vec<String> = Vec::new();
            for (key, value) in map.iter() {
                match (key.to_string().as_str(), value) {
                    ("critical", value) if value.truth() => words.insert(0, "critical".into()),
                    ("critical", _) => {}
                    ("ca" | "CA" | "cA", value) => {
                        words.push(format!("CA:{}", if value.truth() { "TRUE" } else { "FALSE" }))
                    }
                    ("value", value) => words.push(value.to_string()),
                    (key, value) => words.push(format!("{key}:{value}")),
                }
            }
            words
        }
        text => {
            let text = text.to_string();
            let text = match text.strip_prefix("critical ") {
                Some(rest) => format!("critical, {rest}"),
                None => text,
            };
            text.split(',').map(|word| word.trim().to_owned()).collect()
        }
    };
    for word in &mut words {
        for (wrong, right) in [
            ("dns:", "DNS:"),
            ("ip:", "IP:"),
            ("mail:", "email:"),
            ("uri:", "URI:"),
            ("rid:", "RID:"),
            ("cA:", "CA:"),
            ("ca:", "CA:"),
        ] {
            if let Some(rest) = word.strip_prefix(wrong) {
                *word = format!("{right}{rest}");
            }
        }
        if word.contains(char::is_control) {
            return Err(Error::arguments(format!("{name}: '{}' can't be a value", word.escape_debug())));
        }
        // Characters with a meaning in openssl's configuration.
        *word = word.replace('\\', "\\\\").replace('$', "\\$").replace('#', "\\#").replace('"', "\\\"");
    }
    Ok(words.join(", "))
}

/// The differences by name: `{added: […], changed: […], removed: […]}`; `None` if there are none.
pub fn differences(old: &[Extension], new: &[Extension]) -> Option<Map> {
    let name = |oid: &str| {
        KNOWN.iter().find(|(_, known)| *known == oid).map_or(oid.to_owned(), |(name, _)| (*name).to_owned())
    };
    let find = |list: &[Extension], oid: &str| list.iter().find(|extension| extension.oid == oid).cloned();
    let order = |oid: &str| KNOWN.iter().position(|(_, known)| *known == oid).unwrap_or(KNOWN.len());
    let (mut added, mut changed, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    let mut sorted: Vec<&Extension> = new.iter().collect();
    sorted.sort_by_key(|extension| order(&extension.oid));
    for extension in sorted {
        match find(old, &extension.oid) {
            None => added.push(Value::from(name(&extension.oid))),
            Some(known) if known != *extension => changed.push(Value::from(name(&extension.oid))),
            Some(_) => {}
        }
    }
    removed
        .extend(old.iter().filter(|known| find(new, &known.oid).is_none()).map(|known| Value::from(name(&known.oid))));
    let any = !added.is_empty() || !changed.is_empty() || !removed.is_empty();
    any.then(|| {
        Map::from_iter([
            ("added".into(), added.into()),
            ("changed".into(), changed.into()),
            ("removed".into(), removed.into()),
        ])
    })
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    #[test]
    fn values_become_settings() {
        let requests = yaml::parse(
            "{basicConstraints: 'critical, CA:true, pathlen:0', keyUsage: 'critical cRLSign, keyCertSign', \
             subjectAltName: ['dns:a.example', 'ip:10.0.0.1'], subjectKeyIdentifier: hash, \
             extendedKeyUsage: {critical: true, value: serverAuth}, nsComment: 'costs $5 #1'}",
        )
        .expect("YAML");
        assert_eq!(
            section(requests.as_map().expect("a map"), None).expect("settings"),
            "[ext]\nbasicConstraints = critical, CA:true, pathlen:0\nkeyUsage = critical, cRLSign, keyCertSign\n\
             extendedKeyUsage = critical, serverAuth\nsubjectKeyIdentifier = hash\n\
             subjectAltName = DNS:a.example, IP:10.0.0.1\nnsComment = costs \\$5 \\#1\n"
        );
        assert!(line("nsComment", &"a\nb".into()).is_err());
    }
}
