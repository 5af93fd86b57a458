//! [`TemplateMachine`]: what filters read from the machine, and the filters that use it.

use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::Value;

use super::hashes;

/// The access of filters to the machine. Without one, the filters that need it fail.
///
/// An error is a sentence for the template's author.
pub trait TemplateMachine {
    /// The time in seconds since 1970, UTC.
    fn now(&self) -> Result<f64, String> {
        Err("the time is not known here".into())
    }

    /// The offset of local time from UTC at that time, in seconds.
    fn utc_offset(&self, _at: i64) -> i64 {
        0
    }

    /// Fills the bytes from a secure random source.
    fn random(&self, _bytes: &mut [u8]) -> Result<(), String> {
        Err("there are no random numbers here".into())
    }

    /// The path of a program, if it is installed.
    fn which(&self, _name: &str) -> Result<Option<String>, String> {
        Err(NO_MACHINE.into())
    }

    /// The content of a file.
    fn read(&self, _path: &str) -> Result<Vec<u8>, String> {
        Err(NO_MACHINE.into())
    }

    /// All files and folders below a folder, itself included.
    fn list_files(&self, _path: &str) -> Result<Vec<String>, String> {
        Err(NO_MACHINE.into())
    }

    /// A user's id, if there is such a user; without a name, the id of the current user.
    fn user_id(&self, _name: Option<&str>) -> Result<Option<i64>, String> {
        Err(NO_MACHINE.into())
    }

    /// The first address of a host name that accepts a connection on the port.
    fn dns_check(&self, _name: &str, _port: i64, _ipv6: Option<bool>) -> Result<String, String> {
        Err(NO_MACHINE.into())
    }

    /// Salt's `http.query`: takes the arguments and returns the answer as a dict.
    fn http_query(&self, _url: &str, _arguments: &[(String, Value)]) -> Result<Value, String> {
        Err(NO_MACHINE.into())
    }
}

const NO_MACHINE: &str = "this template is rendered where the machine can't be looked at";

/// A machine that supports nothing.
pub(crate) struct Nowhere;

impl TemplateMachine for Nowhere {}

/// Adds the filter's name to an error.
fn asked<T>(filter: &str, answer: Result<T, String>) -> Result<T> {
    answer.map_err(|reason| Error::exception("CommandExecutionError", format!("{filter}: {reason}")))
}

fn machine<'s>(scope: &'s Scope<'_>) -> &'s dyn TemplateMachine {
    scope.environment().machine()
}

/// Returns a random number below the limit; 0 if the limit is 0.
fn random_below(scope: &Scope<'_>, filter: &str, limit: u64) -> Result<u64> {
    if limit == 0 {
        return Ok(0);
    }
    // Numbers from the last multiple of the limit on would favour small results.
    let fair = u64::MAX - u64::MAX % limit;
    loop {
        let mut bytes = [0; 8];
        asked(filter, machine(scope).random(&mut bytes))?;
        let number = u64::from_le_bytes(bytes);
        if number < fair {
            return Ok(number % limit);
        }
    }
}

pub(super) fn random_str(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    use base64::Engine as _;
    arguments.finish()?;
    let size = usize::try_from(value.to_index()?).map_err(|_| Error::value_error("negative argument not allowed"))?;
    scope.check_size(size.saturating_mul(2))?;
    let mut bytes = vec![0; size];
    asked("random_str", machine(scope).random(&mut bytes))?;
    let mut text = base64::engine::general_purpose::STANDARD.encode(bytes);
    text.truncate(size);
    Ok(text.into())
}

pub(super) fn random_hash(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let kind = arguments.text("hash_type", "md5")?;
    arguments.finish()?;
    let size = u64::try_from(value.to_index()?).map_err(|_| Error::value_error("the size is negative"))?;
    let number = random_below(scope, "random_hash", size.saturating_add(1))?;
    Ok(hashes::named(&kind, number.to_string().as_bytes())?.into())
}

pub(super) fn random_shuffle(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let seed = arguments.optional("seed")?;
    arguments.finish()?;
    let size = value.len()?;
    sample(scope, &value, size, seed)
}

