//! [`Fake`]: a machine in memory, for tests.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rocksalt_core::{JobId, Map};

use super::{
    ActiveCall, Command, FakeController, FakeServices, FileKind, FileTree, NoController, Output, Probe, RunNotes, Stat,
    StateRunner, StopSignal, System, TargetPillar, TemplateRenderer, Upward,
};
use crate::{Error, Result};

/// Files and directories in a map, and the outputs of commands that a test defines.
#[derive(Default)]
pub struct Fake {
    files: Mutex<BTreeMap<PathBuf, FakeNode>>,
    /// The outputs of each command, in order; the last one is repeated.
    commands: Mutex<BTreeMap<Vec<String>, VecDeque<Output>>>,
    /// The files that a command writes.
    effects: Mutex<BTreeMap<Vec<String>, WrittenFiles>>,
    asked: Mutex<Vec<Command>>,
    environment: Mutex<BTreeMap<String, String>>,
    grains: Arc<Map>,
    options: Map,
    controller: Option<Arc<FakeController>>,
    services: FakeServices,
    notes: RunNotes,
    running: Vec<ActiveCall>,
}

/// Paths and content.
type WrittenFiles = Vec<(PathBuf, Vec<u8>)>;

#[derive(Clone)]
struct FakeNode {
    content: FakeContent,
    mode: u32,
    uid: u32,
    gid: u32,
    mtime: f64,
    /// Hard links of one file share it.
    inode: u64,
}

#[derive(Clone)]
enum FakeContent {
    File(Vec<u8>),
    Directory,
    Link(PathBuf),
    /// A device, pipe or socket; what is written to it can be read again.
    Special(FileKind, Vec<u8>),
}

impl Fake {
    pub fn new() -> Fake {
        Fake::default()
    }

    /// Adds a file and its parent directories.
    #[must_use]
    pub fn file(self, path: &str, content: impl Into<Vec<u8>>) -> Fake {
        self.put(Path::new(path), FakeContent::File(content.into()), 0o644);
        self
    }

    #[must_use]
    pub fn directory(self, path: &str) -> Fake {
        self.put(Path::new(path), FakeContent::Directory, 0o755);
        self
    }

    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Fake {
        self.put(Path::new(path), FakeContent::Link(PathBuf::from(target)), 0o777);
        self
    }

    /// Adds a device, a pipe or a socket.
    #[must_use]
    pub fn special(self, path: &str, kind: FileKind) -> Fake {
        self.put(Path::new(path), FakeContent::Special(kind, Vec::new()), 0o660);
        self
    }

    /// Sets owner and mode of an existing path.
    #[must_use]
    pub fn owned(self, path: &str, uid: u32, gid: u32, mode: u32) -> Fake {
        if let Some(node) = lock(&self.files).get_mut(Path::new(path)) {
            (node.uid, node.gid, node.mode) = (uid, gid, mode);
        }
        self
    }

    #[must_use]
    pub fn with_services(mut self, services: FakeServices) -> Fake {
        self.services = services;
        self
    }

    pub fn with_controller(mut self, controller: Arc<FakeController>) -> Fake {
        self.controller = Some(controller);
        self
    }

    #[must_use]
    pub fn with_running(mut self, running: ActiveCall) -> Fake {
        self.running.push(running);
        self
    }

    /// Defines the output of a command; further calls for the same command define its next outputs.
    #[must_use]
    pub fn command(self, argv: &[&str], output: Output) -> Fake {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        lock(&self.commands).entry(argv).or_default().push_back(output);
        self
    }

    /// Defines a file that a command writes.
    #[must_use]
    pub fn command_writes(self, argv: &[&str], path: &str, content: impl Into<Vec<u8>>) -> Fake {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        lock(&self.effects).entry(argv).or_default().push((PathBuf::from(path), content.into()));
        self
    }

    /// The commands that were run so far, including those without a defined output.
    pub fn asked(&self) -> Vec<Command> {
        lock(&self.asked).clone()
    }

    #[must_use]
    pub fn with_grains(mut self, grains: Map) -> Fake {
        self.grains = Arc::new(grains);
        self
    }

    #[must_use]
    pub fn with_options(mut self, options: Map) -> Fake {
        self.options = options;
        self
    }

    #[must_use]
    pub fn with_env(self, name: &str, value: &str) -> Fake {
        self.set_env(name, Some(value));
        self
    }

