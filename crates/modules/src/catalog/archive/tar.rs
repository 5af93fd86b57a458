//! Tar archives: listed and extracted by the target's tar.

use std::path::Path;

use super::contents::{ArchiveContents, Member, MemberKind};
use super::place::Archive;
use crate::machine::{Command, Output, Probe, System};
use crate::text::words;
use crate::{Error, Result};

/// Lists the members. `decompress` is a command for a compression that tar doesn't know itself.
pub fn list(machine: &dyn Probe, archive: &Archive, decompress: Option<&str>, strip: usize) -> Result<ArchiveContents> {
    let names = read(machine, archive, decompress, "-t")?;
    // A second listing provides the types. Only names are reliable one per line; in the long format a name could
    // contain anything.
    let lines = read(machine, archive, decompress, "-tv")?;
    let (names, lines) = (names.text(), lines.text());
    let mut members = Vec::new();
    let mut lines = lines.lines();
    for name in names.lines() {
        let line = lines.next().ok_or_else(|| Error::failed("tar lists the archive in two ways"))?;
        members.push(member(name, line));
    }
    Ok(ArchiveContents::new(members, strip))
}

fn member(name: &str, line: &str) -> Member {
    let path = unescaped(name.trim_end_matches('/'));
    let behind =
        |arrow: &str| line.rfind(&format!("{name}{arrow}")).map(|at| unescaped(&line[at + name.len() + arrow.len()..]));
    let kind = match line.chars().next() {
        Some('d') => MemberKind::Directory,
        Some('l') => MemberKind::Link(behind(" -> ").unwrap_or_default()),
        Some('h') => MemberKind::HardLink(behind(" link to ").or_else(|| behind(" -> ")).unwrap_or_default()),
        _ => MemberKind::File,
    };
    let owner = line.split_whitespace().nth(1).and_then(|owner| owner.split_once('/'));
    Member { path, kind, owner: owner.map(|(user, group)| (user.to_owned(), group.to_owned())) }
}

/// Decodes names as tar prints them: with control characters and backslashes escaped.
fn unescaped(name: &str) -> String {
    if !name.contains('\\') {
        return name.to_owned();
    }
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
            continue;
        }
        let Some((sign, after)) = after.split_first() else {
            bytes.push(b'\\');
            break;
        };
        rest = after;
        bytes.push(match sign {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            other => *other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read(machine: &dyn Probe, archive: &Archive, decompress: Option<&str>, how: &str) -> Result<Output> {
    let mut argv = vec!["tar".to_owned(), how.to_owned()];
    argv.extend(decompress.map(|command| format!("--use-compress-program={command}")));
    let (place, stdin) = match archive {
        Archive::File(path) => (path.to_string_lossy().into_owned(), None),
        Archive::Bytes(bytes) => {
            // tar doesn't detect the compression of a pipe.
            argv.extend(compression(bytes).map(str::to_owned).filter(|_| decompress.is_none()));
            ("-".into(), Some(bytes.to_vec()))
        }
    };
    argv.extend(["-f".into(), place]);
    let shown = argv.join(" ");
    let output = machine.query(&Command { stdin, env: english(), ..Command::new(argv) })?;
    match output.success() {
        true => Ok(output),
        false => Err(failed(&shown, &output)),
    }
}

/// tar's option for the compression, by the first bytes.
fn compression(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x1f, 0x8b, ..] => Some("--gzip"),
        [b'B', b'Z', b'h', ..] => Some("--bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Some("--xz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("--zstd"),
        [0x5d, 0, 0, ..] => Some("--lzma"),
        _ => None,
    }
}

/// Extracts the archive. With options it returns tar's output, otherwise nothing.
pub fn extract(machine: &dyn System, archive: &Path, to: &Path, options: Option<&str>) -> Result<Vec<String>> {
    let argv = command(archive, options)?;
    let shown = argv.join(" ");
    let output = machine.run(&Command { cwd: Some(to.to_owned()), env: english(), ..Command::new(argv) })?;
    if !output.success() {
        return Err(failed(&shown, &output));
    }
    // bsdtar prints names on standard error.
    let text =
        if output.stdout.is_empty() { String::from_utf8_lossy(&output.stderr).into_owned() } else { output.text() };
    Ok(text.lines().map(|line| line.strip_prefix("x ").unwrap_or(line).to_owned()).collect())
}

/// The command line. Options are split into words; the first may be bare letters, as is usual with tar.
fn command(archive: &Path, options: Option<&str>) -> Result<Vec<String>> {
    let given = words::split(options.unwrap_or_default()).map_err(|reason| {
        Error::arguments(format!("options: could not split '{}': {reason}", options.unwrap_or_default()))
    })?;
    let mut letters = "xv".to_owned();
    let mut argv = Vec::new();
    for (position, word) in
        given.into_iter().filter(|word| !matches!(word.as_str(), "v" | "-v" | "--verbose")).enumerate()
    {
        match word.starts_with('-') || position > 0 {
            true => argv.push(word),
            false => letters.extend(word.chars().filter(|letter| !"xf".contains(*letter))),
        }
    }
    argv.splice(..0, ["tar".to_owned(), letters]);
    argv.extend(["-f".into(), archive.to_string_lossy().into_owned()]);
    Ok(argv)
}

fn english() -> Vec<(String, Option<String>)> {
    // UTF-8, so that non-ASCII names are not escaped.
    vec![("LC_ALL".into(), Some("C.UTF-8".into()))]
}

fn failed(shown: &str, output: &Output) -> Error {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Error::failed(format!("'{shown}' failed with exit code {}: {said}", output.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let link = member("a/l -> x", "lrwxrwxrwx root/root 0 2020-01-01 00:00 a/l -> x -> ../b");
        assert_eq!((link.path.as_str(), link.kind), ("a/l -> x", MemberKind::Link("../b".into())));
        let hard = member("h", "hrw-r--r-- 1000/1000 0 2020-01-01 00:00 h link to f");
        assert_eq!(hard.kind, MemberKind::HardLink("f".into()));
        assert_eq!(hard.owner, Some(("1000".into(), "1000".into())));
        assert_eq!(member("a/", "drwxr-xr-x root/root 0 2020-01-01 00:00 a/").path, "a");
        assert_eq!(unescaped("a\\nb\\\\c\\303\\244"), "a\nb\\cä");
    }

    #[test]
    fn options_are_put_together_as_in_salt() {
        let made = |options| command(Path::new("/a.tar"), options).map(|argv| argv.join(" ")).unwrap_or_default();
        assert_eq!(made(None), "tar xv -f /a.tar");
        assert_eq!(made(Some("xvzf")), "tar xvvz -f /a.tar");
        assert_eq!(made(Some("z --strip-components=1")), "tar xvz --strip-components=1 -f /a.tar");
        assert_eq!(made(Some("--strip 1 -v")), "tar xv --strip 1 -f /a.tar");
    }
}
