//! Puts the steps in order: a topological sort in which the ready step of the least key comes first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rocksalt_core::Value;

use super::chunk::number;
use super::chunks::Draft;
use super::graph::Graph;

/// What `last` is beyond the largest number.
const LAST: i64 = 1_000_000;

/// The nodes in order; if there is a cycle, fewer than there are.
pub(super) fn sort(graph: &Graph, drafts: &mut [Draft], cap: i64) -> Vec<u32> {
    let mut waiting: Vec<usize> = graph.needs.iter().map(Vec::len).collect();
    let mut ready = BinaryHeap::new();
    for node in 0..graph.nodes.len() {
        if waiting[node] == 0 {
            ready.push(Reverse(key(graph, drafts, node as u32, cap)));
        }
    }
    let mut order = Vec::with_capacity(graph.nodes.len());
    while let Some(Reverse(Key { node, .. })) = ready.pop() {
        order.push(node);
        for (dependent, _) in &graph.needed_by[node as usize] {
            waiting[*dependent as usize] -= 1;
            if waiting[*dependent as usize] == 0 {
                ready.push(Reverse(key(graph, drafts, *dependent, cap)));
            }
        }
    }
    order
}

/// The largest `order` plus some, as Salt works it out: it depends on what comes first.
pub(super) fn cap(drafts: &[Draft]) -> i64 {
    drafts.iter().fold(1, |cap, draft| {
        let order = match &draft.chunk.order {
            Value::Int(order) => *order,
            Value::Bool(flag) => i64::from(*flag),
            _ => return cap,
        };
        if order > cap - 1 && order > 0 { order.saturating_add(100) } else { cap }
    })
}

/// What decides among the steps that are ready.
struct Key {
    /// The smaller of its own order and that of those who need it.
    effective: f64,
    own: f64,
    label: String,
    tag: String,
    node: u32,
}

fn key(graph: &Graph, drafts: &mut [Draft], node: u32, cap: i64) -> Key {
    let own = settle(&mut drafts[graph.nodes[node as usize].chunk as usize], cap);
    let mut earliest = f64::INFINITY;
    let mut heaviest = None;
    for (dependent, requisite) in &graph.needed_by[node as usize] {
        if heaviest > Some(*requisite) {
            continue;
        }
        heaviest = Some(*requisite);
        // As it stands: those who need this one have not had their turn.
        earliest = earliest.min(plain(&mut drafts[graph.nodes[*dependent as usize].chunk as usize], cap));
    }
    let Draft { chunk, .. } = &drafts[graph.nodes[node as usize].chunk as usize];
    let dry_run = if graph.nodes[node as usize].dry_run { "_|-__prereq_test__" } else { "" };
    Key {
        effective: own.min(earliest),
        own,
        label: format!("{}{}{}", chunk.state, chunk.name, chunk.fun),
        tag: format!("{}{dry_run}", chunk.tag()),
        node,
    }
}

/// The order as a number, with words replaced.
fn plain(draft: &mut Draft, cap: i64) -> f64 {
    let order = &mut draft.chunk.order;
    if number(order).is_none() {
        *order = Value::Int(match order.as_str() {
            Some("last") => cap.saturating_add(LAST),
            Some("first") => 0,
            _ => cap,
        });
    }
    number(order).unwrap_or_default()
}

/// The order with all that belongs to it: the place among `names`, and what a negative number means.
fn settle(draft: &mut Draft, cap: i64) -> f64 {
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

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.effective
            .total_cmp(&other.effective)
            .then_with(|| self.own.total_cmp(&other.own))
            .then_with(|| self.label.cmp(&other.label))
            .then_with(|| self.tag.cmp(&other.tag))
            .then_with(|| self.node.cmp(&other.node))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}
