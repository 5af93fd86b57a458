//! Merges steps for several packages into one transaction, and splits the result.

use rocksalt_core::{Map, Value};

use super::super::requests::{self, PackageRequest};
use super::installed::{already, installed_text, names};
use super::{StepJoin, Verdict};

/// The output of the merged step that contains its changed packages.
pub const TARGETS: &str = "targets";

pub static INSTALLED: StepJoin = StepJoin { key, join, part: |own, whole, test| part(&INSTALL, own, whole, test) };
pub static LATEST: StepJoin = StepJoin { key, join, part: |own, whole, test| part(&UPGRADE, own, whole, test) };
pub static PURGED: StepJoin = StepJoin { key, join, part: |own, whole, test| part(&PURGE, own, whole, test) };
pub static REMOVED: StepJoin = StepJoin { key, join, part: |own, whole, test| part(&REMOVE, own, whole, test) };

/// The texts of a state about its own packages.
struct ResultWording {
    /// The comment if nothing was to be done.
    settled: fn(&[PackageRequest]) -> String,
    would: fn(&[PackageRequest], &[PackageRequest]) -> String,
    done: fn(&[PackageRequest], &[PackageRequest]) -> String,
}

const INSTALL: ResultWording = ResultWording {
    settled: |requests| already(requests.iter().any(|request| request.version.is_some())),
    would: |targets, _| format!("The following packages would be installed/updated: {}", names(targets)),
    done: |targets, stayed| {
        let shown =
            |requests: &[PackageRequest]| requests.iter().map(PackageRequest::shown).collect::<Vec<_>>().join(", ");
        let mut comment = vec![installed_text(targets.len(), &shown(targets))];
        if !stayed.is_empty() {
            comment.push(super::installed::stayed_text(stayed.len(), &shown(stayed)));
        }
        comment.join("\n")
    },
};

const UPGRADE: ResultWording = ResultWording {
    settled: super::latest::up_to_date,
    would: |targets, _| format!("The following packages would be installed/upgraded: {}", sorted(targets)),
    done: |targets, stayed| {
        let mut text = format!("The following packages were successfully installed/upgraded: {}", sorted(targets));
        if !stayed.is_empty() {
            text += &format!(" The following packages were already up-to-date: {}", sorted(stayed));
        }
        text
    },
};

const PURGE: ResultWording = ResultWording {
    settled: |_| super::uninstall::none_there(true),
    would: |targets, _| super::uninstall::will_be("purge", &sorted(targets)),
    done: |targets, stayed| super::uninstall::were("purge", &sorted(targets), &sorted(stayed)),
};

const REMOVE: ResultWording = ResultWording {
    settled: |_| super::uninstall::none_there(false),
    would: |targets, _| super::uninstall::will_be("remove", &sorted(targets)),
    done: |targets, stayed| super::uninstall::were("remove", &sorted(targets), &sorted(stayed)),
};

fn sorted(requests: &[PackageRequest]) -> String {
    let mut names: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
    names.sort_unstable();
    names.join(", ")
}

/// Equal for steps that can be merged: all arguments but the packages must match. An argument about single packages
/// prevents merging.
fn key(arguments: &Map) -> Option<String> {
    let alone = ["sources", "hold", "reinstall", "pkg_verify", "debconf"];
    if alone.iter().any(|name| arguments.get(name).is_some_and(|value| !value.is_null())) {
        return None;
    }
    requests::of_arguments(arguments)?;
    let own = ["name", "version", "pkgs"];
    let mut rest: Vec<String> = arguments
        .iter()
        .filter(|(key, _)| !own.contains(&key.as_str().unwrap_or_default()))
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    rest.sort();
    Some(rest.join("\n"))
}

fn join(all: &[&Map]) -> Option<Map> {
    let mut joined = (*all.first()?).clone();
    let mut requests: Vec<PackageRequest> = Vec::new();
    for request in
        all.iter().map(|arguments| requests::of_arguments(arguments)).collect::<Option<Vec<_>>>()?.into_iter().flatten()
    {
        match requests.iter().find(|known| known.name == request.name) {
            Some(known) if *known == request => {}
            // Two requests for one package must run one after another.
            Some(_) => return None,
            None => requests.push(request),
        }
    }
    joined.remove("version");
    joined.insert("pkgs", requests::to_value(&requests));
    Some(joined)
}

