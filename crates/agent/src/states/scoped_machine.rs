//! [`ScopedMachine`]: the machine for a state that runs with its own umask or user.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksalt_core::log::LogLevel;
use rocksalt_core::{JobId, Map};
use rocksalt_modules::Result;
use rocksalt_modules::machine::{
    ActiveCall, Command, FileTree, Output, Probe, RunNotes, Stat, StateRunner, StopSignal, System, TemplateRenderer,
    Upward,
};
use rocksalt_sls::Chunk;

pub struct ScopedMachine<'m> {
    machine: &'m dyn System,
    /// The umask for new files and directories, and for commands.
    umask: Option<u32>,
    /// The user for commands that name none.
    user: Option<String>,
}

impl<'m> ScopedMachine<'m> {
    /// `None` if the state has neither `umask` nor `runas`.
    pub fn of(chunk: &Chunk, machine: &'m dyn System) -> Option<ScopedMachine<'m>> {
        let umask = chunk.arguments.get("umask").and_then(|text| u32::from_str_radix(&text.to_string(), 8).ok());
        let user = chunk.arguments.get("runas").filter(|user| user.truth()).map(ToString::to_string);
        (umask.is_some() || user.is_some()).then_some(ScopedMachine { machine, umask, user })
    }

    fn command(&self, command: &Command) -> Command {
        let mut command = command.clone();
        command.umask = command.umask.or(self.umask);
        if command.user.is_none() {
            command.user.clone_from(&self.user);
        }
        command
    }

    /// The mode of a new file, unless one is given.
    fn new_mode(&self, path: &Path, mode: Option<u32>) -> Option<u32> {
        let is_new = || matches!(self.machine.stat(path, false), Ok(None));
        mode.or_else(|| self.umask.filter(|_| is_new()).map(|umask| 0o666 & !umask))
    }
}

impl Probe for ScopedMachine<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let content = self.machine.read(path)?;
        match self.umask {
            // States read their umask from this file.
            Some(umask) if path == Path::new("/proc/self/status") => Ok(with_umask(&content, umask)),
            _ => Ok(content),
        }
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.machine.read_at(path, offset, length)
    }

    fn stat(&self, path: &Path, follow: bool) -> io::Result<Option<Stat>> {
        self.machine.stat(path, follow)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.machine.list(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.machine.read_link(path)
    }

    fn query(&self, command: &Command) -> Result<Output> {
        self.machine.query(&self.command(command))
    }

    fn env(&self, name: &str) -> Option<String> {
        self.machine.env(name)
    }

    fn environment(&self) -> Vec<(String, String)> {
        self.machine.environment()
    }

    fn grains(&self) -> Arc<Map> {
        self.machine.grains()
    }

    fn options(&self) -> &Map {
        self.machine.options()
    }

    fn now(&self) -> f64 {
        self.machine.now()
    }

    fn cancelled(&self) -> bool {
        self.machine.cancelled()
    }

    fn sleep(&self, seconds: f64) -> Result<()> {
        self.machine.sleep(seconds)
    }

    fn controller(&self) -> &dyn Upward {
        self.machine.controller()
    }

    fn tree(&self) -> &dyn FileTree {
        self.machine.tree()
    }

    fn pillar(&self) -> Result<Arc<Map>> {
        self.machine.pillar()
    }

    fn templates(&self) -> &dyn TemplateRenderer {
        self.machine.templates()
    }

    fn run_notes(&self) -> &RunNotes {
        self.machine.run_notes()
    }

    fn log(&self, level: LogLevel, module: &str, text: std::fmt::Arguments<'_>) {
        self.machine.log(level, module, text);
    }

    fn running(&self) -> Vec<ActiveCall> {
        self.machine.running()
    }
}

impl System for ScopedMachine<'_> {
    fn write(&self, path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
        self.machine.write(path, content, self.new_mode(path, mode))
    }

    fn write_stream(&self, path: &Path, mode: Option<u32>, next: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()> {
        self.machine.write_stream(path, self.new_mode(path, mode), next)
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.machine.append(path, content)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.machine.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.machine.remove_dir(path)
    }

    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.machine.make_dir(path, mode & !self.umask.unwrap_or(0))
    }

    fn symlink(&self, target: &Path, link: &Path) -> io::Result<()> {
        self.machine.symlink(target, link)
    }

    fn hard_link(&self, existing: &Path, link: &Path) -> io::Result<()> {
        self.machine.hard_link(existing, link)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.machine.rename(from, to)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.machine.set_mode(path, mode)
    }

    fn set_owner(&self, path: &Path, uid: Option<u32>, gid: Option<u32>, follow: bool) -> io::Result<()> {
        self.machine.set_owner(path, uid, gid, follow)
    }

    fn set_times(&self, path: &Path, atime: f64, mtime: f64) -> io::Result<()> {
        self.machine.set_times(path, atime, mtime)
    }

    fn run(&self, command: &Command) -> Result<Output> {
        self.machine.run(&self.command(command))
    }

    fn set_env(&self, name: &str, value: Option<&str>) {
        self.machine.set_env(name, value);
    }

    fn refresh_grains(&self) {
        self.machine.refresh_grains();
    }

    fn refresh_pillar(&self) {
        self.machine.refresh_pillar();
    }

    fn states(&self) -> &dyn StateRunner {
        self.machine.states()
    }

    fn stop(&self, job: JobId, how: StopSignal) -> bool {
        self.machine.stop(job, how)
    }
}

fn with_umask(status: &[u8], umask: u32) -> Vec<u8> {
    let status = String::from_utf8_lossy(status);
    let lines = status.lines().map(|line| match line.starts_with("Umask:") {
        true => format!("Umask:\t{umask:04o}\n"),
        false => format!("{line}\n"),
    });
    lines.collect::<String>().into_bytes()
}
