//! [`World`]: a daemon without sockets; every response is validated against the OpenAPI document.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use rocksalt_backends::files;
use rocksalt_backends::pillar::{self, ExternalPillars};
use rocksalt_backends::store;
use rocksalt_connect::link::{FrameSink, RequestChannel};
use rocksalt_connect::links::{LinkHandle, Links, Progress};
use rocksalt_controller::Controller;
use rocksalt_controller::grains_cache::GrainsCache;
use rocksalt_controller::jobs::JobService;
use rocksalt_controller::ledger::{self, Ledger};
use rocksalt_controller::peer::Rules;
use rocksalt_controller::pillar::{Compiler, Pillar};
use rocksalt_core::frame::{Data, Frame, LINK, Message, Stream};
use rocksalt_core::link::{AgentKind, Info, LinkFailure, Stage};
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Map, Return, Secret, Value, yaml};
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::access::AccessPolicy;
use crate::api::v1::{ENDPOINTS, document, schema};
use crate::api::{self, Api, Peer};
use crate::audit::Audit;
use crate::auth::{self, Auth, Credentials};
use crate::requests::{Loaded, RequestService};

const CONFIG: &str = "
sharedsecret: a long password
external_auth:
  sharedsecret:
    admin: ['.*', '@runner', '@wheel', '@jobs']
    bob: ['test.*']
";

pub struct World {
    pub router: Router,
    pub admin: String,
    pub bob: String,
}

impl World {
    pub async fn new() -> World {
        let Ok(Value::Map(config)) = yaml::parse(CONFIG) else { unreachable!("it is a map") };
        let store = store::open("memory", &store::Settings::default()).await.expect("a store in memory");
        let settings = ledger::Settings {
            now: || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64),
            owner: "here".into(),
            keep_jobs_seconds: 1000,
            keep_events_seconds: 1000,
            largest_return: 1 << 20,
        };
        let ledger = Ledger::open(Arc::clone(&store), settings).await.expect("a ledger");
        let known = auth::Settings::read(&config, Path::new("."), Path::new("users")).expect("settings");
        let auth = Auth::open(Arc::clone(&store), Arc::new(known), Audit::default());
        let load = move || -> futures_util::future::BoxFuture<'static, Result<Loaded, String>> {
            let access = AccessPolicy::read(&config, &Nodegroups::new());
            Box::pin(async move { Ok(Loaded::new(Arc::new(controller()), access?)) })
        };
        let requests =
            RequestService::new(Box::new(load), Arc::new(JobService::new(Arc::new(ledger))), auth, Audit::default());
        let requests = Arc::new(requests.await.expect("a request service"));
        let mut tokens = Vec::new();
        for user in ["admin", "bob"] {
            let credentials = Credentials {
                user: user.into(),
                password: Secret::new("a long password".into()),
                eauth: "sharedsecret".into(),
                token_expire: None,
            };
            tokens.push(requests.auth.login(credentials, None).await.expect("logged in").token.reveal().clone());
        }
        let api = Arc::new(Api { requests, settings: api::Settings::default() });
        let [admin, bob] = <[String; 2]>::try_from(tokens).expect("two of them");
        World { router: api::router(api), admin, bob }
    }

    /// Sends a request as the admin.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Json>) -> ApiAnswer {
        self.send(method, path, &[("authorization", &format!("Bearer {}", self.admin))], body).await
    }

    pub async fn get(&self, path: &str) -> ApiAnswer {
        self.ask("GET", path, None).await
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<Json>) -> ApiAnswer {
        let mut request = Request::builder().method(method).uri(format!("/v1{path}")).extension(Peer::default());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let typed = headers.iter().any(|(name, _)| *name == "content-type");
        if body.is_some() && !typed {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or(Body::empty(), |body| Body::from(body.to_string()));
        let request = request.body(body).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("it never fails");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let json = serde_json::from_slice(&bytes).unwrap_or(Json::Null);
        let answered = ApiAnswer { status: parts.status, headers: parts.headers, json };
        answered.check(method, path);
        answered
    }
}

#[derive(Debug)]
pub struct ApiAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub json: Json,
}

impl ApiAnswer {
    pub fn text(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
    }

