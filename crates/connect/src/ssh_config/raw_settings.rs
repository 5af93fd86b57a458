//! [`RawSettings`]: the values of the directives that apply to a host; the first of each keyword is kept.

use rocksalt_core::nearest;

use super::jump::Jump;
use super::keywords::{self, Treatment};
use super::settings::{
    AddressFamily, StrictHostKeyChecking, UnsupportedSetting, family, flag, number, port, seconds, strictness,
};
use super::words::ConfigLine;

/// The values found so far. Tokens are not expanded yet.
#[derive(Clone, Debug, Default)]
pub struct RawSettings {
    pub hostname: Option<String>,
    pub user: Option<String>,
    pub port: Option<u16>,
    pub identity_files: Vec<String>,
    pub certificate_files: Vec<String>,
    pub identities_only: Option<bool>,
    pub identity_agent: Option<String>,
    pub proxy: Option<Proxy>,
    pub user_known_hosts_files: Option<Vec<String>>,
    pub global_known_hosts_files: Option<Vec<String>>,
    pub host_key_alias: Option<String>,
    pub strict_host_key_checking: Option<StrictHostKeyChecking>,
    pub hash_known_hosts: Option<bool>,
    pub preferred_authentications: Option<String>,
    pub pubkey_authentication: Option<bool>,
    pub password_authentication: Option<bool>,
    pub keyboard_interactive_authentication: Option<bool>,
    pub connect_timeout: Option<u32>,
    pub connection_attempts: Option<u32>,
    pub server_alive_interval: Option<u32>,
    pub server_alive_count_max: Option<u32>,
    pub address_family: Option<AddressFamily>,
    pub bind_address: Option<String>,
    pub compression: Option<bool>,
    pub kex_algorithms: Option<String>,
    pub ciphers: Option<String>,
    pub macs: Option<String>,
    pub host_key_algorithms: Option<String>,
    pub pubkey_accepted_algorithms: Option<String>,
    pub ca_signature_algorithms: Option<String>,
    pub required_rsa_size: Option<u32>,
    pub tag: Option<String>,
    pub ignore_unknown: Option<String>,
    /// Watched keywords that were seen, with the first value of each.
    pub watched: Vec<(String, String, UnsupportedSetting)>,
}

/// How to reach the host. The first of the two keywords counts, even if its value is `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    Command { text: String, origin: String },
    Jump(Vec<Jump>),
}

impl RawSettings {
    /// Sets a value unless it is set already. Fails if the value is invalid.
    pub fn set(&mut self, line: &ConfigLine, origin: &str) -> Result<(), String> {
        let arguments = &line.arguments;
        match line.keyword.as_str() {
            "hostname" => first(&mut self.hostname, arguments, text),
            "user" => first(&mut self.user, arguments, text),
            "port" => first(&mut self.port, arguments, port),
            "identityfile" => more(&mut self.identity_files, arguments),
            "certificatefile" => more(&mut self.certificate_files, arguments),
            "identitiesonly" => first(&mut self.identities_only, arguments, flag),
            "identityagent" => first(&mut self.identity_agent, arguments, text),
            "proxyjump" => {
                let mut jump = None;
                // Tokens are expanded later; that never makes an invalid name valid.
                first(&mut jump, arguments, Jump::parse_list)?;
                self.proxy = self.proxy.take().or(jump.map(Proxy::Jump));
                Ok(())
            }
            "proxycommand" => {
                let command = Proxy::Command { text: line.rest.clone(), origin: origin.to_owned() };
                self.proxy.get_or_insert(command);
                Ok(())
            }
            "userknownhostsfile" => list(&mut self.user_known_hosts_files, arguments),
            "globalknownhostsfile" => list(&mut self.global_known_hosts_files, arguments),
            "hostkeyalias" => first(&mut self.host_key_alias, arguments, text),
            "stricthostkeychecking" => first(&mut self.strict_host_key_checking, arguments, strictness),
            "hashknownhosts" => first(&mut self.hash_known_hosts, arguments, flag),
            "preferredauthentications" => first(&mut self.preferred_authentications, arguments, text),
            "pubkeyauthentication" => first(&mut self.pubkey_authentication, arguments, pubkey),
            "passwordauthentication" => first(&mut self.password_authentication, arguments, flag),
            "kbdinteractiveauthentication" | "challengeresponseauthentication" => {
                first(&mut self.keyboard_interactive_authentication, arguments, flag)
            }
            "connecttimeout" => time(&mut self.connect_timeout, arguments),
            "connectionattempts" => first(&mut self.connection_attempts, arguments, number),
            "serveraliveinterval" => time(&mut self.server_alive_interval, arguments),
            "serveralivecountmax" => first(&mut self.server_alive_count_max, arguments, number),
            "addressfamily" => first(&mut self.address_family, arguments, family),
            "bindaddress" => first(&mut self.bind_address, arguments, text),
            "compression" => first(&mut self.compression, arguments, flag),
            "kexalgorithms" => first(&mut self.kex_algorithms, arguments, text),
            "ciphers" => first(&mut self.ciphers, arguments, text),
            "macs" => first(&mut self.macs, arguments, text),
            "hostkeyalgorithms" => first(&mut self.host_key_algorithms, arguments, text),
            "pubkeyacceptedalgorithms" | "pubkeyacceptedkeytypes" => {
                first(&mut self.pubkey_accepted_algorithms, arguments, text)
            }
            "casignaturealgorithms" => first(&mut self.ca_signature_algorithms, arguments, text),
            "requiredrsasize" => first(&mut self.required_rsa_size, arguments, number),
            "tag" => first(&mut self.tag, arguments, text),
            "ignoreunknown" => first(&mut self.ignore_unknown, arguments, text),
            _ => {
                self.watch(line, origin);
                Ok(())
            }
        }
    }

