//! Requests of functions to the controller, with a fake one.

use std::sync::Arc;

use rocksalt_core::{Call, JobId, Map, Return, Value};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{ActiveCall, Fake, FakeController, FakeServices, Probe};

fn setup(controller: FakeController) -> (Fake, Arc<FakeController>) {
    let controller = Arc::new(controller);
    let options = Map::from_iter([("cachedir".into(), "/cache".into())]);
    let mut tree = FakeServices::default();
    for (name, content) in &controller.files {
        tree = tree.with_file(name, content);
    }
    let fake = Fake::new().with_services(tree).directory("/srv").directory("/etc").with_options(options);
    (fake.with_controller(Arc::clone(&controller)), controller)
}

fn tree() -> FakeController {
    let files = [("d/x", "hello, hello\n"), ("d/init.sls", "s\n"), ("d/e/y", "y\n"), ("top.sls", "t\n")];
    FakeController {
        files: files.map(|(name, content)| (name.to_owned(), content.as_bytes().to_vec())).into(),
        ..FakeController::default()
    }
}

fn call(machine: &Fake, function: &str, args: &[&str]) -> Return {
    let args = args.iter().map(|arg| Value::from(*arg)).collect();
    catalog::call(Call { args, ..Call::new(function) }, machine)
}

fn text(machine: &Fake, path: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&machine.read(path.as_ref()).ok()?).into_owned())
}

#[test]
fn files_come_from_the_tree() {
    let (machine, _) = setup(tree());
    assert_eq!(call(&machine, "cp.get_file", &["salt://d/x", "/srv/x"]).value, "/srv/x".into());
    assert_eq!(text(&machine, "/srv/x").as_deref(), Some("hello, hello\n"));
    assert_eq!(call(&machine, "cp.get_file", &["salt://none", "/srv/none"]).value, "".into());
    assert_eq!(text(&machine, "/srv/none"), None);
    assert_eq!(call(&machine, "cp.get_file", &["salt://d/x", "/srv/"]).value, "/srv/x".into());
    let deep = call(&machine, "cp.get_file", &["salt://d/x", "/srv/new/x"]);
    assert!(deep.problem.is_some_and(|problem| problem.hint.is_some_and(|hint| hint.contains("makedirs"))));
    assert_eq!(call(&machine, "cp.get_file_str", &["salt://d/x"]).value, "hello, hello\n".into());
    assert_eq!(call(&machine, "cp.get_file_str", &["salt://none"]).value, false.into());
    let got = call(&machine, "cp.get_dir", &["salt://d", "/srv/dest"]).value;
    let names = ["/srv/dest/d/e/y", "/srv/dest/d/init.sls", "/srv/dest/d/x"].map(Value::from).to_vec();
    assert_eq!(got, names.into());
    assert_eq!(text(&machine, "/srv/dest/d/e/y").as_deref(), Some("y\n"));
    for wrong in ["salt://../etc/passwd", "salt://d/../../x", "ftp://x/y"] {
        assert!(call(&machine, "cp.get_file", &[wrong, "/srv/x"]).problem.is_some(), "{wrong}");
    }
}

#[test]
fn a_file_that_the_caller_gives_is_taken() {
    let urls = [("cp://0".to_owned(), b"hi\n".to_vec())].into();
    let (machine, _) = setup(FakeController { urls, ..FakeController::default() });
    let given = |size: i64| {
        let file =
            [("source", "cp://0".into()), ("name", "../motd".into()), ("size", size.into()), ("mode", 0o600i64.into())];
        Value::List(vec![Map::from_iter(file.map(|(name, value): (&str, Value)| (name.into(), value))).into()])
    };
    let receive = |size: i64| catalog::call(Call::new("cp.receive").arg(given(size)).arg("/etc/"), &machine);
    assert_eq!(receive(3).value, Value::List(vec!["/etc/motd".into()]), "a name can't lead elsewhere");
    assert_eq!(text(&machine, "/etc/motd").as_deref(), Some("hi\n"));
    assert!(receive(4).problem.is_some_and(|problem| problem.text.contains("changed while")));
}

#[test]
fn a_damaged_file_changes_nothing() {
    let (machine, _) = setup(FakeController { damages: true, ..tree() });
    let machine = machine.file("/srv/x", "old");
    let answer = call(&machine, "cp.get_file", &["salt://d/x", "/srv/x"]);
    assert!(answer.problem.is_some_and(|problem| problem.text.contains("damaged")));
    assert_eq!(text(&machine, "/srv/x").as_deref(), Some("old"));
    assert!(call(&machine, "cp.cache_file", &["salt://d/x"]).problem.is_some());
    assert_eq!(call(&machine, "cp.is_cached", &["salt://d/x"]).value, "".into());
}

#[test]
fn a_good_copy_is_not_sent_again() {
    let (machine, controller) = setup(tree());
    let path = "/cache/files/base/d/x";
    assert_eq!(call(&machine, "cp.is_cached", &["salt://d/x"]).value, "".into());
    assert_eq!(call(&machine, "cp.cache_file", &["salt://d/x"]).value, path.into());
    assert_eq!(call(&machine, "cp.cache_file", &["salt://d/x"]).value, path.into());
    assert_eq!(*controller.sent.lock().expect("not poisoned"), 1);
    assert_eq!(call(&machine, "cp.is_cached", &["salt://d/x"]).value, path.into());
    assert_eq!(call(&machine, "cp.list_minion", &[]).value, Value::List(vec![path.into()]));
    let mode = |path: &str| machine.stat(path.as_ref(), true).expect("fine").map(|stat| stat.mode);
    assert_eq!((mode(path), mode("/cache")), (Some(0o600), Some(0o700)));
    assert_eq!(call(&machine, "saltutil.clear_cache", &[]).value, true.into());
    assert_eq!(call(&machine, "cp.list_minion", &[]).value, Value::List(Vec::new()));
    assert_eq!(call(&machine, "cp.cache_file", &["salt://none"]).value, false.into());
    let wished = Call::new("cp.get_url").arg("salt://d/x").arg("/srv/y").kwarg("source_hash", "md5=00");
    assert!(catalog::call(wished, &machine).problem.is_some());
    assert_eq!(text(&machine, "/srv/y"), None);
}

