//! Tests that need a real machine: commands, links, owners and walking a directory.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rocksalt_core::{Call, Map, Return, Value, json, yaml};
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{ActiveCall, Base, HostSystem, NoController, Probe, StopSignal};

/// Replaces the agent's own way to become another user.
const LAUNCHER: &str = "#!/bin/sh
uid=$2 gids=$3 mask=$4; shift 4
[ -z \"$mask\" ] || umask \"$mask\"
[ -z \"$uid\" ] || exec setpriv --reuid=\"$uid\" --regid=\"${gids%%,*}\" --groups=\"$gids\" -- \"$@\"
exec \"$@\"
";

struct Machine {
    host: HostSystem,
    place: tempfile::TempDir,
}

fn machine() -> Machine {
    let place = tempfile::tempdir().expect("there is room for a directory");
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let launcher = place.path().join("launcher");
    std::fs::write(&launcher, LAUNCHER).expect("it is ours");
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let base = Arc::new(Base::new(Some(launcher)));
    let running = ActiveCall { job: None, function: "test".into(), args: Vec::new(), since: 0.0 };
    Machine { host: base.begin(running, Map::new(), Box::new(NoController), None), place }
}

impl Machine {
    /// `cmd.run 'echo a' python_shell=false`, with `@` for the temporary directory; arguments are YAML.
    fn call(&self, function: &str, args: &[&str], kwargs: &str) -> Return {
        let place = self.place.path().to_string_lossy();
        let args = args.iter().map(|arg| Value::from(arg.replace('@', &place))).collect();
        let kwargs = yaml::parse(&kwargs.replace('@', &place)).expect("kwargs are YAML");
        let kwargs = kwargs.as_map().cloned().unwrap_or_default();
        catalog::call(Call { args, kwargs, ..Call::new(function) }, &self.host)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }
}

fn shown(answer: &Return) -> String {
    json::compact(&answer.value)
}

#[test]
fn an_address_is_fetched_by_the_targets_own_tool() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = server.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in server.incoming().take(3).flatten() {
            let mut reader = std::io::BufReader::new(&stream);
            let mut request = String::new();
            let _ = std::io::BufRead::read_line(&mut reader, &mut request);
            let status = if request.contains("/page") { "200 OK" } else { "404 Not Found" };
            let answer = format!("HTTP/1.0 {status}\r\nContent-Length: 4\r\n\r\npage");
            let _ = std::io::Write::write_all(&mut &stream, answer.as_bytes());
        }
    });
    let machine = machine();
    let page = format!("http://{address}/page");
    assert_eq!(shown(&machine.call("cp.get_url", &[&page, "None"], "")), "\"page\"");
    let stored = machine.call("cp.get_url", &[&page, "@/stored"], "");
    assert!(stored.problem.is_none(), "{stored:?}");
    assert_eq!(std::fs::read(machine.path("stored")).expect("it is there"), b"page");
    let missing = machine.call("cp.get_url", &[&format!("http://{address}/none"), "@/stored"], "");
    assert!(missing.problem.is_some_and(|problem| problem.text.contains("could not fetch")));
    assert_eq!(std::fs::read(machine.path("stored")).expect("it is still there"), b"page");
    let left: Vec<_> = std::fs::read_dir(machine.place.path()).expect("it is ours").flatten().collect();
    assert_eq!(left.len(), 2, "nothing is left but the launcher and the file: {left:?}");
}

