//! [`HostSystem`]: the real machine, as one call sees it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rocksalt_core::log::LogLevel;
use rocksalt_core::{JobId, Map};

use super::child_guard::ChildGuard;
use super::signal::Signal;
use super::temporary::Temporary;
use super::{
    ActiveCall, CallLog, Command, FileKind, FileTree, Output, Probe, RunNotes, Services, Sink, Stat, StateRunner,
    StopSignal, System, TemplateRenderer, Upward, launch, process,
};
use crate::{Error, Result};

/// The state that all calls on one machine share.
pub struct Base {
    /// The program that can become another user, and guard commands: one that implements [`super::EXEC_AS`] and
    /// [`super::GUARD`].
    launcher: Option<PathBuf>,
    environment: Mutex<BTreeMap<String, String>>,
    /// The gathered grains, with the options that they depend on.
    grains: Mutex<Option<(Map, Arc<Map>)>>,
    gather: fn(&dyn Probe) -> Map,
    /// Returns the calls that another process on this machine still runs.
    beside: fn() -> Vec<ActiveCall>,
    calls: Mutex<Calls>,
    guard: ChildGuard,
}

#[derive(Default)]
struct Calls {
    next: u64,
    running: BTreeMap<u64, (ActiveCall, Arc<Signal>)>,
}

impl Base {
    pub fn new(launcher: Option<PathBuf>) -> Base {
        Base::with(launcher, crate::grains::gather)
    }

    /// As [`Base::new`], with another function to gather grains.
    pub fn with(launcher: Option<PathBuf>, gather: fn(&dyn Probe) -> Map) -> Base {
        // Variables that are not UTF-8 can't be shown or sent, so commands don't get them.
        let environment =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        // With these variables bash assumes a login over SSH and runs `.bashrc` before each command.
        let environment = environment.filter(|(name, _)| !name.starts_with("SSH_") && name != "SSH2_CLIENT");
        let environment = Mutex::new(environment.collect());
        let guard = ChildGuard::new(launcher.clone());
        let (grains, calls) = (Mutex::default(), Mutex::default());
        Base { launcher, environment, grains, gather, beside: Vec::new, calls, guard }
    }

    /// Sets the function that lists calls that another process on this machine still runs.
    #[must_use]
    pub fn beside(mut self, look: fn() -> Vec<ActiveCall>) -> Base {
        self.beside = look;
        self
    }

    /// Begins a call, which counts as running until the host is dropped.
    ///
    /// `sink` receives the output of the commands that it runs.
    pub fn begin(
        self: &Arc<Base>,
        running: ActiveCall,
        options: Map,
        upward: Box<dyn Upward>,
        sink: Option<Sink>,
    ) -> HostSystem {
        let signal = Arc::new(Signal::default());
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.next += 1;
        let number = calls.next;
        calls.running.insert(number, (running, Arc::clone(&signal)));
        HostSystem {
            base: Arc::clone(self),
            options,
            signal,
            upward,
            services: OnceLock::new(),
            notes: RunNotes::default(),
            grains: None,
            sink,
            log: None,
            template_calls: AtomicUsize::new(0),
            number,
        }
    }

    fn grains(&self, machine: &dyn Probe) -> Arc<Map> {
        let mut known = self.grains.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((options, grains)) if options == machine.options() => Arc::clone(grains),
            _ => {
                let grains = Arc::new((self.gather)(machine));
                *known = Some((machine.options().clone(), Arc::clone(&grains)));
                grains
            }
        }
    }
}

pub struct HostSystem {
    base: Arc<Base>,
    options: Map,
    signal: Arc<Signal>,
    upward: Box<dyn Upward>,
    services: OnceLock<Services>,
    notes: RunNotes,
    /// Replaces the machine's own grains.
    grains: Option<Arc<Map>>,
    sink: Option<Sink>,
    log: Option<CallLog>,
    /// The number of functions that templates of this call are running, inside each other or in parallel.
    template_calls: AtomicUsize,
    number: u64,
}

const TOO_MANY_TEMPLATE_CALLS: &str = "templates call functions that render templates, without an end";

/// The most functions that templates of one call may be running. Each may render templates that call functions, on
/// threads of its own.
const MOST_TEMPLATE_CALLS: usize = 200;

impl HostSystem {
    /// The job that this call belongs to.
    pub fn job(&self) -> Option<JobId> {
        let calls = self.base.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.running.get(&self.number).and_then(|(running, _)| running.job)
    }

    /// What ends this machine's commands if the agent dies.
    pub fn guard(&self) -> &ChildGuard {
        &self.base.guard
    }

