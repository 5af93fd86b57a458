//! [`Cluster`]: a real etcd of three members with TLS on loopback, for one test; and [`Proxy`], a connection to it that
//! can be made to fail.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rocksalt_backends::store::{Settings, Store, open};
use rocksalt_testkit::{HostKind, cannot_run_hosts, prepare_extra, say_skipped};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::store_conformance::private;

pub struct Cluster {
    directory: TempDir,
    program: PathBuf,
    members: Vec<Member>,
    options: Vec<String>,
}

struct Member {
    client: u16,
    peer: u16,
    child: Option<Child>,
}

impl Cluster {
    /// Starts three members with a leader. `None`, with a message, if etcd is not available.
    pub fn start() -> Option<Cluster> {
        let program = program()?;
        let directory = private();
        certificates(directory.path());
        Some(Cluster::of(3, directory, program, &[]))
    }

    /// Another cluster, of one empty member, with the same certificates.
    pub fn another(&self, options: &[&str]) -> Cluster {
        let directory = private();
        for name in ["ca.pem", "server.pem", "server.key", "client.pem", "client.key"] {
            fs::copy(self.path(name), directory.path().join(name)).expect("copied");
        }
        Cluster::of(1, directory, self.program.clone(), options)
    }

    fn of(count: usize, directory: TempDir, program: PathBuf, options: &[&str]) -> Cluster {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let ports = free_ports(2 * count);
        let member = |index: usize| Member { client: ports[index], peer: ports[index + count], child: None };
        let mut cluster = Cluster { directory, program, members: (0..count).map(member).collect(), options };
        (0..count).for_each(|index| cluster.start_member(index));
        cluster.leader();
        cluster
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn port(&self, index: usize) -> u16 {
        self.members[index].client
    }

    pub fn settings(&self, ports: &[u16]) -> Settings {
        Settings {
            endpoints: ports.iter().map(|port| format!("https://127.0.0.1:{port}")).collect(),
            ca: Some(self.path("ca.pem")),
            certificate: Some(self.path("client.pem")),
            key: Some(self.path("client.key")),
            prefix: "rocksalt/".into(),
            ..Settings::default()
        }
    }

    /// A store with all members.
    pub async fn store(&self) -> Arc<dyn Store> {
        let ports: Vec<u16> = self.members.iter().map(|member| member.client).collect();
        open("etcd", &self.settings(&ports)).await.expect("opens")
    }

    pub fn start_member(&mut self, index: usize) {
        let url = |port: u16| format!("https://127.0.0.1:{port}");
        let all = self.members.iter().enumerate().map(|(index, member)| format!("m{index}={}", url(member.peer)));
        let (client, peer) = (url(self.members[index].client), url(self.members[index].peer));
        let (all, data) = (all.collect::<Vec<_>>().join(","), self.path(&format!("m{index}")));
        let path = |name: &str| self.path(name).display().to_string();
        let (ca, certificate, key) = (path("ca.pem"), path("server.pem"), path("server.key"));
        let log = File::options().create(true).append(true).open(self.path(&format!("m{index}.log"))).expect("a log");
        // A member must not outlive the thread of its test, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(&self.program);
        command.args(["--name", &format!("m{index}"), "--data-dir"]).arg(&data);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &all, "--initial-cluster-state", "new"]);
        command.args(["--cert-file", &certificate, "--key-file", &key, "--trusted-ca-file", &ca]);
        command.args(["--peer-cert-file", &certificate, "--peer-key-file", &key, "--peer-trusted-ca-file", &ca]);
        command.args(["--client-cert-auth", "--peer-client-cert-auth", "--logger", "zap"]).args(&self.options);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        // Variables of the machine's own etcd must not affect this one.
        std::env::vars().filter(|(name, _)| name.starts_with("ETCD_")).for_each(|(name, _)| {
            command.env_remove(name);
        });
        self.members[index].child = Some(command.spawn().expect("etcd starts"));
    }

    /// Waits until there is a leader, and returns its index.
    pub fn leader(&self) -> usize {
        let begun = Instant::now();
        loop {
            for index in 0..self.members.len() {
                if let Some((member, leader)) = self.status(index)
                    && member == leader
                {
                    return index;
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no leader:\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Makes a member free the unused space in its file, and disarm its space alarm.
    pub fn defragment(&self, index: usize) {
        self.administer(index, "maintenance/defragment", "{}");
        let (member, _) = self.status(index).expect("running");
        let disarm = format!(r#"{{"action": "DEACTIVATE", "memberID": "{member}", "alarm": "NOSPACE"}}"#);
        self.administer(index, "maintenance/alarm", &disarm);
    }

    /// Sends a member an administrative request in JSON.
    fn administer(&self, index: usize, path: &str, body: &str) -> String {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "5", "--data", body, "--cacert"]).arg(self.path("ca.pem"));
        curl.arg("--cert").arg(self.path("client.pem")).arg("--key").arg(self.path("client.key"));
        curl.arg(format!("https://127.0.0.1:{}/v3/{path}", self.port(index)));
        String::from_utf8_lossy(&curl.output().expect("curl starts").stdout).into_owned()
    }

    /// The id of a member, and the id of the leader that it knows.
    fn status(&self, index: usize) -> Option<(String, String)> {
        let text = self.administer(index, "maintenance/status", "{}");
        let field = |name: &str| {
            let rest = text.split_once(&format!("\"{name}\":\""))?.1;
            Some(rest.split_once('"')?.0.to_owned())
        };
        Some((field("member_id")?, field("leader").filter(|leader| leader != "0")?))
    }

    pub fn kill(&mut self, index: usize) {
        if let Some(mut child) = self.members[index].child.take() {
            child.kill().expect("killed");
            child.wait().expect("ended");
        }
    }

    /// Stops a member with a signal, or continues it.
    pub fn pause(&self, index: usize, paused: bool) {
        let child = self.members[index].child.as_ref().expect("running");
        let signal = if paused { "-STOP" } else { "-CONT" };
        let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill starts");
        assert!(status.success());
    }

    fn logs(&self) -> String {
        let log = |index| fs::read_to_string(self.path(&format!("m{index}.log"))).unwrap_or_default();
        (0..self.members.len()).map(|index| log(index).lines().rev().take(10).collect::<Vec<_>>().join("\n")).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.members.iter_mut().filter_map(|member| member.child.as_mut()) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The machine's etcd, or that of the Debian package from the test bed's cache.
fn program() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&paths).map(|path| path.join("etcd")).find(|path| path.is_file()) {
        return Some(found);
    }
    if let Some(reason) = cannot_run_hosts() {
        say_skipped(&format!("there is no etcd here, and it can't be fetched: {reason}"));
        return None;
    }
    let layer = prepare_extra(HostKind::Debian, &["etcd-server".to_owned()]).expect("the package etcd-server");
    Some(layer.join("usr/bin/etcd"))
}

fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("bound").port()).collect()
}

