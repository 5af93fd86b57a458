//! Filters for HTML and URLs.

use super::escape;
use crate::arguments::FunctionArguments;
use crate::error::{Error, Result};
use crate::scope::Scope;
use crate::value::{Value, quoted};

pub fn urlencode(scope: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let pairs = match &value {
        Value::Dict(_) => crate::methods::pairs(&value)?,
        Value::String(_) | Value::Bytes(_) => return Ok(quote(&value, true)?.into()),
        other if other.is_iterable() => crate::methods::pairs(other)?,
        other => return Ok(quote(other, true)?.into()),
    };
    let mut out = String::new();
    for (key, value) in pairs {
        scope.charge(1)?;
        if !out.is_empty() {
            out.push('&');
        }
        out.push_str(&quote(&key, false)?.replace("%20", "+"));
        out.push('=');
        out.push_str(&quote(&value, false)?.replace("%20", "+"));
    }
    Ok(out.into())
}

fn quote(value: &Value, slash: bool) -> Result<String> {
    let text = match value {
        Value::Bytes(bytes) => bytes.to_vec(),
        other => other.to_text()?.into_bytes(),
    };
    let mut out = String::new();
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            b'/' if slash => out.push('/'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(out)
}

pub fn xmlattr(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let autospace = arguments.flag("autospace", true)?;
    arguments.finish()?;
    if !matches!(value, Value::Dict(_)) {
        value.must_be_defined()?;
        let message = format!("'{}' object has no attribute 'items'", value.type_name());
        return Err(Error::exception("AttributeError", message));
    }
    let mut parts = Vec::new();
    for (key, value) in crate::methods::pairs(&value)? {
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let Some(name) = key.as_str() else {
            let kind = key.type_name();
            return Err(Error::type_error(format!("expected string or bytes-like object, got '{kind}'")));
        };
        if name.contains(|c: char| crate::methods::is_space(c) || matches!(c, '/' | '>' | '=')) {
            return Err(Error::value_error(format!("Invalid character in attribute name: {}", quoted(name))));
        }
        parts.push(format!("{}=\"{}\"", escape::escaped(&key)?, escape::escaped(&value)?));
    }
    let mut text = parts.join(" ");
    if autospace && !text.is_empty() {
        text.insert(0, ' ');
    }
    Ok(scope.markup(text))
}

pub fn striptags(_: &Scope<'_>, value: Value, arguments: FunctionArguments) -> Result<Value> {
    arguments.finish()?;
    let mut text = value.to_text()?;
    for (open, close) in [("<!--", "-->"), ("<", ">")] {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find(open) {
            let Some(length) = rest[start..].find(close) else { break };
            kept.push_str(&rest[..start]);
            rest = &rest[start + length + close.len()..];
        }
        kept.push_str(rest);
        text = kept;
    }
    let words: Vec<&str> = text.split(crate::methods::is_space).filter(|word| !word.is_empty()).collect();
    Ok(unescape(&words.join(" ")).into())
}

/// Replaces common entities.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.char_indices().take(12).find(|(_, c)| *c == ';').map(|(at, _)| at);
        let found = end.and_then(|end| {
            let name = &rest[1..end];
            let c = match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                "nbsp" => '\u{a0}',
                "copy" => '©',
                "reg" => '®',
                "euro" => '€',
                "hellip" => '…',
                "ndash" => '–',
                "mdash" => '—',
                "laquo" => '«',
                "raquo" => '»',
                _ => {
                    let digits = name.strip_prefix('#')?;
                    let code = match digits.strip_prefix(['x', 'X']) {
                        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                        None => digits.parse().ok()?,
                    };
                    char::from_u32(code)?
                }
            };
            Some((c, end + 1))
        });
        let (c, length) = found.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

