//! [`RemoteAccess`]: keys and passwords for remote repositories, which are never shown.

use std::sync::Arc;

use rocksalt_core::Value;
use serde::{Deserialize, Serialize};

use super::super::cp::source::ContentSource;
use super::super::file::expand;
use crate::machine::{Command, Probe, bytes};
use crate::text::words;

/// The credentials for a remote repository. If empty, the user's own settings apply.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct RemoteAccess {
    /// Tried one after the other, as in Salt: some servers accept a key that then may not read the repository.
    pub identities: Vec<RemoteIdentity>,
    pub login: Option<RemoteLogin>,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum RemoteIdentity {
    /// A file of this machine.
    File(String),
    /// A key from the controller's tree. It is on the machine only while git runs.
    Key(#[serde(with = "bytes")] Arc<[u8]>),
}

/// A name and a password for one server, so that a redirect to another one doesn't get them.
#[derive(Clone, Serialize, Deserialize)]
pub struct RemoteLogin {
    server: String,
    user: String,
    password: Option<String>,
}

/// Prints the credentials that git requests; the values are in the environment, never in an argument.
const HELPER: &str = "!f() { test \"$1\" = get || exit 0; printf 'username=%s\\n' \"$ROCKSALT_GIT_USER\"; \
                      test -z \"${ROCKSALT_GIT_PASSWORD+x}\" || printf 'password=%s\\n' \"$ROCKSALT_GIT_PASSWORD\"; }; f";

/// Stores the key from standard input in a temporary file while the command runs.
const WITH_KEY: &str = "umask 077; test -d /dev/shm && TMPDIR=/dev/shm; export TMPDIR; key=$(mktemp) || exit 1; trap 'rm -f \"$key\"' EXIT; trap 'exit 1' HUP INT TERM; \
                        cat > \"$key\"; GIT_SSH_COMMAND=\"ssh -i '$key' $ROCKSALT_SSH_OPTIONS\"; \
                        export GIT_SSH_COMMAND; unset ROCKSALT_SSH_OPTIONS; \"$@\" </dev/null";

/// Uses only this key and never prompts. The server's host key must be known or signed (`docs/security-rules.md#r8`).
const SSH_OPTIONS: &str = "-oIdentitiesOnly=yes -oBatchMode=yes -oPasswordAuthentication=no";

impl RemoteAccess {
    /// The URL without its password, and the access; Salt's text if the arguments are inconsistent.
    pub fn new(
        machine: &dyn Probe,
        url: &str,
        identity: &Value,
        login: (Option<&str>, Option<&str>),
        saltenv: &str,
    ) -> Result<(String, RemoteAccess), String> {
        let (plain, own) = without_login(url);
        let login = match login {
            (None, None) => own,
            (None, Some(_)) => return Err("https_pass needs an https_user".into()),
            (Some(user), password) => {
                if !plain.starts_with("https://") {
                    return Err("Basic Auth only supported for HTTPS".into());
                }
                Some(RemoteLogin {
                    server: server(&plain),
                    user: user.to_owned(),
                    password: password.map(str::to_owned),
                })
            }
        };
        Ok((plain, RemoteAccess { identities: identities(machine, identity, saltenv)?, login }))
    }

    /// The git command with these credentials.
    pub fn command(&self, words: &[String], identity: Option<&RemoteIdentity>) -> Command {
        let mut argv = vec!["git".to_owned()];
        let mut command = Command::default();
        if let Some(login) = &self.login {
            // Helpers of the user would store the credentials.
            argv.extend(["-c".into(), "credential.helper=".into()]);
            argv.extend(["-c".into(), format!("credential.{}.helper={HELPER}", login.server)]);
            command.env.push(("ROCKSALT_GIT_USER".into(), Some(login.user.clone())));
            command.env.push(("ROCKSALT_GIT_PASSWORD".into(), login.password.clone()));
        }
        argv.extend(words.iter().cloned());
        match identity {
            None => {}
            Some(RemoteIdentity::File(path)) => {
                let line = format!("ssh -i {} {SSH_OPTIONS}", words::quote(path));
                command.env.push(("GIT_SSH_COMMAND".into(), Some(line)));
            }
            Some(RemoteIdentity::Key(key)) => {
                let shell = ["sh", "-c", WITH_KEY, "sh"].map(str::to_owned);
                argv = shell.into_iter().chain(argv).collect();
                command.env.push(("ROCKSALT_SSH_OPTIONS".into(), Some(SSH_OPTIONS.into())));
                command.stdin = Some(key.to_vec());
            }
        }
        command.argv = argv;
        command
    }

    /// Removes secrets from a text that may repeat them.
    pub fn redact(&self, text: &str) -> String {
        let text = redacted(text);
        match self.login.as_ref().and_then(|login| login.password.as_ref()) {
            Some(password) if !password.is_empty() => text.replace(password.as_str(), "<redacted>"),
            _ => text,
        }
    }
}

fn identities(machine: &dyn Probe, identity: &Value, saltenv: &str) -> Result<Vec<RemoteIdentity>, String> {
    let paths = match identity {
        Value::Null => return Ok(Vec::new()),
        Value::String(path) => vec![path.clone()],
        Value::List(paths) => paths.iter().map(ToString::to_string).collect(),
        _ => return Err("identity must be either a list or a string".into()),
    };
    let one = |path: &String| {
        if path.starts_with("salt://") {
            let source = ContentSource::parse(machine, path, Some(saltenv)).map_err(|error| error.to_string())?;
            let ContentSource::Tree { path: below, saltenv } = source else {
                return Err(format!("'{path}' is no path"));
            };
            let found = machine.tree().read(&saltenv, &below).map_err(|error| error.to_string())?;
            return found.map(RemoteIdentity::Key).ok_or_else(|| format!("identity '{path}' does not exist."));
        }
        let path = expand(machine, path).to_string_lossy().into_owned();
        if !path.starts_with('/') {
            return Err(format!("identity '{path}' is not an absolute path"));
        }
        Ok(RemoteIdentity::File(path))
    };
    paths.iter().map(one).collect()
}

/// A URL without its password, and the login from it.
pub fn without_login(url: &str) -> (String, Option<RemoteLogin>) {
    let own = || (url.to_owned(), None);
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https")) else {
        return own();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some((login, host)) = host.rsplit_once('@') else { return own() };
    let Some((user, password)) = login.split_once(':') else { return own() };
    let server = format!("{scheme}://{host}");
    let login = RemoteLogin { server: server.clone(), user: decoded(user), password: Some(decoded(password)) };
    (server + path, Some(login))
}

fn server(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let host = rest.split('/').next().unwrap_or_default();
    format!("{scheme}://{}", host.rsplit_once('@').map_or(host, |(_, host)| host))
}

/// Percent-decodes a text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Removes the user information before the `@` of URLs in a text.
pub fn redacted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = ["http://", "https://"].iter().filter_map(|scheme| rest.find(scheme)).min() {
        let start = at + rest[at..].find("://").unwrap_or_default() + 3;
        shown.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(['/', ' ', '\n', '\'', '"']).unwrap_or(rest.len());
        if let Some(sign) = rest[..end].rfind('@') {
            shown.push_str("<redacted>");
            rest = &rest[sign..];
        }
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_taken_out_of_addresses() {
        let (plain, login) = without_login("https://me:p%40ss@git.example.com:8443/a.git");
        assert_eq!(plain, "https://git.example.com:8443/a.git");
        let login = login.expect("there is one");
        assert_eq!((login.server.as_str(), login.user.as_str()), ("https://git.example.com:8443", "me"));
        assert_eq!(login.password.as_deref(), Some("p@ss"));
        for same in ["https://git.example.com/a.git", "https://me@git.example.com/a.git", "git@host:a.git", "/srv/a"] {
            let (plain, login) = without_login(same);
            assert!(plain == same && login.is_none(), "{same}");
        }
    }

    #[test]
    fn nothing_shows_a_password() {
        let (_, access) = RemoteAccess::new(
            &crate::machine::Fake::new(),
            "https://git.example.com/a.git",
            &Value::Null,
            (Some("me"), Some("hunter2")),
            "base",
        )
        .unwrap_or_else(|text| panic!("{text}"));
        let command = access.command(&["fetch".into()], None);
        assert!(!command.argv.join(" ").contains("hunter2"));
        assert!(command.argv.contains(&"credential.helper=".to_owned()));
        assert_eq!(access.redact("fatal: hunter2"), "fatal: <redacted>");
        assert_eq!(redacted("to https://a:b@h/x and http://h/y"), "to https://<redacted>@h/x and http://h/y");
    }
}
