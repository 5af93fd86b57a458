//! Texts in which special characters are written as three octal digits after a backslash.

/// The decoded text. A backslash without three digits stays.
pub fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(letter) => {
                bytes.push(letter);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn only_what_is_escaped_changes() {
        assert_eq!(unescaped(r"/a\040b\134c\303\266"), r"/a b\cö");
        assert_eq!(unescaped(r"/plain\n\9zz\04"), r"/plain\n\9zz\04");
    }
}
