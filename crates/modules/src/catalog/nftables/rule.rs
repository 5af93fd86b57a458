//! The text of a rule, built from arguments as Salt builds it, and a normal form for comparing rules.

use rocksalt_core::{Map, Value};

use super::family;
use crate::{Error, Result};

/// Builds a rule from the arguments of a state, except for those that don't belong to the rule.
pub fn build(arguments: &Map, family_name: &str) -> Result<String> {
    let family = family(family_name)?;
    let text = |name: &str| arguments.get(name).filter(|value| !value.is_null()).map(listed);
    let either = |one: &str, other: &str| text(one).or_else(|| text(other));
    let proto = text("proto").or_else(|| text("protocol")).unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    let mut push = |part: Option<String>| parts.extend(part);
    push(text("if").map(|name| format!("meta iifname {name}")));
    push(text("of").map(|name| format!("meta oifname {name}")));
    // Salt's own examples are in capitals, which nft does not accept.
    push(text("connstate").map(|states| format!("ct state {{ {} }}", states.to_ascii_lowercase())));
    push(text("icmp-type").map(|kind| format!("icmp type {{ {kind} }}")));
    push(text("icmpv6-type").map(|kind| format!("icmpv6 type {{ {kind} }}")));
    push(text("pkttype").map(|kind| format!("meta pkttype {{ {kind} }}")));
    push(arguments.contains_key("counter").then(|| "counter".to_owned()));
    let address = |address: String, side: &str| {
        let kind = match family {
            "inet" | "bridge" | "netdev" if address.contains(':') => "ip6",
            "inet" | "bridge" | "netdev" => "ip",
            family => family,
        };
        format!("{kind} {side} {address}")
    };
    push(either("saddr", "source").map(|from| address(from, "saddr")));
    push(either("daddr", "destination").map(|to| address(to, "daddr")));
    let port = |side: &str, ports: String| format!("{proto} {side} {{ {ports} }}").trim_start().to_owned();
    let mut has_port = false;
    for side in ["dport", "sport"] {
        if let Some(one) = text(side) {
            has_port = true;
            push(Some(port(side, one.replace(':', "-"))));
        }
    }
    for side in ["dport", "sport"] {
        if let Some(several) = text(&format!("{side}s")) {
            has_port = true;
            push(Some(port(side, sorted(&several))));
        }
    }
    let icmp = arguments.contains_key("icmp-type") || arguments.contains_key("icmpv6-type");
    // Salt omits the protocol here, so that its rule matches every packet.
    push((!proto.is_empty() && !has_port && !icmp).then(|| format!("meta l4proto {proto}")));
    push(text("target").or_else(|| text("jump")));
    push(text("j"));
    push(either("redirect-to", "to-port").map(|port| format!("redirect to {port}")));
    push(text("to-ports").map(|ports| format!("redirect to {ports}")));
    push(text("to-source"));
    push(text("to-destination"));
    push(text("reject-with").map(|with| format!("reject with {with}")));
    let rule = parts.join(" ");
    sound(&rule)?;
    Ok(rule)
}

/// A list in nft's form.
fn listed(value: &Value) -> String {
    match value {
        Value::List(items) => items.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        one => one.to_string(),
    }
}

/// Ports in descending order, as in Salt.
fn sorted(ports: &str) -> String {
    let mut ports: Vec<&str> = ports.split(',').map(str::trim).collect();
    let number = |port: &str| port.split(['-', ':']).next().and_then(|first| first.parse::<u32>().ok());
    ports.sort_by_key(|port| std::cmp::Reverse(number(port)));
    ports.join(", ").replace(':', "-")
}

/// Checks a rule: nft parses it as a program, so it must not contain several commands.
pub fn sound(rule: &str) -> Result<()> {
    match rule.contains([';', '\n', '#']) {
        true => Err(Error::arguments(format!("the rule '{rule}' has ';', '#' or a line break in it"))),
        false => Ok(()),
    }
}

/// A normal form that is equal for all texts of one rule: without counters and quotes, with sorted sets, and without
/// sets of a single item.
pub fn normal(rule: &str) -> Vec<String> {
    let spaced: String = rule
        .chars()
        .flat_map(|c| {
            if "{}".contains(c) {
                vec![' ', c, ' ']
            } else if ",\"".contains(c) {
                vec![' ']
            } else {
                vec![c]
            }
        })
        .collect();
    let mut words = Vec::new();
    let mut set: Option<Vec<String>> = None;
    let mut all = spaced.split_whitespace().peekable();
    while let Some(word) = all.next() {
        match (word, &mut set) {
            ("{", None) => set = Some(Vec::new()),
            ("}", Some(items)) => {
                items.sort();
                let items = std::mem::take(items);
                set = None;
                match items.len() {
                    1 => words.extend(items),
                    _ => words.push(format!("{{{}}}", items.join(","))),
                }
            }
            (item, Some(items)) => items.push(item.to_owned()),
            ("counter", None) => {
                words.push("counter".to_owned());
                if all.peek() == Some(&"packets") {
                    all.by_ref().take(4).for_each(drop);
                }
            }
            ("meta", None) if matches!(all.peek(), Some(&("iifname" | "oifname"))) => {}
            // A connection state without braces may be a list too.
            (word, None) => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    fn built(arguments: &str, family: &str) -> Result<String> {
        build(yaml::parse(arguments).expect("it is YAML").as_map().expect("it is a map"), family)
    }

    #[test]
    fn rules_are_built() {
        for (arguments, family, rule) in [
            (
                "{jump: accept, connstate: NEW, dport: 80, proto: tcp, sport: '1025:65535'}",
                "ipv4",
                "ct state { new } tcp dport { 80 } tcp sport { 1025-65535 } accept",
            ),
            ("{if: lo, counter: True, jump: accept}", "ipv6", "meta iifname lo counter accept"),
            (
                "{proto: tcp, dports: '22,80,443', source: 10.0.0.0/8, jump: accept}",
                "inet",
                "ip saddr 10.0.0.0/8 tcp dport { 443, 80, 22 } accept",
            ),
            ("{proto: icmp, jump: drop}", "ipv4", "meta l4proto icmp drop"),
            ("{proto: tcp, dport: 80, redirect-to: 8080}", "ipv4", "tcp dport { 80 } redirect to 8080"),
        ] {
            assert_eq!(built(arguments, family).expect("it is a rule"), rule, "{arguments}");
        }
        assert!(built("{jump: 'accept; flush ruleset'}", "ipv4").is_err());
        assert!(built("{jump: accept}", "ipx").is_err());
    }

    #[test]
    fn one_rule_has_many_texts() {
        for (one, other) in [
            ("ct state { new } tcp dport { 80 } accept", "ct state new tcp dport 80 accept"),
            ("tcp dport { 443, 80, 22 } accept", "tcp dport { 22, 80, 443 } accept"),
            ("meta iifname lo counter accept", "iifname \"lo\" counter packets 5 bytes 300 accept"),
            ("ct state { established,related } accept", "ct state { related, established } accept"),
        ] {
            assert_eq!(normal(one), normal(other));
        }
        assert_ne!(normal("tcp dport 80 accept"), normal("tcp dport 80 drop"));
    }
}
