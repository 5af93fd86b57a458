//! The distribution: `os`, `os_family`, `osrelease` and the grains derived from them.
//!
//! Salt reads three sources and prefers a different one in each case. Formulas rely on the results, so this follows
//! Salt's preferences. `tests/grains/os/` contains Salt's results for each distribution.

use rocksalt_core::{Map, Value};

use super::{look, os_names};
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let read = |path: &str| look::text(machine, path);
    grains.extend(distribution(&read));
}

/// The grains of the distribution, from its files; `read` returns a file's text.
pub fn distribution(read: &dyn Fn(&str) -> Option<String>) -> Map {
    let release = read("/etc/os-release").or_else(|| read("/usr/lib/os-release")).map(|text| Release::parse(&text));
    let mut lsb = Lsb::parse(&read("/etc/lsb-release").unwrap_or_default());
    let mut os = release.as_ref().map(|release| os_names::short(release.name(), release.get("ID").unwrap_or("linux")));
    let mut full_name = release.as_ref().map(|release| release.name().trim().to_owned());
    let mut version = None;

    if lsb.description.as_deref().is_some_and(|text| text.to_lowercase().starts_with("antergos")) {
        full_name = Some("Antergos Linux".into());
    } else if lsb.id.is_none() {
        match &release {
            Some(release) => from_release(release, &mut lsb, &mut os, &mut full_name),
            None => version = from_old_files(read, &mut lsb, &mut full_name),
        }
    }

    let codename_of_file = release.as_ref().and_then(Release::codename);
    let full_name = full_name.unwrap_or_else(|| lsb.id.clone().or_else(|| old_name(read)).unwrap_or_default());
    let full_name = full_name.trim().to_owned();
    // os-release of CentOS 7 and 8 has no minor number.
    if lsb.codename.as_deref().is_some_and(|name| name.contains("CentOS Linux 7") || name.contains("CentOS Linux 8")) {
        lsb.release = None;
    }
    let version = version.or_else(|| lsb.release.clone());
    let version = version.unwrap_or_else(|| best_version(read, release.as_ref())).trim().to_owned();
    let os = os.unwrap_or_else(|| os_names::short(&full_name, ""));
    if let (Some(codename), "Rocky" | "AlmaLinux" | "AstraLinuxSE") = (&lsb.codename, os.as_str())
        && let Some((_, rest)) = codename.split_once('(')
    {
        let inner = rest.split(')').next().unwrap_or_default();
        lsb.codename = Some(match os.as_str() {
            "AstraLinuxSE" => inner.split_whitespace().next().unwrap_or_default().to_lowercase(),
            _ => inner.to_owned(),
        });
    }
    let codename = lsb.codename.as_deref().map(str::trim).filter(|name| !name.is_empty() && !name.contains("Red Hat"));
    let codename = codename.map(str::to_owned).or(codename_of_file).unwrap_or_default();

    let mut grains = lsb.grains();
    grains.insert("os_family", os_names::family(&os));
    grains.insert("os", os);
    grains.insert("osfullname", full_name);
    grains.insert("oscodename", codename);
    grains.insert("osrelease", version);
    if let Some(release) = &release {
        micro(release, &mut grains);
    }
    grains.extend(numbers(&grains));
    grains
}

/// The entries of `/etc/os-release`.
struct Release(Vec<(String, String)>);

impl Release {
    fn parse(text: &str) -> Release {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.split_once('='));
        Release(pairs.map(|(key, value)| (key.trim().to_owned(), unquoted(value))).collect())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn name(&self) -> &str {
        self.get("NAME").unwrap_or("Linux")
    }

    /// The code name: a key of the file, or the part of the version in parentheses or after a comma.
    fn codename(&self) -> Option<String> {
        if let Some(name) = self.get("VERSION_CODENAME").or_else(|| self.get("UBUNTU_CODENAME")) {
            return Some(name.to_owned());
        }
        let version = self.get("VERSION")?;
        match version.split_once('(') {
            Some((_, rest)) => Some(rest.split(')').next()?.trim().to_owned()),
            None => Some(version.split_once(',')?.1.trim().to_owned()),
        }
    }
}

/// The value of an assignment, unquoted as in a shell.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    match value.chars().next() {
        Some('\'') => value.trim_matches('\'').to_owned(),
        _ => {
            let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
            let mut escaped = false;
            let keep = |c: &char| {
                escaped = !escaped && *c == '\\';
                !escaped
            };
            value.chars().filter(keep).collect()
        }
    }
}

/// The data of `/etc/lsb-release`, or of the files that replace it if it is missing.
#[derive(Default)]
struct Lsb {
    id: Option<String>,
    release: Option<String>,
    codename: Option<String>,
    description: Option<String>,
}

