//! [`Bed`]: a set of throw-away hosts on a private network.

mod host;
mod leftovers;
mod network;

use std::collections::{BTreeMap, btree_map};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

pub use host::Host;
pub use leftovers::{remove_all, remove_stale};

use crate::base;
use crate::error::{Error, FileContext};
use crate::host::{HostKind, INIT, Layer, POWER, Quirk, Spec, write_layer};
use crate::keys::{self, SshKeyPair};
use crate::process::Identity;
use crate::roster::TestbedEntry;
use network::Network;

/// A start takes far less on a working machine, but a loaded one with two cores needs some of it.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Running hosts. The bed of a test is removed when it is dropped; that of `rocksalt-testbed up` stays.
#[derive(Debug)]
pub struct Bed {
    state: BedState,
    directory: PathBuf,
    /// The hosts' processes, killed when the bed is dropped; empty for a bed that another process started.
    supervisors: Vec<Child>,
    goes_when_dropped: bool,
}

/// The state of a bed that the next process needs.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct BedState {
    name: String,
    hosts: Vec<Host>,
    user_key: SshKeyPair,
}

impl Bed {
    /// Starts hosts that run until the value is dropped.
    pub fn start(specs: &[Spec]) -> Result<Bed, Error> {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{}-{number}", std::process::id());
        Bed::up(&name, specs, Identity::own())
    }

    /// Like [`start`](Bed::start), for a test: where hosts can't run, it reports why and returns `None`, and the test
    /// should end.
    ///
    /// # Panics
    /// If hosts can run here and don't start.
    #[track_caller]
    pub fn start_or_skip(specs: &[Spec]) -> Option<Bed> {
        if let Some(reason) = crate::cannot_run_hosts() {
            crate::say_skipped(&reason);
            return None;
        }
        match Bed::start(specs) {
            Ok(bed) => Some(bed),
            Err(error) => panic!("the bed doesn't start: {error} ({error:?})"),
        }
    }

    /// Starts hosts that outlive this process. The name is needed to find them again.
    pub fn start_lasting(name: &str, specs: &[Spec]) -> Result<Bed, Error> {
        Bed::up(name, specs, None)
    }

    /// Opens a running bed.
    pub fn open(name: &str) -> Result<Bed, Error> {
        let directory = leftovers::directory(name)?;
        let path = directory.join("bed.json");
        let text = fs::read_to_string(&path).map_err(|_| Error::NoBed(name.into()))?;
        let state = serde_json::from_str(&text).map_err(std::io::Error::from).file("read", &path)?;
        Ok(Bed { state, directory, supervisors: Vec::new(), goes_when_dropped: false })
    }

    /// Stops the bed of this name and removes its files. It is fine if there is no such bed.
    pub fn remove(name: &str) -> Result<(), Error> {
        leftovers::remove(name)
    }

    pub fn hosts(&self) -> &[Host] {
        &self.state.hosts
    }

    /// Returns a host by its number; the first is 1.
    pub fn host(&self, number: usize) -> Result<&Host, Error> {
        let host = number.checked_sub(1).and_then(|index| self.state.hosts.get(index));
        host.ok_or(Error::NoHost { bed: self.state.name.clone(), number, count: self.state.hosts.len() })
    }

