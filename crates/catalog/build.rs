//! Turns `data/*.json` into statics, so that looking a function up costs nothing at the start.

use std::fmt::Write;
use std::{env, fs};

use serde_json::Value;

fn main() {
    let mut code = String::new();
    for (file, name) in [("functions", "FUNCTIONS"), ("states", "STATES")] {
        let path = format!("data/{file}.json");
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read_to_string(&path).expect("the data file is there");
        let entries: Vec<Value> = serde_json::from_str(&text).expect("the data file is JSON");
        let _ = writeln!(code, "pub static {name}: &[Description] = &[");
        for entry in &entries {
            description(&mut code, entry);
        }
        code.push_str("];\n");
    }
    let directory = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(format!("{directory}/data.rs"), code).expect("the code can be written");
}

fn description(code: &mut String, entry: &Value) {
    let natures: Vec<String> = texts(&entry["nature"]).iter().map(|word| format!("{word}: true, ")).collect();
    let _ = writeln!(
        code,
        "Description {{ name: {:?}, aliases: &{:?}, doc: {:?}, rest: {:?}, nature: Nature {{ {}..Nature::CHANGES }}, \
         arguments: &[",
        text(&entry["name"]),
        texts(&entry["aliases"]),
        text(&entry["doc"]),
        text(&entry["rest"]),
        natures.concat(),
    );
    for argument in entry["arguments"].as_array().into_iter().flatten() {
        let default = argument.get("default").map(ToString::to_string);
        let _ = writeln!(
            code,
            "Argument {{ name: {:?}, doc: {:?}, shape: {}, default: {default:?}, secret: {} }},",
            text(&argument["name"]),
            text(&argument["doc"]),
            shape(text(&argument["type"])),
            argument["secret"] == true,
        );
    }
    code.push_str("] },\n");
}

/// The code for what `Shape` prints.
fn shape(text: &str) -> String {
    if let Some(inner) = text.strip_suffix('?') {
        return format!("Shape::Optional(&{})", shape(inner));
    }
    if let Some(item) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return format!("Shape::List(&{})", shape(item));
    }
    let name = match text {
        "any" => "Any",
        "bool" => "Bool",
        "flag" => "Flag",
        "i32" => "I32",
        "i64" => "I64",
        "u16" => "U16",
        "u32" => "U32",
        "u64" => "U64",
        "f64" => "F64",
        "string" => "Text",
        "map" => "Map",
        other => panic!("there is no type {other}"),
    };
    format!("Shape::{name}")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(text).collect()
}
