//! [`Bed`]: a daemon without a network: the router on a store in memory, with targets that a test controls.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use rocksalt_backends::pillar::{ExternalPillars, Settings as PillarSettings};
use rocksalt_backends::{files, store};
use rocksalt_connect::HostKeys;
use rocksalt_connect::LocalUser;
use rocksalt_connect::link::{FrameSink, RequestChannel};
use rocksalt_connect::links::{LinkHandle, Links, Progress};
use rocksalt_controller::Controller;
use rocksalt_controller::grains_cache::GrainsCache;
use rocksalt_controller::jobs::JobService;
use rocksalt_controller::ledger::{Ledger, Settings as LedgerSettings};
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_core::frame::{Frame, LINK, Message};
use rocksalt_core::link::{AgentKind, Info, LinkFailure, Stage};
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Call, Map, Secret, Value, json, yaml};
use rocksalt_daemon::access::AccessPolicy;
use rocksalt_daemon::api::{self, Api, Peer};
use rocksalt_daemon::audit::Audit;
use rocksalt_daemon::auth::{self, Auth, Credentials};
use rocksalt_daemon::requests::{Loaded, RequestService};
use tokio::sync::mpsc;
use tower::ServiceExt;

pub const PASSWORD: &str = "correct horse";

const CONFIG: &str = r#"
id: master_master
external_auth:
  file:
    admin: ['.*', '@events', '@jobs', '@runner', '@wheel']
    ann: [{'lab-a': ['test.*', 'grains.items']}, {'@runner': ['jobs.list_jobs']}]
nodegroups: {web: L@lab-a, db: L@lab-b, all: lab-*}
reactor: [{'salt/netapi/hook/lab/*': [/srv/lab/reactor/noop.sls]}]
saltgui_templates: {t1: {description: Ping all, target: '*', command: test.ping}}
sharedsecret: canary-in-the-configuration
"#;

/// An arbitrary host key.
const HOST_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPv5MIAqGGQFqTdrwCXEKCFqmGhWKEG5Z8TzMPOdFQ8f";

pub struct Bed {
    router: Router,
    pub requests: Arc<RequestService>,
    pub fleet: Arc<Fleet>,
    pub token: String,
    _directory: tempfile::TempDir,
}

/// Creates a users file once for all tests, because hashing is slow.
fn users() -> &'static Path {
    static MADE: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    let directory = MADE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let users = auth::users::Users::at(&directory.path().join("users"));
        for name in ["admin", "ann"] {
            users.add(name, &Secret::new(PASSWORD.to_owned()), &[]).expect("a user");
        }
        directory
    });
    Box::leak(directory.path().join("users").into_boxed_path())
}

