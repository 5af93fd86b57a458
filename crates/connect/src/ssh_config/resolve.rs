//! Which settings hold for a host: goes through the items in order, and the first of each kind wins.

use std::path::{Path, PathBuf};

use super::found::{Found, Proxy};
use super::jump::Jump;
use super::keywords::{self, Effect};
use super::parse::{Criterion, Item, What};
use super::pattern::any_fits;
use super::settings::{HostSettings, IdentityAgent, StrictHostKeyChecking, Unhonoured};
use super::tokens::{self, Local, Tokens};
use super::{Config, Query, ResolveError};

/// The keys that ssh tries when none is named. `id_dsa` and `id_xmss` are left out: no server of
/// this decade takes them.
const DEFAULT_KEYS: [&str; 5] = ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

pub fn resolve(config: &Config, query: &Query<'_>, local: &Local) -> Result<HostSettings, ResolveError> {
    let proxy = query.proxy_jump.map(Jump::parse_list).transpose().map_err(ResolveError)?;
    let mut search = Search {
        host: query.host.to_owned(),
        asked: query.host,
        local,
        last: false,
        wants_last: false,
        unhonoured: Vec::new(),
        found: Found {
            user: query.user.map(str::to_owned),
            port: query.port,
            proxy: proxy.map(Proxy::Jump),
            ..Found::default()
        },
    };
    search.files(config);
    if search.wants_last {
        search.host = search.hostname()?;
        search.found.hostname = Some(search.host.replace('%', "%%"));
        search.last = true;
        search.files(config);
    }
    search.settle()
}

/// A search under way.
struct Search<'a> {
    /// What `Host` is compared with.
    host: String,
    /// The name that was asked for.
    asked: &'a str,
    local: &'a Local,
    /// True in the second pass, which `Match final` asks for.
    last: bool,
    wants_last: bool,
    found: Found,
    /// Conditions that can't be judged.
    unhonoured: Vec<Unhonoured>,
}

