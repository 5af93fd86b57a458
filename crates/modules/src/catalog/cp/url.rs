//! Fetches `http://` and `https://` URLs with the target's own tools.

use std::path::Path;

use crate::machine::{Command, Output, Probe, System};
use crate::{Error, Result};

/// The whole content. This only reads, so a dry run may use it.
pub fn content(machine: &dyn Probe, url: &str) -> Result<Vec<u8>> {
    fetch(&|command| machine.query(command), url, "-")
}

/// Fetches into a file, which keeps its old content until the new one is complete.
pub fn download(machine: &dyn System, url: &str, path: &Path, mode: Option<u32>) -> Result<()> {
    let beside = path.with_file_name(format!(".{}.download", path.file_name().unwrap_or_default().to_string_lossy()));
    let fetched = fetch(&|command| machine.run(command), url, &beside.to_string_lossy());
    let stored = fetched.and_then(|_| {
        let mut offset = 0;
        machine.write_stream(path, mode, &mut || {
            let piece =
                machine.read_at(&beside, offset, 256 * 1024).map_err(|error| Error::io("read", &beside, &error))?;
            offset += piece.len() as u64;
            Ok(piece)
        })
    });
    let _ = machine.remove(&beside);
    stored
}

/// The output of the tool; empty if it wrote to a file.
fn fetch(run: &dyn Fn(&Command) -> Result<Output>, url: &str, place: &str) -> Result<Vec<u8>> {
    let tools: [&[&str]; 2] = [
        &[
            "curl",
            "--fail",
            "--silent",
            "--show-error",
            "--location",
            "--proto",
            "=http,https",
            "--output",
            place,
            "--",
        ],
        &["wget", "-q", "-O", place, "--"],
    ];
    for tool in tools {
        let mut argv: Vec<&str> = tool.to_vec();
        argv.push(url);
        // A missing tool can't be started; try the next one.
        let Ok(output) = run(&Command::new(argv)) else { continue };
        if output.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::failed(format!("{} could not fetch {url} (exit code {}): {said}", tool[0], output.code)));
    }
    Err(Error::failed(format!("{url} can't be fetched: the target has neither curl nor wget"))
        .hint("install one of them there"))
}