    fn watch(&mut self, line: &ConfigLine, origin: &str) {
        let keyword = line.keyword.as_str();
        let value = line.arguments.first().map_or("", String::as_str);
        let effect = match keywords::treatment(keyword) {
            Some(Treatment::Watched(effect)) => effect,
            Some(_) => return,
            // A keyword of a newer ssh or of another system, or a misspelt one.
            None => keywords::Effect::Mention,
        };
        let unknown = match keywords::treatment(keyword) {
            Some(_) => String::new(),
            None => format!(" (not known{})", nearest::hint(keyword, keywords::all())),
        };
        if !self.watched.iter().any(|(seen, ..)| seen == keyword) {
            let setting = UnsupportedSetting {
                setting: format!("{} {value}{unknown}", line.written),
                origin: origin.to_owned(),
                effect,
            };
            self.watched.push((keyword.to_owned(), value.to_owned(), setting));
        }
    }
}

fn one(arguments: &[String]) -> Result<&str, String> {
    match arguments {
        [only] if only.is_empty() => Err("the value is empty".to_owned()),
        [only] => Ok(only),
        [] => Err("the value is missing".to_owned()),
        [_, second, ..] => Err(format!("there is more than one value: '{second}'")),
    }
}

fn first<T>(
    place: &mut Option<T>,
    arguments: &[String],
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<(), String> {
    let value = read(one(arguments)?)?;
    place.get_or_insert(value);
    Ok(())
}

/// `none` counts as no value: as in ssh, a later value applies.
fn time(place: &mut Option<u32>, arguments: &[String]) -> Result<(), String> {
    *place = place.or(seconds(one(arguments)?)?);
    Ok(())
}

fn more(place: &mut Vec<String>, arguments: &[String]) -> Result<(), String> {
    let value = one(arguments)?;
    if !place.iter().any(|known| known == value) {
        place.push(value.to_owned());
    }
    Ok(())
}

fn list(place: &mut Option<Vec<String>>, arguments: &[String]) -> Result<(), String> {
    if arguments.is_empty() || arguments.iter().any(String::is_empty) {
        return Err("the value is empty".to_owned());
    }
    if arguments.len() > 1 && arguments.iter().any(|argument| argument.eq_ignore_ascii_case("none")) {
        return Err("'none' must stand alone".to_owned());
    }
    place.get_or_insert_with(|| arguments.to_vec());
    Ok(())
}

fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn pubkey(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        // Both restrict the use of a key in a forwarded agent, which makes no difference here.
        "unbound" | "host-bound" => Ok(true),
        _ => flag(text),
    }
}
