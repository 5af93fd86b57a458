//! Parses the words of a command line as a call's arguments, by Salt's rules, and prints them back.
//!
//! A word is YAML, except where YAML would read a text as something that nobody means on a command line (`a: b`,
//! `1_000`, `#1`). A word that isn't YAML stays text.

use rocksalt_core::{Call, Map, Value, yaml};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("'{0}' can't be given as an argument: the name is kept for what Rocksalt itself tells a function")]
    Reserved(String),
}

/// Parses positional and named arguments. The last value of a repeated name counts.
pub fn parse(words: &[String]) -> Result<(Vec<Value>, Map), Error> {
    parse_except(words, &[])
}

/// As [`parse`], but the arguments in `no_parse` are taken as text (Salt's `--no-parse`).
pub fn parse_except(words: &[String], no_parse: &[String]) -> Result<(Vec<Value>, Map), Error> {
    let mut args = Vec::new();
    let mut kwargs = Map::new();
    for word in words {
        match split(word) {
            Some((name, _)) if name == "__kwarg__" || name.starts_with("__pub_") => {
                return Err(Error::Reserved(name.to_owned()));
            }
            Some((name, value)) if no_parse.iter().any(|text| text == name) => {
                kwargs.insert(name, value);
            }
            Some((name, value)) => {
                kwargs.insert(name, read(value));
            }
            None => args.push(positional(word)),
        }
    }
    Ok((args, kwargs))
}

