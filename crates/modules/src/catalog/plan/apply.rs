//! Carries out the actions of a plan.

use std::io;
use std::path::Path;

use rocksalt_core::Map;

use super::super::{file, tool};
use super::{Action, ContentCheck, Plan, Verdict, Wording};
use crate::grains::look;
use crate::machine::{Command, Output, System};
use crate::text::words;
use crate::{Error, Result, error};

/// Why an action failed.
enum ActionFault {
    /// Ends the plan: the other actions are not done.
    Stops(String),
    /// The other actions are still done, but the verdict is bad.
    Told(String),
    /// Ends the plan with this verdict.
    Ends(Box<Verdict>),
    /// Ends the plan without a verdict.
    Error(Error),
}

impl Plan {
    pub fn carry_out(self, machine: &dyn System) -> Result<Verdict> {
        let count = self.actions.len();
        let mut verdict = self.done;
        let mut told = Vec::new();
        for (index, action) in self.actions.into_iter().enumerate() {
            if machine.cancelled() {
                return Err(Error::cancelled());
            }
            match carry_out(action, self.wording, machine) {
                Ok(()) => {}
                Err(ActionFault::Told(text)) => told.push(text),
                Err(ActionFault::Stops(text)) => {
                    let changes = if index > 0 { self.first_changes } else { Map::new() };
                    return Ok(Verdict::bad(worded(self.wording, self.failure, &text, index, count)).changes(changes));
                }
                Err(ActionFault::Ends(verdict)) => return Ok(*verdict),
                Err(ActionFault::Error(error)) => return Err(error),
            }
        }
        if !told.is_empty() {
            verdict.result = Some(false);
            verdict.comment = told.join("; ");
        }
        Ok(verdict)
    }
}

/// Carries out a single action outside of a plan, for functions.
pub fn apply_action(action: Action, machine: &dyn System) -> Result<()> {
    carry_out(action, Wording::Full, machine).map_err(|fault| match fault {
        ActionFault::Stops(text) | ActionFault::Told(text) => Error::failed(text),
        ActionFault::Ends(verdict) => Error::failed(verdict.comment),
        ActionFault::Error(error) => error,
    })
}

fn worded(wording: Wording, mut comment: String, text: &str, index: usize, count: usize) -> String {
    if wording == Wording::Statements {
        let before = match index {
            0 => String::new(),
            _ => format!("; {index} of {count} statements were done before"),
        };
        return format!("{comment} ({text}){before}");
    }
    if wording == Wording::Full && !comment.is_empty() {
        comment.push('\n');
    }
    comment.push_str(text);
    match wording {
        Wording::Full if index > 0 => format!("{comment}\n{index} of {count} steps were done before it."),
        _ => comment,
    }
}

fn carry_out(action: Action, wording: Wording, machine: &dyn System) -> Result<(), ActionFault> {
    let io = |doing: &str, path: &str, done: io::Result<()>| done.map_err(|error| wording.io(doing, path, &error));
    match action {
        Action::Attributes { path, flags, failure } => {
            let done = machine.run(&Command::new(["chattr", &flags, "--", &path]));
            if done.is_ok_and(|output| output.success()) { Ok(()) } else { Err(ActionFault::Told(failure)) }
        }
        Action::Check(check) => carry_out_check(&check, machine),
        Action::Copy { from, to } => copy(machine, &from, &to),
        Action::Fail(text) => Err(ActionFault::Told(text)),
        Action::HardLink { existing, link } => {
            io("make the link", &link, machine.hard_link(Path::new(&existing), Path::new(&link)))
        }
        Action::MakeDirectory { path, mode, uid, gid } => {
            make_directory(machine, &path, mode, uid, gid).map_err(|error| wording.io("make", &path, &error))
        }
        Action::Mode { path, mode, failure } => {
            machine.set_mode(Path::new(&path), mode).map_err(|_| ActionFault::Told(failure))
        }
        Action::Owner { path, uid, gid, follow, failure } => {
            machine.set_owner(Path::new(&path), uid, gid, follow).map_err(|_| ActionFault::Told(failure))
        }
        Action::Remove(path) => io("remove", &path, machine.remove(Path::new(&path))),
        Action::Rename { from, to } => match machine.rename(Path::new(&from), Path::new(&to)) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                copy(machine, &from, &to)?;
                io("remove", &from, machine.remove(Path::new(&from)))
            }
            done => io("rename", &from, done),
        },
        Action::ReplaceLink { target, link } => stops(tool::replace_link(machine, &target, &link)),
        Action::Run(command) => run(&command, wording, machine),
        Action::Sql(statement) => match statement.run(machine) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(reason)) => Err(ActionFault::Stops(reason)),
            Err(error) => Err(ActionFault::Error(error)),
        },
        Action::Stop(text) => Err(ActionFault::Ends(Box::new(Verdict::bad(text)))),
        Action::Symlink { target, link } => {
            io("make the link", &link, machine.symlink(Path::new(&target), Path::new(&link)))
        }
        Action::Times { path, atime, mtime } => {
            io("set the times of", &path, machine.set_times(Path::new(&path), atime, mtime))
        }
        Action::TryRun { command, failure } => match (run(&command, wording, machine), failure) {
            (Err(_), Some(failure)) => Err(ActionFault::Told(failure)),
            _ => Ok(()),
        },
        Action::Write { path, content, mode, parents } => {
            if parents {
                stops(tool::make_parents(machine, &path))?;
            }
            io("write", &path, machine.write(Path::new(&path), &content, mode))
        }
    }
}

impl Wording {
    fn io(self, doing: &str, path: &str, error: &io::Error) -> ActionFault {
        ActionFault::Stops(match self {
            Wording::Brief => errno_text(error, path),
            Wording::Full | Wording::Command | Wording::Statements => Error::io(doing, path, error).to_string(),
        })
    }
}

