//! Salt's `auth.ldap.*`, validated at the start.

use std::net::IpAddr;
use std::sync::Arc;

use ldap3::Scope;
use rocksalt_core::{Secret, Value};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::super::Setup;

pub struct Settings {
    /// `ldap://host:port` or `ldaps://host:port`.
    pub url: String,
    pub starttls: bool,
    /// TLS with the configured CA; without it the system's CAs are used.
    pub tls: Option<Arc<ClientConfig>>,
    pub base: String,
    pub scope: Scope,
    /// The search account. If it contains the username, the user binds directly.
    pub bind_dn: Option<String>,
    pub bind_password: Option<Secret<String>>,
    /// Finds the user; contains the username.
    pub filter: Option<String>,
    pub anonymous: bool,
    pub account_attribute: String,
    pub group_attribute: String,
    pub group_unit: String,
    pub group_class: String,
    pub person_type: String,
    pub directory: DirectoryType,
}

/// How a directory stores group membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryType {
    Plain,
    Active,
    FreeIpa { base: String, filter: String },
}

impl Settings {
    pub fn read(setup: &Setup<'_>) -> Result<Settings, String> {
        check_names(setup)?;
        let options = LdapOptions(setup);
        if options.flag("no_verify")? {
            return Err("`auth.ldap.no_verify`: the server's certificate is always checked; set the authority that \
                        signed it in `auth.ldap.ca_file`"
                .into());
        }
        if options.flag("auth_by_group_membership_only")? {
            return Err("`auth.ldap.auth_by_group_membership_only` would allow logins without a password".into());
        }
        let (url, starttls) = server(&options)?;
        let (bind_dn, bind_password, filter, anonymous) = search_account(&options)?;
        let group_unit = match setup.get("auth.ldap.groupou") {
            // Empty or false: the groups are anywhere below the base.
            Some(Value::Bool(false)) => String::new(),
            Some(other) => other.to_string(),
            None => "Groups".into(),
        };
        Ok(Settings {
            url,
            starttls,
            tls: options.text("ca_file").map(|file| authority(setup, &file)).transpose()?,
            base: options.text_or("basedn", ""),
            scope: scope(options.text("scope").as_deref())?,
            bind_dn,
            bind_password,
            filter,
            anonymous,
            account_attribute: options.text_or("accountattributename", "memberUid"),
            group_attribute: options.text_or("groupattribute", "memberOf"),
            group_unit,
            group_class: options.text_or("groupclass", "posixGroup"),
            person_type: options.text_or("persontype", "person"),
            directory: directory_type(&options)?,
        })
    }
}

/// The settings `auth.ldap.*`.
struct LdapOptions<'a>(&'a Setup<'a>);

impl LdapOptions<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.0.text(&format!("auth.ldap.{key}")).filter(|text| !text.is_empty())
    }

    fn text_or(&self, key: &str, default: &str) -> String {
        self.text(key).unwrap_or_else(|| default.to_owned())
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        self.0.flag(&format!("auth.ldap.{key}"))
    }
}

/// The server's URL, and whether STARTTLS is used.
fn server(options: &LdapOptions<'_>) -> Result<(String, bool), String> {
    let (starttls, tls) = (options.flag("starttls")?, options.flag("tls")?);
    if starttls && tls {
        return Err("`auth.ldap.starttls` and `auth.ldap.tls`: only one of them is allowed".into());
    }
    let url = options.text("uri").unwrap_or_else(|| {
        let (scheme, port) = if tls { ("ldaps", "636") } else { ("ldap", "389") };
        format!("{scheme}://{}:{}", options.text_or("server", "localhost"), options.text_or("port", port))
    });
    let host = host(&url)?;
    let encrypted = starttls || url.starts_with("ldaps://");
    if !encrypted && !is_loopback(&host) && !options.flag("plaintext")? {
        return Err(format!(
            "passwords to {host} would not be encrypted: set `auth.ldap.starttls` or `auth.ldap.tls` \
             (or `auth.ldap.plaintext: true` if that is intended)"
        ));
    }
    Ok((url, starttls))
}

/// The account that searches, its password, the filter, and whether the search is anonymous.
type SearchAccount = (Option<String>, Option<Secret<String>>, Option<String>, bool);

