//! Runner and wheel functions, called as web pages call them.

use rocksalt_core::{Value, json};
use rocksalt_daemon::{functions, runners, wheels};

use super::bed::Bed;

async fn run(bed: &Bed, client: &str, rest: &str) -> Value {
    let reply = bed.post(&format!(r#"{{"client":"{client}",{rest}}}"#)).await;
    assert!(reply.status.is_success(), "{rest}: {}", reply.text);
    reply.at(if client == "wheel" { "return:0:data:return" } else { "return:0" })
}

fn value(text: &str) -> Value {
    json::parse(text).expect("it is JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_found_again() {
    let bed = Bed::new().await;
    for (jid, fun, more) in [
        ("20260101000000000001", "test.ping", ""),
        ("20260101000000000002", "state.apply", r#","kwarg":{"test":true}"#),
        ("20260101000000000003", "test.echo", r#","arg":["x"],"metadata":{"ticket":7}"#),
    ] {
        run(&bed, "local", &format!(r#""tgt":"*","fun":"{fun}","jid":"{jid}"{more}"#)).await;
    }
    let ids = |found: Value| -> Vec<String> {
        let mut ids: Vec<String> =
            found.as_map().expect("a map").keys().map(|key| key.to_string()[18..].to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(run(&bed, "runner", r#""fun":"jobs.list_jobs""#).await), ["01", "02", "03"]);
    let states = r#""fun":"jobs.list_jobs","search_function":["state.highstate","state.apply"]"#;
    assert_eq!(ids(run(&bed, "runner", states).await), ["02"]);
    let mixed = r#""fun":"jobs.list_jobs","search_function":"test.*,nope""#;
    assert_eq!(ids(run(&bed, "runner", mixed).await), ["01", "03"]);
    assert_eq!(
        ids(run(&bed, "runner", r#""fun":"jobs.list_jobs","search_metadata":{"ticket":7,"other":1}"#).await),
        ["03"]
    );
    assert_eq!(ids(run(&bed, "runner", r#""fun":"jobs.list_jobs","search_target":"lab-*""#).await), ["01", "02", "03"]);
    assert_eq!(ids(run(&bed, "runner", r#""fun":"jobs.list_jobs","start_time":"2100, Jan 01 00:00""#).await).len(), 0);
    let job = run(&bed, "runner", r#""fun":"jobs.list_job","jid":20260101000000000002"#).await;
    assert_eq!(job.walk("Arguments", ":"), Some(&value(r#"[{"__kwarg__":true,"test":true}]"#)));
    assert_eq!(job.walk("Minions", ":"), Some(&value(r#"["lab-a","lab-b"]"#)));
    assert_eq!(job.walk("StartTime", ":"), Some(&"2026, Jan 01 00:00:00.000002".into()));
    assert_eq!(job.walk("Result:lab-a:retcode", ":"), Some(&Value::Int(1)));
    assert_eq!(job.walk("Result:lab-a:out", ":"), Some(&"highstate".into()));
    let found = run(&bed, "runner", r#""fun":"jobs.lookup_jid","jid":"20260101000000000002""#).await;
    assert_eq!(found.walk("outputter", ":"), Some(&"highstate".into()));
    let good = run(&bed, "runner", r#""fun":"jobs.exit_success","arg":["20260101000000000001"]"#).await;
    assert_eq!(good, value(r#"{"lab-a":true,"lab-b":true}"#));
    let last = run(&bed, "runner", r#""fun":"jobs.last_run","function":"test.*""#).await;
    assert_eq!(last.as_map().and_then(|map| map.keys().next()), Some(&"20260101000000000003".into()));
    assert_eq!(run(&bed, "runner", r#""fun":"jobs.last_run","function":"none.*""#).await, Value::Bool(false));
    assert_eq!(run(&bed, "runner", r#""fun":"jobs.active""#).await, value("{}"));
    let odd = run(&bed, "runner", r#""fun":"jobs.list_job","jid":"../../etc/passwd""#).await;
    assert!(odd.walk("Error", ":").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_up_and_who_is_not() {
    let bed = Bed::new().await;
    bed.fleet.gone.lock().expect("free").push("lab-b".into());
    assert_eq!(run(&bed, "runner", r#""fun":"manage.status""#).await, value(r#"{"up":["lab-a"],"down":["lab-b"]}"#));
    assert_eq!(run(&bed, "runner", r#""fun":"manage.up""#).await, value(r#"["lab-a"]"#));
    assert_eq!(run(&bed, "runner", r#""fun":"manage.down","tgt":"lab-a""#).await, value("[]"));
    assert_eq!(run(&bed, "runner", r#""fun":"manage.present""#).await, value(r#"["lab-a"]"#));
    assert_eq!(run(&bed, "runner", r#""fun":"manage.not_alived""#).await, value(r#"["lab-b"]"#));
    assert_eq!(run(&bed, "wheel", r#""fun":"minions.connected""#).await, value(r#"["lab-a"]"#));
    let versions = run(&bed, "runner", r#""fun":"manage.versions""#).await;
    assert_eq!(versions.walk("Minion offline:lab-b", ":"), Some(&Value::Bool(false)));
    assert_eq!(versions.walk("Master", ":"), versions.walk("Up to date:lab-a", ":"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_that_is_not_ours() {
    let bed = Bed::new().await;
    for (client, rest) in [
        ("wheel", r#""fun":"key.delete","match":"lab-a""#),
        ("wheel", r#""fun":"key.reject","match":"*""#),
        ("wheel", r#""fun":"key.gen_accept","id_":"x""#),
        ("wheel", r#""fun":"file_roots.write","data":"x","path":"a.sls""#),
        ("wheel", r#""fun":"pillar_roots.write","data":"x","path":"a.sls""#),
        ("runner", r#""fun":"state.orchestrate","arg":["x"]"#),
        ("runner", r#""fun":"jobs.list_job""#),
        ("runner", r#""fun":"manage.up","nonsense":1"#),
    ] {
        let reply = bed.post(&format!(r#"{{"client":"{client}",{rest},"full_return":true}}"#)).await;
        assert!(reply.status.is_success(), "{}", reply.text);
        assert_eq!(reply.at("return:0:data:success"), Value::Bool(false), "{rest}: {}", reply.text);
    }
    assert_eq!(run(&bed, "wheel", r#""fun":"key.accept","match":"lab-a""#).await, value("{}"));
    assert_eq!(run(&bed, "wheel", r#""fun":"key.delete","match":"nobody""#).await, value("{}"));
    assert_eq!(
        run(&bed, "runner", r#""fun":"state.orchestrate_show_sls","arg":["*"]"#).await,
        value(r#"{"master_master":{}}"#)
    );
}

#[test]
fn every_function_is_documented_and_in_order() {
    for house in [runners::FUNCTION_TABLE, wheels::FUNCTION_TABLE] {
        let mut names = Vec::new();
        for entry in house.entries() {
            assert!(functions::doc(entry).len() > 20, "{} says nothing", entry.name);
            assert!(functions::argspec(entry).walk("args", ":").is_some(), "{}", entry.name);
            names.push(entry.name.split('.').next().expect("a noun"));
        }
        assert!(names.is_sorted(), "{names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documentation_comes_from_here() {
    let bed = Bed::new().await;
    let doc = run(&bed, "local", r#""tgt":"lab-a","fun":"sys.doc","arg":["test.ping"]"#).await;
    assert!(doc.walk("lab-a:test.ping", ":").is_some(), "{doc:?}");
    assert!(run(&bed, "runner", r#""fun":"doc.runner""#).await.walk("jobs.list_jobs", "|").is_some());
    assert!(run(&bed, "runner", r#""fun":"doc.wheel""#).await.walk("key.finger", "|").is_some());
    assert!(run(&bed, "runner", r#""fun":"doc.execution""#).await.walk("cmd.run", "|").is_some());
}
