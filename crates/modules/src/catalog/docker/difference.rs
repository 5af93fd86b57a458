//! The differences between an existing container and the requested one, from its `inspect`.

use crate::catalog::change;
use rocksalt_core::{Map, Value};

use super::arguments::{ContainerSpec, LABEL};

/// The differences in Salt's form; empty if there are none.
///
/// The label of our containers reveals every difference, but the details are only available for settings that both
/// programs show alike. Values of variables may be secrets, so they are not shown.
pub fn of(container: &Value, request: &ContainerSpec) -> Map {
    let label = container.walk(&format!("Config/Labels/{LABEL}"), "/").and_then(Value::as_str);
    let print = request.fingerprint();
    if label == Some(&print) {
        return Map::new();
    }
    let (mut config, mut host) = (Map::new(), Map::new());
    let note = |map: &mut Map, key: &str, old: Value, new: Value| {
        if old != new {
            map.insert(key, change(old, new));
        }
    };
    let look = |path: &str| container.walk(path, "/").cloned().unwrap_or_default();
    if !request.command.is_empty() {
        note(&mut config, "Cmd", list(&look("Config/Cmd")), texts(&request.command));
    }
    for (name, key) in [("user", "User"), ("hostname", "Hostname"), ("working_dir", "WorkingDir")] {
        if let Some(wanted) = request.given.get(name) {
            note(&mut config, key, look(&format!("Config/{key}")), wanted.to_string().into());
        }
    }
    let has = list(&look("Config/Env"));
    let has: Vec<&str> = has.as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for (name, value) in &request.variables {
        if !has.contains(&format!("{name}={value}").as_str()) {
            let before = has.iter().any(|known| known.split('=').next() == Some(name));
            old.extend(before.then(|| format!("{name}=***")));
            new.push(format!("{name}=*** (new)"));
        }
    }
    note(&mut config, "Env", texts(&old), texts(&new));
    if let Some(wanted) = request.given.get("privileged") {
        note(&mut host, "Privileged", look("HostConfig/Privileged").truth().into(), wanted.truth().into());
    }
    if let Some(wanted) = request.given.get("restart_policy") {
        let name = look("HostConfig/RestartPolicy/Name").to_string();
        let count = look("HostConfig/RestartPolicy/MaximumRetryCount").as_i64().unwrap_or_default();
        let is = if count > 0 { format!("{name}:{count}") } else { name };
        let none = |text: &str| matches!(text, "no" | "" | "False" | "None");
        let wanted = wanted.to_string();
        if !(none(&is) && none(&wanted)) {
            note(&mut host, "RestartPolicy", is.into(), wanted.into());
        }
    }
    if config.is_empty() && host.is_empty() {
        let Some(label) = label else { return Map::new() };
        note(&mut config, LABEL, label.into(), print.into());
    }
    let both = [("Config", config), ("HostConfig", host)];
    both.into_iter().filter(|(_, map)| !map.is_empty()).map(|(key, map)| (key.into(), map.into())).collect()
}

fn texts(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| text.as_str().into()).collect())
}

fn list(value: &Value) -> Value {
    match value {
        Value::List(_) => value.clone(),
        _ => Value::List(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::{json, yaml};

    use super::*;

    /// The parts of docker 24's `inspect` that are compared.
    const INSPECTED: &str = r#"{"Config": {"Hostname": "web", "User": "www", "Env": ["A=1", "PATH=/bin"], "Cmd": ["sleep", "9"],
        "WorkingDir": "", "Labels": null}, "HostConfig": {"Privileged": false,
        "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 3}}}"#;

    fn told(inspected: &str, text: &str) -> String {
        let arguments = yaml::parse(text).expect("it is YAML").as_map().expect("it is a map").clone();
        let request = ContainerSpec::new(&arguments, &Value::Null).expect("it is fine");
        let inspected = inspected.replace("PRINT", &request.fingerprint());
        Value::Map(of(&json::parse(&inspected).expect("it is JSON"), &request)).to_string()
    }

    #[test]
    fn what_others_made_is_compared_by_its_settings() {
        let same = "{user: www, env: {A: 1}, command: sleep 9, restart_policy: 'on-failure:3', privileged: false, hostname: web}";
        assert_eq!(told(INSPECTED, same), "{}");
        assert_eq!(told(INSPECTED, "{user: root}"), "{'Config': {'User': {'old': 'www', 'new': 'root'}}}");
        assert_eq!(
            told(INSPECTED, "{env: {A: s3cret, B: x}, restart: always}"),
            "{'Config': {'Env': {'old': ['A=***'], 'new': ['A=*** (new)', 'B=*** (new)']}}, \
             'HostConfig': {'RestartPolicy': {'old': 'on-failure:3', 'new': 'always'}}}"
        );
    }

    #[test]
    fn what_we_made_is_compared_as_a_whole() {
        let ours =
            |print: &str| INSPECTED.replace("\"Labels\": null", &format!("\"Labels\": {{\"{LABEL}\": \"{print}\"}}"));
        assert_eq!(told(&ours("PRINT"), "{cap_add: [SYS_TIME]}"), "{}");
        let differs = told(&ours("other"), "{cap_add: [SYS_TIME]}");
        assert!(differs.starts_with("{'Config': {'rocksalt.config': {'old': 'other', 'new': '"), "{differs}");
    }
}
