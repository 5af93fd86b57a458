//! Replays what pepper, SaltGUI and curl exchanged with a real salt-api, and compares the responses.
//!
//! A case is an entry of `cases/*.yml`. Values that differ in each run (ids of jobs, tokens, times, fingerprints) are
//! replaced by a word before comparing; `"...": trimmed` stands for parts that are not compared.

use std::path::Path;

use rocksalt_core::call::{Problem, ProblemKind, Return};
use rocksalt_core::{Map, Value, json, yaml};

use super::bed::{Bed, PASSWORD, Reply};

#[tokio::test(flavor = "multi_thread")]
async fn all_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/salt_api/cases");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("cases").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files {
        let cases = yaml::parse(&std::fs::read_to_string(&file).expect("readable")).expect("it is YAML");
        for case in cases.as_list().expect("a list of cases") {
            count += 1;
            if let Err(why) = replay(case.as_map().expect("a case")).await {
                wrong.push(format!("{}: {}\n{why}", file.display(), case.walk("what", ":").unwrap_or(&Value::Null)));
            }
        }
    }
    assert!(count >= 43, "only {count} cases");
    assert!(wrong.is_empty(), "{} of {count} differ\n\n{}", wrong.len(), wrong.join("\n\n"));
}

async fn replay(case: &Map) -> Result<(), String> {
    let bed = Bed::new().await;
    if let Some(Value::List(before)) = case.get("before") {
        for step in before {
            let reply = bed.post(&json::compact(step)).await;
            if !reply.status.is_success() {
                return Err(format!("before: {} {}", reply.status, reply.text));
            }
        }
    }
    if let Some(Value::Map(targets)) = case.get("targets") {
        let mut answers = bed.fleet.answers.lock().expect("free");
        for (id, answer) in targets.iter() {
            answers.insert(id.to_string(), returned(answer));
        }
    }
    let request = case.get("request").and_then(Value::as_map).expect("a request");
    let text = |key: &str| request.get(key).map(ToString::to_string).unwrap_or_default();
    let fill = |text: &str| {
        let dead = "0".repeat(64);
        let token = if case.get("dead_token").is_some() { &dead } else { &bed.token };
        text.replace("TOKEN", token).replace("PASSWORD", PASSWORD)
    };
    let headers: Vec<(String, String)> = request
        .get("headers")
        .and_then(Value::as_map)
        .into_iter()
        .flat_map(Map::iter)
        .map(|(name, value)| (name.to_string(), fill(&value.to_string())))
        .collect();
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = match request.get("body") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => fill(text),
        Some(other) => fill(&json::compact(other)),
    };
    let reply = bed.ask(&text("method"), &text("path"), &headers, body).await;
    check(&reply, case.get("answer").and_then(Value::as_map).expect("an answer"))
}

/// Compares a reply with the recorded one.
fn check(reply: &Reply, answer: &Map) -> Result<(), String> {
    let status = answer.get("status").map(ToString::to_string).unwrap_or_default();
    if reply.status.as_str() != status {
        return Err(format!("expected {status}, got {}: {}", reply.status, reply.text));
    }
    for (name, value) in answer.get("headers").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        let shown = reply.header(&name.to_string());
        if !shown.starts_with(&value.to_string()) {
            return Err(format!("header {name}: expected {value}, got {shown:?}"));
        }
    }
    match answer.get("body") {
        None => Ok(()),
        Some(Value::String(text)) if reply.text == *text => Ok(()),
        Some(Value::String(text)) => Err(format!("expected {text:?}, got {:?}", reply.text)),
        Some(expected) => {
            let (expected, got) = (settled(expected), settled(&reply.json()));
            match fits(&expected, &got) {
                true => Ok(()),
                false => Err(format!("expected {}\n     got {}", json::compact(&expected), json::compact(&got))),
            }
        }
    }
}

fn returned(answer: &Value) -> Return {
    match answer {
        Value::Map(map) if map.contains_key("problem") => {
            Problem::new(ProblemKind::UnknownFunction, map.get("problem").map(ToString::to_string).unwrap_or_default())
                .into()
        }
        Value::Map(map) if map.contains_key("retcode") && map.contains_key("value") => Return {
            value: map.get("value").cloned().unwrap_or_default(),
            retcode: map.get("retcode").and_then(Value::as_i64).unwrap_or(0) as i32,
            problem: None,
        },
        other => Return { value: other.clone(), retcode: 0, problem: None },
    }
}

/// Replaces values that differ in each run by a word.
fn settled(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(settled).collect()),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| {
                let name = key.to_string();
                let value = match name.as_str() {
                    "_stamp" | "StartTime" | "start" | "expire" | "start_time" | "duration" => Value::from("TIME"),
                    _ => settled(value),
                };
                (text(&name).into(), value)
            })
            .collect::<Map>()
            .into(),
        Value::String(known) => text(known).into(),
        Value::BigInt(_) => "JID".into(),
        other => other.clone(),
    }
}

fn text(known: &str) -> String {
    let hex = |text: &str| text.chars().all(|c| c.is_ascii_hexdigit());
    if known == "TOKEN" || (matches!(known.len(), 40 | 64) && hex(known)) {
        return "TOKEN".into();
    }
    if known.len() > 10 && known.split(':').count() > 3 && known.split(':').all(|part| part.len() == 2) {
        return "FINGERPRINT".into();
    }
    let mut out = String::new();
    let mut digits = String::new();
    for c in known.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        out.push_str(if digits.len() == 20 { "JID" } else { &digits });
        digits.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

/// Whether both are equal, except for trimmed parts.
fn fits(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Map(expected), Value::Map(got)) => {
            let trimmed = expected.contains_key("...");
            let wanted = expected.iter().filter(|(key, _)| key.as_str() != Some("..."));
            (trimmed || expected.len() == got.len())
                && wanted.into_iter().all(|(key, value)| got.get_value(key).is_some_and(|got| fits(value, got)))
        }
        (Value::List(expected), Value::List(got)) => {
            expected.len() == got.len() && expected.iter().zip(got).all(|(expected, got)| fits(expected, got))
        }
        (expected, got) => expected == got,
    }
}
