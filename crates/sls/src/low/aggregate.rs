//! Finds chunks that can be aggregated, for `state_aggregate` and `aggregate: True`.

use rocksalt_core::{Map, Value};

use super::chunk::Chunk;
use super::chunks::DraftChunk;
use super::graph::RequisiteGraph;
use crate::functions::StateCatalog;

/// Salt's limit of a group's size.
const MAX_GROUP: usize = 500;

/// Groups chunks of one module that don't depend on each other; each group has at least two.
pub(super) fn groups(
    order: &[u32],
    graph: &RequisiteGraph,
    drafts: &[DraftChunk],
    catalog: &dyn StateCatalog,
    options: &Map,
) -> Vec<Vec<u32>> {
    let default = options.get("state_aggregate").unwrap_or(&Value::Null);
    let mut groups: Vec<AggregateGroup<'_>> = Vec::new();
    let mut member_of: Vec<Option<usize>> = vec![None; graph.nodes.len()];
    for node in order.iter().copied().filter(|node| !graph.nodes[*node as usize].dry_run) {
        let chunk = &drafts[graph.nodes[node as usize].chunk as usize].chunk;
        if !wanted(chunk, default) || !catalog.has_aggregate(&chunk.state) {
            continue;
        }
        let joined = (0..groups.len()).find(|index| {
            let group = &groups[*index];
            group.module == chunk.state
                && group.members.len() < MAX_GROUP
                && !reaches(&group.members, node, graph, &member_of, &groups)
        });
        let index = joined.unwrap_or_else(|| {
            groups.push(AggregateGroup { module: &chunk.state, members: Vec::new() });
            groups.len() - 1
        });
        groups[index].members.push(node);
        member_of[node as usize] = Some(index);
    }
    let numbers =
        |group: AggregateGroup<'_>| group.members.into_iter().map(|node| graph.nodes[node as usize].chunk).collect();
    groups.into_iter().filter(|group| group.members.len() > 1).map(numbers).collect()
}

struct AggregateGroup<'a> {
    module: &'a str,
    members: Vec<u32>,
}

fn wanted(chunk: &Chunk, default: &Value) -> bool {
    match chunk.arguments.get("aggregate").unwrap_or(default) {
        Value::Bool(flag) => *flag,
        Value::List(modules) => modules.iter().any(|module| module.as_str() == Some(&chunk.state)),
        _ => false,
    }
}

/// Whether a member must run before the node, possibly through another group.
fn reaches(
    members: &[u32],
    node: u32,
    graph: &RequisiteGraph,
    member_of: &[Option<usize>],
    groups: &[AggregateGroup<'_>],
) -> bool {
    let mut seen = vec![false; graph.nodes.len()];
    let mut stack = members.to_vec();
    while let Some(current) = stack.pop() {
        if std::mem::replace(&mut seen[current as usize], true) {
            continue;
        }
        if current == node {
            return true;
        }
        stack.extend(graph.needed_by[current as usize].iter().map(|(dependent, _)| *dependent));
        if let Some(group) = member_of[current as usize] {
            stack.extend(&groups[group].members);
        }
    }
    false
}
