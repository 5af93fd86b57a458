//! [`ProcessEnvironment`]: the user, the directories and the terminal, read from the environment.

use std::collections::BTreeMap;
use std::env;
use std::io::IsTerminal;
use std::path::PathBuf;

use rocksalt_connect::LocalUser;

use crate::output::Style;

#[derive(Clone)]
pub struct ProcessEnvironment {
    pub local_user: LocalUser,
    pub agent_socket: Option<PathBuf>,
    /// The directory for sockets.
    pub runtime_dir: PathBuf,
    pub cache_dir: PathBuf,
    /// The directory for data that must not be lost: jobs, and the data of a daemon. Each configuration has its own
    /// subdirectory.
    pub state_dir: PathBuf,
    pub config_home: PathBuf,
}

impl ProcessEnvironment {
    pub fn read() -> ProcessEnvironment {
        let uid = rustix::process::getuid().as_raw();
        let path = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let account = account(uid);
        let home =
            path("HOME").or_else(|| account.as_ref().map(|(_, home)| home.clone())).unwrap_or_else(|| "/".into());
        let name = account.map(|(name, _)| name).or_else(|| env::var("USER").ok()).unwrap_or_else(|| uid.to_string());
        let system = |directory: &str| PathBuf::from(directory);
        let cache_dir = path("XDG_CACHE_HOME").map(|cache| cache.join("rocksalt"));
        let cache_dir = cache_dir.unwrap_or_else(|| match uid {
            0 => system("/var/cache/rocksalt"),
            _ => home.join(".cache/rocksalt"),
        });
        let state_dir = path("XDG_STATE_HOME").map(|state| state.join("rocksalt"));
        let state_dir = state_dir.unwrap_or_else(|| match uid {
            0 => system("/var/lib/rocksalt"),
            _ => home.join(".local/state/rocksalt"),
        });
        let runtime_dir = path("XDG_RUNTIME_DIR").filter(|path| path.is_dir());
        let runtime_dir = runtime_dir.unwrap_or_else(|| match uid {
            0 => system("/run"),
            // Safe although others can write there: the directory is refused unless we own it.
            _ => env::temp_dir().join(format!("rocksalt-{uid}")),
        });
        let config_home = path("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("rocksalt");
        let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let environment: BTreeMap<String, String> = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let agent_socket = path("SSH_AUTH_SOCK");
        let local_user = LocalUser { name, home, uid, hostname, environment };
        ProcessEnvironment { local_user, agent_socket, runtime_dir, cache_dir, state_dir, config_home }
    }
}

/// The user's entry in `/etc/passwd`; for users of a directory service `$USER` is used instead.
fn account(uid: u32) -> Option<(String, PathBuf)> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(uid))
            .then(|| (fields[0].to_owned(), PathBuf::from(fields.get(5).unwrap_or(&"/"))))
    })
}

/// How to print on standard output.
pub fn style(wished: Option<bool>, indent: Option<i32>) -> Style {
    let terminal = std::io::stdout().is_terminal();
    Style { colours: wished.unwrap_or(terminal && colours_wanted()), width: terminal.then(width), indent }
}

/// <https://no-color.org>: any value disables colours.
pub fn colours_wanted() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && env::var("TERM").as_deref() != Ok("dumb")
}

/// The terminal's width.
pub fn width() -> usize {
    let size =
        rustix::termios::tcgetwinsize(std::io::stderr()).or_else(|_| rustix::termios::tcgetwinsize(std::io::stdout()));
    size.map_or(80, |size| usize::from(size.ws_col)).max(20)
}
