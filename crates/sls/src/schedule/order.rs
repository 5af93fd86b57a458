//! Computes the dependencies of items: their requisites, and those that the mode adds.

use std::collections::{BTreeMap, HashMap};

use rocksalt_core::touches::{Thing, Touches};

use super::dependency::{Dependency, WaitReason};
use super::item::ItemKind;
use super::{ChunkInfo, OrderMode, ScheduleItem};
use crate::low::Low;

/// The dependencies of each item, in order; `start` is the number of the first item.
pub fn dependencies(
    low: &Low,
    infos: &[ChunkInfo],
    mode: OrderMode,
    items: &[ScheduleItem],
    start: usize,
) -> Vec<Vec<Dependency>> {
    let mut order = match mode {
        OrderMode::Ansible => OrderRule::Line { last: None },
        OrderMode::Justdoit => OrderRule::Free,
        OrderMode::Genius => OrderRule::Conflicts(Box::default()),
    };
    // The last step that can end the run; all later ones wait for it.
    let mut gate: Option<usize> = None;
    let mut aggregates: HashMap<usize, usize> = HashMap::new();
    let groups: HashMap<usize, usize> =
        low.aggregates.iter().enumerate().flat_map(|(group, chunks)| chunks.iter().map(move |c| (*c, group))).collect();
    let mut all = Vec::with_capacity(items.len());
    for (item, index) in items.iter().zip(start..) {
        let mut waits = Vec::new();
        if let Some(step) = item.step.and_then(|step| low.steps.get(step)) {
            // Items have the same numbers as their steps, and requisites come before.
            let needs = step.needs.iter().filter(|need| need.step < index);
            waits.extend(needs.map(|need| Dependency { on: need.step, why: WaitReason::Requisite(need.requisite) }));
        }
        if let (ItemKind::Real, Some(group)) = (item.kind, groups.get(&item.chunk)) {
            let first = *aggregates.entry(*group).or_insert(index);
            waits.extend((first != index).then_some(Dependency { on: first, why: WaitReason::Aggregate }));
        }
        let touches = infos.get(item.chunk).map_or(&UNKNOWN, |work| &work.touches);
        order.add(&PlannedItem { item: index, parallel: item.parallel, touches }, &mut waits);
        waits.extend(gate.map(|on| Dependency { on, why: WaitReason::Failhard }));
        if item.failhard {
            gate = Some(index);
        }
        all.push(waits);
    }
    all
}

static UNKNOWN: Touches = Touches { reads: Vec::new(), writes: Vec::new(), everything: true };

/// Tracks what an item must wait for, as items are added in their declared order.
enum OrderRule {
    /// Items run one after another.
    Line { last: Option<usize> },
    /// Items wait only for their requisites.
    Free,
    /// Conflicting items keep the declared order.
    Conflicts(Box<ConflictTracker>),
}

/// An item, as far as an [`OrderRule`] needs it.
struct PlannedItem<'t> {
    item: usize,
    /// Whether later items don't wait for it (`parallel: True`).
    parallel: bool,
    touches: &'t Touches,
}

impl OrderRule {
    /// Adds an item, and the dependencies that it needs.
    fn add(&mut self, planned: &PlannedItem<'_>, waits: &mut Vec<Dependency>) {
        match self {
            OrderRule::Free => {}
            OrderRule::Line { last } => {
                waits.extend(last.map(|on| Dependency { on, why: WaitReason::Order }));
                if !planned.parallel {
                    *last = Some(planned.item);
                }
            }
            OrderRule::Conflicts(apart) => apart.add(planned, waits),
        }
    }
}

/// Which items touched what, since the last item that conflicts with all others.
#[derive(Default)]
struct ConflictTracker {
    /// The last item that may have touched anything.
    barrier: Option<usize>,
    /// All items since the barrier that touch something.
    since: Vec<usize>,
    /// Touches by path. Keys end with a slash, so that everything below a directory follows it.
    paths: BTreeMap<String, Vec<ItemTouch>>,
    things: HashMap<Thing, Vec<ItemTouch>>,
}

#[derive(Clone, Copy)]
struct ItemTouch {
    item: usize,
    writes: bool,
}

impl ConflictTracker {
    fn add(&mut self, planned: &PlannedItem<'_>, waits: &mut Vec<Dependency>) {
        let PlannedItem { item, parallel, touches } = *planned;
        if touches.is_nothing() {
            return;
        }
        if touches.is_everything() {
            // Items since the barrier wait for it themselves, so the barrier matters only if there are none.
            match self.since.is_empty() {
                true => waits.extend(self.barrier.map(|on| Dependency { on, why: unknown(touches) })),
                false => waits.extend(self.since.iter().map(|on| Dependency { on: *on, why: unknown(touches) })),
            }
            if !parallel {
                *self = ConflictTracker { barrier: Some(item), ..ConflictTracker::default() };
            }
            return;
        }
        let before = waits.len();
        for (thing, writes) in each(touches) {
            self.add_conflicts(thing, writes, waits);
        }
        if waits.len() == before {
            waits.extend(self.barrier.map(|on| Dependency { on, why: WaitReason::Unknown }));
        }
        if !parallel {
            self.since.push(item);
            for (thing, writes) in each(touches) {
                self.record(thing, ItemTouch { item, writes });
            }
        }
    }

    fn add_conflicts(&self, thing: &Thing, writes: bool, waits: &mut Vec<Dependency>) {
        let mut add = |touches: &[ItemTouch]| {
            for touch in touches.iter().filter(|touch| writes || touch.writes) {
                if !waits.iter().any(|wait| wait.on == touch.item) {
                    waits.push(Dependency { on: touch.item, why: WaitReason::Touches(thing.clone()) });
                }
            }
        };
        let Thing::Path(path) = thing else {
            return self.things.get(thing).map_or((), |touches| add(touches));
        };
        let key = path_key(path);
        for (at, _) in key.match_indices('/') {
            if let Some(touches) = self.paths.get(&key[..=at]) {
                add(touches);
            }
        }
        let below = self.paths.range::<str, _>((std::ops::Bound::Excluded(key.as_str()), std::ops::Bound::Unbounded));
        below.take_while(|(path, _)| path.starts_with(&key)).for_each(|(_, touches)| add(touches));
    }

    fn record(&mut self, thing: &Thing, touch: ItemTouch) {
        let touches = match thing {
            Thing::Path(path) => self.paths.entry(path_key(path)).or_default(),
            other => self.things.entry(other.clone()).or_default(),
        };
        if touch.writes {
            // Whoever waits for this write has waited for the earlier touches.
            touches.clear();
        }
        touches.push(touch);
    }
}

fn each(touches: &Touches) -> impl Iterator<Item = (&Thing, bool)> {
    let writes = touches.writes.iter().map(|thing| (thing, true));
    writes.chain(touches.reads.iter().map(|thing| (thing, false)))
}

fn unknown(touches: &Touches) -> WaitReason {
    match touches.everything {
        true => WaitReason::Unknown,
        false => WaitReason::Touches(Thing::Packages),
    }
}

fn path_key(path: &str) -> String {
    format!("{}/", path.trim_end_matches('/'))
}
