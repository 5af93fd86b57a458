//! `x509.private_key_managed` and `x509.pem_managed`.

use std::path::Path;

use rocksalt_core::{Map, Value};
use rocksalt_macros::state;
use serde::{Deserialize, Serialize};

use super::super::file::Flag;
use super::super::{Decision, State, Step, Thing, Touches, Verdict};
use super::functions::entry;
use super::key::{self, KeySource};
use super::managed::mode;
use super::openssl::OpensslCommand;
use super::place::TargetFile;
use crate::catalog::Plan;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// Makes sure that there is a private key. It is never shown.
///
/// ```yaml
/// /etc/ssl/private/web.key:
///   x509.private_key_managed:
///     - algo: ec
///     - user: www-data
/// ```
#[state("x509.private_key_managed")]
#[allow(dead_code, reason = "some arguments are accepted only for compatibility with Salt")]
pub struct PrivateKeyManaged {
    /// The file.
    name: String,
    /// `rsa`, `ec`, `ed25519` or `ed448`.
    algo: Option<String>,
    /// 2048 and more for `rsa`; 256, 384 or 521 for `ec`.
    keysize: Option<u64>,
    /// As `keysize`.
    bits: Option<u64>,
    /// A pass phrase to encrypt it with.
    #[secret]
    passphrase: Option<String>,
    /// Only `pem`.
    encoding: Option<String>,
    /// Always make a new one.
    new: Flag,
    /// Replace a file that is no key, or can't be read with the pass phrase.
    overwrite: Flag,
    /// The file's owner.
    user: Value,
    /// The file's group.
    group: Value,
    /// Its permissions; by default 0400.
    mode: Value,
    /// Create parent directories.
    makedirs: Flag,
}

/// The required change of the key.
#[derive(Serialize, Deserialize)]
pub struct KeyPlan {
    make: Make,
    done: Verdict,
}

#[derive(Serialize, Deserialize)]
enum Make {
    Nothing,
    New,
    /// Keeps the key, and changes its pass phrase.
    Encrypt,
}

impl State for PrivateKeyManaged {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let fail = |text: String| Ok(Decision::Settled(Verdict::bad(text)));
        let place = self.place()?;
        if let Some(text) = place.fault(machine, step.test) {
            return fail(text);
        }
        if self.encoding.as_deref().unwrap_or("pem") != "pem" {
            return fail("Only the encoding pem is supported for private keys".into());
        }
        let (algo, wanted) = (self.algo(), self.keysize.or(self.bits));
        if wanted.is_some() && algo.starts_with("ed") {
            return fail(format!("keysize is an invalid parameter for {algo}"));
        }
        let there = place.stat(machine).is_some();
        let (mut changes, mut make) = (Map::new(), Make::New);
        if !there {
            changes.insert("created", self.name.as_str());
        } else if self.new.0 {
            changes.insert("replaced", self.name.as_str());
        } else {
            match self.current(machine)? {
                Ok((kind, superfluous)) => {
                    let size = wanted.unwrap_or(if algo == "rsa" { 2048 } else { 256 });
                    if kind.algo != algo {
                        changes.insert("algo", algo);
                    } else if matches!(algo, "rsa" | "ec") && kind.size != size {
                        changes.insert("keysize", i64::try_from(size).unwrap_or_default());
                    } else {
                        make = if superfluous { Make::Encrypt } else { Make::Nothing };
                    }
                    if superfluous {
                        changes.insert("passphrase", true);
                    }
                }
                Err(_) if self.overwrite.0 => {
                    changes.insert("created", self.name.as_str());
                }
                Err(text) => return fail(text),
            }
        }
        if changes.is_empty() {
            let good = Verdict::good("The private key is in the correct state");
            let decided = place.plan(machine, None, good.clone(), good.clone())?;
            return decided.map(|_| KeyPlan { make: Make::Nothing, done: good }).into_plan();
        }
        let verb = if there { "recreated" } else { "created" };
        let done = Verdict::good(format!("The private key has been {verb}")).changes(changes.clone());
        let dry = Verdict::would(format!("The private key would have been {verb}")).changes(changes);
        Decision::own(&KeyPlan { make, done }, dry)
    }

    fn apply(&self, plan: Plan, machine: &dyn System, _: &Step<'_>) -> Result<Verdict> {
        let plan: KeyPlan = plan.into_own()?;
        let content = match plan.make {
            Make::Nothing => None,
            Make::New => {
                let size = self.keysize.or(self.bits);
                Some(key::create(machine, self.algo(), size, self.passphrase.as_deref())?.into_bytes())
            }
            Make::Encrypt => {
                let run = OpensslCommand::new(["pkey", "-in", &self.name, "-aes-256-cbc"]);
                Some(run.pass("-passout", self.passphrase.as_deref()).make(machine)?)
            }
        };
        match self.place()?.plan(machine, content, plan.done, Verdict::default())? {
            Decision::Settled(verdict) => Ok(verdict),
            Decision::Change(plan, _) => plan.carry_out(machine),
        }
    }

    fn touches(&self) -> Touches {
        Touches::nothing().writes(Thing::Path(self.name.clone()))
    }
}