pub fn urlize(scope: &Scope<'_>, value: Value, mut arguments: FunctionArguments) -> Result<Value> {
    let limit = arguments.optional("trim_url_limit")?.filter(|limit| !limit.is_none());
    let limit = limit.map(|limit| limit.to_index()).transpose()?.map(|limit| limit.max(0) as usize);
    let nofollow = arguments.flag("nofollow", false)?;
    let target = arguments.optional("target")?.filter(|target| !target.is_none());
    let rel = arguments.optional("rel")?.filter(|rel| !rel.is_none());
    let schemes = match arguments.optional("extra_schemes")? {
        None | Some(Value::None) => Vec::new(),
        Some(schemes) => schemes.to_vec()?.iter().map(Value::to_text).collect::<Result<_>>()?,
    };
    arguments.finish()?;
    let mut words: Vec<String> =
        rel.map_or(Ok(String::new()), |rel| rel.to_text())?.split_whitespace().map(str::to_owned).collect();
    if nofollow {
        words.push("nofollow".into());
    }
    words.push("noopener".into());
    words.sort();
    words.dedup();
    let rel = format!(" rel=\"{}\"", escape::escape(&words.join(" ")));
    let target = match target {
        Some(target) => format!(" target=\"{}\"", escape::escaped(&target)?),
        None => String::new(),
    };
    let text = escape::escaped(&value)?;
    let mut out = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let blank = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        out.push_str(&rest[..blank]);
        rest = &rest[blank..];
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        out.push_str(&link(&rest[..end], limit, &rel, &target, &schemes));
        scope.charge(1)?;
        rest = &rest[end..];
    }
    Ok(scope.markup(out))
}

/// Returns a word, as a link if it looks like an address.
fn link(word: &str, limit: Option<usize>, rel: &str, target: &str, schemes: &[String]) -> String {
    let (head, middle, tail) = split_punctuation(word);
    match anchor(middle, limit, rel, target, schemes) {
        Some(link) => format!("{head}{link}{tail}"),
        None => word.to_owned(),
    }
}

/// Splits a word into leading punctuation, the word itself and trailing punctuation.
fn split_punctuation(word: &str) -> (String, &str, String) {
    let mut middle = word;
    let mut head = String::new();
    loop {
        let before = ["(", "&lt;"].iter().find_map(|sign| middle.strip_prefix(sign).map(|rest| (*sign, rest)));
        let Some((sign, rest)) = before else { break };
        head.push_str(sign);
        middle = rest;
    }
    let mut tail = String::new();
    loop {
        let after =
            [")", ".", ",", "\n", "&gt;"].iter().find_map(|sign| middle.strip_suffix(sign).map(|rest| (*sign, rest)));
        let Some((sign, rest)) = after else { break };
        // A closing bracket belongs to the address if it was opened within the address.
        let balanced = |open: &str| {
            middle.matches(open).count() > 0 && middle.matches(open).count() >= middle.matches(sign).count()
        };
        if (sign == ")" && balanced("(")) || (sign == "&gt;" && balanced("&lt;")) {
            break;
        }
        tail.insert_str(0, sign);
        middle = rest;
    }
    (head, middle, tail)
}

/// Whether a text starts with a host name.
fn begins_with_host(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    name.contains('.')
        && name.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

/// The link for a web page's or a mailbox's address.
fn anchor(middle: &str, limit: Option<usize>, rel: &str, target: &str, schemes: &[String]) -> Option<String> {
    let host = begins_with_host;
    let shown = |url: &str| match limit {
        Some(limit) if url.chars().count() > limit => {
            format!("{}...", url.chars().take(limit).collect::<String>())
        }
        _ => url.to_owned(),
    };
    if let Some(rest) = middle.strip_prefix("https://").or_else(|| middle.strip_prefix("http://")) {
        let local = rest.split(['/', ':']).next() == Some("localhost");
        (host(rest) || local).then(|| format!("<a href=\"{middle}\"{rel}{target}>{}</a>", shown(middle)))
    } else if middle.starts_with("www.") && host(middle)
        || (host(middle)
            && [".com", ".net", ".org"]
                .iter()
                .any(|end| middle.split('/').next().is_some_and(|host| host.ends_with(end)))
            && !middle.contains('@'))
    {
        Some(format!("<a href=\"https://{middle}\"{rel}{target}>{}</a>", shown(middle)))
    } else if schemes.iter().any(|scheme| middle != scheme && middle.starts_with(scheme)) {
        Some(format!("<a href=\"{middle}\"{rel}{target}>{middle}</a>"))
    } else {
        let address = middle.strip_prefix("mailto:").unwrap_or(middle);
        let is_mail = address.split_once('@').is_some_and(|(user, domain)| {
            !user.is_empty()
                && !user.contains(['/', ':'])
                && domain.contains('.')
                && !domain.contains('@')
                && host(domain)
        });
        is_mail.then(|| format!("<a href=\"mailto:{address}\">{address}</a>"))
    }
}
