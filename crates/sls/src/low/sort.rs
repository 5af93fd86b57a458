//! Sorts the steps topologically; of the ready steps, the one with the smallest key comes first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rocksalt_core::Value;

use super::chunk::{Chunk, number};
use super::chunks::DraftChunk;
use super::graph::RequisiteGraph;

/// The distance of `last` from the largest order number.
const LAST: i64 = 1_000_000;

/// Returns the nodes in order; if there is a cycle, some nodes are missing.
pub(super) fn sort(graph: &RequisiteGraph, drafts: &mut [DraftChunk], cap: i64) -> Vec<u32> {
    let ranks = ranks(drafts, cap);
    let mut waiting: Vec<usize> = graph.needs.iter().map(Vec::len).collect();
    let mut ready = BinaryHeap::new();
    for (node, needs) in waiting.iter().enumerate() {
        if *needs == 0 {
            ready.push(Reverse(key(graph, drafts, &ranks, node as u32, cap)));
        }
    }
    let mut order = Vec::with_capacity(graph.nodes.len());
    while let Some(Reverse(SortKey { node, .. })) = ready.pop() {
        order.push(node);
        for (dependent, _) in &graph.needed_by[node as usize] {
            waiting[*dependent as usize] -= 1;
            if waiting[*dependent as usize] == 0 {
                ready.push(Reverse(key(graph, drafts, &ranks, *dependent, cap)));
            }
        }
    }
    order
}

/// Salt's upper bound for order numbers; it depends on the order of the chunks.
pub(super) fn cap(drafts: &[DraftChunk]) -> i64 {
    drafts.iter().fold(1, |cap, draft| {
        let order = match &draft.chunk.order {
            Value::Int(order) => *order,
            Value::Bool(flag) => i64::from(*flag),
            _ => return cap,
        };
        if order > cap - 1 && order > 0 { order.saturating_add(100) } else { cap }
    })
}

/// The key by which the next ready step is chosen.
struct SortKey {
    /// The smaller of its own order and the orders of the steps that depend on it.
    effective: f64,
    own: f64,
    /// The rank of its label among all chunks.
    rank: u32,
    /// The last criterion: it orders a dry run after its chunk, although both are never ready at once.
    node: u32,
}

fn key(graph: &RequisiteGraph, drafts: &mut [DraftChunk], ranks: &[u32], node: u32, cap: i64) -> SortKey {
    let own = numeric_order(&mut drafts[graph.nodes[node as usize].chunk as usize], cap);
    let mut earliest = f64::INFINITY;
    let mut heaviest = None;
    for (dependent, requisite) in &graph.needed_by[node as usize] {
        if heaviest > Some(*requisite) {
            continue;
        }
        heaviest = Some(*requisite);
        // Dependents aren't refined yet, since they have not become ready.
        earliest = earliest.min(plain(&mut drafts[graph.nodes[*dependent as usize].chunk as usize], cap));
    }
    let rank = ranks.get(graph.nodes[node as usize].chunk as usize).copied().unwrap_or(0);
    SortKey { effective: own.min(earliest), own, rank, node }
}

/// Ranks the chunks by module, name and function, then by tag. Needed only if order numbers tie, which is rare.
fn ranks(drafts: &[DraftChunk], cap: i64) -> Vec<u32> {
    let mut orders: Vec<f64> = drafts.iter().map(|draft| settled(draft, cap)).collect();
    orders.sort_unstable_by(f64::total_cmp);
    if orders.windows(2).all(|pair| pair[0] != pair[1]) {
        return Vec::new();
    }
    let label = |chunk: &Chunk| format!("{}{}{}", chunk.state, chunk.name, chunk.fun);
    let mut sorted: Vec<(String, String, u32)> =
        drafts.iter().zip(0..).map(|(draft, number)| (label(&draft.chunk), draft.chunk.tag(), number)).collect();
    sorted.sort_unstable();
    let mut ranks = vec![0; drafts.len()];
    for ((_, _, number), rank) in sorted.into_iter().zip(0..) {
        ranks[number as usize] = rank;
    }
    ranks
}

/// The result that [`numeric_order`] will have.
fn settled(draft: &DraftChunk, cap: i64) -> f64 {
    let order = number(&draft.chunk.order).unwrap_or_else(|| word(&draft.chunk.order, cap) as f64);
    let order = order + f64::from(draft.name_order) / 10_000.0;
    if order < 0.0 { order + cap.saturating_add(LAST) as f64 } else { order }
}

/// The number for a word such as `first` or `last`.
fn word(order: &Value, cap: i64) -> i64 {
    match order.as_str() {
        Some("last") => cap.saturating_add(LAST),
        Some("first") => 0,
        _ => cap,
    }
}

/// The order as a number; a word is replaced.
fn plain(draft: &mut DraftChunk, cap: i64) -> f64 {
    let order = &mut draft.chunk.order;
    if number(order).is_none() {
        *order = Value::Int(word(order, cap));
    }
    number(order).unwrap_or_default()
}

/// The refined order: adds the position in `names` and resolves a negative number.
fn numeric_order(draft: &mut DraftChunk, cap: i64) -> f64 {
    let mut order = plain(draft, cap);
    if draft.name_order > 0 {
        order += f64::from(std::mem::take(&mut draft.name_order)) / 10_000.0;
        draft.chunk.order = Value::Float(order);
    }
    if order < 0.0 {
        order += cap.saturating_add(LAST) as f64;
        draft.chunk.order = match &draft.chunk.order {
            Value::Int(negative) => Value::Int(cap.saturating_add(LAST).saturating_add(*negative)),
            _ => Value::Float(order),
        };
    }
    order
}

impl Ord for SortKey {
    fn cmp(&self, other: &SortKey) -> Ordering {
        self.effective
            .total_cmp(&other.effective)
            .then_with(|| self.own.total_cmp(&other.own))
            .then_with(|| self.rank.cmp(&other.rank))
            .then_with(|| self.node.cmp(&other.node))
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &SortKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortKey {
    fn eq(&self, other: &SortKey) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SortKey {}
