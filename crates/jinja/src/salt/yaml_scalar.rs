//! Which quotes a scalar needs when YAML is written as Salt writes it (with libyaml, in lines of 80).

/// What can be done with a text, whatever it means.
pub(super) struct Analysis {
    pub multiline: bool,
    pub flow_plain: bool,
    pub block_plain: bool,
    pub single_quoted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
}

pub(super) fn analyze(text: &str) -> Analysis {
    let characters: Vec<char> = text.chars().collect();
    let (Some(&first), Some(&last)) = (characters.first(), characters.last()) else {
        return Analysis { multiline: false, flow_plain: false, block_plain: true, single_quoted: true };
    };
    let marker = text.starts_with("---") || text.starts_with("...");
    let (mut flow_indicators, mut block_indicators) = (marker, marker);
    let (mut breaks, mut special, mut break_space, mut space_break) = (false, false, false, false);
    let mut before = None;
    for (index, &c) in characters.iter().enumerate() {
        let after_white = before.is_none_or(is_blank);
        let before_white = characters.get(index + 1).is_none_or(|next| is_blank(*next));
        match (c, before) {
            ('#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`', None) => {
                flow_indicators = true;
                block_indicators = true;
            }
            ('-', None) if before_white => {
                flow_indicators = true;
                block_indicators = true;
            }
            (':', _) | ('?', None) => {
                flow_indicators = true;
                block_indicators |= before_white;
            }
            (',' | '?' | '[' | ']' | '{' | '}', Some(_)) => flow_indicators = true,
            ('#', Some(_)) if after_white => {
                flow_indicators = true;
                block_indicators = true;
            }
            _ => {}
        }
        breaks |= is_break(c);
        special |= !is_printable(c);
        break_space |= c == ' ' && before.is_some_and(is_break);
        space_break |= is_break(c) && before == Some(' ');
        before = Some(c);
    }
    let at_edge = |c: char| c == ' ' || is_break(c);
    let plain = !(at_edge(first) || at_edge(last) || break_space || space_break || special || breaks);
    Analysis {
        multiline: breaks,
        flow_plain: plain && !flow_indicators,
        block_plain: plain && !block_indicators,
        single_quoted: !(break_space || space_break || special),
    }
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t' || c == '\0' || is_break(c)
}

/// By libyaml's table, which ends with the basic plane.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

/// Between double quotes, with the quotes.
pub(super) fn double_quoted(text: &str, unicode: bool) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        push_escaped(c, unicode, &mut out);
    }
    out.push('"');
    out
}

/// A character as it stands between double quotes.
pub(super) fn push_escaped(c: char, unicode: bool, out: &mut String) {
    let letter = match c {
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
        '\u{a0}' if !unicode => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        c if is_printable(c) && (unicode || c.is_ascii()) => {
            out.push(c);
            return;
        }
        c => {
            out.push_str(&match c as u32 {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            });
            return;
        }
    };
    out.push('\\');
    out.push(letter);
}

/// Whether YAML 1.1 reads the plain text as something else than a string.
pub(super) fn means_something(text: &str) -> bool {
    matches!(
        text,
        "" | "~"
            | "null"
            | "Null"
            | "NULL"
            | "="
            | "<<"
            | "yes"
            | "Yes"
            | "YES"
            | "no"
            | "No"
            | "NO"
            | "true"
            | "True"
            | "TRUE"
            | "false"
            | "False"
            | "FALSE"
            | "on"
            | "On"
            | "ON"
            | "off"
            | "Off"
            | "OFF"
    ) || is_integer(text)
        || is_float(text)
        || is_timestamp(text)
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let all = |text: &str, allowed: fn(u8) -> bool| {
        !text.is_empty() && text.bytes().all(|byte| byte == b'_' || allowed(byte))
    };
    if let Some(rest) = digits.strip_prefix("0b") {
        return all(rest, |byte| matches!(byte, b'0' | b'1'));
    }
    if let Some(rest) = digits.strip_prefix("0x") {
        return all(rest, |byte| byte.is_ascii_hexdigit());
    }
    if let Some(rest) = digits.strip_prefix('0') {
        return rest.is_empty() || all(rest, |byte| matches!(byte, b'0'..=b'7'));
    }
    digits.starts_with(|c: char| c.is_ascii_digit())
        && (all(digits, |byte| byte.is_ascii_digit()) || sixties(digits).is_some_and(str::is_empty))
}

/// What follows `190:20:30`, if the text begins so.
fn sixties(text: &str) -> Option<&str> {
    let (first, mut rest) = text.split_once(':')?;
    if first.is_empty() || !first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
        return None;
    }
    loop {
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let part = &rest[..length];
        if !(length == 1 || (length == 2 && part < "60")) {
            return None;
        }
        rest = &rest[length..];
        match rest.strip_prefix(':') {
            Some(next) => rest = next,
            None => return Some(rest),
        }
    }
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if let Some(rest) = sixties(unsigned) {
        return rest.strip_prefix('.').is_some_and(digits);
    }
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let exponent_is_right = exponent.is_none_or(|exponent| {
        exponent
            .strip_prefix(['-', '+'])
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let Some((whole, fraction)) = mantissa.split_once('.') else { return false };
    let starts = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let mantissa_is_right = if whole.is_empty() {
        unsigned.len() == text.len() && starts(fraction) && digits(fraction)
    } else {
        starts(whole) && digits(whole) && digits(fraction)
    };
    mantissa_is_right && exponent_is_right
}

fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return false;
    }
    let (month, rest) = number(&text[5..]);
    let Some(rest) = rest.strip_prefix('-') else { return false };
    let (day, rest) = number(rest);
    if !(1..=2).contains(&month) || !(1..=2).contains(&day) {
        return false;
    }
    if rest.is_empty() {
        return month == 2 && day == 2;
    }
    let time = rest.strip_prefix(['T', 't']).or_else(|| {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        (trimmed.len() < rest.len()).then_some(trimmed)
    });
    let Some(time) = time else { return false };
    let (hour, rest) = number(time);
    let Some((minute, rest)) = rest.strip_prefix(':').map(number) else { return false };
    let Some((second, rest)) = rest.strip_prefix(':').map(number) else { return false };
    if !(1..=2).contains(&hour) || minute != 2 || second != 2 {
        return false;
    }
    let rest =
        rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(|c: char| c.is_ascii_digit()));
    let zone = rest.trim_start_matches([' ', '\t']);
    if rest.is_empty() || zone == "Z" {
        return true;
    }
    let Some(zone) = zone.strip_prefix(['-', '+']) else { return false };
    let (hours, rest) = number(zone);
    (1..=2).contains(&hours) && (rest.is_empty() || rest.strip_prefix(':').is_some_and(|rest| number(rest) == (2, "")))
}

/// How many digits the text begins with, and what follows.
fn number(text: &str) -> (usize, &str) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length, &text[length..])
}
