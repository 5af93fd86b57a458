//! Every way to log in and to become root.

use e2e::{Fleet, Quirk, Spec, TestbedEntry, assert_cause, assert_code, exit, password_of, results, text};

/// The user as whom a command runs on the only host, with this roster entry.
fn who(fleet: &Fleet, change: impl Fn(TestbedEntry) -> TestbedEntry) -> String {
    fleet.set_roster(|_, entry| change(entry));
    let outcome = fleet.run(&["h1", "cmd.run", "id -un"]);
    assert_code(&outcome, exit::FINE);
    text(&outcome, "h1")
}

#[test]
fn a_password_is_taken_from_the_roster() {
    let Some(fleet) = Fleet::start(&[Spec::debian().with(Quirk::PasswordOnly)]) else { return };
    let user = who(&fleet, |entry| entry.without("priv").set("user", "deploy").set("passwd", password_of("deploy")));
    assert_eq!(user, "deploy");
    assert_eq!(fleet.bed.logins(), [1]);
}

#[test]
fn a_wrong_password_is_named_and_tried_once() {
    let Some(fleet) = Fleet::start(&[Spec::debian().with(Quirk::PasswordOnly)]) else { return };
    fleet.set_roster(|_, entry| entry.without("priv").set("user", "deploy").set("passwd", "wrong"));
    let outcome = fleet.run(&["h1", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
    assert_cause(&outcome, "h1", &["password"]);
    let failures = fleet.host(1).log().matches("Failed password").count();
    assert_eq!(failures, 1, "{}", fleet.host(1).log());
}

#[test]
fn keyboard_interactive_gets_the_password() {
    let Some(fleet) = Fleet::start(&[Spec::debian().with(Quirk::KeyboardInteractive)]) else { return };
    let user = who(&fleet, |entry| entry.without("priv").set("user", "deploy").set("passwd", password_of("deploy")));
    assert_eq!(user, "deploy");
}

#[test]
fn sudo_with_a_password_without_one_and_not_at_all() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let sudo = |entry: TestbedEntry, user: &str| entry.set("user", user).set("sudo", "True");
    assert_eq!(who(&fleet, |entry| sudo(entry, "deploy").set("sudo_passwd", password_of("deploy"))), "root");
    assert_eq!(who(&fleet, |entry| sudo(entry, "ops")), "root");
    assert_eq!(who(&fleet, |entry| entry.set("user", "nosudo")), "nosudo");

    fleet.set_roster(|_, entry| sudo(entry, "nosudo").set("sudo_passwd", password_of("nosudo")));
    let outcome = fleet.run(&["h1", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
    assert_cause(&outcome, "h1", &["sudo"]);

    // An open link is used whatever the roster says now, since it is found by user and address.
    assert_code(&fleet.rocksalt(&["links", "close"]).finish().expect("it ends"), exit::FINE);
    fleet.set_roster(|_, entry| sudo(entry, "deploy").set("sudo_passwd", "wrong"));
    let outcome = fleet.run(&["h1", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
    assert_cause(&outcome, "h1", &["password"]);
}

#[test]
fn su_and_doas_become_somebody_else_too() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let by = |entry: TestbedEntry, user: &str, way: &str| entry.set("user", user).set("become", way);
    let with_password = |entry: TestbedEntry| entry.set("sudo_passwd", password_of("deploy"));
    assert_eq!(who(&fleet, |entry| with_password(by(entry, "ops", "{method: su, user: deploy}"))), "deploy");
    assert_eq!(who(&fleet, |entry| by(entry, "ops", "doas")), "root", "doas asks ops for no password");
    assert_eq!(who(&fleet, |entry| with_password(by(entry, "deploy", "doas"))), "root", "doas asks at the terminal");
}

#[test]
fn an_ssh_agent_opens_without_a_key_file() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let socket = std::env::temp_dir().join(format!("rocksalt-e2e-agent-{}", std::process::id()));
    let mut agent =
        std::process::Command::new("ssh-agent").arg("-D").arg("-a").arg(&socket).spawn().expect("it starts");
    e2e::wait_until("the agent listens", || socket.exists());
    let add = std::process::Command::new("ssh-add")
        .arg("-q")
        .arg(fleet.bed.user_key())
        .env("SSH_AUTH_SOCK", &socket)
        .status();
    assert!(add.is_ok_and(|status| status.success()), "the key is added");
    fleet.set_roster(|_, entry| entry.without("priv"));
    let arguments = ["h1", "test.ping", "--out", "json", "--static"];
    let outcome = fleet.rocksalt(&arguments).env("SSH_AUTH_SOCK", &socket).finish().expect("it ends");
    let without = fleet.rocksalt(&["links", "close"]).finish().and_then(|_| fleet.rocksalt(&arguments).finish());
    let _ = agent.kill();
    let _ = agent.wait();
    let _ = std::fs::remove_file(&socket);
    assert_code(&outcome, exit::FINE);
    assert_code(&without.expect("it ends"), exit::UNREACHED);
}

#[test]
fn a_user_certificate_opens_and_its_key_alone_does_not() {
    let Some(fleet) = Fleet::start(&[Spec::debian().with(Quirk::UserCertificate)]) else { return };
    let key = fleet.bed.certified_key().display().to_string();
    assert_eq!(who(&fleet, |entry| entry.set("priv", &*key)), "root");
    fleet.set_roster(|_, entry| entry.set("user", "deploy"));
    let outcome = fleet.run(&["h1", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
}

#[test]
fn a_host_certificate_is_trusted_by_its_authority() {
    let Some(fleet) = Fleet::start(&[Spec::debian().with(Quirk::HostCertificate), Spec::debian()]) else { return };
    fleet.ping_all();
    let known = std::fs::read_to_string(fleet.bed.known_hosts()).expect("known_hosts");
    assert!(known.contains("@cert-authority") && !known.contains("h1,"), "h1 is known only by its authority: {known}");
}

#[test]
fn an_unknown_host_key_is_refused_unless_the_roster_accepts_new_ones() {
    let Some(fleet) = Fleet::start(&[Spec::debian()]) else { return };
    let empty = fleet.scratch.write("known_hosts", "").expect("it's written").display().to_string();
    fleet.set_roster(|_, entry| entry.set("known_hosts", &*empty));
    let outcome = fleet.run(&["h1", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
    assert_cause(&outcome, "h1", &["host key", "known_hosts"]);
    assert_eq!(fleet.bed.logins(), [0]);
    fleet.set_roster(|_, entry| entry.set("known_hosts", &*empty).set("accept_new", "True"));
    fleet.ping_all();
    let remembered = std::fs::read_to_string(&empty).expect("known_hosts");
    assert!(remembered.contains(&fleet.host(1).address) || remembered.starts_with("|1|"), "{remembered:?}");
}

#[test]
fn a_host_behind_another_is_reached_by_proxy_jump() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian().behind(1)]) else { return };
    let config = format!(
        "Host {}\n  ProxyJump root@{}\n\nHost *\n  IdentityFile {}\n  UserKnownHostsFile {}\n",
        fleet.host(2).address,
        fleet.host(1).address,
        fleet.bed.user_key().display(),
        fleet.bed.known_hosts().display(),
    );
    fleet.scratch.write("home/.ssh/config", &config).expect("it's written");
    let outcome = fleet.run(&["h2", "cmd.run", "hostname"]);
    assert_eq!(text(&outcome, "h2"), "h2");
    assert_code(&outcome, exit::FINE);
    assert_code(&fleet.run(&["h2", "test.ping"]), exit::FINE);
    assert_eq!(fleet.bed.logins(), [1, 1], "the jump host once, the one behind it once");
}

#[test]
fn the_systems_own_ssh_makes_one_login_too() {
    let Some(fleet) =
        Fleet::start_with(&[Spec::debian(), Spec::debian()], |_, entry| entry.set("transport", "openssh"))
    else {
        return;
    };
    fleet.ping_all();
    fleet.ping_all();
    assert_eq!(fleet.bed.logins(), [1, 1]);
}

#[test]
fn an_sshd_that_refuses_for_load_is_tried_again() {
    let Some(fleet) = Fleet::start(&[Spec::debian().with(Quirk::FewStartups)]) else { return };
    let first = fleet.bed.entry(1).expect("an entry");
    let entries: Vec<TestbedEntry> = (fleet.host(1).addresses().into_iter().enumerate())
        .map(|(index, address)| TestbedEntry { id: format!("a{index}"), ..first.clone() }.set("host", address))
        .collect();
    fleet.scratch.write("config/roster", &rocksalt_testkit::roster(&entries)).expect("the roster is written");
    let outcome = fleet.run(&["*", "test.ping"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(results(&outcome).values().filter(|value| **value == true).count(), entries.len(), "{}", outcome.all());
    assert_eq!(fleet.bed.logins(), [entries.len()]);
}
