//! Events: each listener reads from its own position, without loss or duplicates.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use rocksalt_core::{Event, Map, Value, json};

use super::bed::Bed;

/// The frames of a stream as they arrive.
struct Listener {
    body: BodyDataStream,
    text: String,
}

impl Listener {
    async fn open(bed: &Bed, path: &str, headers: &[(&str, &str)]) -> Listener {
        let response = bed.raw("GET", path, headers, Body::empty()).await;
        assert_eq!(response.status(), 200);
        assert!(response.headers()["content-type"].to_str().expect("a text").starts_with("text/event-stream"));
        Listener { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next event's id and its tag.
    async fn next(&mut self) -> Option<(String, String)> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let frame = frame.trim_start_matches("retry: 400\n").to_owned();
                self.text = rest.to_owned();
                let line = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                if let Some(tag) = line("tag: ") {
                    let data = json::parse(&line("data: ").expect("data")).expect("it is JSON");
                    assert_eq!(data.walk("tag", ":"), Some(&tag.as_str().into()));
                    assert!(data.walk("data:_stamp", ":").is_some());
                    return Some((line("id: ").unwrap_or_default(), tag));
                }
                continue;
            }
            let piece = tokio::time::timeout(Duration::from_secs(30), self.body.next()).await.expect("in time")?;
            self.text.push_str(&String::from_utf8_lossy(&piece.expect("a piece")));
        }
    }
}

impl Listener {
    /// All that arrives until an event with this tag is complete.
    async fn until(&mut self, tag: &str) -> String {
        let complete = |text: &str| text.split_once(tag).is_some_and(|(_, rest)| rest.contains("\n\n"));
        while !complete(&self.text) {
            let piece = tokio::time::timeout(Duration::from_secs(30), self.body.next()).await.expect("in time");
            let piece = piece.expect("the stream goes on").expect("a piece");
            self.text.push_str(&String::from_utf8_lossy(&piece));
        }
        std::mem::take(&mut self.text)
    }
}

