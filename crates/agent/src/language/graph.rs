//! `state.graph`: the steps of a run and what each waits for, as data.

use rocksalt_core::{Map, Value};
use rocksalt_sls::Low;
use rocksalt_sls::schedule::{ItemKind, OrderMode, Schedule, ScheduleOptions, WaitReason};

use crate::states;

/// Returns `{"mode": …, "steps": [{"id", "function", "name", "sls", "needs": [{"step", "why"}]}]}`.
///
/// In the mode `ansible` (`ordered`) the edges that only express the sequence of steps are left out.
pub fn graph(low: &Low, mode: OrderMode) -> Value {
    let infos: Vec<_> = low.chunks.iter().map(states::chunk_info).collect();
    let schedule = Schedule::new(low, &infos, ScheduleOptions { mode, width: 1, test: true, failhard: false });
    let mut steps = Vec::new();
    for (number, item) in schedule.items().iter().enumerate() {
        let chunk = &low.chunks[item.chunk];
        let needs =
            schedule.why(number).iter().filter(|wait| mode != OrderMode::Ansible || wait.why != WaitReason::Order);
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
        if item.kind == ItemKind::DryRun {
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