fn search_account(options: &LdapOptions<'_>) -> Result<SearchAccount, String> {
    let (bind_dn, filter) = (options.text("binddn"), options.text("filter"));
    let anonymous = options.flag("anonymous")?;
    let binds_as_user = bind_dn.as_deref().is_some_and(has_name);
    let bind_password = options.text("bindpw").map(Secret::new);
    if bind_dn.is_none() && !anonymous {
        return Err("`auth.ldap.binddn` is missing (or `auth.ldap.anonymous: true`)".into());
    }
    if !binds_as_user && bind_dn.is_some() && bind_password.is_none() {
        return Err("`auth.ldap.bindpw` is missing: the search account needs a password".into());
    }
    let searches = anonymous || (bind_dn.is_some() && bind_password.is_some());
    if searches && !filter.as_deref().is_some_and(has_name) {
        return Err("`auth.ldap.filter` is missing, or has no {{ username }} in it".into());
    }
    Ok((bind_dn, bind_password, filter, anonymous))
}

fn directory_type(options: &LdapOptions<'_>) -> Result<DirectoryType, String> {
    match (options.flag("activedirectory")?, options.flag("freeipa")?) {
        (true, true) => Err("`auth.ldap.activedirectory` and `auth.ldap.freeipa`: only one of them is allowed".into()),
        (true, false) => Ok(DirectoryType::Active),
        (false, true) => Ok(DirectoryType::FreeIpa {
            base: options.text("group_basedn").ok_or("`auth.ldap.group_basedn` is missing")?,
            filter: options.text("group_filter").ok_or("`auth.ldap.group_filter` is missing")?,
        }),
        (false, false) => Ok(DirectoryType::Plain),
    }
}

/// Rejects unknown settings, so that a typo is not ignored.
fn check_names(setup: &Setup<'_>) -> Result<(), String> {
    const NAMES: [&str; 24] = [
        "accountattributename",
        "activedirectory",
        "anonymous",
        "auth_by_group_membership_only",
        "basedn",
        "binddn",
        "bindpw",
        "ca_file",
        "filter",
        "freeipa",
        "group_basedn",
        "group_filter",
        "groupattribute",
        "groupclass",
        "groupou",
        "minion_stripdomains",
        "no_verify",
        "persontype",
        "plaintext",
        "port",
        "scope",
        "server",
        "starttls",
        "tls",
    ];
    let dotted = setup.config.keys().filter_map(|key| key.as_str()?.strip_prefix("auth.ldap."));
    let block = setup.config.get("auth.ldap").and_then(Value::as_map);
    let below = block.into_iter().flat_map(|block| block.keys().filter_map(Value::as_str));
    for name in dotted.chain(below) {
        if name != "uri" && !NAMES.contains(&name) {
            let hint = rocksalt_core::nearest::hint(name, NAMES);
            return Err(format!("`auth.ldap.{name}` is not a setting{hint}"));
        }
    }
    Ok(())
}

/// Replaces `{{ username }}`. No other Jinja is supported here: a username must not be rendered.
pub fn with_name(template: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        match behind.split_once("}}") {
            Some((inside, after)) if inside.trim() == "username" => {
                out.push_str(before);
                out.push_str(name);
                rest = after;
            }
            _ => {
                out.push_str(before);
                out.push_str("{{");
                rest = behind;
            }
        }
    }
    out + rest
}

pub fn has_name(template: &str) -> bool {
    with_name(template, "") != template
}

fn host(url: &str) -> Result<String, String> {
    let fault = || format!("'{url}' is not a valid LDAP URL: ldap://host[:port] or ldaps://host[:port]");
    let rest = url.strip_prefix("ldap://").or_else(|| url.strip_prefix("ldaps://")).ok_or_else(fault)?;
    let authority = rest.trim_end_matches('/');
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((six, port)) => (six.to_owned(), port.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host.to_owned(), Some(port)),
            None => (authority.to_owned(), None),
        },
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let sound = !host.is_empty() && host.chars().all(plain) && port.is_none_or(|port| port.parse::<u16>().is_ok());
    sound.then_some(host).ok_or_else(fault)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn scope(text: Option<&str>) -> Result<Scope, String> {
    match text {
        None | Some("2" | "subtree") => Ok(Scope::Subtree),
        Some("1" | "onelevel") => Ok(Scope::OneLevel),
        Some("0" | "base") => Ok(Scope::Base),
        Some(other) => Err(format!("`auth.ldap.scope` is 0, 1 or 2, not {other}")),
    }
}

