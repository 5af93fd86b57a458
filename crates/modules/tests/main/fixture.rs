//! The setup of the cases of functions and states: a machine in memory, or a directory of the real one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::FunctionOutcome;
use rocksalt_modules::machine::{
    ActiveCall, Base, Fake, FakeController, FakeServices, FileKind, HostSystem, NoController, Output, StateRequest,
    System,
};

/// The entries of a directory, in order.
pub fn entries(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(path).expect("there are cases").map(|entry| entry.expect("readable").path()).collect();
    found.sort();
    found
}

pub fn map(case: &Map, key: &str) -> Map {
    case.get(key).and_then(Value::as_map).cloned().unwrap_or_default()
}

/// The machine at the start of a case.
pub fn fake(case: &Map) -> Fake {
    let mut fake = Fake::new()
        .file("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n")
        .file("/etc/group", "root:x:0:\ndaemon:x:1:\n")
        .directory("/root")
        .directory("/tmp")
        .with_services(services(case))
        .with_options(map(case, "options"))
        .with_grains(map(case, "grains"));
    for name in case.get("programs").and_then(Value::as_list).unwrap_or_default() {
        let name = name.to_string();
        let path = if name.starts_with('/') { name } else { format!("/usr/bin/{name}") };
        fake = fake.file(&path, "").owned(&path, 0, 0, 0o755);
    }
    for (path, what) in map(case, "before").iter() {
        fake = with_entry(fake, &path.to_string(), what);
    }
    for (name, value) in map(case, "env").iter() {
        fake = fake.with_env(&name.to_string(), &value.to_string());
    }
    for command in case.get("commands").and_then(Value::as_list).unwrap_or_default() {
        fake = with_command(fake, command.as_map().expect("a command is a map"));
    }
    fake
}

/// The services behind it: the controller's files, the pillar, the renderer and runs of states.
fn services(case: &Map) -> FakeServices {
    // A renderer that returns its input suffices to check that input.
    let services = FakeServices::default().with_pillar(map(case, "pillar")).with_state_runner(described);
    let mut services = services.with_renderer(|template| {
        let context = Value::Map(template.context.clone());
        Ok(format!("{} {} {context}: {}", template.renderer, template.saltenv, template.text))
    });
    for (path, content) in map(case, "tree").iter() {
        services = services.with_file(&path.to_string(), content.to_string());
    }
    services
}

/// Adds a file or directory of `before`.
fn with_entry(fake: Fake, path: &str, what: &Value) -> Fake {
    match what {
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
                _ if what.contains_key("special") => {
                    fake.special(path, kind(&what.get("special").cloned().unwrap_or_default()))
                }
                (Some(target), _) => fake.link(path, &target),
                (_, Some(target)) => {
                    fake.hard_link(Path::new(&target), Path::new(path)).expect("there is such a file");
                    fake
                }
                _ => fake.file(path, content(&Value::Map(what.clone()))),
            }
            .owned(path, number("uid"), number("gid"), mode)
        }
        Value::Null => fake.file(path, ""),
        text => fake.file(path, text.to_string()),
    }
}

/// Adds a command with its output, and the files that it writes.
fn with_command(fake: Fake, command: &Map) -> Fake {
    let argv = command.get("argv").and_then(Value::as_list).expect("it has words");
    let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let bytes = |key: &str| command.get(key).map(|text| text.to_string().into_bytes()).unwrap_or_default();
    let output = Output {
        code: command.get("code").and_then(Value::as_i64).unwrap_or(0) as i32,
        stdout: bytes("stdout"),
        stderr: bytes("stderr"),
        pid: 7,
        timed_out: command.get("timed_out").is_some_and(Value::truth),
    };
    let mut fake = fake.command(&argv, output);
    for (path, content) in map(command, "writes").iter() {
        fake = fake.command_writes(&argv, &path.to_string(), self::content(content));
    }
    fake
}

/// A run of states that returns its request, without the defaults.
fn described(request: StateRequest) -> rocksalt_modules::Result<FunctionOutcome> {
    let texts = |list: Vec<String>| Value::List(list.into_iter().map(Value::from).collect());
    let described = [
        ("verb", format!("{:?}", request.verb).into()),
        ("sls", texts(request.sls)),
        ("saltenv", request.saltenv.into()),
        ("pillarenv", request.pillarenv.into()),
        ("pillar", Value::Map(request.pillar)),
        ("test", Value::Bool(request.test)),
        ("mode", request.mode.into()),
        ("exclude", Value::List(request.exclude)),
        ("argument", request.argument),
        ("arguments", Value::Map(request.arguments)),
    ];
    let described = described.into_iter().filter(|(_, value)| value.truth());
    let value = Value::Map(described.map(|(key, value)| (key.into(), value)).collect());
    Ok(FunctionOutcome { value, retcode: 0 })
}