#[test]
fn the_tree_can_be_listed() {
    let (machine, _) = setup(tree());
    let list = |function: &str| call(&machine, function, &[]).value.to_string();
    assert_eq!(list("cp.list_master"), "['d/e/y', 'd/init.sls', 'd/x', 'top.sls']");
    assert_eq!(list("cp.list_master_dirs"), "['d', 'd/e']");
    assert_eq!(list("cp.list_states"), "['d', 'top']");
    assert_eq!(list("cp.list_master_symlinks"), "{}");
    assert_eq!(list("cp.envs"), "['base']");
    assert_eq!(call(&machine, "cp.stat_file", &["salt://top.sls"]).value, "0644".into());
    assert_eq!(call(&machine, "cp.stat_file", &["salt://none"]).value, Value::Null);
    let sum = call(&machine, "cp.hash_file", &["salt://top.sls"]).value.to_string();
    assert!(sum.starts_with("{'hash_type': 'sha256', 'hsum': '"), "{sum}");
    assert_eq!(call(&machine, "cp.hash_file", &["salt://none"]).value, "".into());
}

#[test]
fn files_go_up() {
    let (machine, controller) = setup(tree());
    let machine = machine.file("/etc/a/one.conf", "1").file("/etc/a/two.txt", "2").file("/etc/a/b/three.conf", "3");
    assert_eq!(call(&machine, "cp.push", &["/etc/a/one.conf"]).value, true.into());
    let all = Call::new("cp.push_dir").arg("/etc/a").kwarg("glob", "*.conf").kwarg("upload_path", "/up");
    assert_eq!(catalog::call(all, &machine).value, true.into());
    let pushed = controller.pushed.lock().expect("not poisoned");
    assert_eq!(pushed.keys().collect::<Vec<_>>(), ["etc/a/one.conf", "up/b/three.conf", "up/one.conf"]);
    assert_eq!(pushed["up/b/three.conf"], b"3");
    assert!(call(&machine, "cp.push", &["/etc/none"]).problem.is_some());
    let out = Call::new("cp.push").arg("/etc/a/one.conf").kwarg("upload_path", "../x");
    assert!(catalog::call(out, &machine).problem.is_some());
}

#[test]
fn others_are_called_and_events_sent() {
    let answer = Map::from_iter([("ret".into(), 5i64.into()), ("retcode".into(), 0i64.into())]);
    let answers = Map::from_iter([("web1".into(), answer.into())]);
    let (machine, controller) = setup(FakeController { answers, ..FakeController::default() });
    let published = call(&machine, "publish.publish", &["web*", "test.arg", "1,two,k=yes"]).value;
    assert_eq!(published.to_string(), "{'web1': 5}");
    let full = call(&machine, "publish.full_data", &["web*", "test.ping"]).value;
    assert_eq!(full.to_string(), "{'web1': {'ret': 5, 'retcode': 0}}");
    let calls = controller.published.lock().expect("not poisoned").clone();
    assert_eq!(calls, ["web* test.arg [1, 'two'] {'k': True}", "web* test.ping [] {}"]);
    assert!(call(&machine, "publish.runner", &["manage.down"]).problem.is_some());
    let event = Call::new("event.send").arg("a/b").kwarg("x", 1i64).kwarg("__pub_jid", "1");
    assert_eq!(catalog::call(event, &machine).value, true.into());
    assert_eq!(call(&machine, "event.fire_master", &["text", "c"]).value, true.into());
    let events = controller.events.lock().expect("not poisoned");
    let shown: Vec<String> =
        events.iter().map(|event| format!("{} {}", event.tag, Value::Map(event.data.clone()))).collect();
    assert_eq!(shown, ["a/b {'x': 1}", "c {'data': 'text'}"]);
}

#[test]
fn jobs_are_found_and_stopped() {
    let job: JobId = "20260131093000123456".parse().expect("twenty digits");
    let running =
        |function: &str| ActiveCall { job: Some(job), function: function.into(), args: Vec::new(), since: 1.0 };
    let machine = Fake::new().with_running(running("cmd.run")).with_running(running("saltutil.running"));
    let list = call(&machine, "saltutil.running", &[]).value;
    assert_eq!(list.as_list().map(<[Value]>::len), Some(1));
    assert_eq!(list.walk("0:fun", ":"), Some(&"cmd.run".into()));
    assert_eq!(call(&machine, "saltutil.is_running", &["state.*"]).value, Value::List(Vec::new()));
    assert_eq!(call(&machine, "saltutil.find_job", &[job.as_str()]).value.walk("jid", ":"), Some(&job.as_str().into()));
    assert_eq!(call(&machine, "saltutil.find_job", &["20260131093000123457"]).value, Map::new().into());
    let killed = call(&machine, "saltutil.kill_job", &[job.as_str()]).value.to_string();
    assert!(killed.starts_with("Signal 9 sent to job 20260131093000123456"), "{killed}");
    assert_eq!(call(&machine, "saltutil.term_job", &["20260131093000123457"]).value, "".into());
    assert!(call(&machine, "saltutil.kill_job", &["../../x"]).problem.is_some());
    assert!(call(&machine, "saltutil.signal_job", &[job.as_str(), "1"]).problem.is_some());
}
