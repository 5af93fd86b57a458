//! Tries every route and every request without the right to it (`docs/security-rules.md#r2`).
//!
//! The APIs are built from their lists of routes, and there are examples of each request, so that later additions are
//! tested here automatically.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{Request as HttpRequest, StatusCode};
use rocksalt_controller::jobs::JobService;
use rocksalt_core::Secret;
use rocksalt_core::request::{Needs, Request};
use rocksalt_daemon::access::{AccessPolicy, Rights};
use rocksalt_daemon::api::routes::{ApiRoute, RouteAuth};
use rocksalt_daemon::api::{self, Api, Peer};
use rocksalt_daemon::audit::Audit;
use rocksalt_daemon::auth::users::Users;
use rocksalt_daemon::auth::{Auth, Credentials, Settings};
use rocksalt_daemon::requests::{Caller, Loaded, RefusalKind, RequestService};
use tower::ServiceExt;

use super::fixture::{self, map};

/// fred may do nothing, ann everything.
const CONFIG: &str = "{external_auth: {file: {fred: [nothing.at_all], ann: ['.*', '@runner', '@wheel']}}}";

/// Routes that every authenticated user may use, by purpose.
const FOR_ALL_WHO_LOGGED_IN: &[(&str, &str)] = &[
    ("POST", "/logout"),
    // As in Salt, every authenticated user sees every event. No event contains a secret.
    ("GET", "/events"),
    ("GET", "/ws"),
    ("POST", "/hook"),
    ("POST", "/hook/{*path}"),
    ("GET", "/stats"),
    ("GET", "/ws/{token}"),
    ("GET", "/event/{token}"),
    // Only documentation: the arguments of functions.
    ("POST", "/signature"),
    ("POST", "/signature/{token}"),
    ("GET", "/v1/version"),
    ("GET", "/v1/session"),
    ("DELETE", "/v1/session"),
    ("GET", "/v1/events"),
    ("GET", "/v1/events/stream"),
    ("GET", "/v1/targets"),
    ("GET", "/v1/targets/{id}"),
    ("GET", "/v1/functions"),
    ("GET", "/v1/functions/{name}"),
    ("GET", "/v1/states"),
    ("GET", "/v1/states/{name}"),
    ("GET", "/v1/stats"),
];

static AHEAD: AtomicU64 = AtomicU64::new(0);

fn clock() -> u64 {
    fixture::now() + AHEAD.load(Ordering::SeqCst)
}

struct House {
    requests: Arc<RequestService>,
    _directory: tempfile::TempDir,
}

async fn house() -> House {
    let directory = fixture::directory();
    let users = Users::at(&directory.path().join("users"));
    for name in ["fred", "ann"] {
        users.add(name, &Secret::new(format!("{name}s password")), &[]).expect("a user");
    }
    let store = fixture::store().await;
    let jobs = Arc::new(JobService::new(fixture::ledger(Arc::clone(&store)).await));
    let settings = Settings::read(&map(CONFIG), directory.path(), users.path()).expect("settings");
    let auth = Auth::with_clock(store, Arc::new(settings), Audit::default(), clock);
    let controller = fixture::controller(directory.path());
    let load = move || {
        let controller = Arc::clone(&controller);
        let access = AccessPolicy::read(&map(CONFIG), &controller.nodegroups);
        Box::pin(async move { access.map(|access| Loaded::new(controller, access)) }) as _
    };
    let requests = RequestService::new(Box::new(load), jobs, auth, Audit::default()).await.expect("a request service");
    House { requests: Arc::new(requests), _directory: directory }
}

impl House {
    fn router(&self) -> Router {
        // Everything that a setting can enable.
        let settings = api::Settings { halite: true, ..api::Settings::default() };
        api::router(Arc::new(Api { requests: Arc::clone(&self.requests), settings }))
    }

    async fn token(&self, user: &str) -> String {
        let credentials = Credentials {
            user: user.into(),
            password: Secret::new(format!("{user}s password")),
            eauth: "file".into(),
            token_expire: None,
        };
        self.requests.auth.login(credentials, None).await.expect("a login").token.reveal().clone()
    }

    /// The status of a route for this token and these credentials.
    async fn ask(&self, route: &ApiRoute, token: Option<&str>, credentials: &str) -> StatusCode {
        let path = route
            .path
            .replace("{token}", token.unwrap_or("0"))
            .replace("{jid}", "20261116000000000000")
            .replace("{name}", "test.ping")
            .replace("{*path}", "a/b")
            .replace("{id}", "web1")
            .replace("{target}", "web1");
        assert!(!path.contains('{'), "the test does not know how to fill in {path}");
        let (query, own_body) = documented(route);
        let mut request = HttpRequest::builder().method(route.method).uri(format!("{path}{query}"));
        if let Some(token) = token.filter(|_| !route.path.contains("{token}")) {
            request = request.header("X-Auth-Token", token);
        }
        let body = format!(
            "{{\"client\": \"local\", \"tgt\": \"*\", \"target\": \"*\", \"fun\": \"test.ping\", \
             \"function\": \"test.ping\", \"tag\": \"my/tag\", \"data\": {{}}, \"mid\": \"new\", \
             \"user\": \"ann\", \"module\": \"test.ping\"{credentials}}}"
        );
        let body = match own_body {
            _ if route.method == "GET" => String::new(),
            Some(body) => body,
            None => body,
        };
        let peer = Peer { address: Some(IpAddr::from([192, 0, 2, 99])), ..Peer::default() };
        let request = request.header("Content-Type", "application/json").extension(peer);
        let request = request.body(Body::from(body)).expect("a request");
        let answer = self.router().oneshot(request).await.expect("an answer");
        answer.status()
    }
}

