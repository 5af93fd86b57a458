//! Password hashes for `/etc/shadow`: `$5$` (SHA-256) and `$6$` (SHA-512), as specified by Drepper.

use super::digest::{DigestAlgorithm, raw};

const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ROUNDS: usize = 5000;

/// Selects one of the two methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CryptMethod {
    Sha256,
    Sha512,
}

/// The hash of a password, with the method and the salt before it. Only sixteen characters of the salt count.
pub fn hash(method: CryptMethod, salt: &str, password: &str) -> String {
    let (salt, rounds) = rounds_of(salt);
    let salt: String = salt.chars().take_while(|letter| *letter != '$').take(16).collect();
    let (kind, prefix) = match method {
        CryptMethod::Sha256 => (DigestAlgorithm::Sha256, "$5$"),
        CryptMethod::Sha512 => (DigestAlgorithm::Sha512, "$6$"),
    };
    let sum = stretched(kind, salt.as_bytes(), password.as_bytes(), rounds.unwrap_or(ROUNDS));
    let named = rounds.map(|rounds| format!("rounds={rounds}$")).unwrap_or_default();
    format!("{prefix}{named}{salt}${}", encoded(method, &sum))
}

/// `rounds=N$` before the salt, within the method's limits.
fn rounds_of(salt: &str) -> (&str, Option<usize>) {
    let Some((number, rest)) = salt.strip_prefix("rounds=").and_then(|rest| rest.split_once('$')) else {
        return (salt, None);
    };
    match number.parse::<usize>() {
        Ok(rounds) => (rest, Some(rounds.clamp(1000, 999_999_999))),
        Err(_) => (salt, None),
    }
}

fn stretched(kind: DigestAlgorithm, salt: &[u8], password: &[u8], rounds: usize) -> Vec<u8> {
    let repeated = |block: &[u8], length: usize| block.iter().copied().cycle().take(length).collect::<Vec<u8>>();
    let alternate = raw(kind, &[password, salt, password].concat());
    let mut start = [password, salt, &repeated(&alternate, password.len())].concat();
    let mut bits = password.len();
    while bits > 0 {
        start.extend_from_slice(if bits & 1 == 1 { &alternate } else { password });
        bits >>= 1;
    }
    let mut sum = raw(kind, &start);
    let of_password = repeated(&raw(kind, &password.repeat(password.len())), password.len());
    let of_salt = repeated(&raw(kind, &salt.repeat(16 + usize::from(sum[0]))), salt.len());
    for round in 0..rounds {
        let mut block = Vec::with_capacity(2 * (sum.len() + of_password.len()) + of_salt.len());
        block.extend_from_slice(if round % 2 == 1 { &of_password } else { &sum });
        if round % 3 != 0 {
            block.extend_from_slice(&of_salt);
        }
        if round % 7 != 0 {
            block.extend_from_slice(&of_password);
        }
        block.extend_from_slice(if round % 2 == 1 { &sum } else { &of_password });
        sum = raw(kind, &block);
    }
    sum
}

/// Encodes three bytes as four characters; the method defines the order of the bytes.
fn encoded(method: CryptMethod, sum: &[u8]) -> String {
    let third = sum.len() / 3;
    let mut text = String::new();
    let mut put = |bytes: [u8; 3], letters: usize| {
        let mut word = bytes.iter().fold(0u32, |word, byte| (word << 8) | u32::from(*byte));
        for _ in 0..letters {
            text.push(char::from(LETTERS[(word & 0x3f) as usize]));
            word >>= 6;
        }
    };
    for index in 0..third {
        let (a, b, c) = (sum[index], sum[index + third], sum[index + 2 * third]);
        let turned = match (method, index % 3) {
            (_, 0) => [a, b, c],
            (CryptMethod::Sha512, 1) | (CryptMethod::Sha256, 2) => [b, c, a],
            _ => [c, a, b],
        };
        put(turned, 4);
    }
    match method {
        CryptMethod::Sha256 => put([0, sum[31], sum[30]], 3),
        CryptMethod::Sha512 => put([0, 0, sum[63]], 2),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification, and some from glibc.
    #[test]
    fn hashes_are_those_of_the_c_library() {
        for (method, salt, password, expected) in CASES {
            assert_eq!(hash(*method, salt, password), *expected);
        }
    }

    const CASES: &[(CryptMethod, &str, &str, &str)] = &[
        (
            CryptMethod::Sha256,
            "saltstring",
            "Hello world!",
            "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
        ),
        (
            CryptMethod::Sha256,
            "rounds=1400$anotherlongsaltstring",
            "a very much longer text to encrypt.  This one even stretches over more than one line.",
            "$5$rounds=1400$anotherlongsalts$epZZlHtH1tHOZ8DnGj41SJcfP6bNgf3t.hurPudKyU6",
        ),
        (CryptMethod::Sha256, "ab", "", "$5$ab$qRq/oZkUn9lJUSIcgVT3NbpSDsjn.r137TBSoCt2kCA"),
        (
            CryptMethod::Sha256,
            "0123456789abcdef",
            "é and more than sixty-four letters of a password, which is what SHA-512 gives",
            "$5$0123456789abcdef$nUG64FBotgt4n4wUyjOuwdUdkN4NHLaoZCCs.Dhi5X5",
        ),
        (
            CryptMethod::Sha512,
            "saltstring",
            "Hello world!",
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        ),
        (
            CryptMethod::Sha512,
            "rounds=1400$anotherlongsaltstring",
            "a very much longer text to encrypt.  This one even stretches over more than one line.",
            "$6$rounds=1400$anotherlongsalts$WV8KW2lepsuKk13lXtVGnnEyZ.bCxFvSok6ZnkjRIa5iL0cAfvQyaZ2uA5CUvArDxyp3l9B/Z4D.HNqsIPpXk1",
        ),
        (
            CryptMethod::Sha512,
            "ab",
            "",
            "$6$ab$xnh5Qsr2NdbFw1PgdZie7nLON3gv.S.23iQDBqAzkdoXPtDnVSpludXkM5UWybQO3OI7hBj9wHg9Ow6sUWD60/",
        ),
        (
            CryptMethod::Sha512,
            "0123456789abcdef",
            "é and more than sixty-four letters of a password, which is what SHA-512 gives",
            "$6$0123456789abcdef$Zf5O9kuceNnYPAi94AGvmm0Gs8jAjJP.zoiiCmMJ1UgWGEtKfVRn5Fg2GpRVaWo0t.C.SDsafmYZTW.Uhi/Z41",
        ),
    ];
}
