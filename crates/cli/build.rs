// Puts the agents into the binary: all files of the directory that ROCKSALT_AGENTS names.
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-env-changed=ROCKSALT_AGENTS");
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
                let file = fs::canonicalize(&file).unwrap_or(file);
                println!("cargo::rerun-if-changed={}", file.display());
                list += &format!("({agent:?}, include_bytes!({:?})),", file.display().to_string());
            }
        }
    }
    list += "]";
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("agents.rs");
    fs::write(out, list).unwrap_or_else(|error| panic!("can't write the list of agents: {error}"));
}
