//! Parses query strings.

use super::error::ApiError;

/// The most parameters of a request.
const MAX_PARAMETERS: usize = 200;

/// The default length of a page.
pub fn default_limit() -> usize {
    100
}

/// Percent-decoded names and values.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, ApiError> {
    let parts: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
    if parts.len() > MAX_PARAMETERS {
        return Err(ApiError::invalid(format!("there are more than {MAX_PARAMETERS} parameters")));
    }
    let pair = |part: &str| {
        let (name, text) = part.split_once('=').unwrap_or((part, ""));
        Ok((percent_decode(name)?, percent_decode(text)?))
    };
    parts.into_iter().map(pair).collect()
}

fn percent_decode(text: &str) -> Result<String, ApiError> {
    let fault = || ApiError::invalid("a parameter is not percent-encoded correctly");
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
    fn parameters_are_percent_decoded() {
        let read = pairs("a=1&b=x+y%2F%C3%A4&&c&a=2").expect("it is one");
        let read: Vec<(&str, &str)> = read.iter().map(|(name, text)| (&**name, &**text)).collect();
        assert_eq!(read, [("a", "1"), ("b", "x y/ä"), ("c", ""), ("a", "2")]);
        for wrong in ["a=%", "a=%4", "a=%zz", "a=%ff", "%ff=a"] {
            assert!(pairs(wrong).is_err(), "{wrong}");
        }
        assert!(pairs(&"a=1&".repeat(201)).is_err());
    }
}
