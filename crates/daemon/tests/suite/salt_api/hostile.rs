//! Requests from other sites, stolen tokens, and files outside of the web page.

use axum::body::Body;
use rocksalt_core::{Value, json};

use super::bed::{Bed, PASSWORD};

const PING: &str = r#"{"client":"local","tgt":"*","fun":"test.ping"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_is_told_so_alike() {
    let bed = Bed::new().await;
    let ann = bed.login("ann").await;
    let json = ("content-type", "application/json");
    for (token, body, status) in [
        ("", PING, 401),
        ("zz", PING, 401),
        (&"0".repeat(64), PING, 401),
        (&ann, PING, 401),
        (&ann, r#"{"client":"local","tgt":"lab-a","fun":"test.ping"}"#, 200),
        (&ann, r#"{"client":"local","tgt":"lab-a","fun":"cmd.run","arg":["id"]}"#, 401),
        (&ann, r#"{"client":"runner","fun":"jobs.list_jobs"}"#, 200),
        (&ann, r#"{"client":"runner","fun":"manage.up"}"#, 401),
        (&ann, r#"{"client":"wheel","fun":"key.list_all"}"#, 401),
        (&ann, r#"{"client":"wheel","fun":"no.such"}"#, 401),
    ] {
        let reply = bed.ask("POST", "/", &[("x-auth-token", token), json], body.to_owned()).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
    }
    // `/run` ignores a token in the header, but accepts one in the command.
    assert_eq!(bed.ask("POST", "/run", &[("x-auth-token", &bed.token), json], PING).await.status, 401);
    let with = |more: &str| PING.replace('}', &format!("{more}}}"));
    let good = with(&format!(r#","token":"{}""#, bed.token));
    assert_eq!(bed.ask("POST", "/run", &[json], good).await.at("return:0:lab-a"), Value::Bool(true));
    let proved = with(&format!(r#","username":"admin","password":"{PASSWORD}","eauth":"file""#));
    assert_eq!(bed.ask("POST", "/run", &[json], proved).await.at("return:0:lab-a"), Value::Bool(true));
    let wrong = with(r#","username":"admin","password":"no","eauth":"file""#);
    assert_eq!(bed.ask("POST", "/run", &[json], wrong).await.status, 401);
    // If one of several commands is refused, none is run.
    let calls = bed.fleet.calls.lock().expect("free").len();
    let mixed = format!(r#"[{},{PING}]"#, with(&format!(r#","token":"{}""#, bed.token)));
    assert_eq!(bed.ask("POST", "/run", &[json], mixed).await.status, 401);
    assert_eq!(bed.fleet.calls.lock().expect("free").len(), calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_begin_and_end() {
    let bed = Bed::new().await;
    let json = ("content-type", "text/plain;charset=UTF-8");
    let body = format!(r#"{{"username":"ann","password":"{PASSWORD}","eauth":"file"}}"#);
    let login = bed.ask("POST", "/login", &[json, ("x-auth-token", "")], body).await;
    let token = login.at("return:0:token").to_string();
    assert_eq!(login.header("x-auth-token"), token);
    assert_eq!(
        json::compact(&login.at("return:0:perms")),
        r#"[{"@runner":["jobs.list_jobs"]},{"lab-a":["test.*","grains.items"]}]"#
    );
    let cookie = login.header("set-cookie").to_owned();
    assert!(cookie.starts_with(&format!("session_id={token}; ")), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let sent = format!("a=b; session_id={token}");
    // An empty header does not hide the cookie.
    assert!(
        bed.ask("GET", "/stats", &[("cookie", &sent), ("x-auth-token", "")], Body::empty()).await.status.is_success()
    );
    let out = bed.ask("POST", "/logout", &[json, ("cookie", &sent)], "{}").await;
    assert_eq!(out.at("return"), "Your token has been cleared".into());
    assert_eq!(bed.ask("GET", "/stats", &[("x-auth-token", &token)], Body::empty()).await.status, 401);
    for body in ["", "{}", r#"{"username":"ann","password":"no","eauth":"file"}"#, r#"{"username":"x"}"#] {
        assert_eq!(bed.ask("POST", "/login", &[json], body).await.status, 401, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sites_get_nothing() {
    let bed = Bed::with(|settings| settings.origins = vec!["https://ops.example.com".into()]).await;
    let cookie = format!("session_id={}", bed.token);
    let post = |origin: &'static str, more: &'static [(&'static str, &'static str)]| {
        let (bed, cookie) = (&bed, cookie.clone());
        async move {
            let mut headers = vec![("cookie", cookie.as_str()), ("host", "salt:8000"), ("content-type", "text/plain")];
            if !origin.is_empty() {
                headers.push(("origin", origin));
            }
            headers.extend_from_slice(more);
            bed.ask("POST", "/", &headers, PING).await
        }
    };
    assert_eq!(post("https://evil.example", &[]).await.status, 401);
    assert_eq!(post("null", &[]).await.status, 401);
    assert_eq!(post("", &[("sec-fetch-site", "cross-site")]).await.status, 401);
    assert!(post("", &[]).await.status.is_success());
    let own = post("http://salt:8000", &[]).await;
    assert!(own.status.is_success());
    assert_eq!(own.header("access-control-allow-origin"), "http://salt:8000");
    let listed = post("https://ops.example.com", &[]).await;
    assert_eq!(listed.header("access-control-allow-origin"), "https://ops.example.com");
    assert_eq!(post("https://evil.example", &[]).await.header("access-control-allow-origin"), "");
    let asked = bed.ask("OPTIONS", "/", &[("origin", "https://ops.example.com")], Body::empty()).await;
    assert_eq!(asked.status, 200);
    assert_eq!(asked.header("access-control-allow-headers"), "Content-Type, X-Auth-Token, X-Requested-With");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_and_its_files() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(directory.path().join("static")).expect("made");
    for (name, text) in [("index.html", "<p>app"), ("static/a.js", "1"), ("secret", "s")] {
        std::fs::write(directory.path().join(name), text).expect("written");
    }
    let place = directory.path().to_owned();
    let bed = Bed::with(|settings| {
        settings.app = Some(place.join("index.html"));
        settings.static_files = Some(place.join("static"));
    })
    .await;
    let html = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    for path in ["/", "/minions", "/anything/else", "/app", "/app/console"] {
        let reply = bed.ask("GET", path, &html, Body::empty()).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, "<p>app"), "{path}");
    }
    // A request for data as AngularJS sends it, and one without a header.
    for headers in [vec![("accept", "application/json, text/plain, */*")], vec![]] {
        assert_eq!(bed.ask("GET", "/", &headers, Body::empty()).await.at("return"), "Welcome".into());
    }
    let file = bed.ask("GET", "/static/a.js", &[], Body::empty()).await;
    assert_eq!((file.text.as_str(), file.header("content-type")), ("1", "text/javascript; charset=utf-8"));
    let tag = file.header("etag").to_owned();
    assert_eq!(bed.ask("GET", "/static/a.js", &[("if-none-match", &tag)], Body::empty()).await.status, 304);
    for path in [
        "/static/minions.txt",
        "/static/../secret",
        "/static/%2e%2e/secret",
        "/static/..%2fsecret",
        "/static/",
        "/static//etc/passwd",
    ] {
        let reply = bed.ask("GET", path, &html, Body::empty()).await;
        assert_eq!(reply.status, 404, "{path}: {}", reply.text);
    }
    assert_eq!(bed.ask("POST", "/login", &html, "{}").await.status, 401, "a page is never the answer to a POST");
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_carry_no_secrets() {
    let bed = Bed::new().await;
    let mut follower = bed.requests.ledger().follow(None);
    let token = bed.token.clone();
    let headers = [("x-auth-token", token.as_str()), ("content-type", "application/json"), ("x-mine", "1")];
    let reply = bed.ask("POST", "/hook/lab/x", &headers, r#"{"foo": 1}"#).await;
    assert_eq!(reply.json(), json::parse(r#"{"success":true}"#).expect("JSON"));
    let rocksalt_controller::ledger::Heard::Event(event) = follower.next().await.expect("an event") else {
        panic!("no event")
    };
    assert_eq!(event.event.tag, "salt/netapi/hook/lab/x");
    let data = Value::Map(event.event.data.clone());
    assert_eq!(data.walk("post:foo", ":"), Some(&Value::Int(1)));
    assert_eq!(data.walk("headers:X-Mine", ":"), Some(&"1".into()));
    assert!(!json::compact(&data).contains(&token));
    assert_eq!(bed.ask("POST", "/hook/a", &[], "{}").await.status, 401);
    let open = Bed::with(|settings| settings.webhook_disable_auth = true).await;
    assert_eq!(open.ask("POST", "/hook/a", &[("content-type", "application/json")], "{}").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_keeps_its_secrets() {
    let bed = Bed::new().await;
    let reply = bed.post(r#"{"client":"wheel","fun":"config.values"}"#).await;
    assert_eq!(reply.at("return:0:data:return:nodegroups:web"), "L@lab-a".into());
    assert!(!reply.text.contains("canary"), "{}", reply.text);
    assert!(!reply.text.contains("external_auth"), "{}", reply.text);
}
