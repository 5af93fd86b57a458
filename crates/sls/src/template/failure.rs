//! The error that a template gets from a failed function. Salt words its own errors and Python's differently.

use rocksalt_core::Problem;
use rocksalt_core::call::ArgumentMisfit;
use rocksalt_jinja::Error;

/// The exception of a function that failed.
pub(super) const FAILED: &str = "CommandExecutionError";

/// The functions that raise Python's exceptions in Salt.
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

pub(super) fn of(function: &str, problem: Problem) -> Error {
    if let Some(misfit) = problem.misfit {
        return Error::exception("TypeError", of_arguments(function, &misfit));
    }
    let reason = problem.text;
    // A nested template's error already names the cause.
    let rendered = function == "slsutil.renderer" && reason.starts_with("Jinja ");
    let missing = function == "slsutil.serialize" && reason.ends_with("not found.");
    let own = !rendered && (missing || !OF_PYTHON.contains(&function));
    Error::exception(if own { FAILED } else { "Exception" }, reason)
}

/// Words an argument error as Python does.
fn of_arguments(function: &str, misfit: &ArgumentMisfit) -> String {
    let bare = function.rsplit('.').next().unwrap_or(function);
    match misfit {
        ArgumentMisfit::Missing(name) => format!("{bare}() missing 1 required positional argument: '{name}'"),
        ArgumentMisfit::TooMany { most, given } => {
            let plural = if *most == 1 { "" } else { "s" };
            format!("{bare}() takes {most} positional argument{plural} but {given} were given")
        }
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::call::ProblemKind;

    use super::*;

    #[test]
    fn wrong_arguments_are_said_as_python_does() {
        let failed = |text: &str| Problem::new(ProblemKind::Failed, text);
        let text = |misfit: ArgumentMisfit| of("test.echo", failed("misfit").misfit(Some(misfit))).message.clone();
        assert_eq!(
            text(ArgumentMisfit::Missing("text".into())),
            "echo() missing 1 required positional argument: 'text'"
        );
        assert_eq!(
            text(ArgumentMisfit::TooMany { most: 1, given: 2 }),
            "echo() takes 1 positional argument but 2 were given"
        );
        assert_eq!(of("cmd.run", failed("no such program")).exception, FAILED);
        assert_ne!(of("test.exception", failed("boom")).exception, FAILED);
    }
}
