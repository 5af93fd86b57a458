//! Translates error messages of ssh into failures.

use rocksalt_core::link::{LinkFailure, Stage};

/// A text that ssh prints, the stage that it belongs to, whether a retry might help, and a hint.
struct KnownMessage {
    has: &'static str,
    stage: Stage,
    busy: bool,
    hint: &'static str,
}

const fn message(has: &'static str, stage: Stage, busy: bool, hint: &'static str) -> KnownMessage {
    KnownMessage { has, stage, busy, hint }
}

const LOOK_AT_KEY: &str = "if the machine was set up anew, remove its old key with 'ssh-keygen -R' and record the new one; \
     if not, somebody may be in between";
const RECORD_KEY: &str = "compare its key and record it with 'ssh-keyscan', or set 'accept_new: true' on its roster entry for the first contact";

/// In search order: specific texts before general ones.
const KNOWN_MESSAGES: [KnownMessage; 28] = [
    message(
        "Could not resolve hostname",
        Stage::Resolve,
        false,
        "look at 'host' in the roster and at HostName in ~/.ssh/config",
    ),
    message("Name or service not known", Stage::Resolve, false, "look at 'host' in the roster"),
    message("Temporary failure in name resolution", Stage::Resolve, true, "the name server does not answer"),
    message("was revoked", Stage::HostKey, false, "the key is marked @revoked in known_hosts"),
    message("HOST IDENTIFICATION HAS CHANGED", Stage::HostKey, false, LOOK_AT_KEY),
    message("has changed and you have requested strict", Stage::HostKey, false, LOOK_AT_KEY),
    message("Certificate invalid", Stage::HostKey, false, "sign the host's key anew"),
    message("host key is known for", Stage::HostKey, false, RECORD_KEY),
    message("Host key verification failed", Stage::HostKey, false, RECORD_KEY),
    message(
        "no matching",
        Stage::KeyExchange,
        false,
        "the server is too old or too new: name an algorithm that both have in ~/.ssh/config",
    ),
    message(
        "Unable to negotiate",
        Stage::KeyExchange,
        false,
        "name an algorithm that both sides have in ~/.ssh/config",
    ),
    message(
        "Too many authentication failures",
        Stage::Login,
        false,
        "the agent offers too many keys: set 'identities_only: true' and name the key",
    ),
    message(
        "Permission denied",
        Stage::Login,
        false,
        "does the target have the public key, and is 'user' right? 'ssh-add -l' shows what the agent offers",
    ),
    message(
        "stdio forwarding failed",
        Stage::Connect,
        false,
        "the machine in between cannot reach the target, or may not forward",
    ),
    message("Connection refused", Stage::Connect, false, "is sshd running there, and is 'port' right?"),
    message("No route to host", Stage::Connect, false, "is the machine up, and is its address right?"),
    message("Network is unreachable", Stage::Connect, false, "this machine has no way to that network"),
    message(
        "Connection timed out during banner exchange",
        Stage::Banner,
        true,
        "something accepts connections there but does not greet: is it sshd?",
    ),
    message("timed out", Stage::Connect, false, "is the machine up, and does a firewall let us through?"),
    message(
        "Not allowed at this time",
        Stage::Banner,
        true,
        "the server has a penalty on this address (PerSourcePenalties)",
    ),
    message("Exceeded MaxStartups", Stage::Banner, true, "too many logins at once for that server (MaxStartups)"),
    message("kex_exchange_identification: client sent invalid", Stage::Banner, false, "is that an SSH server?"),
    message("banner line contains invalid", Stage::Banner, false, "is that an SSH server?"),
    message(
        "kex_exchange_identification",
        Stage::Banner,
        true,
        "the server hung up before it greeted: too many logins at once, or this address is blocked",
    ),
    message(
        "ssh_exchange_identification",
        Stage::Banner,
        true,
        "the server hung up before it greeted: too many logins at once, or this address is blocked",
    ),
    message("Connection reset by", Stage::KeyExchange, true, "the server hung up"),
    message("Connection closed by", Stage::KeyExchange, true, "the server hung up"),
    message("Bad owner or permissions", Stage::Settings, false, "only you may be able to write that file"),
];

/// The failure that ssh reported on stderr. `target` is `user@host:port`, for the text.
pub fn failure(stderr: &str, target: &str) -> LinkFailure {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('@'));
    let Some(message) = KNOWN_MESSAGES.iter().find(|message| stderr.contains(message.has)) else {
        let last = lines().next_back().unwrap_or("it printed nothing");
        let stage = if last.contains("configuration option") { Stage::Settings } else { Stage::Login };
        return LinkFailure::new(stage, format!("ssh to {target} failed: {last}"));
    };
    // A jump host that fails reports the reason first; later lines only follow from it.
    let line = lines().find(|line| line.contains(message.has)).or_else(|| lines().next_back()).unwrap_or(message.has);
    let text = match message.stage {
        Stage::HostKey => host_key_text(stderr, line, target),
        _ => format!("ssh to {target}: {line}"),
    };
    let failure = LinkFailure::new(message.stage, text).hint(message.hint);
    if message.busy { failure.busy() } else { failure }
}