impl PrivateKeyManaged {
    fn algo(&self) -> &str {
        self.algo.as_deref().unwrap_or("rsa")
    }

    fn place(&self) -> Result<TargetFile<'_>> {
        Ok(TargetFile {
            path: &self.name,
            user: &self.user,
            group: &self.group,
            mode: Some(mode(&self.mode)?.unwrap_or(0o400)),
            makedirs: self.makedirs.0,
            default: 0o400,
        })
    }

    /// The kind of the existing key, and whether it lacks the pass phrase; Salt's text if it can't be read.
    fn current(&self, machine: &dyn Probe) -> Result<Result<(key::KeyAlgorithm, bool), String>> {
        let content = machine.read(Path::new(&self.name)).map_err(|error| Error::io("read", &self.name, &error))?;
        let text = String::from_utf8_lossy(&content);
        let encrypted = text.contains("ENCRYPTED");
        let with = |passphrase| KeySource { place: &self.name, passphrase }.kind(machine);
        if !text.contains("PRIVATE KEY-----") {
            return Ok(Err(
                "The existing file does not seem to be a private key formatted as DER, PEM or embedded in \
                           PKCS12. Pass overwrite: true to force regeneration"
                    .into(),
            ));
        }
        Ok(match (encrypted, self.passphrase.as_deref()) {
            (true, None) => Err("The existing file is encrypted. Pass overwrite: true to force regeneration without \
                                 passphrase"
                .into()),
            (true, Some(phrase)) => match with(Some(phrase)) {
                Ok(kind) => Ok((kind, false)),
                Err(_) => Err("The provided passphrase cannot decrypt the private key. Pass overwrite: true to force \
                               regeneration"
                    .into()),
            },
            (false, phrase) => match with(None) {
                Ok(kind) => Ok((kind, phrase.is_some())),
                Err(error) => Err(error.to_string()),
            },
        })
    }
}

/// Makes sure that a file has one PEM text in it, well formed.
///
/// ```yaml
/// /etc/ssl/ca.crt:
///   x509.pem_managed:
///     - text: {{ salt['pillar.get']('ca') | yaml_encode }}
/// ```
#[state("x509.pem_managed", required("text"))]
pub struct PemManaged {
    /// The file.
    name: String,
    /// The text, or the path of a file with it.
    text: String,
    /// The file's owner.
    user: Value,
    /// The file's group.
    group: Value,
    /// Its permissions.
    mode: Value,
    /// Create parent directories.
    makedirs: Flag,
}

impl State for PemManaged {
    fn plan(&self, machine: &dyn Probe, step: &Step<'_>) -> Result<Decision> {
        let text = match entry(machine, &self.text, None) {
            Ok(text) => text,
            Err(error) => return Ok(Decision::Settled(Verdict::bad(error.to_string()))),
        };
        let place = TargetFile {
            path: &self.name,
            user: &self.user,
            group: &self.group,
            mode: mode(&self.mode)?,
            makedirs: self.makedirs.0,
            default: if text.contains("PRIVATE KEY") { 0o600 } else { 0o644 },
        };
        if let Some(text) = place.fault(machine, step.test) {
            return Ok(Decision::Settled(Verdict::bad(text)));
        }
        let name = &self.name;
        let old = machine.read(Path::new(name)).ok();
        if old.as_deref() == Some(text.as_bytes()) {
            let good = Verdict::good(format!("File {name} is in the correct state"));
            return place.plan(machine, None, good.clone(), good);
        }
        // Neither keys nor their differences are shown.
        let what = if old.is_some() { ("diff", "The text differs") } else { ("diff", "New file") };
        let done = Verdict::good(format!("File {name} updated")).change(what.0, what.1);
        let dry = Verdict::would(format!("The file {name} is set to be changed")).change(what.0, what.1);
        place.plan(machine, Some(text.into_bytes()), done, dry)
    }

    fn touches(&self) -> Touches {
        let touches = Touches::nothing().writes(Thing::Path(self.name.clone()));
        if self.text.starts_with('/') { touches.reads(Thing::Path(self.text.clone())) } else { touches }
    }
}
