//! Low data: the steps in execution order, with resolved requisites.

mod aggregate;
mod chunk;
mod chunks;
mod cycle;
mod graph;
pub mod requisite;
mod resolve;
mod snapshot;
mod sort;

use rocksalt_core::{Map, Value};

use crate::fault::SlsFault;
use crate::files::SourceFiles;
use crate::functions::StateCatalog;
use crate::high::High;
use crate::options::names;

pub use chunk::Chunk;
pub use requisite::Requisite;

/// The steps to run, in Salt's order.
///
/// They can run one after another in this order: a step comes after all steps that it needs.
#[derive(Clone, Debug, Default)]
pub struct Low {
    /// Every chunk once, in the order of the real runs.
    pub chunks: Vec<Chunk>,
    /// The steps in order. A prerequired chunk has two: the dry run, then the real one.
    pub steps: Vec<LowStep>,
    /// Groups of chunks that Salt would aggregate, in execution order; each has at least two.
    pub aggregates: Vec<Vec<usize>>,
    /// States that the grain `state_runs_disabled` disables: they fail without running.
    pub disabled: Vec<DisabledChunk>,
    /// The files that the positions of chunks and arguments refer to.
    pub files: SourceFiles,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowStep {
    /// Index into [`Low::chunks`].
    pub chunk: usize,
    /// Whether the step is the dry run of a prerequired chunk.
    pub dry_run: bool,
    /// The steps that must run before, each pair once, in the order in which Salt looks at them.
    ///
    /// `P` with `prereq: T` makes three steps: the dry run of `T`; `P`, which needs that dry run by
    /// [`Requisite::Prereq`]; and `T` itself, which needs `P` by [`Requisite::Require`].
    pub needs: Vec<Need>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Need {
    pub requisite: Requisite,
    /// Index into [`Low::steps`].
    pub step: usize,
}

#[derive(Clone, Debug)]
pub struct DisabledChunk {
    pub chunk: Chunk,
    /// The pattern of the grain that matched.
    pub pattern: String,
}

/// Compiles high data to low data: applies `extend` and the like, resolves the requisites, and sorts.
pub fn low(mut high: High, catalog: &dyn StateCatalog, options: &Map, grains: &Map) -> Result<Low, Vec<SlsFault>> {
    high.apply_modifiers(options)?;
    let (mut drafts, disabled) = chunks::chunks(&mut high, grains);
    for draft in &mut drafts {
        watch_or_require(&mut draft.chunk, catalog);
    }
    crate::outputs::require(drafts.iter_mut().map(|draft| &mut draft.chunk));
    let mut graph = graph::RequisiteGraph::new(drafts.len());
    let mut faults = resolve::resolve(&drafts, &mut graph, &names(options, "disabled_requisites"), &high.files);
    for number in graph.dry_runs.keys() {
        drafts[*number as usize].chunk.prerequired = true;
    }
    for number in &graph.prerequiring {
        drafts[*number as usize].chunk.prerequiring = true;
    }
    let cap = sort::cap(&drafts);
    let order = sort::sort(&graph, &mut drafts, cap);
    if order.len() < graph.nodes.len() {
        faults.push(cycle::fault(&graph, &drafts, &high.files));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let aggregates = aggregate::groups(&order, &graph, &drafts, catalog, options);
    Ok(assemble(&order, &graph, drafts, &aggregates, disabled, high.files))
}

/// Renumbers chunks and steps by their position in the order.
fn assemble(
    order: &[u32],
    graph: &graph::RequisiteGraph,
    drafts: Vec<chunks::DraftChunk>,
    aggregates: &[Vec<u32>],
    disabled: Vec<DisabledChunk>,
    files: SourceFiles,
) -> Low {
    let mut step_of = vec![0; graph.nodes.len()];
    let mut chunk_of = vec![0; drafts.len()];
    let mut real = 0;
    for (step, node) in order.iter().enumerate() {
        step_of[*node as usize] = step;
        let node = graph.nodes[*node as usize];
        if !node.dry_run {
            chunk_of[node.chunk as usize] = real;
            real += 1;
        }
    }
    let steps = order
        .iter()
        .map(|node| LowStep {
            chunk: chunk_of[graph.nodes[*node as usize].chunk as usize],
            dry_run: graph.nodes[*node as usize].dry_run,
            needs: graph.needs[*node as usize]
                .iter()
                .map(|(needed, requisite)| Need { requisite: *requisite, step: step_of[*needed as usize] })
                .collect(),
        })
        .collect();
    let mut chunks: Vec<Option<Chunk>> = (0..drafts.len()).map(|_| None).collect();
    for (number, draft) in drafts.into_iter().enumerate() {
        chunks[chunk_of[number]] = Some(draft.chunk);
    }
    let aggregates =
        aggregates.iter().map(|group| group.iter().map(|number| chunk_of[*number as usize]).collect()).collect();
    Low { chunks: chunks.into_iter().flatten().collect(), steps, aggregates, disabled, files }
}

/// Turns `watch` into `require` for a module without a watch function.
fn watch_or_require(chunk: &mut Chunk, catalog: &dyn StateCatalog) {
    for (watch, require) in [("watch", "require"), ("watch_any", "require_any")] {
        if !chunk.arguments.contains_key(watch) || catalog.has_watch(&chunk.state) {
            continue;
        }
        let spot = chunk.spot_of(watch);
        let position = chunk.arguments.position(watch);
        let Some(watched) = chunk.arguments.remove(watch) else { continue };
        if let Some(position) = position.filter(|position| *position < chunk.spots.len()) {
            chunk.spots.remove(position);
        }
        match (chunk.arguments.entry(require), watched) {
            (Value::List(required), Value::List(watched)) => required.extend(watched),
            (required, watched) => *required = watched,
        }
        if chunk.spots.len() < chunk.arguments.len() {
            chunk.spots.push(spot);
        }
    }
}

impl Low {
    /// The low chunks in Salt's form; a prerequired one occurs twice.
    pub fn into_value(self) -> Value {
        let mut uses = vec![0usize; self.chunks.len()];
        for step in &self.steps {
            uses[step.chunk] += 1;
        }
        let mut chunks: Vec<Option<Chunk>> = self.chunks.into_iter().map(Some).collect();
        let shown = self.steps.iter().filter_map(|step| {
            uses[step.chunk] -= 1;
            let chunk = if uses[step.chunk] == 0 { chunks[step.chunk].take() } else { chunks[step.chunk].clone() };
            chunk.map(Chunk::into_value)
        });
        Value::List(shown.collect())
    }
}