    /// Runs a function for a template.
    pub fn call_for_template<T>(&self, call: impl FnOnce() -> T) -> Result<T> {
        let running = self.template_calls.fetch_add(1, Ordering::Relaxed);
        let result =
            if running < MOST_TEMPLATE_CALLS { Ok(call()) } else { Err(Error::failed(TOO_MANY_TEMPLATE_CALLS)) };
        self.template_calls.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// The signal that stops this call from another thread.
    pub fn signal(&self) -> Arc<Signal> {
        Arc::clone(&self.signal)
    }

    /// Replaces the machine's grains.
    #[must_use]
    pub fn with_grains(mut self, grains: Option<Map>) -> HostSystem {
        self.grains = grains.map(Arc::new);
        self
    }

    /// Sets where the diagnostic lines of this call are sent.
    #[must_use]
    pub fn with_log(mut self, log: Option<CallLog>) -> HostSystem {
        self.log = log;
        self
    }

    /// Sets the controller's services. Called after the call has begun, since templates call functions on this host.
    pub fn set_services(&self, services: Services) {
        let _ = self.services.set(services);
    }

    fn services(&self) -> &Services {
        self.services.get_or_init(Services::none)
    }

    fn execute(&self, command: &Command, sink: Option<&Sink>) -> Result<Output> {
        let (prefix, user) = launch::prefix(self, command)?;
        if !prefix.is_empty() && self.base.launcher.is_none() {
            return Err(Error::failed("this program can't run a command as another user or with a umask"));
        }
        let wanted = process::ProcessSpec {
            command,
            launcher: self.base.launcher.as_deref(),
            prefix: &prefix,
            user: user.as_ref(),
            environment: &self.environment(),
            sink,
            guard: &self.base.guard,
        };
        let started = Instant::now();
        let result = process::run(&wanted, &self.signal);
        self.log_command(command, started.elapsed(), &result);
        result
    }

    /// Logs only the program and the number of its arguments: any of them may be a password.
    fn log_command(&self, command: &Command, time: Duration, result: &Result<Output>) {
        let program = command.argv.first().map_or("", String::as_str);
        let (arguments, ms) = (command.argv.len().saturating_sub(1), time.as_millis());
        match result {
            Ok(output) if output.timed_out => {
                self.log(
                    LogLevel::Debug,
                    "command",
                    format_args!("{program} ({arguments} arguments) timed out after {ms} ms"),
                );
            }
            Ok(Output { code, .. }) => self.log(
                LogLevel::Debug,
                "command",
                format_args!("{program} ({arguments} arguments) ended with exit code {code} after {ms} ms"),
            ),
            Err(_) => {
                self.log(LogLevel::Debug, "command", format_args!("{program} ({arguments} arguments) did not start"))
            }
        }
    }
}

impl Drop for HostSystem {
    fn drop(&mut self) {
        self.base.calls.lock().unwrap_or_else(PoisonError::into_inner).running.remove(&self.number);
    }
}

impl Probe for HostSystem {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        file.seek(io::SeekFrom::Start(offset))?;
        let mut content = Vec::new();
        file.take(length as u64).read_to_end(&mut content)?;
        Ok(content)
    }

