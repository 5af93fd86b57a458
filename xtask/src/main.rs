//! Checks on the tree that the compiler can't make: `cargo xtask tidy`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod tidy;
mod tree;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(),
        _ => {
            eprintln!("usage: cargo xtask tidy\n\nThe rules:");
            tidy::RULES.iter().for_each(|rule| eprintln!("  {:14} {}", rule.name, rule.about));
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    let tree = match tree::Tree::read() {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: {error}");
            return ExitCode::from(2);
        }
    };
    tidy::length::notices(&tree).iter().for_each(|notice| println!("tidy: note: {notice}"));
    let findings: Vec<String> = tidy::RULES
        .iter()
        .flat_map(|rule| (rule.check)(&tree).into_iter().map(|finding| format!("{}: {finding}", rule.name)))
        .collect();
    findings.iter().for_each(|finding| println!("tidy: {finding}"));
    if findings.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("tidy: {} to mend", findings.len());
    ExitCode::FAILURE
}
