// Embeds the agents in the binary, each with its hash: all files of the directory ROCKSALT_AGENTS.
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-env-changed=ROCKSALT_AGENTS");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut list = String::from("&[");
    if let Some(directory) = env::var_os("ROCKSALT_AGENTS").map(PathBuf::from) {
        println!("cargo::rerun-if-changed={}", directory.display());
        let mut files: Vec<PathBuf> = fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("ROCKSALT_AGENTS={}: {error}", directory.display()))
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.sort();
        for file in files {
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if let Some(agent) = name.strip_prefix("rocksalt-agent-") {
                println!("cargo::rerun-if-changed={}", file.display());
                let binary = fs::read(&file).unwrap_or_else(|error| panic!("can't read {}: {error}", file.display()));
                let hash = Sha256::digest(&binary).iter().fold(String::new(), |mut text, byte| {
                    let _ = write!(text, "{byte:02x}");
                    text
                });
                // Embeds a copy of the hashed bytes: the file itself may be rebuilt meanwhile.
                let copy = out.join(&name);
                fs::write(&copy, binary).unwrap_or_else(|error| panic!("can't write {}: {error}", copy.display()));
                let _ = write!(list, "({agent:?}, {hash:?}, include_bytes!({:?})),", copy.display().to_string());
            }
        }
    }
    list += "]";
    fs::write(out.join("agents.rs"), list).unwrap_or_else(|error| panic!("can't write the list of agents: {error}"));
}
