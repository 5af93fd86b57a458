//! Jobs from their start to their end, and everything that can only be read.

use std::time::Duration;

use serde_json::json;

use super::world::{ApiAnswer, World};

/// A job that has ended.
async fn done(world: &World, body: serde_json::Value) -> ApiAnswer {
    let started = world.ask("POST", "/jobs", Some(body)).await;
    let path = format!("/jobs/{}", started.is(202).text("/jid"));
    for _ in 0..500 {
        let shown = world.get(&path).await;
        if !matches!(shown.is(200).text("/job/state"), "running" | "queued") {
            return shown;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it does not end");
}

#[tokio::test]
async fn a_job_has_its_returns_by_pages() {
    let world = World::new().await;
    let body = json!({"function": "test.arg", "args": [1, "x", {"a": null}], "target": "*", "metadata": {"ticket": 7}});
    let shown = done(&world, body).await;
    assert_eq!(shown.json["job"]["count"], 11);
    assert_eq!(shown.json["job"]["state"], "done");
    assert_eq!(
        (&shown.json["succeeded"], &shown.json["failed"], &shown.json["waiting"]),
        (&json!(9), &json!(2), &json!(0))
    );
    let first = &shown.json["returns"][0];
    assert_eq!((&first["target"], &first["failure"]["kind"]), (&json!("gone"), &json!("unreached")));
    assert_eq!(first["failure"]["stage"], "connect");
    assert_eq!(shown.json["returns"][1]["return"], json!([1, "x", {"a": null}]));
    let path = format!("/jobs/{}", shown.text("/job/jid"));
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = world.get(&format!("{path}?limit=4{after}")).await;
        let returns = page.is(200).json["returns"].as_array().expect("a list").clone();
        seen.extend(returns.iter().map(|one| one["target"].as_str().expect("an id").to_owned()));
        match page.json["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!((seen.len(), seen.is_sorted()), (11, true));
    let failed = world.get(&format!("{path}?failed=true")).await;
    assert_eq!(failed.json["returns"].as_array().map(Vec::len), Some(2));
    assert_eq!(world.get(&format!("{path}/returns/web-9")).await.is(200).json["retcode"], 1);
    world.get(&format!("{path}/returns/nobody")).await.is(404);
    // A job that has ended can't be cancelled.
    world.ask("POST", &format!("{path}/cancel"), None).await.is(409);
}

#[tokio::test]
async fn asked_twice_it_runs_once() {
    let world = World::new().await;
    let jid = "20260131093000123456";
    let body = json!({"function": "test.ping", "target": "web-1", "jid": jid});
    for _ in 0..3 {
        assert_eq!(world.ask("POST", "/jobs", Some(body.clone())).await.is(202).text("/jid"), jid);
    }
    let other = json!({"function": "test.ping", "target": "web-2", "jid": jid});
    assert_eq!(world.ask("POST", "/jobs", Some(other)).await.is(409).text("/error/kind"), "taken");
    let nobody = json!({"function": "test.ping", "target": "db*"});
    assert_eq!(world.ask("POST", "/jobs", Some(nobody)).await.is(404).text("/error/kind"), "no_targets");
}

#[tokio::test]
async fn jobs_are_found() {
    let world = World::new().await;
    for n in 0..5 {
        let function = if n % 2 == 0 { "test.ping" } else { "test.arg" };
        done(&world, json!({"function": function, "target": format!("web-{n}"), "metadata": {"n": n}})).await;
    }
    let count =
        async |query: &str| world.get(&format!("/jobs?{query}")).await.is(200).json["jobs"].as_array().map(Vec::len);
    assert_eq!(count("").await, Some(5));
    assert_eq!(count("function=test.ping").await, Some(3));
    assert_eq!(count("function=test.p*&function=test.a*").await, Some(5));
    assert_eq!(count("target=web-1").await, Some(1));
    assert_eq!(count("user=admin").await, Some(5));
    assert_eq!(count("user=bob").await, Some(0));
    assert_eq!(count("state=done&state=lost").await, Some(5));
    assert_eq!(count("state=lost").await, Some(0));
    assert_eq!(count("running=true").await, Some(0));
    assert_eq!(count("metadata=%7B%22n%22%3A3%7D").await, Some(1));
    assert_eq!(count("since=0&until=1").await, Some(0));
    assert_eq!(count("prefix=2").await, Some(5));
    let first = world.get("/jobs?limit=3&targets=true").await;
    assert_eq!(first.json["jobs"][0]["targets"], json!(["web-4"]));
    let second = world.get(&format!("/jobs?limit=3&before={}", first.text("/next"))).await;
    assert_eq!((second.json["jobs"].as_array().map(Vec::len), &second.json["next"]), (Some(2), &json!(null)));
}

#[tokio::test]
async fn the_same_again_only_where_it_failed() {
    let world = World::new().await;
    let first = done(&world, json!({"function": "test.ping", "target": "*"})).await;
    let path = format!("/jobs/{}/rerun", first.text("/job/jid"));
    let again = world.ask("POST", &path, Some(json!({"failed": true}))).await;
    assert_eq!(again.is(202).json["targets"], json!(["web-9", "gone"]));
    assert_eq!(world.ask("POST", &path, None).await.is(202).json["count"], 11);
    let secret = json!({"function": "test.arg", "target": "web-1", "kwargs": {"password": "canary"}});
    let secret = done(&world, secret).await;
    assert!(!secret.json.to_string().contains("canary"));
    let path = format!("/jobs/{}/rerun", secret.text("/job/jid"));
    assert_eq!(world.ask("POST", &path, None).await.is(400).text("/error/hint"), "start a new job with them");
}

#[tokio::test]
async fn all_that_is_only_looked_at() {
    let world = World::new().await;
    for path in [
        "/targets",
        "/targets?id=web-*&grains=true&limit=3",
        "/targets/web-1",
        "/functions?name=test.*",
        "/functions?search=ping",
        "/functions/test.ping",
        "/states",
        "/states/file.managed",
        "/stats",
        "/version",
        "/session",
        "/health",
        "/access/explain?user=bob&function=cmd.run&target=web-1",
        "/events",
        "/events?limit=2&tag=salt/*",
    ] {
        world.get(path).await.is(200);
    }
    let page = world.get("/targets?limit=3").await;
    assert_eq!((page.json["targets"].as_array().map(Vec::len), page.text("/next")), (Some(3), "web-1"));
    let function = world.get("/functions/test.ping").await;
    assert!(function.json["schema"].is_object());
    let ran = world.ask("POST", "/runner", Some(json!({"function": "jobs.active"}))).await;
    assert_eq!(ran.is(200).json["success"], true, "{}", ran.json);
    world.ask("POST", "/reload", None).await.is(204);
}

#[tokio::test]
async fn events_are_read_by_pages() {
    let world = World::new().await;
    for n in 0..25 {
        world.ask("POST", "/events", Some(json!({"tag": format!("my/{}", n % 2), "data": {"n": n}}))).await.is(201);
    }
    world.ask("POST", "/events", Some(json!({"tag": "salt/auth"}))).await.is(400);
    let newest = world.get("/events?limit=3").await;
    assert_eq!(newest.json["events"].as_array().map(Vec::len), Some(3));
    assert_eq!(newest.json["events"][2]["data"]["n"], 24);
    let (mut after, mut seen) = (0, Vec::new());
    loop {
        let page = world.get(&format!("/events?after={after}&limit=4&tag=my/1")).await;
        let events = page.is(200).json["events"].as_array().expect("a list").clone();
        seen.extend(events.iter().map(|event| event["data"]["n"].as_i64().expect("a number")));
        after = page.json["next"].as_u64().expect("a number");
        if page.json["next"] == page.json["newest"] {
            break;
        }
    }
    assert_eq!(seen, (0..25).filter(|n| n % 2 == 1).collect::<Vec<i64>>());
    // Ids from another log.
    assert_eq!(world.get("/events?after=99999").await.is(200).json["events"], json!([]));
}