fn authority(setup: &Setup<'_>, file: &str) -> Result<Arc<ClientConfig>, String> {
    let path = setup.directory.join(file);
    let fault = |why: String| format!("`auth.ldap.ca_file`: {}: {why}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&path).map_err(|error| fault(error.to_string()))? {
        let certificate = certificate.map_err(|error| fault(error.to_string()))?;
        roots.add(certificate).map_err(|error| fault(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(fault("it contains no certificate".into()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| fault(error.to_string()))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rocksalt_core::{Map, yaml};

    use super::*;
    use crate::auth::passwords::Passwords;

    fn read(config: &str) -> Result<Settings, String> {
        let Ok(Value::Map(config)) = yaml::parse(config) else { panic!("a map") };
        let (none, passwords) = (Map::new(), Passwords::default());
        let at = Path::new("/");
        Settings::read(&Setup { config: &config, block: &none, directory: at, users: at, passwords: &passwords })
    }

    #[test]
    fn salts_own_examples_are_read() {
        let settings = read(
            "{auth.ldap.server: localhost, auth.ldap.port: 389, auth.ldap.tls: false, auth.ldap.scope: 2, \
             auth.ldap.basedn: 'dc=example,dc=com', auth.ldap.binddn: 'cn=admin,dc=example,dc=com', \
             auth.ldap.bindpw: secret, auth.ldap.filter: 'uid={{ username }}'}",
        );
        let settings = settings.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(settings.url, "ldap://localhost:389");
        assert_eq!(settings.group_unit, "Groups");
        let block = read("{auth.ldap: {binddn: 'uid={{ username }},dc=x', port: 3890, groupou: false}}");
        let block = block.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!((block.url.as_str(), block.group_unit.as_str()), ("ldap://localhost:3890", ""));
        let direct = read("{auth.ldap.uri: 'ldaps://[2001:db8::1]:636', auth.ldap.binddn: 'uid={{username}},dc=x'}");
        assert!(direct.is_ok_and(|settings| settings.filter.is_none()));
    }

    #[test]
    fn unsafe_and_invalid_settings_are_refused() {
        let bind = "auth.ldap.binddn: cn=a, auth.ldap.bindpw: b, auth.ldap.filter: 'uid={{ username }}'";
        let cases = [
            ("{}".to_owned(), "binddn"),
            (format!("{{{bind}, auth.ldap.no_verify: true}}"), "ca_file"),
            (format!("{{{bind}, auth.ldap.server: ldap.example.com}}"), "starttls"),
            (format!("{{{bind}, auth.ldap.starttls: true, auth.ldap.tls: true}}"), "only one"),
            (format!("{{{bind}, auth.ldap.uri: 'http://x'}}"), "not a valid LDAP URL"),
            (format!("{{{bind}, auth.ldap.uri: 'ldap://'}}"), "not a valid LDAP URL"),
            (format!("{{{bind}, auth.ldap.uri: 'ldap://a b'}}"), "not a valid LDAP URL"),
            (format!("{{{bind}, auth.ldap.auth_by_group_membership_only: true}}"), "without a password"),
            ("{auth.ldap.binddn: cn=a}".into(), "bindpw"),
            ("{auth.ldap.binddn: cn=a, auth.ldap.bindpw: b, auth.ldap.filter: uid=x}".into(), "filter"),
            ("{auth.ldap.anonymous: true}".into(), "filter"),
            (format!("{{{bind}, auth.ldap.ca_file: nowhere.pem}}"), "nowhere.pem"),
            (format!("{{{bind}, auth.ldap.sever: x}}"), "server"),
            ("{auth.ldap: {bind_dn: x}}".into(), "binddn"),
        ];
        for (config, text) in cases {
            let why = read(&config).err().unwrap_or_else(|| panic!("it is taken: {config}"));
            assert!(why.contains(text), "{config}: {why}");
        }
    }

    #[test]
    fn only_the_username_is_replaced() {
        assert_eq!(with_name("uid={{ username }},{{x}}", "a{{username}}"), "uid=a{{username}},{{x}}");
        assert!(has_name("{{username}}") && !has_name("{{ user }}") && !has_name("}}{{"));
    }
}
