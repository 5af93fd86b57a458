//! Builds ssh's command line from a roster entry: a closed set of options (docs/security-rules.md#r7).

use std::ffi::OsString;
use std::path::Path;

use rocksalt_core::link::{LinkFailure, Stage};
use rocksalt_core::roster::RosterEntry;

use crate::ssh_config::{Jump, is_name};

/// The default limit for connecting, in seconds.
pub const TIMEOUT: u32 = 20;

/// Ends the options of every command line: the host can't be parsed as an option, and the words after it are the
/// command.
fn host(entry: &RosterEntry) -> [OsString; 2] {
    ["--".into(), entry.host.as_str().into()]
}

/// The arguments to log in and stay in the background, so that commands can run through `socket`.
/// The login ends by itself `idle` seconds after the last command.
pub fn login(entry: &RosterEntry, socket: &Path, idle: u32) -> Result<Vec<OsString>, LinkFailure> {
    let mut words: Vec<OsString> = ["-M", "-N", "-T", "-e", "none", "-S"].map(OsString::from).into();
    words.push(socket.into());
    let strict = if entry.accept_new { "accept-new" } else { "yes" };
    let mut option = |text: String| words.extend(["-o".into(), OsString::from(text)]);
    for text in [
        format!("ControlPersist={idle}"),
        // There is no terminal to answer a question.
        "BatchMode=yes".into(),
        // A lower level would hide why a key exchange failed.
        "LogLevel=INFO".into(),
        format!("ConnectTimeout={}", entry.timeout.unwrap_or(TIMEOUT)),
        "ServerAliveInterval=15".into(),
        format!("StrictHostKeyChecking={strict}"),
        "UpdateHostKeys=no".into(),
        // The user's configuration may set these for interactive sessions.
        "ClearAllForwardings=yes".into(),
        "ForwardX11=no".into(),
        "PermitLocalCommand=no".into(),
        "RemoteCommand=none".into(),
        "Tunnel=no".into(),
    ] {
        option(text);
    }
    if entry.identities_only {
        option("IdentitiesOnly=yes".into());
    }
    if let Some(path) = &entry.certificate {
        option(format!("CertificateFile={}", quoted(path)?));
    }
    if let Some(path) = &entry.known_hosts {
        option(format!("UserKnownHostsFile={}", quoted(path)?));
    }
    for path in &entry.keys {
        words.extend(["-i".into(), OsString::from(unexpanded(path)?)]);
    }
    if let Some(port) = entry.port {
        words.extend(["-p".into(), OsString::from(port.to_string())]);
    }
    if let Some(user) = &entry.user {
        is_name(user).map_err(|why| wrong(entry, format!("the user name '{user}' {why}")))?;
        words.extend(["-l".into(), OsString::from(user)]);
    }
    if let Some(jump) = &entry.proxy_jump {
        let hops = Jump::parse_list(jump).map_err(|why| wrong(entry, why))?;
        let hops: Vec<String> = hops.iter().map(Jump::to_string).collect();
        words.extend(["-J".into(), OsString::from(if hops.is_empty() { "none".to_owned() } else { hops.join(",") })]);
    }
    is_name(&entry.host).map_err(|why| wrong(entry, format!("the host name '{}' {why}", entry.host)))?;
    words.extend(host(entry));
    Ok(words)
}

/// The arguments to run a command through an open login.
///
/// ssh reads no configuration here. If the login has ended, ssh must not open another by itself: `ProxyCommand=false`
/// prevents that.
pub fn command(entry: &RosterEntry, socket: &Path, command: &str, tty: bool) -> Vec<OsString> {
    let mut words = through(socket);
    words.push(if tty { "-tt" } else { "-T" }.into());
    words.extend(host(entry));
    words.push(command.into());
    words
}

/// The arguments to end the login.
pub fn exit(entry: &RosterEntry, socket: &Path) -> Vec<OsString> {
    let mut words = through(socket);
    words.extend(["-O".into(), "exit".into()]);
    words.extend(host(entry));
    words
}