impl Bed {
    pub async fn new() -> Bed {
        Bed::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut api::Settings)) -> Bed {
        let directory = tempfile::tempdir().expect("a directory");
        let config = yaml::parse(CONFIG).expect("it is YAML").as_map().cloned().expect("a map");
        let store = store::open("memory", &store::Settings::default()).await.expect("a store");
        let settings = LedgerSettings {
            now: || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64),
            owner: "me".into(),
            keep_jobs_seconds: 3600,
            keep_events_seconds: 3600,
            largest_return: 1 << 20,
        };
        let ledger = Arc::new(Ledger::open(Arc::clone(&store), settings).await.expect("a ledger"));
        let fleet = Arc::new(Fleet::default());
        let controller = Arc::new(controller(directory.path(), &config, &fleet));
        let access = AccessPolicy::read(&config, &controller.nodegroups).expect("rules");
        let ways = Arc::new(auth::Settings::read(&config, directory.path(), users()).expect("ways to log in"));
        let auth = Auth::open(store, ways, Audit::default());
        let mut doors = api::Settings::default();
        change(&mut doors);
        let (known, values, home) = (Arc::clone(&controller), config.clone(), directory.path().to_owned());
        let load = move || {
            let mut loaded = Loaded::new(Arc::clone(&known), access.clone());
            loaded.config = values.clone();
            loaded.host_keys = Some(Arc::new(HostKeys::new(&person(&home))));
            Box::pin(async move { Ok(loaded) }) as futures_util::future::BoxFuture<'static, Result<Loaded, String>>
        };
        let jobs = Arc::new(JobService::new(ledger));
        let requests = Arc::new(
            RequestService::new(Box::new(load), jobs, auth, Audit::default()).await.expect("a request service"),
        );
        let router = api::router(Arc::new(Api { requests: Arc::clone(&requests), settings: doors }));
        let mut bed = Bed { router, requests, fleet, token: String::new(), _directory: directory };
        bed.token = bed.login("admin").await;
        bed
    }

    pub async fn login(&self, user: &str) -> String {
        let credentials = Credentials {
            user: user.into(),
            password: Secret::new(PASSWORD.into()),
            eauth: "file".into(),
            token_expire: None,
        };
        self.requests.auth.login(credentials, None).await.expect("they may").token.reveal().clone()
    }

    pub async fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> axum::response::Response {
        let mut request = Request::builder().method(method.parse::<Method>().expect("a method")).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(body.into()).expect("a request");
        request.extensions_mut().insert(Peer::default());
        self.router.clone().oneshot(request).await.expect("an answer")
    }

    pub async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
        let response = self.raw(method, path, headers, body).await;
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 64 << 20).await.expect("a body");
        let text = String::from_utf8_lossy(&body).into_owned();
        Reply { status: parts.status, headers: parts.headers, text }
    }

    /// Posts low data as JSON, as the admin.
    pub async fn post(&self, body: &str) -> Reply {
        let token = self.token.clone();
        self.ask("POST", "/", &[("x-auth-token", &token), ("content-type", "application/json")], body.to_owned()).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        let token = self.token.clone();
        self.ask("GET", path, &[("x-auth-token", &token)], Body::empty()).await
    }
}

pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        json::parse(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn at(&self, path: &str) -> Value {
        self.json().walk(path, ":").cloned().unwrap_or_else(|| panic!("no {path} in {}", self.text))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

fn person(home: &Path) -> LocalUser {
    LocalUser {
        name: "me".into(),
        home: home.to_owned(),
        uid: 0,
        hostname: "here".into(),
        environment: BTreeMap::new(),
    }
}

fn controller(directory: &Path, config: &Map, fleet: &Arc<Fleet>) -> Controller {
    let known_hosts = directory.join("known_hosts");
    std::fs::write(&known_hosts, format!("192.0.2.1,192.0.2.2 {HOST_KEY}\n")).expect("written");
    let entries = [("lab-a", "192.0.2.1"), ("lab-b", "192.0.2.2")].map(|(id, host)| {
        let mut entry = RosterEntry::new(id, host);
        entry.known_hosts = Some(known_hosts.clone());
        entry
    });
    let links: Arc<dyn Links> = Arc::new(FleetLinks(Arc::clone(fleet)));
    let pillar = Pillar {
        files: files::open("roots", &Map::new()).expect("files").into(),
        external: Arc::new(ExternalPillars::new(&Value::Null, &PillarSettings::default())),
        compiler: Arc::new(Compiler { links: Arc::clone(&links), options: Map::new() }),
    };
    Controller {
        roster: Roster { entries: entries.to_vec(), nodegroups: Vec::new() },
        nodegroups: Nodegroups::from_value(config.get("nodegroups").unwrap_or(&Value::Null)).expect("groups"),
        links,
        files: files::open("roots", &Map::new()).expect("files").into(),
        options: Map::new(),
        pillar,
        grains_cache: GrainsCache { directory: directory.join("grains"), fresh: Duration::from_secs(3600) },
        peer: rocksalt_controller::peer::Rules::default(),
        receive: None,
        agent_kind: |_| AgentKind::Whole,
        local_answer: rocksalt_catalog::sys::answer,
        user: "me".into(),
    }
}

/// Simulated targets.
#[derive(Default)]
pub struct Fleet {
    /// The returns by target id; other targets have default returns.
    pub answers: Mutex<HashMap<String, Return>>,
    /// The targets that can't be reached.
    pub gone: Mutex<Vec<String>>,
    /// The duration of each call.
    pub pause: Mutex<Duration>,
    /// All calls so far.
    pub calls: Mutex<Vec<(String, Call)>>,
}

#[async_trait]
impl Links for FleetLinks {
    async fn open(
        &self,
        entry: &RosterEntry,
        _: AgentKind,
        _: bool,
        _: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        self.0.line(entry)
    }

    async fn secondary_agent(&self, _: &RosterEntry) -> Option<Arc<dyn LinkHandle>> {
        None
    }

    async fn list(&self) -> Result<Vec<Info>, LinkFailure> {
        Ok(Vec::new())
    }

    async fn close(&self, _: &[String], _: bool) -> Result<usize, LinkFailure> {
        Ok(0)
    }
}

/// Links that share the fleet.
pub struct FleetLinks(pub Arc<Fleet>);

impl Fleet {
    fn line(self: &Arc<Fleet>, entry: &RosterEntry) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        if self.gone.lock().expect("free").contains(&entry.id) {
            return Err(LinkFailure::new(Stage::Connect, "nobody answers"));
        }
        Ok(Arc::new(FakeLine { fleet: Arc::clone(self), id: entry.id.clone() }))
    }

    fn answer(&self, id: &str, call: &Call) -> Return {
        self.calls.lock().expect("free").push((id.to_owned(), call.clone()));
        let good = |value: Value| Return { value, retcode: 0, problem: None };
        if let Some(answer) = self.answers.lock().expect("free").get(id) {
            return answer.clone();
        }
        match call.function.as_str() {
            "test.ping" => good(true.into()),
            "test.arg" => good(
                Map::from_iter([
                    ("args".into(), call.args.clone().into()),
                    ("kwargs".into(), call.kwargs.clone().into()),
                ])
                .into(),
            ),
            "test.echo" => good(call.args.first().cloned().unwrap_or_default()),
            "grains.items" => good(
                Map::from_iter([
                    ("id".into(), id.into()),
                    ("os".into(), "Debian".into()),
                    ("role".into(), if id == "lab-a" { "web".into() } else { "db".into() }),
                ])
                .into(),
            ),
            other => Problem::new(ProblemKind::UnknownFunction, format!("'{other}' is not available.")).into(),
        }
    }
}

struct FakeLine {
    fleet: Arc<Fleet>,
    id: String,
}

impl LinkHandle for FakeLine {
    fn open_channel(&self, _: &str) -> Result<RequestChannel, LinkFailure> {
        let (sender, frames) = mpsc::unbounded_channel();
        let outlet = FakeOutlet { fleet: Arc::clone(&self.fleet), id: self.id.clone(), sender };
        Ok(RequestChannel::new(frames, Box::new(outlet)))
    }
}

struct FakeOutlet {
    fleet: Arc<Fleet>,
    id: String,
    sender: mpsc::UnboundedSender<Frame>,
}

impl FrameSink for FakeOutlet {
    fn send(&self, frame: Frame) {
        if let Message::Call(call) = frame.message {
            let (fleet, id, sender) = (Arc::clone(&self.fleet), self.id.clone(), self.sender.clone());
            let pause = *fleet.pause.lock().expect("free");
            tokio::spawn(async move {
                tokio::time::sleep(pause).await;
                let _ = sender.send(Frame::new(LINK, Message::Return(Box::new(fleet.answer(&id, &call)))));
            });
        }
    }

    fn close(&self) {}

    fn lost(&self) -> LinkFailure {
        LinkFailure::new(Stage::Link, "the link broke")
    }
}
