//! Any text as YAML: never a panic, and what is read survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocksalt_core::yaml;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(value) = yaml::parse(text) {
        let written = yaml::emit(&value);
        let back = yaml::parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(back, value, "{written}");
    }
});
