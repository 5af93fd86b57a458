//! [`Repository`]: a signed apt repository of real Debian packages, downloaded once and then served offline.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::base::{cache, fetch, hash, once};
use crate::bed::Bed;
use crate::error::{Error, FileContext};
use crate::process::{listens, poll};
use crate::tool;

/// The repository's address, as all hosts of a bed see it.
const ADDRESS: &str = "10.77.0.1";
const PORT: u16 = 80;

#[derive(Clone, Debug)]
pub struct Repository {
    directory: PathBuf,
}

impl Repository {
    /// Returns the repository of these packages and the dependencies that the base root lacks; creates it if necessary.
    pub fn of(packages: &[&str]) -> Result<Repository, Error> {
        let mut names: Vec<String> = packages.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        let base = crate::base::prepare(crate::HostKind::Debian)?;
        let recipe = format!("1\n{}\n{}", base.display(), names.join(" "));
        let directory = cache()?.join(format!("repository-{}", hash(&recipe)));
        once(&directory, |directory| make(&names, directory))?;
        Ok(Repository { directory })
    }

    /// The repository's public key, as text.
    pub fn key(&self) -> Result<String, Error> {
        let path = self.directory.join("key.asc");
        fs::read_to_string(&path).file("read", &path)
    }

    /// The repository's directory, for a `file:` source.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Serves the repository on the controller's side of a bed's network, until the value is dropped.
    pub fn serve(&self, bed: &Bed) -> Result<RepositoryServer, Error> {
        let mut command = bed.command("busybox");
        command.args(["httpd", "-f", "-p", &format!("{ADDRESS}:{PORT}"), "-h"]).arg(&self.directory);
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = spawned.map_err(|source| Error::Start { program: "busybox httpd".into(), source })?;
        let server = RepositoryServer { child };
        let pid = server.child.id().cast_signed();
        // Before nsenter has entered the namespace, `listens` would see the port in the wrong network.
        let in_lab = || fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"busybox"));
        let up = poll(Duration::from_secs(10), || (in_lab() && listens(pid, PORT)).then_some(()));
        up.map(|()| server)
            .ok_or_else(|| Error::Unsupported(format!("busybox httpd doesn't listen on {ADDRESS}:{PORT}")))
    }
}

/// A repository that is being served.
#[derive(Debug)]
pub struct RepositoryServer {
    child: Child,
}

impl RepositoryServer {
    /// The address to put into `sources.list`, before the suite.
    pub fn url(&self) -> String {
        format!("http://{ADDRESS}/")
    }
}

impl Drop for RepositoryServer {
    fn drop(&mut self) {
        // It is fine if the server has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn make(names: &[String], directory: &Path) -> Result<(), Error> {
    let machine = tool::words(&["dpkg", "--print-architecture"])?.trim().to_owned();
    let list = format!("main/binary-{machine}/Packages");
    let (pool, suite) = (directory.join("pool"), directory.join("dists/bookworm"));
    let index = suite.join(format!("main/binary-{machine}"));
    for place in [&pool, &index] {
        fs::create_dir_all(place).file("create", place)?;
    }
    fetch(names, &pool)?;
    let mut debs: Vec<PathBuf> = fs::read_dir(&pool).file("list", &pool)?.flatten().map(|entry| entry.path()).collect();
    debs.sort();
    let mut packages = String::new();
    for deb in &debs {
        let fields = tool::run(Command::new("dpkg-deb").arg("--field").arg(deb))?;
        let bytes = fs::read(deb).file("read", deb)?;
        let name = deb.file_name().unwrap_or_default().to_string_lossy();
        // Writing to a string can't fail.
        let _ = writeln!(
            packages,
            "{}\nFilename: pool/{name}\nSize: {}\nSHA256: {}\n",
            fields.trim_end(),
            bytes.len(),
            sum(&bytes)
        );
    }
    write(&suite.join(&list), &packages)?;
    let date = tool::words(&["date", "--utc", "--rfc-email"])?;
    let release = format!(
        "Origin: testbed\nLabel: testbed\nSuite: bookworm\nCodename: bookworm\nDate: {}\nArchitectures: {machine}\n\
         Components: main\nSHA256:\n {} {} {list}\n",
        date.trim().replace("+0000", "UTC"),
        sum(packages.as_bytes()),
        packages.len()
    );
    let release_path = suite.join("Release");
    write(&release_path, &release)?;
    sign(directory, &release_path)
}

/// Signs the release file with a key that is deleted afterwards.
fn sign(directory: &Path, release: &Path) -> Result<(), Error> {
    let home = tempfile::tempdir().file("create a directory in", std::env::temp_dir())?;
    let gpg = || {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(home.path()).args(["--batch", "--quiet", "--no-tty"]);
        command
    };
    let who = "Testbed <testbed@localhost>";
    tool::run(gpg().args(["--passphrase", "", "--quick-generate-key", who, "rsa2048", "sign", "never"]))?;
    tool::run(gpg().args(["--armor", "--output"]).arg(directory.join("key.asc")).args(["--export", who]))?;
    tool::run(
        gpg().args(["--armor", "--clearsign", "--output"]).arg(release.with_file_name("InRelease")).arg(release),
    )?;
    // Stops the agent that gpg started, which would keep the directory in use.
    tool::run(Command::new("gpgconf").arg("--homedir").arg(home.path()).args(["--kill", "all"])).map(drop)
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).file("write", path)
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
