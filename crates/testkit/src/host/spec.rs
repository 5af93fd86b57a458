//! [`Spec`]: the host that a test asks for.

use std::path::PathBuf;

use crate::host::Quirk;

/// One host: its kind and what is odd about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Spec {
    pub kind: HostKind,
    pub quirks: Vec<Quirk>,
    /// The number of the host through which alone it can be reached.
    pub behind: Option<usize>,
    /// Debian packages that its root has beyond the base's.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Directories of this machine that it sees, read-only.
    #[serde(default)]
    pub mounts: Vec<Mount>,
}

/// A directory of this machine, and where a host sees it.
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

    /// With further packages in its root, installed once and kept for all later hosts with the same ones.
    #[must_use]
    pub fn with_packages<I: Into<String>>(mut self, packages: impl IntoIterator<Item = I>) -> Spec {
        self.packages.extend(packages.into_iter().map(Into::into));
        self
    }

    /// With a directory of this machine at a place of its own, read-only.
    #[must_use]
    pub fn with_mount(mut self, from: impl Into<PathBuf>, at: impl Into<String>) -> Spec {
        self.mounts.push(Mount { from: from.into(), at: at.into() });
        self
    }

    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}

/// What a host's root and first process are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum HostKind {
    /// A static busybox and dropbear, nothing else; only root.
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
