//! [`Item`]: one entry of the schedule.

use super::Settings;
use crate::low::{Chunk, Low};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Index into the low data's chunks.
    pub chunk: usize,
    /// Index into the low data's steps; `None` for a listener.
    pub step: Option<usize>,
    pub kind: Kind,
    /// The user said `parallel: True`: those after it need not wait for it.
    pub beside: bool,
    /// If it fails, the run ends.
    pub failhard: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A prerequired state's, to see whether it would change something.
    DryRun,
    Real,
    /// Afterwards: acts on what it listens to (`listen`).
    Listener,
}

impl Item {
    pub(super) fn of_step(low: &Low, index: usize, settings: &Settings) -> Item {
        let step = &low.steps[index];
        let kind = if step.dry_run { Kind::DryRun } else { Kind::Real };
        Item { step: Some(index), ..Item::new(&low.chunks[step.chunk], step.chunk, kind, settings) }
    }

    pub(super) fn of_listener(low: &Low, chunk: usize, settings: &Settings) -> Item {
        Item::new(&low.chunks[chunk], chunk, Kind::Listener, settings)
    }

    fn new(chunk: &Chunk, index: usize, kind: Kind, settings: &Settings) -> Item {
        let says = |argument: &str| chunk.arguments.get(argument).map(rocksalt_core::Value::truth);
        Item {
            chunk: index,
            step: None,
            kind,
            beside: kind != Kind::DryRun && says("parallel").unwrap_or(false),
            failhard: !settings.test && says("failhard").unwrap_or(settings.failhard),
        }
    }
}
