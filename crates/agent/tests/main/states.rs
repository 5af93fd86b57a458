//! Runs `tests/cases/states/*.yml`: state files in, results out, on this machine in a directory of their own.
//!
//! Each file is a list of cases:
//!
//! ```yaml
//! - what: a sentence for messages
//!   sls: |                           # `@TMP@` is a directory of the case's own
//!     a: {test.nop: []}
//!   test: true                       # a dry run
//!   modes: [ansible]                 # all three unless told
//!   options: {failhard: true}        # the target's configuration
//!   pillar: {key: value}
//!   before: {'@TMP@/f': text}
//!   results:                         # all that there are, by id (or tag), in their order
//!     a: {result: true, comment: Success!, changes: {}}
//!   after: {'@TMP@/f': text}         # null: there is no such file
//! ```

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rocksalt_agent::states::{RunProgress, RunUpdate, RunnerOptions, StepRunner};
use rocksalt_core::{Map, Value, yaml};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{ActiveCall, Base, FakeController, FakeServices, HostSystem, Services};
use rocksalt_sls::functions::{NoDecryptor, NoFunctions};
use rocksalt_sls::schedule::OrderMode;
use rocksalt_sls::sources::MemorySources;
use rocksalt_sls::{CompileInputs, Low, SlsSelection, StateCatalog, compile, low};

struct Known;

impl StateCatalog for Known {
    fn has_watch(&self, module: &str) -> bool {
        let module = format!("{module}.");
        catalog::states().any(|entry| entry.watches && entry.name.starts_with(&module))
    }

    fn has_aggregate(&self, module: &str) -> bool {
        let module = format!("{module}.");
        catalog::states().any(|entry| entry.join.is_some() && entry.name.starts_with(&module))
    }

    fn has_state(&self, function: &str) -> bool {
        catalog::find_state(function).is_some()
    }
}

fn low_of(sls: &str, options: &Map) -> Low {
    let mut sources = MemorySources::new();
    sources.add("base", "main.sls", sls.as_bytes().to_vec());
    let empty = Map::new();
    let inputs = CompileInputs {
        id: "minion",
        options,
        grains: &empty,
        pillar: &empty,
        sources: Rc::new(sources),
        functions: Rc::new(NoFunctions),
        decrypt: &NoDecryptor,
        machine: None,
        saltenv: None,
        pillarenv: None,
    };
    let high = compile(&inputs, SlsSelection::Sls(&["main".to_owned()]));
    let faults = |faults: Vec<rocksalt_sls::SlsFault>| -> ! {
        panic!("{:?} in\n{sls}", faults.iter().map(|fault| &fault.text).collect::<Vec<_>>())
    };
    let high = high.unwrap_or_else(|found| faults(found));
    low(high, &Known, options, &empty).unwrap_or_else(|found| faults(found))
}

fn host(options: Map, pillar: Map, controller: Arc<FakeController>) -> HostSystem {
    let base = Arc::new(Base::new(None));
    let running = ActiveCall { job: None, function: "state.apply".into(), args: Vec::new(), since: 0.0 };
    let host = base.begin(running, options, Box::new(Shared(controller)), None);
    host.set_services(Services::all_from(Arc::new(FakeServices::default().with_pillar(pillar))));
    host
}

/// A controller that the test can also access.
struct Shared(Arc<FakeController>);

impl rocksalt_modules::machine::Upward for Shared {
    fn ask(&self, ask: rocksalt_core::frame::Ask) -> rocksalt_modules::Result<Value> {
        self.0.ask(ask)
    }

    fn fetch(
        &self,
        ask: rocksalt_core::frame::Ask,
        sink: &mut dyn FnMut(&[u8]) -> rocksalt_modules::Result<()>,
    ) -> rocksalt_modules::Result<Value> {
        self.0.fetch(ask, sink)
    }

    fn send(
        &self,
        ask: rocksalt_core::frame::Ask,
        source: &mut dyn FnMut() -> rocksalt_modules::Result<Vec<u8>>,
    ) -> rocksalt_modules::Result<Value> {
        self.0.send(ask, source)
    }
}

