//! Runs `tests/cases/state/<state>/*.yml`: arguments and a machine before, the verdicts and the machine after.
//!
//! Each file is a list of cases; those of `as-salt.yml` are recorded from real Salt by `tests/record.py`:
//!
//! ```yaml
//! - what: a sentence for messages
//!   name: '@TMP@/f'                 # `@TMP@` is a directory of the case's own
//!   args: {contents: new}
//!   low: {require_in: [{file: x}]}  # what all states take, for those that look at it
//!   before: {'@TMP@/f': "old\n", '@TMP@/d/': null, '@TMP@/l': {link: f}, '@TMP@/g': {content: x, mode: "0600"}}
//!   tree: {a.conf: "{{ x }}\n", link: {link: a.conf}, empty/: null}
//!   pillar: {key: value}
//!   grains: {os: Debian}
//!   options: {backup_mode: minion}
//!   commands: [{argv: [ls, /], stdout: "a\n", code: 0}]
//!   programs: [dig]                 # empty files that can be run
//!   'on': [fake, host]              # which machines; both unless told
//!   watched: true                   # something that it watches has changed
//!   test: {result: null, comment: "…", changes: {}}    # a dry run
//!   apply: {result: true, comment: "…", changes: {}, outputs: {}}
//!   again: {result: true, comment: "…", changes: {}}
//!   problem: a part of the text     # instead of the verdicts
//!   after: {'@TMP@/f': "new\n"}     # all that there is
//! ```
//!
//! What a dry run leaves behind is compared with what was there before it: nothing may have changed. Every plan is
//! stored as JSON and read again before it is carried out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rocksalt_core::{Map, Value, yaml};
use rocksalt_modules::catalog::{self, Decision, Plan, Step, Verdict};
use rocksalt_modules::machine::{FakeServices, FileKind, Probe, Services, System, Template};

use super::fixture::{alone_on_host, bound, content, controller, entries, fake, map, prepare, real, with_place};

