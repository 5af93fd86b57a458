//! [`IptablesRule`]: the part of a rule after the chain, built from arguments as Salt builds it.

use rocksalt_core::{Map, Value};

use super::arguments::AFTER_JUMP;
use crate::text::words;
use crate::{Error, Result};

/// A rule as text, and as arguments of the program, which runs without a shell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IptablesRule {
    pub text: String,
    pub words: Vec<String>,
}

impl IptablesRule {
    /// Parses a rule that a user wrote as text.
    pub fn parse(text: &str) -> Result<IptablesRule> {
        let words = words::split(text).map_err(|why| Error::arguments(format!("the rule '{text}': {why}")))?;
        Ok(IptablesRule { text: text.to_owned(), words })
    }

    /// Builds a rule from the arguments of a state, except for those that don't belong to the rule.
    pub fn build(arguments: &Map) -> Result<IptablesRule> {
        Builder { arguments: arguments.clone(), pieces: Vec::new() }.build()
    }

    /// The whole command in Salt's form.
    pub fn command(&self, program: &str, table: &str, verb: &str, chain: &str, position: &str) -> String {
        let dash = if "ACDIRLSFZNXPE".contains(verb) { "-" } else { "--" };
        let text = format!("{program} --wait -t {table} {dash}{verb} {chain} {position} {}", self.text);
        text.trim().to_owned()
    }
}

/// A part of a rule: its text, and its arguments.
type RulePart = (String, Vec<String>);

struct Builder {
    arguments: Map,
    pieces: Vec<RulePart>,
}

impl Builder {
    fn build(mut self) -> Result<IptablesRule> {
        if let Some(target) = self.arguments.remove("target") {
            self.arguments.insert("jump", target);
        }
        for other in ["name", "state", "chain", "save", "table", "family", "position", "command", "full", "rules"] {
            self.arguments.remove(other);
        }
        self.option("if", "-i")?;
        self.option("of", "-o")?;
        let policy = self.arguments.get("match").and_then(Value::as_str) == Some("policy");
        if !policy && let Some(protocol) = self.arguments.remove("proto") {
            self.arguments.insert("protocol", protocol);
        }
        let protocol = self.arguments.contains_key("protocol");
        self.option("protocol", "-p")?;
        self.matches(policy)?;
        self.sets()?;
        if self.arguments.contains_key("connstate") {
            self.module("state")?;
            self.option("connstate", "--state")?;
        }
        self.option("dport", "--dport")?;
        self.option("sport", "--sport")?;
        for ports in ["dports", "sports"] {
            self.ports(ports, protocol)?;
        }
        if let Some(comment) = self.arguments.remove("comment") {
            self.module("comment")?;
            let comment = comment.to_string();
            self.pieces.push((format!("--comment \"{comment}\""), vec!["--comment".into(), comment]));
        }
        if self.arguments.get("set").is_some_and(Value::truth) {
            self.option("set", "--match-set")?;
        }
        let mut jump = Vec::new();
        for name in AFTER_JUMP {
            let Some(value) = self.arguments.remove(name) else { continue };
            let value = if value.is_null() { String::new() } else { value.to_string() };
            jump.push(match value.contains(char::is_whitespace) {
                true => (format!("--{name} \"{value}\""), vec![format!("--{name}"), value]),
                false => piece(format!("--{name} {value}").trim_end())?,
            });
        }
        for (key, value) in std::mem::take(&mut self.arguments) {
            let key = key.to_string();
            let (not, value) = negated(&value);
            let dash = if key.chars().count() == 1 { "-" } else { "--" };
            self.push(format!("{not}{dash}{key} {value}").trim_end())?;
        }
        self.pieces.append(&mut jump);
        let text = self.pieces.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(" ");
        Ok(IptablesRule { text, words: self.pieces.into_iter().flat_map(|(_, words)| words).collect() })
    }

    fn push(&mut self, text: &str) -> Result<()> {
        self.pieces.push(piece(text)?);
        Ok(())
    }

    /// Adds an argument that is an option itself.
    fn option(&mut self, name: &str, option: &str) -> Result<()> {
        let Some(value) = self.arguments.remove(name) else { return Ok(()) };
        let (not, value) = negated(&value);
        self.push(&format!("{not}{option} {value}"))
    }

    /// Adds a module unless it was added before.
    fn module(&mut self, name: &str) -> Result<()> {
        let text = format!("-m {name}");
        if self.pieces.iter().any(|(known, _)| *known == text) { Ok(()) } else { self.push(&text) }
    }

