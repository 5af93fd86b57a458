//! The result of a command, in the forms that the functions return.

use serde::{Serialize, Serializer};

use super::arguments::CommandArguments;
use crate::machine::Output;
use crate::{Error, Result};

#[derive(Default)]
pub struct Finished {
    /// The exit code, after applying `success_retcodes` and similar arguments.
    pub retcode: i32,
    /// The exit code that the call returns: 0 if failures are to be ignored.
    pub counted: i32,
    pub stdout: String,
    pub stderr: String,
    pub pid: u32,
}

impl Finished {
    pub fn new(arguments: &CommandArguments, output: Output) -> Result<Finished> {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            if arguments.rstrip { text.trim_end().to_owned() } else { text.into_owned() }
        };
        let mut finished = Finished {
            pid: output.pid,
            retcode: output.code,
            counted: 0,
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        };
        if output.timed_out {
            let limit = arguments.timeout.unwrap_or_default();
            finished.stdout = format!("{} : Timed out after {limit} seconds", arguments.line());
            finished.stderr = String::new();
            finished.retcode = 1;
        } else if finished.retcode != 0 {
            let said = |texts: &[String], output: &str| texts.iter().any(|text| output.contains(text.as_str()));
            if arguments.success_retcodes.contains(&finished.retcode)
                || said(&arguments.success_stdout, &finished.stdout)
                || said(&arguments.success_stderr, &finished.stderr)
            {
                finished.retcode = 0;
            }
        }
        if finished.retcode != 0 {
            if arguments.raise_err {
                let silent = finished.stdout.is_empty();
                let text = format!("the command ended with exit code {}", finished.retcode);
                return Err(Error::failed(if silent { text } else { finished.stdout }));
            }
            finished.counted = if arguments.ignore_retcode { 0 } else { finished.retcode };
        }
        if arguments.hide_output {
            finished.stdout.clear();
            finished.stderr.clear();
        }
        Ok(finished)
    }

    pub fn all(self) -> All {
        All {
            pid: self.pid,
            retcode: self.retcode,
            stdout: self.stdout,
            stderr: self.stderr,
            cache_error: false,
            counted: self.counted,
        }
    }
}

/// One of the outputs as the result, with the exit code.
pub struct CommandText {
    pub text: String,
    pub counted: i32,
}

impl Serialize for CommandText {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// The exit code as the result.
pub struct Code {
    pub retcode: i32,
    pub counted: i32,
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.retcode)
    }
}

/// All data as the result.
#[derive(Serialize)]
pub struct All {
    pub pid: u32,
    pub retcode: i32,
    pub stdout: String,
    pub stderr: String,
    /// The script could not be fetched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cache_error: bool,
    #[serde(skip)]
    pub counted: i32,
}