#[test]
fn states() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for directory in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/state")) {
        let state = directory.file_name().expect("it has a name").to_string_lossy().into_owned();
        assert!(catalog::find_state(&state).is_some(), "{}: there is no such state", directory.display());
        for file in entries(&directory) {
            let text = std::fs::read_to_string(&file).expect("cases are readable");
            let cases = yaml::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            for case in cases.as_list().expect("a file is a list of cases") {
                let case = case.as_map().expect("a case is a map");
                let on: Vec<String> = match case.get("on").and_then(Value::as_list) {
                    Some(on) => on.iter().map(ToString::to_string).collect(),
                    None => vec!["fake".into(), "host".into()],
                };
                for on in on {
                    count += 1;
                    let what = case.get("what").map(ToString::to_string).unwrap_or_default();
                    if let Err(difference) = run(&state, case, &on) {
                        wrong.push(format!("{state} ({on}): {what}: {difference}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} runs fail:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 1294, "only {count} cases were found");
}

const KEYS: [&str; 18] = [
    "what", "name", "args", "low", "before", "tree", "pillar", "grains", "options", "commands", "on", "watched",
    "test", "apply", "again", "problem", "after", "programs",
];

fn run(state: &str, case: &Map, on: &str) -> Result<(), String> {
    for key in case.keys() {
        assert!(KEYS.contains(&&*key.to_string()), "{state}: a case has no '{key}'");
    }
    match on {
        "fake" => {
            let case = bound(case, "/tmp/case");
            let tree = tree(&case);
            let machine = fake(&with_place(&case)).with_services(tree).with_controller(Arc::new(controller(&case)));
            steps(state, &case, &machine, Path::new("/tmp/case"))
        }
        "host" => {
            let _alone = alone_on_host();
            let place = tempfile::tempdir().expect("there is room for a directory");
            let case = bound(case, &place.path().to_string_lossy());
            let host = real(&case);
            host.set_services(Services::all_from(Arc::new(tree(&case))));
            prepare(&host, &map(&case, "before"));
            steps(state, &case, &host, place.path())
        }
        other => panic!("{state}: there is no machine '{other}'"),
    }
}

fn steps(state: &str, case: &Map, machine: &dyn System, place: &Path) -> Result<(), String> {
    let before = picture(machine, place);
    for (key, test) in [("test", true), ("apply", false), ("again", false)] {
        if case.get(key).is_none() && !(case.get("problem").is_some() && key == "apply") {
            continue;
        }
        let answer = call(state, case, machine, test);
        match (case.get("problem"), answer) {
            (Some(part), Err(text)) if text.contains(&part.to_string()) => {}
            (Some(part), answer) => return Err(format!("expected the problem '{part}', got {answer:?}")),
            (None, Err(text)) => return Err(format!("{key} failed: {text}")),
            (None, Ok(verdict)) => compare(&map(case, key), &verdict).map_err(|text| format!("{key}: {text}"))?,
        }
        if test && picture(machine, place) != before {
            return Err("the dry run changed something".into());
        }
    }
    if case.contains_key("after") {
        return compare_picture(&map(case, "after"), &picture(machine, place));
    }
    Ok(())
}

fn call(state: &str, case: &Map, machine: &dyn System, test: bool) -> Result<Verdict, String> {
    let entry = catalog::find_state(state).expect("it was found before");
    let name = case.get("name").map(ToString::to_string).unwrap_or_default();
    let mut arguments = map(case, "args");
    arguments.insert("name", case.get("name").cloned().unwrap_or_default());
    let mut low = arguments.clone();
    low.insert("__id__", name.clone());
    low.extend(map(case, "low"));
    let step = Step { id: &name, name: &name, sls: "sls", saltenv: "base", low: &low, test };
    let watched = case.get("watched").is_some_and(Value::truth);
    let bound = || entry.bind(arguments.clone());
    match entry.plan(bound(), machine, &step, watched).map_err(|error| error.to_string())? {
        Decision::Settled(verdict) => Ok(verdict),
        Decision::Change(plan, verdict) => {
            let plan = stored(&plan).map_err(|text| format!("the plan can't be stored: {text}"))?;
            if test {
                Ok(verdict)
            } else {
                entry.apply(bound(), plan, machine, &step).map_err(|error| error.to_string())
            }
        }
    }
}

/// The plan as another process would read it.
fn stored(plan: &Plan) -> Result<Plan, String> {
    let text = plan.to_json().map_err(|error| error.to_string())?;
    let again = Plan::from_json(&text).map_err(|error| error.to_string())?;
    let (before, after) = (plan.to_value(), again.to_value());
    match (before, after) {
        (Ok(before), Ok(after)) if before == after => Ok(again),
        (before, after) => Err(format!("stored {before:?}\n  read {after:?}")),
    }
}

fn compare(expected: &Map, verdict: &Verdict) -> Result<(), String> {
    for (key, expected) in expected.iter() {
        let found = match key.to_string().as_str() {
            "result" => verdict.result.map_or(Value::Null, Value::Bool),
            "comment" => verdict.comment.clone().into(),
            "changes" => without_pid(&verdict.changes).into(),
            "warnings" => Value::List(verdict.warnings.iter().map(|text| text.clone().into()).collect()),
            "outputs" => without_pid(&verdict.outputs).into(),
            further => verdict.further.get(further).cloned().unwrap_or_default(),
        };
        if found != *expected {
            return Err(format!("{key}:\n  expected {expected:?}\n  got      {found:?}\n  {verdict:?}"));
        }
    }
    Ok(())
}

/// Replaces the process id, which differs in each run.
fn without_pid(changes: &Map) -> Map {
    let mut changes = changes.clone();
    if let Some(pid) = changes.get_mut("pid") {
        *pid = Value::Int(0);
    }
    changes
}

fn tree(case: &Map) -> FakeServices {
    let mut tree = FakeServices::default().with_pillar(map(case, "pillar")).with_renderer(render);
    for (path, what) in map(case, "tree").iter() {
        let path = path.to_string();
        let details = what.as_map().cloned().unwrap_or_default();
        let mode = details
            .get("mode")
            .map_or(0o644, |mode| u32::from_str_radix(&mode.to_string(), 8).expect("a mode is octal"));
        tree = match details.get("link") {
            Some(target) => tree.with_link(&path, &target.to_string()),
            None if path.ends_with('/') => tree.with_directory(path.trim_end_matches('/')),
            None => tree.with_file(&path, content(what)).with_mode(&path, mode),
        };
    }
    tree
}

/// The subset of a template language that the cases need: `{{ name }}`, with names of the context only.
fn render(template: &Template<'_>) -> rocksalt_modules::Result<String> {
    let mut text = String::new();
    let mut rest = template.text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("braces are closed");
        let found = template.context.get(name.trim());
        let Some(found) = found else {
            let text = format!("Jinja variable '{}' is undefined", name.trim());
            return Err(rocksalt_modules::Error::failed(text));
        };
        text.push_str(before);
        text.push_str(&found.to_string());
        rest = after;
    }
    Ok(text + rest)
}

/// The content of a directory: paths (directories with a slash) and their attributes.
type Picture = BTreeMap<String, BTreeMap<&'static str, String>>;

fn picture(machine: &dyn Probe, place: &Path) -> Picture {
    let mut found = Picture::new();
    for name in machine.list(place).unwrap_or_default() {
        let path = place.join(name);
        let shown = path.to_string_lossy().into_owned();
        let Ok(Some(stat)) = machine.stat(&path, false) else { continue };
        let mut known = BTreeMap::from([("mode", format!("{:04o}", stat.mode))]);
        if stat.uid != 0 {
            known.insert("uid", stat.uid.to_string());
        }
        if stat.gid != 0 {
            known.insert("gid", stat.gid.to_string());
        }
        match stat.kind {
            FileKind::Directory => {
                found.extend(picture(machine, &path));
                found.insert(shown + "/", known);
                continue;
            }
            FileKind::Link => {
                known.remove("mode");
                known.insert("link", machine.read_link(&path).expect("it is a link").to_string_lossy().into_owned());
            }
            FileKind::File => {
                let content = machine.read(&path).expect("it is a file");
                match String::from_utf8(content) {
                    Ok(text) => known.insert("content", text),
                    Err(bytes) => {
                        let digits = bytes.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                        known.insert("hex", digits)
                    }
                };
            }
            _ => {}
        }
        found.insert(shown, known);
    }
    found
}

fn compare_picture(expected: &Map, found: &Picture) -> Result<(), String> {
    for path in found.keys() {
        if !expected.contains_key(path) {
            return Err(format!("{path} is there, and should not be"));
        }
    }
    for (path, what) in expected.iter() {
        let path = path.to_string();
        let Some(known) = found.get(&path) else { return Err(format!("{path} is not there")) };
        let bare = Map::from_iter([("content".into(), what.clone())]);
        let what = match what {
            Value::Map(details) => details.clone(),
            Value::Null => Map::new(),
            _ => bare,
        };
        for (key, expected) in what.iter() {
            let found = known.get(key.to_string().as_str()).cloned().unwrap_or_default();
            if found != expected.to_string() {
                return Err(format!("{path}: {key}:\n  expected {:?}\n  got      {found:?}", expected.to_string()));
            }
        }
        for key in ["uid", "gid"] {
            if known.contains_key(key) && what.get("content").or(what.get("hex")).is_some() && !what.contains_key(key) {
                return Err(format!("{path}: its {key} is {}", known[key]));
            }
        }
    }
    Ok(())
}
