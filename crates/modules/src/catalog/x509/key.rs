//! Private keys: reading, identifying and creating them.

use super::openssl::OpensslCommand;
use super::parsed::pem;
use crate::machine::{Probe, System};
use crate::{Error, Result};

/// A key of this machine, as a path or as a text.
pub struct KeySource<'a> {
    pub place: &'a str,
    pub passphrase: Option<&'a str>,
}

/// The kind of a key.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyAlgorithm {
    pub algo: &'static str,
    /// Only meaningful for `rsa` and `ec`.
    pub size: u64,
}

impl KeySource<'_> {
    /// Adds the key to a run as the value of an option, with its pass phrase.
    pub fn add(&self, run: OpensslCommand, option: &str, pass: &str, name: &str) -> OpensslCommand {
        let run = match self.place.contains("-----BEGIN") {
            true => run.and([option, name]).part(name, self.place),
            false => run.and([option, self.place]),
        };
        run.pass(pass, self.passphrase)
    }

    /// The public key as a PEM text.
    pub fn public(&self, machine: &dyn Probe) -> Result<String> {
        let run = self.add(OpensslCommand::new(["pkey", "-pubout"]), "-in", "-passin", "key");
        // openssl must not prompt for a pass phrase.
        let run = if self.passphrase.is_none() { run.and(["-passin", "pass:"]) } else { run };
        Ok(String::from_utf8_lossy(&run.output(machine)?).into_owned())
    }

    pub fn kind(&self, machine: &dyn Probe) -> Result<KeyAlgorithm> {
        let public = self.public(machine)?;
        kind(machine, &public)
    }
}

/// The kind of a public key.
pub fn kind(machine: &dyn Probe, public: &str) -> Result<KeyAlgorithm> {
    let run = OpensslCommand::new(["pkey", "-pubin", "-noout", "-text_pub"]).stdin(public.as_bytes().to_vec());
    let text = String::from_utf8_lossy(&run.output(machine)?).into_owned();
    let first = text.lines().next().unwrap_or_default();
    let size = first.split(|letter: char| !letter.is_ascii_digit()).find_map(|digits| digits.parse().ok()).unwrap_or(0);
    let algo = match first {
        line if line.starts_with("ED25519") => "ed25519",
        line if line.starts_with("ED448") => "ed448",
        _ if text.contains("Modulus:") => "rsa",
        _ if text.contains("NIST CURVE") || text.contains("ASN1 OID") => "ec",
        other => return Err(Error::failed(format!("'{other}' is a kind of key that is not known"))),
    };
    Ok(KeyAlgorithm { algo, size })
}

/// Creates a new key, and returns it as text. It is stored nowhere else.
pub fn create(machine: &dyn System, algo: &str, keysize: Option<u64>, passphrase: Option<&str>) -> Result<String> {
    let run = OpensslCommand::new(["genpkey", "-quiet", "-algorithm"]);
    let run = match algo {
        "rsa" => run.and(["RSA", "-pkeyopt", &format!("rsa_keygen_bits:{}", keysize.unwrap_or(2048))]),
        "ec" => {
            let curve = match keysize.unwrap_or(256) {
                256 => "P-256",
                384 => "P-384",
                521 => "P-521",
                other => {
                    return Err(Error::arguments(format!(
                        "Invalid keysize {other} for EC private keys; valid are 256, 384 and 521"
                    )));
                }
            };
            run.and(["EC", "-pkeyopt", &format!("ec_paramgen_curve:{curve}"), "-pkeyopt", "ec_param_enc:named_curve"])
        }
        "ed25519" | "ed448" if keysize.is_some() => {
            return Err(Error::arguments(format!("keysize is an invalid parameter for {algo}")));
        }
        "ed25519" => run.and(["ED25519"]),
        "ed448" => run.and(["ED448"]),
        other => {
            return Err(Error::arguments(format!(
                "Invalid algorithm specified for generating private key: {other}. Valid: rsa, ec, ed25519, ed448"
            )));
        }
    };
    let run = if passphrase.is_some() { run.and(["-aes-256-cbc"]) } else { run };
    let made = run.pass("-pass", passphrase).make(machine)?;
    Ok(String::from_utf8_lossy(&made).into_owned())
}

/// The public key of a certificate or request, as a PEM text.
pub fn public_pem(public_key: &[u8]) -> String {
    pem("PUBLIC KEY", public_key)
}
