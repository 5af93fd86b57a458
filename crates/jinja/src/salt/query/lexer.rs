//! Splits a query into tokens.

use crate::error::{Error, Result};
use crate::value::Value;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum QueryToken {
    Name(String),
    /// A name in double quotes, which can't be a function's name.
    Quoted(String),
    Number(i64),
    Sign(&'static str),
    End,
}

/// Longer operators come first.
const SIGNS: [&str; 24] = [
    "[?", "[]", "||", "&&", "!=", "==", "<=", ">=", ".", "*", "[", "]", "(", ")", "{", "}", ",", ":", "@", "&", "|",
    "!", "<", ">",
];

/// Tokens with their positions in the text; literals are stored separately, by the token's index.
pub(super) struct QueryTokens {
    pub tokens: Vec<(QueryToken, usize)>,
    pub literals: Vec<Option<Value>>,
}

pub(super) fn tokens(text: &str) -> Result<QueryTokens> {
    let mut found = QueryTokens { tokens: Vec::new(), literals: Vec::new() };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if matches!(c, ' ' | '\t' | '\n' | '\r') {
            at += 1;
            continue;
        }
        let (token, literal, length) = if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            (QueryToken::Name(rest[..length].to_owned()), None, length)
        } else if c.is_ascii_digit() || c == '-' {
            let length = 1 + rest[1..].bytes().take_while(u8::is_ascii_digit).count();
            let number = rest[..length].parse().map_err(|_| bad(text, at, "this is no number"))?;
            (QueryToken::Number(number), None, length)
        } else if matches!(c, '"' | '\'' | '`') {
            let inner = enclosed(rest, c).ok_or_else(|| bad(text, at, &format!("the closing {c} is missing")))?;
            let length = inner.len() + 2;
            match c {
                '"' => {
                    let name = rocksalt_core::json::parse(&rest[..length])
                        .ok()
                        .and_then(|name| name.as_str().map(str::to_owned))
                        .ok_or_else(|| bad(text, at, "this name is no JSON string"))?;
                    (QueryToken::Quoted(name), None, length)
                }
                '\'' => (QueryToken::Sign("literal"), Some(Value::from(inner.replace("\\'", "'"))), length),
                _ => {
                    let json = inner.replace("\\`", "`");
                    let value = rocksalt_core::json::parse(json.trim())
                        // Old queries have bare words between backticks.
                        .map_or_else(|_| Value::from(json.trim()), Value::from);
                    (QueryToken::Sign("literal"), Some(value), length)
                }
            }
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| bad(text, at, &format!("'{c}' is not part of a query")))?;
            (QueryToken::Sign(sign), None, sign.len())
        };
        found.tokens.push((token, at));
        found.literals.push(literal);
        at += length;
    }
    found.tokens.push((QueryToken::End, text.len()));
    found.literals.push(None);
    Ok(found)
}

/// The text up to the closing quote; a quote after a backslash doesn't close it.
fn enclosed(text: &str, quote: char) -> Option<&str> {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return Some(&text[1..index]);
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

pub(super) fn bad(text: &str, at: usize, reason: &str) -> Error {
    let column = text.get(..at).map_or(at, |before| before.chars().count());
    let caret = " ".repeat(column);
    Error::exception("ParseError", format!("Invalid jmespath expression: {reason}:\n\"{text}\"\n {caret}^"))
}
