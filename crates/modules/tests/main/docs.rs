//! Everything is documented, and the examples are valid calls.

use rocksalt_catalog::{FUNCTIONS, docs};
use rocksalt_core::arguments::NAMED;
use rocksalt_modules::text;

#[test]
fn every_function_and_argument_is_documented() {
    let mut wrong = Vec::new();
    for function in FUNCTIONS {
        if !function.doc.starts_with(|letter: char| letter.is_uppercase()) {
            wrong.push(format!("{} has no documentation", function.name));
        }
        if docs::examples(function).is_empty() {
            wrong.push(format!("{} has no example", function.name));
        }
        for argument in function.arguments.iter().filter(|argument| argument.doc.is_empty()) {
            wrong.push(format!("{}: the argument {} has no documentation", function.name, argument.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_are_calls_that_fit() {
    let mut wrong = Vec::new();
    for entry in FUNCTIONS {
        let fields = entry.names();
        let rest = fields.iter().position(|name| *name == entry.rest);
        let plain = fields.iter().take(rest.unwrap_or(fields.len())).filter(|name| **name != NAMED).count();
        for example in docs::examples(entry) {
            let words = match text::words::split(&example) {
                Ok(words) => words,
                Err(reason) => {
                    wrong.push(format!("{example}: {reason}"));
                    continue;
                }
            };
            if words.get(1).is_none_or(|name| name != entry.name && !entry.aliases.contains(&name.as_str())) {
                wrong.push(format!("{example}: calls something other than {}", entry.name));
            }
            let mut given = 0;
            for word in words.iter().skip(2) {
                match word
                    .split_once('=')
                    .filter(|(name, _)| name.chars().all(|l| l.is_ascii_alphanumeric() || l == '_'))
                {
                    Some((name, _)) if fields.contains(&name) || fields.contains(&NAMED) => {}
                    Some((name, _)) => wrong.push(format!("{example}: there is no argument {name}")),
                    None => given += 1,
                }
            }
            if rest.is_none() && given > plain {
                wrong.push(format!("{example}: too many arguments"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn argspecs_have_salts_form() {
    let spec = |name: &str| rocksalt_core::json::compact(&docs::argspec(name));
    assert_eq!(
        spec("environ.get"),
        r#"{"environ.get":{"args":["key","default"],"defaults":[""],"varargs":null,"kwargs":null}}"#
    );
    assert_eq!(spec("test.arg"), r#"{"test.arg":{"args":null,"defaults":null,"varargs":true,"kwargs":true}}"#);
    let run = spec("cmd.run");
    assert!(
        run.starts_with(r#"{"cmd.run":{"args":["cmd","cwd","stdin","runas","group","shell","python_shell","env""#),
        "{run}"
    );
    let script = spec("cmd.script");
    assert!(script.starts_with(r#"{"cmd.script":{"args":["source","args","cwd""#), "{script}");
    assert!(docs::doc("cmd.run").get("cmd.run").is_some_and(|text| text.to_string().contains("timeout")));
    assert!(docs::reference().contains("### file.find\n"));
}

/// `UPDATE=1 cargo test -p rocksalt-modules reference` rewrites it from the data of `rocksalt-catalog`.
#[test]
fn the_reference_is_up_to_date() {
    up_to_date("functions.md", &docs::reference());
    up_to_date("states.md", &docs::state_reference());
}

fn up_to_date(page: &str, wanted: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be made");
        std::fs::write(&path, wanted).expect("the reference can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = wanted.lines().zip(found.lines().chain(std::iter::repeat(""))).find(|(wanted, found)| wanted != found);
    assert!(
        found == wanted,
        "docs/reference/{page} is stale, first at {stale:?}; UPDATE=1 in the environment of this test writes it"
    );
}