    /// A command to run on the controller's side of the bed's network.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.network().lab())).arg("--").arg(program);
        command
    }

    /// The private key that logs in as any user on any host.
    pub fn user_key(&self) -> &Path {
        &self.state.user_key.private
    }

    /// A private key that is authorised only by its certificate, which is in the file beside it (`-cert.pub`).
    pub fn certified_key(&self) -> PathBuf {
        self.directory.join("certified")
    }

    /// The `known_hosts` file with all host keys from the start; for hosts with a certificate, only the authority.
    pub fn known_hosts(&self) -> PathBuf {
        self.directory.join("known_hosts")
    }

    /// A roster entry for a host: root with the bed's key, and known host keys.
    pub fn entry(&self, number: usize) -> Result<TestbedEntry, Error> {
        let host = self.host(number)?;
        let entry = TestbedEntry::new(host.id(), host.address.clone()).set("user", "root");
        let entry = entry.set("priv", self.user_key().display().to_string());
        Ok(entry.set("known_hosts", self.known_hosts().display().to_string()))
    }

    /// Roster entries for all hosts.
    pub fn entries(&self) -> Result<Vec<TestbedEntry>, Error> {
        (1..=self.hosts().len()).map(|number| self.entry(number)).collect()
    }

    /// Cuts a host off the network: packets vanish, no connection is closed.
    pub fn cut(&self, number: usize) -> Result<(), Error> {
        self.network().connect(self.host(number)?, false)
    }

    /// Undoes [`cut`](Bed::cut).
    pub fn heal(&self, number: usize) -> Result<(), Error> {
        self.network().connect(self.host(number)?, true)
    }

    /// The number of accepted logins of each host.
    pub fn logins(&self) -> Vec<usize> {
        self.hosts().iter().map(Host::logins).collect()
    }

    fn network(&self) -> Network<'_> {
        Network { bed: &self.state.name }
    }

    fn up(name: &str, specs: &[Spec], owner: Option<Identity>) -> Result<Bed, Error> {
        if let Some(reason) = crate::cannot_run_hosts() {
            return Err(Error::Unsupported(reason));
        }
        remove_stale()?;
        let bases = Bases::prepare(specs)?;
        let user_key = keys::kept("user")?;
        let authority = keys::kept("authority")?;
        let directory = leftovers::claim(name, owner)?;
        let hosts = specs.iter().enumerate().map(|(index, spec)| Host::planned(index + 1, spec, &directory)).collect();
        let state = BedState { name: name.into(), hosts, user_key };
        // From here on, dropping the bed cleans up after an error.
        let mut bed = Bed { state, directory, supervisors: Vec::new(), goes_when_dropped: true };
        bed.network().create(&bed.state.hosts)?;
        bed.start_hosts(&bases, &authority)?;
        bed.write_known_hosts(&authority)?;
        bed.write_certified_key(&authority)?;
        let text = serde_json::to_string_pretty(&bed.state).map_err(std::io::Error::from);
        let path = bed.directory.join("bed.json");
        text.and_then(|text| fs::write(&path, text)).file("write", &path)?;
        bed.goes_when_dropped = owner.is_some();
        Ok(bed)
    }

    /// Starts all hosts, a few at a time: a start is mostly work of the kernel and the disk.
    fn start_hosts(&mut self, bases: &Bases, authority: &SshKeyPair) -> Result<(), Error> {
        let started = Mutex::new(Vec::new());
        let first_error = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let (hosts, user_key, network) = (&self.state.hosts, &self.state.user_key, self.network());
        thread::scope(|scope| {
            for _ in 0..hosts.len().min(8) {
                scope.spawn(|| {
                    while let Some(host) = hosts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let result = start_host(host, &network, bases.of(&host.spec), user_key, authority);
                        match result {
                            Ok(child) => started.lock().expect("no thread panics").push((host.number, child)),
                            Err(error) => *first_error.lock().expect("no thread panics") = Some(error),
                        }
                    }
                });
            }
        });
        let started = started.into_inner().expect("no thread panics");
        for (number, child) in started {
            self.state.hosts[number - 1].supervisor = Identity::of(child.id().cast_signed());
            self.supervisors.push(child);
        }
        if let Some(error) = first_error.into_inner().expect("no thread panics") {
            return Err(error);
        }
        self.state.hosts.iter().try_for_each(|host| host.wait_until_up(START_LIMIT))
    }

    fn write_known_hosts(&self, authority: &SshKeyPair) -> Result<(), Error> {
        let mut lines = String::new();
        if self.hosts().iter().any(|host| host.spec.has(Quirk::HostCertificate)) {
            lines.push_str(&format!("@cert-authority * {}\n", authority.public_text()?));
        }
        for host in self.hosts().iter().filter(|host| !host.spec.has(Quirk::HostCertificate)) {
            let key = keys::kept(&host.key_name())?.public_text()?;
            let names: Vec<String> = [host.id()].into_iter().chain(host.addresses()).collect();
            lines.push_str(&format!("{} {key}\n", names.join(",")));
        }
        let path = self.known_hosts();
        fs::write(&path, lines).file("write", &path)
    }

    fn write_certified_key(&self, authority: &SshKeyPair) -> Result<(), Error> {
        if self.hosts().iter().any(|host| host.spec.has(Quirk::UserCertificate)) {
            let key = keys::generate(&self.certified_key())?;
            keys::sign(authority, &key, false, &["root", "deploy", "ops", "nosudo"])?;
        }
        Ok(())
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if !self.goes_when_dropped {
            return;
        }
        for child in &mut self.supervisors {
            // It is fine if the process has already exited.
            let _ = child.kill();
        }
        for child in &mut self.supervisors {
            let _ = child.wait();
        }
        // If something can't be removed now, the next bed removes it.
        let _ = leftovers::remove(&self.state.name);
    }
}

