//! Runs one case on its own host.

use std::fmt::Display;
use std::time::Duration;

use rocksalt_testkit::{Bed, Scratch};
use serde_json::Value as Json;

use super::snapshot::Snapshot;
use super::{Case, Expected, compare, compare::is};

const CONFIG: &str = "\
file_roots: {base: [states]}
pillar_roots: {base: [pillar]}
roster_file: roster
";

/// The time limit of a run. An installation from a local repository takes some of it on a loaded machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs a case; the error lists all differences.
pub fn run(case: &Case) -> Result<(), String> {
    let bed = Bed::start(std::slice::from_ref(&case.spec)).map_err(shown)?;
    let host = bed.host(1).map_err(shown)?;
    let entry = bed.entry(1).map_err(shown)?;
    let scratch = Scratch::with_roster(&[entry]).map_err(shown)?;
    write_project(case, &scratch)?;
    if case.spec.kind == rocksalt_testkit::HostKind::Systemd {
        // Otherwise a unit that starts late would look as if the dry run had started it.
        host.run("systemctl is-system-running --wait || true").map_err(shown)?;
    }
    if let Some(lines) = &case.before {
        host.run(&format!("set -e\n{lines}")).map_err(|error| format!("before: {error}"))?;
    }
    let call = |test: bool| -> Result<Result<Vec<Json>, String>, String> {
        let arguments: &[&str] = if test { &["apply", "h1", "case", "--test"] } else { &["apply", "h1", "case"] };
        let arguments = arguments.iter().chain(&["--out", "json", "--static"]).copied();
        let run = scratch.rocksalt_in(&bed, arguments).map_err(shown)?.limit(LIMIT);
        let outcome = run.finish().map_err(shown)?;
        Ok(steps(&outcome.stdout).ok_or_else(|| outcome.all()))
    };
    // The first call uploads the agent, which must not be part of the snapshot's differences.
    let run = scratch.rocksalt_in(&bed, ["h1", "test.ping"]).map_err(shown)?.limit(LIMIT).finish().map_err(shown)?;
    if run.code() != Some(0) {
        return Err(format!("ping: {}", run.all()));
    }

    let mut wrong = Vec::new();
    let mut note = |phase: &str, expected: Option<&Expected>, answer: &Result<Vec<Json>, String>| {
        let difference = match expected {
            Some(expected) => compare(expected, answer),
            None => answer.as_ref().err().map(|said| format!("it was refused:\n{said}")),
        };
        wrong.extend(difference.map(|difference| format!("{phase}: {difference}")));
    };
    let before = Snapshot::of(host).map_err(shown)?;
    let tried = call(true)?;
    let written = Snapshot::of(host).map_err(shown)?.since(&before, &case.writes);
    // If one run of a case is refused, all are.
    note("test", case.test.as_ref().or(refused(case.apply.as_ref())), &tried);
    let applied = call(false)?;
    note("apply", case.apply.as_ref().or(refused(case.test.as_ref())), &applied);
    let again = call(false)?;
    note("again", case.again.as_ref().or(refused(case.apply.as_ref())), &again);
    wrong.extend(written.map(|lines| format!("the dry run changed something:\n{lines}")));
    if let (Ok(tried), Ok(applied), false) = (&tried, &applied, case.unpredictable) {
        wrong.extend(foretold(case.apply.as_ref(), tried, applied));
    }
    if let (Ok(again), false) = (&again, case.restless) {
        wrong.extend(changed_again(again));
    }
    if let Some(lines) = &case.after
        && let Err(error) = host.run(&format!("set -ex\n{lines}"))
    {
        wrong.push(format!("after: {error}"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
}

/// Writes the case's configuration, states and pillar.
fn write_project(case: &Case, scratch: &Scratch) -> Result<(), String> {
    let write = |path: &str, text: &str| scratch.write(&format!("config/{path}"), text).map(drop).map_err(shown);
    write("rocksalt.yml", CONFIG)?;
    for (path, text) in &case.tree {
        write(&format!("states/{path}"), text)?;
    }
    if let Some(pillar) = &case.pillar {
        write("pillar/top.sls", "base: {'*': [case]}\n")?;
        write("pillar/case.sls", pillar)?;
    }
    Ok(())
}

fn refused(expected: Option<&Expected>) -> Option<&Expected> {
    expected.filter(|one| matches!(one, Expected::Errors(_)))
}

/// Checks that the dry run predicted the changes of every step that did not fail.
fn foretold(expected: Option<&Expected>, tried: &[Json], applied: &[Json]) -> Vec<String> {
    let wanted = |number: usize| match expected {
        Some(Expected::Steps(steps)) => steps.get(number).and_then(|step| step.get("changes")),
        _ => None,
    };
    let mut wrong = Vec::new();
    for (number, (tried, applied)) in tried.iter().zip(applied).enumerate() {
        // Changes may differ where the expected run has `<any>`.
        let same = tried["changes"] == applied["changes"]
            || wanted(number).is_some_and(|wanted| is(wanted, &tried["changes"]) && is(wanted, &applied["changes"]));
        if applied["result"] != Json::Bool(false) && !same {
            let (id, foretold, came) = (&applied["id"], &tried["changes"], &applied["changes"]);
            wrong.push(format!(
                "step {} ({id}): the dry run predicted other changes\n    predicted: {foretold}\n    made:      {came}",
                number + 1
            ));
        }
    }
    wrong
}

/// Checks that the second run changed nothing.
fn changed_again(again: &[Json]) -> Option<String> {
    let changed = |step: &&Json| step["changes"].as_object().is_none_or(|changes| !changes.is_empty());
    let changed: Vec<String> = again.iter().filter(changed).map(|step| format!("    {step}\n")).collect();
    (!changed.is_empty()).then(|| format!("the second run has changes:\n{}", changed.concat()))
}

/// The steps of an answer in order; `None` if the output isn't an answer.
fn steps(stdout: &str) -> Option<Vec<Json>> {
    let answer: Json = serde_json::from_str(stdout).ok()?;
    let states = answer.get("h1")?.as_object()?;
    let mut steps = Vec::new();
    for (tag, state) in states {
        let mut words = tag.split("_|-");
        let (noun, id, name) = (words.next()?, words.next()?, words.next()?);
        let verb = words.next()?;
        let mut step = state.as_object()?.clone();
        step.insert("id".into(), id.into());
        step.insert("name".into(), name.into());
        step.insert("state".into(), format!("{noun}.{verb}").into());
        let number = step.get("__run_num__")?.as_u64()?;
        step.retain(|key, _| super::compare::KEYS.contains(&key.as_str()));
        steps.push((number, Json::Object(step)));
    }
    steps.sort_by_key(|(number, _)| *number);
    Some(steps.into_iter().map(|(_, step)| step).collect())
}

fn shown(error: impl Display) -> String {
    error.to_string()
}
