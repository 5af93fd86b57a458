//! What case files can't express: modes, time limits, hostile names, kinds by content.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rocksalt_backends::roster::{Error, Settings, open, open_path, parse_host};

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).expect("it can be written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it can be changed");
}

#[tokio::test]
async fn a_passwords_file_must_be_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("roster");
    write(&path, "web: {host: web.example, passwd_file: secret}\n", 0o644);
    let load = || async { open("flat", &Settings::at(&path)).expect("flat").load().await };
    assert!(load().await.expect_err("it isn't there").to_string().contains("secret"));
    write(&folder.path().join("secret"), "hunter2\n", 0o640);
    let message = load().await.expect_err("others can read it").to_string();
    assert!(message.contains("roster:1: passwd_file:") && message.contains("mode 0640"), "{message}");
    write(&folder.path().join("secret"), "hunter2\n", 0o600);
    let roster = load().await.expect("it is private");
    assert_eq!(roster.entries[0].password.as_ref().map(|secret| secret.reveal().as_str()), Some("hunter2"));
    assert!(!format!("{roster:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_script_that_fails_or_hangs_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("script");
    let load = |timeout| {
        let settings = Settings { script_timeout: timeout, ..Settings::at(&path) };
        async move { open("script", &settings).expect("script").load().await }
    };
    write(&path, "#!/bin/sh\necho 'no database' >&2\nexit 3\n", 0o755);
    let message = load(Duration::from_secs(10)).await.expect_err("it fails").to_string();
    assert!(message.contains("exit status: 3") && message.contains("no database"), "{message}");

    write(&path, "#!/bin/sh\necho waiting >&2\nsleep 600 & sleep 600\n", 0o755);
    let start = Instant::now();
    let error = load(Duration::from_millis(500)).await.expect_err("it hangs");
    assert!(matches!(&error, Error::TimedOut { stderr, .. } if stderr == "waiting"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60));

    write(&path, "#!/bin/sh\nhead -c 20000000 /dev/zero | tr '\\0' ' '\n", 0o755);
    assert!(matches!(load(Duration::from_secs(20)).await, Err(Error::TooLong { .. })));

    write(&path, "web: web.example\n", 0o644);
    assert!(matches!(load(Duration::from_secs(10)).await, Err(Error::Run { .. })), "it can't be run");

    write(&path, "#!/bin/sh\necho 'web: {hst: x}'\n", 0o755);
    let message = load(Duration::from_secs(10)).await.expect_err("a key is wrong").to_string();
    assert!(message.contains("script:1: 'hst' is not a key of a roster entry; did you mean 'host'?"), "{message}");
}

#[tokio::test]
async fn a_kind_is_known_by_its_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        ("roster", "a: 192.0.2.1\n", 0o644, "a"),
        ("executable-roster", "a: 192.0.2.1\n", 0o755, "a"),
        ("script", "#!/bin/sh\necho 'b: 192.0.2.1'\n", 0o755, "b"),
        ("hosts.ini", "c ansible_host=192.0.2.1\n", 0o644, "c"),
        ("hosts", "# text\n[web]\nd ansible_host=192.0.2.1\n", 0o644, "d"),
        ("inventory.yml", "all:\n  hosts:\n    e: {ansible_host: 192.0.2.1}\n", 0o644, "e"),
        ("groups", "web:\n  hosts:\n    f: {ansible_host: 192.0.2.1}\n", 0o644, "f"),
        ("config", "Host g\n  HostName 192.0.2.1\n", 0o644, "g"),
        ("json", "{\"h\": {\"host\": \"192.0.2.1\"}}\n", 0o644, "h"),
    ];
    for (name, text, mode, id) in cases {
        let path = folder.path().join(name);
        write(&path, text, mode);
        let roster = open_path(&path, &Settings::default())
            .expect(name)
            .load()
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let found: Vec<_> = roster.entries.iter().map(|entry| (entry.id.as_str(), entry.host.as_str())).collect();
        assert_eq!(found, [(id, "192.0.2.1")], "{name}");
    }
    std::fs::remove_file(folder.path().join("executable-roster")).expect("it is there");
    let all = open_path(folder.path(), &Settings::default()).expect("a folder").load().await.expect("all of them");
    assert_eq!(all.entries.len(), 8);
    let missing = open_path(&folder.path().join("none"), &Settings::default()).err().expect("it isn't there");
    assert!(missing.to_string().contains("none"), "{missing}");
}

