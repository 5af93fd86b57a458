//! The steps of a run as a graph: text, dot, mermaid or JSON.
//!
//! The data come from `state.graph`: `{"steps": [{"id", "function", "name", "sls", "needs": [{"step",
//! "why"}]}]}`, in Salt's order.

use std::fmt::Write;

use clap::ValueEnum;
use rocksalt_core::{Value, json};

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum GraphFormat {
    /// A line for each step, in order
    #[default]
    Text,
    /// For Graphviz
    Dot,
    /// For Markdown pages
    Mermaid,
    Json,
}

pub fn draw(data: &Value, format: GraphFormat, why: bool) -> String {
    let steps: Vec<GraphStep<'_>> =
        data.walk("steps", ":").and_then(Value::as_list).unwrap_or_default().iter().map(GraphStep::read).collect();
    match format {
        GraphFormat::Json => json::compact(data),
        GraphFormat::Text => text(&steps, why),
        GraphFormat::Dot => dot(&steps, why),
        GraphFormat::Mermaid => mermaid(&steps, why),
    }
}

struct GraphStep<'a> {
    id: &'a str,
    function: &'a str,
    name: &'a str,
    sls: &'a str,
    needs: Vec<(usize, &'a str)>,
}

impl<'a> GraphStep<'a> {
    fn read(value: &'a Value) -> GraphStep<'a> {
        let field = |key: &str| value.walk(key, ":").and_then(Value::as_str).unwrap_or_default();
        let needs = value.walk("needs", ":").and_then(Value::as_list).unwrap_or_default().iter().filter_map(|need| {
            let step = usize::try_from(need.walk("step", ":")?.as_i64()?).ok()?;
            Some((step, need.walk("why", ":")?.as_str()?))
        });
        GraphStep {
            id: field("id"),
            function: field("function"),
            name: field("name"),
            sls: field("sls"),
            needs: needs.collect(),
        }
    }

    fn label(&self) -> String {
        match self.id == self.name {
            true => format!("{} {}", self.function, self.id),
            false => format!("{} {} ({})", self.function, self.id, self.name),
        }
    }
}

fn text(steps: &[GraphStep<'_>], why: bool) -> String {
    let width = steps.len().to_string().len();
    let mut text = String::new();
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{:>width$}  {}  [{}]", number + 1, step.label(), step.sls);
        if why {
            for (other, reason) in &step.needs {
                let _ = writeln!(text, "{:>width$}    after {}: {reason}", "", other + 1);
            }
        } else if !step.needs.is_empty() {
            let numbers: Vec<String> = step.needs.iter().map(|(other, _)| (other + 1).to_string()).collect();
            let _ = writeln!(text, "{:>width$}    after {}", "", numbers.join(", "));
        }
    }
    text.trim_end().to_owned()
}

fn dot(steps: &[GraphStep<'_>], why: bool) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = String::from("digraph states {\n  rankdir=LR;\n  node [shape=box];\n");
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "  s{number} [label={}];", quoted(&step.label()));
    }
    for (number, step) in steps.iter().enumerate() {
        for (other, reason) in &step.needs {
            let label = if why { format!(" [label={}]", quoted(reason)) } else { String::new() };
            let _ = writeln!(text, "  s{other} -> s{number}{label};");
        }
    }
    text + "}"
}

fn mermaid(steps: &[GraphStep<'_>], why: bool) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "#quot;"));
    let mut text = String::from("graph LR\n");
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "  s{number}[{}]", quoted(&step.label()));
    }
    for (number, step) in steps.iter().enumerate() {
        for (other, reason) in &step.needs {
            let label = if why { format!("|{}|", quoted(reason)) } else { String::new() };
            let _ = writeln!(text, "  s{other} -->{label} s{number}");
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_the_edge() {
        let data = rocksalt_core::yaml::parse(
            "steps: [{id: a, function: test.nop, name: a, sls: x, needs: []}, \
             {id: b, function: test.nop, name: n, sls: x, needs: [{step: 0, why: 'require: a'}]}]",
        )
        .expect("data");
        assert!(draw(&data, GraphFormat::Text, true).contains("after 1: require: a"));
        assert!(draw(&data, GraphFormat::Text, false).contains("after 1"));
        assert!(draw(&data, GraphFormat::Dot, true).contains("s0 -> s1 [label=\"require: a\"];"));
        assert!(draw(&data, GraphFormat::Mermaid, true).contains("s0 -->|\"require: a\"| s1"));
    }
}
