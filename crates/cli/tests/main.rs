//! Tests the real binary in a scratch directory: its output and its exit code.
//!
//! A case is a file in `tests/cases/command`: `== FILE name` starts a file's content, `== RUN words` a command,
//! followed by its output. Lines of standard error start with `! `, and `? N` is an exit code other than 0. `UPDATE=1`
//! writes the current output; read the diff before you commit it.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn commands_print_what_their_cases_say() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/command");
    let mut files: Vec<PathBuf> = std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 23, "the cases are not where they should be");
    let failed: Vec<String> = files.iter().filter_map(|file| check(file)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// `docs/mistakes.md` is generated from the cases whose names begin with `mistake-`.
#[test]
fn the_page_of_mistakes_shows_what_is_printed() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/command");
    let mut files: Vec<PathBuf> = std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap().to_string_lossy().starts_with("mistake-"));
    files.sort();
    assert_eq!(files.len(), 10);
    let mut page = String::from(
        "# Ten mistakes\n\nThat everybody makes once, and what Rocksalt says about them. \
         Made by a test from what it prints.\n",
    );
    for file in &files {
        page += &section(&std::fs::read_to_string(file).unwrap());
    }
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mistakes.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&place, &page).unwrap();
    }
    let written = std::fs::read_to_string(place).unwrap_or_default();
    assert_eq!(written, page, "UPDATE=1 cargo test -p rocksalt writes the page anew");
}

/// A case as a section of a page.
fn section(case: &str) -> String {
    let mut blocks = blocks(case);
    let title = blocks.next().unwrap_or_default().trim().trim_start_matches("# ");
    let mut text = format!("\n## {title}\n");
    for block in blocks {
        let (head, body) = block.split_once('\n').unwrap_or((block, ""));
        let body = body.trim_end_matches('\n');
        match head.split_once(' ') {
            // The same in all cases.
            Some(("FILE", "rocksalt.yml")) | None => {}
            Some(("FILE", name)) => text += &format!("\n`{name}`:\n\n```yaml\n{body}\n```\n"),
            Some((_, words)) => {
                let said: Vec<&str> = body
                    .lines()
                    .filter(|line| !line.starts_with("? "))
                    .map(|line| line.strip_prefix("! ").or(line.strip_prefix('!')).unwrap_or(line))
                    .collect();
                text += &format!("\n```console\n$ rocksalt {words}\n{}\n```\n", said.join("\n"));
            }
        }
    }
    text
}

/// The text before the first line that begins with `== `, then the text after each such line.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = text.match_indices("\n== ").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.push(text.len());
    let pairs: Vec<(usize, usize)> = starts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter().map(|(from, to)| text[from..to].strip_prefix("== ").unwrap_or(&text[from..to]))
}

/// `None` if the output is that of the case.
fn check(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let scratch = Scratch::new(file);
    let mut now = String::new();
    let mut blocks = blocks(&text);
    now += blocks.next().unwrap_or_default();
    for block in blocks {
        let (head, body) = block.split_once('\n').unwrap_or((block, ""));
        now += &format!("== {head}\n");
        match head.split_once(' ') {
            Some(("FILE", name)) => {
                scratch.write(name, body.trim_end_matches('\n'));
                now += body;
            }
            Some(("RUN", words)) => now += &format!("{}\n", scratch.run(words)),
            _ => panic!("{}: '== {head}' is neither a FILE nor a RUN", file.display()),
        }
    }
    let now = format!("{}\n", now.trim_end());
    if now == text {
        return None;
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, now).unwrap();
        return None;
    }
    Some(format!("{}: it prints now\n{now}", file.display()))
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(file: &Path) -> Scratch {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let directory = std::env::temp_dir().join(format!("rocksalt-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(directory.join("home")).unwrap();
        Scratch(directory)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{content}\n")).unwrap();
    }

    fn run(&self, words: &str) -> String {
        // The shell splits the words as it does for a user.
        let output = Command::new("/bin/sh")
            .args(["-c", &format!("\"$ROCKSALT\" {words}")])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("ROCKSALT", env!("CARGO_BIN_EXE_rocksalt"))
            .env("HOME", self.0.join("home"))
            .env("XDG_CACHE_HOME", self.0.join("cache"))
            .env("XDG_STATE_HOME", self.0.join("state"))
            .env("XDG_RUNTIME_DIR", &self.0)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let place = self.0.display().to_string();
        let clean = |bytes: &[u8]| without_times(&String::from_utf8_lossy(bytes).replace(&place, "DIR"));
        let mut shown = String::new();
        for line in clean(&output.stdout).lines() {
            shown += &format!("{line}\n");
        }
        for line in clean(&output.stderr).lines() {
            shown += format!("! {line}").trim_end();
            shown.push('\n');
        }
        match output.status.code() {
            Some(0) => {}
            code => shown += &format!("? {}\n", code.map_or("killed".into(), |code| code.to_string())),
        }
        shown
    }
}

/// Replaces ids of jobs and times, which differ in each run; ids that a case chooses itself stay.
fn without_times(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        shown.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !(c.is_ascii_digit() || "-:.TZ".contains(c))).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(rest[..end].trim_end_matches([':', '.', '-']).len());
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        shown.push_str(match (word.len(), digits) {
            (20, 20) if !["20260131", "20200101", "20270101"].contains(&&word[..8]) => "JID",
            (27, 20) => "TIME",
            _ => word,
        });
        rest = behind;
    }
    shown.push_str(rest);
    let lines = shown.lines().map(|line| match line.split_once("started:  ") {
        // `2026-01-31 09:30:00 UTC, took 0.1s by root`
        Some((before, time)) => {
            format!("{before}started:  TIME by {}", time.rsplit(' ').next().unwrap_or_default())
        }
        None => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
