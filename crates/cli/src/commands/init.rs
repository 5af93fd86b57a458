//! `rocksalt init`: a small, commented project.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::config::{FILE, KEYS};
use crate::failure::Failure;
use crate::stdout::print_line;

/// Writes a configuration with every key explained, a roster, a state and a pillar.
#[derive(Args)]
pub struct Options {
    /// Where; it may exist, but none of the files may
    #[arg(default_value = ".")]
    directory: PathBuf,
}

pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let directory = &options.directory;
    let files = write_all(directory)?;
    let place = directory.display();
    print_line!("A project is in {place}: {}.", files.join(", "));
    print_line!("Next:");
    if directory != Path::new(".") {
        print_line!("  cd {place}");
    }
    print_line!("  put your machines into roster");
    print_line!("  rocksalt hosts --check");
    print_line!("  rocksalt '*' test.ping");
    Ok(ExitCode::SUCCESS)
}

/// Writes a whole project. Returns the names of its files.
pub fn write_all(directory: &Path) -> Result<Vec<&'static str>, Failure> {
    let files: Vec<(&'static str, String)> = vec![
        (FILE, config()),
        ("roster", ROSTER.into()),
        ("states/top.sls", STATE_TOP.into()),
        ("states/motd/init.sls", STATE.into()),
        ("pillar/top.sls", PILLAR_TOP.into()),
        ("pillar/common.sls", PILLAR.into()),
    ];
    // All or nothing: checked before the first file is written.
    if let Some((name, _)) = files.iter().find(|(name, _)| directory.join(name).exists()) {
        return Err(Failure::usage(format!("{} is there already", directory.join(name).display()))
            .hint("nothing was written; name another directory"));
    }
    for (name, text) in &files {
        write(&directory.join(name), text)?;
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let fault = |error: std::io::Error| Failure::usage(format!("can't write {}: {error}", path.display()));
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(fault)?;
    }
    let mut file = fs::File::create_new(path).map_err(fault)?;
    file.write_all(text.as_bytes()).map_err(fault)
}

fn config() -> String {
    let mut text = String::from("# Rocksalt's configuration. Every key is here; what starts with # is not set.\n");
    for (key, meaning) in KEYS {
        text += &format!("\n# {meaning}.\n");
        text += match *key {
            "file_roots" => "file_roots:\n  base: [states]\n",
            "pillar_roots" => "pillar_roots:\n  base: [pillar]\n",
            "roster" => "#roster: flat\n",
            "roster_file" => "roster_file: roster\n",
            "nodegroups" => "#nodegroups:\n#  web: web* or www*\n",
            "peer" => "#peer:\n#  web.*: [test.ping]\n",
            "roster_defaults" => "#roster_defaults:\n#  user: root\n",
            _ => "",
        };
        if !text.ends_with(&format!("{key}:")) && !text.contains(&format!("{key}:")) {
            text += &format!("#{key}:\n");
        }
    }
    text
}

const ROSTER: &str = "\
# The machines, as in Salt's flat roster. An id, and how to reach it:
#
# web1:
#   host: 192.0.2.11        # a name or an address
#   user: root              # default: ~/.ssh/config, then your own name
#   # port: 22
#   # priv: ~/.ssh/id_ed25519
#   # sudo: True            # become root after the login
#   # accept_new: True      # take and remember its host key at the first contact
#
# This machine itself, so that there is something to try:
here:
  host: localhost
  transport: local
";

const STATE_TOP: &str = "\
# Which states belong to which targets. `rocksalt apply '*' --test` says what they would change.
base:
  '*':
    - motd
";

const STATE: &str = "\
# A file with a greeting from the pillar.
/etc/motd:
  file.managed:
    - contents: {{ pillar['greeting'] }}
";

const PILLAR_TOP: &str = "\
# Which data belong to which targets.
base:
  '*':
    - common
";

const PILLAR: &str = "greeting: This machine is kept by Rocksalt.\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_configuration_is_valid_and_complete() {
        let text = config();
        assert!(rocksalt_core::yaml::parse(&text).is_ok(), "{text}");
        for (key, _) in KEYS {
            let line = |line: &str| line.trim_start_matches('#').starts_with(&format!("{key}:"));
            assert!(text.lines().any(line), "{key} is missing");
        }
    }
}
