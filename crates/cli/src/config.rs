//! [`Config`]: the configuration, from `rocksalt.yml` and Salt's own files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rocksalt_controller::spool::Spool;
use rocksalt_core::{Map, Value, nearest, yaml};

use crate::environment::ProcessEnvironment;
use crate::failure::Failure;

/// The name of our own file; a directory that contains it is a project.
pub const FILE: &str = "rocksalt.yml";

/// Every key with its meaning; `rocksalt init` writes them all to a new configuration.
pub const KEYS: &[(&str, &str)] = &[
    (
        "roster",
        "The kind of roster: flat, directory, sshconfig, ansible, scan or script; by default what the file looks like",
    ),
    ("roster_file", "The roster's file or directory, relative to this file; default: roster"),
    ("roster_defaults", "What holds for every entry of the roster that doesn't say otherwise"),
    ("file_roots", "Directories of the files that targets get as salt://, by environment"),
    ("pillar_roots", "Directories of the pillar, by environment"),
    ("nodegroups", "Names for compound targets"),
    ("peer", "Which targets may have which functions run on others: a pattern of ids, then patterns of functions"),
    ("file_recv", "Whether targets may send files with cp.push; default: false"),
    ("file_recv_max_size", "The largest such file in megabytes; default: 100"),
    ("cache_dir", "Where grains and received files are kept"),
    (
        "state_dir",
        "Where jobs are kept, and all that a daemon keeps; default: a directory for this configuration below ~/.local/state/rocksalt, /var/lib/rocksalt for root",
    ),
    ("keep_jobs_seconds", "How long jobs and their results are kept; default: 86400"),
    ("grains_cache_seconds", "How long remembered grains count for targeting; default: 86400"),
    ("persist", "Seconds that a connection stays up between commands; 0 turns it off; default: 600"),
    ("connect_at_once", "Logins under way at the same time; default: 64"),
    ("links_max", "Connections that may be open; default: 20000"),
    ("timeout", "Seconds that a call may take; default: as long as the connection stands"),
    ("listen", "Where `rocksalt serve` listens: addresses with ports; default: 127.0.0.1:8000"),
    ("tls", "Which of these speak TLS: auto (all but those on loopback), true or false; default: auto"),
    ("tls_certificate", "The certificate of `rocksalt serve`, a PEM file; default: one is made"),
    ("tls_key", "Its private key, a PEM file; default: in the same file as the certificate"),
    ("client_ca", "Whose client certificates count as a login, a PEM file; default: nobody's"),
    ("store", "Where jobs, events and tokens are kept: disk, etcd or memory; default: disk"),
    ("store_path", "The file of the store `disk`; default: store in state_dir"),
    ("etcd_endpoints", "URLs of etcd's members, for the store `etcd`"),
    ("etcd_ca", "Who signed etcd's certificates, a PEM file"),
    ("etcd_certificate", "Our certificate for etcd, a PEM file"),
    ("etcd_key", "Its private key, a PEM file"),
    ("etcd_prefix", "What all keys in etcd begin with; default: rocksalt/"),
    ("keep_events_seconds", "How long events are kept; default: as long as jobs"),
    ("recall_seconds", "How long a target that is away is asked for a job's result before it is lost; default: 600"),
    ("largest_return", "Bytes of a result that are kept; a larger one is cut, and says so; default: 524288"),
    ("max_connections", "Connections to `rocksalt serve` at once; default: 10000"),
    ("stop_seconds", "How long requests may go on when the daemon is told to stop; default: 10"),
    ("presence_seconds", "How often the daemon looks which targets are reached; 0 turns it off; default: 15"),
    ("presence_events", "Whether salt/presence events are told; default: false"),
    ("metrics_auth", "Whether /metrics needs a login on this machine too; default: false"),
    ("log_level", "How much `rocksalt serve` says: error, warning, info, debug or trace; default: info"),
    ("log_file", "A file for messages of all commands and of the daemon, as --log-file; default: none"),
    ("log_level_logfile", "How much goes to that file, as --log-file-level; default: warning"),
    ("log_format", "text, json or auto (text on a terminal); default: auto"),
    (
        "rest_cherrypy",
        "Salt's block of settings of the HTTP API: port, host, ssl_crt, ssl_key, app, static and the like",
    ),
    ("netapi_enable_clients", "The clients that Salt's API takes: local, runner, wheel and the like; default: all"),
    ("cors_origins", "Other sites whose pages may call the API, as in https://ops.example.com; default: none"),
    ("halite", "Whether the routes of the web page Halite are there; default: false"),
    (
        "external_auth",
        "Who may do what over the network, by how they log in; default: admin of the users file, everything",
    ),
    (
        "permissive_acl",
        "Whether what external_auth gives to `*` counts for all, beside their own rules; default: false",
    ),
    ("auth.enable_expanded_auth_matching", "Whether several rules together may cover a target; default: false"),
    ("token_expire", "Seconds that a login lasts; default: 43200"),
    ("token_idle", "Seconds after which a login ends that nobody used; default: 36000"),
    (
        "token_expire_user_override",
        "Who may choose how long a login lasts: true, or lists of users by eauth; default: false",
    ),
    ("token_bind_address", "Whether a login counts only at the address where it was made; default: false"),
    ("auth_remember", "Seconds that a password that was right need not be checked again; default: 60"),
    ("auth_auto_for_tests", "Whether the eauth `auto` takes any password; only for tests; default: false"),
    ("sharedsecret", "The password of all users of the eauth `sharedsecret`; default: none"),
    ("auth.pam.service", "The service of PAM for the eauth `pam`, a file below /etc/pam.d; default: login"),
    (
        "auth.ldap",
        "The directory for the eauth `ldap`: server, basedn, binddn and the like; Salt's auth.ldap.* are read too",
    ),
    ("api_acl", "Whence users may log in: `users`, each with addresses; default: anywhere"),
    ("authorized_ips", "Addresses and networks that may ask anything at all; default: all"),
    ("output", "The outputter, as --out; default: nested"),
    ("id", "This machine's id, for `rocksalt call`; default: the host name"),
    ("state_output", "How the highstate outputter prints: full, terse, mixed, changes or filter; default: full"),
    ("state_verbose", "Whether the highstate outputter shows what did not change; default: true"),
    ("saltenv", "The environment that is meant where none is named; default: all that the top file names"),
    ("pillarenv", "The environment of the pillar; default: all of them"),
    ("state_mode", "The order of steps: ordered (one by one in Salt's order), justdoit or genius; default: ordered"),
    (
        "state_width",
        "How many steps run at once where the mode allows it; default: four times the processors, 16 at least",
    ),
    ("decrypt_pillar", "Paths in the pillar whose values are decrypted with gpg after it is compiled"),
    ("renderer_whitelist", "Only these renderers are used; default: all"),
    ("renderer_blacklist", "These renderers are not used; default: none"),
    ("state_top", "The name of the top file; default: top.sls"),
    ("state_auto_order", "Whether states keep the order in which they are written; default: true"),
    ("state_aggregate", "Whether like steps (packages) become one; default: false"),
    ("failhard", "Whether the first state that fails ends a run; default: false"),
    ("test", "Whether states are only tried; default: false"),
    ("renderer", "How state files are rendered that don't say it themselves; default: jinja|yaml"),
    ("jinja_sls_env", "Settings of Jinja for state files: trim_blocks, lstrip_blocks and the like"),
    ("jinja_env", "Settings of Jinja for other templates"),
    (
        "top_file_merging_strategy",
        "How the top files of several environments come together: merge, merge_all or same; default: merge",
    ),
    ("env_order", "The order of environments for merge_all and merge"),
    ("default_top", "The environment whose top file counts with `same`; default: base"),
    (
        "pillar_source_merging_strategy",
        "How pillar files come together: smart, recurse, overwrite, aggregate or none; default: smart",
    ),
    ("pillar_merge_lists", "Whether lists of pillar files are joined; default: false"),
    ("pillar_includes_override_sls", "Whether included pillar counts more than what includes it; default: false"),
    ("ext_pillar", "Further sources of pillar: cmd_yaml, cmd_json, git, http_json, http_yaml, file_tree"),
    ("ext_pillar_first", "Whether the further sources come before the pillar files; default: false"),
    ("gpg_keydir", "Where gpg's keys are, for the gpg renderer; default: /etc/salt/gpgkeys"),
    ("age_identity", "The key file for the age renderer; default: /etc/rocksalt/age.key"),
    ("scan_networks", "For the scan roster: addresses and networks"),
    ("scan_ports", "For the scan roster: ports; default: 22"),
];

