//! Adapts a call from a template, which differs from a user's call.

use rocksalt_core::{Call, Value};

/// Sets the defaults of a call in a template: as in Salt, command lines don't use a shell unless the call requests it.
#[must_use]
pub fn from_template(mut call: Call) -> Call {
    const NO_SHELL: [&str; 6] =
        ["cmd.retcode", "cmd.run", "cmd.run_all", "cmd.run_bg", "cmd.run_stderr", "cmd.run_stdout"];
    // `python_shell` is the seventh argument.
    let said = call.args.len() > 6 || call.kwargs.get("python_shell").is_some_and(|value| !value.is_null());
    if NO_SHELL.contains(&call.function.as_str()) && !said {
        call.kwargs.insert("python_shell", Value::Bool(false));
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn a_shell_must_be_asked_for() {
        let shell = |call: Call| from_template(call).kwargs.get("python_shell").cloned();
        assert_eq!(shell(Call::new("cmd.run").arg("x")), Some(false.into()));
        assert_eq!(shell(Call::new("cmd.run").arg("x").kwarg("python_shell", true)), Some(true.into()));
        assert_eq!(shell(Call::new("cmd.run_all").arg("x")), Some(false.into()));
        assert_eq!(shell(Call::new("cmd.shell").arg("x")), None);
        assert_eq!(shell(Call::new("cmd.which").arg("x")), None);
        let seven = (0..7).fold(Call::new("cmd.run"), |call, _| call.arg(true));
        assert_eq!(shell(seven), None);
        let arguments = catalog::find("cmd.run").map(|entry| entry.arguments).unwrap_or_default();
        assert_eq!(arguments[6], "python_shell");
    }
}
