//! Compares our reading of `~/.ssh/config` with `ssh -G`: generated configurations, all values that both report.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rocksalt_connect::LocalUser;
use rocksalt_connect::ssh_config::{
    AddressFamily, HostSettings, IdentityAgent, Query, StrictHostKeyChecking, load_files,
};

/// Pseudo-random numbers, the same in each run (Knuth's multiplicative step).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.roll(list.len())]
    }
}

const HOSTS: [&str; 5] = ["web", "web1", "db.example.org", "WEB", "10.0.0.7"];
const BLOCKS: [&str; 22] = [
    "Host *",
    "Host web",
    "Host web*",
    "Host web? db.*",
    "Host !web1 *",
    "Host * !db.*",
    "Host WEB",
    "host=web1 # a comment",
    "Host \"web\" 10.*",
    "Match all",
    "Match host web*",
    "Match host *.example.org,web1",
    "Match originalhost web",
    "Match !originalhost web",
    "Match host !web,*",
    "Match user root",
    "Match user deploy,admin host *",
    "Match localuser tester",
    "Match final host *.example.org",
    "Match final all",
    "Match canonical",
    "Match Host inner.example.org",
];
const LINES: [&str; 53] = [
    "HostName inner.example.org",
    "HostName %h.example.org",
    "HostName 100%%",
    "hostname=UPPER.example.org",
    "User deploy",
    "User = admin",
    "USER root",
    "Port 2222",
    "Port=22",
    "Port \"443\"",
    "IdentityFile ~/.ssh/id_a",
    "IdentityFile ~/.ssh/%h_%p_%r",
    "IdentityFile \"/keys/a b\"",
    "IdentityFile /keys/%n.%%.%u",
    "IdentityFile none",
    "CertificateFile ~/.ssh/a-cert.pub",
    "CertificateFile /certs/%h",
    "IdentitiesOnly yes",
    "IdentitiesOnly no",
    "IdentityAgent none",
    "IdentityAgent SSH_AUTH_SOCK",
    "ProxyJump gate",
    "ProxyJump me@gate:2222,second",
    "ProxyJump none",
    "ProxyJump ssh://me@gate:22",
    "ProxyCommand none",
    "UserKnownHostsFile ~/.ssh/kh_%h",
    "UserKnownHostsFile /a \"/b c\" # two",
    "UserKnownHostsFile none",
    "GlobalKnownHostsFile /etc/kh",
    "HostKeyAlias alias.example.org",
    "StrictHostKeyChecking yes",
    "StrictHostKeyChecking accept-new",
    "StrictHostKeyChecking off",
    "PreferredAuthentications publickey,password",
    "PasswordAuthentication no",
    "PubkeyAuthentication no",
    "KbdInteractiveAuthentication no",
    "ChallengeResponseAuthentication yes",
    "ConnectTimeout 1m30s",
    "ConnectTimeout none",
    "ConnectTimeout 5",
    "ConnectionAttempts 3",
    "ServerAliveInterval 30",
    "ServerAliveCountMax 7",
    "AddressFamily inet6",
    "AddressFamily INET",
    "BindAddress 127.0.0.1",
    "Compression yes",
    "RequiredRSASize 2048",
    "HashKnownHosts yes",
    "ControlPath ~/.ssh/%C",
    "Include more",
];

fn generate(dice: &mut Dice, blocks: usize) -> String {
    let mut text = String::from("# generated\n\n");
    for block in 0..blocks {
        if block > 0 || dice.roll(2) == 0 {
            text += &format!("{}\n", dice.pick(&BLOCKS));
        }
        for _ in 0..dice.roll(6) {
            text += &format!("{}{}\n", dice.pick(&["", "  ", "\t"]), dice.pick(&LINES));
        }
    }
    text
}

/// The output of `ssh -G`, by keyword; `Err` is its error message.
fn ask_ssh(config: &Path, home: &Path, host: &str) -> Result<BTreeMap<String, Vec<String>>, String> {
    let output =
        Command::new("ssh").arg("-G").arg("-F").arg(config).arg(host).env("HOME", home).output().expect("ssh runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut answer: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (keyword, value) = line.split_once(' ').unwrap_or((line, ""));
        answer.entry(keyword.to_owned()).or_default().push(value.to_owned());
    }
    Ok(answer)
}

