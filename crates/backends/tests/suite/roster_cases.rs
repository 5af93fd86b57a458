//! Runs `cases/<kind>/<case>/`: a roster `in` (a file or a directory), and `expected.yaml`.
//!
//! `settings.yaml` contains `defaults`. `UPDATE_CASES=1` writes the results; read them before you commit.

use std::path::{Path, PathBuf};

use rocksalt_backends::roster::{Error, SOURCES, Settings, open};
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::value::{Map, Value};
use rocksalt_core::yaml;

#[tokio::test]
async fn rosters_are_read() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut failures = Vec::new();
    let mut count = 0;
    for (kind, _) in SOURCES {
        for case in folders(&cases.join(kind)) {
            count += 1;
            let expected = std::fs::read_to_string(case.join("expected.yaml")).unwrap_or_default();
            let got = run(kind, &case).await;
            if std::env::var_os("UPDATE_CASES").is_some() {
                std::fs::write(case.join("expected.yaml"), yaml::emit(&got)).expect("the case can be written");
            } else if yaml::parse(&expected).expect("it is YAML") != got {
                failures.push(format!("{}\ngot:\n{}", case.display(), yaml::emit(&got)));
            }
        }
    }
    assert!(count >= 27, "only {count} cases");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

async fn run(kind: &str, case: &Path) -> Value {
    let input = case.join("in");
    let mut settings = Settings { home: Some(PathBuf::from("/home/me")), ..Settings::at(&input) };
    if let Ok(text) = std::fs::read_to_string(case.join("settings.yaml")) {
        let given = yaml::parse(&text).expect("it is YAML");
        settings.defaults = given.walk("defaults", ":").and_then(Value::as_map).cloned().unwrap_or_default();
    }
    // git can't store mode 0600.
    let secret = case.join("secret");
    if secret.exists() {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("the mode can be set");
    }
    let here = format!("{}/", case.display());
    let hide = |text: String| text.replace(&here, "");
    match open(kind, &settings).expect("the kind is known").load().await {
        Ok(roster) => show(&roster, &hide),
        Err(Error::Faults(faults)) => {
            let lines =
                faults.0.into_iter().map(|fault| Value::from(hide(format!("{}: {}", fault.origin, fault.message))));
            Map::from_iter([("faults".into(), lines.collect::<Vec<_>>().into())]).into()
        }
        Err(error) => Map::from_iter([("error".into(), hide(error.to_string()).into())]).into(),
    }
}

fn show(roster: &Roster, hide: &dyn Fn(String) -> String) -> Value {
    let mut map = Map::new();
    let entries: Map = roster.entries.iter().map(|entry| (entry.id.as_str().into(), show_entry(entry, hide))).collect();
    map.insert("entries", entries);
    if !roster.nodegroups.is_empty() {
        let groups =
            roster.nodegroups.iter().map(|(name, text)| (Value::from(name.as_str()), Value::from(text.as_str())));
        map.insert("nodegroups", groups.collect::<Map>());
    }
    map.into()
}

/// The differences from an entry that has only a host.
fn show_entry(entry: &RosterEntry, hide: &dyn Fn(String) -> String) -> Value {
    let path = |path: &PathBuf| Value::from(hide(path.display().to_string()));
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| {
        if value.truth() {
            map.insert(name, value);
        }
    };
    put("host", entry.host.as_str().into());
    put("port", entry.port.map(u32::from).into());
    put("user", entry.user.clone().into());
    put("transport", if entry.transport == "ssh" { Value::Null } else { entry.transport.as_str().into() });
    put("password", entry.password.as_ref().map(|secret| secret.reveal().clone()).into());
    put("keys", entry.keys.iter().map(path).collect::<Vec<_>>().into());
    put("key_password", entry.key_password.as_ref().map(|secret| secret.reveal().clone()).into());
    put("certificate", entry.certificate.as_ref().map(path).into());
    put("identities_only", entry.identities_only.into());
    put("proxy_jump", entry.proxy_jump.clone().into());
    put("known_hosts", entry.known_hosts.as_ref().map(path).into());
    put("accept_new", entry.accept_new.into());
    if let Some(escalate) = &entry.escalate {
        let password =
            escalate.password.as_ref().map_or_else(String::new, |secret| format!(" with {}", secret.reveal()));
        put("escalate", format!("{} to {}{password}", escalate.method.name(), escalate.user).into());
    }
    put("tty", entry.tty.into());
    put("timeout", entry.timeout.into());
    put("agent_dir", entry.agent_dir.clone().into());
    put("options", entry.options.clone().into());
    put("grains", entry.grains.clone().into());
    put("pillar", entry.pillar.clone().into());
    put("origin", hide(entry.origin.clone()).into());
    map.into()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|file| file.path()).collect();
    folders.sort();
    folders
}
