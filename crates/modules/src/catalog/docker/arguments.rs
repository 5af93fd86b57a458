//! The arguments of a container as users write them, and the command line that creates the container.

use rocksalt_core::{Map, Value, json, nearest};
use serde::{Deserialize, Serialize};

use crate::text::digest::{DigestAlgorithm as Sum, raw};
use crate::text::words;
use crate::{Error, Result};

/// How a value becomes command-line words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionForm {
    /// `--flag` if it is true.
    Flag,
    /// `--option=value`.
    Text,
    /// `--option=value` for each item of a list, or of a comma-separated text.
    List,
    /// `--option=key=value` for each entry of a map, or of a list of such texts.
    Pairs,
    /// As `Pairs`, separated by a colon.
    Colons,
    /// Variables: the names are on the command line, the values in the environment, which only root can read.
    Variables,
    /// Accepted without effect.
    Ignored,
}

/// Salt's name, its aliases, the option, and the form of its value. Alphabetical.
const OPTIONS: &[(&str, &[&str], &str, OptionForm)] = &[
    ("auto_remove", &["rm"], "rm", OptionForm::Flag),
    ("binds", &[], "volume", OptionForm::List),
    ("blkio_weight", &[], "blkio-weight", OptionForm::Text),
    ("cap_add", &[], "cap-add", OptionForm::List),
    ("cap_drop", &[], "cap-drop", OptionForm::List),
    ("client_timeout", &[], "", OptionForm::Ignored),
    ("cpu_period", &[], "cpu-period", OptionForm::Text),
    ("cpu_quota", &[], "cpu-quota", OptionForm::Text),
    ("cpu_shares", &[], "cpu-shares", OptionForm::Text),
    ("cpuset_cpus", &["cpuset"], "cpuset-cpus", OptionForm::Text),
    ("cpuset_mems", &[], "cpuset-mems", OptionForm::Text),
    ("detach", &[], "", OptionForm::Ignored),
    ("devices", &["device"], "device", OptionForm::List),
    ("dns", &[], "dns", OptionForm::List),
    ("dns_opt", &["dns_option"], "dns-option", OptionForm::List),
    ("dns_search", &[], "dns-search", OptionForm::List),
    ("entrypoint", &[], "entrypoint", OptionForm::Text),
    ("environment", &["env"], "env", OptionForm::Variables),
    ("extra_hosts", &["add_host"], "add-host", OptionForm::Colons),
    ("group_add", &[], "group-add", OptionForm::List),
    ("hostname", &[], "hostname", OptionForm::Text),
    ("ignore_collisions", &[], "", OptionForm::Ignored),
    ("ipc_mode", &["ipc"], "ipc", OptionForm::Text),
    ("labels", &["label"], "label", OptionForm::Pairs),
    ("links", &["link"], "link", OptionForm::Colons),
    ("log_driver", &[], "log-driver", OptionForm::Text),
    ("log_opt", &[], "log-opt", OptionForm::Pairs),
    ("mac_address", &[], "mac-address", OptionForm::Text),
    ("mem_limit", &["memory"], "memory", OptionForm::Text),
    ("mem_swappiness", &["memory_swappiness"], "memory-swappiness", OptionForm::Text),
    ("memswap_limit", &["memory_swap"], "memory-swap", OptionForm::Text),
    ("network_mode", &["net"], "network", OptionForm::Text),
    ("oom_kill_disable", &[], "oom-kill-disable", OptionForm::Flag),
    ("oom_score_adj", &[], "oom-score-adj", OptionForm::Text),
    ("pid_mode", &["pid"], "pid", OptionForm::Text),
    ("pids_limit", &[], "pids-limit", OptionForm::Text),
    ("port_bindings", &["publish"], "publish", OptionForm::List),
    ("ports", &["expose"], "expose", OptionForm::List),
    ("privileged", &[], "privileged", OptionForm::Flag),
    ("publish_all_ports", &["publish_all"], "publish-all", OptionForm::Flag),
    ("read_only", &[], "read-only", OptionForm::Flag),
    ("restart_policy", &["restart"], "restart", OptionForm::Text),
    ("security_opt", &[], "security-opt", OptionForm::List),
    ("shm_size", &[], "shm-size", OptionForm::Text),
    ("skip_translate", &[], "", OptionForm::Ignored),
    ("stdin_open", &["interactive"], "interactive", OptionForm::Flag),
    ("stop_signal", &[], "stop-signal", OptionForm::Text),
    ("stop_timeout", &[], "stop-timeout", OptionForm::Text),
    ("sysctls", &["sysctl"], "sysctl", OptionForm::Pairs),
    ("tmpfs", &[], "tmpfs", OptionForm::Colons),
    ("tty", &[], "tty", OptionForm::Flag),
    ("ulimits", &["ulimit"], "ulimit", OptionForm::List),
    ("user", &[], "user", OptionForm::Text),
    ("userns_mode", &["userns"], "userns", OptionForm::Text),
    ("uts_mode", &["uts"], "uts", OptionForm::Text),
    ("validate_ip_addrs", &[], "", OptionForm::Ignored),
    ("volume_driver", &[], "volume-driver", OptionForm::Text),
    ("volumes", &["volume"], "volume", OptionForm::List),
    ("volumes_from", &[], "volumes-from", OptionForm::List),
    ("working_dir", &["workdir"], "workdir", OptionForm::Text),
];