/// Our result in the form of `ssh -G`, except for paths of keys, which `-G` prints as they were written.
fn in_ssh_words(found: &HostSettings) -> BTreeMap<&'static str, String> {
    let flag = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let paths = |paths: &[PathBuf]| match paths.is_empty() {
        true => "none".to_owned(),
        false => paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
    };
    let mut words = BTreeMap::from([
        ("hostname", found.hostname.clone()),
        ("user", found.user.clone()),
        ("port", found.port.to_string()),
        ("identitiesonly", flag(found.identities_only)),
        ("userknownhostsfile", paths(&found.user_known_hosts_files)),
        ("globalknownhostsfile", paths(&found.global_known_hosts_files)),
        ("passwordauthentication", flag(found.password_authentication)),
        ("pubkeyauthentication", if found.pubkey_authentication { "true" } else { "false" }.to_owned()),
        ("kbdinteractiveauthentication", flag(found.keyboard_interactive_authentication)),
        ("connecttimeout", found.connect_timeout.map_or("none".to_owned(), |seconds| seconds.to_string())),
        ("connectionattempts", found.connection_attempts.to_string()),
        ("serveraliveinterval", found.server_alive_interval.to_string()),
        ("serveralivecountmax", found.server_alive_count_max.to_string()),
        ("requiredrsasize", found.required_rsa_size.to_string()),
        ("compression", flag(found.compression)),
        ("hashknownhosts", flag(found.hash_known_hosts)),
    ]);
    words.insert(
        "stricthostkeychecking",
        match found.strict_host_key_checking {
            StrictHostKeyChecking::Yes => "true",
            StrictHostKeyChecking::Ask => "ask",
            StrictHostKeyChecking::AcceptNew => "accept-new",
            StrictHostKeyChecking::Off => "false",
        }
        .to_owned(),
    );
    words.insert(
        "addressfamily",
        match found.address_family {
            AddressFamily::Any => "any",
            AddressFamily::Inet => "inet",
            AddressFamily::Inet6 => "inet6",
        }
        .to_owned(),
    );
    let hops: Vec<String> = found.proxy_jump.iter().map(ToString::to_string).collect();
    words.insert("proxyjump", hops.join(",").replace("ssh://", ""));
    words.insert("hostkeyalias", found.host_key_alias.clone().unwrap_or_default());
    words.insert("preferredauthentications", found.preferred_authentications.join(","));
    words.insert("bindaddress", found.bind_address.clone().unwrap_or_default());
    words
}

fn local(home: &Path) -> LocalUser {
    let name = Command::new("id").arg("-un").output().expect("id runs").stdout;
    LocalUser { name: String::from_utf8_lossy(&name).trim().to_owned(), home: home.to_owned(), ..LocalUser::default() }
}

#[test]
fn generated_configurations_mean_what_ssh_says() {
    if !super::is_there("ssh") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // ssh takes the home from the password file and ignores HOME, for `~` and for Include.
    let home = std::env::home_dir().expect("a home");
    let local = local(&home);
    let (main, more) = (folder.path().join("main"), folder.path().join("more"));
    let mut compared = 0;
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let blocks = 1 + dice.roll(5);
        let include = format!("Include {}", more.display());
        let text = generate(&mut dice, blocks).replace("Include more", &include);
        let inner = generate(&mut dice, 2).replace("Include more", "Compression no");
        fs::write(&main, &text).expect("written");
        fs::write(&more, &inner).expect("written");
        let config =
            load_files(&home, &[(&main, folder.path())]).unwrap_or_else(|bad| panic!("{bad}\n{text}\n{inner}"));
        let host = HOSTS[dice.roll(HOSTS.len())];
        let found = config.resolve(&Query::new(host), &local).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let answer = ask_ssh(&main, &home, host).unwrap_or_else(|error| panic!("ssh: {error}\n{text}\n{inner}"));
        let case = format!("seed {seed}, host {host}\n{text}\n-- more --\n{inner}");
        for (keyword, ours) in in_ssh_words(&found) {
            let theirs = answer.get(keyword).map(|values| values.join(" ")).unwrap_or_default();
            assert_eq!(ours, theirs, "{keyword}: {case}");
            compared += 1;
        }
        let files = |keyword: &str| answer.get(keyword).cloned().unwrap_or_default();
        let named = |files: &[String]| files.iter().filter(|file| *file != "none").count();
        if !found.identity_files_are_default {
            assert_eq!(found.identity_files.len(), named(&files("identityfile")), "identityfile: {case}");
        }
        assert_eq!(found.certificate_files.len(), named(&files("certificatefile")), "certificatefile: {case}");
        let no_agent = files("identityagent") == ["none"];
        assert_eq!(found.identity_agent == IdentityAgent::None, no_agent, "identityagent: {case}");
    }
    assert!(compared > 2000, "{compared}");
}