/// A port without a listener.
pub fn dead_port() -> u16 {
    free_ports(1)[0]
}

/// Creates `ca.pem`, and `server` and `client` with their keys; `stranger` is signed by another authority.
fn certificates(directory: &Path) {
    let write = |name: &str, text: String| {
        let file = File::options().create_new(true).write(true).mode(0o600).open(directory.join(name));
        std::io::Write::write_all(&mut file.expect("a file"), text.as_bytes()).expect("written");
    };
    // A certificate with the name of its issuer would be taken for a self-signed one.
    let named = |name: &str, params: &mut CertificateParams| {
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
    };
    let authority = |name: &str| {
        let mut params = CertificateParams::new(Vec::new()).expect("valid");
        named(name, &mut params);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("signed").pem();
        (pem, Issuer::new(params, key))
    };
    let (ca, issuer) = authority("authority");
    let (other, stranger) = authority("another authority");
    write("ca.pem", ca);
    write("other.pem", other);
    for (name, issuer) in [("server", &issuer), ("client", &issuer), ("stranger", &stranger)] {
        let mut params = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()]).expect("valid");
        named(name, &mut params);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        write(&format!("{name}.pem"), params.signed_by(&key, issuer).expect("signed").pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

/// A proxy for a member that can fail in several ways.
pub struct Proxy {
    pub port: u16,
    shared: Arc<Line>,
    task: tokio::task::JoinHandle<()>,
}

struct Line {
    to: AtomicU16,
    mode: AtomicU8,
    /// Counts up when all connections are cut.
    cuts: watch::Sender<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    Open,
    /// Requests arrive, but responses don't.
    Deaf,
    /// Connections are closed as soon as they are made.
    Closed,
    /// Nothing gets through, and connections stay open.
    Silent,
}

impl Proxy {
    pub async fn start(port: u16) -> Proxy {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let own = listener.local_addr().expect("bound").port();
        let to = AtomicU16::new(port);
        let shared = Arc::new(Line { to, mode: AtomicU8::new(Mode::Open as u8), cuts: watch::Sender::new(0) });
        let line = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !line.is(Mode::Closed) {
                    tokio::spawn(carry(Arc::clone(&line), client));
                }
            }
        });
        Proxy { port: own, shared, task }
    }

    pub fn set(&self, mode: Mode) {
        self.shared.mode.store(mode as u8, Ordering::SeqCst);
    }

    /// Forwards new connections to another port.
    pub fn lead_to(&self, port: u16) {
        self.shared.to.store(port, Ordering::SeqCst);
        self.cut();
    }

    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

impl Line {
    fn is(&self, mode: Mode) -> bool {
        self.mode.load(Ordering::SeqCst) == mode as u8
    }
}

async fn carry(line: Arc<Line>, client: TcpStream) {
    let mut cuts = line.cuts.subscribe();
    let Ok(member) = TcpStream::connect(("127.0.0.1", line.to.load(Ordering::SeqCst))).await else { return };
    let ((mut from_client, mut to_client), (mut from_member, mut to_member)) =
        (client.into_split(), member.into_split());
    let questions = async {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
            if !line.is(Mode::Silent) && to_member.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    };
    let answers = async {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = from_member.read(&mut buffer).await {
            let lost = line.is(Mode::Deaf) || line.is(Mode::Silent);
            if !lost && to_client.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = questions => {}
        () = answers => {}
        _ = cuts.changed() => {}
    }
}