    fn put(&self, path: &Path, content: FakeContent, mode: u32) {
        let mut files = lock(&self.files);
        for above in path.ancestors().skip(1) {
            files.entry(above.to_owned()).or_insert_with(|| FakeNode::new(FakeContent::Directory, 0o755));
        }
        files.insert(path.to_owned(), FakeNode::new(content, mode));
    }

    fn resolve(&self, path: &Path, follow: bool) -> Option<(PathBuf, FakeNode)> {
        let files = lock(&self.files);
        let mut path = path.to_owned();
        for _ in 0..40 {
            let node = files.get(&path)?;
            match &node.content {
                FakeContent::Link(target) if follow => path = path.parent().unwrap_or(Path::new("/")).join(target),
                _ => return Some((path, node.clone())),
            }
        }
        None
    }

    fn change(&self, path: &Path, follow: bool, change: impl FnOnce(&mut FakeNode)) -> io::Result<()> {
        let (path, mut node) = self.resolve(path, follow).ok_or(io::ErrorKind::NotFound)?;
        change(&mut node);
        lock(&self.files).insert(path, node);
        Ok(())
    }

    fn add(&self, path: &Path, content: FakeContent, mode: u32) -> io::Result<()> {
        let above = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        match self.resolve(above, true) {
            Some((_, node)) if matches!(node.content, FakeContent::Directory) => {}
            Some(_) => return Err(io::ErrorKind::NotADirectory.into()),
            None => return Err(io::ErrorKind::NotFound.into()),
        }
        if lock(&self.files).contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        lock(&self.files).insert(path.to_owned(), FakeNode::new(content, mode));
        Ok(())
    }
}