impl Search<'_> {
    fn files(&mut self, config: &Config) {
        for file in &config.files {
            self.items(file, true);
        }
    }

    /// An included file is within the block that includes it: there its own blocks count too.
    fn items(&mut self, items: &[Item], outer: bool) {
        let mut holds = outer;
        for item in items {
            match &item.what {
                What::Host(patterns) => holds = outer && any_fits(&self.host, patterns.iter().map(String::as_str)),
                What::Match(criteria) => holds = self.fulfils(criteria, &item.origin.to_string(), outer),
                What::Include(files) => files.iter().for_each(|file| self.items(file, holds)),
                What::Set(line) if holds => {
                    let checked = self.found.set(line, &item.origin.to_string());
                    debug_assert!(checked.is_ok(), "parse checks every value");
                }
                What::Set(_) => {}
            }
        }
    }

    fn fulfils(&mut self, criteria: &[Criterion], origin: &str, outer: bool) -> bool {
        let mut holds = outer;
        let mut unknown = None;
        for criterion in criteria {
            let patterns = || criterion.patterns.split(',');
            let lower = criterion.patterns.to_ascii_lowercase();
            let fits = match criterion.name.as_str() {
                "all" => true,
                "canonical" => self.last,
                "final" => {
                    self.wants_last = true;
                    self.last
                }
                "host" => self.hostname().is_ok_and(|host| any_fits(&host, lower.split(','))),
                "originalhost" => any_fits(&self.asked.to_ascii_lowercase(), lower.split(',')),
                "user" => any_fits(self.found.user.as_ref().unwrap_or(&self.local.user), patterns()),
                "localuser" => any_fits(&self.local.user, patterns()),
                "tagged" => any_fits(self.found.tag.as_deref().unwrap_or_default(), patterns()),
                // Rule R7: no shell is run for this; and the rest would need to know more than we do.
                _ => {
                    unknown.get_or_insert(format!("Match {}", criterion.name));
                    continue;
                }
            };
            holds = holds && fits != criterion.negated;
        }
        match unknown {
            Some(setting) => {
                let unhonoured = Unhonoured { setting, origin: origin.to_owned(), effect: Effect::Refuse };
                if holds && !self.unhonoured.contains(&unhonoured) {
                    self.unhonoured.push(unhonoured);
                }
                false
            }
            None => holds,
        }
    }

    /// The name to connect to, as far as it's known.
    fn hostname(&self) -> Result<String, ResolveError> {
        let name = match &self.found.hostname {
            Some(name) => tokens::percent(name, &[('h', self.asked)]).map_err(ResolveError)?,
            None => self.asked.to_owned(),
        };
        Ok(name.to_ascii_lowercase())
    }

    fn settle(mut self) -> Result<HostSettings, ResolveError> {
        let hostname = self.hostname()?;
        let local = self.local;
        let found = std::mem::take(&mut self.found);
        let user = found.user.unwrap_or_else(|| local.user.clone());
        let port = found.port.unwrap_or(22);
        let (port_text, uid) = (port.to_string(), local.uid.to_string());
        let home = local.home.to_string_lossy();
        let alias = found.host_key_alias.as_deref().unwrap_or(self.asked).to_owned();
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
            ('u', &local.user),
        ];
        let paths = |texts: &[String]| -> Result<Vec<PathBuf>, ResolveError> {
            texts
                .iter()
                .filter(|text| !text.eq_ignore_ascii_case("none"))
                .map(|text| tokens::path(text, tokens, local).map_err(ResolveError))
                .collect()
        };
        let defaults = |names: &[&str], folder: &Path| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
        let ssh = local.home.join(".ssh");

        let identity_files_are_default = found.identity_files.is_empty();
        let identity_files = match identity_files_are_default {
            true => defaults(&DEFAULT_KEYS, &ssh),
            false => paths(&found.identity_files)?,
        };
        let user_known_hosts_files = match &found.user_known_hosts_files {
            Some(files) => paths(files)?,
            None => defaults(&["known_hosts", "known_hosts2"], &ssh),
        };
        let global_known_hosts_files = match &found.global_known_hosts_files {
            Some(files) => paths(files)?,
            None => defaults(&["ssh_known_hosts", "ssh_known_hosts2"], Path::new("/etc/ssh")),
        };
        let mut unhonoured = self.unhonoured;
        let proxy_jump = match found.proxy {
            Some(Proxy::Jump(hops)) => hops.into_iter().map(|hop| expanded(hop, tokens)).collect::<Result<_, _>>()?,
            Some(Proxy::Command { text, origin }) if !text.eq_ignore_ascii_case("none") => {
                unhonoured.push(Unhonoured { setting: "ProxyCommand".to_owned(), origin, effect: Effect::Refuse });
                Vec::new()
            }
            _ => Vec::new(),
        };
        let ignored = found.ignore_unknown.unwrap_or_default().to_ascii_lowercase();
        for (keyword, value, setting) in found.watched {
            let known = keywords::treatment(&keyword).is_some();
            let counts =
                if known { keywords::matters(&keyword, &value) } else { !any_fits(&keyword, ignored.split(',')) };
            if counts {
                unhonoured.push(setting);
            }
        }
        Ok(HostSettings {
            identity_agent: agent(found.identity_agent.as_deref(), tokens, local)?,
            certificate_files: paths(&found.certificate_files)?,
            identity_files,
            identity_files_are_default,
            identities_only: found.identities_only.unwrap_or(false),
            proxy_jump,
            user_known_hosts_files,
            global_known_hosts_files,
            host_key_alias: found.host_key_alias,
            strict_host_key_checking: found.strict_host_key_checking.unwrap_or(StrictHostKeyChecking::Ask),
            hash_known_hosts: found.hash_known_hosts.unwrap_or(false),
            preferred_authentications: found
                .preferred_authentications
                .map(|list| list.split(',').map(|name| name.trim().to_owned()).collect())
                .unwrap_or_default(),
            pubkey_authentication: found.pubkey_authentication.unwrap_or(true),
            password_authentication: found.password_authentication.unwrap_or(true),
            keyboard_interactive_authentication: found.keyboard_interactive_authentication.unwrap_or(true),
            connect_timeout: found.connect_timeout,
            connection_attempts: found.connection_attempts.unwrap_or(1),
            server_alive_interval: found.server_alive_interval.unwrap_or(0),
            server_alive_count_max: found.server_alive_count_max.unwrap_or(3),
            address_family: found.address_family.unwrap_or_default(),
            bind_address: found.bind_address,
            compression: found.compression.unwrap_or(false),
            kex_algorithms: found.kex_algorithms,
            ciphers: found.ciphers,
            macs: found.macs,
            host_key_algorithms: found.host_key_algorithms,
            pubkey_accepted_algorithms: found.pubkey_accepted_algorithms,
            ca_signature_algorithms: found.ca_signature_algorithms,
            required_rsa_size: found.required_rsa_size.unwrap_or(1024),
            unhonoured,
            hostname,
            user,
            port,
        })
    }
}

/// Tokens of a hop stand for the host that is reached through it.
fn expanded(hop: Jump, tokens: Tokens<'_>) -> Result<Jump, ResolveError> {
    let expand = |text: &str| tokens::percent(text, tokens).map_err(ResolveError);
    Ok(Jump { user: hop.user.as_deref().map(expand).transpose()?, host: expand(&hop.host)?, port: hop.port })
}

fn agent(text: Option<&str>, tokens: Tokens<'_>, local: &Local) -> Result<IdentityAgent, ResolveError> {
    Ok(match text {
        None | Some("SSH_AUTH_SOCK") => IdentityAgent::Environment,
        Some("none") => IdentityAgent::None,
        Some(text) => match text.strip_prefix('$').filter(|name| !name.starts_with('{')) {
            // A variable that isn't set is no agent, as for ssh.
            Some(name) => match local.environment.get(name) {
                Some(socket) => IdentityAgent::Socket(PathBuf::from(socket)),
                None => IdentityAgent::None,
            },
            None => IdentityAgent::Socket(tokens::path(text, tokens, local).map_err(ResolveError)?),
        },
    })
}
