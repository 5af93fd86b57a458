//! [`ScheduleItem`]: one entry of the schedule.

use super::ScheduleOptions;
use crate::low::{Chunk, Low};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleItem {
    /// Index into the low data's chunks.
    pub chunk: usize,
    /// Index into the low data's steps; `None` for a listener.
    pub step: Option<usize>,
    pub kind: ItemKind,
    /// Whether the state has `parallel: True`, so that later steps don't wait for it.
    pub parallel: bool,
    /// Whether a failure ends the run.
    pub failhard: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// The dry run of a prerequired state, to see whether it would change something.
    DryRun,
    Real,
    /// Runs at the end, if something that it listens to has changed (`listen`).
    Listener,
}

impl ScheduleItem {
    pub(super) fn of_step(low: &Low, index: usize, options: &ScheduleOptions) -> ScheduleItem {
        let step = &low.steps[index];
        let kind = if step.dry_run { ItemKind::DryRun } else { ItemKind::Real };
        ScheduleItem { step: Some(index), ..ScheduleItem::new(&low.chunks[step.chunk], step.chunk, kind, options) }
    }

    pub(super) fn of_listener(low: &Low, chunk: usize, options: &ScheduleOptions) -> ScheduleItem {
        ScheduleItem::new(&low.chunks[chunk], chunk, ItemKind::Listener, options)
    }

    fn new(chunk: &Chunk, index: usize, kind: ItemKind, options: &ScheduleOptions) -> ScheduleItem {
        let says = |argument: &str| chunk.arguments.get(argument).map(rocksalt_core::Value::truth);
        ScheduleItem {
            chunk: index,
            step: None,
            kind,
            parallel: kind != ItemKind::DryRun && says("parallel").unwrap_or(false),
            failhard: !options.test && says("failhard").unwrap_or(options.failhard),
        }
    }
}