pub(super) fn random_sample(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let size = arguments.take("size")?.to_index()?;
    let seed = arguments.optional("seed")?;
    arguments.finish()?;
    let size = usize::try_from(size).map_err(|_| Error::value_error("Sample larger than population or is negative"))?;
    sample(scope, &value, size, seed)
}

/// Chooses random items. A seed gives the same ones each time, but not Python's: those depend on its hashing.
fn sample(scope: &Scope<'_>, value: &Value, size: usize, seed: Option<Value>) -> Result<Value> {
    let mut items = value.to_vec()?;
    if size > items.len() {
        return Err(Error::value_error("Sample larger than population or is negative"));
    }
    scope.charge(items.len())?;
    let seed = seed.filter(|seed| !seed.is_none()).map(|seed| seed.repr()).transpose()?;
    for index in 0..size {
        let left = (items.len() - index) as u64;
        let step = match &seed {
            Some(seed) => {
                let digits = hashes::named("sha256", format!("{index} {seed}").as_bytes())?;
                u64::from_str_radix(&digits[..15], 16).unwrap_or_default() % left
            }
            None => random_below(scope, "random_sample", left)?,
        };
        items.swap(index, index + step as usize);
    }
    items.truncate(size);
    Ok(Value::list(items))
}

pub(super) fn gen_mac(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let mut bytes = [0; 3];
    asked("gen_mac", machine(scope).random(&mut bytes))?;
    let [a, b, c] = bytes;
    Ok(format!("{}:{a:02X}:{b:02X}:{c:02X}", value.to_text()?).into())
}

pub(super) fn which(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(asked("which", machine(scope).which(&value.to_text()?))?.into())
}

pub(super) fn file_hashsum(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let form = arguments.text("form", "sha256")?;
    let _ = arguments.optional("chunk_size")?;
    arguments.finish()?;
    let data = asked("file_hashsum", machine(scope).read(&value.to_text()?))?;
    Ok(hashes::named(&form, &data)?.into())
}

pub(super) fn list_files(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let files = asked("list_files", machine(scope).list_files(&value.to_text()?))?;
    Ok(Value::list(files.into_iter().map(Value::from).collect()))
}

pub(super) fn is_empty(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    // A file that is missing or can't be read doesn't count as empty.
    Ok(machine(scope).read(&value.to_text()?).is_ok_and(|data| data.is_empty()).into())
}

pub(super) fn is_text_file(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(machine(scope).read(&value.to_text()?).is_ok_and(|data| !is_binary(&data)).into())
}

pub(super) fn is_bin_file(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    Ok(machine(scope).read(&value.to_text()?).is_ok_and(|data| is_binary(&data)).into())
}

/// Judges by the first bytes: binary data has a zero byte, or many bytes that aren't text.
fn is_binary(data: &[u8]) -> bool {
    let head = &data[..data.len().min(2048)];
    if head.contains(&0) {
        return true;
    }
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    let is_plain = |byte: u8| matches!(byte, 7..=13 | 27 | 32..=126) || (is_text && byte > 127);
    let odd = head.iter().filter(|byte| !is_plain(**byte)).count();
    odd * 10 > head.len() * 3
}

pub(super) fn get_uid(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let name = if value.is_none() { None } else { Some(value.to_text()?) };
    Ok(asked("get_uid", machine(scope).user_id(name.as_deref()))?.into())
}

pub(super) fn dns_check(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let port = arguments.take("port")?.to_index()?;
    let _ = arguments.optional("safe")?;
    let ipv6 = match arguments.optional("ipv6")? {
        Some(flag) if !flag.is_none() => Some(flag.truth()?),
        _ => None,
    };
    arguments.finish()?;
    Ok(asked("dns_check", machine(scope).dns_check(&value.to_text()?, port, ipv6))?.into())
}

pub(super) fn http_query(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let mut given: Vec<(String, Value)> = Vec::new();
    for (name, value) in ["method", "params", "data"].into_iter().zip(arguments.rest()) {
        given.push((name.to_owned(), value));
    }
    given.extend(arguments.keywords().into_iter().map(|(name, value)| (name.to_string(), value)));
    asked("http_query", machine(scope).http_query(&value.to_text()?, &given))
}
