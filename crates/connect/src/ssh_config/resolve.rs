//! Computes the settings of a host: reads the directives in order, and the first value of each keyword wins.

use std::path::{Path, PathBuf};

use super::jump::Jump;
use super::keywords::{self, Effect};
use super::parse::{Criterion, Directive, DirectiveKind};
use super::pattern::matches_any;
use super::raw_settings::{Proxy, RawSettings};
use super::settings::{HostSettings, IdentityAgent, StrictHostKeyChecking, UnsupportedSetting};
use super::tokens::{self, Tokens};
use super::{Query, ResolveError, SshConfig};
use crate::LocalUser;

/// The keys that ssh tries by default. `id_dsa` and `id_xmss` are left out: no current server accepts them.
const DEFAULT_KEYS: [&str; 5] = ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

pub fn resolve(config: &SshConfig, query: &Query<'_>, local: &LocalUser) -> Result<HostSettings, ResolveError> {
    let proxy = query.proxy_jump.map(Jump::parse_list).transpose().map_err(ResolveError)?;
    let mut search = Search {
        host: query.host.to_owned(),
        asked: query.host,
        local,
        is_final: false,
        wants_final: false,
        unsupported: Vec::new(),
        raw: RawSettings {
            user: query.user.map(str::to_owned),
            port: query.port,
            proxy: proxy.map(Proxy::Jump),
            ..RawSettings::default()
        },
    };
    search.read_files(config);
    if search.wants_final {
        search.host = search.hostname()?;
        search.raw.hostname = Some(search.host.replace('%', "%%"));
        search.is_final = true;
        search.read_files(config);
    }
    search.finish()
}

/// The state of one pass through the directives.
struct Search<'a> {
    /// The name that `Host` patterns are compared with.
    host: String,
    /// The name as the caller gave it.
    asked: &'a str,
    local: &'a LocalUser,
    /// True in the second pass, which `Match final` requests.
    is_final: bool,
    wants_final: bool,
    raw: RawSettings,
    /// Conditions of `Match` that this side can't evaluate.
    unsupported: Vec<UnsupportedSetting>,
}

impl Search<'_> {
    fn read_files(&mut self, config: &SshConfig) {
        for file in &config.files {
            self.read_directives(file, true);
        }
    }

    /// The blocks of an included file apply only where the block around the `Include` applies.
    fn read_directives(&mut self, directives: &[Directive], outer: bool) {
        let mut applies = outer;
        for directive in directives {
            match &directive.kind {
                DirectiveKind::Host(patterns) => {
                    applies = outer && matches_any(&self.host, patterns.iter().map(String::as_str))
                }
                DirectiveKind::Match(criteria) => {
                    applies = self.evaluate_match(criteria, &directive.origin.to_string(), outer)
                }
                DirectiveKind::Include(files) => files.iter().for_each(|file| self.read_directives(file, applies)),
                DirectiveKind::Set(line) if applies => {
                    let checked = self.raw.set(line, &directive.origin.to_string());
                    debug_assert!(checked.is_ok(), "parse checks every value");
                }
                DirectiveKind::Set(_) => {}
            }
        }
    }

    fn evaluate_match(&mut self, criteria: &[Criterion], origin: &str, outer: bool) -> bool {
        let mut applies = outer;
        let mut unknown = None;
        for criterion in criteria {
            let patterns = || criterion.patterns.split(',');
            let lower = criterion.patterns.to_ascii_lowercase();
            let matches = match criterion.name.as_str() {
                "all" => true,
                "canonical" => self.is_final,
                "final" => {
                    self.wants_final = true;
                    self.is_final
                }
                "host" => self.hostname().is_ok_and(|host| matches_any(&host, lower.split(','))),
                "originalhost" => matches_any(&self.asked.to_ascii_lowercase(), lower.split(',')),
                "user" => matches_any(self.raw.user.as_ref().unwrap_or(&self.local.name), patterns()),
                "localuser" => matches_any(&self.local.name, patterns()),
                "tagged" => matches_any(self.raw.tag.as_deref().unwrap_or_default(), patterns()),
                // `exec` would run a shell, which the ssh configuration must not do here (docs/security-rules.md#r7).
                // The others depend on facts that are not known.
                _ => {
                    unknown.get_or_insert(format!("Match {}", criterion.name));
                    continue;
                }
            };
            applies = applies && matches != criterion.negated;
        }
        match unknown {
            Some(setting) => {
                let unsupported = UnsupportedSetting { setting, origin: origin.to_owned(), effect: Effect::Refuse };
                if applies && !self.unsupported.contains(&unsupported) {
                    self.unsupported.push(unsupported);
                }
                false
            }
            None => applies,
        }
    }

    /// The name to connect to, as known at this point.
    fn hostname(&self) -> Result<String, ResolveError> {
        let name = match &self.raw.hostname {
            Some(name) => tokens::percent(name, &[('h', self.asked)]).map_err(ResolveError)?,
            None => self.asked.to_owned(),
        };
        Ok(name.to_ascii_lowercase())
    }

    /// Fills in defaults and expands tokens.
    fn finish(mut self) -> Result<HostSettings, ResolveError> {
        let hostname = self.hostname()?;
        let local = self.local;
        let raw = std::mem::take(&mut self.raw);
        let user = raw.user.clone().unwrap_or_else(|| local.name.clone());
        let port = raw.port.unwrap_or(22);
        let (port_text, uid) = (port.to_string(), local.uid.to_string());
        let home = local.home.to_string_lossy();
        let alias = raw.host_key_alias.as_deref().unwrap_or(self.asked).to_owned();
        let tokens: Tokens<'_> = &[
            ('d', &home),
            ('h', &hostname),
            ('i', &uid),
            ('k', &alias),
            ('L', local.hostname.split('.').next().unwrap_or_default()),
            ('l', &local.hostname),
            ('n', self.asked),
            ('p', &port_text),
            ('r', &user),
            ('u', &local.name),
        ];
        let files = Files::expand(&raw, tokens, local)?;
        let identity_agent = agent(raw.identity_agent.as_deref(), tokens, local)?;
        let mut unsupported = self.unsupported;
        let proxy_jump = proxy_jump(raw.proxy.clone(), tokens, &mut unsupported)?;
        unsupported.extend(unsupported_settings(&raw));
        Ok(host_settings(raw, (hostname, user, port), files, identity_agent, proxy_jump, unsupported))
    }
}