fn event(number: i64) -> Event {
    Event { tag: format!("my/{number}"), data: Map::from_iter([("n".into(), Value::Int(number))]) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_heard_in_salts_order() {
    let bed = Bed::new().await;
    let token = bed.token.clone();
    let mut listener = Listener::open(&bed, "/events", &[("x-auth-token", &token)]).await;
    let jid = bed.post(r#"{"client":"local_async","tgt":"*","fun":"test.ping"}"#).await.at("return:0:jid").to_string();
    let mut tags = Vec::new();
    while tags.iter().filter(|tag: &&String| tag.contains("/ret/")).count() < 2 {
        tags.push(listener.next().await.expect("an event").1.replace(&jid, "JID"));
    }
    assert_eq!(tags[..2], ["JID", "salt/job/JID/new"]);
    let run = bed.post(r#"{"client":"runner_async","fun":"manage.present"}"#).await.at("return:0:jid").to_string();
    let mut tags = Vec::new();
    while tags.last().is_none_or(|tag: &String| !tag.ends_with("/ret")) {
        tags.push(listener.next().await.expect("an event").1.replace(&run, "JID"));
    }
    tags.retain(|tag| tag.starts_with("salt/run/JID"));
    assert_eq!(tags, ["salt/run/JID/new", "salt/run/JID/ret"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_results_are_told_of_but_not_told() {
    let bed = Bed::new().await;
    let mut follower = bed.requests.ledger().follow(None);
    let mut ret = async || loop {
        if let rocksalt_controller::ledger::Heard::Event(event) = follower.next().await.expect("an event")
            && event.event.tag.ends_with("/ret")
        {
            break event.event.clone();
        }
    };
    let whole = bed.post(r#"{"client":"runner","fun":"doc.execution"}"#).await;
    assert!(whole.text.len() > 100_000, "the asker gets all of it");
    let told = ret().await;
    assert!(told.tag.starts_with("salt/run/"), "{}", told.tag);
    assert!(told.data.get("return").is_some_and(|text| text.to_string().contains("too large")), "{:?}", told.data);
    // A background result, which is only available by its event, is stored, truncated if needed; it is still the event
    // of a runner.
    let low = format!(r#"{{"client":"runner_async","fun":"test.arg","arg":["{}"]}}"#, "x".repeat(900_000));
    let jid = bed.post(&low).await.at("return:0:jid").to_string();
    let told = ret().await;
    assert_eq!(told.tag, format!("salt/run/{jid}/ret"));
    assert_eq!(told.data.get("jid"), Some(&jid.as_str().into()));
    assert!(told.data.get("return").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_comes_back_to_where_it_was() {
    let bed = Bed::new().await;
    let token = bed.token.clone();
    let mut listener = Listener::open(&bed, "/events", &[("x-auth-token", &token)]).await;
    for number in 0..20 {
        bed.requests.ledger().fire(event(number), None).await.expect("stored");
    }
    let mut last = String::new();
    for number in 0..5 {
        let (id, tag) = listener.next().await.expect("an event");
        assert_eq!(tag, format!("my/{number}"));
        last = id;
    }
    drop(listener);
    let cookie = format!("session_id={token}");
    let mut again = Listener::open(&bed, "/events", &[("cookie", &cookie), ("last-event-id", &last)]).await;
    for number in 5..20 {
        assert_eq!(again.next().await.expect("an event").1, format!("my/{number}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_listeners_hear_all() {
    let bed = Bed::new().await;
    let token = bed.token.clone();
    let mut listeners = Vec::new();
    for _ in 0..1000 {
        listeners.push(Listener::open(&bed, "/events", &[("x-auth-token", &token)]).await);
    }
    let hearing: Vec<_> = listeners
        .into_iter()
        .map(|mut listener| {
            tokio::spawn(async move {
                for number in 0..50 {
                    assert_eq!(listener.next().await.expect("an event").1, format!("my/{number}"));
                }
            })
        })
        .collect();
    for number in 0..50 {
        bed.requests.ledger().fire(event(number), None).await.expect("stored");
    }
    for listener in hearing {
        listener.await.expect("heard all");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_token() {
    let bed = Bed::new().await;
    let token = bed.login("ann").await;
    let mut listener = Listener::open(&bed, "/events", &[("x-auth-token", &token)]).await;
    bed.requests.auth.logout(&token).await.expect("gone");
    assert!(listener.next().await.is_none());
    assert_eq!(bed.ask("GET", "/events", &[("x-auth-token", &token)], Body::empty()).await.status, 401);
    let query = bed.ask("GET", "/events?token=1", &[("x-auth-token", &bed.token.clone())], Body::empty()).await;
    assert_eq!(query.status, 400);
}

/// `ann` may run `test.*` on lab-a and list jobs, but has neither `@jobs` nor `@events`.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_hears_of_anothers_jobs_without_the_right() {
    const CANARY: &str = "canary-of-the-admin-55d1";
    let bed = Bed::with(|settings| settings.halite = true).await;
    let ann = bed.login("ann").await;
    let halite = format!("/event/{ann}");
    let mut anns = Vec::new();
    for path in ["/events", "/v1/events/stream", &halite] {
        let bearer = format!("Bearer {ann}");
        anns.push(Listener::open(&bed, path, &[("x-auth-token", &ann), ("authorization", &bearer)]).await);
    }
    let mut admins = Listener::open(&bed, "/events", &[("x-auth-token", &bed.token.clone())]).await;
    // A job on targets, a runner with a record and one without, an event and a hook.
    for low in [
        format!(r#"{{"client":"local","tgt":"lab-*","fun":"test.echo","arg":["{CANARY}"]}}"#),
        format!(r#"{{"client":"runner","fun":"test.arg","arg":["{CANARY}"]}}"#),
        format!(r#"{{"client":"runner_async","fun":"test.arg","arg":["{CANARY}"]}}"#),
        format!(r#"{{"client":"runner","fun":"event.send","arg":["my/event"],"kwarg":{{"data":{{"x":"{CANARY}"}}}}}}"#),
    ] {
        assert_eq!(bed.post(&low).await.status, 200);
    }
    let header = [("x-auth-token", bed.token.as_str()), ("content-type", "application/json")];
    let hook = bed.ask("POST", "/hook/a", &header, format!(r#"{{"x":"{CANARY}"}}"#)).await;
    assert_eq!(hook.status, 200, "{}", hook.text);
    // Then one of her own, whose result is the end of what everybody here waits for.
    let header = [("x-auth-token", ann.as_str()), ("content-type", "application/json")];
    let own = r#"{"client":"local_async","tgt":"lab-a","fun":"test.echo","arg":["of ann"]}"#;
    let jid = bed.ask("POST", "/", &header, own).await.at("return:0:jid").to_string();
    let end = format!("salt/job/{jid}/ret/lab-a");
    for listener in &mut anns {
        let heard = listener.until(&end).await;
        assert!(heard.contains("of ann") && !heard.contains(CANARY), "{heard}");
    }
    let heard = admins.until(&end).await;
    assert!(heard.contains("of ann") && heard.matches(CANARY).count() >= 5, "{heard}");
    // Pages of the log.
    let bearer = format!("Bearer {ann}");
    let page = bed.ask("GET", "/v1/events?after=0", &[("authorization", &bearer)], Body::empty()).await;
    assert!(page.text.contains("of ann") && !page.text.contains(CANARY), "{}", page.text);
    let bearer = format!("Bearer {}", bed.token);
    let page = bed.ask("GET", "/v1/events?after=0", &[("authorization", &bearer)], Body::empty()).await;
    assert!(page.text.contains(CANARY), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn halite_has_its_own_ways_where_they_are_wanted() {
    let bed = Bed::new().await;
    let path = |name: &str| format!("/{name}/{}", bed.token);
    for name in ["run", "signature", "fire"] {
        assert_eq!(bed.ask("POST", &path(name), &[], "{}").await.status, 404, "{name}");
    }
    assert_eq!(bed.ask("GET", &path("event"), &[], Body::empty()).await.status, 404);
    let bed = Bed::with(|settings| settings.halite = true).await;
    let path = |name: &str| format!("/{name}/{}", bed.token);
    let json = [("content-type", "application/json")];
    let mut listener = Listener::open(&bed, &format!("{}?tag=salt/run", path("event")), &[]).await;
    let started = bed.ask("POST", &path("run"), &json, r#"[{"mode":"async","fun":"runner.manage.present"}]"#).await;
    let tag = started.at("return:0:tag").to_string();
    assert_eq!(listener.next().await.expect("an event").1, format!("{tag}/new"));
    assert_eq!(listener.next().await.expect("an event").1, format!("{tag}/ret"));
    let header = [json[0], ("x-auth-token", bed.token.as_str())];
    let run =
        bed.ask("POST", "/run", &header, r#"{"mode":"sync","fun":"test.ping","tgt":"lab-a","expr_form":"list"}"#).await;
    assert_eq!(run.at("return:0"), json::parse(r#"{"lab-a":true}"#).expect("JSON"));
    let none = bed.ask("POST", "/run", &header, r#"{"fun":"test.ping","tgt":"nobody"}"#).await;
    assert_eq!(none.status, 404);
    assert!(none.at("error").truth());
    let wheel = bed.ask("POST", "/run", &header, r#"{"fun":"wheel.key.list_all"}"#).await;
    assert_eq!(wheel.at("return:0:data:return:minions:0"), "lab-a".into());
    let spec =
        bed.ask("POST", "/signature", &header, r#"{"module":"test.echo","tgt":"lab-a","client":"minion"}"#).await;
    let echo = spec.at("return:0:lab-a");
    assert!(echo.walk("test.echo|args", "|").is_some(), "{}", spec.text);
    let spec = bed.ask("POST", "/signature", &header, r#"{"module":"runner.jobs.list_job","tgt":"*"}"#).await;
    assert!(spec.at("return:0:master").walk("jobs.list_job|args|0", "|").is_some(), "{}", spec.text);
    let fired = bed.ask("POST", "/fire", &header, r#"{"tag":"a/b","data":{"x":1}}"#).await;
    assert_eq!(fired.at("0:tag"), "wui/a/b".into());
    let wrong = format!("/run/{}", "0".repeat(64));
    assert_eq!(bed.ask("POST", &wrong, &json, r#"{"fun":"test.ping","tgt":"*"}"#).await.status, 401);
}
