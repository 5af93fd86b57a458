//! Encodes text to other encodings than UTF-8, by Python's names.

/// Encodes a text; returns Python's message if that fails.
pub fn encode(text: &str, encoding: &str, errors: &str) -> Result<Vec<u8>, String> {
    let name = encoding.to_ascii_lowercase().replace(['_', ' '], "-");
    let wide = |big: bool, mark: bool| {
        let units = mark.then_some(0xFEFF).into_iter().chain(text.encode_utf16());
        units.flat_map(|unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let longest = |big: bool, mark: bool| {
        let units = mark.then_some(0xFEFF).into_iter().chain(text.chars().map(u32::from));
        units.flat_map(|unit: u32| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    match name.as_str() {
        "utf-8" | "utf8" | "u8" => Ok(text.as_bytes().to_vec()),
        "utf-8-sig" => Ok([b"\xEF\xBB\xBF", text.as_bytes()].concat()),
        "ascii" | "us-ascii" => {
            bytewise(text, "ascii", errors, |letter| u8::try_from(letter).ok().filter(u8::is_ascii))
        }
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1" => {
            bytewise(text, "latin-1", errors, |letter| u8::try_from(letter).ok())
        }
        "cp1252" | "windows-1252" => bytewise(text, "charmap", errors, windows),
        "utf-16" | "utf16" => Ok(wide(false, true)),
        "utf-16-le" | "utf-16le" => Ok(wide(false, false)),
        "utf-16-be" | "utf-16be" => Ok(wide(true, false)),
        "utf-32" | "utf32" => Ok(longest(false, true)),
        "utf-32-le" | "utf-32le" => Ok(longest(false, false)),
        "utf-32-be" | "utf-32be" => Ok(longest(true, false)),
        _ => Err(format!("unknown encoding: {encoding}")),
    }
}

fn bytewise(text: &str, name: &str, errors: &str, byte: impl Fn(char) -> Option<u8>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    for (position, letter) in text.chars().enumerate() {
        match (byte(letter), errors) {
            (Some(byte), _) => bytes.push(byte),
            (None, "ignore") => {}
            (None, "replace") => bytes.push(b'?'),
            (None, "xmlcharrefreplace") => bytes.extend(format!("&#{};", u32::from(letter)).bytes()),
            (None, "backslashreplace") => bytes.extend(escaped(letter).bytes()),
            (None, _) => {
                return Err(format!(
                    "'{name}' codec can't encode character '{}' in position {position}: ordinal not in range",
                    escaped(letter)
                ));
            }
        }
    }
    Ok(bytes)
}

fn escaped(letter: char) -> String {
    match u32::from(letter) {
        code @ 0..=0xFF => format!("\\x{code:02x}"),
        code @ 0x100..=0xFFFF => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// The characters in which Windows-1252 differs from Latin-1.
fn windows(letter: char) -> Option<u8> {
    const HIGH: [char; 27] = [
        '€', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 'Ž', '‘', '’', '“', '”', '•', '–', '—', '˜', '™',
        'š', '›', 'œ', 'ž', 'Ÿ',
    ];
    const CODES: [u8; 27] = [
        0x80, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0x8E, 0x91, 0x92, 0x93, 0x94, 0x95,
        0x96, 0x97, 0x98, 0x99, 0x9A, 0x9B, 0x9C, 0x9E, 0x9F,
    ];
    match HIGH.iter().position(|high| *high == letter) {
        Some(index) => CODES.get(index).copied(),
        None => u8::try_from(letter).ok().filter(|code| !(0x80..0xA0).contains(code)),
    }
}
