//! Any text as a template, in Jinja's and in Salt's environment: never a panic, and limits hold.
#![no_main]

use std::collections::HashMap;
use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use rocksalt_jinja::{Environment, RenderLimits, Options, Value};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for mut options in [Options::jinja(), Options::salt()] {
        options.limits = RenderLimits { steps: 20_000, output_bytes: 1 << 20, ..RenderLimits::default() };
        let mut environment = Environment::new(options);
        // The template can include, import and extend itself, and a file with a macro and some data.
        let files = [("self", text), ("other", "{% macro m(a, b=1) %}{{ a }}{{ caller() if caller }}{% endmacro %}{% set x = [1] %}")];
        let files: HashMap<String, String> = files.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        environment.set_loader(Rc::new(files));
        let data = rocksalt_core::json::parse(r#"{"a": [1, 2.5, "é", null], "b": {"c": true}}"#).expect("it is JSON");
        let context = [("d", Value::from(data)), ("s", Value::from("text")), ("n", Value::from(7i64))];
        match environment.render_str_mapped(text, "self", &context) {
            Ok((output, lines)) => {
                let source_lines = text.split(['\n', '\r']).count() as u32;
                assert!(lines.iter().all(|line| *line <= source_lines + 1), "{lines:?} of {source_lines}");
                assert!(output.len() <= 2 << 20, "{} bytes", output.len());
            }
            // Making the report reads the source again, by the error's place.
            Err(error) => drop(error.report()),
        }
    }
});