    fn matches(&mut self, policy: bool) -> Result<()> {
        let Some(given) = self.arguments.remove("match") else { return Ok(()) };
        let names: Vec<String> = match &given {
            Value::List(names) => names.iter().map(ToString::to_string).collect(),
            one => one.to_string().split(',').map(str::to_owned).collect(),
        };
        for name in names {
            self.push(&format!("-m {name}"))?;
            if matches!(name.trim(), "pknock" | "quota2" | "recent")
                && let Some(name) = self.arguments.remove("name_")
            {
                self.push(&format!("--name {name}"))?;
            }
        }
        if policy { self.option("proto", "--proto") } else { Ok(()) }
    }

    fn sets(&mut self) -> Result<()> {
        let Some(given) = self.arguments.remove("match-set") else { return Ok(()) };
        let sets = if let Value::List(sets) = given { sets } else { vec![given] };
        for set in sets {
            let (not, set) = negated(&set);
            self.push(&format!("-m set {not}--match-set {set}"))?;
        }
        Ok(())
    }

    fn ports(&mut self, name: &str, protocol: bool) -> Result<()> {
        let Some(given) = self.arguments.remove(name) else { return Ok(()) };
        if !protocol {
            return Err(Error::arguments(format!("Error: protocol must be specified (for {name})")));
        }
        self.module("multiport")?;
        let given = if let Value::List(ports) = given { ports } else { vec![given] };
        let ports: Vec<(&str, String)> = given.iter().map(negated).collect();
        if ports.iter().any(|(not, _)| !not.is_empty()) {
            self.push("!")?;
        }
        let ports: Vec<String> = ports.into_iter().map(|(_, port)| port).collect();
        self.push(&format!("--{name} {}", ports.join(",")))
    }
}

fn piece(text: &str) -> Result<RulePart> {
    let rule = IptablesRule::parse(text)?;
    Ok((rule.text, rule.words))
}

/// The sign for negation, and the value without it.
fn negated(value: &Value) -> (&'static str, String) {
    let text = if value.is_null() { String::new() } else { value.to_string() };
    match text.strip_prefix('!').or_else(|| text.strip_prefix("not")) {
        Some(rest) => ("! ", rest.strip_prefix(' ').unwrap_or(rest).to_owned()),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use rocksalt_core::yaml;

    use super::*;

    fn built(arguments: &str) -> Result<IptablesRule> {
        IptablesRule::build(yaml::parse(arguments).expect("it is YAML").as_map().expect("it is a map"))
    }

    /// The rules that Salt 3008.3 builds.
    #[test]
    fn rules_are_built_as_by_salt() {
        for (arguments, text) in [
            (
                "{jump: ACCEPT, match: state, connstate: NEW, dport: 80, proto: tcp, sport: '1025:65535'}",
                "-p tcp -m state --state NEW --dport 80 --sport 1025:65535 --jump ACCEPT",
            ),
            (
                "{match: [state, comment], comment: Allow HTTP, connstate: NEW, dports: [80, 443], proto: tcp, jump: ACCEPT}",
                "-p tcp -m state -m comment --state NEW -m multiport --dports 80,443 --comment \"Allow HTTP\" --jump ACCEPT",
            ),
            ("{source: '!127.0.0.1', if: not eth0, jump: DROP}", "! -i eth0 ! --source 127.0.0.1 --jump DROP"),
            (
                "{jump: LOG, log-prefix: 'iptables: dropped ', limit: 5/min, match: limit}",
                "-m limit --limit 5/min --jump LOG --log-prefix \"iptables: dropped \"",
            ),
            (
                "{proto: tcp, dports: ['!22', '!80'], target: REJECT, reject-with: tcp-reset}",
                "-p tcp -m multiport ! --dports 22,80 --jump REJECT --reject-with tcp-reset",
            ),
            ("{match: recent, name_: SSH, set: '', jump: ''}", "-m recent --name SSH --set --jump"),
            ("{match: policy, dir: in, pol: ipsec, proto: esp}", "-m policy --proto esp --dir in --pol ipsec"),
            (
                "{match-set: ['!blocked src', x dst], s: 1.2.3.4, j: DROP}",
                "-m set ! --match-set blocked src -m set --match-set x dst -s 1.2.3.4 --j DROP",
            ),
        ] {
            assert_eq!(built(arguments).expect("it is a rule").text, text, "{arguments}");
        }
        assert!(built("{dports: 80}").is_err());
    }

    #[test]
    fn values_stay_one_word() {
        let rule = built("{comment: 'a \"b\" c', jump: LOG, log-prefix: 'x y'}").expect("it is a rule");
        assert_eq!(rule.words, ["-m", "comment", "--comment", "a \"b\" c", "--jump", "LOG", "--log-prefix", "x y"]);
    }
}