/// The files that the configuration names, or ssh's defaults, with their tokens expanded.
struct Files {
    identities: Vec<PathBuf>,
    identities_are_default: bool,
    certificates: Vec<PathBuf>,
    user_known_hosts: Vec<PathBuf>,
    global_known_hosts: Vec<PathBuf>,
}

impl Files {
    fn expand(raw: &RawSettings, tokens: Tokens<'_>, local: &LocalUser) -> Result<Files, ResolveError> {
        let paths = |texts: &[String]| -> Result<Vec<PathBuf>, ResolveError> {
            texts
                .iter()
                .filter(|text| !text.eq_ignore_ascii_case("none"))
                .map(|text| tokens::path(text, tokens, local).map_err(ResolveError))
                .collect()
        };
        let defaults = |names: &[&str], directory: &Path| names.iter().map(|name| directory.join(name)).collect();
        let ssh = local.home.join(".ssh");
        Ok(Files {
            identities: match raw.identity_files.is_empty() {
                true => defaults(&DEFAULT_KEYS, &ssh),
                false => paths(&raw.identity_files)?,
            },
            identities_are_default: raw.identity_files.is_empty(),
            certificates: paths(&raw.certificate_files)?,
            user_known_hosts: match &raw.user_known_hosts_files {
                Some(files) => paths(files)?,
                None => defaults(&["known_hosts", "known_hosts2"], &ssh),
            },
            global_known_hosts: match &raw.global_known_hosts_files {
                Some(files) => paths(files)?,
                None => defaults(&["ssh_known_hosts", "ssh_known_hosts2"], Path::new("/etc/ssh")),
            },
        })
    }
}

/// The jump hosts. A `ProxyCommand` is not run, and is added to `unsupported`.
fn proxy_jump(
    proxy: Option<Proxy>,
    tokens: Tokens<'_>,
    unsupported: &mut Vec<UnsupportedSetting>,
) -> Result<Vec<Jump>, ResolveError> {
    match proxy {
        Some(Proxy::Jump(hops)) => hops.into_iter().map(|hop| expanded(hop, tokens)).collect(),
        Some(Proxy::Command { text, origin }) if !text.eq_ignore_ascii_case("none") => {
            unsupported.push(UnsupportedSetting { setting: "ProxyCommand".to_owned(), origin, effect: Effect::Refuse });
            Ok(Vec::new())
        }
        _ => Ok(Vec::new()),
    }
}

