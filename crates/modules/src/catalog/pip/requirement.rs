//! [`Requirement`]: a requested package, `requests[socks]>=2,<3`.

/// A requested package.
#[derive(Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The normalised name; empty if only pip knows it.
    pub name: String,
    pub requests: Vec<(String, String)>,
}

/// Parses a requirement; returns Salt's text if that fails.
pub fn read(text: &str) -> Result<Requirement, String> {
    let bare = text.trim();
    let invalid = || match bare.contains('=') && !bare.contains("==") {
        true => format!("Invalid version specification in package {text}. '=' is not supported, use '==' instead."),
        false => format!("pip raised an exception while parsing '{text}': Invalid requirement: '{text}'"),
    };
    if bare.is_empty() || bare.starts_with('-') {
        return Err(invalid());
    }
    let unknown = Requirement { name: String::new(), requests: Vec::new() };
    let is_place = bare.contains("://") || bare.starts_with(['/', '.', '~']);
    if is_place && !bare.contains('@') || bare.split_once("://").is_some_and(|(scheme, _)| !scheme.contains(['@', ' ']))
    {
        return Ok(named_by_place(bare).unwrap_or(unknown));
    }
    let end =
        bare.find(|letter: char| !letter.is_ascii_alphanumeric() && !"._-".contains(letter)).unwrap_or(bare.len());
    let (name, mut rest) = (&bare[..end], bare[end..].trim_start());
    if name.is_empty() {
        return Err(invalid());
    }
    let name = normal(name);
    if let Some(after) = rest.strip_prefix('[') {
        rest = after.split_once(']').ok_or_else(invalid)?.1.trim_start();
    }
    if rest.starts_with('@') {
        return Ok(Requirement { name, requests: Vec::new() });
    }
    let rest = rest.split(';').next().unwrap_or_default();
    let rest = rest.trim().trim_start_matches('(').trim_end_matches(')');
    let requests = if rest.is_empty() { Some(Vec::new()) } else { specifiers(rest) };
    requests.map(|requests| Requirement { name, requests }).ok_or_else(invalid)
}

/// Parses `>=1,<2` to pairs of an operator and a version.
pub fn specifiers(text: &str) -> Option<Vec<(String, String)>> {
    let one = |text: &str| {
        let text = text.trim();
        let end = text.find(|sign: char| !"<>=!~".contains(sign))?;
        let (operator, version) = (&text[..end], text[end..].trim());
        let known = matches!(operator, "==" | "!=" | "<=" | ">=" | "<" | ">" | "~=" | "===");
        let sound = !version.is_empty() && !version.contains(char::is_whitespace);
        (known && sound).then(|| (operator.to_owned(), version.to_owned()))
    };
    text.split(',').map(one).collect()
}

/// Normalises a name as pip does: lower case, and one dash for any run of separators.
pub fn normal(name: &str) -> String {
    let mut shown = String::new();
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if shown.ends_with('-') => {}
            '-' | '_' | '.' => shown.push('-'),
            other => shown.extend(other.to_lowercase()),
        }
    }
    shown
}

/// The file name of a wheel contains its name and version; a URL may name an egg.
fn named_by_place(text: &str) -> Option<Requirement> {
    let (place, fragment) = text.split_once('#').unwrap_or((text, ""));
    if let Some(egg) = fragment.split('&').find_map(|part| part.strip_prefix("egg=")) {
        let name = egg.split(['[', '=', '<', '>', '!', '~']).next().unwrap_or_default();
        return Some(Requirement { name: normal(name), requests: Vec::new() });
    }
    let file = place.split('?').next()?.rsplit('/').next()?.strip_suffix(".whl")?;
    let mut parts = file.split('-');
    let (name, version) = (parts.next()?, parts.next()?);
    Some(Requirement { name: normal(name), requests: vec![("==".into(), version.into())] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read() {
        let cases = [
            ("Flask", "flask", ""),
            ("zope.interface>=5,<6", "zope-interface", ">=5 <6"),
            ("requests[socks, security] == 2.31.0 ; python_version > '3'", "requests", "==2.31.0"),
            ("a_b (>=1)", "a-b", ">=1"),
            ("demo @ https://example.com/demo-1.zip", "demo", ""),
            ("/srv/wheels/My_Demo-1.2-py3-none-any.whl", "my-demo", "==1.2"),
            ("git+https://example.com/x.git@v1#egg=Thing&subdirectory=a", "thing", ""),
            ("https://example.com/x.tar.gz", "", ""),
        ];
        for (text, name, requests) in cases {
            let found = read(text).unwrap_or_else(|error| panic!("{error}"));
            let shown: Vec<String> =
                found.requests.iter().map(|(operator, version)| format!("{operator}{version}")).collect();
            assert_eq!((found.name.as_str(), shown.join(" ").as_str()), (name, requests), "{text}");
        }
        assert!(read("a=1").is_err_and(|text| text.contains("use '==' instead")));
        for bad in ["", "--index-url=x", "a b", "a==", "=1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
