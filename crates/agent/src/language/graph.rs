//! The steps of a run with what each waits for, as data.

use rocksalt_core::{Map, Value};
use rocksalt_sls::Low;
use rocksalt_sls::schedule::{Kind, Mode, Schedule, Settings, Why};

use crate::states;

/// `{"mode": …, "steps": [{"id", "function", "name", "sls", "needs": [{"step", "why"}]}]}`.
///
/// In `ansible` mode what is only there because steps run one after another is left out.
pub fn graph(low: &Low, mode: Mode) -> Value {
    let works: Vec<_> = low.chunks.iter().map(states::work).collect();
    let schedule = Schedule::new(low, &works, Settings { mode, width: 1, test: true, failhard: false });
    let mut steps = Vec::new();
    for (number, item) in schedule.items().iter().enumerate() {
        let chunk = &low.chunks[item.chunk];
        let needs = schedule.why(number).iter().filter(|wait| mode != Mode::Ansible || wait.why != Why::Order);
        let needs = needs.map(|wait| {
            let mut need = Map::new();
            need.insert("step", wait.on);
            need.insert("why", wait.why.to_string());
            Value::Map(need)
        });
        let mut step = Map::new();
        step.insert("id", chunk.id.as_str());
        step.insert("function", chunk.function());
        step.insert("name", chunk.name.as_str());
        step.insert("sls", &*chunk.sls);
        if item.kind == Kind::DryRun {
            step.insert("dry_run", true);
        }
        step.insert("needs", needs.collect::<Vec<_>>());
        steps.push(Value::Map(step));
    }
    let mut graph = Map::new();
    graph.insert("mode", mode.name());
    graph.insert("steps", steps);
    graph.into()
}