    fn stat(&self, path: &Path, follow: bool) -> io::Result<Option<Stat>> {
        let found = if follow { fs::metadata(path) } else { fs::symlink_metadata(path) };
        match found {
            Ok(metadata) => Ok(Some(stat(&metadata))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn query(&self, command: &Command) -> Result<Output> {
        self.execute(command, None)
    }

    fn log(&self, level: LogLevel, module: &str, text: std::fmt::Arguments<'_>) {
        if let Some(log) = &self.log {
            log.write(level, module, text);
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        self.base.environment.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn environment(&self) -> Vec<(String, String)> {
        let environment = self.base.environment.lock().unwrap_or_else(PoisonError::into_inner);
        environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn grains(&self) -> Arc<Map> {
        self.grains.clone().unwrap_or_else(|| self.base.grains(self))
    }

    fn options(&self) -> &Map {
        &self.options
    }

    fn now(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
    }

    fn cancelled(&self) -> bool {
        self.signal.cancelled()
    }

    fn sleep(&self, seconds: f64) -> Result<()> {
        let time = Duration::try_from_secs_f64(seconds)
            .map_err(|_| Error::arguments(format!("{seconds} is no length of time")))?;
        if self.signal.wait(time) { Err(Error::cancelled()) } else { Ok(()) }
    }

    fn controller(&self) -> &dyn Upward {
        &*self.upward
    }

    fn tree(&self) -> &dyn FileTree {
        &*self.services().files
    }

    fn pillar(&self) -> Result<Arc<Map>> {
        self.services().pillar.pillar()
    }

    fn templates(&self) -> &dyn TemplateRenderer {
        &*self.services().templates
    }

    fn run_notes(&self) -> &RunNotes {
        &self.notes
    }

    fn running(&self) -> Vec<ActiveCall> {
        let calls = self.base.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let own = calls.running.values().map(|(running, _)| running.clone());
        own.chain((self.base.beside)()).collect()
    }
}

impl System for HostSystem {
    fn write(&self, path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
        let mut temporary = Temporary::beside(path, mode)?;
        temporary.write_all(content)?;
        temporary.take_place_of(path)
    }

    fn write_stream(&self, path: &Path, mode: Option<u32>, next: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()> {
        let fault = |error: io::Error| Error::io("write", path, &error);
        let mut temporary = Temporary::beside(path, mode).map_err(fault)?;
        loop {
            let piece = next()?;
            if piece.is_empty() {
                return temporary.take_place_of(path).map_err(fault);
            }
            temporary.write_all(&piece).map_err(fault)?;
        }
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(content)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::DirBuilder::new().mode(mode).create(path)?;
        // The umask was applied to the mode; set the requested mode.
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    fn symlink(&self, target: &Path, link: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, link)
    }

    fn hard_link(&self, existing: &Path, link: &Path) -> io::Result<()> {
        fs::hard_link(existing, link)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    fn set_owner(&self, path: &Path, uid: Option<u32>, gid: Option<u32>, follow: bool) -> io::Result<()> {
        if follow { std::os::unix::fs::chown(path, uid, gid) } else { std::os::unix::fs::lchown(path, uid, gid) }
    }

    fn set_times(&self, path: &Path, atime: f64, mtime: f64) -> io::Result<()> {
        let time = |seconds: f64| UNIX_EPOCH + Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let times = fs::FileTimes::new().set_accessed(time(atime)).set_modified(time(mtime));
        fs::File::open(path)?.set_times(times)
    }

    fn run(&self, command: &Command) -> Result<Output> {
        self.execute(command, command.sink.as_ref().or(self.sink.as_ref()))
    }

    fn set_env(&self, name: &str, value: Option<&str>) {
        let mut environment = self.base.environment.lock().unwrap_or_else(PoisonError::into_inner);
        match value {
            Some(value) => environment.insert(name.to_owned(), value.to_owned()),
            None => environment.remove(name),
        };
    }

    fn refresh_pillar(&self) {
        self.services().pillar.refresh();
    }

    fn states(&self) -> &dyn StateRunner {
        &*self.services().states
    }

    fn refresh_grains(&self) {
        *self.base.grains.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn stop(&self, job: JobId, how: StopSignal) -> bool {
        let calls = self.base.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = false;
        for (running, signal) in calls.running.values().filter(|(running, _)| running.job == Some(job)) {
            // Otherwise a call that looks for jobs to stop would stop itself.
            if !running.function.starts_with("saltutil.") {
                signal.stop(how);
                found = true;
            }
        }
        found
    }
}

fn stat(metadata: &fs::Metadata) -> Stat {
    let kind = metadata.file_type();
    let kind = match () {
        () if kind.is_dir() => FileKind::Directory,
        () if kind.is_symlink() => FileKind::Link,
        () if kind.is_block_device() => FileKind::BlockDevice,
        () if kind.is_char_device() => FileKind::CharDevice,
        () if kind.is_fifo() => FileKind::Pipe,
        () if kind.is_socket() => FileKind::Socket,
        () => FileKind::File,
    };
    let time = |seconds: i64, nanos: i64| seconds as f64 + nanos as f64 / 1e9;
    Stat {
        kind,
        mode: metadata.mode() & 0o7777,
        uid: metadata.uid(),
        gid: metadata.gid(),
        size: metadata.size(),
        atime: time(metadata.atime(), metadata.atime_nsec()),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
        device: metadata.dev(),
        links: metadata.nlink(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_what_is_noted_about_it() {
        // In the build directory: the temporary directory of some systems does not support extended attributes.
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("there is room for a directory");
        let path = place.path().join("f");
        fs::write(&path, "old").expect("it is ours");
        let note: (&str, &[u8]) = ("user.note", b"kept");
        rustix::fs::setxattr(&path, note.0, note.1, rustix::fs::XattrFlags::empty()).expect("files have notes here");
        let running = ActiveCall { job: None, function: "test".into(), args: Vec::new(), since: 0.0 };
        let host = Arc::new(Base::new(None)).begin(running, Map::new(), Box::new(crate::machine::NoController), None);
        host.write(&path, b"new", None).expect("it is ours");
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&path, note.0, &mut value).expect("it is still there");
        assert_eq!((&value[..length], fs::read(&path).expect("it is ours")), (note.1, b"new".to_vec()));
    }
}
