//! Parsers for git's output.

use rocksalt_core::{Map, Value};

/// Parses `ls-remote`: names of refs and their commits, in git's order.
pub fn refs(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (commit, name) = line.split_once(char::is_whitespace)?;
        Some((name.trim_start().to_owned(), commit.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

/// Parses `remote --verbose`: a remote's name, the operation (`fetch`, `push`), and its URL.
pub fn remotes(text: &str) -> Vec<(String, String, String)> {
    let one = |line: &str| {
        let (name, rest) = line.split_once(char::is_whitespace)?;
        // A partial clone prints its filter at the end.
        let rest = rest.trim().strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")).map_or(rest, |(rest, _)| rest);
        let (url, action) = rest.trim().rsplit_once(char::is_whitespace)?;
        let action = action.trim_matches(['(', ')']).to_lowercase();
        matches!(action.as_str(), "fetch" | "push").then(|| (name.to_owned(), action, url.trim().to_owned()))
    };
    text.lines().filter_map(one).collect()
}

/// Parses `status -z --porcelain`: files by their change.
pub fn status(text: &str) -> Map {
    let mut found = Map::new();
    let mut entries = text.split('\0');
    while let Some(entry) = entries.next() {
        let Some((state, name)) = entry.trim_start().split_once(' ') else { continue };
        if state.starts_with(['R', 'C']) {
            // The old name is a separate entry.
            entries.next();
        }
        let state = match state {
            "M" => "modified",
            "A" => "new",
            "D" => "deleted",
            "??" => "untracked",
            other => other,
        };
        push(&mut found, state, name.trim_start());
    }
    found
}

/// Parses the output of a fetch.
pub fn fetched(text: &str) -> Map {
    let mut found = Map::new();
    let mut updated = Map::new();
    for line in text.lines() {
        let Some((before, _)) = line.split_once("->") else { continue };
        let before = before.trim_start_matches([' ', '*', '\t', 't']);
        if let Some(name) = before.strip_prefix("[new tag]") {
            push(&mut found, "new tags", name.trim());
        } else if let Some(name) = before.strip_prefix("[new branch]") {
            push(&mut found, "new branches", name.trim());
        } else if let Some(name) = before.strip_prefix("[tag update]") {
            push(&mut found, "updated tags", name.trim());
        } else if let Some((range, name)) = before.split_once(char::is_whitespace)
            && let Some((old, new)) = range.split_once("..")
            && [old, new].iter().all(|commit| !commit.is_empty() && commit.bytes().all(|b| b.is_ascii_hexdigit()))
        {
            let change = crate::catalog::change(old, new);
            updated.insert(name.trim(), change);
        }
    }
    if !updated.is_empty() {
        found.insert("updated branches", updated);
    }
    found
}

/// Parses `config --null --get-regexp`: keys and their values.
pub fn settings(text: &str) -> Map {
    let mut found = Map::new();
    for entry in text.split('\0').filter(|entry| !entry.is_empty()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        push(&mut found, key, value);
    }
    found
}

fn push(map: &mut Map, key: &str, value: &str) {
    let mut values = map.get(key).and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default();
    values.push(value.into());
    map.insert(key, values);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_read_as_in_salt() {
        let fetch = "From file:///srv/a\n   1a2b3c..4d5e6f  main       -> origin/main\n * [new branch]      dev -> \
                     origin/dev\n * [new tag]         v1         -> v1\n t [tag update]      v0 -> v0\n + \
                     aaaaaa...bbbbbb x -> origin/x  (forced update)\n = [up to date] y -> y\n";
        assert_eq!(
            Value::Map(fetched(fetch)).to_string(),
            "{'new branches': ['dev'], 'new tags': ['v1'], 'updated tags': ['v0'], 'updated branches': {'main': \
             {'old': '1a2b3c', 'new': '4d5e6f'}}}"
        );
        assert_eq!(
            Value::Map(status(" M a b\0?? new\0R  to\0from\0D  gone\0")).to_string(),
            "{'modified': ['a b'], 'untracked': ['new'], 'R': ['to'], 'deleted': ['gone']}"
        );
        assert_eq!(
            remotes("origin\t/srv/a b.git (fetch)\norigin\t/srv/a b.git (push)\n"),
            [("origin", "fetch", "/srv/a b.git"), ("origin", "push", "/srv/a b.git")].map(|(a, b, c)| (
                a.to_owned(),
                b.to_owned(),
                c.to_owned()
            ))
        );
        assert_eq!(Value::Map(settings("a.b\n1\0a.b\n2 3\0c.d\0")).to_string(), "{'a.b': ['1', '2 3'], 'c.d': ['']}");
    }
}
