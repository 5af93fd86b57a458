//! The short names of distributions and of their families, as Salt has them.

/// The first ten letters of the full name, without blanks and "Linux", to the short name; sorted.
const NAMES: &[(&str, &str)] = &[
    ("alibabaclo", "Alinux"),
    ("almalinux", "AlmaLinux"),
    ("almalinuxk", "AlmaLinux"),
    ("alt", "ALT"),
    ("amazonami", "Amazon"),
    ("antergos", "Antergos"),
    ("arch", "Arch"),
    ("archarm", "Arch ARM"),
    ("chapeau", "Chapeau"),
    ("cloudlinux", "CloudLinux"),
    ("cloudserve", "CloudLinux"),
    ("debian", "Debian"),
    ("enterprise", "OEL"),
    ("fedoraremi", "Fedora"),
    ("gentoobase", "Gentoo"),
    ("korora", "Korora"),
    ("linuxmint", "Mint"),
    ("manjaro", "Manjaro"),
    ("manjarolin", "Manjaro"),
    ("mendel", "Mendel"),
    ("neon", "KDE neon"),
    ("nilrt", "NILinuxRT"),
    ("oracleserv", "OEL"),
    ("photon", "VMware Photon OS"),
    ("pidora", "Fedora"),
    ("poky", "Poky"),
    ("pop", "Pop"),
    ("raspbian", "Raspbian"),
    ("redhatente", "RedHat"),
    ("rocky", "Rocky"),
    ("scientific", "ScientificLinux"),
    ("sles", "SUSE"),
    ("slesexpand", "RES"),
    ("synology", "Synology"),
    ("univention", "Univention"),
    ("virtuozzo", "Virtuozzo"),
    ("void", "Void"),
];

/// Families with several members; any other distribution is its own family.
const FAMILIES: &[(&str, &[&str])] = &[
    ("Arch", &["Antergos", "Arch ARM", "EndeavourOS", "Manjaro", "Manjaro ARM"]),
    ("Bluewhite", &["Bluewhite64"]),
    (
        "Debian",
        &[
            "AstraLinuxCE",
            "AstraLinuxSE",
            "Cumulus",
            "Deepin",
            "Devuan",
            "GCEL",
            "IDMS",
            "KDE neon",
            "Kali",
            "Linaro",
            "Mendel",
            "Mint",
            "OSMC",
            "Parrot OS",
            "Pop",
            "Raspbian",
            "Trisquel",
            "TurnKey",
            "Ubuntu",
            "Univention",
            "antiX",
            "elementary",
            "elementary OS",
            "neon",
        ],
    ),
    ("Gentoo", &["Funtoo"]),
    ("Mandriva", &["Mandrake"]),
    (
        "RedHat",
        &[
            "ALT",
            "Alinux",
            "AlmaLinux",
            "AlmaLinux Kitten",
            "AlterOS",
            "Amazon",
            "CentOS",
            "CentOS Stream",
            "Chapeau",
            "CloudLinux",
            "FedBerry",
            "Fedora",
            "GoOSe",
            "Korora",
            "OEL",
            "OVS",
            "RED OS",
            "RES",
            "Rocky",
            "Sangoma",
            "Scientific",
            "ScientificLinux",
            "VMware Photon OS",
            "Virtuozzo",
            "XCP",
            "XCP-ng",
            "XenServer",
            "openEuler",
        ],
    ),
    ("Slackware", &["Slamd64"]),
    (
        "Suse",
        &[
            "SLED",
            "SLES",
            "SLES_SAP",
            "SUSE",
            "SUSE  Enterprise Server",
            "SUSE Enterprise Server",
            "alfaLinux",
            "alfaLinux Rise",
            "openSUSE",
            "openSUSE Leap",
            "openSUSE Tumbleweed",
        ],
    ),
    ("VMware", &["VMwareESX"]),
];

/// `Red Hat Enterprise Linux` is `RedHat`, `Rocky Linux` is `Rocky`.
pub(super) fn short(full_name: &str, id: &str) -> String {
    match (id, full_name) {
        ("astra", "Astra Linux (Orel)") => return "AstraLinuxCE".into(),
        ("astra", "Astra Linux (Smolensk)") => return "AstraLinuxSE".into(),
        ("pop", "Pop!_OS") => return "Pop".into(),
        _ => {}
    }
    let name = without_linux(full_name);
    let key: String = name.replace(' ', "").to_lowercase().chars().take(10).collect();
    match NAMES.iter().find(|(long, _)| *long == key) {
        Some((_, short)) => (*short).to_owned(),
        None => name,
    }
}

pub(super) fn family(os: &str) -> &str {
    FAMILIES.iter().find(|(_, members)| members.contains(&os)).map_or(os, |(family, _)| *family)
}

/// Removes every " Linux" and " GNU/Linux" from a name.
fn without_linux(name: &str) -> String {
    let mut rest = name.to_owned();
    for word in ["gnu/linux", "linux"] {
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|tail| tail.to_ascii_lowercase().find(word)).map(|at| at + from)
        {
            let before = rest[..at].chars().next_back();
            match before {
                Some(c) if !c.is_alphanumeric() && c != '_' => {
                    rest.replace_range(at - c.len_utf8()..at + word.len(), "")
                }
                _ => from = at + word.len(),
            }
        }
    }
    rest.trim().to_owned()
}
