//! Prints this machine's grains as JSON, for `tests/grains/compare.py`.
//!
//! With arguments, calls a function instead: `grains disk.usage`, `grains network.ip_addrs cidr=10.0.0.0/8`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;
use std::time::Instant;

use rocksalt_core::{Call, Map, Value, json, yaml};
use rocksalt_modules::machine::{ActiveCall, Base, NoController};
use rocksalt_modules::{catalog, grains};

fn main() {
    let running = ActiveCall { job: None, function: "grains.items".into(), args: Vec::new(), since: 0.0 };
    let host = Arc::new(Base::new(None)).begin(running, Map::new(), Box::new(NoController), None);
    let mut words = std::env::args().skip(1);
    let Some(function) = words.next() else {
        let start = Instant::now();
        let grains = grains::gather(&host);
        let time = start.elapsed();
        println!("{}", json::pretty(&Value::Map(grains)));
        eprintln!("gathered in {:.1} ms", time.as_secs_f64() * 1000.0);
        return;
    };
    let mut call = Call::new(function);
    for word in words {
        let value = |text: &str| yaml::parse(text).unwrap_or_else(|_| text.into());
        match word.split_once('=') {
            Some((name, text)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                call.kwargs.insert(name, value(text));
            }
            _ => call.args.push(value(&word)),
        }
    }
    let answer = catalog::call(call, &host);
    println!("{}", json::pretty(&answer.value));
    if let Some(problem) = answer.problem {
        eprintln!("{problem:?}");
    }
    std::process::exit(answer.retcode);
}