fn through(socket: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["-F", "none", "-e", "none", "-o", "BatchMode=yes", "-o", "ControlMaster=no"]
        .into_iter()
        .chain(["-o", "LogLevel=ERROR", "-o", "ProxyCommand=false", "-S"])
        .map(OsString::from)
        .collect();
    words.push(socket.into());
    words
}

fn wrong(entry: &RosterEntry, text: String) -> LinkFailure {
    let failure = LinkFailure::new(Stage::Settings, text);
    if entry.origin.is_empty() { failure } else { failure.hint(format!("see {}", entry.origin)) }
}

/// A path as the value of an option, which ssh parses like a line of its configuration.
fn quoted(path: &Path) -> Result<String, LinkFailure> {
    Ok(format!("\"{}\"", unexpanded(path)?.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// ssh expands `%h` and `${NAME}` in paths; this escapes them.
fn unexpanded(path: &Path) -> Result<String, LinkFailure> {
    match path.to_str() {
        Some(text) if !text.contains("${") && !text.chars().any(char::is_control) => Ok(text.replace('%', "%%")),
        _ => Err(LinkFailure::new(Stage::Settings, format!("the path '{}' cannot be given to ssh", path.display()))
            .hint("it must be UTF-8, without control characters and without '${'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(entry: &RosterEntry) -> Vec<String> {
        let words = login(entry, Path::new("/run/s"), 60).expect("good words");
        words.into_iter().map(|word| word.into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn every_field_has_its_option() {
        let mut entry = RosterEntry::new("web", "web.example.org");
        let plain = words(&entry);
        assert_eq!(plain[plain.len() - 2..], ["--", "web.example.org"]);
        assert!(plain.contains(&"StrictHostKeyChecking=yes".to_owned()));
        for absent in ["-i", "-p", "-l", "-J", "IdentitiesOnly=yes"] {
            assert!(!plain.contains(&absent.to_owned()), "{absent}");
        }
        entry.port = Some(2222);
        entry.user = Some("me".into());
        entry.keys = vec!["/k/a b%h".into()];
        entry.certificate = Some("/k/\"c".into());
        entry.known_hosts = Some("/k/known hosts".into());
        entry.identities_only = true;
        entry.accept_new = true;
        entry.proxy_jump = Some("a@gate:22,b".into());
        entry.timeout = Some(3);
        let all = words(&entry).join("\n");
        for expected in [
            "-p\n2222",
            "-l\nme",
            "-i\n/k/a b%%h",
            "-o\nCertificateFile=\"/k/\\\"c\"",
            "-o\nUserKnownHostsFile=\"/k/known hosts\"",
            "-o\nIdentitiesOnly=yes",
            "-o\nStrictHostKeyChecking=accept-new",
            "-o\nConnectTimeout=3",
            "-J\na@gate:22,b",
        ] {
            assert!(all.contains(expected), "{expected} in {all}");
        }
    }

    #[test]
    fn nothing_becomes_an_option() {
        let change: [fn(&mut RosterEntry); 8] = [
            |entry| entry.host = "-oProxyCommand=touch /tmp/x".into(),
            |entry| entry.host = String::new(),
            |entry| entry.host = "a b".into(),
            |entry| entry.user = Some("-l".into()),
            |entry| entry.user = Some("a`b`".into()),
            |entry| entry.proxy_jump = Some("-oProxyCommand=x".into()),
            |entry| entry.keys = vec!["/k/${HOME}".into()],
            |entry| entry.known_hosts = Some("/k\nProxyCommand x".into()),
        ];
        for (number, change) in change.iter().enumerate() {
            let mut entry = RosterEntry::new("web", "web");
            change(&mut entry);
            let failure = login(&entry, Path::new("/run/s"), 60).expect_err("refused");
            assert_eq!(failure.stage, Stage::Settings, "case {number}");
        }
    }
}
