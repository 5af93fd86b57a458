//! Examples of configurations and their meaning; `tests/main.rs` compares with the real ssh.

use std::path::PathBuf;

use super::*;

fn local() -> LocalUser {
    LocalUser {
        name: "me".into(),
        home: "/home/me".into(),
        hostname: "desk.example.org".into(),
        uid: 7,
        ..LocalUser::default()
    }
}

fn resolve(text: &str, host: &str) -> HostSettings {
    let config = SshConfig::parse(text, "config").expect("a good configuration");
    config.resolve(&Query::new(host), &local()).expect("settings")
}

#[test]
fn the_first_value_wins_and_key_files_add_up() {
    let found = resolve(
        "Host web*\n User www\n Port 2222\n IdentityFile ~/.ssh/web_%h\nHost *\n User other\n IdentityFile ~/.ssh/all\n",
        "web1",
    );
    assert_eq!((found.user.as_str(), found.port), ("www", 2222));
    assert_eq!(found.identity_files, [PathBuf::from("/home/me/.ssh/web_web1"), "/home/me/.ssh/all".into()]);
    assert!(!found.identity_files_are_default);
}

#[test]
fn what_the_roster_says_goes_first() {
    let config = SshConfig::parse("Host a\nUser u\nPort 1\nProxyCommand nc\nMatch user r\nConnectTimeout 3\n", "c")
        .expect("good");
    let query = Query { host: "a", user: Some("r"), port: Some(9), proxy_jump: Some("gate") };
    let found = config.resolve(&query, &local()).expect("settings");
    assert_eq!((found.user.as_str(), found.port, found.connect_timeout), ("r", 9, Some(3)));
    assert_eq!(found.proxy_jump[0].host, "gate");
    assert_eq!(found.unsupported, []);
}

#[test]
fn every_wrong_line_is_reported_with_its_place() {
    let text = "Port x\nHost\nUser a b\nMatch exec\nMatch all host a\nMatch moon full\nHostName \"a\nConnectTimeout 5y\n\
                UserKnownHostsFile a none\nProxyJump a@\nIdentitiesOnly maybe\nPort 22\n";
    let bad = SshConfig::parse(text, "~/.ssh/config").expect_err("a bad configuration");
    let lines: Vec<usize> = bad.problems.iter().map(|problem| problem.origin.line).collect();
    assert_eq!(lines, (1..=11).collect::<Vec<_>>(), "{bad}");
    assert!(bad.to_string().starts_with("~/.ssh/config:1: Port: 'x' is no port\n"), "{bad}");
}

#[test]
fn what_cannot_be_honoured_is_said() {
    for (text, expected, effect) in [
        ("ProxyCommand nc %h %p\n", "ProxyCommand", Effect::Refuse),
        ("Match host a exec \"touch /tmp/x\"\n Port 3\n", "Match exec", Effect::Refuse),
        ("Match localnetwork 10.0.0.0/8\n", "Match localnetwork", Effect::Refuse),
        ("CanonicalizeHostname yes\n", "CanonicalizeHostname yes", Effect::Refuse),
        ("RevokedHostKeys /etc/revoked\n", "RevokedHostKeys /etc/revoked", Effect::Refuse),
        ("GSSAPIAuthentication yes\n", "GSSAPIAuthentication yes", Effect::Mention),
        ("PKCS11Provider /lib/p.so\n", "PKCS11Provider /lib/p.so", Effect::Mention),
        ("Hostnmae b\n", "Hostnmae b (not known; did you mean 'hostname'?)", Effect::Mention),
    ] {
        let found = resolve(text, "a");
        let [unsupported] = &found.unsupported[..] else { panic!("{text}: {:?}", found.unsupported) };
        assert_eq!((unsupported.setting.as_str(), unsupported.effect), (expected, effect));
        assert_eq!(unsupported.origin, "config:1");
        assert_eq!(found.port, 22, "{text}");
    }
    for text in [
        "ProxyCommand none\n",
        "Host b\n ProxyCommand nc\n",
        "Match host b exec true\n",
        "GSSAPIAuthentication no\nGSSAPIAuthentication yes\n",
        "SecurityKeyProvider internal\n",
        "IgnoreUnknown Use*,Hostn*\nHostnmae b\n",
        "ProxyJump none\nProxyCommand nc\n",
        "ControlPath ~/.ssh/%C\nForwardAgent yes\nSendEnv LANG\n",
    ] {
        assert_eq!(resolve(text, "a").unsupported, [], "{text}");
    }
}

#[test]
fn an_included_file_counts_only_within_its_block() {
    let read = |name: &str| match name {
        "inner" => {
            vec![Included { origin: "inner".into(), text: Ok("Port 5\nHost b\nUser b\nHost *\nUser any\n".into()) }]
        }
        _ => Vec::new(),
    };
    let config = SshConfig::parse_with("Host b\n Include inner\n ConnectTimeout 4\n", "outer", &read).expect("good");
    let resolve = |host| config.resolve(&Query::new(host), &local()).expect("settings");
    let found = resolve("b");
    assert_eq!((found.port, found.user.as_str(), found.connect_timeout), (5, "b", Some(4)));
    let found = resolve("c");
    assert_eq!((found.port, found.user.as_str(), found.connect_timeout), (22, "me", None));
}

#[test]
fn agents() {
    for (text, expected) in [
        ("", IdentityAgent::Environment),
        ("IdentityAgent SSH_AUTH_SOCK\n", IdentityAgent::Environment),
        ("IdentityAgent none\n", IdentityAgent::None),
        ("IdentityAgent $NOT_SET\n", IdentityAgent::None),
        ("IdentityAgent ~/agent.%i\n", IdentityAgent::Socket("/home/me/agent.7".into())),
    ] {
        assert_eq!(resolve(text, "a").identity_agent, expected, "{text}");
    }
}

#[test]
fn tokens_that_are_not_known_are_an_error() {
    for text in ["HostName %p\n", "IdentityFile %z\n", "UserKnownHostsFile ${NOT_SET}\n", "IdentityFile ~you/key\n"] {
        let config = SshConfig::parse(text, "c").expect("good");
        assert!(config.resolve(&Query::new("a"), &local()).is_err(), "{text}");
    }
}