pub struct Config {
    /// The directory where the configuration was found.
    pub directory: Option<PathBuf>,
    values: Map,
    pub persist: Duration,
    pub connect_at_once: usize,
    pub links_max: usize,
}

impl Config {
    /// The defaults, without any file.
    pub fn none() -> Config {
        let persist = Duration::from_secs(600);
        Config { directory: None, values: Map::new(), persist, connect_at_once: 64, links_max: 20_000 }
    }

    /// Reads the configuration from the given directory, or that of the project, the user or the system.
    pub fn read(
        given: Option<&Path>,
        environment: &ProcessEnvironment,
        persist: Option<u64>,
    ) -> Result<Config, Failure> {
        let directory = match given {
            Some(directory) if !directory.is_dir() => {
                return Err(Failure::usage(format!("there is no configuration directory {}", directory.display()))
                    .hint("`rocksalt init DIR` makes one"));
            }
            Some(directory) => Some(std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned())),
            None => find(environment),
        };
        let mut values = Map::new();
        if let Some(directory) = &directory {
            // Salt's files first: our file takes precedence. Unknown keys in Salt's files are ignored.
            for name in ["minion", "master"] {
                values.extend(load(&directory.join(name))?);
            }
            let own = load(&directory.join(FILE))?;
            check_keys(&own, &directory.join(FILE))?;
            values.extend(own);
        }
        let mut config = Config { directory, values, persist: Duration::ZERO, connect_at_once: 64, links_max: 20_000 };
        config.persist = Duration::from_secs(match persist {
            Some(seconds) => seconds,
            None => config.number("persist")?.unwrap_or(600),
        });
        if let Some(number) = config.number("connect_at_once")? {
            config.connect_at_once = number.max(1) as usize;
        }
        if let Some(number) = config.number("links_max")? {
            config.links_max = number as usize;
        }
        Ok(config)
    }

    /// The whole configuration, for outputters that have settings of their own.
    pub fn values(&self) -> &Map {
        &self.values
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(ToString::to_string)
    }

    pub fn map(&self, key: &str) -> Result<Map, Failure> {
        match self.get(key) {
            None => Ok(Map::new()),
            Some(Value::Map(map)) => Ok(map.clone()),
            Some(other) => Err(self.wrong(key, "a map", other)),
        }
    }

    pub fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Int(number)) if *number >= 0 => Ok(Some(*number as u64)),
            Some(other) => Err(self.wrong(key, "a number", other)),
        }
    }

    pub fn flag(&self, key: &str) -> Result<bool, Failure> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(key, "true or false", other)),
        }
    }

    /// A path of the configuration, relative to its directory.
    pub fn path(&self, text: &str, environment: &ProcessEnvironment) -> PathBuf {
        match (text.strip_prefix("~/"), &self.directory) {
            (Some(rest), _) => environment.local_user.home.join(rest),
            (None, Some(directory)) => directory.join(text),
            (None, None) => PathBuf::from(text),
        }
    }

    /// The directory of this configuration's jobs and of its daemon's data. Two configurations never share one.
    pub fn state_dir(&self, environment: &ProcessEnvironment) -> PathBuf {
        if let Some(path) = self.text("state_dir") {
            return self.path(&path, environment);
        }
        match &self.directory {
            // The system's configuration has one directory for all users: its daemon may run as another user.
            Some(directory) if is_systems(directory) => PathBuf::from("/var/lib/rocksalt"),
            Some(directory) => environment.state_dir.join(name_of(directory)),
            None => environment.state_dir.join("none"),
        }
    }

    /// The socket of this configuration's daemon.
    pub fn socket(&self, environment: &ProcessEnvironment) -> PathBuf {
        let socket = self.state_dir(environment).join("daemon.sock");
        // The path of a socket is limited to 107 bytes.
        match socket.as_os_str().len() {
            0..=107 => socket,
            _ => environment.runtime_dir.join(format!("rocksalt/{}.sock", short_hash(&socket))),
        }
    }

    /// Where commands without a daemon record their jobs.
    pub fn spool(&self, environment: &ProcessEnvironment) -> Result<Spool, Failure> {
        let mut directory = self.state_dir(environment);
        let systems = self.get("state_dir").is_none() && self.directory.as_deref().is_some_and(is_systems);
        if systems && environment.local_user.uid != 0 {
            directory = environment.state_dir.join("system");
        }
        let mut spool = Spool::new(directory.join("spool"), environment.local_user.uid);
        if let Some(seconds) = self.number("keep_jobs_seconds")? {
            spool.keep_seconds = seconds;
        }
        Ok(spool)
    }

    /// `file_roots` with absolute paths.
    pub fn roots(&self, key: &str, environment: &ProcessEnvironment) -> Result<Map, Failure> {
        let mut roots = self.map(key)?;
        for (_, directories) in roots.iter_mut() {
            let all = match std::mem::take(directories) {
                Value::List(items) => items,
                Value::Null => Vec::new(),
                one => vec![one],
            };
            let all = all.iter().map(|item| self.path(&item.to_string(), environment).to_string_lossy().into_owned());
            *directories = Value::List(all.map(Value::String).collect());
        }
        Ok(roots)
    }

    /// An error in a key that only its user can check.
    pub fn wrong_because(&self, key: &str, why: &str) -> Failure {
        let place = self.directory.as_deref().unwrap_or(Path::new("")).join(FILE);
        Failure::usage(format!("{}: `{key}` {why}", place.display()))
    }

    fn wrong(&self, key: &str, wanted: &str, found: &Value) -> Failure {
        let place = self.directory.as_deref().unwrap_or(Path::new("")).join(FILE);
        Failure::usage(format!("{}: `{key}` must be {wanted}, not {}", place.display(), found.kind()))
    }
}

