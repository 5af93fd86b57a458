//! Runs the system's tools and waits for their end.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::error::Error;

/// Runs a tool. Returns its output; if it fails, the error has all that it printed.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    feed(command, "")
}

/// Runs a tool with `input` as its stdin.
pub(crate) fn feed(command: &mut Command, input: &str) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = |source| Error::Start { program: program.clone(), source };
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(start)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If a tool doesn't read all its input, its exit status tells why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(start)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let said = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    Err(Error::Tool { command: shown(command), status: output.status.to_string(), output: said })
}

/// Runs a tool given as a list of words.
pub(crate) fn words(words: &[&str]) -> Result<String, Error> {
    run(Command::new(words[0]).args(&words[1..]))
}

fn shown(command: &Command) -> String {
    let mut shown = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        shown.push(' ');
        shown.push_str(&argument.to_string_lossy());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_tool_is_named_with_what_it_said() {
        let error = words(&["sh", "-c", "echo out; echo err >&2; exit 3"]).expect_err("exit 3");
        let text = error.to_string();
        assert!(text.contains("sh -c") && text.contains("out\nerr") && text.contains('3'), "{text}");
    }

    #[test]
    fn a_missing_tool_names_the_way_out() {
        let text = words(&["no-such-tool"]).expect_err("missing").to_string();
        assert!(text.contains("no-such-tool") && text.contains("scripts/packages"), "{text}");
    }
}
