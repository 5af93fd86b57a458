//! Times the compiler alone, in process: `compile DIRECTORY SLS TIMES`; for `bench/`.
//!
//! Compiles repeatedly, each time from the files, and prints a line of JSON for each time.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use rocksalt_core::Map;
use rocksalt_sls::functions::{NoDecryptor, NoFunctions};
use rocksalt_sls::{CompileInputs, FileSources, SlsFault, SlsSelection, StateCatalog};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, sls, times] = &arguments[..] else {
        eprintln!("usage: compile DIRECTORY SLS TIMES");
        return ExitCode::from(2);
    };
    let Ok(times) = times.parse::<usize>() else {
        eprintln!("compile: not a number of times: {times}");
        return ExitCode::from(2);
    };
    let sls = [sls.clone()];
    for _ in 0..times {
        let started = Instant::now();
        let compiled = steps(Path::new(directory), &sls);
        let seconds = started.elapsed().as_secs_f64();
        match compiled {
            Ok(steps) => println!("{{\"steps\": {steps}, \"seconds\": {seconds:.6}}}"),
            Err(faults) => {
                for fault in faults {
                    eprintln!("compile: {fault}");
                }
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Compiles the sls and returns the number of steps. Nothing is cached between calls.
fn steps(directory: &Path, sls: &[String]) -> Result<usize, Vec<SlsFault>> {
    let (options, grains, pillar) = (Map::new(), Map::from_iter([("id".into(), "bench".into())]), Map::new());
    let inputs = CompileInputs {
        id: "bench",
        options: &options,
        grains: &grains,
        pillar: &pillar,
        sources: Rc::new(Directory(directory.to_owned())),
        functions: Rc::new(NoFunctions),
        decrypt: &NoDecryptor,
        machine: None,
        saltenv: None,
        pillarenv: None,
    };
    let high = rocksalt_sls::compile(&inputs, SlsSelection::Sls(sls))?;
    Ok(rocksalt_sls::low(high, &AnyState, &options, &grains)?.steps.len())
}

/// The files of `base`, read from disk each time.
struct Directory(PathBuf);

impl FileSources for Directory {
    fn environments(&self) -> Vec<String> {
        vec!["base".into()]
    }

    fn read(&self, _: &str, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        match std::fs::read(self.0.join(path)) {
            Ok(contents) => Ok(Some(contents.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("can't read {path}: {error}")),
        }
    }

    fn list(&self, _: &str) -> Result<Arc<Vec<String>>, String> {
        let (mut paths, mut folders) = (Vec::new(), vec![self.0.clone()]);
        while let Some(folder) = folders.pop() {
            let failed = |error: std::io::Error| format!("can't list {}: {error}", folder.display());
            for entry in std::fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                if entry.file_type().map_err(failed)?.is_dir() {
                    folders.push(entry.path());
                } else if let Ok(path) = entry.path().strip_prefix(&self.0) {
                    paths.push(path.to_string_lossy().into_owned());
                }
            }
        }
        paths.sort();
        Ok(Arc::new(paths))
    }
}

/// Treats everything that a tree names as a state.
struct AnyState;

impl StateCatalog for AnyState {
    fn has_watch(&self, _: &str) -> bool {
        false
    }

    fn has_aggregate(&self, _: &str) -> bool {
        false
    }

    fn has_state(&self, _: &str) -> bool {
        true
    }
}
