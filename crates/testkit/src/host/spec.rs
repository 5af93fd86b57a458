//! [`Spec`]: the host that a test asks for.

use std::path::PathBuf;

use crate::host::Quirk;

/// The specification of one host: its kind and its quirks.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Spec {
    pub kind: HostKind,
    pub quirks: Vec<Quirk>,
    /// The number of the jump host, if the host can be reached only through one.
    pub behind: Option<usize>,
    /// Further Debian packages for its root.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Directories of this machine that the host sees read-only.
    #[serde(default)]
    pub mounts: Vec<Mount>,
}

/// A directory of this machine, and the path at which a host sees it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mount {
    pub from: PathBuf,
    pub at: String,
}

impl Spec {
    pub fn debian() -> Spec {
        Spec::default()
    }

    pub fn busybox() -> Spec {
        Spec { kind: HostKind::Busybox, ..Spec::default() }
    }

    pub fn systemd() -> Spec {
        Spec { kind: HostKind::Systemd, ..Spec::default() }
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

    /// Adds packages to the root. They are installed once and kept for later hosts with the same packages.
    #[must_use]
    pub fn with_packages<I: Into<String>>(mut self, packages: impl IntoIterator<Item = I>) -> Spec {
        self.packages.extend(packages.into_iter().map(Into::into));
        self
    }

    /// Mounts a directory of this machine read-only at `at`.
    #[must_use]
    pub fn with_mount(mut self, from: impl Into<PathBuf>, at: impl Into<String>) -> Spec {
        self.mounts.push(Mount { from: from.into(), at: at.into() });
        self
    }

    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}

/// The kind of a host's root and first process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum HostKind {
    /// A static busybox and dropbear, nothing else; root is the only user.
    Busybox,
    /// Debian with OpenSSH's server as its first process.
    #[default]
    Debian,
    /// Debian with systemd as its first process, which starts the SSH server.
    Systemd,
}

impl HostKind {
    pub const ALL: [HostKind; 3] = [HostKind::Busybox, HostKind::Debian, HostKind::Systemd];

    pub fn name(self) -> &'static str {
        match self {
            HostKind::Busybox => "busybox",
            HostKind::Debian => "debian",
            HostKind::Systemd => "systemd",
        }
    }

    pub fn named(name: &str) -> Option<HostKind> {
        HostKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
