//! Authentication and authorisation, and the responses to invalid requests.

use serde_json::{Value as Json, json};

use super::world::World;
use crate::api::routes::RouteAuth;
use crate::api::v1::{ENDPOINTS, routes};

/// A path with a value for each parameter.
fn filled(path: &str) -> String {
    path.replace("{jid}", "20260131093000123456").replace("{id}", "x").replace("{name}", "x").replace("{target}", "x")
}

#[tokio::test]
async fn nobody_gets_in_without_a_token() {
    let world = World::new().await;
    let wrong = format!("Bearer {}", "0".repeat(64));
    for route in routes().iter().filter(|route| route.needs == RouteAuth::Token) {
        for headers in [vec![], vec![("authorization", wrong.as_str())], vec![("x-auth-token", "zz")]] {
            let answered = world.send(route.method, &filled(route.path), &headers, None).await;
            assert_eq!(answered.status, 401, "{route:?}");
            assert_eq!(answered.text("/error/kind"), "unauthenticated", "{route:?}");
            assert_eq!(answered.headers["www-authenticate"], "Bearer");
        }
    }
}

#[tokio::test]
async fn what_is_open_is_known() {
    let open: Vec<&str> =
        ENDPOINTS.iter().filter(|one| one.needs() != RouteAuth::Token).map(|endpoint| endpoint.path).collect();
    assert_eq!(open, ["/health", "/openapi.json", "/sessions"]);
    let world = World::new().await;
    world.send("GET", "/health", &[], None).await.is(200);
    let document = world.send("GET", "/openapi.json", &[], None).await;
    assert_eq!(document.is(200).text("/openapi"), "3.1.0");
}

#[tokio::test]
async fn rights_are_the_desks() {
    let world = World::new().await;
    let bob = format!("Bearer {}", world.bob);
    let bob = [("authorization", bob.as_str())];
    let ping = json!({"function": "test.ping", "target": "web-1"});
    let job = world.send("POST", "/jobs", &bob, Some(ping)).await;
    job.is(202);
    let other = json!({"function": "cmd.run", "target": "web-1", "args": ["id"]});
    assert_eq!(world.send("POST", "/jobs", &bob, Some(other)).await.is(403).text("/error/kind"), "forbidden");
    world.send("POST", "/reload", &bob, None).await.is(403);
    world.send("GET", "/jobs", &bob, None).await.is(403);
    // The user's own job.
    world.send("GET", &format!("/jobs/{}", job.text("/jid")), &bob, None).await.is(200);
    let who = world.send("GET", "/session", &bob, None).await;
    assert_eq!((who.text("/user"), &who.json["permissions"]), ("bob", &json!(["test.*"])));
}

#[tokio::test]
async fn a_cookie_needs_the_pages_own_token() {
    let world = World::new().await;
    let login = json!({"username": "admin", "password": "a long password", "eauth": "sharedsecret", "cookie": true});
    let login = world.send("POST", "/sessions", &[], Some(login)).await;
    login.is(201);
    assert!(login.json.get("token").is_none(), "no script sees it");
    let cookie = login.headers["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("the pair").to_owned();
    let csrf = login.text("/csrf").to_owned();
    let fire = || Some(json!({"tag": "my/event"}));
    world.send("GET", "/session", &[("cookie", &cookie)], None).await.is(200);
    world.send("POST", "/events", &[("cookie", &cookie)], fire()).await.is(403);
    world.send("POST", "/events", &[("cookie", &cookie), ("x-csrf-token", "0")], fire()).await.is(403);
    world.send("POST", "/events", &[("cookie", &cookie), ("x-csrf-token", &csrf)], fire()).await.is(201);
    let gone = world.send("DELETE", "/session", &[("cookie", &cookie), ("x-csrf-token", &csrf)], None).await;
    assert!(gone.is(204).headers["set-cookie"].to_str().expect("text").contains("Max-Age=0"));
    world.send("GET", "/session", &[("cookie", &cookie)], None).await.is(401);
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let world = World::new().await;
    let start = |body: Json| world.ask("POST", "/jobs", Some(body));
    let cases = [
        (json!({"fucntion": "test.ping", "target": "*"}), "there is no field 'fucntion'; did you mean 'function'?"),
        (json!({"function": "test.ping"}), "'target' is missing"),
        (json!({"function": "test.ping", "target": 1}), "'target' must be text"),
        (
            json!({"function": "test.ping", "target": "*", "batch": "many"}),
            r"'batch' must be like ^[0-9]{1,9}((\.[0-9]{1,6})?%)?$",
        ),
        (json!({"function": "test.ping", "target": "*", "kwargs": []}), "'kwargs' must be an object"),
        (json!([]), "the body must be an object"),
    ];
    for (body, expected) in cases {
        assert_eq!(start(body).await.is(400).text("/error/text"), expected);
    }
    let queries = [
        ("/jobs?limti=1", "there is no field 'limti'; did you mean 'limit'?"),
        ("/jobs?limit=0", "'limit' must be at least 1"),
        ("/jobs?limit=x", "'limit' must be a whole number"),
        ("/jobs?limit=1&limit=2", "'limit' is given twice"),
        ("/jobs?state=doen", "'state[0]' must be one of 'queued', 'running', 'done', 'cancelled', 'lost'"),
        ("/jobs?metadata=7", "'metadata' must be a JSON object, as in {\"ticket\": 7}"),
        ("/jobs?user=%ff", "a parameter is not percent-encoded correctly"),
        ("/jobs/2026", "'jid' must be like ^[0-9]{20}$"),
        ("/events?after=-1", "'after' must be at least 0"),
    ];
    for (path, expected) in queries {
        assert_eq!(world.get(path).await.is(400).text("/error/text"), expected, "{path}");
    }
}

#[tokio::test]
async fn bodies_have_a_type_and_an_end() {
    let world = World::new().await;
    let token = format!("Bearer {}", world.admin);
    let with = |kind: &'static str| [("authorization", token.clone()), ("content-type", kind.to_owned())];
    for (kind, body, status) in [
        ("text/plain", json!({}), 415),
        ("application/x-www-form-urlencoded", json!({}), 415),
        ("application/cbor", json!({}), 400),
        ("application/json; charset=utf-8", json!({"function": "test.ping", "target": "web-1"}), 202),
        ("application/json", json!("x".repeat(2 << 20)), 413),
    ] {
        let headers = with(kind);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        let answered = world.send("POST", "/jobs", &headers, Some(body)).await;
        assert_eq!(answered.status.as_u16(), status, "{kind}: {}", answered.json);
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_same_form() {
    let world = World::new().await;
    assert_eq!(world.get("/nothing").await.is(404).text("/error/kind"), "not_found");
    let wrong = world.ask("DELETE", "/jobs", None).await;
    assert_eq!(wrong.is(405).text("/error/kind"), "not_allowed");
    assert!(wrong.headers["allow"].to_str().expect("text").contains("POST"));
    assert_eq!(world.get("/targets/nobody").await.is(404).text("/error/kind"), "not_found");
    assert_eq!(
        world.get("/functions/test.pnig").await.is(404).text("/error/text"),
        "unknown name; did you mean 'test.ping'?"
    );
    let answered = world.get("/version").await;
    assert!(!answered.headers["x-request-id"].is_empty());
    assert_eq!(answered.headers["x-content-type-options"], "nosniff");
}
