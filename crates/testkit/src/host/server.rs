//! The SSH server's configuration and the command that starts it.

use crate::host::{Kind, Quirk, Spec};

/// Keys lie outside the home directories, so that a host without them still lets one in.
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
    odd + USUAL
}

/// What the host's first process becomes.
pub(super) fn start(spec: &Spec) -> &'static str {
    if spec.has(Quirk::Silent) {
        // Each connection gets a process that holds it and never says a word.
        return "/usr/bin/systemd-socket-activate --accept --listen=22 /bin/sleep infinity";
    }
    match spec.kind {
        Kind::Busybox => "/usr/sbin/dropbear -F -E -s -r /etc/dropbear/host_key",
        Kind::Debian => "/usr/sbin/sshd -D -e",
        Kind::Systemd => {
            "env -i container=testbed PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --log-target=console"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_comes_before_what_is_usual() {
        let config = sshd_config(&Spec::debian().with(Quirk::KeyboardInteractive));
        let odd = config.find("UsePAM yes").expect("the quirk's");
        let usual = config.find("UsePAM no").expect("the usual");
        assert!(odd < usual, "sshd takes the first:\n{config}");
    }
}