impl Lsb {
    fn parse(text: &str) -> Lsb {
        let mut lsb = Lsb::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            // Salt's parser stops at the first character that it doesn't expect.
            let expected = |c: char| c.is_alphanumeric() || c.is_whitespace() || "._-".contains(c);
            let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
            let value: String = value.chars().take_while(|c| expected(*c)).collect();
            let value = Some(value.trim_end().to_owned()).filter(|value| !value.is_empty());
            match key {
                "DISTRIB_ID" => lsb.id = value,
                "DISTRIB_RELEASE" => lsb.release = value,
                "DISTRIB_CODENAME" => lsb.codename = value,
                "DISTRIB_DESCRIPTION" => lsb.description = value,
                _ => {}
            }
        }
        lsb
    }

    fn grains(self) -> Map {
        let mut grains = Map::new();
        let pairs = [
            ("id", self.id),
            ("release", self.release),
            ("codename", self.codename),
            ("description", self.description),
        ];
        for (name, value) in pairs {
            if let Some(value) = value {
                grains.insert(format!("lsb_distrib_{name}"), value);
            }
        }
        grains
    }
}

fn from_release(release: &Release, lsb: &mut Lsb, os: &mut Option<String>, full_name: &mut Option<String>) {
    let get = |key: &str| release.get(key).map(str::to_owned);
    lsb.id = Some(release.name().trim().to_owned());
    lsb.release = get("VERSION_ID");
    lsb.codename = get("VERSION_CODENAME").or_else(|| get("PRETTY_NAME")).or_else(|| Some("Linux".into()));
    if release.get("ID") == Some("mendel") {
        let third = release.get("PRETTY_NAME").and_then(|name| name.split_whitespace().nth(2));
        lsb.release = third.map(str::to_owned).or(lsb.release.take());
    }
    let Some((vendor, version)) = release.get("CPE_NAME").and_then(vendor_and_version) else { return };
    if vendor.eq_ignore_ascii_case("suse") || vendor.eq_ignore_ascii_case("opensuse") {
        *os = Some("SUSE".into());
        if release.name() == "openSUSE Leap" {
            *full_name = Some("Leap".into());
        } else if release.get("VERSION") == Some("Tumbleweed") {
            *full_name = Some("Tumbleweed".into());
        }
        if vendor == "opensuse" && !version.is_empty() {
            lsb.release = Some(version.to_owned());
        }
    }
}

/// Parses `cpe:/o:vendor:product:version…` or `cpe:2.3:o:vendor:product:version…`.
fn vendor_and_version(cpe: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = cpe.split(':').collect();
    let first = match (parts.first(), parts.get(1)) {
        (Some(&"cpe"), Some(&"2.3")) => 3,
        (Some(&"cpe"), Some(kind)) if kind.starts_with('/') => 2,
        _ => return None,
    };
    Some((parts.get(first)?, parts.get(first + 2)?))
}

/// For systems without os-release. Returns the version if the files have a more precise one than `lsb`.
fn from_old_files(
    read: &dyn Fn(&str) -> Option<String>,
    lsb: &mut Lsb,
    full_name: &mut Option<String>,
) -> Option<String> {
    let digits = |line: &str| line.chars().filter(char::is_ascii_digit).collect::<String>();
    if let Some(text) = read("/etc/SuSE-release") {
        lsb.id = Some("SUSE".into());
        let (mut version, mut patch, mut codename) = (String::new(), String::new(), String::new());
        for line in text.lines() {
            let lower = line.to_lowercase();
            if lower.contains("enterprise") {
                lsb.id = Some("SLES".into());
                codename = line.split('(').next().unwrap_or_default().trim().to_owned();
            } else if lower.contains("version") {
                version = digits(line);
            } else if lower.contains("patchlevel") {
                patch = digits(line);
            }
        }
        if !patch.is_empty() {
            version = format!("{version}.{patch}");
            if !codename.is_empty() && !codename.contains(&format!("SP{patch}")) {
                codename = format!("{codename} SP{patch}");
            }
        }
        lsb.codename = Some(if codename.is_empty() { "n.a".into() } else { codename });
        lsb.release = Some(version);
    } else if let Some(text) = read("/etc/altlinux-release") {
        lsb.id = Some("altlinux".into());
        let words: Vec<&str> = text.split_whitespace().collect();
        if let ["ALT", _, version, codename, ..] = words[..] {
            lsb.release = Some(version.to_owned());
            lsb.codename = Some(codename.replace(['(', ')'], ""));
        }
    } else if let Some(text) = read("/etc/centos-release") {
        lsb.id = Some("CentOS".into());
        lsb.release = first_version(&text).map(str::to_owned);
        lsb.codename = text.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0.to_owned()));
    } else if let (Some(text), Some(_)) = (read("/etc.defaults/VERSION"), read("/etc.defaults/synoinfo.conf")) {
        *full_name = Some("Synology".into());
        let release = Release::parse(&text);
        let number = |name: &str| release.get(name);
        if let (Some(major), Some(minor), Some(build)) =
            (number("majorversion"), number("minorversion"), number("buildnumber"))
        {
            return Some(format!("{major}.{minor}-{build}"));
        }
    }
    None
}

