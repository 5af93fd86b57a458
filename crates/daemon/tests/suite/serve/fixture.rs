//! A daemon with targets that a test switches on and off, and a small client.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rocksalt_backends::{files, pillar};
use rocksalt_connect::link::RequestChannel;
use rocksalt_connect::links::{LinkHandle, Links, Progress};
use rocksalt_controller::grains_cache::GrainsCache;
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_controller::{Controller, peer};
use rocksalt_core::link::{AgentKind, Info, LinkFailure, LinkKey, Stage};
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Map, Secret, Value, yaml};
use rocksalt_daemon::access::AccessPolicy;
use rocksalt_daemon::auth;
use rocksalt_daemon::requests::{Load, Loaded};
use rocksalt_daemon::serve::{self, Daemon, Error, ListenAddress, Settings, StartNotice};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

pub const TARGETS: [&str; 3] = ["a", "b", "c"];

/// Which targets can be reached now.
#[derive(Default)]
pub struct Network {
    pub reachable: Mutex<BTreeSet<String>>,
    standing: Mutex<BTreeSet<String>>,
    pub tries: Mutex<Vec<String>>,
}

impl Network {
    /// Makes a target unreachable, and breaks its link.
    pub fn cut(&self, id: &str) {
        self.reachable.lock().expect("fine").remove(id);
        self.standing.lock().expect("fine").remove(id);
    }
}

struct Standing;

impl LinkHandle for Standing {
    fn open_channel(&self, _: &str) -> Result<RequestChannel, LinkFailure> {
        Err(LinkFailure::new(Stage::Link, "nobody is there"))
    }
}

#[async_trait]
impl Links for Network {
    async fn open(
        &self,
        entry: &RosterEntry,
        _: AgentKind,
        _: bool,
        _: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        self.tries.lock().expect("fine").push(entry.id.clone());
        if !self.reachable.lock().expect("fine").contains(&entry.id) {
            return Err(LinkFailure::new(Stage::Connect, "no route"));
        }
        self.standing.lock().expect("fine").insert(entry.id.clone());
        Ok(Arc::new(Standing))
    }

    async fn secondary_agent(&self, _: &RosterEntry) -> Option<Arc<dyn LinkHandle>> {
        None
    }

    async fn list(&self) -> Result<Vec<Info>, LinkFailure> {
        let info = |id: &String| Info {
            key: LinkKey {
                transport: "ssh".into(),
                user: String::new(),
                address: id.clone(),
                port: 22,
                escalated: String::new(),
            },
            target: id.clone(),
            since: 0,
            idle: 0,
            calls: 0,
            users: Vec::new(),
            agent_version: String::new(),
            agent_pid: 0,
            agent_kind: AgentKind::Small,
        };
        Ok(self.standing.lock().expect("fine").iter().map(info).collect())
    }

    async fn close(&self, _: &[String], _: bool) -> Result<usize, LinkFailure> {
        Ok(0)
    }
}

/// What a reload reads.
pub struct Project {
    pub directory: TempDir,
    pub network: Arc<Network>,
    /// The configuration, or the error in it.
    pub config: Mutex<Result<String, String>>,
}

impl Project {
    pub fn new() -> Arc<Project> {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().permissions(mode).tempdir().expect("a directory");
        Arc::new(Project { directory, network: Arc::default(), config: Mutex::new(Ok(String::new())) })
    }

    pub fn state(&self) -> std::path::PathBuf {
        self.directory.path().join("state")
    }

    pub fn settings(&self) -> Settings {
        let mut settings = Settings::new(self.state());
        settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
        settings.stop = Duration::from_secs(3);
        settings
    }

    fn read(&self) -> Result<Loaded, String> {
        let text = self.config.lock().expect("fine").clone()?;
        let config = match yaml::parse(&text).map_err(|error| error.message)? {
            Value::Map(map) => map,
            _ => Map::new(),
        };
        let access = AccessPolicy::read(&config, &Nodegroups::new())?;
        let settings = auth::Settings::read(&config, self.directory.path(), &self.state().join("users"))?;
        let mut loaded = Loaded::new(self.controller(), access);
        loaded.auth = Some(Arc::new(settings));
        if let Some(size) = config.get("max_request_body_size").and_then(Value::as_i64) {
            loaded.api.max_request_body_size = size as usize;
        }
        loaded.presence.every = Duration::from_millis(20);
        loaded.presence.events = true;
        loaded.config = config;
        Ok(loaded)
    }

