//! Runs `tests/cases/<function>/*.yml`: arguments and a machine before, the result and the machine after.
//!
//! Each file is a list of cases; those of `as-salt.yml` are recorded from real Salt by `tests/record.py`:
//!
//! ```yaml
//! - what: a sentence for messages
//!   args: [/f, two, "2"]
//!   kwargs: {count: 1}
//!   before: {/f: "one\ntwo\n", /d/: null, /l: {link: /f}, /g: {content: x, mode: "0600", uid: 5, gid: 5}}
//!   env: {HOME: /root}
//!   options: {saltenv: base}
//!   grains: {os: Debian}
//!   pillar: {role: web}
//!   tree: {nginx/init.sls: ""}
//!   programs: [dig, /sbin/modprobe]   # empty files that can be run, in /usr/bin if it isn't told
//!   commands: [{argv: [ls, /], stdout: "a\n", code: 0}]
//!   result: "…"          # or `matches:` with a pattern, or `problem:` with a part of its text
//!   retcode: 0
//!   after: {/f: "one\n2\n", /gone: null}
//!   answers: {web1: true}             # what other targets answer
//!   events: [{tag: a/b, data: {}}]    # those that were sent to the controller
//!   published: ["web* test.ping [] {}"]   # calls of other targets
//! ```
//!
//! `<any>` in a result stands for any value. Every command of `commands` must be run. With `stdin`, `user`, `cwd` or
//! `env` it must be run with these; with `writes` it leaves these files behind. One that is listed several times gives its answers in turn; the last one stays.
//!
//! `'on': [host]` runs a case on the real machine instead of one in memory. `@TMP@` is a directory of the case's own
//! on both. There, `prepare` is a script for `sh -e` that runs in it before the call, `check` one after the call.

use std::path::Path;
use std::sync::Arc;

use rocksalt_core::pattern::{Flags, Pattern};
use rocksalt_core::{Call, Event, Map, Return, Value, json, yaml};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Command, Fake, FakeController, FileKind, Probe, System};

use super::fixture::{alone_on_host, bound, controller, entries, fake, map, prepare, real, with_place};

/// The minimum number of cases. Raised when cases are added, so that a part that is no longer read is noticed.
const CASES: usize = 1384;