fn is_systems(directory: &Path) -> bool {
    ["/etc/rocksalt", "/etc/salt"].iter().any(|systems| directory == Path::new(systems))
}

/// A directory's name, readable for people, with a hash of its path.
fn name_of(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(24).collect();
    format!("{}-{}", name.trim_start_matches('.'), short_hash(&directory))
}

fn short_hash(path: &Path) -> String {
    use sha2::Digest;
    use std::os::unix::ffi::OsStrExt;
    rocksalt_core::hex(&sha2::Sha256::digest(path.as_os_str().as_bytes())[..4])
}

/// The nearest parent directory that is a project, otherwise the usual directories.
fn find(environment: &ProcessEnvironment) -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let project = here.iter().flat_map(|here| here.ancestors()).find(|directory| directory.join(FILE).is_file());
    let usual = [environment.config_home.clone(), "/etc/rocksalt".into(), "/etc/salt".into()];
    // A directory without any of these files has another purpose.
    let ours =
        |directory: &PathBuf| [FILE, "roster", "master", "minion"].iter().any(|name| directory.join(name).is_file());
    project.map(Path::to_owned).or_else(|| usual.into_iter().find(ours))
}

fn load(path: &Path) -> Result<Map, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(Failure::usage(format!("can't read {}: {error}", path.display()))),
    };
    match yaml::parse(&text) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => {
            Err(Failure::usage(format!("{}: expected keys with values, found {}", path.display(), other.kind())))
        }
        Err(error) => Err(Failure::usage(format!(
            "{}:{}:{}: {}",
            path.display(),
            error.place.line,
            error.place.column,
            error.message
        ))),
    }
}