    fn controller(&self) -> Arc<Controller> {
        let links: Arc<dyn Links> = Arc::clone(&self.network) as _;
        let files = || Arc::from(files::open("roots", &Map::new()).expect("files"));
        let external = pillar::ExternalPillars::new(&Value::Null, &pillar::Settings::default());
        let compiler = Compiler { links: Arc::clone(&links), options: Map::new() };
        Arc::new(Controller {
            roster: Roster {
                entries: TARGETS.map(|id| RosterEntry::new(id, "192.0.2.1")).to_vec(),
                nodegroups: Vec::new(),
            },
            nodegroups: Nodegroups::new(),
            links,
            files: files(),
            options: Map::new(),
            pillar: Pillar { files: files(), external: Arc::new(external), compiler: Arc::new(compiler) },
            grains_cache: GrainsCache {
                directory: self.directory.path().join("grains"),
                fresh: Duration::from_secs(3600),
            },
            peer: peer::Rules::default(),
            receive: None,
            agent_kind: |_| AgentKind::Whole,
            local_answer: |_| None,
            user: "tester".into(),
        })
    }

    fn load(self: &Arc<Project>) -> Box<Load> {
        let project = Arc::clone(self);
        Box::new(move || {
            let project = Arc::clone(&project);
            Box::pin(async move { project.read() })
        })
    }

    pub async fn start(self: &Arc<Project>) -> (Daemon, Vec<StartNotice>) {
        self.start_with(self.settings()).await.unwrap_or_else(|error| panic!("it starts: {error}"))
    }

    pub async fn start_with(self: &Arc<Project>, settings: Settings) -> Result<(Daemon, Vec<StartNotice>), Error> {
        let said = Mutex::new(Vec::new());
        let daemon = serve::start(settings, self.load(), &|notice| said.lock().expect("fine").push(notice)).await?;
        Ok((daemon, said.into_inner().expect("fine")))
    }
}

/// The password of a first start.
pub fn password(said: &[StartNotice]) -> Option<Secret> {
    said.iter().find_map(|notice| match notice {
        StartNotice::Admin { password, .. } => Some(password.clone()),
        _ => None,
    })
}

pub fn tcp(daemon: &Daemon) -> SocketAddr {
    let found = daemon.addresses().iter().find_map(|address| match address {
        ListenAddress::Plain(address) | ListenAddress::Tls(address) => Some(*address),
        ListenAddress::Unix(_) => None,
    });
    found.expect("it listens")
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Sends one request on a new connection.
pub async fn ask(address: SocketAddr, request: &str, body: &str) -> Reply {
    let stream = TcpStream::connect(address).await.expect("it listens");
    over(stream, request, body).await
}

/// Sends a request; `request` is the method, the path and any headers, one per line.
pub async fn over<T: AsyncRead + AsyncWrite + Unpin>(mut stream: T, request: &str, body: &str) -> Reply {
    let (first, headers) = request.split_once('\n').unwrap_or((request, ""));
    let headers: String = headers.lines().map(|line| format!("{}\r\n", line.trim())).collect();
    let length = body.len();
    let text =
        format!("{first} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}");
    // A server that refuses may close before it has read everything.
    let _ = stream.write_all(text.as_bytes()).await;
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    parse(&String::from_utf8_lossy(&bytes))
}

fn parse(text: &str) -> Reply {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_lowercase(), body: body.to_owned() }
}

/// A token for the admin.
pub async fn token(address: SocketAddr, password: &Secret) -> String {
    let body = format!("username=admin&password={}&eauth=file", password.reveal());
    let reply = ask(address, "POST /login\nContent-Type: application/x-www-form-urlencoded", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let (_, rest) = reply.body.split_once("\"token\"").expect("a token");
    rest.split('"').nth(1).expect("a token").to_owned()
}

pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o777
}

/// Waits until a condition holds, with a time limit.
pub async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("waited 10 s: {what}");
}
