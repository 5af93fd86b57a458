//! [`Spec`]: the host that a test asks for.

use crate::host::Quirk;

/// One host: its kind and what is odd about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Spec {
    pub kind: Kind,
    pub quirks: Vec<Quirk>,
    /// The number of the host through which alone it can be reached.
    pub behind: Option<usize>,
}

impl Spec {
    pub fn debian() -> Spec {
        Spec::default()
    }

    pub fn busybox() -> Spec {
        Spec { kind: Kind::Busybox, ..Spec::default() }
    }

    pub fn systemd() -> Spec {
        Spec { kind: Kind::Systemd, ..Spec::default() }
    }

    #[must_use]
    pub fn with(mut self, quirk: Quirk) -> Spec {
        self.quirks.push(quirk);
        self
    }

    #[must_use]
    pub fn behind(mut self, jump: usize) -> Spec {
        self.behind = Some(jump);
        self
    }

    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}

/// What a host's root and first process are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// A static busybox and dropbear, nothing else; only root.
    Busybox,
    /// Debian with OpenSSH's server as its first process.
    #[default]
    Debian,
    /// Debian with systemd as its first process, which starts the SSH server.
    Systemd,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Busybox, Kind::Debian, Kind::Systemd];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Busybox => "busybox",
            Kind::Debian => "debian",
            Kind::Systemd => "systemd",
        }
    }

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