/// The base roots of the requested kinds, and the layers with further packages.
struct Bases {
    roots: BTreeMap<HostKind, PathBuf>,
    extras: BTreeMap<Vec<String>, PathBuf>,
}

impl Bases {
    fn prepare(specs: &[Spec]) -> Result<Bases, Error> {
        let mut bases = Bases { roots: BTreeMap::new(), extras: BTreeMap::new() };
        for spec in specs {
            if let btree_map::Entry::Vacant(place) = bases.roots.entry(spec.kind) {
                place.insert(base::prepare(spec.kind)?);
            }
            if !spec.packages.is_empty()
                && let btree_map::Entry::Vacant(place) = bases.extras.entry(spec.packages.clone())
            {
                place.insert(base::prepare_extra(spec.kind, &spec.packages)?);
            }
        }
        Ok(bases)
    }

    fn of(&self, spec: &Spec) -> (&Path, Option<&Path>) {
        let root = self.roots.get(&spec.kind).expect("prepared for every kind of the specs");
        (root, self.extras.get(&spec.packages).map(PathBuf::as_path))
    }
}

fn start_host(
    host: &Host,
    network: &Network<'_>,
    (base, extra): (&Path, Option<&Path>),
    user_key: &SshKeyPair,
    authority: &SshKeyPair,
) -> Result<Child, Error> {
    let directory = &host.directory;
    fs::create_dir_all(directory).file("create", directory)?;
    let (id, address) = (host.id(), &host.address);
    let host_key = keys::kept(&host.key_name())?;
    let layer = Layer { spec: &host.spec, hostname: &id, address, host_key: &host_key, user_key, authority };
    write_layer(&layer, &directory.join("layer"))?;
    let log_path = directory.join("log");
    let log = File::create(&log_path).file("create", &log_path)?;
    let error_log = log.try_clone().file("open", &log_path)?;

    let mut command = Command::new("sh");
    command.args(["-c", "if [ -n \"$CGROUP\" ]; then echo $$ >\"$CGROUP/cgroup.procs\"; fi; exec \"$@\"", "sh"]);
    command.args(["nsenter", &format!("--net=/run/netns/{}", network.of(host)), "--"]);
    if host.spec.kind == HostKind::Systemd {
        command.args(["unshare", "--mount", "sh", "-c", POWER, "sh"]).arg(directory);
    }
    command.args(["unshare", "--mount", "--uts", "--pid", "--ipc", "--fork", "--kill-child=KILL"]);
    command.env_remove("CGROUP");
    if host.spec.kind == HostKind::Systemd {
        let group = leftovers::control_group(&network.of(host))?;
        fs::create_dir_all(&group).file("create", &group)?;
        command.arg("--cgroup").env("CGROUP", group);
    }
    // The clock is shared with the machine, so hosts must not set it. Even the first `set-timezone` would.
    command.args(["setpriv", "--bounding-set", "-sys_time"]);
    command.args(["sh", "-c", INIT, "sh"]).arg(directory).arg(base).args([&id, &host.prefixed_addresses()]);
    command.args(extra);
    // Its own process group keeps a Ctrl-C at the terminal from reaching the hosts.
    command.stdin(Stdio::null()).stdout(log).stderr(error_log).process_group(0);
    let child = command.spawn().map_err(|source| Error::Start { program: "unshare".into(), source })?;
    let identity = serde_json::to_string(&Identity::of(child.id().cast_signed())).map_err(std::io::Error::from);
    let pid = directory.join("pid");
    identity.and_then(|identity| fs::write(&pid, identity)).file("write", &pid)?;
    Ok(child)
}
