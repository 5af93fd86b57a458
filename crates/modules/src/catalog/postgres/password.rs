//! Passwords of roles: creates and checks the verifiers that the server stores, so that no password is transmitted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::text::digest::{DigestAlgorithm, raw};
use crate::{Error, Result};

/// How a password is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordEncryption {
    Md5,
    Scram,
    /// The server chooses; it gets the password itself.
    Plain,
}

const SCRAM: &str = "SCRAM-SHA-256$";
/// PostgreSQL's own number.
const ROUNDS: u32 = 4096;

/// Whether the server's verifier matches this password, which may be a verifier itself.
pub fn fits(role: &str, password: &str, verifier: &str, method: Option<PasswordEncryption>) -> bool {
    if verifier.is_empty() {
        return false;
    }
    let kept = if verifier.starts_with(SCRAM) { PasswordEncryption::Scram } else { PasswordEncryption::Md5 };
    if method.is_some_and(|method| method != kept && method != PasswordEncryption::Plain) {
        return false;
    }
    if is_verifier(password) {
        return password == verifier;
    }
    match kept {
        PasswordEncryption::Scram => {
            let rest = verifier.strip_prefix(SCRAM).unwrap_or_default();
            let head = rest.split_once('$').and_then(|(head, _)| head.split_once(':'));
            let Some((rounds, salt)) = head else { return false };
            match (rounds.parse(), BASE64.decode(salt)) {
                // A verifier with so many rounds that checking takes minutes is refused.
                (Ok(rounds), Ok(salt)) if rounds <= 10_000_000 => scram(password, &salt, rounds) == verifier,
                _ => false,
            }
        }
        PasswordEncryption::Md5 | PasswordEncryption::Plain => md5(role, password) == verifier,
    }
}

/// The value after `PASSWORD` in SQL, before quoting.
pub fn stored(role: &str, password: &str, method: PasswordEncryption, salt: &[u8]) -> Result<String> {
    if salt.len() < 16 {
        return Err(Error::failed("there is no randomness to make a verifier of a password"));
    }
    Ok(match method {
        _ if is_verifier(password) => password.to_owned(),
        PasswordEncryption::Md5 => md5(role, password),
        PasswordEncryption::Scram => scram(password, salt, ROUNDS),
        PasswordEncryption::Plain => password.to_owned(),
    })
}

fn is_verifier(password: &str) -> bool {
    let hex = |text: &str| text.len() == 32 && text.chars().all(|letter| letter.is_ascii_hexdigit());
    password.strip_prefix("md5").is_some_and(hex) || password.starts_with(SCRAM)
}

fn md5(role: &str, password: &str) -> String {
    let sum = raw(DigestAlgorithm::Md5, format!("{password}{role}").as_bytes());
    format!("md5{}", sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The verifier of RFC 5802.
fn scram(password: &str, salt: &[u8], rounds: u32) -> String {
    let salted = stretched(password.as_bytes(), salt, rounds);
    let stored = raw(DigestAlgorithm::Sha256, &hmac(&salted, b"Client Key"));
    let server = hmac(&salted, b"Server Key");
    format!("{SCRAM}{rounds}:{}${}:{}", BASE64.encode(salt), BASE64.encode(stored), BASE64.encode(server))
}

/// PBKDF2 with HMAC-SHA-256, of which one block suffices.
fn stretched(password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
    let mut last = hmac(password, &[salt, &[0, 0, 0, 1]].concat());
    let mut sum = last.clone();
    for _ in 1..rounds {
        last = hmac(password, &last);
        sum.iter_mut().zip(&last).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let hashed;
    let key = if key.len() > 64 {
        hashed = raw(DigestAlgorithm::Sha256, key);
        &hashed
    } else {
        key
    };
    let pad = |with: u8| (0..64).map(|place| key.get(place).copied().unwrap_or(0) ^ with).collect::<Vec<u8>>();
    let inner = raw(DigestAlgorithm::Sha256, &[&pad(0x36), message].concat());
    raw(DigestAlgorithm::Sha256, &[pad(0x5c), inner].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second and sixth case of RFC 4231.
    #[test]
    fn hmac_is_that_of_the_rfc() {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(
            hex(hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    /// The verifier of RFC 7677's example, whose password is `pencil`.
    #[test]
    fn verifiers_are_checked() {
        let scram = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                     wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
        assert!(fits("user", "pencil", scram, None) && fits("user", "pencil", scram, Some(PasswordEncryption::Scram)));
        assert!(!fits("user", "pencils", scram, None) && !fits("user", "pencil", scram, Some(PasswordEncryption::Md5)));
        assert!(fits("user", scram, scram, Some(PasswordEncryption::Scram)));
        // SELECT 'md5' || md5('secretfrank')
        let md5 = "md5c0d0a2c5f48b91d8e16412ff4dc7b994";
        assert!(fits("frank", "secret", md5, None) && fits("frank", "secret", md5, Some(PasswordEncryption::Plain)));
        assert!(
            !fits("frankie", "secret", md5, None) && !fits("frank", "secret", md5, Some(PasswordEncryption::Scram))
        );
        assert!(!fits("frank", "secret", "", None) && !fits("frank", "x", "SCRAM-SHA-256$99:!$x:y", None));
        let made = stored("frank", "secret", PasswordEncryption::Scram, b"0123456789abcdef").expect("there is salt");
        assert!(fits("frank", "secret", &made, None));
        assert!(stored("frank", "secret", PasswordEncryption::Scram, b"").is_err());
    }
}
