//! From high data to low: a list of steps in the order they run, with their requisites resolved.

mod chunk;
pub mod requisite;

use rocksalt_core::Value;

use crate::files::Files;

pub use chunk::Chunk;
pub use requisite::Requisite;

/// What is to be done, in Salt's order.
///
/// The steps are in an order in which they can run one after another: a step's needs come before it.
#[derive(Clone, Debug, Default)]
pub struct Low {
    /// Every state once, in the order in which they really run.
    pub chunks: Vec<Chunk>,
    /// What runs, in its order. A prerequired chunk has two steps: the dry run, then the real one.
    pub steps: Vec<Step>,
    /// Chunks that Salt would aggregate, each group in running order; every group has two or more.
    pub aggregates: Vec<Vec<usize>>,
    /// States that the grain `state_runs_disabled` switches off: they don't run, and fail.
    pub disabled: Vec<Disabled>,
    /// For the places of chunks and arguments.
    pub files: Files,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index into [`Low::chunks`].
    pub chunk: usize,
    /// The dry run of a prerequired chunk.
    pub dry_run: bool,
    /// What must have run before, each pair once, in the order in which Salt looks at them.
    ///
    /// For `P` with `prereq: T` there are three steps: the dry run of `T`; `P`, which needs that dry
    /// run by [`Requisite::Prereq`]; and `T` itself, which needs `P` by [`Requisite::Require`].
    pub needs: Vec<Need>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Need {
    pub requisite: Requisite,
    /// Index into [`Low::steps`].
    pub step: usize,
}

#[derive(Clone, Debug)]
pub struct Disabled {
    pub chunk: Chunk,
    /// The pattern in the grain that matched.
    pub pattern: String,
}

impl Low {
    /// The low chunks as Salt shows them; a prerequired one comes twice.
    pub fn to_value(&self) -> Value {
        let chunks = self.steps.iter().filter_map(|step| self.chunks.get(step.chunk));
        Value::List(chunks.map(Chunk::to_value).collect())
    }
}
