//! Runs `tests/cases/<function>/*.yml`: arguments and a machine before, the result and the machine after.
//!
//! Each file is a list of cases:
//!
//! ```yaml
//! - args: [/f, two, "2"]
//!   kwargs: {count: 1}
//!   before: {/f: "one\ntwo\n", /d/: null, /l: {link: /f}, /g: {content: x, mode: "0600", uid: 5, gid: 5}}
//!   env: {HOME: /root}
//!   options: {saltenv: base}
//!   grains: {os: Debian}
//!   pillar: {role: web}
//!   tree: {nginx/init.sls: ""}
//!   commands: [{argv: [ls, /], stdout: "a\n", code: 0}]
//!   result: "…"          # or `problem:` with a part of its text
//!   retcode: 0
//!   after: {/f: "one\n2\n", /gone: null}
//! ```

use std::path::{Path, PathBuf};

use rocksalt_core::{Call, Map, Value, yaml};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Fake, FakeServices, Kind, Output, Probe, System};

#[test]
fn cases() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for directory in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")) {
        let function = directory.file_name().expect("it has a name").to_string_lossy().into_owned();
        if function == "state" {
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
    assert!(count > 100, "only {count} cases were found");
}

pub fn entries(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(path).expect("there are cases").map(|entry| entry.expect("readable").path()).collect();
    found.sort();
    found
}

const KEYS: [&str; 13] = [
    "args", "kwargs", "before", "env", "options", "grains", "pillar", "tree", "commands", "result", "problem",
    "retcode", "after",
];

fn run(function: &str, case: &Map) -> Result<(), String> {
    for key in case.keys() {
        assert!(KEYS.contains(&&*key.to_string()), "{function}: a case has no '{key}'");
    }
    let machine = fake(case);
    let call = Call {
        args: case.get("args").and_then(Value::as_list).unwrap_or_default().to_vec(),
        kwargs: map(case, "kwargs"),
        ..Call::new(function)
    };
    let shown = format!("{:?} {:?}", call.args, call.kwargs);
    let answer = catalog::call(call, &machine);
    match (case.get("problem").and_then(Value::as_str), &answer.problem) {
        (Some(part), Some(problem)) if problem.text.contains(part) => {}
        (Some(part), _) => return Err(format!("{shown}: expected the problem '{part}', got {:?}", answer.value)),
        (None, Some(problem)) => return Err(format!("{shown}: failed: {}", problem.text)),
        (None, None) => {
            let expected = case.get("result").ok_or("a case needs a result or a problem")?;
            if answer.value != *expected {
                return Err(format!("{shown}:\n  expected {expected:?}\n  got      {:?}", answer.value));
            }
        }
    }
    let retcode = case.get("retcode").and_then(Value::as_i64).unwrap_or(i64::from(answer.problem.is_some()));
    if i64::from(answer.retcode) != retcode {
        return Err(format!("{shown}: expected exit code {retcode}, got {}", answer.retcode));
    }
    for (path, expected) in map(case, "after").iter() {
        check(&machine, &path.to_string(), expected).map_err(|text| format!("{shown}: {path}: {text}"))?;
    }
    Ok(())
}

pub fn map(case: &Map, key: &str) -> Map {
    case.get(key).and_then(Value::as_map).cloned().unwrap_or_default()
}

/// The machine that a case begins with.
pub fn fake(case: &Map) -> Fake {
    // A renderer that says what it was given is enough to see that it was given the right things.
    let mut tree = FakeServices::default().with_pillar(map(case, "pillar")).with_renderer(|template| {
        Ok(format!(
            "{} {} {}: {}",
            template.renderer,
            template.saltenv,
            Value::Map(template.context.clone()),
            template.text
        ))
    });
    for (path, content) in map(case, "tree").iter() {
        tree = tree.with_file(&path.to_string(), content.to_string());
    }
    let mut fake = Fake::new()
        .file("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n")
        .file("/etc/group", "root:x:0:\ndaemon:x:1:\n")
        .directory("/root")
        .directory("/tmp")
        .with_services(tree)
        .with_options(map(case, "options"))
        .with_grains(map(case, "grains"));
    for (path, what) in map(case, "before").iter() {
        let path = path.to_string();
        fake = match what {
            Value::Map(what) if path.ends_with('/') => {
                let path = path.trim_end_matches('/');
                let number = |key: &str| what.get(key).and_then(Value::as_i64).unwrap_or(0) as u32;
                let mode = what.get("mode").map_or("0755".into(), ToString::to_string);
                let mode = u32::from_str_radix(&mode, 8).expect("a mode is octal");
                fake.directory(path).owned(path, number("uid"), number("gid"), mode)
            }
            _ if path.ends_with('/') => fake.directory(path.trim_end_matches('/')),
            Value::Map(what) => {
                let text = |key: &str| what.get(key).map(ToString::to_string);
                let number = |key: &str| what.get(key).and_then(Value::as_i64).unwrap_or(0) as u32;
                let mode = text("mode").map_or(0o644, |mode| u32::from_str_radix(&mode, 8).expect("a mode is octal"));
                match (text("link"), text("hardlink")) {
                    (Some(target), _) => fake.link(&path, &target),
                    (_, Some(target)) => {
                        fake.hard_link(Path::new(&target), Path::new(&path)).expect("there is such a file");
                        fake
                    }
                    _ => fake.file(&path, super::states::content(&Value::Map(what.clone()))),
                }
                .owned(&path, number("uid"), number("gid"), mode)
            }
            Value::Null => fake.file(&path, ""),
            text => fake.file(&path, text.to_string()),
        };
    }
    for (name, value) in map(case, "env").iter() {
        fake = fake.with_env(&name.to_string(), &value.to_string());
    }
    for command in case.get("commands").and_then(Value::as_list).unwrap_or_default() {
        let command = command.as_map().expect("a command is a map");
        let argv: Vec<String> = command
            .get("argv")
            .and_then(Value::as_list)
            .expect("it has words")
            .iter()
            .map(ToString::to_string)
            .collect();
        let bytes = |key: &str| command.get(key).map(|text| text.to_string().into_bytes()).unwrap_or_default();
        let output = Output {
            code: command.get("code").and_then(Value::as_i64).unwrap_or(0) as i32,
            stdout: bytes("stdout"),
            stderr: bytes("stderr"),
            pid: 7,
            timed_out: command.get("timed_out").is_some_and(Value::truth),
        };
        fake = fake.command(&argv.iter().map(String::as_str).collect::<Vec<_>>(), output);
    }
    fake
}

fn check(machine: &Fake, path: &str, expected: &Value) -> Result<(), String> {
    let place = Path::new(path.trim_end_matches('/'));
    let Some(stat) = machine.stat(place, false).expect("a fake machine can be looked at") else {
        return if expected.is_null() && !path.ends_with('/') { Ok(()) } else { Err("is not there".into()) };
    };
    if path.ends_with('/') {
        return if stat.kind == Kind::Directory { Ok(()) } else { Err("is no directory".into()) };
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
