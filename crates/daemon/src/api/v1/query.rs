//! What stands behind the `?`.

use super::fault::Fault;

/// The most parts that are read.
const MOST: usize = 200;

/// Names and their texts, unquoted.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, Fault> {
    let parts: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
    if parts.len() > MOST {
        return Err(Fault::invalid(format!("there are more than {MOST} parameters")));
    }
    let pair = |part: &str| {
        let (name, text) = part.split_once('=').unwrap_or((part, ""));
        Ok((unquoted(name)?, unquoted(text)?))
    };
    parts.into_iter().map(pair).collect()
}

fn unquoted(text: &str) -> Result<String, Fault> {
    let fault = || Fault::invalid("a parameter is not quoted as URLs are");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).ok_or_else(fault);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| fault())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_unquoted() {
        let read = pairs("a=1&b=x+y%2F%C3%A4&&c&a=2").expect("it is one");
        let read: Vec<(&str, &str)> = read.iter().map(|(name, text)| (&**name, &**text)).collect();
        assert_eq!(read, [("a", "1"), ("b", "x y/ä"), ("c", ""), ("a", "2")]);
        for wrong in ["a=%", "a=%4", "a=%zz", "a=%ff", "%ff=a"] {
            assert!(pairs(wrong).is_err(), "{wrong}");
        }
        assert!(pairs(&"a=1&".repeat(201)).is_err());
    }
}
