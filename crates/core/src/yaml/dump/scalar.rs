//! The text of a scalar, and the YAML styles in which it can be written.

use std::borrow::Cow;

use crate::value::Value;

/// A scalar's text, and whether it means the same without quotes.
pub fn represent(value: &Value) -> (Cow<'_, str>, bool) {
    match value {
        Value::String(text) => (Cow::Borrowed(text), is_string(text)),
        Value::Null => (Cow::Borrowed("null"), true),
        Value::Bool(flag) => (Cow::Borrowed(if *flag { "true" } else { "false" }), true),
        Value::Float(number) if number.is_nan() => (Cow::Borrowed(".nan"), true),
        Value::Float(number) if number.is_infinite() => {
            (Cow::Borrowed(if *number > 0.0 { ".inf" } else { "-.inf" }), true)
        }
        Value::Float(_) => {
            let text = value.to_string();
            // YAML reads `1e+16` as text.
            (Cow::Owned(if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }), true)
        }
        other => (Cow::Owned(other.to_string()), true),
    }
}

/// The styles in which a text can be written.
pub struct Analysis {
    pub multiline: bool,
    pub flow_plain: bool,
    pub block_plain: bool,
    pub single_quoted: bool,
}

impl Analysis {
    pub fn of(text: &str, unicode: bool) -> Analysis {
        let letters: Vec<char> = text.chars().collect();
        let blank = |letter: Option<&char>| {
            letter.is_none_or(|letter| {
                matches!(letter, '\0' | ' ' | '\t' | '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
            })
        };
        let marker = text.starts_with("---") || text.starts_with("...");
        let (mut flow_indicators, mut block_indicators) = (marker, marker);
        let (mut breaks, mut special) = (false, false);
        let (mut break_space, mut space_break) = (false, false);
        for (index, letter) in letters.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| letters.get(before));
            let followed = blank(letters.get(index + 1));
            match letter {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`'
                    if index == 0 =>
                {
                    (flow_indicators, block_indicators) = (true, true);
                }
                '?' | ':' if index == 0 => {
                    flow_indicators = true;
                    block_indicators |= followed;
                }
                '-' if index == 0 && followed => (flow_indicators, block_indicators) = (true, true),
                ',' | '?' | '[' | ']' | '{' | '}' => flow_indicators = true,
                ':' => {
                    flow_indicators = true;
                    block_indicators |= followed;
                }
                '#' if blank(before) => (flow_indicators, block_indicators) = (true, true),
                _ => {}
            }
            breaks |= is_break(*letter);
            special |= *letter != '\n' && (!is_printable(*letter) || (!unicode && !letter.is_ascii()));
            break_space |= *letter == ' ' && before.is_some_and(|before| is_break(*before));
            space_break |= is_break(*letter) && before == Some(&' ');
        }
        let edge = |letter: Option<&char>| letter.is_some_and(|letter| *letter == ' ' || is_break(*letter));
        let ragged = edge(letters.first()) || edge(letters.last());
        let quotes_only = ragged || break_space || space_break || special || breaks;
        Analysis {
            multiline: breaks,
            flow_plain: !quotes_only && !flow_indicators && !text.is_empty(),
            block_plain: !quotes_only && !block_indicators,
            single_quoted: !break_space && !space_break && !special,
        }
    }
}

pub fn is_break(letter: char) -> bool {
    matches!(letter, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether libyaml considers the character printable; characters beyond the first plane aren't.
fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && letter != '\u{feff}'
}

pub fn must_escape(letter: char, unicode: bool) -> bool {
    !is_printable(letter) || (!unicode && !letter.is_ascii()) || is_break(letter) || matches!(letter, '"' | '\\')
}

/// Writes a text in double quotes; `unicode` leaves letters outside of ASCII unescaped.
pub fn double_quoted(text: &str, unicode: bool) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match must_escape(letter, unicode) {
            true => out.push_str(&escaped(letter)),
            false => out.push(letter),
        }
    }
    out.push('"');
    out
}

pub fn escaped(letter: char) -> String {
    let short = match letter {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        other => {
            return match other as u32 {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// Whether a plain scalar is a string by the rules of YAML 1.1, by which PyYAML decides on quotes.
pub fn is_string(text: &str) -> bool {
    let Some(first) = text.bytes().next() else { return false };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => !is_word(text),
        b'<' | b'=' => !matches!(text, "<<" | "="),
        b'0'..=b'9' | b'-' | b'+' | b'.' => !(is_integer(text) || is_float(text) || is_timestamp(text)),
        _ => true,
    }
}

fn is_word(text: &str) -> bool {
    const WORDS: [&str; 8] = ["yes", "no", "true", "false", "on", "off", "null", "~"];
    let lower = text.to_ascii_lowercase();
    let title = || {
        let mut letters = text.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
    };
    WORDS.contains(&&*lower) && (text == lower || text == text.to_ascii_uppercase() || title())
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn all(text: &str, fits: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'_' || fits(byte))
}

fn is_integer(text: &str) -> bool {
    let digits = unsigned(text);
    if let Some(binary) = digits.strip_prefix("0b") {
        return all(binary, |byte| matches!(byte, b'0' | b'1'));
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        return all(hexadecimal, |byte| byte.is_ascii_hexdigit());
    }
    if digits == "0" {
        return true;
    }
    if let Some(octal) = digits.strip_prefix('0') {
        return all(octal, |byte| matches!(byte, b'0'..=b'7'));
    }
    let mut parts = digits.split(':');
    let first = parts.next().unwrap_or_default();
    first.starts_with(|letter: char| letter.is_ascii_digit())
        && all(first, |byte| byte.is_ascii_digit())
        && parts.all(is_sixtieth)
}

/// Whether the text is a part of a number such as `12:30:45`.
fn is_sixtieth(part: &str) -> bool {
    matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
}

fn is_float(text: &str) -> bool {
    let digits = unsigned(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let Some((whole, fraction)) = digits.split_once('.') else { return false };
    let number = |byte: u8| byte.is_ascii_digit();
    if whole.contains(':') {
        let mut parts = whole.split(':');
        let first = parts.next().unwrap_or_default();
        let starts = first.starts_with(|letter: char| letter.is_ascii_digit()) && all(first, number);
        return starts && parts.all(is_sixtieth) && (fraction.is_empty() || all(fraction, number));
    }
    let (fraction, exponent) = match fraction.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (fraction, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        exponent.starts_with(['-', '+']) && exponent.len() > 1 && exponent[1..].bytes().all(number)
    });
    let whole_fits = match whole {
        // PyYAML allows a sign only before a digit.
        "" => text.starts_with('.') && fraction.starts_with(|letter: char| letter.is_ascii_digit() || letter == '_'),
        whole => whole.starts_with(|letter: char| letter.is_ascii_digit()) && all(whole, number),
    };
    whole_fits && exponent_fits && (fraction.is_empty() || all(fraction, number))
}

fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    if !digits(0, 4) || bytes.get(4) != Some(&b'-') {
        return false;
    }
    if bytes.len() == 10 && digits(5, 7) && bytes[7] == b'-' && digits(8, 10) {
        return true;
    }
    long_timestamp(&text[5..]).is_some()
}

/// Parses the part after the year of `2001-12-14t21:59:43.10-05:00`; `None` if it isn't a timestamp.
fn long_timestamp(text: &str) -> Option<()> {
    fn number(text: &str, shortest: usize, longest: usize) -> Option<&str> {
        let length = text.bytes().take_while(u8::is_ascii_digit).count().min(longest);
        if length < shortest { None } else { Some(&text[length..]) }
    }
    let rest = number(text, 1, 2)?.strip_prefix('-')?;
    let rest = number(rest, 1, 2)?;
    let rest = match rest.strip_prefix(['T', 't']) {
        Some(rest) => rest,
        None => rest.strip_prefix([' ', '\t'])?.trim_start_matches([' ', '\t']),
    };
    let rest = number(rest, 1, 2)?.strip_prefix(':')?;
    let rest = number(rest, 2, 2)?.strip_prefix(':')?;
    let mut rest = number(rest, 2, 2)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    let zone = rest.trim_start_matches([' ', '\t']);
    if rest.is_empty() || zone == "Z" {
        return Some(());
    }
    let zone = number(zone.strip_prefix(['-', '+'])?, 1, 2)?;
    let end = if zone.is_empty() { zone } else { number(zone.strip_prefix(':')?, 2, 2)? };
    end.is_empty().then_some(())
}