/// The input of a route as our own API documents it: a query with all required parameters, and a valid body.
fn documented(route: &ApiRoute) -> (String, Option<String>) {
    let Some(path) = route.path.strip_prefix("/v1") else { return (String::new(), None) };
    let paths = &api::v1::document()["paths"];
    let known = [path.to_owned(), route.path.to_owned()];
    let described = known.iter().map(|path| &paths[path]).find(|item| item.is_object());
    let described = described.unwrap_or_else(|| panic!("{} is not in the document", route.path));
    let operation = &described[route.method.to_ascii_lowercase()];
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let needed = parameters.iter().filter(|one| one["in"] == "query" && one["required"] == true);
    let query: Vec<String> = needed.map(|one| format!("{}=x", one["name"].as_str().expect("a name"))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let content = &operation["requestBody"]["content"]["application/json"];
    assert!(content.is_null() || content["example"].is_object(), "{} has no example", route.path);
    (query, Some(if content.is_null() { String::new() } else { content["example"].to_string() }))
}

fn routes() -> Vec<ApiRoute> {
    let mut all = api::salt::routes();
    for route in api::v1::routes() {
        all.push(ApiRoute { path: format!("/v1{}", route.path).leak(), ..route });
    }
    assert!(all.len() > 40, "only {} routes", all.len());
    all
}

#[tokio::test]
async fn no_door_opens_for_whom_it_is_not() {
    let house = house().await;
    let expired = house.token("ann").await;
    AHEAD.store(50_000_000_000, Ordering::SeqCst);
    let nobody = "f".repeat(64);
    let with = |token: &str| format!(", \"token\": \"{token}\"");
    let tries = [
        ("without credentials", None, String::new()),
        ("with a wrong token", Some(nobody.as_str()), with(&nobody)),
        ("with an expired token", Some(expired.as_str()), with(&expired)),
        ("with what is no token", Some("../../x"), with("../../x")),
        ("with a wrong password", None, r#", "username": "ann", "password": "wrong", "eauth": "file""#.into()),
        ("with another's eauth", None, r#", "username": "ann", "password": "anns password", "eauth": "auto""#.into()),
    ];
    let mut refused = 0;
    for route in routes() {
        for (what, token, credentials) in &tries {
            if route.path.contains("{token}") && *token == Some("../../x") {
                continue;
            }
            let status = house.ask(&route, *token, credentials).await;
            match route.needs {
                RouteAuth::None => assert!(status.is_success(), "{} {} {what}: {status}", route.method, route.path),
                RouteAuth::Token | RouteAuth::Body => {
                    // Without credentials the body itself may be reported as invalid.
                    let body =
                        route.needs == RouteAuth::Body && credentials.is_empty() && status == StatusCode::BAD_REQUEST;
                    let right = status == StatusCode::UNAUTHORIZED || body;
                    assert!(right, "{} {} {what}: {status}", route.method, route.path);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 150, "only {refused} were refused");
}

#[tokio::test]
async fn logging_in_is_not_enough() {
    let house = house().await;
    let mut open = Vec::new();
    for route in routes().iter().filter(|route| route.needs != RouteAuth::None) {
        // A new one each time, since a logout revokes it.
        let token = house.token("fred").await;
        let status = house.ask(route, Some(&token), &format!(", \"token\": \"{token}\"")).await;
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            open.push((route.method, route.path, status));
        }
    }
    // This request contains ann's credentials, not fred's.
    open.retain(|(method, path, _)| (*method, *path) != ("POST", "/login"));
    let unexpected: Vec<_> =
        open.iter().filter(|(method, path, _)| !FOR_ALL_WHO_LOGGED_IN.contains(&(*method, *path))).collect();
    assert!(unexpected.is_empty(), "open to whoever has logged in: {unexpected:?}");
    // For comparison: the same routes are open to a user who may do everything.
    let mut shut = Vec::new();
    for route in routes().iter().filter(|route| route.needs == RouteAuth::Token) {
        let token = house.token("ann").await;
        let status = house.ask(route, Some(&token), "").await;
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            shut.push((route.method, route.path, status));
        }
    }
    assert!(shut.is_empty(), "shut to ann: {shut:?}");
}

#[tokio::test]
async fn no_request_is_done_for_whom_it_is_not() {
    let house = house().await;
    let caller = |user: &str, eauth: &str, rights: Rights| Caller {
        user: user.into(),
        eauth: eauth.into(),
        rights,
        from: Some(IpAddr::from([192, 0, 2, 99])),
    };
    let listed = || Rights::Listed { groups: Vec::new() };
    for request in Request::examples() {
        let name = format!("{request:?}");
        let needs_more = !matches!(request.needs(), Needs::Login | Needs::Events);
        // A caller without rights, and one from a backend that is not configured.
        for nobody in [caller("ann", "file", Rights::None), caller("ann", "pam", listed())] {
            let refusal = house.requests.answer(&nobody, request.clone()).await.err();
            assert_eq!(refusal.map(|refusal| refusal.kind), Some(RefusalKind::Unauthenticated), "{name}");
        }
        for fred in [caller("fred", "file", listed()), caller("eve", "file", listed())] {
            let refusal = house.requests.answer(&fred, request.clone()).await.err();
            assert_eq!(refusal.map(|refusal| refusal.kind) == Some(RefusalKind::Forbidden), needs_more, "{name}");
        }
        let ann = house.requests.answer(&caller("ann", "file", listed()), request.clone()).await;
        let kind = ann.err().map(|refusal| refusal.kind);
        assert!(!matches!(kind, Some(RefusalKind::Forbidden | RefusalKind::Unauthenticated)), "{name}: {kind:?}");
    }
}