/// The specification of a container.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ContainerSpec {
    /// The options of the command line.
    pub options: Vec<String>,
    /// The command of the container; empty for the image's own.
    pub command: Vec<String>,
    pub variables: Vec<(String, String)>,
    /// The arguments by Salt's names.
    pub given: Map,
    /// Networks after the first, each with its own options.
    pub networks: Vec<(String, Vec<String>)>,
}

/// The label with the fingerprint of the configuration.
pub const LABEL: &str = "rocksalt.config";

impl ContainerSpec {
    pub fn new(kwargs: &Map, networks: &Value) -> Result<ContainerSpec> {
        let mut request = ContainerSpec::default();
        for (key, value) in kwargs.iter() {
            let key = key.to_string();
            if key == "command" || key == "cmd" {
                request.command = command(value)?;
                request.given.insert("command", value.clone());
                continue;
            }
            let known = OPTIONS.iter().find(|(name, other, ..)| *name == key || other.contains(&key.as_str()));
            let Some((name, _, option, form)) = known else {
                let names = OPTIONS.iter().map(|(name, ..)| *name).chain(["command", "image", "networks", "force"]);
                return Err(Error::arguments(format!("there is no argument '{key}'{}", nearest::hint(&key, names))));
            };
            if request.given.contains_key(name) {
                return Err(Error::arguments(format!("'{name}' is given twice, under two names")));
            }
            request.given.insert(*name, value.clone());
            request.add(name, option, *form, value)?;
        }
        request.connect(networks)?;
        Ok(request)
    }

    fn add(&mut self, name: &str, option: &str, form: OptionForm, value: &Value) -> Result<()> {
        match form {
            OptionForm::Ignored => {}
            OptionForm::Flag => self.options.extend(value.truth().then(|| format!("--{option}"))),
            OptionForm::Text => self.options.extend((!value.is_null()).then(|| format!("--{option}={value}"))),
            OptionForm::List => self.options.extend(items(value).iter().map(|item| format!("--{option}={item}"))),
            OptionForm::Pairs | OptionForm::Colons => {
                let between = if form == OptionForm::Pairs { "=" } else { ":" };
                let pair = |(key, value): &(String, Option<String>)| match value {
                    Some(value) => format!("--{option}={key}{between}{value}"),
                    None => format!("--{option}={key}"),
                };
                self.options.extend(pairs(name, value, between)?.iter().map(pair));
            }
            OptionForm::Variables => {
                self.variables =
                    pairs(name, value, "=")?.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect();
            }
        }
        Ok(())
    }

