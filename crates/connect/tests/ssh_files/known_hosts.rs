//! known_hosts against ssh-keygen: we find what it hashes, and it finds what we add.

use std::fs;
use std::path::Path;
use std::process::Command;

use rocksalt_connect::known_hosts::{HostKeyVerdict, KnownHosts, add, check};
use russh::keys::{PublicKey, PublicKeyOrCertificate};

fn keygen(words: &[&str], path: &Path) -> (bool, String) {
    let output = Command::new("ssh-keygen").args(words).arg("-f").arg(path).output().expect("ssh-keygen runs");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn key(folder: &Path, name: &str, kind: &str) -> PublicKey {
    let path = folder.join(name);
    assert!(keygen(&["-q", "-t", kind, "-N", ""], &path).0);
    PublicKey::read_openssh_file(path.with_extension("pub")).expect("a key")
}

#[test]
fn hashing_by_ssh_keygen_changes_no_verdict() {
    if !super::is_there("ssh-keygen") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("known_hosts");
    let hosts = [("web.example.org", 22), ("web.example.org", 2222), ("10.0.0.1", 22), ("::1", 2222), ("fe80::1", 22)];
    let keys: Vec<PublicKey> =
        (0..hosts.len()).map(|n| key(folder.path(), &format!("k{n}"), ["ed25519", "ecdsa", "rsa"][n % 3])).collect();
    for ((host, port), key) in hosts.iter().zip(&keys) {
        add(&path, host, *port, key, false).expect("added");
    }
    let verdicts = || {
        let known = KnownHosts::read([path.as_path()]);
        assert_eq!(known.problems, Vec::<String>::new());
        assert_eq!(known.entries.len(), hosts.len());
        let mut verdicts = Vec::new();
        for (host, port) in hosts {
            for key in &keys {
                let shown = PublicKeyOrCertificate::from(key.clone());
                verdicts.push(check(&known.entries, host, port, &shown, 0) == HostKeyVerdict::Known);
            }
        }
        verdicts
    };
    let before = verdicts();
    assert!(keygen(&["-H"], &path).0);
    let text = fs::read_to_string(&path).expect("the file");
    assert!(text.lines().all(|line| line.starts_with("|1|")), "{text}");
    assert_eq!(verdicts(), before);
}

#[test]
fn ssh_keygen_finds_what_was_added() {
    if !super::is_there("ssh-keygen") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let key = key(folder.path(), "k", "ed25519");
    for hash in [false, true] {
        let path = folder.path().join(format!("known_hosts_{hash}"));
        for (host, port, name) in [("Web", 22, "web"), ("web", 2222, "[web]:2222"), ("::1", 2222, "[::1]:2222")] {
            assert!(!keygen(&["-F", name], &path).0, "not there yet");
            add(&path, host, port, &key, hash).expect("added");
            let (found, text) = keygen(&["-F", name], &path);
            assert!(found && text.contains("ssh-ed25519"), "{name}: {text}");
        }
    }
}
