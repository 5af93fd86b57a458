//! The conformance suite of external pillars, each with its own source of the same data.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rocksalt_backends::pillar::{DirectoryCompiler, ExternalPillars, KINDS, PillarTarget, Settings, kinds, open};
use rocksalt_core::{Map, Value, json, yaml};
use tempfile::TempDir;

/// The pillar of `web1` in every source; that of `web2` differs in the value.
const EXPECTED: &str = "{'a': {'b': 'web1'}}";

struct PillarCase {
    kind: &'static str,
    /// Yields `{a: {b: ID}}` for the ids `web1` and `web2`.
    good: Value,
    /// Exists, but its data can't be parsed.
    broken: Value,
    /// Yields far more than the limit.
    endless: Value,
}

fn sources(place: &Path) -> Vec<PillarCase> {
    let port = serve();
    let text = |text: String| Value::String(text);
    let tree = |name: &str| Map::from_iter([("root_dir".into(), place.join(name).display().to_string().into())]).into();
    for id in ["web1", "web2"] {
        write(&place.join(format!("tree/hosts/{id}/a/b")), &format!("{id}\n"));
    }
    write(&place.join("big/hosts/web1/a/b"), &"x".repeat(200_000));
    repository(place, "repository", "{a: {b: ID}}");
    repository(place, "broken", "{a: [");
    repository(place, "big", &format!("{{a: {}}}", "x".repeat(200_000)));
    let cmd = |kind, what: [&str; 3]| PillarCase {
        kind,
        good: text(what[0].into()),
        broken: text(what[1].into()),
        endless: text(what[2].into()),
    };
    let http = |kind: &'static str, format: &str| PillarCase {
        kind,
        good: text(format!("http://127.0.0.1:{port}/{format}/%s")),
        broken: text(format!("http://127.0.0.1:{port}/broken/%s")),
        endless: text(format!("http://127.0.0.1:{port}/endless/%s")),
    };
    let git = |name: &str| Value::List(vec![format!("master file://{}", place.join(name).display()).into()]);
    vec![
        cmd("cmd_json", [r#"echo '{"a": {"b": "%s"}}'"#, "echo '{'", "yes"]),
        cmd("cmd_yaml", ["echo 'a: {b: %s}'", "echo 'a: ['", "yes"]),
        PillarCase { kind: "file_tree", good: tree("tree"), broken: tree("none"), endless: tree("big") },
        PillarCase { kind: "git", good: git("repository"), broken: git("broken"), endless: git("big") },
        http("http_json", "json"),
        http("http_yaml", "yaml"),
    ]
}

/// Reads `pillar.yml`, in place of the state language, which would read a top file.
struct OneFile;

#[async_trait]
impl DirectoryCompiler for OneFile {
    async fn compile(&self, directories: &[PathBuf], _: &str, target: &PillarTarget<'_>) -> Result<Map, Vec<String>> {
        let text =
            std::fs::read_to_string(directories[0].join("pillar.yml")).map_err(|error| vec![error.to_string()])?;
        if text.len() > 100_000 {
            return Err(vec!["too long".into()]);
        }
        let value = yaml::parse(&text.replace("ID", target.id)).map_err(|error| vec![error.to_string()])?;
        Ok(value.as_map().cloned().unwrap_or_default())
    }
}

fn settings(place: &Path) -> Settings {
    Settings {
        timeout: Duration::from_secs(20),
        limit: 100_000,
        cache: place.join("cache"),
        compile: Some(Arc::new(OneFile)),
        ..Settings::default()
    }
}

#[test]
fn every_kind_is_in_the_suite() {
    let place = TempDir::new().expect("a place");
    let kinds: Vec<&str> = sources(place.path()).iter().map(|source| source.kind).collect();
    assert_eq!(kinds, KINDS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    assert!(kinds.is_sorted());
    assert!(
        open("cmd_yml", &Value::Null, &Settings::default())
            .err()
            .is_some_and(|error| error.to_string().contains("cmd_yaml"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_gives_a_target_its_own() {
    let place = TempDir::new().expect("a place");
    let nothing = Map::new();
    let target = |id| PillarTarget { id, grains: &nothing, pillar: &nothing, saltenv: "", pillarenv: "" };
    for source in sources(place.path()) {
        let pillar = open(source.kind, &source.good, &settings(place.path())).expect(source.kind);
        // Two concurrent requests don't mix.
        let (first, second) = (target("web1"), target("web2"));
        let (first, second) = tokio::join!(pillar.pillar(&first), pillar.pillar(&second));
        assert_eq!(Value::Map(first.expect(source.kind)).to_string(), EXPECTED, "{}", source.kind);
        let second = Value::Map(second.expect(source.kind)).to_string();
        assert_eq!(second, EXPECTED.replace("web1", "web2"), "{}", source.kind);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_kind_is_led_astray_by_an_id() {
    let place = TempDir::new().expect("a place");
    let nothing = Map::new();
    let marker = place.path().join("marker");
    write(&place.path().join("secret/a/b"), "secret");
    let hostile = [
        "".to_owned(),
        "..".into(),
        "../../secret".into(),
        format!("x; touch {}", marker.display()),
        format!("$(touch {})", marker.display()),
        format!("x' ; touch {} '", marker.display()),
        "-rf".into(),
        "a\nb".into(),
    ];
    for source in sources(place.path()) {
        let pillar = open(source.kind, &source.good, &settings(place.path())).expect(source.kind);
        for id in &hostile {
            let target = PillarTarget { id, grains: &nothing, pillar: &nothing, saltenv: "", pillarenv: "" };
            if let Ok(found) = pillar.pillar(&target).await {
                let text = Value::Map(found).to_string();
                assert!(!text.contains("secret") || id.contains("secret"), "{} {id:?}: {text}", source.kind);
            }
            assert!(!marker.exists(), "{} {id:?}", source.kind);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_or_endless_is_an_error() {
    let place = TempDir::new().expect("a place");
    let nothing = Map::new();
    let target = PillarTarget { id: "web1", grains: &nothing, pillar: &nothing, saltenv: "", pillarenv: "" };
    for source in sources(place.path()) {
        for config in [&source.broken, &source.endless] {
            let pillar = open(source.kind, config, &settings(place.path())).expect(source.kind);
            let begin = Instant::now();
            assert!(pillar.pillar(&target).await.is_err(), "{} {config}", source.kind);
            assert!(begin.elapsed() < Duration::from_secs(15), "{} {config}", source.kind);
        }
        assert!(
            open(source.kind, &Value::Map(Map::from_iter([("nope".into(), 1i64.into())])), &settings(place.path()))
                .is_err()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_hangs_is_ended_with_all_it_started() {
    let place = TempDir::new().expect("a place");
    let pid = place.path().join("pid");
    let settings = Settings { timeout: Duration::from_millis(500), ..settings(place.path()) };
    let command = format!("sleep 60 & echo $! > {}; wait", pid.display());
    let pillar = open("cmd_yaml", &command.into(), &settings).expect("it opens");
    let nothing = Map::new();
    let target = PillarTarget { id: "web1", grains: &nothing, pillar: &nothing, saltenv: "", pillarenv: "" };
    let error = pillar.pillar(&target).await.expect_err("it takes too long").to_string();
    assert!(error.contains("took longer than"), "{error}");
    let pid = std::fs::read_to_string(pid).expect("it was started");
    let stat = format!("/proc/{}/stat", pid.trim());
    for _ in 0..50 {
        let state = std::fs::read_to_string(&stat).unwrap_or_default();
        if state.is_empty() || state.contains(") Z ") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("what the command started still runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_fails_leaves_the_others_alone() {
    let place = TempDir::new().expect("a place");
    let config = yaml::parse(
        "[{cmd_yaml: 'echo \"{a: {x: 1}, l: [1]}\"'}, {cmd_yaml: 'echo oops >&2; exit 3'}, {nope: x}, {cmd_json: {command: 'echo []'}},
          {cmd_yaml: ['echo \"{a: {y: 2}, l: [2]}\"']}, {cmd_yaml: 'true'}]",
    );
    let config = config.expect("it is YAML");
    let external = ExternalPillars::new(&config, &settings(place.path()));
    let nothing = Map::new();
    let target = PillarTarget { id: "web1", grains: &nothing, pillar: &nothing, saltenv: "", pillarenv: "" };
    assert_eq!(kinds(&config), ["cmd_yaml", "cmd_yaml", "nope", "cmd_json", "cmd_yaml", "cmd_yaml"]);
    let mut given = Vec::new();
    for number in 0..7 {
        given.push(external.fetch(number, &target).await);
    }
    let shown = |number: usize| given[number].as_ref().map(|map| json::compact(&Value::Map(map.clone())));
    assert_eq!(shown(0).as_deref(), Ok(r#"{"a":{"x":1},"l":[1]}"#));
    assert!(shown(1).is_err_and(|error| error.ends_with("oops")), "{given:?}");
    assert!(shown(2).is_err_and(|error| error.starts_with("unknown external pillar")), "{given:?}");
    assert!(shown(3).is_err_and(|error| error.contains("a list instead of a map")), "{given:?}");
    assert_eq!(shown(4).as_deref(), Ok(r#"{"a":{"y":2},"l":[2]}"#));
    assert_eq!(shown(5).as_deref(), Ok("{}"));
    assert!(shown(6).is_err());
    for malformed in ["{cmd_yaml: x}", "[x]"] {
        let external = ExternalPillars::new(&yaml::parse(malformed).expect("YAML"), &settings(place.path()));
        let error = external.fetch(0, &target).await.expect_err("it is malformed");
        assert!(error.contains("malformed"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_trees_have_groups_links_and_newlines() {
    let place = TempDir::new().expect("a place");
    let root = place.path().join("t");
    write(&root.join("hosts/web1/one"), "1\n");
    write(&root.join("hosts/web1/d/two"), "2\n\n");
    write(&root.join("nodegroups/webs/one"), "group\n");
    write(&root.join("nodegroups/webs/three"), "3");
    write(&root.join("nodegroups/dbs/four"), "4");
    write(&root.join("elsewhere/five"), "5");
    std::os::unix::fs::symlink(root.join("elsewhere"), root.join("hosts/web1/link")).expect("a link");
    let nodegroups = yaml::parse("{webs: 'web*', dbs: 'db*'}").expect("YAML");
    let nodegroups = rocksalt_core::target::Nodegroups::from_value(&nodegroups).expect("they fit");
    let settings = Settings { nodegroups, ..settings(place.path()) };
    let nothing = Map::new();
    let target = PillarTarget { id: "web1", grains: &nothing, pillar: &nothing, saltenv: "", pillarenv: "" };
    for (options, expected) in [
        ("{}", r#"{"one":"1","three":"3","d":{"two":"2\n"},"link":{}}"#),
        ("{keep_newline: true}", r#"{"one":"1\n","three":"3","d":{"two":"2\n\n"},"link":{}}"#),
        ("{keep_newline: ['d/*']}", r#"{"one":"1","three":"3","d":{"two":"2\n\n"},"link":{}}"#),
        ("{follow_dir_links: true}", r#"{"one":"1","three":"3","d":{"two":"2\n"},"link":{"five":"5"}}"#),
    ] {
        let mut config = yaml::parse(options).expect("YAML").as_map().cloned().unwrap_or_default();
        config.insert("root_dir", root.display().to_string());
        let pillar = open("file_tree", &config.into(), &settings).expect("it opens").pillar(&target).await;
        assert_eq!(json::compact(&Value::Map(pillar.expect("it reads"))), expected, "{options}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_follows_its_branch_and_survives_its_remote() {
    let place = TempDir::new().expect("a place");
    repository(place.path(), "r", "{v: 1}");
    let remote = place.path().join("r");
    git(&remote, &["branch", "dev"]);
    let settings = Settings { update_interval: Duration::ZERO, ..settings(place.path()) };
    let config = Value::List(vec![format!("__env__ file://{}", remote.display()).into()]);
    let nothing = Map::new();
    let pillar = open("git", &config, &settings).expect("it opens");
    let value = async |pillarenv: &str| {
        let target = PillarTarget { id: "web1", grains: &nothing, pillar: &nothing, saltenv: "", pillarenv };
        pillar.pillar(&target).await.map(|map| Value::Map(map).to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(value("").await.as_deref(), Ok("{'v': 1}"));
    write(&remote.join("pillar.yml"), "{v: 2}");
    git(&remote, &["commit", "-qam", "2"]);
    assert_eq!(value("").await.as_deref(), Ok("{'v': 2}"));
    assert_eq!(value("dev").await.as_deref(), Ok("{'v': 1}"));
    assert!(value("none").await.is_err_and(|error| error.contains("none")));
    std::fs::rename(&remote, place.path().join("gone")).expect("it moves");
    assert_eq!(value("").await.as_deref(), Ok("{'v': 2}"), "the last good copy stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_takes_grains() {
    let port = serve();
    let url = format!("http://127.0.0.1:{port}/echo/<os:name>/%s?<n>");
    let config = Map::from_iter([("url".into(), url.into()), ("with_grains".into(), true.into())]);
    let pillar = open("http_json", &config.into(), &Settings::default()).expect("it opens");
    let nothing = Map::new();
    let grains = yaml::parse("{os: {name: a b}, n: 5}").expect("YAML").as_map().cloned().unwrap_or_default();
    let target = PillarTarget { id: "web1", grains: &grains, pillar: &nothing, saltenv: "", pillarenv: "" };
    let found = pillar.pillar(&target).await.map(|map| Value::Map(map).to_string());
    assert_eq!(found.ok().as_deref(), Some("{'path': '/echo/a%20b/web1?5'}"));
    assert!(pillar.pillar(&PillarTarget { grains: &nothing, ..target }).await.is_err());
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().expect("it is in a directory")).expect("ours");
    std::fs::write(path, content).expect("ours");
}

fn repository(place: &Path, name: &str, pillar: &str) {
    let place = place.join(name);
    write(&place.join("pillar.yml"), pillar);
    git(&place, &["init", "-q", "-b", "master"]);
    git(&place, &["add", "pillar.yml"]);
    git(&place, &["commit", "-qm", "1"]);
}

fn git(place: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
    let status = Command::new("git").current_dir(place).args(identity).args(words).status().expect("git is there");
    assert!(status.success(), "git {words:?}");
}

/// A web server on a port of this machine: `/json/ID`, `/yaml/ID`, `/broken/…`, `/endless/…`, `/echo/…`.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer(mut stream: TcpStream) -> Option<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&buffer[..count]);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1)?;
    let id = path.rsplit('/').next()?;
    let body = match path.split('/').nth(1)? {
        "json" => format!(r#"{{"a": {{"b": "{id}"}}}}"#),
        "yaml" => format!("a: {{b: '{id}'}}"),
        "echo" => format!(r#"{{"path": "{path}"}}"#),
        "endless" => "x".repeat(1_000_000),
        _ => "{".to_owned(),
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()
}
