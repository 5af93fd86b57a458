//! The conformance suite of rosters.

use std::collections::HashSet;
use std::error::Error as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rocksalt_backends::roster::{Error, SOURCES, ScanSettings, Settings, open};
use rocksalt_core::target::{DELIMITER, Nodegroups, TargetExpression, TargetKind};

/// Writes the same two targets in the format of each kind.
fn write_good(kind: &str, folder: &Path) -> Settings {
    let path = folder.join("good");
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("it can be written");
    match kind {
        "ansible" => write(&path, "[all:vars]\nansible_user=root\n[g]\n127.0.0.1\n127.0.0.2\n"),
        "directory" => {
            std::fs::create_dir(&path).expect("it can be made");
            write(&path.join("a"), "127.0.0.1: {host: 127.0.0.1, user: root}\n");
            write(&path.join("127.0.0.2"), "host: 127.0.0.2\nuser: root\n");
        }
        "flat" => write(&path, "127.0.0.1: {host: 127.0.0.1, user: root}\n127.0.0.2: {host: 127.0.0.2, user: root}\n"),
        "script" => {
            write(
                &path,
                "#!/bin/sh\necho '{\"127.0.0.1\": {\"host\": \"127.0.0.1\", \"user\": \"root\"},'\necho ' \"127.0.0.2\": {\"host\": \"127.0.0.2\", \"user\": \"root\"}}'\n",
            );
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be changed");
        }
        "sshconfig" => write(&path, "Host 127.0.0.1 127.0.0.2\nHost *\n  User root\n"),
        "scan" => {}
        other => panic!("'{other}' has no part in the conformance test; give it one"),
    }
    Settings::at(path)
}

#[tokio::test]
async fn every_kind_loads() {
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.expect("loopback is there");
    let port = listener.local_addr().expect("it is bound").port();
    for (kind, _) in SOURCES {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = write_good(kind, folder.path());
        settings.scan = ScanSettings {
            networks: vec!["127.0.0.1".into(), "127.0.0.2/32".into()],
            ports: vec![port],
            timeout: Duration::from_secs(5),
            limit: 2,
        };
        settings.defaults.insert("timeout", 7i64);
        if *kind == "scan" {
            settings.defaults.insert("user", "root");
        }
        let roster = open(kind, &settings).expect(kind).load().await.unwrap_or_else(|error| panic!("{kind}: {error}"));
        let ids: HashSet<&str> = roster.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, HashSet::from(["127.0.0.1", "127.0.0.2"]), "{kind}");
        assert_eq!(ids.len(), roster.entries.len(), "{kind}: ids differ");
        for entry in &roster.entries {
            assert_eq!(entry.host, entry.id, "{kind}");
            assert_eq!(entry.user.as_deref(), Some("root"), "{kind}");
            assert_eq!(entry.timeout, Some(7), "{kind}: defaults hold");
            assert!(!entry.origin.is_empty(), "{kind}: the origin is known");
        }
        let nodegroups: Nodegroups = roster.nodegroups.iter().collect();
        for name in nodegroups.names() {
            let group = TargetExpression::parse(TargetKind::Nodegroup, name, DELIMITER, &nodegroups)
                .expect("a group is a target");
            assert!(roster.entries.iter().any(|entry| group.matches(entry)), "{kind}: {name} has targets");
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, _) in SOURCES.iter().filter(|(kind, _)| *kind != "scan") {
        let path = folder.path().join("nowhere");
        let error = open(kind, &Settings::at(&path)).expect(kind).load().await.expect_err(kind);
        assert!(error.to_string().contains("nowhere"), "{kind}: {error}");
        assert!(error.source().is_some(), "{kind}: the cause is kept");
        assert!(matches!(open(kind, &Settings::default()), Err(Error::NoPath(name)) if name == *kind), "{kind}");
    }
    assert!(matches!(open("scan", &Settings::default()), Err(Error::NoNetwork)));
}

#[test]
fn kinds_are_listed_in_order_and_near_names_are_found() {
    assert!(SOURCES.is_sorted_by_key(|(name, _)| *name));
    let error = open("flta", &Settings::default()).err().expect("there is no such kind").to_string();
    assert!(open("dir", &Settings::at("x")).is_ok(), "Salt's name of a directory");
    assert_eq!(error, "unknown kind of roster 'flta'; did you mean 'flat'?");
}
