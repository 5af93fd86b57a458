//! Every keyword of ssh's configuration and how the native transport treats it.

/// How the native transport treats a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Sets a field of the host's settings.
    Supported,
    /// Makes no difference for running commands: forwarding, logging, interactive sessions.
    Harmless,
    /// Makes a difference for the values that [`matters`] accepts.
    Watched(Effect),
}

/// The consequence if a setting isn't supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Without it a login that ssh would manage may fail: the failure mentions the setting.
    Mention,
    /// Without it rocksalt could reach another machine, or trust a key that ssh would not trust:
    /// the native transport must not connect.
    Refuse,
}

/// The treatment of a keyword in lower case; `None` for an unknown one.
pub fn treatment(keyword: &str) -> Option<Treatment> {
    use Treatment::{Harmless, Supported, Watched};
    let keyword = keyword.to_ascii_lowercase();
    let is_in = |list: &[&str]| list.contains(&keyword.as_str());
    Some(match () {
        () if is_in(&SUPPORTED) => Supported,
        () if is_in(&REFUSED) => Watched(Effect::Refuse),
        () if is_in(&MENTIONED) => Watched(Effect::Mention),
        () if is_in(&HARMLESS) => Harmless,
        () => return None,
    })
}

/// Whether this value of a watched keyword changes the behaviour of ssh.
pub fn matters(keyword: &str, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    match keyword {
        "securitykeyprovider" => value != "internal",
        _ => !matches!(value.as_str(), "no" | "false" | "none" | "off"),
    }
}

pub fn all() -> impl Iterator<Item = &'static str> {
    SUPPORTED.into_iter().chain(REFUSED).chain(MENTIONED).chain(HARMLESS)
}

const SUPPORTED: [&str; 39] = [
    "addressfamily",
    "bindaddress",
    "casignaturealgorithms",
    "certificatefile",
    "challengeresponseauthentication",
    "ciphers",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "globalknownhostsfile",
    "hashknownhosts",
    "host",
    "hostkeyalgorithms",
    "hostkeyalias",
    "hostname",
    "identitiesonly",
    "identityagent",
    "identityfile",
    "ignoreunknown",
    "include",
    "kbdinteractiveauthentication",
    "kexalgorithms",
    "macs",
    "match",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "proxycommand",
    "proxyjump",
    "pubkeyacceptedalgorithms",
    "pubkeyacceptedkeytypes",
    "pubkeyauthentication",
    "requiredrsasize",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "tag",
    "user",
    "userknownhostsfile",
];

const REFUSED: [&str; 4] = ["bindinterface", "canonicalizehostname", "refuseconnection", "revokedhostkeys"];

const MENTIONED: [&str; 11] = [
    "gssapiauthentication",
    "gssapidelegatecredentials",
    "gssapikeyexchange",
    "hostbasedauthentication",
    "hostbasedacceptedalgorithms",
    "knownhostscommand",
    "nohostauthenticationforlocalhost",
    "pkcs11provider",
    "securitykeyprovider",
    "smartcarddevice",
    "verifyhostkeydns",
];

const HARMLESS: [&str; 83] = [
    "addkeystoagent",
    "afstokenpassing",
    "batchmode",
    "canonicaldomains",
    "canonicalizefallbacklocal",
    "canonicalizemaxdots",
    "canonicalizepermittedcnames",
    "channeltimeout",
    "checkhostip",
    "cipher",
    "clearallforwardings",
    "compressionlevel",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "dsaauthentication",
    "dynamicforward",
    "enableescapecommandline",
    "enablesshkeysign",
    "escapechar",
    "exitonforwardfailure",
    "fallbacktorsh",
    "fingerprinthash",
    "forkafterauthentication",
    "forwardagent",
    "forwardx11",
    "forwardx11timeout",
    "forwardx11trusted",
    "gatewayports",
    "globalknownhostsfile2",
    "gssapiclientidentity",
    "gssapikexalgorithms",
    "gssapirenewalforcesrekey",
    "gssapiserveridentity",
    "gssapitrustdns",
    "hostbasedkeytypes",
    "identityfile2",
    "ipqos",
    "kbdinteractivedevices",
    "keepalive",
    "kerberosauthentication",
    "kerberostgtpassing",
    "localcommand",
    "localforward",
    "loglevel",
    "logverbose",
    "numberofpasswordprompts",
    "obscurekeystroketiming",
    "permitlocalcommand",
    "permitremoteopen",
    "protocol",
    "protocolkeepalives",
    "proxyusefdpass",
    "rekeylimit",
    "remotecommand",
    "remoteforward",
    "requesttty",
    "rhostsauthentication",
    "rhostsrsaauthentication",
    "rsaauthentication",
    "sendenv",
    "sessiontype",
    "setenv",
    "setuptimeout",
    "skeyauthentication",
    "stdinnull",
    "streamlocalbindmask",
    "streamlocalbindunlink",
    "syslogfacility",
    "tcpkeepalive",
    "tisauthentication",
    "tunnel",
    "tunneldevice",
    "updatehostkeys",
    "useblacklistedkeys",
    "usekeychain",
    "useprivilegedport",
    "userknownhostsfile2",
    "useroaming",
    "usersh",
    "visualhostkey",
    "warnweakcrypto",
    "xauthlocation",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the lists with the guide, so that neither becomes outdated.
    #[test]
    fn the_guide_names_them_all() {
        let guide = include_str!("../../../../docs/ssh.md");
        let part =
            guide.split("## ~/.ssh/config").nth(1).expect("the chapter").split("\n## ").next().expect("its text");
        let named: Vec<String> = part.split('`').skip(1).step_by(2).map(str::to_ascii_lowercase).collect();
        for keyword in SUPPORTED.into_iter().chain(REFUSED).chain(MENTIONED) {
            assert!(named.iter().any(|name| name == keyword), "docs/ssh.md doesn't name {keyword}");
        }
    }

    #[test]
    fn no_keyword_is_in_two_lists() {
        let mut seen = std::collections::BTreeSet::new();
        for keyword in all() {
            assert!(seen.insert(keyword), "{keyword} is in two lists");
            assert_eq!(keyword, keyword.to_ascii_lowercase());
        }
    }
}