/// Watched keywords whose value requests something, except for those in `IgnoreUnknown`.
fn unsupported_settings(raw: &RawSettings) -> Vec<UnsupportedSetting> {
    let ignored = raw.ignore_unknown.clone().unwrap_or_default().to_ascii_lowercase();
    let counts = |keyword: &str, value: &str| match keywords::treatment(keyword) {
        Some(_) => keywords::matters(keyword, value),
        None => !matches_any(keyword, ignored.split(',')),
    };
    let watched = raw.watched.iter().filter(|(keyword, value, _)| counts(keyword, value));
    watched.map(|(_, _, setting)| setting.clone()).collect()
}

fn host_settings(
    raw: RawSettings,
    (hostname, user, port): (String, String, u16),
    files: Files,
    identity_agent: IdentityAgent,
    proxy_jump: Vec<Jump>,
    unsupported: Vec<UnsupportedSetting>,
) -> HostSettings {
    HostSettings {
        hostname,
        user,
        port,
        identity_files: files.identities,
        identity_files_are_default: files.identities_are_default,
        certificate_files: files.certificates,
        identities_only: raw.identities_only.unwrap_or(false),
        identity_agent,
        proxy_jump,
        user_known_hosts_files: files.user_known_hosts,
        global_known_hosts_files: files.global_known_hosts,
        host_key_alias: raw.host_key_alias,
        strict_host_key_checking: raw.strict_host_key_checking.unwrap_or(StrictHostKeyChecking::Ask),
        hash_known_hosts: raw.hash_known_hosts.unwrap_or(false),
        preferred_authentications: raw
            .preferred_authentications
            .map(|list| list.split(',').map(|name| name.trim().to_owned()).collect())
            .unwrap_or_default(),
        pubkey_authentication: raw.pubkey_authentication.unwrap_or(true),
        password_authentication: raw.password_authentication.unwrap_or(true),
        keyboard_interactive_authentication: raw.keyboard_interactive_authentication.unwrap_or(true),
        connect_timeout: raw.connect_timeout,
        connection_attempts: raw.connection_attempts.unwrap_or(1),
        server_alive_interval: raw.server_alive_interval.unwrap_or(0),
        server_alive_count_max: raw.server_alive_count_max.unwrap_or(3),
        address_family: raw.address_family.unwrap_or_default(),
        bind_address: raw.bind_address,
        compression: raw.compression.unwrap_or(false),
        kex_algorithms: raw.kex_algorithms,
        ciphers: raw.ciphers,
        macs: raw.macs,
        host_key_algorithms: raw.host_key_algorithms,
        pubkey_accepted_algorithms: raw.pubkey_accepted_algorithms,
        ca_signature_algorithms: raw.ca_signature_algorithms,
        required_rsa_size: raw.required_rsa_size.unwrap_or(1024),
        unsupported,
    }
}

/// Tokens of a jump host refer to the host that is reached through it.
fn expanded(hop: Jump, tokens: Tokens<'_>) -> Result<Jump, ResolveError> {
    let expand = |text: &str| tokens::percent(text, tokens).map_err(ResolveError);
    Ok(Jump { user: hop.user.as_deref().map(expand).transpose()?, host: expand(&hop.host)?, port: hop.port })
}

fn agent(text: Option<&str>, tokens: Tokens<'_>, local: &LocalUser) -> Result<IdentityAgent, ResolveError> {
    Ok(match text {
        None | Some("SSH_AUTH_SOCK") => IdentityAgent::Environment,
        Some("none") => IdentityAgent::None,
        Some(text) => match text.strip_prefix('$').filter(|name| !name.starts_with('{')) {
            // As in ssh, a variable that isn't set means no agent.
            Some(name) => match local.environment.get(name) {
                Some(socket) => IdentityAgent::Socket(PathBuf::from(socket)),
                None => IdentityAgent::None,
            },
            None => IdentityAgent::Socket(tokens::path(text, tokens, local).map_err(ResolveError)?),
        },
    })
}
