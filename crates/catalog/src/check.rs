//! [`check`]: whether a call's arguments fit, before anything is sent.

use rocksalt_core::arguments::{NAMED, bind, usage};
use rocksalt_core::call::ProblemKind;
use rocksalt_core::{Call, Problem};

use crate::{Description, get};

/// The function exists, and the arguments are all there and of the right kind. The texts are those of the target.
pub fn check(call: &Call) -> Result<(), Problem> {
    get(&call.function)?.check(call.clone())
}

impl Description {
    /// The names of the arguments in their order.
    pub fn names(&self) -> Vec<&'static str> {
        self.arguments.iter().map(|argument| argument.name).collect()
    }

    /// Whether a call's arguments are all there and of the right kind.
    pub fn check(&self, call: Call) -> Result<(), Problem> {
        let mut given = bind(&self.names(), self.rest, call)?;
        for argument in self.arguments.iter().filter(|argument| argument.name != NAMED) {
            let fault = match given.remove(argument.name) {
                Some(value) => match argument.shape.check(value) {
                    Ok(()) => continue,
                    Err(error) => format!("argument '{}': {error}", argument.name),
                },
                None if argument.default.is_none() => format!("argument '{}' is missing", argument.name),
                None => continue,
            };
            let text = format!("{}: {fault}", self.name);
            return Err(Problem::new(ProblemKind::Arguments, text).hint(usage(self.name)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::Value;

    use super::*;

    fn fault(call: Call) -> String {
        check(&call).expect_err("it does not fit").text
    }

    #[test]
    fn the_texts_are_those_of_the_target() {
        assert!(check(&Call::new("test.ping")).is_ok());
        assert!(check(&Call::new("cmd.run").arg("id").kwarg("timeout", "5")).is_ok());
        assert_eq!(fault(Call::new("nonsense")), "'nonsense' is not available.");
        assert_eq!(fault(Call::new("file.read")), "file.read: argument 'path' is missing");
        assert_eq!(fault(Call::new("test.ping").arg(1)), "test.ping: takes at most 0 arguments by position, got 1");
        assert_eq!(
            fault(Call::new("file.read").arg("/etc/motd").kwarg("path", "/etc/issue")),
            "file.read: argument 'path' was given twice, by position and by name"
        );
        assert_eq!(
            fault(Call::new("test.fib").arg("many")),
            "test.fib: argument 'num': expected a whole number, not negative, found string \"many\""
        );
        assert_eq!(
            fault(Call::new("file.read").arg(Value::List(Vec::new()))),
            "file.read: argument 'path': expected a string, found sequence"
        );
    }
}