const OLD_FILES: &[&str] = &[
    "/etc/centos-release",
    "/etc/redhat-release",
    "/etc/system-release",
    "/etc/fedora-release",
    "/etc/slackware-version",
    "/etc/alpine-release",
];

/// `CentOS` from "CentOS release 6.10 (Final)".
fn old_name(read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let text = OLD_FILES.iter().find_map(|path| read(path))?;
    let name = text.split(" release ").next()?.trim();
    (!name.is_empty() && name != text.trim()).then(|| name.to_owned())
}

/// The version with the most dots in any of the files.
fn best_version(read: &dyn Fn(&str) -> Option<String>, release: Option<&Release>) -> String {
    let mut versions: Vec<String> = Vec::new();
    versions.extend(release.and_then(|release| release.get("VERSION_ID")).map(str::to_owned));
    versions.extend(OLD_FILES.iter().filter_map(|path| Some(first_version(&read(path)?)?.to_owned())));
    let debian = release.is_some_and(|release| {
        release.get("ID") == Some("debian") || release.get("ID_LIKE").is_some_and(|like| like.contains("debian"))
    });
    if debian {
        versions.extend(read("/etc/debian_version").map(|text| text.trim().to_owned()));
    }
    let dots = |version: &String| version.matches('.').count();
    let most = versions.iter().map(dots).max().unwrap_or(0);
    versions.into_iter().find(|version| dots(version) == most).unwrap_or_default()
}

/// The first run of digits and dots.
fn first_version(text: &str) -> Option<&str> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches('.'))
}

/// SL Micro identifies itself as SLES 16, but its users expect its own name.
fn micro(release: &Release, grains: &mut Map) {
    let (Some(product), Some(version)) =
        (release.get("SUSE_SUPPORT_PRODUCT"), release.get("SUSE_SUPPORT_PRODUCT_VERSION"))
    else {
        return;
    };
    let pretty = release.get("SUSE_PRETTY_NAME").map_or_else(|| format!("{product} {version}"), str::to_owned);
    grains.insert("oscodename", pretty);
    grains.insert("osrelease", version);
    if product == "SUSE Linux Micro" {
        grains.insert("osfullname", "SL-Micro");
    }
}

/// `osrelease_info`, `osmajorrelease` and `osfinger`.
fn numbers(grains: &Map) -> Map {
    let text = |name: &str| grains.get(name).and_then(Value::as_str).unwrap_or_default();
    let (os, version) = (text("os"), text("osrelease"));
    let mut found = Map::new();
    if version.is_empty() {
        return found;
    }
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| Value::integer(part)).flatten();
    let info: Vec<Value> = version.split('.').map(|part| number(part).unwrap_or_else(|| part.into())).collect();
    let first = info[0].clone();
    found.insert("osrelease_info", info);
    if matches!(first, Value::Int(_)) {
        found.insert("osmajorrelease", first.clone());
    }
    let name = if matches!(os, "Debian" | "Raspbian" | "AlmaLinux") { os } else { text("osfullname") };
    let finger = match os {
        "Ubuntu" | "Pop" | "NixOS" => format!("{name}-{version}"),
        _ => format!("{name}-{first}"),
    };
    found.insert("osfinger", finger);
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    /// Each case has the files of a distribution, and the results of Salt 3008.3 for them.
    #[test]
    fn distributions_are_named_as_salt_names_them() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grains/os");
        let mut count = 0;
        for entry in fs::read_dir(folder).expect("the cases are there") {
            let path = entry.expect("it can be listed").path();
            let text = fs::read_to_string(&path).expect("it can be read");
            let mut files: BTreeMap<&str, String> = BTreeMap::new();
            let mut name = "";
            for line in text.lines() {
                match line.strip_prefix("=== ") {
                    Some(next) => {
                        name = next;
                        files.insert(name, String::new());
                    }
                    None => *files.get_mut(name).expect("a name comes first") += &format!("{line}\n"),
                }
            }
            let expected = files.remove("expected").expect("a case says what it expects");
            let expected = rocksalt_core::json::parse(&expected).expect("it is JSON");
            let found = Value::Map(distribution(&|path| files.get(path).cloned()));
            assert_eq!(found, expected, "{}", path.display());
            count += 1;
        }
        assert!(count >= 37, "only {count} cases were found");
    }
}
