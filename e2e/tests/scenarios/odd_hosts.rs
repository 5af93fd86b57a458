//! Odd targets, as found in the wild: small, full, locked down, noisy.

use e2e::{Fleet, Quirk, Spec, assert_cause, assert_code, exit, password_of, results, text};

#[test]
fn a_busybox_target_without_python_and_bash_works() {
    let Some(fleet) = Fleet::start(&[Spec::busybox(), Spec::busybox()]) else { return };
    fleet.ping_all();
    let outcome = fleet.run(&["*", "cmd.run", "hostname; readlink /bin/sh"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(text(&outcome, "h2"), "h2\nbusybox");
    assert_code(&fleet.run(&["*", "grains.items"]), exit::FINE);
    assert_eq!(fleet.bed.logins(), [1, 1]);
}

#[test]
fn noexec_on_tmp_is_no_obstacle_and_noexec_everywhere_is_named() {
    let specs = [Spec::debian().with(Quirk::NoexecTmp), Spec::debian().with(Quirk::NoexecEverywhere)];
    let as_user = |_, entry: e2e::TestbedEntry| entry.set("user", "nosudo").set("thin_dir", "/tmp/agent");
    let Some(fleet) = Fleet::start_with(&specs, as_user) else { return };
    // The roster's directory is used or its fault is reported; no other one is used silently.
    let outcome = fleet.run(&["*", "test.ping"]);
    assert_cause(&outcome, "h2", &["noexec"]);
    fleet.set_roster(|_, entry| entry.set("user", "nosudo"));
    let outcome = fleet.run(&["*", "test.ping"]);
    assert_eq!(results(&outcome)["h1"], true, "{}", outcome.all());
    assert_code(&outcome, exit::UNREACHED);
    assert_cause(&outcome, "h2", &["noexec"]);
}

#[test]
fn a_full_disk_is_named_and_leaves_no_half_agent() {
    let Some(fleet) =
        Fleet::start_with(&[Spec::debian().with(Quirk::FullDisk)], |_, entry| entry.set("user", "nosudo"))
    else {
        return;
    };
    let outcome = fleet.run(&["*", "test.ping"]);
    assert_code(&outcome, exit::UNREACHED);
    assert_cause(&outcome, "h1", &["full", "no space"]);
    let left = fleet.host(1).run("find / /home /tmp /var/tmp /dev/shm -xdev -name '*rocksalt*' -type f").expect("find");
    assert_eq!(left, "", "left behind");
}

#[test]
fn a_missing_home_directory_is_no_obstacle() {
    let Some(fleet) = Fleet::start_with(&[Spec::debian().with(Quirk::NoHome)], |_, entry| entry.set("user", "nosudo"))
    else {
        return;
    };
    fleet.ping_all();
}

#[test]
fn a_noisy_shell_does_not_disturb_the_frames() {
    let specs = vec![Spec::debian().with(Quirk::NoisyShell); 2];
    let Some(fleet) =
        Fleet::start_with(
            &specs,
            |number, entry| {
                if number == 1 { entry } else { entry.set("user", "ops").set("sudo", "True") }
            },
        )
    else {
        return;
    };
    fleet.ping_all();
    let outcome = fleet.run(&["*", "cmd.run", "echo mine"]);
    assert_eq!(text(&outcome, "h1"), "mine");
    assert_eq!(text(&outcome, "h2"), "mine");
}

#[test]
fn requiretty_is_named_and_a_terminal_helps() {
    let sudo = |entry: e2e::TestbedEntry| {
        entry.set("user", "deploy").set("sudo", "True").set("sudo_passwd", password_of("deploy"))
    };
    let Some(fleet) = Fleet::start_with(&[Spec::debian().with(Quirk::RequireTty)], |_, entry| sudo(entry)) else {
        return;
    };
    let outcome = fleet.run(&["h1", "cmd.run", "id -un"]);
    // Requesting a terminal automatically is as good as reporting that sudo needs one.
    if outcome.code() == Some(exit::FINE) {
        assert_eq!(text(&outcome, "h1"), "root");
    } else {
        assert_code(&outcome, exit::UNREACHED);
        assert_cause(&outcome, "h1", &["tty"]);
    }
    fleet.set_roster(|_, entry| sudo(entry).set("tty", "True"));
    let outcome = fleet.run(&["h1", "cmd.run", "id -un"]);
    assert_code(&outcome, exit::FINE);
    assert_eq!(text(&outcome, "h1"), "root");
}