#[test]
fn commands_give_what_salt_gives() {
    let machine = machine();
    // Function, command, further arguments, result, exit code.
    let cases: &[(&str, &str, &str, &str, i32)] = &[
        ("cmd.run", "echo a; echo b >&2; echo c; exit 3", "", r#""a\nb\nc""#, 3),
        ("cmd.run", "echo 'a b' $HOME | cat", "python_shell: false", r#""a b $HOME | cat""#, 0),
        ("cmd.run", "exit 3", "ignore_retcode: true", r#""""#, 0),
        ("cmd.run", "exit 3", "success_retcodes: [3]", r#""""#, 0),
        ("cmd.run", "echo hi there; exit 3", "success_stdout: hi", r#""hi there""#, 0),
        ("cmd.run", "printf 'a  \\n\\n'", "", r#""a""#, 0),
        ("cmd.run", "printf 'a\\n\\n'", "rstrip: false", r#""a\n\n""#, 0),
        ("cmd.run", "cat", "stdin: hello", r#""hello""#, 0),
        ("cmd.run", "echo $A$B", "env: [{A: 1}, {B: 2}]", r#""12""#, 0),
        ("cmd.run", "echo $A$B", "env: {A: 1, B: x}", r#""1x""#, 0),
        ("cmd.run", "echo $A", "env: A=5", r#""5""#, 0),
        ("cmd.run", "echo $A", "{env: {A: 1}, clean_env: true}", r#""1""#, 0),
        ("cmd.run", "echo $LC_TIME$LANGUAGE", "", r#""CC""#, 0),
        ("cmd.run", "echo $LC_TIME", "{env: {LC_TIME: POSIX}}", r#""POSIX""#, 0),
        ("cmd.run", "echo $PATH", "{prepend_path: /zz, env: {PATH: /bin}}", r#""/zz:/bin""#, 0),
        ("cmd.run", "umask", "umask: '077'", r#""0077""#, 0),
        ("cmd.run", "pwd", "cwd: /usr", r#""/usr""#, 0),
        ("cmd.run", "echo a", "hide_output: true", r#""""#, 0),
        ("cmd.run_stdout", "echo a; echo b >&2", "", r#""a""#, 0),
        ("cmd.run_stderr", "echo a; echo b >&2; exit 2", "", r#""b""#, 2),
        ("cmd.retcode", "exit 4", "", "4", 4),
        ("cmd.shell", "echo a | tr a b", "python_shell: false", r#""b""#, 0),
        ("cmd.run", "sleep 9", "timeout: 0.2", r#""sleep 9 : Timed out after 0.2 seconds""#, 1),
        ("cmd.retcode", "kill -9 $$", "", "-9", -9),
        ("cmd.which", "sh-that-is-not-there", "", "null", 0),
        ("cmd.has_exec", "sh", "", "true", 0),
    ];
    for (function, command, kwargs, expected, retcode) in cases {
        let answer = machine.call(function, &[command], kwargs);
        assert_eq!((shown(&answer).as_str(), answer.retcode), (*expected, *retcode), "{function} {command} {kwargs}");
    }
    let all = machine.call("cmd.run_all", &["echo a; echo b >&2; exit 3"], "");
    let value = |name: &str| all.value.walk(name, ":").cloned().unwrap_or_default();
    assert_eq!((value("stdout"), value("stderr"), value("retcode")), ("a".into(), "b".into(), 3i64.into()));
    assert!(value("pid").as_i64().is_some_and(|pid| pid > 1));
    assert_eq!(all.retcode, 3);
}

#[test]
fn what_cannot_run_says_why() {
    let machine = machine();
    let cases = [
        ("true", "cwd: /nonexist", "Specified cwd '/nonexist' either not absolute or does not exist"),
        ("true", "cwd: relative", "Specified cwd 'relative' either not absolute"),
        ("true", "runas: nosuchuser", "User 'nosuchuser' is not available"),
        ("true", "shell: /bin/nosh", "The shell /bin/nosh is not available"),
        ("true", "umask: zzz", "Invalid umask: 'zzz'"),
        ("true", "template: jinja", "controller"),
        ("true", "password: x", "Windows"),
        ("true", "output_encoding: latin-1", "not supported"),
        ("true", "timeot: 3", "did you mean 'timeout'?"),
        ("echo ' unbalanced", "python_shell: false", "No closing quotation"),
        ("nosuchcmd x", "python_shell: false", "could not start 'nosuchcmd'"),
        ("", "python_shell: false", "no command"),
        ("echo said; false", "raise_err: true", "said"),
        ("true", "env: [1]", "env:"),
    ];
    for (command, kwargs, part) in cases {
        let answer = machine.call("cmd.run", &[command], kwargs);
        let text = answer.problem.map(|problem| problem.text).unwrap_or_default();
        assert!(text.contains(part), "{command} {kwargs}: {text}");
    }
    assert!(machine.call("cmd.powershell", &["dir"], "").problem.is_some());
}

#[test]
fn after_a_timeout_nothing_is_left_running() {
    let machine = machine();
    // The inner shell ignores SIGTERM and holds no pipe, so only killing the whole group ends it.
    let line = "sh -c 'trap \"\" TERM; echo $$ >@/pid; while :; do sleep 1; done' >/dev/null 2>&1 & wait";
    let answer = machine.call("cmd.run", &[line], "timeout: 1");
    assert!(answer.value.to_string().ends_with("Timed out after 1 seconds"), "{:?}", answer.value);
    let pid = std::fs::read_to_string(machine.path("pid")).expect("it was started");
    let process = Path::new("/proc").join(pid.trim());
    for _ in 0..1200 {
        let state = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        // A zombie is not a running process.
        if state.is_empty() || state.contains(") Z ") {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("process {} still runs", pid.trim());
}

#[test]
fn a_cancelled_command_ends() {
    let machine = machine();
    let signal = machine.host.signal();
    let started = machine.path("started");
    let stopper = std::thread::spawn(move || {
        while !started.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        signal.stop(StopSignal::Kill);
    });
    let begin = Instant::now();
    let answer = machine.call("cmd.run", &["touch @/started; sleep 600"], "");
    assert!(begin.elapsed() < Duration::from_secs(300), "it was not ended but ended by itself");
    assert!(answer.problem.is_some_and(|problem| problem.text.contains("cancelled")));
    stopper.join().expect("it ends");
}

#[test]
fn a_command_in_the_background_goes_on() {
    let machine = machine();
    // The command only continues when told to: if the call waited for it, it would never return.
    let answer = machine.call("cmd.run_bg", &["while [ ! -e @/go ]; do sleep 0.05; done; echo done > @/done"], "");
    std::fs::write(machine.path("go"), "").expect("it is ours");
    assert!(answer.value.walk("pid", ":").and_then(Value::as_i64).is_some_and(|pid| pid > 1), "{:?}", answer.value);
    for _ in 0..1200 {
        if machine.path("done").exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it never ended");
}

#[test]
fn scripts_and_code_run_and_leave_nothing() {
    let machine = machine();
    std::fs::write(machine.path("s.sh"), "#!/bin/sh\necho \"got $# $2\"\ndirname \"$0\" >&2\nexit 7\n").expect("ours");
    let answer = machine.call("cmd.script", &["@/s.sh", "a 'b c'"], "");
    assert_eq!(answer.value.walk("stdout", ":"), Some(&"got 2 b c".into()), "{:?}", answer.value);
    assert_eq!((answer.value.walk("retcode", ":"), answer.retcode), (Some(&7i64.into()), 7));
    let place = answer.value.walk("stderr", ":").map(ToString::to_string).unwrap_or_default();
    assert!(place.starts_with("/tmp/rocksalt-") && !Path::new(&place).exists(), "{place}");
    let answer = machine.call("cmd.script", &["@/s.sh"], "args: [x, 'y z']");
    assert_eq!(answer.value.walk("stdout", ":"), Some(&"got 2 y z".into()));
    assert_eq!(machine.call("cmd.script_retcode", &["@/s.sh"], "").value, 7i64.into());
    let missing = machine.call("cmd.script", &["@/none.sh"], "");
    assert_eq!(missing.value.walk("cache_error", ":"), Some(&true.into()));
    let answer = machine.call("cmd.exec_code", &["sh", "echo $1 $#"], "args: [a b, c]");
    assert_eq!(answer.value, "a b 2".into());
}

#[test]
fn commands_run_as_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let machine = machine();
    let line = "id -un; id -gn; echo $HOME $USER; pwd";
    let answer = machine.call("cmd.run", &[line], "runas: daemon");
    assert_eq!(answer.value, "daemon\ndaemon\n/usr/sbin daemon\n/usr/sbin".into());
    std::fs::write(machine.path("s.sh"), "#!/bin/sh\nid -un\n").expect("ours");
    let answer = machine.call("cmd.script", &["@/s.sh"], "{runas: daemon, cwd: /}");
    assert_eq!(answer.value.walk("stdout", ":"), Some(&"daemon".into()), "{:?}", answer.value);
    std::fs::write(machine.path("f"), "x").expect("ours");
    assert_eq!(machine.call("file.chown", &["@/f", "daemon", "daemon"], "").value, Value::Null);
    assert_eq!(machine.call("file.get_user", &["@/f"], "").value, "daemon".into());
    assert_eq!(machine.call("file.get_group", &["@/f"], "").value, "daemon".into());
    // A changed file keeps its owner.
    machine.call("file.replace", &["@/f", "x", "y"], "");
    assert_eq!(machine.call("file.get_user", &["@/f"], "").value, "daemon".into());
    assert_eq!(machine.call("file.get_user", &["@/f.bak"], "").value, "daemon".into());
}

/// Calls on the files of [`files_are_what_they_are`]: function, arguments, named arguments as YAML, result as JSON.
const FILE_CALLS: &[(&str, &[&str], &str, &str)] = &[
    ("file.symlink", &["f", "@/l"], "", "true"),
    ("file.symlink", &["f", "@/l"], "", "true"),
    ("file.symlink", &["h", "@/l2"], "", "true"),
    ("file.symlink", &["f", "@/l2"], "force: true", "true"),
    ("file.readlink", &["@/l2"], "", r#""f""#),
    ("file.readlink", &["@/l"], "canonicalize: true", r#""@/f""#),
    ("file.is_link", &["@/l"], "", "true"),
    ("file.is_hardlink", &["@/h"], "", "true"),
    ("file.is_chrdev", &["/dev/null"], "", "true"),
    ("file.access", &["@/f", "r"], "", "true"),
    ("file.access", &["@/f", "x"], "", "false"),
    ("file.access", &["@/none", "r"], "", "false"),
    ("file.grep", &["@/f", "^t"], "", r#""two""#),
    ("file.find", &["@/d"], "type: f", r#"["@/d/e/y.log","@/d/x.txt"]"#),
    ("file.find", &["@/d"], "{name: '*.txt', print: 'name,size,type'}", r#"[["x.txt",2,"f"]]"#),
    ("file.find", &["@/d"], "size: +2k", r#"["@/d","@/d/e","@/d/e/y.log"]"#),
    ("file.find", &["@/d"], "{size: 2k, type: f}", r#"["@/d/e/y.log"]"#),
    ("file.find", &["@/d"], "{mindepth: 2}", r#"["@/d/e/y.log"]"#),
    ("file.find", &["@/d"], "{maxdepth: 1, type: d}", r#"["@/d","@/d/e"]"#),
    ("file.find", &["@/d"], "{mtime: +1d}", "[]"),
    ("file.find", &["@/d"], "{mtime: -1d, iname: '*.TXT'}", r#"["@/d/x.txt"]"#),
    ("file.find", &["@/d"], "{grep: '^x$'}", r#"["@/d/x.txt"]"#),
    ("file.find", &["@/d"], "{name: x.txt, exec: 'wc -c {}'}", r#"["wc -c @/d/x.txt:\n2 @/d/x.txt\n\n"]"#),
    ("file.diskusage", &["@/d"], "", "3002"),
    ("file.tree", &["@/d"], "", r#"{"e":{"y.log":3000},"x.txt":2}"#),
    ("file.copy", &["@/d", "@/d2"], "recurse: true", "true"),
    ("file.find", &["@/d2"], "{type: f, delete: f}", r#"["@/d2/e/y.log","@/d2/x.txt"]"#),
    ("file.rmdir", &["@/d2"], "", "false"),
    ("file.rmdir", &["@/d2"], "recurse: true", "true"),
    ("file.move", &["@/d/x.txt", "@/moved"], "", r#"{"result":true,"comment":"'@/d/x.txt' moved to '@/moved'"}"#),
    ("file.write", &["@/l", "through"], "", r#""Wrote 1 lines to \"@/l\"""#),
    ("file.read", &["@/f"], "", r#""through\n""#),
    ("file.is_link", &["@/l"], "", "true"),
    ("file.set_mode", &["@/moved", "4750"], "", r#""4750""#),
    ("file.touch", &["@/moved"], "{atime: 5, mtime: 6}", "true"),
    ("file.remove", &["@/d"], "", "true"),
    ("file.remove", &["@/d"], "", "false"),
    ("file.normpath", &["/a/../b//c/."], "", r#""/b/c""#),
];

#[test]
fn files_are_what_they_are() {
    let machine = machine();
    let place = machine.place.path();
    std::fs::create_dir_all(place.join("d/e")).expect("ours");
    std::fs::write(place.join("f"), "one\ntwo\n").expect("ours");
    std::fs::write(place.join("d/x.txt"), "x\n").expect("ours");
    std::fs::write(place.join("d/e/y.log"), vec![b'y'; 3000]).expect("ours");
    std::fs::hard_link(place.join("f"), place.join("h")).expect("ours");
    for (function, args, kwargs, expected) in FILE_CALLS {
        let answer = machine.call(function, args, kwargs);
        let value = if *function == "file.grep" {
            answer.value.walk("stdout", ":").cloned().unwrap_or_default()
        } else {
            answer.value
        };
        let expected = expected.replace('@', &place.to_string_lossy());
        assert_eq!(json::compact(&value), expected, "{function} {args:?} {kwargs} {:?}", answer.problem);
    }
    let stats = machine.call("file.stats", &["@/moved"], "hash_type: md5").value;
    let value = |name: &str| stats.walk(name, ":").map(ToString::to_string).unwrap_or_default();
    assert_eq!(
        (value("mode"), value("type"), value("mtime"), value("size")),
        ("4750".into(), "file".into(), "6.0".into(), "2".into())
    );
    assert_eq!(value("sum"), "401b30e3b8b5d629635a5c613cdb7919");
    let sizes = machine.call("file.statvfs", &["@"], "").value;
    assert!(sizes.walk("f_blocks", ":").and_then(Value::as_i64).is_some_and(|blocks| blocks > 0), "{sizes:?}");
    assert!(machine.host.stat(&machine.path("l"), false).is_ok());
}
