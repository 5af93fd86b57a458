//! The edges that a mode adds to those of the requisites.

use std::collections::{BTreeMap, HashMap};

use rocksalt_core::touches::{Thing, Touches};

use super::item::Kind;
use super::why::{Wait, Why};
use super::{Item, Mode, Work};
use crate::low::Low;

/// What each of the items must wait for, in their order; the first one's number is `start`.
pub fn lay_out(low: &Low, works: &[Work], mode: Mode, items: &[Item], start: usize) -> Vec<Vec<Wait>> {
    let mut order = match mode {
        Mode::Ansible => Order::Line { last: None },
        Mode::Justdoit => Order::Free,
        Mode::Genius => Order::Apart(Box::default()),
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
            waits.extend(needs.map(|need| Wait { on: need.step, why: Why::Requisite(need.requisite) }));
        }
        if let (Kind::Real, Some(group)) = (item.kind, groups.get(&item.chunk)) {
            let first = *aggregates.entry(*group).or_insert(index);
            waits.extend((first != index).then_some(Wait { on: first, why: Why::Aggregate }));
        }
        let touches = works.get(item.chunk).map_or(&UNKNOWN, |work| &work.touches);
        order.lay(&Laid { item: index, beside: item.beside, touches }, &mut waits);
        waits.extend(gate.map(|on| Wait { on, why: Why::Failhard }));
        if item.failhard {
            gate = Some(index);
        }
        all.push(waits);
    }
    all
}

static UNKNOWN: Touches = Touches { reads: Vec::new(), writes: Vec::new(), everything: true };

/// What comes before, as the steps are laid out one by one in their declared order.
enum Order {
    /// One after another.
    Line { last: Option<usize> },
    /// Only requisites.
    Free,
    /// Whoever is at odds keeps the declared order.
    Apart(Box<Apart>),
}

/// What the laying out must know of a step.
struct Laid<'t> {
    item: usize,
    /// Later ones don't wait for it (`parallel: True`).
    beside: bool,
    touches: &'t Touches,
}

impl Order {
    /// What the next step must wait for.
    fn lay(&mut self, laid: &Laid<'_>, waits: &mut Vec<Wait>) {
        match self {
            Order::Free => {}
            Order::Line { last } => {
                waits.extend(last.map(|on| Wait { on, why: Why::Order }));
                if !laid.beside {
                    *last = Some(laid.item);
                }
            }
            Order::Apart(apart) => apart.lay(laid, waits),
        }
    }
}

/// Who has touched what since the last step that was at odds with everybody.
#[derive(Default)]
struct Apart {
    /// The last step that may have touched anything.
    barrier: Option<usize>,
    /// All that touch something since then.
    since: Vec<usize>,
    /// By path with a slash at the end, so that all below a directory follow it.
    paths: BTreeMap<String, Vec<Touch>>,
    things: HashMap<Thing, Vec<Touch>>,
}

#[derive(Clone, Copy)]
struct Touch {
    item: usize,
    writes: bool,
}

impl Apart {
    fn lay(&mut self, laid: &Laid<'_>, waits: &mut Vec<Wait>) {
        let Laid { item, beside, touches } = *laid;
        if touches.is_nothing() {
            return;
        }
        if touches.is_everything() {
            // Nobody since then matters if there is none: they all wait for the barrier themselves.
            match self.since.is_empty() {
                true => waits.extend(self.barrier.map(|on| Wait { on, why: unknown(touches) })),
                false => waits.extend(self.since.iter().map(|on| Wait { on: *on, why: unknown(touches) })),
            }
            if !beside {
                *self = Apart { barrier: Some(item), ..Apart::default() };
            }
            return;
        }
        let before = waits.len();
        for (thing, writes) in each(touches) {
            self.meet(thing, writes, waits);
        }
        if waits.len() == before {
            waits.extend(self.barrier.map(|on| Wait { on, why: Why::Unknown }));
        }
        if !beside {
            self.since.push(item);
            for (thing, writes) in each(touches) {
                self.note(thing, Touch { item, writes });
            }
        }
    }

    fn meet(&self, thing: &Thing, writes: bool, waits: &mut Vec<Wait>) {
        let mut add = |touches: &[Touch]| {
            for touch in touches.iter().filter(|touch| writes || touch.writes) {
                if !waits.iter().any(|wait| wait.on == touch.item) {
                    waits.push(Wait { on: touch.item, why: Why::Touches(thing.clone()) });
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

    fn note(&mut self, thing: &Thing, touch: Touch) {
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

fn unknown(touches: &Touches) -> Why {
    match touches.everything {
        true => Why::Unknown,
        false => Why::Touches(Thing::Packages),
    }
}

fn path_key(path: &str) -> String {
    format!("{}/", path.trim_end_matches('/'))
}
