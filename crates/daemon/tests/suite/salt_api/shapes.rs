//! The responses of each `client`, for each way to call it.

use std::time::Duration;

use axum::body::Body;
use rocksalt_core::{Value, json};

use super::bed::Bed;

fn value(text: &str) -> Value {
    json::parse(text).expect("it is JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_client_has_its_form() {
    let bed = Bed::new().await;
    let only = |reply: super::bed::Reply| reply.at("return:0");
    let ping = |client: &str, more: &str| format!(r#"[{{"client":"{client}","tgt":"*","fun":"test.ping"{more}}}]"#);
    assert_eq!(only(bed.post(&ping("local", "")).await), value(r#"{"lab-a":true,"lab-b":true}"#));
    let full = only(bed.post(&ping("local", r#","full_return":true,"batch":null"#)).await);
    assert_eq!(full.walk("lab-a:ret", ":"), Some(&true.into()));
    assert_eq!(full.walk("lab-a:retcode", ":"), Some(&0i64.into()));
    let started = only(bed.post(&ping("local_async", "")).await);
    assert_eq!(started.walk("minions", ":"), Some(&value(r#"["lab-a","lab-b"]"#)));
    assert_eq!(started.walk("jid", ":").and_then(Value::as_str).map(str::len), Some(20));
    assert_eq!(
        bed.post(&ping("local_batch", r#","batch":"1""#)).await.at("return"),
        value(r#"[{"lab-a":true},{"lab-b":true}]"#)
    );
    assert_eq!(only(bed.post(&ping("local_subset", r#","subset":1"#)).await).as_map().map(|map| map.len()), Some(1));
    assert_eq!(only(bed.post(&ping("ssh", "")).await).walk("lab-b:return", ":"), Some(&true.into()));
    assert_eq!(only(bed.post(r#"{"client":"local","tgt":"nobody","fun":"test.ping"}"#).await), value("{}"));
    assert_eq!(only(bed.post(r#"{"client":"local_async","tgt":"nobody","fun":"test.ping"}"#).await), value("{}"));
    assert_eq!(
        bed.post(r#"{"client":"local_batch","tgt":"nobody","fun":"test.ping"}"#).await.at("return"),
        value("[]")
    );
    let wheel = only(bed.post(r#"{"client":"wheel","fun":"key.list_all"}"#).await);
    assert_eq!(wheel.walk("data:return:minions", ":"), Some(&value(r#"["lab-a","lab-b"]"#)));
    assert_eq!(wheel.walk("data:tag", ":"), wheel.walk("tag", ":"));
    for client in ["runner_async", "wheel_async"] {
        let fun = if client == "runner_async" { "manage.up" } else { "key.list_all" };
        let started = only(bed.post(&format!(r#"{{"client":"{client}","fun":"{fun}"}}"#)).await);
        let jid = started.walk("jid", ":").and_then(Value::as_str).expect("an id").to_owned();
        let place = if client == "runner_async" { "run" } else { "wheel" };
        assert_eq!(started.walk("tag", ":"), Some(&format!("salt/{place}/{jid}").into()));
        // As in Salt, the job can be looked up.
        for attempt in 0.. {
            let found =
                only(bed.post(&format!(r#"{{"client":"runner","fun":"jobs.lookup_jid","jid":"{jid}"}}"#)).await);
            if let Some(kept) = found.walk("master_master", ":") {
                assert_eq!(kept.walk("success", ":"), Some(&true.into()));
                break;
            }
            assert!(attempt < 3000, "{found:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_gone_is_false() {
    let bed = Bed::new().await;
    bed.fleet.gone.lock().expect("free").push("lab-b".into());
    for more in ["", r#","full_return":true"#] {
        let reply = bed.post(&format!(r#"{{"client":"local","tgt":"*","fun":"test.ping"{more}}}"#)).await;
        assert_eq!(reply.at("return:0:lab-b"), Value::Bool(false));
    }
    let batch = bed.post(r#"{"client":"local_batch","tgt":"*","fun":"test.ping","batch":"50%"}"#).await;
    assert_eq!(batch.at("return"), value(r#"[{"lab-a":true}]"#));
    let started = bed.post(r#"{"client":"local_async","tgt":"*","fun":"test.ping"}"#).await.at("return:0:jid");
    // pepper considers a job complete when it has all of its targets.
    let lookup = format!(r#"{{"client":"runner","fun":"jobs.lookup_jid","kwarg":{{"jid":"{started}"}}}}"#);
    let mut found = bed.post(&lookup).await.at("return:0");
    for _ in 0..1000 {
        if found != value("{}") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        found = bed.post(&lookup).await.at("return:0");
    }
    assert_eq!(found, value(r#"{"lab-a":true}"#));
    let found =
        bed.post(&format!(r#"{{"client":"runner","fun":"jobs.lookup_jid","jid":{started},"missing":true}}"#)).await;
    assert_eq!(found.at("return:0:lab-b"), "Minion did not return".into());
    let unknown = bed.post(r#"{"client":"local","tgt":"lab-a,nope","tgt_type":"list","fun":"test.ping"}"#).await;
    assert_eq!(unknown.at("return:0:lab-a"), true.into());
    assert!(unknown.at("return:0:nope").to_string().starts_with("Minion did not return"));
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_come_as_they_are_meant() {
    let bed = Bed::new().await;
    let low = r#"{"client":"local","tgt":"lab-a","fun":"test.arg",
        "arg":["3","a=b","n=5","l=[1, 2]","x==y","FOO BAR=1",7,{"k":1},{"__kwarg__":true,"z":0}],
        "kwarg":{"jid":20261115071835748463}}"#;
    let got = bed.post(low).await.at("return:0:lab-a");
    assert_eq!(got.walk("args", ":"), Some(&value(r#"["3","x==y","FOO BAR=1",7,{"k":1}]"#)));
    assert_eq!(
        got.walk("kwargs", ":"),
        Some(&value(r#"{"a":"b","n":5,"l":[1,2],"z":0,"jid":"20261115071835748463"}"#))
    );
    let single = bed.post(r#"{"client":"local","tgt":"lab-a","fun":"test.arg","arg":"alone"}"#).await;
    assert_eq!(single.at("return:0:lab-a:args"), value(r#"["alone"]"#));
    let several =
        bed.post(r#"{"client":"local","tgt":"lab-a","fun":["test.ping","test.echo"],"arg":[[],["x"]]}"#).await;
    assert_eq!(several.at("return:0"), value(r#"{"lab-a":{"test.ping":true,"test.echo":"x"}}"#));
    let runner = bed.post(r#"{"client":"runner","fun":"test.arg","arg":[1,"b=2"],"kwarg":{"c":3},"d":4}"#).await;
    assert_eq!(runner.at("return:0"), value(r#"{"args":[1],"kwargs":{"b":2,"c":3,"d":4}}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_target() {
    let bed = Bed::new().await;
    for (kind, target) in [
        ("glob", "*-a"),
        ("pcre", "lab-[a]"),
        ("list", "lab-a"),
        ("grain", "role:web"),
        ("grain_pcre", "role:w.b"),
        ("nodegroup", "web"),
        ("compound", "N@web"),
        ("compound", "lab-* and not L@lab-b"),
        ("ipcidr", "192.0.2.1"),
    ] {
        for name in ["tgt_type", "expr_form"] {
            let reply = bed
                .post(&format!(r#"{{"client":"local","tgt":"{target}","{name}":"{kind}","fun":"test.ping"}}"#))
                .await;
            assert_eq!(reply.at("return:0"), value(r#"{"lab-a":true}"#), "{name} {kind}");
        }
    }
    let list = bed.post(r#"{"client":"local","tgt":["lab-a"],"tgt_type":"list","fun":"test.ping"}"#).await;
    assert_eq!(list.at("return:0"), value(r#"{"lab-a":true}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_and_answers_have_many_forms() {
    let bed = Bed::new().await;
    let token = bed.token.clone();
    let auth = ("x-auth-token", token.as_str());
    for (kind, body) in [
        ("application/json", r#"{"client":"local","tgt":"*","fun":"test.ping"}"#),
        ("application/json;charset=UTF-8", r#"[{"client":"local","tgt":"*","fun":"test.ping"}]"#),
        ("text/plain;charset=UTF-8", r#"{"client":"local","tgt":"*","fun":"test.ping"}"#),
        ("application/x-yaml", "client: local\ntgt: '*'\nfun: test.ping\n"),
        ("text/yaml", "- client: local\n  tgt: '*'\n  fun: test.ping\n"),
        ("application/x-www-form-urlencoded", "client=local&tgt=%2A&fun=test.ping"),
    ] {
        let reply = bed.ask("POST", "/", &[auth, ("content-type", kind)], body).await;
        assert_eq!(reply.at("return:0"), value(r#"{"lab-a":true,"lab-b":true}"#), "{kind}");
        let yaml = bed.ask("POST", "/", &[auth, ("content-type", kind), ("accept", "application/x-yaml")], body).await;
        assert_eq!(yaml.text, "return:\n- lab-a: true\n  lab-b: true\n", "{kind}");
        assert_eq!(yaml.header("content-type"), "application/x-yaml");
    }
    for (kind, body, status) in [
        ("application/json", "{", 400),
        ("application/json", "3", 400),
        ("application/json", "[3]", 400),
        ("application/x-yaml", "a: [", 400),
        ("application/xml", "<a/>", 406),
        ("application/json", r#"{"client":"nope","fun":"x"}"#, 400),
        ("application/json", r#"{"fun":"x"}"#, 400),
        ("application/json", r#"{"client":"runner"}"#, 400),
        ("application/json", r#"{"client":"runner","fun":"no.such"}"#, 400),
        ("application/json", r#"{"client":"local","fun":"test.ping"}"#, 400),
        ("application/json", r#"{"client":"local","tgt":"x","tgt_type":"nodegroup","fun":"test.ping"}"#, 400),
        ("application/json", r#"{"client":"runner","fun":"test.sleep","s_time":5,"timeout":0.05}"#, 504),
    ] {
        let reply = bed.ask("POST", "/", &[auth, ("content-type", kind)], body).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
        assert_eq!(reply.at("status"), Value::Int(status.into()));
        assert_eq!(reply.at("return"), reply.at("error"));
    }
    let odd = bed.ask("GET", "/", &[("accept", "image/png")], Body::empty()).await;
    assert_eq!(odd.status, 406);
    let large = format!(r#"{{"client":"local","tgt":"*","fun":"test.ping","arg":["{}"]}}"#, "x".repeat(2 << 20));
    assert_eq!(bed.post(&large).await.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_of_their_own() {
    let bed = Bed::new().await;
    assert_eq!(bed.get("/minions").await.at("return:0:lab-b:id"), "lab-b".into());
    assert_eq!(bed.get("/minions/nobody").await.at("return"), value("[{}]"));
    assert_eq!(bed.get("/jobs/20010101000000000000").await.at("return"), value("[{}]"));
    assert!(bed.get("/jobs/20010101000000000000").await.at("info:0:Error").truth());
    assert_eq!(bed.get("/keys/nobody").await.json(), value(r#"{"return":{}}"#));
    let print = bed.get("/keys/lab-a").await.at("return:minions:lab-a").to_string();
    assert!(print.len() > 40 && print.chars().all(|c| c == ':' || c.is_ascii_hexdigit()), "{print}");
    assert!(bed.get("/stats").await.status.is_success());
    assert_eq!(bed.get("/nothing").await.status, 404);
    let token = bed.token.clone();
    assert_eq!(bed.ask("PUT", "/minions", &[("x-auth-token", &token)], Body::empty()).await.status, 405);
    let made = bed
        .ask(
            "POST",
            "/keys",
            &[("content-type", "application/x-www-form-urlencoded")],
            format!("mid=x&username=admin&password={}&eauth=file", super::bed::PASSWORD.replace(' ', "+")),
        )
        .await;
    assert_eq!(made.status, 501);
}
