//! The kernel: its name, release, architecture and boot parameters.

use rocksalt_core::{Map, Value};

use super::look;
use crate::machine::Probe;

pub(super) fn grains(machine: &dyn Probe, grains: &mut Map) {
    let known = |name: &str| look::line(machine, &format!("/proc/sys/kernel/{name}"));
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    grains.insert("kernel", known("ostype").unwrap_or_else(|| text(uname.sysname())));
    grains.insert("nodename", known("hostname").unwrap_or_else(|| text(uname.nodename())));
    grains.insert("kernelrelease", known("osrelease").unwrap_or_else(|| text(uname.release())));
    grains.insert("kernelversion", known("version").unwrap_or_else(|| text(uname.version())));
    // The file exists since Linux 6.1.
    grains.insert("cpuarch", known("arch").unwrap_or_else(|| text(uname.machine())));
    if let Some(line) = look::text(machine, "/proc/cmdline") {
        grains.insert("kernelparams", parameters(&line));
    }
}

/// Pairs of name and value. A value is null if there is none, and (as in Salt) if it contains a `=`.
fn parameters(line: &str) -> Vec<Value> {
    words(line)
        .into_iter()
        .map(|word| {
            let mut parts = word.split('=');
            let name = parts.next().unwrap_or_default().to_owned();
            let value = match (parts.next(), parts.next()) {
                (Some(value), None) => Value::from(value.trim_matches('"')),
                _ => Value::Null,
            };
            Value::List(vec![name.into(), value])
        })
        .collect()
}

/// Splits at blanks, but not inside quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut begun) = (None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                begun = true;
            }
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_parameters_are_pairs() {
        let line = "BOOT_IMAGE=/vmlinuz-6.1 root=UUID=ab-cd ro quiet dyndbg=\"file drivers/usb +p\" x=\"1\"\n";
        let text = Value::List(parameters(line)).to_string();
        let expected = "[['BOOT_IMAGE', '/vmlinuz-6.1'], ['root', None], ['ro', None], ['quiet', None], \
                        ['dyndbg', 'file drivers/usb +p'], ['x', '1']]";
        assert_eq!(text, expected);
    }
}