impl FakeNode {
    fn new(content: FakeContent, mode: u32) -> FakeNode {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        FakeNode { content, mode, uid: 0, gid: 0, mtime: 0.0, inode: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Probe for Fake {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.resolve(path, true) {
            Some((_, FakeNode { content: FakeContent::File(content) | FakeContent::Special(_, content), .. })) => {
                Ok(content)
            }
            Some(_) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let content = self.read(path)?;
        let start = content.len().min(offset as usize);
        Ok(content[start..content.len().min(start + length)].to_vec())
    }

    fn stat(&self, path: &Path, follow: bool) -> io::Result<Option<Stat>> {
        Ok(self.resolve(path, follow).map(|(_, node)| {
            let (kind, size) = match &node.content {
                FakeContent::File(content) => (FileKind::File, content.len() as u64),
                FakeContent::Directory => (FileKind::Directory, 4096),
                FakeContent::Link(target) => (FileKind::Link, target.as_os_str().len() as u64),
                FakeContent::Special(kind, _) => (*kind, 0),
            };
            Stat {
                kind,
                mode: node.mode,
                uid: node.uid,
                gid: node.gid,
                size,
                atime: node.mtime,
                mtime: node.mtime,
                ctime: node.mtime,
                inode: node.inode,
                device: 1,
                links: lock(&self.files).values().filter(|other| other.inode == node.inode).count() as u64,
            }
        }))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let (path, node) = self.resolve(path, true).ok_or(io::ErrorKind::NotFound)?;
        if !matches!(node.content, FakeContent::Directory) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let files = lock(&self.files);
        let children = files.keys().filter(|child| child.parent() == Some(&path));
        Ok(children.filter_map(|child| Some(child.file_name()?.to_string_lossy().into_owned())).collect())
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        match self.resolve(path, false) {
            Some((_, FakeNode { content: FakeContent::Link(target), .. })) => Ok(target),
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn query(&self, command: &Command) -> Result<Output> {
        lock(&self.asked).push(command.clone());
        for (path, content) in lock(&self.effects).get(&command.argv).into_iter().flatten() {
            self.put(path, FakeContent::File(content.clone()), 0o644);
        }
        let mut commands = lock(&self.commands);
        let answer = match commands.get_mut(&command.argv) {
            Some(answers) if answers.len() > 1 => answers.pop_front(),
            Some(answers) => answers.front().cloned(),
            None => None,
        };
        answer.ok_or_else(|| {
            let program = command.argv.first().map_or("", String::as_str);
            Error::failed(format!("could not start '{program}': No such file or directory"))
        })
    }

    fn env(&self, name: &str) -> Option<String> {
        lock(&self.environment).get(name).cloned()
    }

    fn environment(&self) -> Vec<(String, String)> {
        lock(&self.environment).iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains)
    }

    fn options(&self) -> &Map {
        &self.options
    }

    fn now(&self) -> f64 {
        1_000_000_000.0
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn sleep(&self, _: f64) -> Result<()> {
        Ok(())
    }

    fn tree(&self) -> &dyn FileTree {
        &self.services
    }

    fn pillar(&self) -> Result<Arc<Map>> {
        self.services.pillar()
    }

    fn templates(&self) -> &dyn TemplateRenderer {
        &self.services
    }

    fn run_notes(&self) -> &RunNotes {
        &self.notes
    }

    fn controller(&self) -> &dyn Upward {
        match &self.controller {
            Some(controller) => &**controller,
            None => &NoController,
        }
    }

    fn running(&self) -> Vec<ActiveCall> {
        self.running.clone()
    }
}

impl System for Fake {
    fn write(&self, path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
        match self.resolve(path, false) {
            Some((_, FakeNode { content: FakeContent::Directory, .. })) => Err(io::ErrorKind::IsADirectory.into()),
            Some((path, FakeNode { content: FakeContent::Special(kind, _), mode, .. })) => {
                lock(&self.files).insert(path, FakeNode::new(FakeContent::Special(kind, content.to_vec()), mode));
                Ok(())
            }
            Some((path, node)) => {
                // A new file replaces the old one; hard links of the old one keep its content.
                let fresh = FakeNode::new(FakeContent::File(content.to_vec()), mode.unwrap_or(node.mode));
                let fresh = match node.content {
                    FakeContent::Link(_) => FakeNode { mode: mode.unwrap_or(0o644), ..fresh },
                    _ => fresh,
                };
                let node = FakeNode { inode: fresh.inode, content: fresh.content, mode: fresh.mode, ..node };
                lock(&self.files).insert(path, node);
                Ok(())
            }
            None => self.add(path, FakeContent::File(content.to_vec()), mode.unwrap_or(0o644)),
        }
    }

    fn write_stream(&self, path: &Path, mode: Option<u32>, next: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()> {
        let mut content = Vec::new();
        loop {
            let piece = next()?;
            if piece.is_empty() {
                return self.write(path, &content, mode).map_err(|error| Error::io("write", path, &error));
            }
            content.extend(piece);
        }
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut whole = if self.resolve(path, true).is_some() { self.read(path)? } else { Vec::new() };
        whole.extend_from_slice(content);
        self.write(path, &whole, None)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut files = lock(&self.files);
        if !files.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        files.retain(|child, _| !child.starts_with(path));
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        if !self.list(path)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.remove(path)
    }

    fn make_dir(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.add(path, FakeContent::Directory, mode)
    }

    fn symlink(&self, target: &Path, link: &Path) -> io::Result<()> {
        self.add(link, FakeContent::Link(target.to_owned()), 0o777)
    }

    fn hard_link(&self, existing: &Path, link: &Path) -> io::Result<()> {
        let (_, node) = self.resolve(existing, false).ok_or(io::ErrorKind::NotFound)?;
        self.add(link, node.content.clone(), node.mode)?;
        lock(&self.files).insert(link.to_owned(), node);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = lock(&self.files);
        let moved: Vec<PathBuf> = files.keys().filter(|path| path.starts_with(from)).cloned().collect();
        if moved.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        for path in moved {
            if let (Some(node), Ok(rest)) = (files.remove(&path), path.strip_prefix(from)) {
                let path = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
                files.insert(path, node);
            }
        }
        Ok(())
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.change(path, true, |node| node.mode = mode)
    }

    fn set_owner(&self, path: &Path, uid: Option<u32>, gid: Option<u32>, follow: bool) -> io::Result<()> {
        self.change(path, follow, |node| {
            node.uid = uid.unwrap_or(node.uid);
            node.gid = gid.unwrap_or(node.gid);
        })
    }

    fn set_times(&self, path: &Path, _: f64, mtime: f64) -> io::Result<()> {
        self.change(path, true, |node| node.mtime = mtime)
    }

    fn run(&self, command: &Command) -> Result<Output> {
        self.query(command)
    }

    fn set_env(&self, name: &str, value: Option<&str>) {
        let mut environment = lock(&self.environment);
        match value {
            Some(value) => environment.insert(name.to_owned(), value.to_owned()),
            None => environment.remove(name),
        };
    }

    fn refresh_pillar(&self) {}

    fn states(&self) -> &dyn StateRunner {
        &self.services
    }

    fn refresh_grains(&self) {}

    fn stop(&self, job: JobId, _: StopSignal) -> bool {
        self.running.iter().any(|running| running.job == Some(job))
    }
}
