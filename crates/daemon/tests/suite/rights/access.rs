//! Access decisions: the cases of `cases/*.yml`, most of them also recorded from real Salt (`record.py`).

use std::path::Path;
use std::sync::Arc;

use rocksalt_controller::Controller;
use rocksalt_controller::ledger::Ledger;
use rocksalt_core::request::{ControllerCall, Needs, RunRequest};
use rocksalt_core::target::Nodegroups;
use rocksalt_core::{Map, Value, yaml};
use rocksalt_daemon::access::{AccessPolicy, Rights};
use rocksalt_daemon::requests::{Caller, RefusalKind};

use super::fixture::{self, map};

fn texts(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_list).unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn text(ask: &Map, key: &str, default: &str) -> String {
    match ask.get(key) {
        Some(Value::List(items)) => items.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        Some(value) => value.to_string(),
        None => default.to_owned(),
    }
}

#[tokio::test]
async fn rules_decide_as_the_cases_say() {
    let directory = fixture::directory();
    let controller = fixture::controller(directory.path());
    let ledger = fixture::ledger(fixture::store().await).await;
    let mut asked = 0;
    for file in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/rights/cases")).expect("cases")
    {
        let path = file.expect("a file").path();
        let cases = yaml::parse(&std::fs::read_to_string(&path).expect("it reads")).expect("YAML");
        for case in cases.as_list().expect("a list").iter().map(|case| case.as_map().expect("a case")) {
            let mut config = case.get("options").and_then(Value::as_map).cloned().unwrap_or_default();
            let rules = case.get("rules").cloned().unwrap_or_default();
            config.insert("external_auth", Map::from_iter([("file".into(), rules)]));
            let access = AccessPolicy::read(&config, &Nodegroups::new()).expect("rules");
            for ask in case.get("asks").and_then(Value::as_list).expect("asks") {
                let ask = ask.as_map().expect("an ask");
                let name = format!("{}: {}: {}", path.display(), text(case, "what", ""), Value::Map(ask.clone()));
                check_ask(&name, ask, &access, &controller, &ledger).await;
                asked += 1;
            }
        }
    }
    assert!(asked > 100, "only {asked} were asked");
}

/// Asks for one call, and compares the verdict with the case's.
async fn check_ask(name: &str, ask: &Map, access: &AccessPolicy, controller: &Arc<Controller>, ledger: &Arc<Ledger>) {
    let groups = texts(ask.get("groups"));
    let caller = Caller {
        user: text(ask, "user", "fred"),
        eauth: "file".into(),
        rights: Rights::Listed { groups: groups.clone() },
        from: None,
    };
    let local = ControllerCall {
        function: text(ask, "fun", ""),
        args: ask.get("arg").and_then(Value::as_list).unwrap_or_default().to_vec(),
        kwargs: ask.get("kwarg").and_then(Value::as_map).cloned().unwrap_or_default(),
        background: false,
    };
    let run = RunRequest {
        function: local.function.clone(),
        args: local.args.clone(),
        kwargs: local.kwargs.clone(),
        target: text(ask, "tgt", ""),
        target_kind: text(ask, "tgt_type", "glob"),
        ..RunRequest::default()
    };
    let client = text(ask, "client", "local");
    let needs = match client.as_str() {
        "local" => Needs::Function(&run),
        "runner" => Needs::Runner(&local),
        "wheel" => Needs::Wheel(&local),
        other => panic!("{other}"),
    };
    let verdict = access.check(&caller, &needs, controller, ledger).await;
    let expected = ask.get("allowed").and_then(Value::as_bool).expect("a verdict");
    assert_eq!(verdict.is_ok(), expected, "{name}: {verdict:?}");
    if let Err(refusal) = &verdict {
        assert_eq!(refusal.kind, RefusalKind::Forbidden, "{name}");
    }
    if client == "local" {
        let told = access.explain(&caller.user, Some("file"), &groups, &run, controller).await.expect("told");
        assert_eq!(told.allowed, expected, "{name}: {:?}", told.lines);
        assert!(!told.lines.is_empty(), "{name}: nothing is explained");
    }
}

