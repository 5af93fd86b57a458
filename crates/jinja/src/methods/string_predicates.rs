//! Methods of strings that return a boolean.

use super::MethodFunction;
use super::string::{is_space, own};
use crate::arguments::FunctionArguments;
use crate::error::Result;
use crate::value::Value;

pub fn find(name: &str) -> Option<MethodFunction> {
    Some(match name {
        "isalnum" => |_, value, arguments| all(value, arguments, char::is_alphanumeric),
        "isalpha" => |_, value, arguments| all(value, arguments, char::is_alphabetic),
        "isascii" => |_, value, arguments| {
            arguments.finish()?;
            Ok(own(value).is_ascii().into())
        },
        "isdecimal" => |_, value, arguments| all(value, arguments, |c| c.is_ascii_digit() || is_other_digit(c)),
        "isdigit" => |_, value, arguments| {
            all(value, arguments, |c| c.is_ascii_digit() || is_other_digit(c) || "²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉".contains(c))
        },
        "isidentifier" => |_, value, arguments| {
            arguments.finish()?;
            let text = own(value);
            let starts = text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
            Ok((starts && text.chars().all(|c| c.is_alphanumeric() || c == '_')).into())
        },
        "islower" => |_, value, arguments| cased(value, arguments, char::is_uppercase, char::is_lowercase),
        "isnumeric" => |_, value, arguments| all(value, arguments, char::is_numeric),
        "isprintable" => |_, value, arguments| {
            arguments.finish()?;
            Ok(own(value).chars().all(crate::value::printable).into())
        },
        "isspace" => |_, value, arguments| all(value, arguments, is_space),
        "istitle" => |_, value, arguments| {
            arguments.finish()?;
            Ok(is_title(own(value)).into())
        },
        "isupper" => |_, value, arguments| cased(value, arguments, char::is_lowercase, char::is_uppercase),
        _ => return None,
    })
}

fn all(value: &Value, arguments: FunctionArguments, holds: impl Fn(char) -> bool) -> Result<Value> {
    arguments.finish()?;
    let text = own(value);
    Ok((!text.is_empty() && text.chars().all(holds)).into())
}

/// Whether a string has no letter of one case and at least one of the other.
fn cased(value: &Value, arguments: FunctionArguments, not: fn(char) -> bool, some: fn(char) -> bool) -> Result<Value> {
    arguments.finish()?;
    let text = own(value);
    Ok((!text.chars().any(not) && text.chars().any(some)).into())
}

/// The zero digit of each script besides ASCII.
const ZEROS: [u32; 22] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040,
    0x17e0, 0x1810, 0x1946, 0x19d0, 0x1b50, 0xff10,
];

fn other_digit(c: char) -> Option<u32> {
    ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&(c as u32))).map(|zero| c as u32 - zero)
}

fn is_other_digit(c: char) -> bool {
    other_digit(c).is_some()
}

/// Replaces the digits of all scripts by ASCII digits.
pub(crate) fn ascii_digits(text: &str) -> String {
    let ascii = |c: char| other_digit(c).and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c);
    if text.is_ascii() { text.to_owned() } else { text.chars().map(ascii).collect() }
}

pub(crate) fn is_title(text: &str) -> bool {
    let (mut any, mut in_word) = (false, false);
    for c in text.chars() {
        if c.is_uppercase() {
            if in_word {
                return false;
            }
            (any, in_word) = (true, true);
        } else if c.is_lowercase() {
            if !in_word {
                return false;
            }
            (any, in_word) = (true, true);
        } else {
            in_word = false;
        }
    }
    any
}
