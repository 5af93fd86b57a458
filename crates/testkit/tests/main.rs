//! Tests the throw-away hosts with the system's ssh. Without root they are skipped, with a reason.

use std::io::Read;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use rocksalt_testkit::{Bed, Loopback, Quirk, Spec, cannot_run_hosts, say_skipped};

fn ssh(bed: &Bed, number: usize, options: &[&str], user: &str, command: &str) -> Output {
    let known = format!("UserKnownHostsFile={}", bed.known_hosts().display());
    let address = &bed.host(number).expect("it's there").address;
    bed.command("ssh")
        .args(["-F", "none", "-o", &known, "-o", "BatchMode=yes", "-o", "ConnectTimeout=3"])
        .args(["-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-i"])
        .arg(bed.user_key())
        .args(options)
        .arg(format!("{user}@{address}"))
        .arg(command)
        .output()
        .expect("ssh starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_login_is_counted_and_a_host_has_its_own_name_and_users() {
    let Some(bed) = Bed::start_or_skip(&[Spec::debian(), Spec::debian()]) else { return };
    let output = ssh(&bed, 2, &[], "root", "hostname; id -un; command -v python3 || echo none");
    assert_eq!(out(&output), "h2\nroot\nnone\n", "{}", err(&output));
    assert_eq!(bed.logins(), [0, 1]);
    let output = ssh(&bed, 1, &[], "ops", "sudo -n id -un");
    assert_eq!(out(&output), "root\n", "{}", err(&output));
    let output = ssh(&bed, 1, &[], "deploy", "echo deploy-password | sudo -S -p '' id -un");
    assert_eq!(out(&output), "root\n", "{}", err(&output));
    let output = ssh(&bed, 1, &[], "nosudo", "echo nosudo-password | sudo -S -p '' id -un");
    assert!(!output.status.success(), "{}", out(&output));
}

#[test]
fn a_host_has_the_packages_that_are_asked_for_and_cannot_set_the_clock() {
    let files = tempfile::tempdir().expect("a directory");
    std::fs::write(files.path().join("note"), "here").expect("it's written");
    let with =
        Spec::systemd().with_packages(["cron", "iptables", "nftables"]).with_mount(files.path(), "/opt/it's here");
    let Some(bed) = Bed::start_or_skip(&[with, Spec::debian()]) else { return };
    let (first, second) = (bed.host(1).expect("it's there"), bed.host(2).expect("it's there"));
    let run = |lines: &str| first.run(lines).expect(lines);
    run("systemctl is-system-running --wait; systemctl is-active cron; iptables --append INPUT --jump ACCEPT");
    assert_eq!(
        run("cat \"/opt/it's here/note\"; touch \"/opt/it's here/x\" 2>/dev/null || echo read-only"),
        "hereread-only\n"
    );
    assert!(second.run("command -v crontab").is_err(), "the other host has none");
    assert!(run("ls /var/lib/apt/lists /usr/sbin/policy-rc.d 2>&1 || true").contains("No such file"));
    let before = std::time::SystemTime::now();
    run("timedatectl set-timezone Pacific/Auckland; ! date --set '+2 hours' 2>/dev/null");
    assert!(before.elapsed().is_ok_and(|passed| passed.as_secs() < 600), "the machine's clock was set");
}

#[test]
fn processes_of_a_host_are_found_by_program_and_killed() {
    let Some(bed) = Bed::start_or_skip(&[Spec::debian()]) else { return };
    let host = bed.host(1).expect("it's there");
    host.run("cp /bin/sleep /var/tmp/odd-name; exec 9</var/tmp/odd-name; /proc/self/fd/9 600 >/dev/null 2>&1 &")
        .expect("it starts");
    // The process becomes a child of the host's first process when the shell that started it has exited.
    let end = Instant::now() + Duration::from_secs(5);
    while host.processes("odd-name").is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(host.kill("odd-name"), 1);
    assert_eq!(host.processes("sleep 600"), [0; 0]);
}

#[test]
fn a_host_that_is_cut_off_is_silent_until_it_is_healed() {
    let Some(bed) = Bed::start_or_skip(&[Spec::debian()]) else { return };
    bed.cut(1).expect("cut");
    let output = ssh(&bed, 1, &[], "root", "true");
    assert!(err(&output).contains("timed out") || err(&output).contains("No route"), "{}", err(&output));
    bed.heal(1).expect("heal");
    let output = ssh(&bed, 1, &[], "root", "true");
    assert!(output.status.success(), "{}", err(&output));
}

#[test]
fn a_changed_host_key_is_refused() {
    let Some(bed) = Bed::start_or_skip(&[Spec::debian()]) else { return };
    bed.host(1).expect("it's there").change_host_key().expect("the key changes");
    let output = ssh(&bed, 1, &[], "root", "true");
    assert!(err(&output).contains("REMOTE HOST IDENTIFICATION HAS CHANGED"), "{}", err(&output));
}

#[test]
fn logins_are_refused_or_asked_for_as_the_quirk_says() {
    let quirks = [Quirk::KeyRefused, Quirk::PasswordOnly, Quirk::KeyboardInteractive, Quirk::Silent];
    let Some(bed) = Bed::start_or_skip(&quirks.map(|quirk| Spec::debian().with(quirk))) else { return };
    let methods = |number| err(&ssh(&bed, number, &[], "root", "true"));
    assert!(methods(1).contains("Permission denied (publickey)"), "{}", methods(1));
    assert!(methods(2).contains("Permission denied (password)"), "{}", methods(2));
    assert!(methods(3).contains("Permission denied (keyboard-interactive)"), "{}", methods(3));
    let began = Instant::now();
    let silent = methods(4);
    assert!(silent.contains("timed out"), "{silent}");
    assert!(began.elapsed() >= Duration::from_secs(2), "it accepted the connection and sent nothing");
}

#[test]
fn certificates_are_taken_and_needed() {
    let Some(bed) =
        Bed::start_or_skip(&[Spec::debian().with(Quirk::HostCertificate), Spec::debian().with(Quirk::UserCertificate)])
    else {
        return;
    };
    let output = ssh(&bed, 1, &[], "root", "true");
    assert!(output.status.success(), "{}", err(&output));
    assert!(!ssh(&bed, 2, &[], "root", "true").status.success());
    let key = bed.certified_key().display().to_string();
    let output = ssh(&bed, 2, &["-i", &key], "deploy", "id -un");
    assert_eq!(out(&output), "deploy\n", "{}", err(&output));
}

#[test]
fn a_host_behind_another_is_reached_only_through_it() {
    let Some(bed) = Bed::start_or_skip(&[Spec::debian(), Spec::debian().behind(1)]) else { return };
    assert!(!ssh(&bed, 2, &[], "root", "true").status.success());
    let config = format!(
        "Host *\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  User root\n",
        bed.user_key().display(),
        bed.known_hosts().display(),
    );
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("config");
    std::fs::write(&path, config).expect("it's written");
    let (jump, inner) = (&bed.hosts()[0].address, &bed.hosts()[1].address);
    let output =
        bed.command("ssh").arg("-F").arg(&path).args(["-J", jump, inner, "hostname"]).output().expect("ssh starts");
    assert_eq!(out(&output), "h2\n", "{}", err(&output));
}

#[test]
fn disks_and_shells_are_as_odd_as_the_quirk_says() {
    let quirks = [
        Quirk::FullDisk,
        Quirk::NoHome,
        Quirk::NoexecEverywhere,
        Quirk::NoexecTmp,
        Quirk::NoisyShell,
        Quirk::RequireTty,
    ];
    let Some(bed) = Bed::start_or_skip(&quirks.map(|quirk| Spec::debian().with(quirk))) else { return };
    for user in ["root", "deploy"] {
        for place in ["~", "/tmp", "/var/tmp", "/dev/shm"] {
            let output = ssh(&bed, 1, &[], user, &format!("head -c 5000 /dev/zero >{place}/x-{user}"));
            assert!(err(&output).contains("No space left"), "{user} {place}: {}", err(&output));
        }
        let output = ssh(&bed, 2, &[], user, "cd ~");
        assert!(!output.status.success(), "{user} has a home");
        for (number, place, runs) in [
            (3, "~", false),
            (3, "/tmp", false),
            (3, "/dev/shm", false),
            (4, "/tmp", false),
            (4, "/var/tmp", false),
            (4, "~", true),
        ] {
            let output = ssh(&bed, number, &[], user, &format!("cd {place} && cp /bin/true x-{user} && ./x-{user}"));
            assert_eq!(output.status.success(), runs, "{number} {user} {place}: {}", err(&output));
        }
        let output = ssh(&bed, 5, &[], user, "echo mine");
        assert_eq!(out(&output), "Welcome to the machine\nmine\n", "{}", err(&output));
    }
    let output = ssh(&bed, 6, &[], "ops", "sudo -n true");
    assert!(err(&output).contains("tty"), "{}", err(&output));
    let output = ssh(&bed, 6, &["-tt"], "ops", "sudo -n id -un");
    assert!(output.status.success(), "{}", err(&output));
}

#[test]
fn a_busy_sshd_refuses_some() {
    let Some(bed) = Bed::start_or_skip(&[Spec::debian().with(Quirk::FewStartups)]) else { return };
    let address = bed.hosts()[0].addresses().pop().expect("the host has many addresses");
    // Opens five connections that never send a banner; they last until stdin ends.
    let hold = format!("for i in 1 2 3 4 5; do exec {{fd}}<>/dev/tcp/{address}/22; read -u $fd; done; echo held; cat");
    let mut holder = bed.command("bash");
    holder.args(["-c", &hold]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = holder.spawn().expect("bash starts");
    let mut line = [0; 5];
    holder.stdout.as_mut().expect("piped").read_exact(&mut line).expect("all five connections are held");
    let refused = ssh(&bed, 1, &[], "root", "true");
    assert!(!refused.status.success(), "the sixth connection was accepted");
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    let output = ssh(&bed, 1, &[], "root", "true");
    assert!(output.status.success(), "{}", err(&output));
}

#[test]
fn a_busybox_host_has_no_bash_and_counts_its_logins() {
    let Some(bed) = Bed::start_or_skip(&[Spec::busybox()]) else { return };
    let output =
        ssh(&bed, 1, &[], "root", "hostname; for p in bash python3 sudo; do command -v $p; done; readlink /bin/ls");
    assert_eq!(out(&output), "h1\nbusybox\n", "{}", err(&output));
    assert_eq!(bed.logins(), [1]);
}

#[test]
fn systemd_runs_as_the_first_process() {
    let Some(bed) = Bed::start_or_skip(&[Spec::systemd()]) else { return };
    let output =
        ssh(&bed, 1, &[], "root", "cat /proc/1/comm; systemctl is-system-running --wait; systemctl --failed --plain");
    assert!(out(&output).starts_with("systemd\nrunning\n"), "{}{}", out(&output), err(&output));
    assert_eq!(bed.logins(), [1]);
}

#[test]
fn nothing_is_left_when_a_bed_is_dropped() {
    let Some(bed) = Bed::start_or_skip(&[Spec::debian(), Spec::busybox()]) else { return };
    let address = bed.hosts()[0].address.clone();
    let files = bed.known_hosts();
    let mut sleeper = bed.command("sleep").arg("600").spawn().expect("sleep starts");
    drop(bed);
    assert!(!files.exists(), "{} of {address}", files.display());
    let status = sleeper.wait().expect("it was killed with its network");
    assert!(!status.success());
}

#[test]
fn without_root_there_are_servers_on_loopback() {
    if !Path::new("/usr/sbin/sshd").exists() {
        return say_skipped("no /usr/sbin/sshd (package openssh-server)");
    }
    if cannot_run_hosts().is_none() && !Path::new("/run/sshd").exists() {
        return say_skipped("root's sshd wants /run/sshd; this is for those who aren't root");
    }
    let mut loopback = Loopback::start(2).expect("they start");
    let entries = loopback.entries();
    assert_eq!(entries.len(), 2);
    let field = |index: usize, name: &str| {
        let field = entries[index].fields.iter().find(|(key, _)| key == name);
        field.map(|(_, value)| value.clone()).expect("the entry has it")
    };
    let ssh = |index| {
        let mut ssh = std::process::Command::new("ssh");
        ssh.args(["-F", "none", "-o", "BatchMode=yes", "-i", &field(index, "priv"), "-p", &field(index, "port")]);
        ssh.args(["-o", &format!("UserKnownHostsFile={}", field(index, "known_hosts")), "127.0.0.1", "echo up"]);
        ssh.output().expect("ssh starts")
    };
    assert_eq!(out(&ssh(0)), "up\n", "{}", err(&ssh(0)));
    loopback.stop(1);
    assert!(err(&ssh(0)).contains("refused"), "{}", err(&ssh(0)));
    assert_eq!(out(&ssh(1)), "up\n", "{}", err(&ssh(1)));
}
