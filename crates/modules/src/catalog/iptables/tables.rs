//! Parses the output of `iptables-save`: tables, chains, policies and rules.

use rocksalt_core::{Map, Value};

use super::super::tool;
use super::program;
use crate::machine::Probe;
use crate::text::words;
use crate::{Error, Result};

/// The current rules.
pub fn now(machine: &dyn Probe, family: &str) -> Result<String> {
    tool::told(machine, &[format!("{}-save", program(machine, family)?)])
}

/// The rules of one table. A table that was never used is no error.
pub fn of_table(machine: &dyn Probe, family: &str, table: &str) -> Result<String> {
    let argv = [&*format!("{}-save", program(machine, family)?), "-t", table];
    Ok(machine.query(&tool::command(&argv))?.text())
}

pub fn has_chain(text: &str, chain: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(':').and_then(|line| line.split(' ').next()) == Some(chain))
}

/// The rules of a chain, or of all chains, in order.
pub fn rules_of<'a>(text: &'a str, chain: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| {
        let of = line.strip_prefix("-A ").and_then(|rest| rest.split(' ').next());
        of.is_some_and(|of| chain.is_empty() || of == chain)
    })
}

pub fn policy(text: &str, chain: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut words = line.strip_prefix(':')?.split(' ');
        (words.next()? == chain).then(|| words.next().unwrap_or_default().to_owned())
    })
}

/// Parses the rules to data in Salt's form.
pub fn parse(text: &str) -> Result<Map> {
    let mut tables = Map::new();
    let mut current: Option<&str> = None;
    for line in text.lines() {
        if let Some(table) = line.strip_prefix('*') {
            current = Some(table.trim());
            tables.insert(table.trim(), Map::new());
            continue;
        }
        let Some(Value::Map(chains)) = current.and_then(|table| tables.get_mut(table)) else { continue };
        if let Some(rest) = line.strip_prefix(':') {
            let mut words = rest.split_whitespace();
            let (name, policy) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let counters = words.next().unwrap_or_default().trim_matches(['[', ']']);
            let (packets, bytes) = counters.split_once(':').unwrap_or_default();
            let mut chain = Map::new();
            chain.insert("policy", policy);
            chain.insert("packet count", packets);
            chain.insert("byte count", bytes);
            chain.insert("rules", Value::List(Vec::new()));
            chain.insert("rules_comment", Map::new());
            chains.insert(name, chain);
        } else if line.starts_with("-A ") {
            let (name, rule) = options(line)?;
            let Some(Value::Map(chain)) = chains.get_mut(&name) else { continue };
            if let Some(comment) = rule.get("comment").and_then(Value::as_list).and_then(|all| all.first()) {
                let comment = comment.to_string().trim_matches('"').to_owned();
                if let Some(Value::Map(known)) = chain.get_mut("rules_comment") {
                    known.insert(comment, rule.clone());
                }
            }
            if let Some(Value::List(rules)) = chain.get_mut("rules") {
                rules.push(rule.into());
            }
        }
    }
    Ok(tables)
}

/// The chain of a rule, and its options with the lists of their values.
fn options(line: &str) -> Result<(String, Map)> {
    let all = words::split(line).map_err(|why| Error::failed(format!("the saved rule '{line}': {why}")))?;
    let mut rule = Map::new();
    let mut chain = String::new();
    let mut words = all.iter().peekable();
    while let Some(word) = words.next() {
        // "! -s a" negates the value: "! a".
        let not = word == "!" && words.peek().is_some_and(|next| next.starts_with('-'));
        let option = if not { words.next().unwrap_or(word) } else { word };
        let mut value: Vec<&str> = if not { vec!["!"] } else { Vec::new() };
        while let Some(next) = words.next_if(|next| !next.starts_with('-') && *next != "!") {
            value.push(next);
        }
        let name = long(option);
        match name {
            "append" => chain = value.join(" "),
            name => match rule.entry(name) {
                Value::List(values) => values.push(value.join(" ").into()),
                slot => *slot = Value::List(vec![value.join(" ").into()]),
            },
        }
    }
    // Salt doesn't show options without a value.
    Ok((chain, rule.into_iter().filter(|(_, values)| values.as_list().is_some_and(|v| !v.is_empty())).collect()))
}

/// The long name of an option, as in Salt's data.
fn long(option: &str) -> &str {
    match option {
        "-A" => "append",
        "-p" => "protocol",
        "-s" => "source",
        "-d" => "destination",
        "-j" => "jump",
        "-g" => "goto",
        "-i" => "in-interface",
        "-o" => "out-interface",
        "-f" => "fragment",
        "-c" => "set-counters",
        "-m" => "match",
        "--sport" | "--source-port" => "source_port",
        "--dport" | "--destination-port" => "destination_port",
        "--sports" => "source-ports",
        "--dports" => "destination-ports",
        other => other.trim_start_matches('-'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAVED: &str = "# Generated\n*filter\n:INPUT DROP [1:2]\n:OUTPUT ACCEPT [0:0]\n:LOGGING - [0:0]\n\
        -A INPUT ! -s 10.0.0.0/8 -p tcp -m state --state NEW -m tcp --dport 22 -m comment --comment \"a b\" -j ACCEPT\n\
        -A INPUT -j LOGGING\nCOMMIT\n";

    #[test]
    fn tables_are_read() {
        let tables = parse(SAVED).expect("it is read");
        let input = tables.walk("filter:INPUT", ":").and_then(Value::as_map).expect("there is the chain");
        assert_eq!(input.get("policy"), Some(&"DROP".into()));
        assert_eq!(input.get("byte count"), Some(&"2".into()));
        let rule = input.walk("rules", ":").and_then(Value::as_list).expect("rules")[0].to_string();
        assert_eq!(
            rule,
            "{'source': ['! 10.0.0.0/8'], 'protocol': ['tcp'], 'match': ['state', 'tcp', 'comment'], \
             'state': ['NEW'], 'destination_port': ['22'], 'comment': ['a b'], 'jump': ['ACCEPT']}"
        );
        assert!(input.walk("rules_comment:a b", ":").is_some());
        assert!(has_chain(SAVED, "LOGGING") && !has_chain(SAVED, "LOG"));
        assert_eq!(rules_of(SAVED, "INPUT").count(), 2);
        assert_eq!(rules_of(SAVED, "OUTPUT").count(), 0);
        assert_eq!(policy(SAVED, "LOGGING").as_deref(), Some("-"));
    }
}
