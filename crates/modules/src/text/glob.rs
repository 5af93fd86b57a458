//! Shell patterns: Python's `fnmatch` for names, its `glob` for paths.

use std::path::{Path, PathBuf};

use crate::machine::Probe;

/// Does a name match? `*` means anything, a slash and a leading dot too.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut from) = (0, 0);
    // Where to go on if what follows the last star doesn't fit here.
    let mut retry: Option<(usize, usize)> = None;
    while from < name.len() {
        if pattern.get(at) == Some(&'*') {
            retry = Some((at + 1, from));
            at += 1;
        } else if let Some(next) = one(&pattern, at, name[from]) {
            at = next;
            from += 1;
        } else if let Some((star, start)) = retry {
            retry = Some((star, start + 1));
            (at, from) = (star, start + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// If the pattern's item at this place takes the letter, where the next item is.
fn one(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => match set(pattern, at) {
            Some((negated, items, next)) => (contains(items, letter) != negated).then_some(next),
            None => (letter == '[').then_some(at + 1),
        },
        other => (*other == letter).then_some(at + 1),
    }
}

/// `[!items]`: whether it is negated, its items and where it ends; none if it never does.
fn set(pattern: &[char], at: usize) -> Option<(bool, &[char], usize)> {
    let negated = pattern.get(at + 1) == Some(&'!');
    let start = at + 1 + usize::from(negated);
    // A bracket right at the start is an item.
    let end = (start + 1..pattern.len()).find(|index| pattern[*index] == ']')?;
    Some((negated, &pattern[start..end], end + 1))
}

fn contains(items: &[char], letter: char) -> bool {
    let mut at = 0;
    while at < items.len() {
        if items.get(at + 1) == Some(&'-') && at + 2 < items.len() {
            if (items[at]..=items[at + 2]).contains(&letter) {
                return true;
            }
            at += 3;
        } else if items[at] == letter {
            return true;
        } else {
            at += 1;
        }
    }
    false
}

pub fn has_magic(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The paths that match, sorted. A star doesn't cross a slash nor take a leading dot.
pub fn paths(machine: &dyn Probe, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from(if pattern.starts_with('/') { "/" } else { "" })];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for above in found {
            if has_magic(part) {
                let place = if above.as_os_str().is_empty() { Path::new(".") } else { &above };
                let names = machine.list(place).unwrap_or_default();
                let fits = |name: &String| name.starts_with('.') == part.starts_with('.') && matches(part, name);
                next.extend(names.into_iter().filter(fits).map(|name| above.join(name)));
            } else if matches!(machine.stat(&above.join(part), false), Ok(Some(_))) {
                next.push(above.join(part));
            }
        }
        found = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Fake;

    #[test]
    fn names_match_as_pythons() {
        for (pattern, name) in [
            ("*", ""),
            ("*", ".x/y"),
            ("a*c", "abbc"),
            ("a*b*c", "aXbXbc"),
            ("[a-c]?", "bz"),
            ("[!a-c]", "d"),
            ("[]]", "]"),
            ("[", "["),
            ("a[", "a["),
            ("[a-]", "-"),
            ("é*", "éa"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("a", ""), ("?", ""), ("[!a]", "a"), ("a*c", "ab"), ("[]", "]"), ("A", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn paths_match_part_by_part() {
        let fake = Fake::new().file("/etc/a.conf", "").file("/etc/d/b.conf", "").file("/etc/.hidden.conf", "");
        let found =
            |pattern: &str| paths(&fake, pattern).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        assert_eq!(found("/etc/*.conf"), ["/etc/a.conf"]);
        assert_eq!(found("/etc/*/b.*"), ["/etc/d/b.conf"]);
        assert_eq!(found("/etc/a.conf"), ["/etc/a.conf"]);
        assert_eq!(found("/etc/.h*"), ["/etc/.hidden.conf"]);
        assert!(found("/none/*").is_empty());
    }
}
