//! Reads the tokens inside tags: names, numbers, strings and operators.

use super::token::Number;
use super::{Close, Lexer, TokenKind};
use crate::error::{Error, Result};
use crate::value::{Value, quoted};

/// Longer operators come first.
const SIGNS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".",
    ":", "|", ",", ";",
];

impl Lexer<'_> {
    /// Reads up to the end of the tag or, for a bare expression, of the text.
    pub(super) fn words(&mut self, close: Option<Close>) -> Result<()> {
        let mut open: Vec<&'static str> = Vec::new();
        loop {
            if open.is_empty()
                && let Some(close) = close
                && self.close(close)
            {
                return Ok(());
            }
            let rest = &self.source[self.at..];
            let Some(c) = rest.chars().next() else { return Ok(()) };
            let start = self.at;
            if c.is_whitespace() {
                let blank = rest.len() - rest.trim_start().len();
                // A line statement ends at the end of its line.
                let blank = match rest[..blank].find('\n') {
                    Some(newline) if close == Some(Close::Line) && open.is_empty() => newline.max(1),
                    _ => blank,
                };
                self.at += blank;
            } else if let Some((kind, length)) = number(rest, &self.source[..start])? {
                self.at += length;
                self.push(kind, start, self.at);
            } else if c.is_alphanumeric() || c == '_' {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                if c.is_numeric() {
                    return Err(Error::syntax("Invalid character in identifier"));
                }
                self.at += length;
                self.push(TokenKind::Name(rest[..length].into()), start, self.at);
            } else if let Some(length) = string_length(rest) {
                let text = match self.options.newline_sequence.as_str() {
                    "\n" => unescape(&rest[1..length - 1])?,
                    newline => unescape(&rest[1..length - 1].replace('\n', newline))?,
                };
                self.at += length;
                self.push(TokenKind::String(text.into()), start, self.at);
            } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                balance(sign, &mut open)?;
                self.at += sign.len();
                self.push(TokenKind::Sign(sign), start, self.at);
            } else {
                let position = self.source[..start].chars().count();
                let c = quoted(c.encode_utf8(&mut [0; 4]));
                return Err(Error::syntax(format!("unexpected char {c} at {position}")));
            }
        }
    }

    /// Consumes the tag's end if it is here.
    fn close(&mut self, close: Close) -> bool {
        let rest = &self.source[self.at..];
        let (kind, sign) = match close {
            Close::Block => (TokenKind::BlockEnd, self.options.block_end.as_str()),
            Close::Variable => (TokenKind::VariableEnd, self.options.variable_end.as_str()),
            Close::Line => {
                let blank = rest.len() - rest.trim_start().len();
                let newline = rest[..blank].find('\n').map(|newline| newline + 1);
                let Some(length) = newline.or((blank == rest.len()).then_some(blank)) else { return false };
                self.push(TokenKind::BlockEnd, self.at, self.at + length);
                self.at += length;
                self.line_starting = true;
                return true;
            }
        };
        let control = rest.chars().next().filter(|c| *c == '-' || (*c == '+' && close == Close::Block));
        let (control, length) = match control {
            Some(c) if rest[1..].starts_with(sign) => (Some(c), 1 + sign.len()),
            _ if rest.starts_with(sign) => (None, sign.len()),
            _ => return false,
        };
        self.push(kind, self.at, self.at + length);
        self.after_tag(self.at + length, control, close == Close::Block);
        true
    }
}

/// Tests whether a byte is a digit in some base.
type Digit = fn(&u8) -> bool;

/// Reads an integer or a float at the start of `rest`, and its length. `before` is the text before it.
fn number(rest: &str, before: &str) -> Result<Option<(TokenKind, usize)>> {
    let bytes = rest.as_bytes();
    if !bytes[0].is_ascii_digit() {
        return Ok(None);
    }
    let digits = |from: usize, digit: Digit| -> usize {
        let mut at = from;
        loop {
            match bytes.get(at) {
                Some(byte) if digit(byte) => at += 1,
                Some(b'_') if at > from && bytes.get(at + 1).is_some_and(digit) => at += 1,
                _ => return at,
            }
        }
    };
    let decimal: Digit = u8::is_ascii_digit;
    let whole = digits(0, decimal);
    let mut end = whole;
    // A number after a dot is an index, as in `x.0.1`.
    if !before.ends_with('.') {
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(decimal) {
            end = digits(end + 1, decimal);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign, decimal);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
    }
    if end > whole {
        let value = rest[..end].replace('_', "").parse().unwrap_or(f64::INFINITY);
        return Ok(Some((TokenKind::Float(value), end)));
    }
    if bytes[0] == b'0' {
        let radix: Option<(u32, Digit)> = match bytes.get(1) {
            Some(b'x' | b'X') => Some((16, u8::is_ascii_hexdigit)),
            Some(b'o' | b'O') => Some((8, |byte| (b'0'..=b'7').contains(byte))),
            Some(b'b' | b'B') => Some((2, |byte| matches!(byte, b'0' | b'1'))),
            _ => None,
        };
        if let Some((radix, digit)) = radix {
            let start = 2 + usize::from(bytes.get(2) == Some(&b'_'));
            let end = digits(start, digit);
            if end > start {
                return Ok(Some((integer(&rest[start..end], radix)?, end)));
            }
        }
        // Only zeros are read: the rest is another token, which the parser then refuses.
        let zeros = digits(0, |byte| *byte == b'0');
        return Ok(Some((integer("0", 10)?, zeros)));
    }
    Ok(Some((integer(&rest[..whole], 10)?, whole)))
}