/// Prints a call as one would type it: the function, then its arguments, quoted for a shell.
pub fn show(call: &Call) -> String {
    words(call).iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The words of a call; [`parse`] reads all but the first back as the call's arguments.
fn words(call: &Call) -> Vec<String> {
    let args = call.args.iter().map(|value| written(value, |word| split(word).is_none() && positional(word) == *value));
    let kwargs = call.kwargs.iter().map(|(name, value)| {
        let reads_back = |word: &str| {
            let whole = format!("{name}={word}");
            split(&whole).is_some_and(|(_, text)| read(text) == *value)
        };
        format!("{name}={}", written(value, reads_back))
    });
    std::iter::once(call.function.clone()).chain(args).chain(kwargs).collect()
}

/// Splits `name=value`: the name begins with a letter, the value not with `=`, and the whole is one line.
fn split(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    // A newline at the end is allowed, but not part of the value.
    let value = value.strip_suffix('\n').unwrap_or(value);
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    let goes_on = letters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    (starts && goes_on && !value.starts_with('=') && !value.contains('\n')).then_some((name, value))
}

/// As [`read`], but a job's id, which looks like a number, stays text.
fn positional(word: &str) -> Value {
    match read(word) {
        Value::BigInt(digits) if digits.len() == 20 => Value::String(digits.into()),
        value => value,
    }
}

/// The value of one word.
fn read(word: &str) -> Value {
    let text = || Value::String(word.to_owned());
    let trimmed = word.trim();
    let is_text = matches!(trimmed, "" | "---" | "..." | "|" | "!" | ">")
        || word.contains(['\t', '\r', '\n'])
        // YAML would read 1_000 as a thousand.
        || (word.contains('_') && trimmed.chars().all(|c| c.is_ascii_digit() || c == '_'))
        // An anchor has no use in a single word, and its name would be lost.
        || trimmed.starts_with('&');
    if is_text {
        return text();
    }
    if word == "None" {
        return Value::Null;
    }
    let Ok(value) = yaml::parse(word) else { return text() };
    let has_comment = word.contains('#');
    match value {
        // YAML would drop the text after the #.
        Value::String(_) | Value::Null if has_comment => text(),
        Value::Bytes(_) => text(),
        Value::Map(_) if !has_comment && !word.starts_with('{') => text(),
        Value::List(_) if !has_comment && !word.starts_with('[') => text(),
        value => value,
    }
}

/// The simplest form of a value that `reads_back`.
fn written(value: &Value, reads_back: impl Fn(&str) -> bool) -> String {
    match value {
        Value::String(text) if !text.contains(char::is_control) && reads_back(text) => text.clone(),
        other => flow(other),
    }
}

/// YAML on one line, with each text in double quotes.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => double_quoted(text),
        Value::Bytes(bytes) => double_quoted(&String::from_utf8_lossy(bytes)),
        Value::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let pairs = map.iter().map(|(key, value)| format!("{}: {}", flow(key), flow(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        scalar => yaml::emit(scalar).trim_end().to_owned(),
    }
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // A word with a # is read as plain text, including its quotes.
            '#' => out.push_str("\\x23"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocksalt_core::json;

    fn cases(file: &str) -> Vec<(Vec<String>, Value, Value)> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/arguments").join(file);
        let text = std::fs::read_to_string(&path).expect("the cases are there");
        let cases = json::parse(&text).expect("they are JSON");
        let case = |case: &Value| {
            let field = |name: &str| case.walk(name, "/").expect("a field").clone();
            let words = field("words").as_list().expect("a list").iter().map(Value::to_string).collect();
            (words, field("args"), field("kwargs"))
        };
        cases.as_list().expect("a list").iter().map(case).collect()
    }

    /// `salt.json` is recorded from Salt; `ours.json` has the differences (COMPATIBILITY.md lists them).
    #[test]
    fn words_are_read_as_salt_reads_them() {
        let ours = cases("ours.json");
        let mut failures = Vec::new();
        let mut count = 0;
        for (words, args, kwargs) in cases("salt.json").iter().map(|salt| {
            let (words, args, kwargs) = ours.iter().find(|ours| ours.0 == salt.0).unwrap_or(salt);
            (words.clone(), args.clone(), kwargs.clone())
        }) {
            count += 1;
            let (found_args, found_kwargs) = parse(&words).expect("no reserved names");
            if Value::List(found_args.clone()) != args || Value::Map(found_kwargs.clone()) != kwargs {
                failures.push(format!("{words:?}: {found_args:?} {found_kwargs:?} should be {args:?} {kwargs:?}"));
            }
        }
        assert_eq!(count, 303, "as many as were recorded");
        assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
        let salts = cases("salt.json");
        for difference in ours {
            assert!(salts.iter().any(|salt| salt.0 == difference.0), "{:?} isn't recorded", difference.0);
            assert!(!salts.contains(&difference), "{:?} is no difference any more", difference.0);
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        let mut calls: Vec<Call> = Vec::new();
        for (words, _, _) in cases("salt.json") {
            let (args, kwargs) = parse(&words).expect("no reserved names");
            calls.push(Call { args, kwargs, ..Call::new("test.arg") });
            // The word itself as a text, in all positions.
            for word in words {
                calls.push(Call::new("test.arg").arg(word.as_str()).kwarg("name", word.as_str()));
                calls.push(Call::new("test.arg").arg(Value::List(vec![word.as_str().into()])));
                calls.push(Call::new("test.arg").arg(Map::from_iter([(word.into(), Value::Int(1))])));
            }
        }
        let odd =
            Map::from_iter([(2.into(), Value::Null), (Value::Null, f64::INFINITY.into()), (true.into(), 1e22.into())]);
        calls.push(Call::new("test.arg").arg(odd).arg(f64::NEG_INFINITY).arg("a\x1b\u{9b}\r\u{2028}b\0#'\""));
        for call in calls {
            let words = words(&call);
            let (args, kwargs) = parse(&words[1..]).expect("no reserved names");
            assert_eq!((&args, &kwargs), (&call.args, &call.kwargs), "{words:?}");
            assert!(!show(&call).contains(char::is_control), "{:?}", show(&call));
        }
    }

    #[test]
    fn a_call_is_shown_as_one_types_it() {
        let call = Call::new("cmd.run").arg("echo it's").arg("5").arg(5).arg("a=b").arg("");
        let call = call.kwarg("cwd", "/tmp").kwarg("env", Map::from_iter([("A".into(), "#1".into())])).kwarg("x", "=y");
        let text = r#"cmd.run 'echo it'\''s' '"5"' 5 '"a=b"' '' cwd=/tmp 'env={"A": "\x231"}' 'x="=y"'"#;
        assert_eq!(show(&call), text);
    }

    #[test]
    fn a_shell_gives_the_words_back() {
        let call = Call::new("test.arg").arg("a b").arg("$HOME `id` \"x\" 'y'").arg("*").kwarg("k", "~;|&");
        let script = format!("for word in {}; do printf '%s\\n' \"$word\"; done", show(&call));
        let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("there is a shell");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(), words(&call));
    }

    #[test]
    fn infinity_has_no_json_to_be_recorded_in() {
        assert_eq!(read(".inf"), Value::Float(f64::INFINITY));
        assert_eq!(read("{1: 2}"), Value::Map(Map::from_iter([(1.into(), 2.into())])));
    }

    #[test]
    fn some_names_are_not_for_users() {
        for word in ["__kwarg__=True", "__pub_user=root"] {
            assert!(parse(&[word.to_owned()]).is_err(), "{word}");
        }
        assert!(parse(&["__env__=base".to_owned()]).is_ok());
    }

    #[test]
    fn a_name_can_be_kept_from_being_read() {
        let words = ["a=5".to_owned(), "b=5".to_owned()];
        let (_, kwargs) = parse_except(&words, &["a".to_owned()]).expect("no reserved names");
        assert_eq!(kwargs, Map::from_iter([("a".into(), "5".into()), ("b".into(), 5.into())]));
    }
}
