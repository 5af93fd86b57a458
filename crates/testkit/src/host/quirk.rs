//! [`Quirk`]: an oddity of a host, as found in the wild.

/// One oddity. Several can be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Quirk {
    FewStartups,
    FullDisk,
    HostCertificate,
    KeyRefused,
    KeyboardInteractive,
    NoHome,
    NoexecEverywhere,
    NoexecTmp,
    NoisyShell,
    OneSession,
    PasswordOnly,
    RequireTty,
    Silent,
    UserCertificate,
}

impl Quirk {
    pub const ALL: [Quirk; 14] = [
        Quirk::FewStartups,
        Quirk::FullDisk,
        Quirk::HostCertificate,
        Quirk::KeyRefused,
        Quirk::KeyboardInteractive,
        Quirk::NoHome,
        Quirk::NoexecEverywhere,
        Quirk::NoexecTmp,
        Quirk::NoisyShell,
        Quirk::OneSession,
        Quirk::PasswordOnly,
        Quirk::RequireTty,
        Quirk::Silent,
        Quirk::UserCertificate,
    ];

    pub fn named(name: &str) -> Option<Quirk> {
        Quirk::ALL.into_iter().find(|quirk| quirk.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.both().0
    }

    pub fn about(self) -> &'static str {
        self.both().1
    }

    fn both(self) -> (&'static str, &'static str) {
        match self {
            Quirk::FewStartups => ("few-startups", "sshd refuses logins beyond five at once; it has 40 more addresses"),
            Quirk::FullDisk => ("full-disk", "home directories, /tmp, /var/tmp, /dev/shm and /run are full"),
            Quirk::HostCertificate => {
                ("host-certificate", "the host key has a certificate, and known_hosts only the CA")
            }
            Quirk::KeyRefused => ("key-refused", "no key is authorised, and nothing but keys is allowed"),
            Quirk::KeyboardInteractive => {
                ("keyboard-interactive", "sshd asks for the password by keyboard-interactive only")
            }
            Quirk::NoHome => ("no-home", "the users' home directories don't exist"),
            Quirk::NoexecEverywhere => ("noexec-everywhere", "nothing writable can be executed from, not even /run"),
            Quirk::NoexecTmp => ("noexec-tmp", "/tmp and /var/tmp are mounted noexec"),
            Quirk::NoisyShell => ("noisy-shell", "every .bashrc prints to stdout and stderr, for any command"),
            Quirk::OneSession => ("one-session", "sshd allows one command at a time for each login"),
            Quirk::PasswordOnly => ("password-only", "sshd takes passwords and no keys"),
            Quirk::RequireTty => ("requiretty", "sudo works only on a terminal"),
            Quirk::Silent => ("silent", "something accepts connections on port 22 and never says a word"),
            Quirk::UserCertificate => ("user-certificate", "sshd takes only keys with a certificate of the bed's CA"),
        }
    }

    /// Lines for `sshd_config`, which replace the usual ones with the same keywords.
    pub(crate) fn sshd_config(self) -> &'static str {
        match self {
            Quirk::FewStartups => "MaxStartups 5\n",
            Quirk::HostCertificate => "HostCertificate /etc/ssh/host_key-cert.pub\n",
            Quirk::KeyRefused => "PasswordAuthentication no\nKbdInteractiveAuthentication no\n",
            Quirk::KeyboardInteractive => {
                "UsePAM yes\nKbdInteractiveAuthentication yes\nPasswordAuthentication no\nPubkeyAuthentication no\n"
            }
            Quirk::OneSession => "MaxSessions 1\n",
            Quirk::PasswordOnly => "PubkeyAuthentication no\n",
            Quirk::UserCertificate => "TrustedUserCAKeys /etc/ssh/authority.pub\nPasswordAuthentication no\n",
            _ => "",
        }
    }

    /// Shell lines for [`INIT`](super::INIT), which runs them in the new root before it enters it.
    pub(crate) fn setup(self) -> &'static str {
        match self {
            Quirk::FullDisk => "for place in root home tmp var/tmp dev/shm run; do fill $place; done",
            Quirk::NoHome => "rm -rf root home/*",
            Quirk::NoexecEverywhere => "for place in root home tmp var/tmp dev/shm run; do noexec $place; done",
            Quirk::NoexecTmp => "for place in tmp var/tmp; do noexec $place; done",
            _ => "",
        }
    }

    /// Files that the quirk adds to the host.
    pub(crate) fn files(self) -> Vec<(&'static str, &'static str)> {
        const NOISE: &str = "echo 'Welcome to the machine'\necho 'Unauthorised use is forbidden' >&2\n";
        match self {
            Quirk::NoisyShell => {
                let files = ["root/.bashrc", "home/deploy/.bashrc", "home/ops/.bashrc", "home/nosudo/.bashrc"];
                files.map(|file| (file, NOISE)).to_vec()
            }
            Quirk::RequireTty => vec![("etc/sudoers.d/requiretty", "Defaults requiretty\n")],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again() {
        for quirk in Quirk::ALL {
            assert_eq!(Quirk::named(quirk.name()), Some(quirk));
        }
        assert_eq!(Quirk::named("no-such"), None);
    }
}
