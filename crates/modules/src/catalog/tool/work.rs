//! [`Work`]: what a state does through tools and to files, step by step.

use std::path::Path;

use super::super::{Decision, Verdict};
use super::{command, fault};
use crate::grains::look;
use crate::machine::{Command, System};
use crate::{Error, Result};

/// All steps, and how it ends if all goes well.
pub struct Work {
    steps: Vec<Deed>,
    pub done: Verdict,
    failure: String,
}

/// A single step.
pub enum Deed {
    Run(Command),
    /// A command whose failure doesn't matter, since a later step does the same another way.
    Try(Command),
    /// Replaces a file as a whole, and makes the directories above it.
    Write {
        path: String,
        content: Vec<u8>,
        mode: Option<u32>,
    },
    /// Puts a link in the place of whatever file or link is there, without a moment in between.
    Link {
        target: String,
        link: String,
    },
}

impl Work {
    pub fn new(done: Verdict) -> Work {
        Work { steps: Vec::new(), done, failure: String::new() }
    }

    #[must_use]
    pub fn then(mut self, deed: Deed) -> Work {
        self.steps.push(deed);
        self
    }

    #[must_use]
    pub fn run<S: AsRef<str>>(self, argv: &[S]) -> Work {
        self.then(Deed::Run(command(argv)))
    }

    #[must_use]
    pub fn write(self, path: &str, content: impl Into<Vec<u8>>) -> Work {
        self.then(Deed::Write { path: path.to_owned(), content: content.into(), mode: None })
    }

    /// The first line of the comment if a step fails; what failed and why stands below it.
    #[must_use]
    pub fn or(mut self, failure: impl Into<String>) -> Work {
        self.failure = failure.into();
        self
    }

    /// A dry run says this, with the changes that the run would report.
    pub fn announced(self, comment: impl Into<String>) -> Decision<Work> {
        let would = Verdict { changes: self.done.changes.clone(), ..Verdict::would(comment) };
        Decision::Change(self, would)
    }

    pub fn perform(self, machine: &dyn System) -> Result<Verdict> {
        let count = self.steps.len();
        for (index, deed) in self.steps.into_iter().enumerate() {
            if machine.cancelled() {
                return Err(Error::cancelled());
            }
            let Err(error) = deed.perform(machine) else { continue };
            let mut comment = self.failure;
            if !comment.is_empty() {
                comment.push('\n');
            }
            comment.push_str(&error.to_string());
            if index > 0 {
                comment = format!("{comment}\n{index} of {count} steps were done before it.");
            }
            return Ok(Verdict::bad(comment));
        }
        Ok(self.done)
    }
}

impl Deed {
    pub fn perform(self, machine: &dyn System) -> Result<()> {
        match self {
            Deed::Run(command) => {
                let output = machine.run(&command)?;
                if output.success() { Ok(()) } else { Err(Error::failed(fault(&command.argv, &output))) }
            }
            Deed::Try(command) => machine.run(&command).map_or(Ok(()), |_| Ok(())),
            Deed::Write { path, content, mode } => write(machine, &path, &content, mode),
            Deed::Link { target, link } => replace_link(machine, &target, &link),
        }
    }
}

/// Writes a file, and makes the directories above it.
pub fn write(machine: &dyn System, path: &str, content: &[u8], mode: Option<u32>) -> Result<()> {
    if let Some(above) = Path::new(path).parent() {
        make_directories(machine, &above.to_string_lossy(), 0o755)?;
    }
    machine.write(Path::new(path), content, mode).map_err(|error| Error::io("write", path, &error))
}

/// Makes a directory and those above it; those that are there stay as they are.
pub fn make_directories(machine: &dyn System, path: &str, mode: u32) -> Result<()> {
    let missing: Vec<&Path> =
        Path::new(path).ancestors().take_while(|path| !look::is_directory(machine, &path.to_string_lossy())).collect();
    for path in missing.into_iter().rev() {
        // Somebody else may have made it meanwhile.
        match machine.make_dir(path, mode) {
            Err(error) if !look::is_directory(machine, &path.to_string_lossy()) => {
                return Err(Error::io("make the directory", path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes the link beside its place and moves it there, so that nobody ever finds nothing.
pub fn replace_link(machine: &dyn System, target: &str, link: &str) -> Result<()> {
    let fresh = format!("{link}.rocksalt-{}", std::process::id());
    let made = machine.symlink(Path::new(target), Path::new(&fresh));
    made.map_err(|error| Error::io("make the link", &fresh, &error))?;
    machine.rename(Path::new(&fresh), Path::new(link)).map_err(|error| {
        let _ = machine.remove(Path::new(&fresh));
        Error::io("replace", link, &error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Output, Probe};

    #[test]
    fn a_failure_shows_what_was_run_and_all_it_said() {
        let failed =
            Output { code: 2, stdout: b"half\n".to_vec(), stderr: b"no such thing\n".to_vec(), ..Output::default() };
        let machine = Fake::new().directory("/d").command(&["tool", "a b"], failed);
        let work = Work::new(Verdict::good("done")).write("/d/e/f", "x").run(&["tool", "a b"]).or("Failed to work");
        let verdict = work.perform(&machine).expect("it is a verdict");
        assert_eq!(verdict.result, Some(false));
        assert_eq!(
            verdict.comment,
            "Failed to work\n`tool 'a b'` ended with exit code 2:\nno such thing\nhalf\n1 of 2 steps were done before it."
        );
        assert_eq!(look::text(&machine, "/d/e/f").as_deref(), Some("x"));
    }

    #[test]
    fn a_link_takes_the_place_of_another() {
        let machine = Fake::new().link("/etc/l", "/old");
        replace_link(&machine, "/new", "/etc/l").expect("it can be made");
        assert_eq!(machine.read_link(Path::new("/etc/l")).expect("a link"), Path::new("/new"));
        assert_eq!(look::names(&machine, "/etc"), ["l"]);
    }
}