/// `ssh -v` prints the key files that it tries, with all tokens expanded.
#[test]
fn key_files_are_those_that_ssh_tries() {
    if !super::is_there("ssh") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let home = std::env::home_dir().expect("a home");
    let mut local = local(&home);
    local.environment = BTreeMap::from([("ROCKSALT_KEYS".to_owned(), "/keys/%h".to_owned())]);
    local.uid = rustix::process::getuid().as_raw();
    let path = folder.path().join("config");
    for text in [
        "IdentityFile ~/.ssh/%h_%n_%p_%r_%u_%i_%%\nHostName inner\nPort 7\nUser you\n",
        "IdentityFile %d/key\nIdentityFile /b\nIdentityFile %d/key\nIdentityFile none\n",
        "IdentityFile ${ROCKSALT_KEYS}/%h\n",
        "HostKeyAlias alias\nIdentityFile /k/%k\n",
        "IdentityFile \"/k/a b\"\nIdentityFile relative\n",
    ] {
        fs::write(&path, text).expect("written");
        let config = load_files(&home, &[(&path, folder.path())]).expect("a good configuration");
        let found = config.resolve(&Query::new("outer"), &local).expect("settings");
        let output = Command::new("ssh")
            .args(["-v", "-o", "ProxyCommand=false", "-o", "BatchMode=yes", "-F"])
            .arg(&path)
            .args(["outer", "true"])
            .env("ROCKSALT_KEYS", "/keys/%h")
            .output()
            .expect("ssh runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let theirs: Vec<PathBuf> = stderr
            .lines()
            .filter_map(|line| line.trim_end().strip_prefix("debug1: identity file ")?.rsplit_once(" type "))
            .map(|(file, _)| PathBuf::from(file))
            .filter(|file| !file.to_string_lossy().ends_with("-cert"))
            .collect();
        assert_eq!(found.identity_files, theirs, "{text}\n{stderr}");
    }
}

/// We refuse everything that ssh refuses; the converse need not hold.
#[test]
fn what_ssh_takes_for_wrong_is_wrong() {
    if !super::is_there("ssh") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config");
    for text in [
        "Port 0\n",
        "Port 65536\n",
        "Port 1 2\n",
        "Host\n",
        "User\n",
        "User \"a\n",
        "IdentitiesOnly perhaps\n",
        "AddressFamily inet5\n",
        "ConnectTimeout soon\n",
        "ConnectTimeout 1y\n",
        "StrictHostKeyChecking never\n",
        "Match\n",
        "Match host\n",
        "Match all user a\n",
        "Match moon full\n",
        "ProxyJump a:0\n",
        "ProxyJump a,,b\n",
        "UserKnownHostsFile a none\n",
        "ServerAliveCountMax many\n",
        "Host other\nPort x\n",
    ] {
        fs::write(&path, text).expect("written");
        assert!(ask_ssh(&path, folder.path(), "web").is_err(), "ssh takes {text}");
        assert!(load_files(folder.path(), &[(&path, folder.path())]).is_err(), "we take {text}");
    }
}
