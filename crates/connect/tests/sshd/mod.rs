//! [`Sshd`]: a real sshd on loopback, as the current user, for one test.

use std::fs::{self, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rocksalt_core::roster::RosterEntry;
use tempfile::TempDir;

const PROGRAM: &str = "/usr/sbin/sshd";

/// Dropping it stops the server.
pub struct Sshd {
    pub port: u16,
    folder: TempDir,
    child: Child,
}

impl Sshd {
    /// `None`, with a message on stderr, if sshd is not installed.
    pub fn start() -> Option<Sshd> {
        Sshd::start_with("")
    }

    /// As [`Sshd::start`], with additional lines of sshd's configuration.
    #[allow(clippy::print_stderr, reason = "a test that is skipped must say so")]
    pub fn start_with(configuration: &str) -> Option<Sshd> {
        if !Path::new(PROGRAM).exists() {
            eprintln!("skipped: there is no {PROGRAM}");
            return None;
        }
        if rustix::process::getuid().is_root() {
            // A root sshd drops its privileges, and needs an empty directory for that.
            fs::create_dir_all("/run/sshd").expect("sshd's folder");
        }
        let folder = tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["host_key", "user_key", "other_key"] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path(name)).status();
            assert!(made.expect("ssh-keygen runs").success());
        }
        fs::copy(path("user_key.pub"), path("authorized_keys")).expect("the user's key is let in");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port").port();
        let text = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {0}/host_key\nPidFile none\nAuthorizedKeysFile {0}/authorized_keys\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nLogLevel VERBOSE\n{configuration}",
            folder.path().display()
        );
        fs::write(path("sshd_config"), text).expect("sshd's configuration");
        let child = Command::new(PROGRAM)
            .args(["-D", "-f"])
            .arg(path("sshd_config"))
            .arg("-E")
            .arg(path("log"))
            .stdin(Stdio::null())
            // Its messages are in the log.
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd starts");
        let sshd = Sshd { port, folder, child };
        let host_key = fs::read_to_string(sshd.path("host_key.pub")).expect("the host's key");
        sshd.record(&host_key);
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "sshd does not listen: {}", sshd.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(sshd)
    }

    /// The roster entry of the server: with the right key, and the host's key recorded.
    pub fn entry(&self, transport: &str) -> RosterEntry {
        let mut entry = RosterEntry::new("target", "127.0.0.1");
        entry.transport = transport.to_owned();
        entry.port = Some(self.port);
        entry.keys = vec![self.path("user_key")];
        entry.identities_only = true;
        entry.known_hosts = Some(self.path("known_hosts"));
        entry.timeout = Some(10);
        entry
    }

    /// `host_key`, `user_key`, `other_key` (with `.pub`), `known_hosts`, `authorized_keys`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes this the one key in known_hosts.
    pub fn record(&self, key: &str) {
        let line = format!("[127.0.0.1]:{} {key}\n", self.port);
        fs::write(self.path("known_hosts"), line).expect("known_hosts");
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub fn logins(&self) -> usize {
        self.log().lines().filter(|line| line.starts_with("Accepted ") && line.contains(" for ")).count()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
