//! Runs throw-away hosts from the command line: `rocksalt-testbed up 3`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use clap::{Parser, Subcommand};
use rocksalt_testkit::{
    Bed, Error, Host, HostKind, Loopback, Mount, Quirk, Repository, Spec, TestbedEntry, prepare_base, prepare_extra,
    remove_stale, roster,
};

/// Hosts with real SSH servers on this machine, in their own namespaces. Needs root.
#[derive(Parser)]
#[command(name = "rocksalt-testbed")]
struct Options {
    /// The bed's name; several beds can be up at once.
    #[arg(long, global = true, default_value = "default")]
    bed: String,
    #[command(subcommand)]
    command: TestbedCommand,
}

#[derive(Subcommand)]
enum TestbedCommand {
    /// Build the base roots of all kinds of hosts, if they don't exist.
    Base,
    /// Start hosts: h1, h2, …
    Up(Up),
    /// Stop all hosts of the bed, and remove what dead test runs have left.
    Down,
    /// Take a host off the network.
    Cut { number: usize },
    /// Connect a host to the network again.
    Heal { number: usize },
    /// Run shell lines on a host as root, without a login and without the network.
    Sh {
        number: usize,
        /// Read from stdin if missing.
        lines: Option<String>,
    },
    /// Print the directory of an apt repository with these packages and their dependencies; creates it if necessary.
    Repository {
        #[arg(required = true)]
        packages: Vec<String>,
    },
    /// Print for each host the process that the host ends with.
    Pids,
    /// Print the path at which this machine sees a host's root.
    Root { number: usize },
    /// Print a host's address.
    Ip { number: usize },
    /// Replace a host's key.
    Rekey { number: usize },
    /// Print the number of accepted logins of each host.
    Logins,
    /// Print the log of a host's SSH server.
    Log { number: usize },
    /// Print a roster of all hosts.
    Roster {
        /// The user to log in as: root, deploy (sudo with a password), ops (sudo without), nosudo.
        #[arg(long, default_value = "root")]
        user: String,
    },
    /// Run a command on the controller's side of the bed's network.
    Exec {
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
    /// Log in to a host as root with the system's ssh.
    Ssh {
        number: usize,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Run SSH servers on loopback, without root, until stdin ends. A line `stop 3` stops one of them.
    Loopback {
        count: usize,
        /// The file for the roster, written when all servers are up.
        #[arg(long, value_name = "FILE")]
        roster: PathBuf,
    },
    /// Stop the hosts of all beds and delete everything kept: base roots, keys.
    Clean,
    /// List the quirks that a host can have.
    Quirks,
}

#[derive(clap::Args)]
struct Up {
    count: usize,
    /// The kind of the hosts: busybox, debian or systemd.
    #[arg(long, default_value = "debian")]
    kind: String,
    /// A further Debian package for their roots; can be repeated.
    #[arg(long = "package", value_name = "NAME")]
    packages: Vec<String>,
    /// A directory of this machine that they see read-only: FROM:AT; can be repeated.
    #[arg(long = "mount", value_name = "FROM:AT")]
    mounts: Vec<String>,
    /// A quirk of all the hosts (see `quirks`); can be repeated.
    #[arg(long = "quirk")]
    quirks: Vec<String>,
    /// Also write a roster with this user to a file.
    #[arg(long, value_name = "FILE")]
    roster: Option<PathBuf>,
    #[arg(long, default_value = "root")]
    user: String,
}

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rocksalt-testbed: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<(), Error> {
    let name = &options.bed;
    match options.command {
        TestbedCommand::Base => HostKind::ALL.into_iter().try_for_each(|kind| prepare_base(kind).map(drop)),
        TestbedCommand::Up(up) => start(name, &up),
        TestbedCommand::Down => remove_stale().and_then(|()| Bed::remove(name)),
        TestbedCommand::Cut { number } => Bed::open(name)?.cut(number),
        TestbedCommand::Heal { number } => Bed::open(name)?.heal(number),
        TestbedCommand::Rekey { number } => Bed::open(name)?.host(number)?.change_host_key(),
        TestbedCommand::Ip { number } => {
            println!("{}", Bed::open(name)?.host(number)?.address);
            Ok(())
        }
        TestbedCommand::Sh { number, lines } => {
            let lines = lines.map_or_else(read_stdin, Ok)?;
            print!("{}", Bed::open(name)?.host(number)?.run(&lines)?);
            Ok(())
        }
        TestbedCommand::Repository { packages } => {
            let names: Vec<&str> = packages.iter().map(String::as_str).collect();
            println!("{}", Repository::of(&names)?.path().display());
            Ok(())
        }
        TestbedCommand::Pids => {
            let bed = Bed::open(name)?;
            bed.hosts().iter().filter_map(Host::pid).for_each(|pid| println!("{pid}"));
            Ok(())
        }
        TestbedCommand::Root { number } => print_root(Bed::open(name)?.host(number)?),
        TestbedCommand::Logins => {
            let bed = Bed::open(name)?;
            bed.hosts().iter().for_each(|host| println!("{} {}", host.id(), host.logins()));
            Ok(())
        }
        TestbedCommand::Log { number } => {
            print!("{}", Bed::open(name)?.host(number)?.log());
            Ok(())
        }
        TestbedCommand::Roster { user } => {
            print!("{}", roster(&entries(&Bed::open(name)?, &user)?));
            Ok(())
        }
        TestbedCommand::Exec { command } => {
            let bed = Bed::open(name)?;
            replace(bed.command(&command[0]).args(&command[1..]))
        }
        TestbedCommand::Ssh { number, command } => ssh(&Bed::open(name)?, number, &command),
        TestbedCommand::Loopback { count, roster } => loopback(count, &roster),
        TestbedCommand::Clean => rocksalt_testkit::remove_all(),
        TestbedCommand::Quirks => {
            Quirk::ALL.iter().for_each(|quirk| println!("{:22} {}", quirk.name(), quirk.about()));
            Ok(())
        }
    }
}

fn read_stdin() -> Result<String, Error> {
    std::io::read_to_string(std::io::stdin()).map_err(|source| Error::File {
        doing: "read",
        path: "/dev/stdin".into(),
        source,
    })
}

fn start(name: &str, up: &Up) -> Result<(), Error> {
    let unknown = |what: &str, name: &str| Error::Unsupported(format!("there is no {what} named {name:?}"));
    let kind = HostKind::named(&up.kind).ok_or_else(|| unknown("kind of host", &up.kind))?;
    let quirks = up.quirks.iter().map(|name| Quirk::named(name).ok_or_else(|| unknown("quirk", name)));
    let mounts = up.mounts.iter().map(|text| {
        let (from, at) = text.split_once(':').ok_or_else(|| Error::Unsupported(format!("{text:?} isn't FROM:AT")))?;
        Ok(Mount { from: from.into(), at: at.into() })
    });
    let (quirks, mounts) = (quirks.collect::<Result<_, _>>()?, mounts.collect::<Result<_, Error>>()?);
    let spec = Spec { kind, quirks, behind: None, packages: up.packages.clone(), mounts };
    // The base roots may take a minute the first time, which is not part of the measurement.
    prepare_base(kind)?;
    if !up.packages.is_empty() {
        prepare_extra(kind, &up.packages)?;
    }
    let started = Instant::now();
    let bed = Bed::start_lasting(name, &vec![spec; up.count])?;
    eprintln!("{} hosts up in {:.1} s", bed.hosts().len(), started.elapsed().as_secs_f64());
    if let Some(path) = &up.roster {
        write_roster(path, &entries(&bed, &up.user)?)?;
    }
    Ok(())
}

fn print_root(host: &Host) -> Result<(), Error> {
    let root = host.file("").ok_or_else(|| Error::Unsupported(format!("host {} has ended", host.id())))?;
    println!("{}", root.display());
    Ok(())
}

fn ssh(bed: &Bed, number: usize, command: &[String]) -> Result<(), Error> {
    let known = format!("UserKnownHostsFile={}", bed.known_hosts().display());
    let mut ssh = bed.command("ssh");
    ssh.args(["-o", &known, "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=5", "-i"]).arg(bed.user_key());
    replace(ssh.arg(format!("root@{}", bed.host(number)?.address)).args(command))
}

fn loopback(count: usize, roster: &Path) -> Result<(), Error> {
    let mut loopback = Loopback::start(count)?;
    write_roster(roster, &loopback.entries())?;
    for line in std::io::stdin().lines().map_while(Result::ok) {
        match line.strip_prefix("stop ").and_then(|number| number.trim().parse().ok()) {
            Some(number) => loopback.stop(number),
            None => eprintln!("rocksalt-testbed: {line:?} isn't `stop NUMBER`"),
        }
    }
    Ok(())
}

/// Writes the roster atomically: somebody may be waiting for it.
fn write_roster(path: &Path, entries: &[TestbedEntry]) -> Result<(), Error> {
    let temporary = path.with_extension("new");
    let written = std::fs::write(&temporary, roster(entries)).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|source| Error::File { doing: "write the roster", path: path.to_owned(), source })
}

fn entries(bed: &Bed, user: &str) -> Result<Vec<TestbedEntry>, Error> {
    let as_user = |entry: TestbedEntry| match user {
        "root" => entry,
        "deploy" => entry.set("user", user).set("sudo", "True").set("sudo_passwd", rocksalt_testkit::password_of(user)),
        "nosudo" => entry.set("user", user),
        _ => entry.set("user", user).set("sudo", "True"),
    };
    Ok(bed.entries()?.into_iter().map(as_user).collect())
}

/// Replaces this process by the command; returns only if the command can't be started.
fn replace(command: &mut Command) -> Result<(), Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Error::Start { program, source: command.exec() })
}
