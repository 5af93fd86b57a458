//! `cert`: the common name of a verified client certificate is the user.

use x509_parser::prelude::{FromDer, X509Certificate};

/// The common name of a verified certificate (DER); `None` if it has none, or several.
pub fn name(der: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let mut names = certificate.subject().iter_common_name();
    let (first, second) = (names.next()?, names.next());
    let name = first.as_str().ok()?.to_owned();
    let sound = !name.is_empty() && name.len() <= 128 && !name.contains(|c: char| c.is_control());
    (second.is_none() && sound).then_some(name)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    fn certificate(names: &[&str]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for name in names {
            params.distinguished_name.push(DnType::CommonName, *name);
        }
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    #[test]
    fn a_certificate_has_one_name() {
        assert_eq!(name(&certificate(&["alice"])).as_deref(), Some("alice"));
        assert_eq!(name(&certificate(&[])), None);
        assert_eq!(name(&certificate(&["a\nb"])), None);
        assert_eq!(name(b"no certificate"), None);
    }
}