#[test]
fn cases() {
    let mut count = 0;
    let mut wrong = Vec::new();
    let only = std::env::var("ONLY").ok();
    for directory in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")) {
        let function = directory.file_name().expect("it has a name").to_string_lossy().into_owned();
        if function == "state" || only.as_ref().is_some_and(|only| !function.starts_with(only.as_str())) {
            continue;
        }
        assert!(catalog::find(&function).is_some(), "{}: there is no such function", directory.display());
        for file in entries(&directory) {
            let text = std::fs::read_to_string(&file).expect("cases are readable");
            let cases = yaml::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            for (index, case) in cases.as_list().expect("a file is a list of cases").iter().enumerate() {
                let case = case.as_map().expect("a case is a map");
                count += 1;
                if let Err(difference) = run(&function, case) {
                    wrong.push(format!("{} case {}: {difference}", file.display(), index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} cases fail:\n{}", wrong.len(), wrong.join("\n"));
    assert!(only.is_some() || count >= CASES, "only {count} cases were found");
}

const KEYS: [&str; 22] = [
    "what",
    "args",
    "kwargs",
    "before",
    "env",
    "options",
    "grains",
    "pillar",
    "tree",
    "commands",
    "result",
    "matches",
    "problem",
    "retcode",
    "after",
    "on",
    "prepare",
    "check",
    "programs",
    "answers",
    "events",
    "published",
];

fn run(function: &str, case: &Map) -> Result<(), String> {
    for key in case.keys() {
        assert!(KEYS.contains(&&*key.to_string()), "{function}: a case has no '{key}'");
    }
    let on: Vec<String> = match case.get("on").and_then(Value::as_list) {
        Some(on) => on.iter().map(ToString::to_string).collect(),
        None => vec!["fake".into()],
    };
    for on in on {
        match on.as_str() {
            "fake" => run_in_memory(function, &bound(case, "/tmp/case"))?,
            "host" => run_on_host(function, case)?,
            other => panic!("{function}: there is no machine '{other}'"),
        }
    }
    Ok(())
}

fn run_in_memory(function: &str, case: &Map) -> Result<(), String> {
    let controller = Arc::new(controller(case));
    let machine = fake(&with_place(case)).with_controller(Arc::clone(&controller));
    let verdict = call(function, case, &machine)
        .and_then(|()| check_commands(case, &machine))
        .and_then(|()| check_controller(case, &controller));
    verdict.map_err(|text| match shown_commands(&machine) {
        shown if shown.is_empty() => text,
        shown => format!("{text}\n  it ran:\n{shown}"),
    })
}

fn run_on_host(function: &str, case: &Map) -> Result<(), String> {
    let _alone = alone_on_host();
    let place = tempfile::tempdir().expect("there is room for a directory");
    let case = bound(case, &place.path().to_string_lossy());
    let machine = real(&case);
    prepare(&machine, &map(&case, "before"));
    for (name, value) in map(&case, "env").iter() {
        machine.set_env(&name.to_string(), Some(&value.to_string()));
    }
    script(&case, "prepare", place.path())?;
    call(function, &case, &machine)?;
    script(&case, "check", place.path())
}

fn script(case: &Map, key: &str, place: &Path) -> Result<(), String> {
    let Some(text) = case.get(key) else { return Ok(()) };
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", &text.to_string()]).current_dir(place);
    shell.envs(map(case, "env").iter().map(|(name, value)| (name.to_string(), value.to_string())));
    let output = shell.output().map_err(|error| format!("{key}: {error}"))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{key}: {}: {said}", output.status)) }
}

fn call(function: &str, case: &Map, machine: &dyn System) -> Result<(), String> {
    let call = Call {
        args: case.get("args").and_then(Value::as_list).unwrap_or_default().to_vec(),
        kwargs: map(case, "kwargs"),
        ..Call::new(function)
    };
    let shown = format!("{:?} {:?}", call.args, call.kwargs);
    let answer = catalog::call(call, machine);
    check_answer(case, &answer).map_err(|text| format!("{shown}: {text}"))?;
    let retcode = case.get("retcode").and_then(Value::as_i64).unwrap_or(i64::from(answer.problem.is_some()));
    if i64::from(answer.retcode) != retcode {
        return Err(format!("{shown}: expected exit code {retcode}, got {}", answer.retcode));
    }
    for (path, expected) in map(case, "after").iter() {
        check(machine, &path.to_string(), expected).map_err(|text| format!("{shown}: {path}: {text}"))?;
    }
    Ok(())
}

fn check_answer(case: &Map, answer: &Return) -> Result<(), String> {
    match (case.get("problem").and_then(Value::as_str), &answer.problem) {
        (Some(part), Some(problem)) if problem.text.contains(part) => return Ok(()),
        (Some(part), _) => return Err(format!("expected the problem '{part}', got {answer:?}")),
        (None, Some(problem)) => return Err(format!("failed: {}", problem.text)),
        (None, None) => {}
    }
    if let Some(pattern) = case.get("matches") {
        let pattern = Pattern::whole(&pattern.to_string(), Flags::default()).map_err(|error| error.to_string())?;
        let text = answer.value.as_str().map_or_else(|| json::compact(&answer.value), str::to_owned);
        let matches = pattern.matches(&text).map_err(|error| error.to_string())?;
        return if matches { Ok(()) } else { Err(format!("it does not match: {text}")) };
    }
    let expected = case.get("result").ok_or_else(|| format!("a case needs a result; got {}", shown(&answer.value)))?;
    if is(expected, &answer.value) {
        return Ok(());
    }
    Err(format!("\n  expected {}\n  got      {}", shown(expected), shown(&answer.value)))
}

/// Whether a value equals the expected one, where `<any>` matches anything.
fn is(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(any), _) if any == "<any>" => true,
        (Value::List(expected), Value::List(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(expected, found)| is(expected, found))
        }
        (Value::Map(expected), Value::Map(found)) => {
            let same = |(key, value): (&Value, &Value)| found.get_value(key).is_some_and(|found| is(value, found));
            expected.len() == found.len() && expected.iter().all(same)
        }
        _ => expected == found,
    }
}

fn shown(value: &Value) -> String {
    json::compact(value)
}

fn check_commands(case: &Map, machine: &Fake) -> Result<(), String> {
    let asked = machine.asked();
    for command in case.get("commands").and_then(Value::as_list).unwrap_or_default() {
        let expected = command.as_map().expect("a command is a map");
        let argv: Vec<String> =
            expected.get("argv").and_then(Value::as_list).unwrap_or_default().iter().map(ToString::to_string).collect();
        let mut runs = asked.iter().filter(|command| command.argv == argv).peekable();
        if runs.peek().is_none() {
            return Err(format!("the command {argv:?} was not run"));
        }
        if !runs.any(|command| runs_as(command, expected)) {
            return Err(format!("the command {argv:?} was run otherwise"));
        }
    }
    Ok(())
}

fn check_controller(case: &Map, controller: &FakeController) -> Result<(), String> {
    let event = |event: &Event| {
        let pairs = [("tag".into(), event.tag.as_str().into()), ("data".into(), Value::Map(event.data.clone()))];
        Value::Map(Map::from_iter(pairs))
    };
    let events = controller.events.lock().expect("no call panicked").iter().map(event).collect();
    let published = controller.published.lock().expect("no call panicked");
    let published = published.iter().map(|text| Value::from(text.as_str())).collect();
    for (key, found) in [("events", Value::List(events)), ("published", Value::List(published))] {
        if let Some(expected) = case.get(key)
            && !is(expected, &found)
        {
            return Err(format!("{key}:\n  expected {}\n  got      {}", shown(expected), shown(&found)));
        }
    }
    Ok(())
}

/// Whether a command was run with the input, user, directory and environment that the case gives.
fn runs_as(command: &Command, expected: &Map) -> bool {
    let same = |key: &str, found: Option<String>| {
        expected.get(key).is_none_or(|text| found.is_some_and(|found| found == text.to_string()))
    };
    let stdin = command.stdin.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let cwd = command.cwd.as_ref().map(|path| path.display().to_string());
    let variable = |(name, value): (&Value, &Value)| {
        let found = command.env.iter().find(|(found, _)| *found == name.to_string());
        found.is_some_and(|(_, found)| *found == Some(value.to_string()))
    };
    same("stdin", stdin)
        && same("cwd", cwd)
        && same("user", command.user.clone())
        && map(expected, "env").iter().all(variable)
}

fn shown_commands(machine: &Fake) -> String {
    let mut shown = String::new();
    for command in machine.asked() {
        shown.push_str(&format!("    {:?}", command.argv));
        if let Some(stdin) = &command.stdin {
            shown.push_str(&format!(" stdin: {:?}", String::from_utf8_lossy(stdin)));
        }
        if let Some(cwd) = &command.cwd {
            shown.push_str(&format!(" cwd: {cwd:?}"));
        }
        if let Some(user) = &command.user {
            shown.push_str(&format!(" user: {user}"));
        }
        if !command.env.is_empty() {
            shown.push_str(&format!(" env: {:?}", command.env));
        }
        shown.push('\n');
    }
    shown
}

fn check(machine: &dyn Probe, path: &str, expected: &Value) -> Result<(), String> {
    let place = Path::new(path.trim_end_matches('/'));
    let Some(stat) = machine.stat(place, false).expect("the machine can be looked at") else {
        return if expected.is_null() && !path.ends_with('/') { Ok(()) } else { Err("is not there".into()) };
    };
    if path.ends_with('/') {
        return if stat.kind == FileKind::Directory { Ok(()) } else { Err("is no directory".into()) };
    }
    let content = || String::from_utf8_lossy(&machine.read(place).unwrap_or_default()).into_owned();
    let same = |expected: String, found: String| {
        if expected == found { Ok(()) } else { Err(format!("\n  expected {expected:?}\n  got      {found:?}")) }
    };
    match expected {
        Value::Null => Err("is still there".into()),
        Value::Map(what) => {
            for (key, value) in what.iter() {
                let found = match key.to_string().as_str() {
                    "content" => content(),
                    "mode" => format!("{:04o}", stat.mode),
                    "uid" => stat.uid.to_string(),
                    "gid" => stat.gid.to_string(),
                    "mtime" => stat.mtime.to_string(),
                    "link" => machine.read_link(place).map_err(|error| error.to_string())?.display().to_string(),
                    other => panic!("a file has no '{other}'"),
                };
                same(value.to_string(), found)?;
            }
            Ok(())
        }
        text => same(text.to_string(), content()),
    }
}
