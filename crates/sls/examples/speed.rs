//! Times the stages of compiling a generated tree: `cargo run --release --example speed [STATES]`.
#![allow(clippy::print_stdout)]

use std::rc::Rc;
use std::time::Instant;

use rocksalt_core::{Map, yaml};
use rocksalt_sls::functions::{NoDecryptor, NoFunctions};
use rocksalt_sls::sources::MemorySources;
use rocksalt_sls::{CompileInputs, SlsSelection, StateCatalog, compile, low};

fn main() {
    let states: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut main = String::new();
    for number in 0..states {
        let before = number.saturating_sub(1);
        main += &format!(
            "state-{number}:\n  cmd.run:\n    - name: echo {number}\n    - value: {number}\n    - require:\n      - cmd: state-{before}x\n"
        );
        main += &format!("state-{number}x:\n  test.nop: []\n  cmd.run: []\n");
    }
    let mut files = MemorySources::new();
    files.add("base", "main.sls", main.clone().into_bytes());
    let (options, grains, pillar) = (Map::new(), Map::new(), Map::new());
    let inputs = CompileInputs {
        id: "web01",
        options: &options,
        grains: &grains,
        pillar: &pillar,
        sources: Rc::new(files),
        functions: Rc::new(NoFunctions),
        decrypt: &NoDecryptor,
        machine: None,
        saltenv: None,
        pillarenv: None,
    };
    let times = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(5);
    for _ in 0..times {
        let start = Instant::now();
        let node = yaml::load(&main).expect("it is YAML");
        let parsed = start.elapsed();
        drop(node);
        let start = Instant::now();
        let names = ["main".to_owned()];
        let high = compile(&inputs, SlsSelection::Sls(&names)).expect("the tree compiles");
        let compiled = start.elapsed();
        let start = Instant::now();
        let low = low(high, &Nothing, &options, &grains).expect("the tree has an order");
        println!("yaml alone {parsed:?}, high {compiled:?}, low {:?}, {} steps", start.elapsed(), low.steps.len());
    }
}

struct Nothing;

impl StateCatalog for Nothing {
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
