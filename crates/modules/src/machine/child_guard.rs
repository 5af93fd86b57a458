//! [`ChildGuard`]: a process beside the agent that ends what the agent started, if the agent dies first.
//!
//! A killed agent can't end its commands, and the kernel would end only direct children. The guard knows the process
//! group of each running command. When its socket closes it ends them, and keeps the lock of a run of states until they
//! are gone, so that no other run begins beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::signal::signal_group;
use super::{ProcessStat, StopSignal};

/// The first argument of a program that must be the guard.
pub const GUARD: &str = "guard-children";

/// How long commands may take to end after SIGTERM, before they are killed.
const GRACE: Duration = Duration::from_secs(5);

/// The agent's end. The guard is started with the first command.
pub struct ChildGuard {
    /// The program that implements [`GUARD`]; without one nothing is guarded.
    program: Option<PathBuf>,
    state: Mutex<GuardState>,
}

#[derive(Default)]
struct GuardState {
    socket: Option<OwnedFd>,
    /// The process groups of running commands, and whether they may finish without the agent.
    groups: BTreeMap<u32, bool>,
    /// The number of commands that are being started.
    starting: usize,
    /// The lock of a run of states that is under way.
    lock: Option<File>,
}

/// A message: one of these bytes, then a number: of a process group, or a time.
mod word {
    /// A command is about to start, at this time. Its process group is not known yet.
    pub const STARTING: u8 = b'?';
    /// It could not be started.
    pub const FAILED: u8 = b'!';
    pub const STARTED: u8 = b'+';
    pub const FINISHES: u8 = b'=';
    pub const ENDED: u8 = b'-';
    /// Comes with a descriptor of the lock.
    pub const LOCKED: u8 = b'L';
    pub const UNLOCKED: u8 = b'U';
}

impl ChildGuard {
    pub fn new(program: Option<PathBuf>) -> ChildGuard {
        ChildGuard { program, state: Mutex::default() }
    }

    /// A command is about to start. If the agent dies before it can say more, the guard looks for the command.
    pub fn starting(&self) {
        let mut state = self.state();
        state.starting += 1;
        self.tell(&mut state, word::STARTING, now());
    }

    /// It could not be started.
    pub fn failed(&self) {
        let mut state = self.state();
        state.starting = state.starting.saturating_sub(1);
        self.tell(&mut state, word::FAILED, 0);
    }

    /// A command has started; with `finishes` it is not ended if the agent dies, only waited for.
    pub fn started(&self, group: u32, finishes: bool) {
        let mut state = self.state();
        state.groups.insert(group, finishes);
        state.starting = state.starting.saturating_sub(1);
        self.tell(&mut state, started_word(finishes), group);
    }

    /// A command has ended. What it left behind may stay.
    pub fn ended(&self, group: u32) {
        let mut state = self.state();
        state.groups.remove(&group);
        self.tell(&mut state, word::ENDED, group);
    }

    /// A run of states has this lock.
    pub fn locked(&self, lock: &File) {
        let mut state = self.state();
        state.lock = lock.try_clone().ok();
        self.tell(&mut state, word::LOCKED, 0);
    }

    /// The run has ended.
    pub fn unlocked(&self) {
        let mut state = self.state();
        state.lock = None;
        self.tell(&mut state, word::UNLOCKED, 0);
    }

    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message. A guard that is not there, or no longer, is started and told everything.
    fn tell(&self, state: &mut GuardState, word: u8, group: u32) {
        if let Some(socket) = &state.socket {
            if send(socket.as_fd(), word, group, state.lock.as_ref()).is_ok() {
                return;
            }
            state.socket = None;
        }
        let (Some(program), false) = (&self.program, state.groups.is_empty() && state.starting == 0) else { return };
        // Without a guard commands still run; they only outlive a killed agent.
        let Ok(socket) = start(program) else { return };
        let all = state.groups.iter().map(|(group, finishes)| (started_word(*finishes), *group));
        let lock = state.lock.iter().map(|_| (word::LOCKED, 0));
        let starting = (0..state.starting).map(|_| (word::STARTING, now()));
        let told = lock
            .chain(starting)
            .chain(all)
            .try_for_each(|(word, group)| send(socket.as_fd(), word, group, state.lock.as_ref()));
        state.socket = told.is_ok().then_some(socket);
    }
}

fn started_word(finishes: bool) -> u8 {
    if finishes { word::FINISHES } else { word::STARTED }
}

fn start(program: &Path) -> io::Result<OwnedFd> {
    let (ours, its) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let mut command = Command::new(program);
    // A group of its own: a signal to the agent's group does not end it.
    command.arg0("rocksalt-guard").arg(GUARD).current_dir("/").process_group(0);
    let mut child = command.stdin(Stdio::from(its)).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::spawn(move || drop(child.wait()));
    Ok(ours)
}