/// Several actions of a plan and other states may need the same directory at the same time; the first one makes it.
fn make_directory(machine: &dyn System, path: &str, mode: u32, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    if look::is_directory(machine, path) {
        return Ok(());
    }
    match machine.make_dir(Path::new(path), mode) {
        Err(_) if look::is_directory(machine, path) => return Ok(()),
        made => made?,
    }
    match (uid, gid) {
        (None, None) => Ok(()),
        _ => machine.set_owner(Path::new(path), uid, gid, false),
    }
}

fn stops(done: Result<()>) -> Result<(), ActionFault> {
    done.map_err(|error| ActionFault::Stops(error.to_string()))
}

fn run(command: &Command, wording: Wording, machine: &dyn System) -> Result<(), ActionFault> {
    match machine.run(command) {
        Ok(output) if output.success() => Ok(()),
        Ok(output) => Err(ActionFault::Stops(match wording {
            Wording::Full | Wording::Statements => tool::fault(&command.argv, &output),
            Wording::Brief => String::from_utf8_lossy(&output.stderr).trim_end().to_owned(),
            Wording::Command => tool::failure(&command.argv, &output),
        })),
        Err(error) if wording == Wording::Command => Err(ActionFault::Error(error)),
        Err(error) => Err(ActionFault::Stops(error.to_string())),
    }
}

fn copy(machine: &dyn System, from: &str, to: &str) -> Result<(), ActionFault> {
    stops(file::copy_all(machine, Path::new(from), Path::new(to)))
}

fn carry_out_check(check: &ContentCheck, machine: &dyn System) -> Result<(), ActionFault> {
    let directory = check.directory.as_deref().filter(|path| !path.is_empty()).unwrap_or("/tmp");
    let number = (machine.now() * 1e9) as u64;
    let path =
        format!("{}/.rocksalt-check-{}-{number}{}", directory.trim_end_matches('/'), std::process::id(), check.ending);
    let written = machine.write(Path::new(&path), &check.content, Some(0o600));
    written.map_err(|error| ActionFault::Stops(errno_text(&error, &path)))?;
    let argv = words::split(&format!("{} {path}", check.command)).map_err(|text| ActionFault::Stops(text.to_owned()));
    let output = argv.map(|argv| machine.run(&Command::new(argv)));
    let _ = machine.remove(Path::new(&path));
    let output = match output? {
        Ok(output) if output.success() => return Ok(()),
        Ok(output) => output,
        Err(error) => Output { stderr: error.to_string().into_bytes(), ..Output::default() },
    };
    let mut comment = String::from("check_cmd execution failed");
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(text);
        if !text.trim_end().is_empty() {
            comment.push('\n');
            comment.push_str(text.trim_end_matches('\n'));
        }
    }
    let mut verdict = Verdict::bad(comment);
    verdict.further.insert("skip_watch", true);
    Err(ActionFault::Ends(Box::new(verdict)))
}

/// A system error in Python's wording, which people search for.
pub fn errno_text(error: &io::Error, path: &str) -> String {
    match error.raw_os_error() {
        Some(number) => format!("[Errno {number}] {}: '{path}'", error::reason(error)),
        None => format!("{}: '{path}'", error::reason(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Output};

    #[test]
    fn a_failure_shows_what_was_run_and_all_its_output() {
        let failed =
            Output { code: 2, stdout: b"half\n".to_vec(), stderr: b"no such thing\n".to_vec(), ..Output::default() };
        let machine = Fake::new().directory("/d").command(&["tool", "a b"], failed);
        let plan = Plan::new(Verdict::good("done")).write("/d/e/f", "x").run(&["tool", "a b"]).or("Failed to work");
        let verdict = plan.clone().carry_out(&machine).expect("it is a verdict");
        assert_eq!(verdict.result, Some(false));
        assert_eq!(
            verdict.comment,
            "Failed to work\n`tool 'a b'` ended with exit code 2:\nno such thing\nhalf\n1 of 2 steps were done before it."
        );
        assert_eq!(look::text(&machine, "/d/e/f").as_deref(), Some("x"));
    }

    #[test]
    fn a_brief_plan_says_the_reason_only() {
        let failed = Output { code: 2, stderr: b"no such thing\n".to_vec(), ..Output::default() };
        let machine = Fake::new().command(&["tool"], failed);
        let plan = Plan::brief(Verdict::good("done")).then(Action::Run(Command::new(["tool"]))).or("Unable: ");
        assert_eq!(plan.carry_out(&machine).expect("it is a verdict").comment, "Unable: no such thing");
    }

    /// Bytes that are not UTF-8 survive, and the text is JSON.
    #[test]
    fn a_plan_survives_being_stored_as_json() {
        let mut command = Command::new(["cat"]);
        command.stdin = Some(b"\xff\0".to_vec());
        command.timeout = Some(std::time::Duration::from_millis(1500));
        let plan = Plan::new(Verdict::good("done").change("/f", "new"))
            .then(Action::write("/f", b"\xfe\xff".to_vec()))
            .then(Action::Run(command))
            .with_own(&(1, "x"))
            .expect("it can be stored");
        let text = plan.to_json().expect("it can be stored");
        let mut again = Plan::from_json(&text).expect("it is a plan");
        assert_eq!(again.to_json().expect("it can be stored"), text);
        assert_eq!(again.take_own::<(i64, String)>().expect("its own"), (1, "x".to_owned()));
        let Some(Action::Write { content, .. }) = again.into_actions().into_iter().next() else { panic!("a write") };
        assert_eq!(content, b"\xfe\xff");
    }
}
