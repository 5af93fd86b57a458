//! [`Loopback`]: SSH servers on loopback ports as the current user, for tests without root.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::error::{Error, FileContext};
use crate::keys;
use crate::process::{self, poll};
use crate::roster::TestbedEntry;

/// Servers that run until the value is dropped. All of them are the same machine and the same user.
#[derive(Debug)]
pub struct Loopback {
    directory: tempfile::TempDir,
    servers: Vec<LoopbackServer>,
}

#[derive(Debug)]
struct LoopbackServer {
    port: u16,
    process: Child,
}

impl Loopback {
    pub fn start(count: usize) -> Result<Loopback, Error> {
        let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].iter().map(Path::new).find(|path| path.exists());
        let sshd = sshd.ok_or_else(|| Error::Start {
            program: "sshd (package openssh-server)".into(),
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        let directory = tempfile::tempdir().file("create a directory in", std::env::temp_dir())?;
        keys::generate(&directory.path().join("user"))?;
        let mut loopback = Loopback { directory, servers: Vec::new() };
        for number in 1..=count {
            let server = loopback.start_server(sshd, number)?;
            loopback.servers.push(server);
        }
        Ok(loopback)
    }

    /// The roster entries `h1`, `h2`, … for the current user.
    pub fn entries(&self) -> Vec<TestbedEntry> {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let entry = |(index, server): (usize, &LoopbackServer)| {
            let entry = TestbedEntry::new(format!("h{}", index + 1), "127.0.0.1").set("port", server.port.to_string());
            entry.set("priv", path("user")).set("known_hosts", path("known_hosts"))
        };
        self.servers.iter().enumerate().map(entry).collect()
    }

    /// Stops one server; its port then refuses connections.
    pub fn stop(&mut self, number: usize) {
        if let Some(server) = number.checked_sub(1).and_then(|index| self.servers.get_mut(index)) {
            server.end();
        }
    }

    fn start_server(&self, sshd: &Path, number: usize) -> Result<LoopbackServer, Error> {
        let path = |name: String| -> PathBuf { self.directory.path().join(name) };
        let key = keys::generate(&path(format!("host{number}")))?;
        let port = free_port()?;
        let known = path("known_hosts".into());
        let line = format!("[127.0.0.1]:{port} {}\n", key.public_text()?);
        let before = fs::read_to_string(&known).unwrap_or_default();
        fs::write(&known, before + &line).file("write", &known)?;
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nSubsystem sftp internal-sftp\n",
            key.private.display(),
            path("user.pub".into()).display(),
        );
        let config_path = path(format!("config{number}"));
        fs::write(&config_path, config).file("write", &config_path)?;
        let log_path = path(format!("log{number}"));
        let log = File::create(&log_path).file("create", &log_path)?;
        let start = |source| Error::Start { program: "sshd".into(), source };
        let process = Command::new(sshd)
            .args(["-D", "-e", "-f"])
            .arg(&config_path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(start)?;
        let mut server = LoopbackServer { port, process };
        let own = std::process::id().cast_signed();
        let up = poll(Duration::from_secs(10), || {
            let ended = matches!(server.process.try_wait(), Ok(Some(_)));
            (ended || process::listens(own, port)).then_some(!ended)
        });
        let log = || fs::read_to_string(&log_path).unwrap_or_default();
        if up == Some(true) {
            Ok(server)
        } else {
            Err(Error::NotUp { host: format!("h{number} (port {port})"), seconds: 10, log: log() })
        }
    }
}

impl LoopbackServer {
    fn end(&mut self) {
        // It is fine if the server has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for LoopbackServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Finds a port that is currently free.
fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    Ok(listener.file("find a free port on", "127.0.0.1")?.port())
}