/// The controller of a case's machine: it has the files of `tree`, and targets that return `answers`.
pub fn controller(case: &Map) -> FakeController {
    let file = |(path, content): (&Value, &Value)| (path.to_string(), self::content(content));
    FakeController {
        files: map(case, "tree").iter().map(file).collect(),
        answers: map(case, "answers"),
        ..FakeController::default()
    }
}

fn kind(name: &Value) -> FileKind {
    match name.to_string().as_str() {
        "block" => FileKind::BlockDevice,
        "character" => FileKind::CharDevice,
        "fifo" => FileKind::Pipe,
        "socket" => FileKind::Socket,
        other => panic!("there is no special file '{other}'"),
    }
}

/// Held while programs run on the real machine: a script can't be started while a process that another thread has just
/// forked still has it open for writing.
pub fn alone_on_host() -> MutexGuard<'static, ()> {
    static HOST: Mutex<()> = Mutex::new(());
    HOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The real machine, with the case's options.
pub fn real(case: &Map) -> HostSystem {
    let base = Arc::new(Base::new(None));
    let running = ActiveCall { job: None, function: "test".into(), args: Vec::new(), since: 0.0 };
    base.begin(running, map(case, "options"), Box::new(NoController), None)
}

/// Replaces the mark by the case's directory, in keys and values.
pub fn bound(case: &Map, place: &str) -> Map {
    fn value(data: &Value, place: &str) -> Value {
        match data {
            Value::String(text) => text.replace("@TMP@", place).into(),
            Value::List(items) => Value::List(items.iter().map(|item| value(item, place)).collect()),
            Value::Map(map) => Value::Map(bound(map, place)),
            other => other.clone(),
        }
    }
    case.iter().map(|(key, item)| (value(key, place), value(item, place))).collect()
}

/// Adds the case's own directory, even if it is empty.
pub fn with_place(case: &Map) -> Map {
    let mut case = case.clone();
    let mut before = map(&case, "before");
    before.insert("/tmp/case/", Value::Null);
    case.insert("before", before);
    case
}

/// Creates the files of `before` on the real machine.
pub fn prepare(host: &HostSystem, before: &Map) {
    for (path, what) in before.iter() {
        let path = path.to_string();
        let place = Path::new(path.trim_end_matches('/'));
        std::fs::create_dir_all(place.parent().expect("it lies somewhere")).expect("it is ours");
        let empty = Map::new();
        let details = what.as_map().unwrap_or(&empty);
        let text = |key: &str| details.get(key).map(ToString::to_string);
        if path.ends_with('/') {
            std::fs::create_dir_all(place).expect("it is ours");
        } else if let Some(target) = text("link") {
            host.symlink(Path::new(&target), place).expect("it is ours");
        } else if let Some(target) = text("hardlink") {
            host.hard_link(Path::new(&target), place).expect("it is ours");
        } else {
            std::fs::write(place, content(what)).expect("it is ours");
        }
        let number = |key: &str| details.get(key).and_then(Value::as_i64).map(|number| number as u32);
        if number("uid").is_some() || number("gid").is_some() {
            host.set_owner(place, number("uid"), number("gid"), false).expect("these tests run as root");
        }
        if let Some(mode) = text("mode") {
            host.set_mode(place, u32::from_str_radix(&mode, 8).expect("a mode is octal")).expect("it is ours");
        }
        if let Some(mtime) = number("mtime") {
            host.set_times(place, f64::from(mtime), f64::from(mtime)).expect("it is ours");
        }
    }
}

/// The content of a file of `before` or `tree`.
pub fn content(what: &Value) -> Vec<u8> {
    let Value::Map(details) = what else {
        return if what.is_null() { Vec::new() } else { what.to_string().into_bytes() };
    };
    match details.get("hex") {
        Some(digits) => {
            let digits = digits.to_string();
            let byte = |index: usize| u8::from_str_radix(&digits[index..index + 2], 16).expect("two digits each");
            (0..digits.len()).step_by(2).map(byte).collect()
        }
        None => details.get("content").map(|text| text.to_string().into_bytes()).unwrap_or_default(),
    }
}