/// Runs the states, and returns the results by tag.
fn run(
    low: &Low,
    machine: &HostSystem,
    options: &RunnerOptions<'_>,
    listener: &(dyn Fn(&RunUpdate<'_>) + Sync),
) -> Map {
    StepRunner::run(low, machine, options, listener, RunProgress::default()).results
}

fn options(mode: OrderMode, test: bool) -> RunnerOptions<'static> {
    RunnerOptions { test, mode, width: 8, failhard: false, job: "20260101000000000000" }
}

#[test]
fn cases() {
    let (mut count, mut wrong) = (0, Vec::new());
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/states");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).expect("there are cases").flatten().map(|e| e.path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("cases are readable");
        let cases = yaml::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for case in cases.as_list().expect("a file is a list of cases") {
            let case = case.as_map().expect("a case is a map");
            for mode in OrderMode::ALL {
                let wanted = case.get("modes").and_then(Value::as_list);
                if wanted.is_some_and(|modes| !modes.contains(&mode.name().into())) {
                    continue;
                }
                count += 1;
                if let Err(difference) = run_case(case, mode) {
                    let what = case.get("what").map(ToString::to_string).unwrap_or_default();
                    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    wrong.push(format!("{name}: {what} ({}): {difference}", mode.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} fail:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 116, "only {count} cases were found");
}

const KEYS: [&str; 9] = ["what", "sls", "test", "modes", "options", "pillar", "before", "results", "after"];

fn run_case(case: &Map, mode: OrderMode) -> Result<(), String> {
    let strange = case.keys().find(|key| !KEYS.contains(&key.to_string().as_str()));
    assert!(strange.is_none(), "a case has no {strange:?}");
    let place = tempfile::tempdir().expect("there is room for a directory");
    let here = |value: &Value| bound(value, &place.path().to_string_lossy());
    let map = |key: &str| match case.get(key).map(here) {
        Some(Value::Map(map)) => map,
        _ => Map::new(),
    };
    for (path, content) in map("before").iter() {
        std::fs::write(path.to_string(), content.to_string()).expect("it is ours");
    }
    let settings = map("options");
    let low = low_of(&case.get("sls").map(here).unwrap_or_default().to_string(), &settings);
    let machine = host(settings.clone(), map("pillar"), Arc::default());
    let failhard = settings.get("failhard").is_some_and(Value::truth);
    let options = RunnerOptions { failhard, ..options(mode, case.get("test").is_some_and(Value::truth)) };
    let results = run(&low, &machine, &options, &|_| {});
    compare(&map("results"), &results)?;
    for (path, content) in map("after").iter() {
        let found = std::fs::read_to_string(path.to_string()).map_or(Value::Null, Value::from);
        if found != *content {
            return Err(format!("{path}: expected {content:?}, found {found:?}"));
        }
    }
    Ok(())
}

fn compare(expected: &Map, found: &Map) -> Result<(), String> {
    let tags: Vec<String> = found.keys().map(ToString::to_string).collect();
    let id = |tag: &str| tag.split("_|-").nth(1).unwrap_or_default().to_owned();
    let told: Vec<String> = expected.keys().map(ToString::to_string).collect();
    let ids: Vec<String> = tags.iter().map(|tag| if told.contains(tag) { tag.clone() } else { id(tag) }).collect();
    if ids != told {
        return Err(format!("expected {told:?}, got {ids:?}: {found:?}"));
    }
    for ((name, expected), result) in expected.iter().zip(found.values()) {
        let result = result.as_map().expect("a result is a map");
        for (key, expected) in expected.as_map().expect("a result is a map").iter() {
            let mut value = result.get_value(key).cloned().unwrap_or_default();
            if let Value::Map(changes) = &mut value {
                changes.remove("pid");
            }
            if value != *expected {
                return Err(format!("{name}: {key}:\n  expected {expected:?}\n  got      {value:?}\n  {result:?}"));
            }
        }
        for key in ["__run_num__", "__sls__", "duration", "start_time", "__id__", "name"] {
            if !result.contains_key(key) && !name.to_string().starts_with("Listen_Error") {
                return Err(format!("{name} has no {key}"));
            }
        }
    }
    Ok(())
}

fn bound(value: &Value, place: &str) -> Value {
    match value {
        Value::String(text) => text.replace("@TMP@", place).into(),
        Value::List(items) => Value::List(items.iter().map(|item| bound(item, place)).collect()),
        Value::Map(map) => {
            map.iter().map(|(key, item)| (bound(key, place), bound(item, place))).collect::<Map>().into()
        }
        other => other.clone(),
    }
}

#[test]
fn slow_steps_overlap() {
    // Each of two steps waits for the other one to begin, and fails if it does not.
    let step = |own: &str, other: &str, place: &str, patience: u32| {
        let wait = format!(
            "touch {place}/{own}; for i in $(seq {patience}); do test -e {place}/{other} && exit 0; sleep 0.1; done; exit 1"
        );
        format!("{own}:\n  cmd.run:\n    - name: '{wait}'\n    - touches: nothing\n")
    };
    let machine = host(Map::new(), Map::new(), Arc::default());
    for (mode, overlap) in [(OrderMode::Ansible, false), (OrderMode::Justdoit, true), (OrderMode::Genius, true)] {
        let place = tempfile::tempdir().expect("there is room for a directory");
        let place = place.path().to_string_lossy();
        let patience = if overlap { 1200 } else { 5 };
        let steps = step("one", "two", &place, patience) + &step("two", "one", &place, patience);
        let results = run(&low_of(&steps, &Map::new()), &machine, &options(mode, false), &|_| {});
        let failed = results.values().filter(|result| result.walk("result", ":") == Some(&Value::Bool(false))).count();
        assert_eq!((results.len(), failed), (2, usize::from(!overlap)), "{mode:?}: {results:?}");
    }
}

#[test]
fn forty_become_one() {
    let steps: String =
        (0..40).map(|n| format!("RS_JOINED_{n}:\n  environ.setenv:\n    - value: v{n}\n")).collect::<String>()
            + "once more:\n  environ.setenv:\n    - name: RS_JOINED_3\n    - value: other\n";
    let low = low_of(&steps, &Map::new());
    for test in [true, false] {
        let mut all = Vec::new();
        for mode in [OrderMode::Ansible, OrderMode::Genius] {
            let machine = host(Map::new(), Map::new(), Arc::default());
            let results = run(&low, &machine, &options(mode, test), &|_| {});
            if mode == OrderMode::Genius {
                let starts: std::collections::BTreeSet<_> = results
                    .values()
                    .map(|result| result.as_map().and_then(|map| map.get("start_time")).map(ToString::to_string))
                    .collect();
                assert_eq!(starts.len(), 2, "forty began as one, and the last by itself");
            }
            let told: Vec<_> = results.iter().map(|(tag, result)| (tag.clone(), shown(result))).collect();
            all.push(told);
        }
        assert_eq!(all[0], all[1], "each says what it would have said alone");
        assert_eq!(all[0].len(), 41);
    }
}

fn shown(result: &Value) -> [Option<Value>; 3] {
    ["result", "comment", "changes"].map(|key| result.as_map().and_then(|map| map.get(key)).cloned())
}

#[test]
fn progress_is_told() {
    let low = low_of(
        "a:\n  test.nop: []\nb:\n  test.fail_without_changes: []\nc:\n  test.nop:\n    - require: [b]\n",
        &Map::new(),
    );
    let machine = host(Map::new(), Map::new(), Arc::default());
    let told = Mutex::new(Vec::new());
    run(&low, &machine, &options(OrderMode::Ansible, false), &|progress| {
        let last =
            progress.last.map(|(tag, result)| format!("{tag} {}", result.get("result").cloned().unwrap_or_default()));
        told.lock()
            .expect("nobody breaks it")
            .push(format!("{}/{} {:?} {last:?}", progress.done, progress.total, progress.running));
    });
    let expected = [
        "0/3 [\"test_|-a_|-a_|-nop\"] None",
        "1/3 [] Some(\"test_|-a_|-a_|-nop True\")",
        "1/3 [\"test_|-b_|-b_|-fail_without_changes\"] None",
        "2/3 [] Some(\"test_|-b_|-b_|-fail_without_changes False\")",
        "3/3 [] Some(\"test_|-c_|-c_|-nop False\")",
    ];
    assert_eq!(*told.lock().expect("nobody breaks it"), expected);
}

#[test]
fn events_are_fired() {
    let sls =
        "a:\n  test.nop:\n    - fire_event: True\nb:\n  test.nop:\n    - fire_event: my/tag\nc:\n  test.nop: []\n";
    let controller = Arc::new(FakeController::default());
    let settings = Map::from_iter([("id".into(), "minion".into())]);
    let machine = host(settings.clone(), Map::new(), Arc::clone(&controller));
    run(&low_of(sls, &settings), &machine, &options(OrderMode::Ansible, false), &|_| {});
    let events = controller.events.lock().expect("nobody breaks it");
    let tags: Vec<&str> = events.iter().map(|event| event.tag.as_str()).collect();
    let job = "salt/state_result/20260101000000000000/minion";
    assert_eq!(tags, [format!("{job}/a"), format!("{job}/my/tag")]);
    let comment = Value::Map(events[0].data.clone()).walk("ret:comment", ":").map(ToString::to_string);
    assert_eq!(comment.as_deref(), Some("Success!"));
}

#[test]
fn a_cancelled_run_begins_nothing() {
    let low = low_of("a:\n  cmd.run:\n    - name: sleep 60\nb:\n  test.nop: []\n", &Map::new());
    let machine = host(Map::new(), Map::new(), Arc::default());
    let signal = machine.signal();
    let began = Instant::now();
    let results = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            signal.stop(rocksalt_modules::machine::StopSignal::Kill);
        });
        run(&low, &machine, &options(OrderMode::Ansible, false), &|_| {})
    });
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(results.len(), 1, "{results:?}");
}
