//! Unmodified third-party clients of `rocksalt serve`: pepper in every mode, and Halite's page in a browser.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use e2e::{Fleet, Spec};

/// The daemon of a project, which runs as long as the test.
struct Service {
    child: Child,
    url: String,
    password: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Service {
    fn start(fleet: &Fleet, clients: &Path) -> Service {
        let scratch = &fleet.scratch;
        let page = clients.join("lattice");
        let config = format!(
            "file_roots: {{base: [files]}}\npillar_roots: {{base: [pillar]}}\nnodegroups: {{first: L@h1}}\nhalite: True\n\
             rest_cherrypy: {{app: {}/app/main.html, static: {}}}\n",
            page.display(),
            page.display()
        );
        for (name, text) in [
            ("config/rocksalt.yml", config.as_str()),
            ("config/files/top.sls", "base: {'*': [demo]}\n"),
            ("config/files/demo.sls", "/var/tmp/demo: {file.managed: [{contents: hello}]}\n"),
            ("config/pillar/top.sls", "base: {'*': []}\n"),
        ] {
            scratch.write(name, text).expect("it's written");
        }
        // Targeting by the roster's pillar works without contacting any target.
        fleet.set_roster(|number, entry| entry.set("pillar", format!("{{role: {}}}", ["one", "two"][number - 1])));
        let log = scratch.path("serve.log");
        let said = File::create(&log).expect("a log");
        let mut command = fleet.bed.command(e2e::rocksalt_binary().expect("the binary is built"));
        command.arg("--config-dir").arg(scratch.path("config")).args(["serve", "--listen", "127.0.0.1:8000"]);
        let own = scratch.path("config");
        command.env_clear().env("ROCKSALT_SCRATCH", own.parent().expect("the scratch"));
        for name in ["PATH", "LANG", "ROCKSALT_AGENTS"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        for (name, directory) in
            [("HOME", "home"), ("XDG_CACHE_HOME", "cache"), ("XDG_RUNTIME_DIR", "runtime"), ("XDG_STATE_HOME", "state")]
        {
            command.env(name, scratch.path(directory));
        }
        command.stdin(Stdio::null()).stdout(said.try_clone().expect("a log")).stderr(said);
        let child = command.spawn().expect("it starts");
        let mut service = Service { child, url: "http://127.0.0.1:8000".into(), password: String::new() };
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let password = text.lines().find_map(|line| line.trim().strip_prefix("password: "));
            if let (Some(password), true) = (password, text.contains("Listening on ")) {
                service.password = password.trim().to_owned();
                return service;
            }
            let ended = service.child.try_wait().ok().flatten();
            assert!(ended.is_none() && Instant::now() < until, "the daemon does not start: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The directory of the clients, which are installed from PyPI the first time.
fn clients() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let folder = cache.expect("a home").join("rocksalt-testbed/clients");
    let done = Command::new("python3").arg(script("install.py")).arg(&folder).status().expect("python3 is there");
    assert!(done.success(), "the clients could not be installed");
    folder
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

fn drive(fleet: &Fleet, service: &Service, python: &Path, name: &str) {
    let mut command = fleet.bed.command(python);
    let output = command.arg("-B").arg(script(name)).args([&service.url, "admin", &service.password]).output();
    let output = output.expect("python starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(fleet.scratch.path("serve.log")).unwrap_or_default();
    let tail: Vec<&str> = log.lines().rev().take(30).collect();
    assert!(output.status.success(), "{name}: {said}\nthe daemon's last words, newest first:\n{}", tail.join("\n"));
}

#[test]
fn pepper_works_in_every_mode() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    let clients = clients();
    let service = Service::start(&fleet, &clients);
    drive(&fleet, &service, &clients.join("venv/bin/python3"), "every_pepper_mode.py");
}

#[test]
fn halites_page_works_in_a_browser() {
    let Some(fleet) = Fleet::start(&[Spec::debian(), Spec::debian()]) else { return };
    let clients = clients();
    let service = Service::start(&fleet, &clients);
    drive(&fleet, &service, Path::new("python3"), "halite_page.py");
}
