//! Verdicts by example. The keys were made by ssh-keygen; `tests/main.rs` compares the results with a running
//! ssh-keygen.

use std::os::unix::fs::PermissionsExt;

use russh::keys::{Certificate, PublicKey, PublicKeyOrCertificate};

use super::*;

const A: &str = include_str!("testdata/a.pub");
const B: &str = include_str!("testdata/b.pub");
/// A key of another type than the others.
const E: &str = include_str!("testdata/e.pub");
const CA: &str = include_str!("testdata/ca.pub");
const RSA_CA: &str = include_str!("testdata/rca.pub");
/// A certificate of key A, for web and web.example.org, from 2020 to 2030.
const GOOD: &str = include_str!("testdata/good.cert");
/// A certificate of key B, for any host, without an end.
const ANY: &str = include_str!("testdata/any.cert");
const USER: &str = include_str!("testdata/user.cert");
const SHA1: &str = include_str!("testdata/sha1.cert");
const RSA512: &str = include_str!("testdata/rsa512.cert");

const IN_2025: u64 = 1_735_689_600;

fn key(text: &str) -> PublicKeyOrCertificate {
    PublicKey::from_openssh(text).expect("a key").into()
}

fn certificate(text: &str) -> PublicKeyOrCertificate {
    Certificate::from_openssh(text).expect("a certificate").into()
}

fn known(lines: &[(&str, &str)]) -> KnownHosts {
    let mut known = KnownHosts::default();
    let text: Vec<String> = lines.iter().map(|(hosts, key)| format!("{hosts} {} a comment\n", key.trim())).collect();
    known.parse(&text.concat(), "known_hosts");
    assert_eq!(known.problems, Vec::<String>::new());
    known
}

/// A word for the verdict, with the location or the reason if there is one.
fn word(verdict: HostKeyVerdict) -> String {
    match verdict {
        HostKeyVerdict::Known => "known".into(),
        HostKeyVerdict::Unknown { .. } => "unknown".into(),
        HostKeyVerdict::Changed { origin, same_type, .. } => format!("changed {origin} {same_type}"),
        HostKeyVerdict::Revoked { origin } => format!("revoked {origin}"),
        HostKeyVerdict::BadCertificate { why } => format!("bad: {why}"),
    }
}

#[test]
fn plain_keys() {
    let hashed = known_host::hashed("web", b"01234567890123456789");
    let hashed_port = known_host::hashed("[web]:2222", b"x");
    for (lines, host, port, shown, expected) in [
        (vec![], "web", 22, A, "unknown"),
        (vec![("web", A)], "web", 22, A, "known"),
        (vec![("WEB", A)], "Web", 22, A, "known"),
        (vec![("web,10.0.0.1", A)], "10.0.0.1", 22, A, "known"),
        (vec![("*.example.org,!bad.example.org", A)], "web.example.org", 22, A, "known"),
        (vec![("*.example.org,!bad.example.org", A)], "bad.example.org", 22, A, "unknown"),
        (vec![("[web]:2222", A)], "web", 2222, A, "known"),
        (vec![("[web]:2222", A)], "web", 22, A, "unknown"),
        (vec![("web", A)], "web", 2222, A, "known"),
        (vec![("web", B)], "web", 2222, A, "unknown"),
        (vec![("[web]:2222", B), ("web", A)], "web", 2222, A, "changed known_hosts:1 true"),
        (vec![("[::1]:2222", A)], "::1", 2222, A, "known"),
        (vec![(&hashed, A)], "web", 22, A, "known"),
        (vec![(&hashed, A)], "wep", 22, A, "unknown"),
        (vec![(&hashed_port, A)], "web", 2222, A, "known"),
        (vec![("web", B)], "web", 22, A, "changed known_hosts:1 true"),
        (vec![("web", E)], "web", 22, A, "changed known_hosts:1 false"),
        (vec![("web", E), ("web", B)], "web", 22, A, "changed known_hosts:2 true"),
        (vec![("web", B), ("web", A)], "web", 22, A, "known"),
        (vec![("@revoked *", A), ("web", A)], "web", 22, A, "revoked known_hosts:1"),
        (vec![("web", A), ("@revoked web", A)], "web", 2222, A, "revoked known_hosts:2"),
        (vec![("@revoked db", A), ("web", A)], "web", 22, A, "known"),
        (vec![("@cert-authority web", A)], "web", 22, A, "unknown"),
    ] {
        let verdict = check(&known(&lines).entries, host, port, &key(shown), IN_2025);
        assert_eq!(word(verdict), expected, "{lines:?} {host}:{port}");
    }
}

