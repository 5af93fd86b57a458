//! The hashes of Apache's `htpasswd`: bcrypt (`-B`), `$apr1$` (the default), `{SHA}` (`-s`).

use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::prelude::BASE64_STANDARD;
use base64::{Engine, alphabet};
use blowfish::Blowfish;
use md5::{Digest, Md5};
use rocksalt_core::Secret;
use subtle::ConstantTimeEq;

/// Whether a password matches a hash; an error for unsupported kinds of hashes.
pub fn matches(stored: &str, password: &Secret<String>) -> Result<bool, String> {
    if let Some(rest) = stored.strip_prefix("$apr1$") {
        let salt = rest.split('$').next().unwrap_or_default();
        return Ok(same(stored, &apr1(password.reveal().as_bytes(), salt)));
    }
    if let Some(hash) = stored.strip_prefix("{SHA}") {
        return Ok(same(hash, &BASE64_STANDARD.encode(sha1::Sha1::digest(password.reveal()))));
    }
    if let Some((cost, salt)) = bcrypt_parts(stored) {
        let computed = bcrypt(password.reveal().as_bytes(), cost, salt);
        return Ok(same(stored.get(29..).unwrap_or_default(), &computed));
    }
    Err("a hash of the htpasswd file is not bcrypt, $apr1$ or {SHA}".into())
}

/// bcrypt's base64 alphabet.
const BCRYPT: GeneralPurpose = GeneralPurpose::new(&alphabet::BCRYPT, NO_PAD);

/// Parses `$2y$05$` and 22 characters of salt. A cost over 14 would take seconds and is rejected.
fn bcrypt_parts(stored: &str) -> Option<(u32, [u8; 16])> {
    let rest = ["$2a$", "$2b$", "$2y$"].iter().find_map(|start| stored.strip_prefix(start))?;
    let (cost, rest) = rest.split_once('$')?;
    let cost = cost.parse().ok().filter(|cost| (4..=14).contains(cost))?;
    // Four bits of the salt's last character are unused.
    let lenient = BCRYPT_LENIENT.decode(rest.get(..22)?).ok()?;
    Some((cost, lenient.try_into().ok()?))
}

const BCRYPT_LENIENT: GeneralPurpose =
    GeneralPurpose::new(&alphabet::BCRYPT, NO_PAD.with_decode_allow_trailing_bits(true));

/// The 31 characters after the salt.
fn bcrypt(password: &[u8], cost: u32, salt: [u8; 16]) -> String {
    // The password ends with a zero byte; bcrypt ignores everything after 72 bytes.
    let key = Secret::new(password.iter().copied().chain([0]).take(72).collect::<Vec<u8>>());
    let mut state = <Blowfish>::bc_init_state();
    state.salted_expand_key(&salt, key.reveal());
    for _ in 0..1u32 << cost {
        state.bc_expand_key(key.reveal());
        state.bc_expand_key(&salt);
    }
    let mut output = Vec::with_capacity(24);
    for pair in b"OrpheanBeholderScryDoubt".chunks(8) {
        let word = |at: usize| u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        let mut block = [word(0), word(4)];
        for _ in 0..64 {
            block = state.bc_encrypt(block);
        }
        output.extend(block.iter().flat_map(|word| word.to_be_bytes()));
    }
    BCRYPT.encode(&output[..23])
}

fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// Apache's variant of FreeBSD's MD5 crypt, with a thousand rounds.
fn apr1(password: &[u8], salt: &str) -> String {
    let salt = &salt[..salt.len().min(8)];
    let mut inner = Md5::new();
    [password, salt.as_bytes(), password].into_iter().for_each(|part| inner.update(part));
    let inner = inner.finalize();
    let mut hash = Md5::new();
    [password, b"$apr1$", salt.as_bytes()].into_iter().for_each(|part| hash.update(part));
    for start in (0..password.len()).step_by(16) {
        hash.update(&inner[..(password.len() - start).min(16)]);
    }
    let mut length = password.len();
    while length > 0 {
        hash.update(if length & 1 == 1 { &[0][..] } else { &password[..1] });
        length >>= 1;
    }
    let mut digest = hash.finalize();
    for round in 0..1000 {
        let mut next = Md5::new();
        next.update(if round & 1 == 1 { password } else { &digest[..] });
        if round % 3 != 0 {
            next.update(salt.as_bytes());
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if round & 1 == 1 { &digest[..] } else { password });
        digest = next.finalize();
    }
    let mut text = format!("$apr1${salt}$");
    for (high, middle, low) in [(0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5)] {
        let three = [digest[high], digest[middle], digest[low]];
        push(&mut text, u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]), 4);
    }
    push(&mut text, digest[11].into(), 2);
    text
}

fn push(text: &mut String, mut number: u32, count: usize) {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for _ in 0..count {
        text.push(LETTERS[(number & 0x3f) as usize] as char);
        number >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_apaches() {
        // `openssl passwd -apr1 -salt saltsalt …`, `htpasswd -s`.
        let cases = [
            ("$apr1$saltsalt$yAAkm4libquA.ZWLHbSBq/", "password"),
            ("$apr1$saltsalt$fQOsGdVFkAc33miSw81BR1", "a longer password than sixteen bytes"),
            ("$2y$05$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu", "password"),
            ("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "password"),
        ];
        for (stored, password) in cases {
            let secret = |text: &str| Secret::new(text.to_owned());
            assert_eq!(matches(stored, &secret(password)), Ok(true), "{stored}");
            assert_eq!(matches(stored, &secret("other")), Ok(false), "{stored}");
        }
        assert!(matches("$5$xx", &Secret::new("x".into())).is_err());
    }
}