    /// The first network is given at creation, the others are connected afterwards.
    fn connect(&mut self, networks: &Value) -> Result<()> {
        let odd = || Error::arguments("Invalid network configuration").hint("write a list of names, or of maps");
        let mut all: Vec<(String, Vec<String>)> = Vec::new();
        let entries: Vec<(Value, Value)> = match networks {
            Value::Null => Vec::new(),
            Value::Map(map) => map.clone().into_iter().collect(),
            other => {
                let mut entries = Vec::new();
                for item in items_of(other) {
                    match item {
                        Value::Map(map) => entries.extend(map),
                        name => entries.push((name, Value::Null)),
                    }
                }
                entries
            }
        };
        for (name, settings) in entries {
            let mut options = Vec::new();
            for (key, value) in pairs("networks", &settings, "=").map_err(|_| odd())? {
                let value = value.unwrap_or_default();
                match key.as_str() {
                    "ipv4_address" => options.push(format!("--ip={value}")),
                    "ipv6_address" => options.push(format!("--ip6={value}")),
                    "aliases" => options.extend(list_text(&value).into_iter().map(|name| format!("--alias={name}"))),
                    "links" => options.extend(list_text(&value).into_iter().map(|name| format!("--link={name}"))),
                    other => return Err(Error::arguments(format!("networks: there is no setting '{other}'"))),
                }
            }
            all.push((name.to_string(), options));
        }
        let mut all = all.into_iter();
        if let Some((name, options)) = all.next() {
            self.options.push(format!("--network={name}"));
            self.options.extend(options.into_iter().map(|option| option.replacen("--alias=", "--network-alias=", 1)));
        }
        self.networks = all.collect();
        Ok(())
    }