/// The failure of a connection through jump hosts: the background ssh hides their messages, and only
/// reports that the connection was closed before a greeting.
pub fn through(failure: LinkFailure, jump: Option<&str>, target: &str) -> LinkFailure {
    match jump {
        Some(jump) if failure.stage == Stage::Banner && failure.busy => {
            LinkFailure::new(Stage::Connect, format!("ssh cannot get through {jump} to {target}"))
                .hint(format!("see why with: ssh -J {jump} ssh://{target}"))
                .busy()
        }
        _ => failure,
    }
}

/// The facts from ssh's long warning: the key that the host presented, and where another one is recorded.
fn host_key_text(stderr: &str, line: &str, target: &str) -> String {
    let part = |start: &str| stderr.lines().map(str::trim).find(|line| line.starts_with(start));
    let shown = part("SHA256:").map(|text| format!("; it showed {}", text.trim_end_matches('.'))).unwrap_or_default();
    match part("Offending") {
        Some(offending) => {
            let place = offending.rsplit(" in ").next().unwrap_or(offending);
            format!("the host key of {target} is not the one recorded in {place}{shown}")
        }
        None => format!("the host key of {target} is not accepted: {line}{shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_ssh_are_recognized() {
        for (stderr, stage, busy, text) in MESSAGES {
            let found = failure(stderr, "me@h");
            assert_eq!((found.stage, found.busy), (*stage, *busy), "{stderr}");
            assert!(found.text.contains(text) && found.text.contains("me@h"), "{}", found.text);
        }
    }

    /// What ssh prints, the stage, whether a retry might help, and a part of the failure's text.
    const MESSAGES: &[(&str, Stage, bool, &str)] = &[
        (
            "ssh: Could not resolve hostname nosuch.invalid: Name or service not known\n",
            Stage::Resolve,
            false,
            "nosuch.invalid",
        ),
        ("ssh: connect to host 127.0.0.1 port 1: Connection refused\n", Stage::Connect, false, "Connection refused"),
        ("ssh: connect to host h port 22: Connection timed out\n", Stage::Connect, false, "timed out"),
        ("ssh: connect to host h port 22: No route to host\n", Stage::Connect, false, "No route"),
        (
            "Connection timed out during banner exchange\nConnection to 1.2.3.4 port 22 timed out\n",
            Stage::Banner,
            true,
            "banner",
        ),
        (
            "kex_exchange_identification: Connection closed by remote host\nConnection closed by 1.2.3.4 port 22\n",
            Stage::Banner,
            true,
            "closed",
        ),
        ("kex_exchange_identification: read: Connection reset by peer\n", Stage::Banner, true, "reset"),
        ("kex_exchange_identification: banner line contains invalid characters\n", Stage::Banner, false, "invalid"),
        (
            "ssh: connect to host gate port 1: Connection refused\nkex_exchange_identification: Connection closed by remote host\n",
            Stage::Connect,
            false,
            "gate",
        ),
        (
            "channel 0: open failed: connect failed: Name or service not known\nstdio forwarding failed\n",
            Stage::Resolve,
            false,
            "open failed",
        ),
        (
            "Unable to negotiate with 1.2.3.4 port 22: no matching key exchange method found. Their offer: x\n",
            Stage::KeyExchange,
            false,
            "no matching",
        ),
        ("me@h: Permission denied (publickey,password).\n", Stage::Login, false, "(publickey,password)"),
        ("Received disconnect from h port 22:2: Too many authentication failures\n", Stage::Login, false, "Too many"),
        (
            "No ED25519 host key is known for [h]:2 and you have requested strict checking.\nHost key verification failed.\n",
            Stage::HostKey,
            false,
            "No ED25519 host key is known",
        ),
        (
            CHANGED,
            Stage::HostKey,
            false,
            "not the one recorded in /home/me/.ssh/known_hosts:1; it showed SHA256:639PWShZNmbIQWaRLxSP",
        ),
        (REVOKED, Stage::HostKey, false, "was revoked"),
        (
            "/home/me/.ssh/config: line 3: Bad configuration option: prot\n/home/me/.ssh/config: terminating, 1 bad configuration options\n",
            Stage::Settings,
            false,
            "bad configuration",
        ),
        ("Bad owner or permissions on /home/me/.ssh/config\n", Stage::Settings, false, "Bad owner"),
        ("", Stage::Login, false, "printed nothing"),
    ];

    const CHANGED: &str = "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n\
        The fingerprint for the ED25519 key sent by the remote host is\nSHA256:639PWShZNmbIQWaRLxSP.\n\
        Offending ED25519 key in /home/me/.ssh/known_hosts:1\n  remove with:\nHost key for [h]:29922 has changed and you \
        have requested strict checking.\nHost key verification failed.\n";
    const REVOKED: &str = "@       WARNING: REVOKED HOST KEY DETECTED!               @\nThe ED25519 host key for [h]:2 is marked as \
        revoked.\nED25519 host key for [h]:2 was revoked and you have requested strict checking.\nHost key verification failed.\n";

    #[test]
    fn a_new_host_is_told_from_a_changed_one() {
        let hint = |stderr| failure(stderr, "h").hint.unwrap_or_default();
        assert_eq!(hint("No RSA host key is known for h and …\nHost key verification failed.\n"), RECORD_KEY);
        assert_eq!(hint("Host key for h has changed and you have requested strict checking.\n"), LOOK_AT_KEY);
    }
}
