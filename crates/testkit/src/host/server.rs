//! The SSH server's configuration and the command that starts it.

use crate::host::{HostKind, Quirk, Spec};

/// Keys are outside of the home directories, so that a host without home directories still accepts logins.
const USUAL: &str = "\
HostKey /etc/ssh/host_key
ListenAddress 0.0.0.0
AuthorizedKeysFile /etc/ssh/authorized_keys/%u
PermitRootLogin prohibit-password
PasswordAuthentication yes
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 1000
MaxSessions 100
LogLevel INFO
Subsystem sftp internal-sftp
";

pub(super) fn sshd_config(spec: &Spec) -> String {
    let odd: String = spec.quirks.iter().map(|quirk| quirk.sshd_config()).collect();
    // sshd uses the first of two settings, but the last `MaxStartups`; so each keyword is written only once.
    let keyword = |line: &str| line.split(' ').next().map(str::to_owned);
    let usual = USUAL.lines().filter(|line| !odd.lines().any(|set| keyword(set) == keyword(line)));
    usual.fold(odd.clone(), |config, line| config + line + "\n")
}

/// The command that the host's first process execs.
pub(super) fn start(spec: &Spec) -> &'static str {
    if spec.has(Quirk::Silent) {
        // Each connection gets a process that keeps it open and sends nothing.
        return "/usr/bin/systemd-socket-activate --accept --listen=22 /bin/sleep infinity";
    }
    match spec.kind {
        HostKind::Busybox => "/usr/sbin/dropbear -F -E -s -r /etc/dropbear/host_key",
        HostKind::Debian => "/usr/sbin/sshd -D -e",
        HostKind::Systemd => {
            "env -i container=testbed PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --log-target=console"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_replaces_what_is_usual() {
        let config = sshd_config(&Spec::debian().with(Quirk::KeyboardInteractive).with(Quirk::FewStartups));
        assert!(config.contains("UsePAM yes\n") && config.contains("MaxStartups 5\n"), "{config}");
        assert!(!config.contains("UsePAM no") && !config.contains("MaxStartups 1000"), "{config}");
        assert!(config.contains("HostKey "), "{config}");
    }
}
