//! Salt's names: translates the command line of `salt`, `salt-ssh` and `salt-call` if they are links to this program.

use std::ffi::OsString;
use std::path::Path;

/// The words in the form that `rocksalt` accepts.
pub fn translate(mut words: Vec<OsString>) -> Vec<OsString> {
    let name =
        words.first().and_then(|word| Path::new(word).file_name()).map(|name| name.to_string_lossy().into_owned());
    let command = match name.as_deref() {
        Some("salt" | "salt-ssh") => "run",
        Some("salt-call") => "call",
        Some("salt-cp") => "cp",
        _ => return words,
    };
    words[0] = "rocksalt".into();
    let asks_itself = matches!(words.get(1).and_then(|word| word.to_str()), Some("--version" | "-V"));
    if !asks_itself {
        words.insert(1, command.into());
    }
    // Options for behaviour that is the default here.
    let anyway = ["--local", "--key-deploy", "--retcode-passthrough", "--summary", "-W"];
    words.retain(|word| !word.to_str().is_some_and(|word| anyway.contains(&word)));
    if command == "cp" {
        copy_words(&mut words);
    }
    words
}

/// Inserts `run` before a target: `rocksalt '*' test.ping`.
///
/// `commands` are the names of commands; `takes_value` says which options take a value.
pub fn short_form(
    mut words: Vec<OsString>,
    commands: &[String],
    takes_value: impl Fn(&str) -> Option<bool>,
) -> Vec<OsString> {
    let mut index = 1;
    while let Some(word) = words.get(index) {
        let text = word.to_string_lossy().into_owned();
        if !text.starts_with('-') || text == "-" {
            if !commands.contains(&text) {
                words.insert(1, "run".into());
            }
            return words;
        }
        if matches!(text.as_str(), "-h" | "--help" | "-V" | "--version") {
            return words;
        }
        let option = text.split('=').next().unwrap_or_default();
        match takes_value(option) {
            // An option of all commands: the command may still follow.
            Some(value) => index += if value && !text.contains('=') { 2 } else { 1 },
            // An option of `run` only, such as -G.
            None => {
                words.insert(1, "run".into());
                return words;
            }
        }
    }
    words
}

/// The only word after an inserted `run`: most likely a misspelt command.
pub fn lone_word(words: &[OsString]) -> Option<String> {
    match words {
        [_, run, word] if run == "run" && !word.to_string_lossy().starts_with('-') => {
            Some(word.to_string_lossy().into_owned())
        }
        _ => None,
    }
}

/// `salt-cp TARGET FILE… DESTINATION` as `cp FILE… TARGET:DESTINATION`.
fn copy_words(words: &mut Vec<OsString>) {
    let places: Vec<usize> =
        (2..words.len()).filter(|place| !words[*place].to_string_lossy().starts_with('-')).collect();
    if let ([first, _, ..], Some(last)) = (places.as_slice(), places.last()) {
        let mut place = words[*first].clone();
        place.push(":");
        place.push(&words[*last]);
        words[*last] = place;
        words.remove(*first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let commands = ["run", "call", "links"].map(String::from);
        let known = |option: &str| match option {
            "--config-dir" => Some(true),
            "--json" => Some(false),
            _ => None,
        };
        let words = short_form(words, &commands, known);
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_target_needs_no_command() {
        assert_eq!(short("rocksalt * test.ping"), "rocksalt run * test.ping");
        assert_eq!(short("rocksalt -G os:Debian test.ping"), "rocksalt run -G os:Debian test.ping");
        assert_eq!(
            short("rocksalt --config-dir x --json web1 test.ping"),
            "rocksalt run --config-dir x --json web1 test.ping"
        );
        assert_eq!(short("rocksalt --config-dir x links close"), "rocksalt --config-dir x links close");
        assert_eq!(short("rocksalt --config-dir=x call test.ping"), "rocksalt --config-dir=x call test.ping");
        assert_eq!(short("rocksalt --help"), "rocksalt --help");
    }

    #[test]
    fn salts_names_are_commands() {
        let words = ["/usr/bin/salt-call", "--local", "-l", "quiet", "test.ping"].map(OsString::from).to_vec();
        assert_eq!(translate(words), ["rocksalt", "call", "-l", "quiet", "test.ping"].map(OsString::from));
        let words = ["salt-cp", "web*", "a", "b", "/etc"].map(OsString::from).to_vec();
        assert_eq!(translate(words), ["rocksalt", "cp", "a", "b", "web*:/etc"].map(OsString::from));
    }
}