fn send(socket: BorrowedFd<'_>, word: u8, group: u32, lock: Option<&File>) -> io::Result<()> {
    let number = group.to_le_bytes();
    let bytes = [word, number[0], number[1], number[2], number[3]];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptor = lock.filter(|_| word == word::LOCKED).map(|lock| [lock.as_fd()]);
    if let Some(descriptor) = &descriptor {
        control.push(SendAncillaryMessage::ScmRights(descriptor));
    }
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Runs when a program's first argument is [`GUARD`], until the agent has ended and nothing of it is left.
pub fn guard_children() {
    let (stdin, agent) = (io::stdin(), rustix::process::getppid());
    let (mut groups, mut lock) = (BTreeMap::new(), None);
    // How many commands are being started, and since when.
    let (mut starting, mut since) = (0usize, 0);
    while let Some((word, number, descriptor)) = receive(stdin.as_fd()) {
        match word {
            word::STARTING => {
                if starting == 0 {
                    since = number;
                }
                starting += 1;
            }
            word::FAILED => starting = starting.saturating_sub(1),
            word::STARTED | word::FINISHES => {
                starting = starting.saturating_sub(1);
                groups.insert(number, word == word::FINISHES);
            }
            word::ENDED => drop(groups.remove(&number)),
            word::LOCKED => lock = descriptor,
            _ => lock = None,
        }
    }
    if starting > 0 {
        // A process that ends closes its socket first, and gives its children away last.
        let limit = Instant::now() + GRACE;
        while rustix::process::getppid() == agent && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        groups.extend(orphans(since).into_iter().map(|group| (group, false)));
    }
    end_all(&groups);
    drop(lock);
}

/// The next message; `None` once the agent has ended.
fn receive(socket: BorrowedFd<'_>) -> Option<(u8, u32, Option<OwnedFd>)> {
    let mut bytes = [0; 5];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) if received.bytes == bytes.len() => break,
            Err(rustix::io::Errno::INTR) => {}
            _ => return None,
        }
    }
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let [word, number @ ..] = bytes;
    Some((word, u32::from_le_bytes(number), descriptor))
}

/// Ends the groups, in the end by SIGKILL, and waits for those that may finish.
fn end_all(groups: &BTreeMap<u32, bool>) {
    let with = |wanted| groups.iter().filter(move |(_, finishes)| **finishes == wanted).map(|(group, _)| *group);
    let (mut finishing, mut ending): (BTreeSet<u32>, BTreeSet<u32>) = (with(true).collect(), with(false).collect());
    ending.iter().for_each(|group| signal_group(*group, StopSignal::Term));
    let limit = Instant::now() + GRACE;
    while !ending.is_empty() && Instant::now() < limit {
        keep_running(&mut ending);
    }
    while !ending.is_empty() || !finishing.is_empty() {
        ending.iter().for_each(|group| signal_group(*group, StopSignal::Kill));
        keep_running(&mut ending);
        keep_running(&mut finishing);
    }
}

/// Forgets the groups that have ended, and waits a little if some have not. A process that has ended and that nobody
/// collects, as where there is no process 1 that does, counts as ended.
fn keep_running(groups: &mut BTreeSet<u32>) {
    if groups.is_empty() {
        return;
    }
    let running = process_groups();
    groups.retain(|group| running.contains(group));
    if !groups.is_empty() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The process groups of all running processes.
fn process_groups() -> BTreeSet<u32> {
    processes().map(|process| process.group).collect()
}

/// What the agent started since this time without saying so: the leaders of groups in its session that lost their
/// parent. A command appears here even if it has not begun to be itself yet.
fn orphans(since: u32) -> BTreeSet<u32> {
    let own = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
    let all: Vec<ProcessStat> = processes().collect();
    let session = all.iter().find(|process| process.pid == own).map(|process| process.session);
    let is_orphan = |process: &&ProcessStat| {
        let parent = all.iter().find(|other| other.pid == process.parent);
        process.group == process.pid
            && process.pid != own
            && Some(process.session) == session
            && process.start >= u64::from(since)
            && parent.is_none_or(|parent| Some(parent.session) != session)
    };
    all.iter().filter(is_orphan).map(|process| process.group).collect()
}

/// All processes but those that have ended and that nobody has collected.
fn processes() -> impl Iterator<Item = ProcessStat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| fs::read(entry.path().join("stat")).ok());
    let all = stats.filter_map(|stat| ProcessStat::parse(&String::from_utf8_lossy(&stat)));
    all.filter(|process| !matches!(process.state, 'Z' | 'X'))
}

/// The time since the machine started, in the ticks in which the kernel counts when a process began.
fn now() -> u32 {
    let uptime = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let ticks = i64::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100);
    u32::try_from(uptime.tv_sec * ticks + uptime.tv_nsec * ticks / 1_000_000_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_among_them_and_began_before_now() {
        let own = processes().find(|process| process.pid == std::process::id()).expect("we run");
        assert!(own.start <= u64::from(now()));
        assert!(process_groups().contains(&own.group));
    }
}