#[tokio::test]
async fn what_was_checked_is_what_is_granted() {
    let directory = fixture::directory();
    let controller = fixture::controller(directory.path());
    let ledger = fixture::ledger(fixture::store().await).await;
    let access = AccessPolicy::parse(&map("{file: {fred: [{'G@role:web': [test.ping]}]}}")).expect("rules");
    let caller =
        Caller { user: "fred".into(), eauth: "file".into(), rights: Rights::Listed { groups: Vec::new() }, from: None };
    let run = |kind: &str, target: &str| RunRequest {
        function: "test.ping".into(),
        target: target.into(),
        target_kind: kind.into(),
        ..RunRequest::default()
    };
    let wanted = run("grain", "role:web");
    let grant = access.check(&caller, &Needs::Function(&wanted), &controller, &ledger).await.expect("it is allowed");
    let only: Vec<&str> = grant.only.as_ref().expect("a limit").iter().map(String::as_str).collect();
    assert_eq!(only, ["web1", "web2"]);

    // Between the check and the run, the grains of another target change so that it is a web server.
    controller.grains_cache.remember("db1", &map("{os: Debian, role: web}")).expect("grains");
    let jobs = std::sync::Arc::new(rocksalt_controller::jobs::JobService::new(ledger.clone()));
    let started = jobs.start(&controller, wanted, &caller.account(), grant.only.as_ref()).await;
    let Err(rocksalt_controller::jobs::Error::Beyond(more)) = started else { panic!("it runs on more: {started:?}") };
    assert_eq!(more, ["db1"]);
    assert_eq!(ledger.jobs(&Default::default()).await.expect("it lists").len(), 0, "nothing is kept of it");

    // A target with unknown grains is not allowed, and an invalid target expression is reported as such.
    controller.grains_cache.forget("web2");
    let unknown = run("list", "web1,web2");
    assert!(access.check(&caller, &Needs::Function(&unknown), &controller, &ledger).await.is_err());
    let broken = run("compound", "G@role:web and");
    let refusal = access.check(&caller, &Needs::Function(&broken), &controller, &ledger).await.expect_err("broken");
    assert_eq!(refusal.kind, RefusalKind::Invalid);
}

#[test]
fn faults_say_where_they_are() {
    let cases = [
        ("{file: {fred: ['a(']}}", "external_auth → file → fred → 1: "),
        ("{file: {fred: [test.ping, {'web* and': [test.ping]}]}}", "external_auth → file → fred → 2 → web* and: "),
        ("{file: {fred: [{'web*': [test.ping], 'db*': [test.ping]}]}}", "one key"),
        ("{file: {fred: [{'web*': [{cmd.run: {arg: [ls]}}]}]}}", "'arg' is unknown"),
        ("{file: {fred: [{'web*': [{cmd.run: {args: ls}}]}]}}", "must be a list"),
        ("{file: {fred: [{'web*': [{cmd.run: {args: ['(']}}]}]}}", "→ cmd.run → args"),
        ("{file: {'(': [test.ping]}}", "external_auth → file → (: "),
        ("{file: {fred: ['@']}}", "after the @"),
        ("{file: {fred: [7]}}", "a function or a target"),
        ("{file: [fred]}", "external_auth → file: "),
        ("{file: {fred: [{'N@nowhere': [test.ping]}]}}", "nowhere"),
    ];
    for (rules, text) in cases {
        let why = AccessPolicy::parse(&map(rules)).expect_err(rules);
        assert!(why.contains(text), "{rules}: {why}");
    }
    let long = format!("{{file: {{fred: ['{}']}}}}", "a".repeat(5000));
    assert!(AccessPolicy::parse(&map(&long)).expect_err("it is long").contains("4096"));
}

#[test]
fn permissions_are_as_salt_gives_them() {
    let rules = "{file: {fred: ['@runner', {'web*': [test.ping]}, '.*'], '*': ['@jobs', '.*'], 'ops%': [pkg.install]}}";
    let access = AccessPolicy::parse(&map(rules)).expect("rules");
    let shown = |user: &str, groups: &[&str]| {
        let groups: Vec<String> = groups.iter().map(|group| group.to_string()).collect();
        access.permissions("file", user, &groups).to_string()
    };
    assert_eq!(shown("fred", &["ops"]), "['.*', '@jobs', '@runner', 'pkg.install', {'web*': ['test.ping']}]");
    assert_eq!(shown("ann", &[]), "['.*', '@jobs']");
    assert_eq!(
        AccessPolicy::parse(&map("{file: {fred: [x]}}")).expect("rules").permissions("file", "ann", &[]).to_string(),
        "{}"
    );
}