fn part(words: &ResultWording, own: &Map, whole: &Verdict, test: bool) -> Verdict {
    let requests = requests::of_arguments(own).unwrap_or_default();
    let empty = Vec::new();
    let all = whole.outputs.get(TARGETS).and_then(Value::as_list).unwrap_or(&empty);
    let is_target = |name: &str| all.iter().any(|target| target.as_str() == Some(name));
    let (targets, stayed): (Vec<PackageRequest>, Vec<PackageRequest>) =
        requests.into_iter().partition(|request| is_target(&request.name));
    if targets.is_empty() {
        let all: Vec<PackageRequest> = stayed;
        return Verdict::good((words.settled)(&all));
    }
    // Dependencies belong to the step with the first package, as if it had run first.
    let leads =
        all.first().and_then(Value::as_str).is_some_and(|first| targets.iter().any(|request| request.name == first));
    let is_own = |name: &str| targets.iter().any(|request| request.name == name || plain(&request.name) == name);
    let others = |name: &str| all.iter().filter_map(Value::as_str).any(|other| other == name || plain(other) == name);
    let own = |changes: &Map| -> Map {
        let own = changes.iter().filter(|(name, _)| {
            let name = name.as_str().unwrap_or_default();
            is_own(name) || (leads && !others(name))
        });
        own.map(|(name, change)| (name.clone(), change.clone())).collect()
    };
    let inner = |key: &str| whole.changes.get(key).and_then(Value::as_map);
    let changes = match (inner("installed"), inner("removed")) {
        // A purge has two lists of changes.
        (Some(installed), Some(removed)) if !installed.contains_key("old") => {
            super::super::changes::purge(own(installed), own(removed))
        }
        _ => own(&whole.changes),
    };
    let comment = if test { (words.would)(&targets, &stayed) } else { (words.done)(&targets, &stayed) };
    let targets: Vec<Value> = targets.iter().map(|request| request.name.as_str().into()).collect();
    Verdict {
        result: (!test).then_some(true),
        comment,
        changes,
        warnings: if leads { whole.warnings.clone() } else { Vec::new() },
        ..Verdict::default()
    }
    .output(TARGETS, targets)
}

/// The name without an architecture.
fn plain(name: &str) -> &str {
    name.split_once(':').map_or(name, |(plain, _)| plain)
}

/// A number of seconds in any form.
pub fn seconds(value: &Value) -> f64 {
    match value {
        Value::Int(seconds) => *seconds as f64,
        Value::Float(seconds) => *seconds,
        Value::String(text) => text.trim().parse().unwrap_or_default(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    fn map(text: &str) -> Map {
        yaml::parse(text).expect("it is YAML").as_map().expect("a map").clone()
    }

    #[test]
    fn only_steps_that_are_alike_are_joined() {
        let key = |text: &str| key(&map(text));
        assert_eq!(key("{name: a}"), key("{name: b, version: 1.0}"));
        assert_eq!(key("{name: a}"), key("{name: x, pkgs: [b, {c: 2}]}"));
        assert_ne!(key("{name: a}"), key("{name: b, fromrepo: testing}"));
        for alone in [
            "{name: a, hold: true}",
            "{name: a, sources: [{a: /x}]}",
            "{name: a, reinstall: true}",
            "{name: a, pkgs: []}",
        ] {
            assert_eq!(key(alone), None, "{alone}");
        }
    }

    #[test]
    fn one_step_does_the_work_of_all() {
        let all = [map("{name: a, version: 1.0}"), map("{name: x, pkgs: [b, {c: '>2'}]}"), map("{name: b}")];
        let joined = join(&all.iter().collect::<Vec<_>>()).expect("they fit together");
        assert_eq!(joined, map("{name: a, pkgs: [{a: '1.0'}, b, {c: '>2'}]}"));
        let odd = [map("{name: a, version: 1.0}"), map("{name: a}")];
        assert_eq!(join(&odd.iter().collect::<Vec<_>>()), None, "one after another counts");
    }

    #[test]
    fn each_gets_what_is_its_own() {
        let change = |new: &str| super::super::super::changes::change("", new);
        let whole = Verdict::good("3 targeted packages were installed/updated.")
            .change("a", change("1.0"))
            .change("b", change("2.0"))
            .change("lib", change("0.1"))
            .output(TARGETS, vec![Value::from("a"), Value::from("b")]);
        let part = |text: &str, test: bool| (INSTALLED.part)(&map(text), &whole, test);
        let first = part("{name: a, version: 1.0}", false);
        assert_eq!(first.comment, "The following packages were installed/updated: a=1.0");
        assert_eq!(first.changes.keys().map(ToString::to_string).collect::<Vec<_>>(), ["a", "lib"], "what came along");
        let second = part("{name: x, pkgs: [b, c]}", false);
        assert_eq!(
            second.comment,
            "The following packages were installed/updated: b\nThe following packages were already installed: c"
        );
        assert_eq!(second.changes.keys().map(ToString::to_string).collect::<Vec<_>>(), ["b"]);
        let third = part("{name: c}", false);
        assert_eq!(
            (third.result, third.comment.as_str()),
            (Some(true), "All specified packages are already installed")
        );
        assert!(third.changes.is_empty());
        let dry = part("{name: b}", true);
        assert_eq!((dry.result, dry.comment.as_str()), (None, "The following packages would be installed/updated: b"));
    }
}