    /// Identifies a configuration. An unkeyed hash suffices: whoever can read the label can also read its inputs.
    pub fn fingerprint(&self) -> String {
        let texts = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
        let pair = |(key, value): &(String, String)| Value::from(format!("{key}={value}"));
        let whole = Value::List(vec![
            texts(&self.options),
            texts(&self.command),
            Value::List(self.variables.iter().map(pair).collect()),
            Value::List(
                self.networks
                    .iter()
                    .map(|(name, options)| Value::List(vec![name.as_str().into(), texts(options)]))
                    .collect(),
            ),
        ]);
        raw(Sum::Sha256, json::compact(&whole).as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The whole command line that creates the container, and the variables for its environment.
    pub fn create(&self, name: &str, image: &str) -> (Vec<String>, Vec<(String, Option<String>)>) {
        let mut words = vec!["container".into(), "create".into(), format!("--name={name}")];
        words.push(format!("--label={LABEL}={}", self.fingerprint()));
        words.extend(self.options.iter().cloned());
        let mut environment = Vec::new();
        for (key, value) in &self.variables {
            if is_clients_own(key) {
                words.push(format!("--env={key}={value}"));
            } else {
                words.push(format!("--env={key}"));
                environment.push((key.clone(), Some(value.clone())));
            }
        }
        words.push(image.to_owned());
        words.extend(self.command.iter().cloned());
        (words, environment)
    }
}

/// Whether a variable would affect the client itself.
fn is_clients_own(name: &str) -> bool {
    let prefixes = ["DOCKER_", "CONTAINER", "XDG_", "LD_", "LC_", "PODMAN_", "BUILDAH_", "REGISTRY_"];
    let names = [
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "TMPDIR",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
    ];
    names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn command(value: &Value) -> Result<Vec<String>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(words) => Ok(words.iter().map(ToString::to_string).collect()),
        text => words::split(&text.to_string())
            .map_err(|reason| Error::arguments(format!("command: '{text}' can't be split into words: {reason}"))),
    }
}

fn items_of(value: &Value) -> Vec<Value> {
    match value {
        Value::List(items) => items.clone(),
        Value::String(text) => list_text(text).into_iter().map(Value::from).collect(),
        Value::Null => Vec::new(),
        other => vec![other.clone()],
    }
}

fn items(value: &Value) -> Vec<String> {
    items_of(value).iter().map(ToString::to_string).collect()
}

fn list_text(text: &str) -> Vec<String> {
    let inner = text.trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(|item| item.trim().trim_matches('\'').to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Parses a map, a list of maps with one entry, or a list of texts.
fn pairs(name: &str, value: &Value, between: &str) -> Result<Vec<(String, Option<String>)>> {
    let mut found = Vec::new();
    let shown = |value: &Value| if value.is_null() { None } else { Some(value.to_string()) };
    match value {
        Value::Null => {}
        Value::Map(map) => found.extend(map.iter().map(|(key, value)| (key.to_string(), shown(value)))),
        other => {
            for item in items_of(other) {
                match item {
                    Value::Map(map) => found.extend(map.iter().map(|(key, value)| (key.to_string(), shown(value)))),
                    Value::List(_) => {
                        return Err(Error::arguments(format!("{name}: a map or a list of texts is needed")));
                    }
                    text => {
                        let text = text.to_string();
                        let (key, value) =
                            text.split_once(between).map_or((text.as_str(), None), |(key, value)| (key, Some(value)));
                        found.push((key.to_owned(), value.map(str::to_owned)));
                    }
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    fn request(text: &str, networks: &str) -> Result<ContainerSpec> {
        let arguments = yaml::parse(text).expect("it is YAML").as_map().expect("it is a map").clone();
        ContainerSpec::new(&arguments, &yaml::parse(networks).expect("it is YAML"))
    }

    #[test]
    fn arguments_become_words() {
        let made = request(
            "{environment: [SECRET: s3cr3t, PATH: /x, EMPTY: ''], port_bindings: '80:8080,443:8443', binds: ['/a:/b:ro'], \
             restart: 'on-failure:3', privileged: true, labels: {a: b}, extra_hosts: {db: 10.0.0.1}, \
             command: 'sh -c \"echo hi\"', detach: true, read_only: false}",
            "[front, {back: [{ipv4_address: 10.1.0.5}, {aliases: [one, two]}]}]",
        )
        .expect("the arguments are fine");
        let (words, environment) = made.create("web", "nginx:1");
        let text = words.join(" ");
        assert!(!text.contains("s3cr3t") && environment.contains(&("SECRET".into(), Some("s3cr3t".into()))), "{text}");
        assert!(text.starts_with(&format!("container create --name=web --label={LABEL}=")), "{text}");
        let rest = "--publish=80:8080 --publish=443:8443 --volume=/a:/b:ro --restart=on-failure:3 --privileged --label=a=b \
                    --add-host=db:10.0.0.1 --network=front --env=SECRET --env=PATH=/x --env=EMPTY nginx:1 sh -c echo hi";
        assert!(text.ends_with(rest), "{text}");
        let back = vec!["--ip=10.1.0.5".to_owned(), "--alias=one".into(), "--alias=two".into()];
        assert_eq!(made.networks, [("back".to_owned(), back)]);
    }

    #[test]
    fn odd_arguments_are_named() {
        let error = |text| request(text, "null").expect_err("it is odd").to_string();
        assert_eq!(error("{port_binding: 80}"), "there is no argument 'port_binding'; did you mean 'port_bindings'?");
        assert_eq!(error("{restart: no, restart_policy: always}"), "'restart_policy' is given twice, under two names");
        assert!(request("{}", "{a: {mtu: 4}}").is_err());
    }

    #[test]
    fn other_configurations_have_other_fingerprints() {
        let print = |text| request(text, "null").expect("it is fine").fingerprint();
        assert_eq!(print("{user: a}"), print("{user: a}"));
        assert_ne!(print("{user: a}"), print("{user: b}"));
        assert_ne!(print("{env: {A: 1}}"), print("{env: {A: 2}}"));
        assert_eq!(print("{env: {A: 1}, skip_translate: true}"), print("{environment: {A: 1}}"));
    }
}