fn check_keys(values: &Map, path: &Path) -> Result<(), Failure> {
    let names = || KEYS.iter().map(|(name, _)| *name);
    for key in values.keys().map(ToString::to_string) {
        // Salt also accepts this form of a block.
        if !names().any(|name| name == key) && !key.starts_with("auth.ldap.") {
            let hint = nearest::hint(&key, names());
            return Err(Failure::usage(format!("{}: '{key}' is not a key of the configuration{hint}", path.display()))
                .hint("`rocksalt init` writes a file with every key explained"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/configuration.md");

    #[test]
    fn every_key_has_its_section_with_a_default() {
        let sections: Vec<(&str, &str)> =
            PAGE.split("\n### ").skip(1).filter_map(|section| section.split_once('\n')).collect();
        let mut documented: Vec<&str> = sections.iter().map(|(key, _)| *key).collect();
        let mut known: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        documented.sort_unstable();
        known.sort_unstable();
        assert_eq!(documented, known, "docs/configuration.md has a section of level 3 for each key");
        for (key, text) in sections {
            assert!(text.lines().any(|line| line.starts_with("Default: ")), "{key}: its section has no default");
        }
    }

    /// The numbers in the documentation are those in the code.
    #[test]
    fn defaults_are_as_documented() {
        for (key, meaning) in KEYS {
            let Some((_, default)) = meaning.rsplit_once("default: ") else { continue };
            if default.parse::<u64>().is_ok() {
                let section = PAGE.split(&format!("\n### {key}\n")).nth(1).unwrap_or_default();
                let section = section.split("\n### ").next().unwrap_or_default();
                assert!(section.contains(&format!("Default: `{default}`")), "{key}: the default is {default}");
            }
        }
    }
}