#[test]
fn certificates() {
    let ca = ("@cert-authority *", CA);
    for (lines, host, port, shown, now, expected) in [
        (vec![ca], "web", 22, GOOD, IN_2025, "known"),
        (vec![ca], "WEB.example.org", 22, GOOD, IN_2025, "known"),
        (vec![("@cert-authority web", CA)], "web", 2222, GOOD, IN_2025, "known"),
        (vec![ca], "db", 22, GOOD, IN_2025, "bad: the host certificate 'good' is for web.example.org, web, not for db"),
        (vec![ca], "db", 22, ANY, IN_2025, "known"),
        (vec![ca], "web", 22, GOOD, 1_577_836_799, "not valid yet"),
        (vec![ca], "web", 22, GOOD, 1_577_836_800, "known"),
        (vec![ca], "web", 22, GOOD, 1_893_455_999, "known"),
        (vec![ca], "web", 22, GOOD, 1_893_456_000, "expired"),
        (vec![ca, ("web", A)], "web", 22, GOOD, 1_893_456_000, "known"),
        (vec![ca, ("web", B)], "web", 22, GOOD, 1_893_456_000, "changed known_hosts:2 true"),
        (vec![ca], "web", 22, USER, IN_2025, "is for users"),
        (vec![("@cert-authority db", CA)], "web", 22, GOOD, IN_2025, "unknown"),
        (vec![("@cert-authority *", RSA_CA)], "web", 22, GOOD, IN_2025, "unknown"),
        (vec![("@cert-authority *", RSA_CA)], "web", 22, RSA512, IN_2025, "known"),
        (vec![("@cert-authority *", RSA_CA)], "web", 22, SHA1, IN_2025, "no longer safe"),
        (vec![("web", A)], "web", 22, GOOD, IN_2025, "known"),
        (vec![("web", CA)], "web", 22, GOOD, IN_2025, "changed known_hosts:1 true"),
        (vec![ca, ("@revoked *", CA)], "web", 22, GOOD, IN_2025, "revoked known_hosts:2"),
        (vec![ca, ("@revoked web", A)], "web", 22, GOOD, IN_2025, "revoked known_hosts:2"),
    ] {
        let found = word(check(&known(&lines).entries, host, port, &certificate(shown), now));
        assert!(found.contains(expected) && (found != "unknown" || expected == "unknown"), "{lines:?} {host}: {found}");
    }
}

#[test]
fn a_certificate_that_was_altered_is_not_taken() {
    let certificate = Certificate::from_openssh(GOOD).expect("a certificate");
    let mut bytes = certificate.to_bytes().expect("bytes");
    let place = bytes.windows(7).position(|part| part == b"\0\0\0\x03web").expect("the name");
    bytes[place + 4..place + 7].copy_from_slice(b"bad");
    let altered = Certificate::from_bytes(&bytes).expect("still a certificate");
    let verdict = check(&known(&[("@cert-authority *", CA)]).entries, "bad", 22, &altered.into(), IN_2025);
    assert_eq!(word(verdict), "bad: the signature of the host certificate 'good' is wrong");
}

#[test]
fn the_size_of_rsa_keys() {
    let bits = |text: &str| rsa_bits(&PublicKey::from_openssh(text).expect("a key"));
    assert_eq!((bits(RSA_CA), bits(A)), (Some(2048), None));
}

#[test]
fn bad_lines_are_skipped_and_reported() {
    let mut known = KnownHosts::default();
    let good = format!("web {A}");
    known.parse(&format!("# a comment\n\nweb\n@moon web {A}web ssh-ed25519 AAAA\n|1|x {}|2|a|b {A}\r\n{good}", A), "f");
    assert_eq!(known.entries.len(), 1);
    let places: Vec<&str> = known.problems.iter().map(|text| text.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(places, ["f:3", "f:4", "f:5", "f:6", "f:7"], "{:?}", known.problems);
}

#[test]
fn the_recorded_types_come_first() {
    let known =
        known(&[("web", E), ("web", A), ("web", B), ("@revoked web", CA), ("*.org", CA), ("@cert-authority db", CA)]);
    let types = key_types(&known.entries, "web", 22);
    assert_eq!(types.algorithms.iter().map(|a| a.as_str()).collect::<Vec<_>>(), ["ecdsa-sha2-nistp256", "ssh-ed25519"]);
    assert!(!types.certificates);
    assert_eq!(key_types(&known.entries, "web", 2222), types);
    assert!(key_types(&known.entries, "db", 22).certificates);
    assert_eq!(key_types(&known.entries, "none", 22), KeyTypes::default());
}

#[test]
fn what_is_added_is_known_and_nothing_else_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(".ssh").join("known_hosts");
    let key_of = |text: &str| PublicKey::from_openssh(text).expect("a key");
    add(&path, "Web", 22, &key_of(A), false).expect("added");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
    let text = fs::read_to_string(&path).expect("the file");
    assert_eq!(text, format!("web {A}"));

    fs::write(&path, text.trim_end()).expect("the file without its last newline");
    add(&path, "db", 2222, &key_of(B), true).expect("added");
    add(&path, "::1", 2222, &key_of(E), false).expect("added");
    let known = KnownHosts::read([path.as_path(), Path::new("/nonexistent/known_hosts")]);
    assert_eq!((known.entries.len(), known.problems.len()), (3, 0));
    for (host, port, shown) in [("web", 22, A), ("db", 2222, B), ("::1", 2222, E)] {
        assert_eq!(check(&known.entries, host, port, &key(shown), IN_2025), HostKeyVerdict::Known, "{host}");
    }
    assert!(!fs::read_to_string(&path).expect("the file").contains("db"));
    for host in ["", "a b", "a\nb", "*", "!a", "a,b", "|1|x", "@revoked", "#a"] {
        assert!(add(&path, host, 22, &key_of(A), false).is_err(), "{host:?}");
    }
}
