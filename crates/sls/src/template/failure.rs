//! The error that a template gets from a failed function: Salt words its own errors and Python's differently.

use rocksalt_jinja::Error;

/// The exception of a function that could not do what was asked.
pub(super) const FAILED: &str = "CommandExecutionError";

/// Functions that raise Python's exceptions in Salt, not Salt's own.
const OF_PYTHON: [&str; 16] = [
    "defaults.merge",
    "defaults.update",
    "file.read",
    "grains.filter_by",
    "match.filter_by",
    "pillar.filter_by",
    "pillar.keys",
    "random.get_str",
    "slsutil.deserialize",
    "slsutil.merge",
    "slsutil.merge_all",
    "slsutil.serialize",
    "slsutil.update",
    "test.exception",
    "test.raise_exception",
    "test.rand_str",
];

pub(super) fn of(function: &str, reason: String) -> Error {
    if let Some(text) = of_arguments(function, &reason) {
        return Error::exception("TypeError", text);
    }
    // A template inside of the template says itself what is wrong with it.
    let rendered = function == "slsutil.renderer" && reason.starts_with("Jinja ");
    let missing = function == "slsutil.serialize" && reason.ends_with("not found.");
    let own = !rendered && (missing || !OF_PYTHON.contains(&function));
    Error::exception(if own { FAILED } else { "Exception" }, reason)
}

/// `test.echo: argument 'text' is missing` as Python words it.
fn of_arguments(function: &str, reason: &str) -> Option<String> {
    let said = reason.strip_prefix(function)?.strip_prefix(": ")?;
    let bare = function.rsplit('.').next().unwrap_or(function);
    let missing = said.strip_prefix("argument '").and_then(|rest| rest.strip_suffix("' is missing"));
    if let Some(name) = missing {
        return Some(format!("{bare}() missing 1 required positional argument: '{name}'"));
    }
    let (most, given) = said.strip_prefix("takes at most ")?.split_once(" arguments by position, got ")?;
    let plural = if most == "1" { "" } else { "s" };
    Some(format!("{bare}() takes {most} positional argument{plural} but {given} were given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_are_said_as_python_does() {
        let text = |function: &str, reason: &str| of(function, reason.to_owned()).message.clone();
        assert_eq!(
            text("test.echo", "test.echo: argument 'text' is missing"),
            "echo() missing 1 required positional argument: 'text'"
        );
        assert_eq!(
            text("test.echo", "test.echo: takes at most 1 arguments by position, got 2"),
            "echo() takes 1 positional argument but 2 were given"
        );
        assert_eq!(of("cmd.run", "no such program".to_owned()).exception, FAILED);
        assert_ne!(of("test.exception", "boom".to_owned()).exception, FAILED);
    }
}