fn integer(digits: &str, radix: u32) -> Result<TokenKind> {
    let digits = digits.replace('_', "");
    if radix == 10 && digits.len() > 4300 {
        let message = format!(
            "Exceeds the limit (4300 digits) for integer string conversion: value has {} digits; use sys.set_int_max_str_digits() to increase the limit",
            digits.len()
        );
        return Err(Error::value_error(message));
    }
    let value = match i64::from_str_radix(&digits, radix) {
        Ok(small) => Value::Int(small),
        Err(_) => num_bigint::BigInt::parse_bytes(digits.as_bytes(), radix).map_or(Value::Int(0), Value::integer),
    };
    Ok(TokenKind::Integer(Number(value)))
}

/// The length of the string literal that starts here, with its quotes, if it is terminated.
fn string_length(rest: &str) -> Option<usize> {
    let quote = *rest.as_bytes().first().filter(|byte| matches!(byte, b'\'' | b'"'))?;
    let mut bytes = rest.bytes().enumerate().skip(1);
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next()?;
            }
            byte if byte == quote => return Some(index + 1),
            _ => {}
        }
    }
    None
}

/// Tracks the closing brackets that are still expected.
fn balance(sign: &str, open: &mut Vec<&'static str>) -> Result<()> {
    match sign {
        "(" => open.push(")"),
        "[" => open.push("]"),
        "{" => open.push("}"),
        ")" | "]" | "}" => match open.pop() {
            None => return Err(Error::syntax(format!("unexpected '{sign}'"))),
            Some(expected) if expected != sign => {
                return Err(Error::syntax(format!("unexpected '{sign}', expected '{expected}'")));
            }
            _ => {}
        },
        _ => {}
    }
    Ok(())
}

/// Replaces Python's escapes; an unknown one stays as it is.
fn unescape(text: &str) -> Result<String> {
    if !text.contains('\\') {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find('\\') {
        out.push_str(&rest[..position]);
        rest = &rest[position + 1..];
        let Some(c) = rest.chars().next() else {
            out.push('\\');
            break;
        };
        rest = &rest[c.len_utf8()..];
        let simple = match c {
            '\n' => continue,
            '\\' | '\'' | '"' => Some(c),
            'a' => Some('\x07'),
            'b' => Some('\x08'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            _ => None,
        };
        if let Some(simple) = simple {
            out.push(simple);
            continue;
        }
        match c {
            '0'..='7' => {
                let more = rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                let code = u32::from_str_radix(&format!("{c}{}", &rest[..more]), 8).unwrap_or(0);
                rest = &rest[more..];
                out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            'x' | 'u' | 'U' => out.push(unescape_code(c, &mut rest)?),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Decodes `\x41`, `\u0041` or `\U00000041`; `rest` starts at the digits.
fn unescape_code(kind: char, rest: &mut &str) -> Result<char> {
    let length = match kind {
        'x' => 2,
        'u' => 4,
        _ => 8,
    };
    let digits = rest.get(..length).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
        return Err(Error::syntax(format!("truncated \\{kind}{} escape", "X".repeat(length))));
    };
    *rest = &rest[length..];
    if let Some(letter) = char::from_u32(code) {
        return Ok(letter);
    }
    // A surrogate pair encodes one character.
    let low = rest.strip_prefix("\\u").and_then(|rest| u32::from_str_radix(rest.get(..4)?, 16).ok());
    Ok(match (code, low) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            *rest = &rest[6..];
            let code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            char::from_u32(code).unwrap_or('\u{fffd}')
        }
        _ => '\u{fffd}',
    })
}
