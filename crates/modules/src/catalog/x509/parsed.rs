//! [`ParsedCertificate`]: the contents of a certificate or a signing request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::asn1::{Asn1Value, SEQUENCE};

/// A certificate or a signing request; the latter has no issuer, serial number and times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedCertificate {
    pub der: Vec<u8>,
    /// In hexadecimal digits separated by colons.
    pub serial: String,
    pub issuer: Vec<(String, String)>,
    pub subject: Vec<(String, String)>,
    pub not_before: i64,
    pub not_after: i64,
    /// The encoded algorithm and key.
    pub public_key: Vec<u8>,
    /// The signature algorithm: an object identifier.
    pub signature: String,
    pub extensions: Vec<Extension>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    pub oid: String,
    pub critical: bool,
    pub value: Vec<u8>,
}

const EXTENSION_REQUEST: &str = "1.2.840.113549.1.9.14";

impl ParsedCertificate {
    pub fn certificate(bytes: &[u8]) -> Option<ParsedCertificate> {
        let der = der(bytes, &["CERTIFICATE", "TRUSTED CERTIFICATE"])?;
        let (outer, _) = Asn1Value::read(&der)?;
        let parts = outer.items()?;
        let mut fields = parts.first()?.items()?.into_iter().peekable();
        if fields.peek()?.tag == 0xa0 {
            fields.next();
        }
        let serial = hex(fields.next()?.content);
        fields.next()?;
        let issuer = name(&fields.next()?)?;
        let times = fields.next()?.items()?;
        let subject = name(&fields.next()?)?;
        let public_key = fields.next()?.whole.to_vec();
        let extensions = match fields.find(|field| field.tag == 0xa3) {
            Some(field) => extensions(field.items()?.first()?)?,
            None => Vec::new(),
        };
        Some(ParsedCertificate {
            serial,
            issuer,
            subject,
            not_before: times.first()?.time()?,
            not_after: times.get(1)?.time()?,
            public_key,
            signature: parts.get(1)?.items()?.first()?.oid()?,
            extensions,
            der,
        })
    }

    pub fn request(bytes: &[u8]) -> Option<ParsedCertificate> {
        let der = der(bytes, &["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"])?;
        let (outer, _) = Asn1Value::read(&der)?;
        let parts = outer.items()?;
        let fields = parts.first()?.items()?;
        let mut found = Vec::new();
        for attribute in fields.iter().filter(|field| field.tag == 0xa0).filter_map(Asn1Value::items).flatten() {
            let pair = attribute.items()?;
            if pair.first()?.oid()? == EXTENSION_REQUEST {
                found = extensions(pair.get(1)?.items()?.first()?)?;
            }
        }
        Some(ParsedCertificate {
            subject: name(fields.get(1)?)?,
            public_key: fields.get(2)?.whole.to_vec(),
            signature: parts.get(1)?.items()?.first()?.oid()?,
            extensions: found,
            der,
            ..ParsedCertificate::default()
        })
    }
}

/// The first block with one of these names in a text, or the bytes themselves if they are DER.
pub fn der(bytes: &[u8], kinds: &[&str]) -> Option<Vec<u8>> {
    if bytes.first() == Some(&SEQUENCE) {
        let (item, _) = Asn1Value::read(bytes)?;
        return Some(item.whole.to_vec());
    }
    let text = std::str::from_utf8(bytes).ok()?;
    blocks(text)
        .into_iter()
        .find(|(kind, _)| kinds.contains(&kind.as_str()))
        .and_then(|(_, body)| STANDARD.decode(body).ok())
}

/// All blocks of a text: their names, and their base64 without white space.
pub fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((kind, after)) = after.split_once("-----") else { break };
        let Some((body, after)) = after.split_once(&format!("-----END {kind}-----")) else { break };
        let body = body
            .lines()
            .filter(|line| !line.contains(':'))
            .flat_map(str::chars)
            .filter(|letter| !letter.is_whitespace());
        found.push((kind.to_owned(), body.collect()));
        rest = after;
    }
    found
}

/// A block in its written form: lines of 64 characters.
pub fn pem(kind: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let lines: Vec<&str> = body.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}

fn name(item: &Asn1Value<'_>) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    for set in item.items()? {
        for pair in set.items()? {
            let pair = pair.items()?;
            found.push((pair.first()?.oid()?, pair.get(1)?.text()));
        }
    }
    Some(found)
}

fn extensions(list: &Asn1Value<'_>) -> Option<Vec<Extension>> {
    let one = |item: Asn1Value<'_>| {
        let parts = item.items()?;
        let critical = parts.iter().any(|part| part.tag == 1 && part.content != [0]);
        Some(Extension { oid: parts.first()?.oid()?, critical, value: parts.last()?.content.to_vec() })
    };
    list.items()?.into_iter().map(one).collect()
}

/// `0A:1B:…`
pub fn hex(bytes: &[u8]) -> String {
    let bytes = if bytes.len() > 1 && bytes[0] == 0 { &bytes[1..] } else { bytes };
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}
