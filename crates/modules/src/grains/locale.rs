//! Language, encoding and time zone.

use std::path::Path;
use std::time::Duration;

use rocksalt_core::{Map, Value};

use crate::machine::{Command, Probe};

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| machine.env(name).filter(|text| !text.is_empty()));
    let (language, encoding) = language_and_encoding(locale.as_deref().unwrap_or("C"));
    let pairs = [
        ("defaultlanguage", Value::from(language)),
        ("defaultencoding", Value::from(encoding)),
        ("detectedencoding", Value::from("utf-8")),
        ("timezone", Value::from(zone(machine))),
    ];
    let info: Map = pairs.into_iter().map(|(name, value)| (name.into(), value)).collect();
    grains.insert("locale_info", info);
}

/// Like Python, treats the C locale as American English in UTF-8; Salt's users rely on that.
fn language_and_encoding(locale: &str) -> (String, String) {
    let locale = locale.split('@').next().unwrap_or_default();
    let (language, encoding) = locale.split_once('.').unwrap_or((locale, ""));
    if matches!(language, "C" | "POSIX") {
        return ("en_US".into(), "UTF-8".into());
    }
    let encoding = match encoding.to_lowercase().replace('-', "").as_str() {
        "utf8" => "UTF-8".to_owned(),
        "" => "ISO8859-1".to_owned(),
        _ => encoding.to_owned(),
    };
    (language.to_owned(), encoding)
}

/// The abbreviation of the current time zone.
fn zone(machine: &dyn Probe) -> String {
    let file = match machine.env("TZ").filter(|zone| !zone.is_empty()) {
        Some(zone) => format!("/usr/share/zoneinfo/{}", zone.trim_start_matches(':')),
        None => "/etc/localtime".into(),
    };
    let Ok(content) = machine.read(Path::new(&file)) else { return "UTC".into() };
    match constant_zone(&content) {
        Some(zone) => zone,
        // Daylight saving time depends on rules, which the target's `date` evaluates.
        None => {
            let command = Command { timeout: Some(Duration::from_secs(2)), ..Command::new(["date", "+%Z"]) };
            let output = machine.query(&command).map(|output| output.text()).unwrap_or_default();
            Some(output.trim().to_owned()).filter(|zone| !zone.is_empty()).unwrap_or_else(|| "unknown".into())
        }
    }
}

/// The last line of a zone file is the rule for future times: `CET-1CEST,M3.5.0,…`, or `JST-9` without daylight saving
/// time.
fn constant_zone(content: &[u8]) -> Option<String> {
    let text = content.strip_suffix(b"\n")?;
    let rule = &text[text.iter().rposition(|byte| *byte == b'\n')? + 1..];
    let rule = std::str::from_utf8(rule).ok().filter(|rule| !rule.contains(','))?;
    let name = match rule.strip_prefix('<') {
        Some(rest) => rest.split('>').next()?,
        None => rule.split(|c: char| !c.is_ascii_alphabetic()).next()?,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Fake, Output};

    #[test]
    fn locales_are_split_as_python_does() {
        let cases = [
            ("C.UTF-8", ("en_US", "UTF-8")),
            ("POSIX", ("en_US", "UTF-8")),
            ("de_DE.utf8", ("de_DE", "UTF-8")),
            ("de_DE@euro", ("de_DE", "ISO8859-1")),
            ("ja_JP.eucJP", ("ja_JP", "eucJP")),
        ];
        for (locale, (language, encoding)) in cases {
            assert_eq!(language_and_encoding(locale), (language.to_owned(), encoding.to_owned()));
        }
    }

    #[test]
    fn zones_come_from_the_file_unless_there_is_summer_time() {
        assert_eq!(zone(&Fake::new()), "UTC");
        assert_eq!(zone(&Fake::new().file("/etc/localtime", "TZif2\0\0\nJST-9\n")), "JST");
        assert_eq!(zone(&Fake::new().file("/etc/localtime", "TZif2\0\0\n<+03>-3\n")), "+03");
        let output = Output { stdout: b"CEST\n".to_vec(), ..Output::default() };
        let berlin = Fake::new()
            .file("/etc/localtime", "TZif2\0\0\nCET-1CEST,M3.5.0,M10.5.0/3\n")
            .command(&["date", "+%Z"], output);
        assert_eq!(zone(&berlin), "CEST");
    }
}