#[test]
fn hosts_are_read_from_the_command_line() {
    let cases = [
        ("web", Ok(("web", None, None))),
        ("root@web", Ok(("web", Some("root"), None))),
        ("web:2222", Ok(("web", None, Some(2222)))),
        ("root@192.0.2.1:22", Ok(("192.0.2.1", Some("root"), Some(22)))),
        ("[2001:db8::1]:22", Ok(("2001:db8::1", None, Some(22)))),
        ("root@[::1]", Ok(("::1", Some("root"), None))),
        ("2001:db8::1", Ok(("2001:db8::1", None, None))),
        ("ssh://me@web:22/", Ok(("web", Some("me"), Some(22)))),
        ("me@corp.example@web", Ok(("web", Some("me@corp.example"), None))),
        ("", Err("empty")),
        ("web:0", Err("port")),
        ("web:99999", Err("port")),
        ("web:", Err("port")),
        ("-oProxyCommand=x", Err("'-'")),
        ("root@-web", Err("'-'")),
        ("-x@web", Err("'-'")),
        ("a b", Err("contain")),
        ("a/b", Err("contain")),
        ("..", Err("id")),
        ("[::1", Err("']'")),
        ("[web]:22", Err("IPv6")),
        ("me:secret@web", Err("password")),
        ("http://web", Err("ssh://")),
        ("a\u{202e}b", Err("contain")),
    ];
    for (text, expected) in cases {
        match (parse_host(text), expected) {
            (Ok(entry), Ok((host, user, port))) => {
                assert_eq!((entry.host.as_str(), entry.user.as_deref(), entry.port), (host, user, port), "{text}");
                assert_eq!(entry.id, host);
                assert!(!entry.origin.is_empty());
            }
            (Err(error), Err(reason)) => assert!(error.to_string().contains(reason), "{text}: {error}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_scan_refuses_too_much() {
    let mut settings = Settings::default();
    for (network, reason) in
        [("10.0.0.0/8", "16777214"), ("::/0", "the limit is"), ("10.0.0.1/8", "10.0.0.0/8"), ("x", "not an address")]
    {
        settings.scan.networks = vec![network.into()];
        let message = open("scan", &settings).err().expect("it is refused").to_string();
        assert!(message.contains(reason), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a roster contains, no entry has a name that could be an option or leave a directory.
    #[test]
    fn no_text_gives_a_dangerous_entry(text in prop_oneof![
        r"(\[[a-z:]{0,8}\]\n|[-a-z./:= \[\]'{}#@]{0,12}\n|Host [-*a-z!]{1,5}\n|HostName [-a-z]{1,5}\n|all:\n  hosts:\n    -?[a-z]{1,3}:\n){0,6}",
        "\\PC{0,80}",
    ]) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("roster");
        write(&path, &text, 0o644);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        for kind in ["flat", "ansible", "sshconfig"] {
            let loaded = runtime.block_on(async { open(kind, &Settings::at(&path)).expect(kind).load().await });
            for entry in loaded.map(|roster| roster.entries).unwrap_or_default() {
                for name in [&entry.id, &entry.host] {
                    prop_assert!(!name.is_empty() && !name.starts_with('-') && !name.contains('/'), "{}: {:?}", kind, name);
                    prop_assert!(!name.chars().any(|c| c.is_control() || c.is_whitespace()), "{}: {:?}", kind, name);
                }
                prop_assert!(entry.id != "." && entry.id != "..");
            }
        }
    }
}
