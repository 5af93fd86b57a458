//! Any text as a tree of state files: never a panic, and a step never comes before what it needs.
//!
//! The input is cut into files at lines `--- path`; what is before the first is `main.sls`.
#![no_main]

use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use rocksalt_core::Map;
use rocksalt_sls::functions::{NoDecryptor, NoFunctions};
use rocksalt_sls::pillar::{self, PillarInputs};
use rocksalt_sls::sources::MemorySources;
use rocksalt_sls::{StateCatalog, CompileInputs, SlsSelection, compile, low, top};

struct States;

impl StateCatalog for States {
    fn has_watch(&self, module: &str) -> bool {
        module == "test"
    }

    fn has_aggregate(&self, module: &str) -> bool {
        module == "pkg"
    }

    fn has_state(&self, _: &str) -> bool {
        true
    }
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut files = MemorySources::new();
    let (mut path, mut contents) = ("main.sls".to_owned(), String::new());
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("--- ") {
            Some(next) => {
                files.add("base", &path, std::mem::take(&mut contents).into_bytes());
                path = next.trim().to_owned();
            }
            None => contents += line,
        }
    }
    files.add("base", &path, contents.into_bytes());
    let empty = Map::new();
    let inputs = CompileInputs {
        id: "web01",
        options: &empty,
        grains: &empty,
        pillar: &empty,
        sources: Rc::new(files),
        functions: Rc::new(NoFunctions),
        decrypt: &NoDecryptor,
        machine: None,
        saltenv: None,
        pillarenv: None,
    };
    let names = ["main".to_owned()];
    if let Ok(high) = compile(&inputs, SlsSelection::Sls(&names)) {
        let _ = high.to_value();
        if let Ok(low) = low(high, &States, &empty, &empty) {
            for (position, step) in low.steps.iter().enumerate() {
                assert!(step.needs.iter().all(|need| need.step < position));
            }
        }
    }
    let _ = top(&inputs);
    pillar::compile(&PillarInputs { inputs, given: &empty, external: &[] });
});