    #[track_caller]
    pub fn is(&self, status: u16) -> &ApiAnswer {
        assert_eq!(self.status.as_u16(), status, "{}", self.json);
        self
    }

    /// Checks that the response is the one in the document.
    #[track_caller]
    fn check(&self, method: &str, path: &str) {
        let path = path.split('?').next().unwrap_or_default();
        let fits = |pattern: &str| {
            let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
            pattern.len() == path.len()
                && pattern.iter().zip(&path).all(|(part, given)| part.starts_with('{') || part == given)
        };
        let wanted = method.parse::<Method>().expect("a method");
        let Some(endpoint) = ENDPOINTS.iter().find(|one| one.method == wanted && fits(one.path)) else { return };
        let operation = &document()["paths"][format!("/v1{}", endpoint.path)][method.to_lowercase()];
        let response = &operation["responses"][self.status.as_str()];
        assert!(response.is_object(), "{method} {path}: {} is not in the document", self.status);
        if let Some(described) = response.pointer("/content/application~1json/schema") {
            let mut data = self.json.clone();
            let fits = schema::check(document(), described, &mut data, "");
            assert_eq!(fits, Ok(()), "{method} {path}: {}", self.json);
        }
    }
}

/// Ten targets; `web-9` fails, `gone` can't be reached.
fn controller() -> Controller {
    let mut entries: Vec<RosterEntry> = (0..10).map(|n| RosterEntry::new(format!("web-{n}"), "127.0.0.1")).collect();
    entries.push(RosterEntry::new("gone", "127.0.0.1"));
    let links: Arc<dyn Links> = Arc::new(NoLinks);
    let tree = || files::open("roots", &Map::new()).expect("an empty tree").into();
    Controller {
        roster: Roster { entries, nodegroups: Vec::new() },
        nodegroups: Nodegroups::new(),
        links: Arc::clone(&links),
        files: tree(),
        options: Map::new(),
        pillar: Pillar {
            files: tree(),
            external: Arc::new(ExternalPillars::new(&Value::Null, &pillar::Settings::default())),
            compiler: Arc::new(Compiler { links, options: Map::new() }),
        },
        grains_cache: GrainsCache { directory: "no-such-directory".into(), fresh: Duration::from_secs(1) },
        peer: Rules::parse(&Map::new()).expect("no rules"),
        receive: None,
        agent_kind: |_| AgentKind::Whole,
        local_answer: |_| None,
        user: "somebody".into(),
    }
}

/// Links to simulated targets.
struct NoLinks;

#[async_trait]
impl Links for NoLinks {
    async fn open(
        &self,
        entry: &RosterEntry,
        _: AgentKind,
        _: bool,
        _: Option<&Progress>,
    ) -> Result<Arc<dyn LinkHandle>, LinkFailure> {
        match entry.id.as_str() {
            "gone" => Err(LinkFailure::new(Stage::Connect, "nobody is there").hint("start it")),
            id => Ok(Arc::new(Target(id.to_owned()))),
        }
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

#[derive(Clone)]
struct Target(String);

impl LinkHandle for Target {
    fn open_channel(&self, _: &str) -> Result<RequestChannel, LinkFailure> {
        let (sender, frames) = mpsc::unbounded_channel();
        Ok(RequestChannel::new(frames, Box::new(Ends { target: self.0.clone(), sender })))
    }
}

struct Ends {
    target: String,
    sender: mpsc::UnboundedSender<Frame>,
}

impl FrameSink for Ends {
    fn send(&self, frame: Frame) {
        let Message::Call(call) = frame.message else { return };
        let value = match call.function.as_str() {
            "test.ping" => Value::Bool(true),
            "test.arg" => Value::List(call.args),
            _ => Value::Null,
        };
        if call.stream {
            let data = Data { stream: Stream::Stdout, bytes: b"hello".to_vec() };
            let _ = self.sender.send(Frame::new(LINK, Message::Data(data)));
        }
        let result = Return { value, retcode: i32::from(self.target == "web-9"), problem: None };
        let _ = self.sender.send(Frame::new(LINK, Message::Return(Box::new(result))));
    }

    fn close(&self) {}

    fn lost(&self) -> LinkFailure {
        LinkFailure::new(Stage::Link, "the link broke")
    }
}
