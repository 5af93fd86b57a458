//! The dependencies that a mode adds to those of the requisites.

use std::collections::{BTreeMap, HashMap};

use rocksalt_core::touches::{Thing, Touches};

use super::dependency::{Dependency, WaitReason};
use super::item::ItemKind;
use super::{ChunkInfo, OrderMode, ScheduleItem};
use crate::low::Low;

/// What each of the items must wait for, in their order; the first one's number is `start`.
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
    // The last step that can end the run, for which all later ones wait.
    let mut gate: Option<usize> = None;
    let mut aggregates: HashMap<usize, usize> = HashMap::new();
    let groups: HashMap<usize, usize> =
        low.aggregates.iter().enumerate().flat_map(|(group, chunks)| chunks.iter().map(move |c| (*c, group))).collect();
    let mut all = Vec::with_capacity(items.len());
    for (item, index) in items.iter().zip(start..) {
        let mut waits = Vec::new();
        if let Some(step) = item.step.and_then(|step| low.steps.get(step)) {
            // Items and steps have the same numbers, and what is needed comes before.
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

/// What comes before, as the steps are laid out one by one in their declared order.
enum OrderRule {
    /// One after another.
    Line { last: Option<usize> },
    /// Only requisites.
    Free,
    /// Steps that conflict keep the declared order.
    Conflicts(Box<ConflictTracker>),
}

/// What the laying out must know of a step.
struct PlannedItem<'t> {
    item: usize,
    /// Later ones don't wait for it (`parallel: True`).
    parallel: bool,
    touches: &'t Touches,
}

impl OrderRule {
    /// What the next step must wait for.
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

/// Which steps touched what since the last step that conflicts with all.
#[derive(Default)]
struct ConflictTracker {
    /// The last step that may have touched anything.
    barrier: Option<usize>,
    /// All steps since then that touch something.
    since: Vec<usize>,
    /// By path with a slash at the end, so that all below a directory follow it.
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
            // Nobody since then matters if there is none: they all wait for the barrier themselves.
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
            // Who waits for this one has waited for those.
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
