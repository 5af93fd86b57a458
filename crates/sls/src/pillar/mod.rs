//! Compiles the pillar of a machine from pillar files and external pillars.

mod decrypt;
mod sls;
mod top;

use std::collections::HashSet;

use rocksalt_core::merge::{Strategy, merge_maps};
use rocksalt_core::{Map, Value};

use crate::compilation::Compilation;
use crate::fault::SlsFault;
use crate::inputs::CompileInputs;
use crate::options::{switch, text};
use crate::render::default_pipe;

/// The inputs of a pillar. [`CompileInputs::sources`] are the pillar's files.
///
/// [`CompileInputs::pillar`] is the `pillar` that templates see, which isn't the one being compiled.
#[derive(Clone)]
pub struct PillarInputs<'a> {
    pub inputs: CompileInputs<'a>,
    /// `--pillar`, which overrides all other data.
    pub given: &'a Map,
    /// The external pillars in order.
    pub external: &'a [&'a dyn ExternalPillar],
}

/// A source of pillar data outside of the tree.
pub trait ExternalPillar {
    fn name(&self) -> &str;

    /// The data for a machine, given the pillar so far.
    fn fetch(&self, id: &str, pillar: &Map) -> Result<Map, String>;
}

/// A compiled pillar.
#[derive(Clone, Debug, Default)]
pub struct CompiledPillar {
    pub data: Map,
    /// The errors in a form that a target may see. States refuse to run if there are any.
    pub errors: Vec<SlsFault>,
    /// The same errors for the operator, with reasons and positions, which may quote secrets.
    pub details: Vec<SlsFault>,
    pub warnings: Vec<SlsFault>,
}

impl CompiledPillar {
    /// The pillar as sent to a machine: with its errors under `_errors`.
    pub fn into_map(self) -> Map {
        let mut data = self.data;
        if !self.errors.is_empty() {
            let texts = self.errors.iter().map(|error| error.text.as_str().into()).collect::<Vec<Value>>();
            data.insert("_errors", texts);
        }
        data
    }
}

/// Compiles the pillar of one machine.
pub fn compile(inputs: &PillarInputs<'_>) -> CompiledPillar {
    let compilation = Compilation::new(inputs.inputs.clone());
    let mut compiler = PillarCompiler::new(&compilation);
    let policy = compiler.policy;
    let top = compiler.top();
    let (data, mut faults) = if switch(inputs.inputs.options, "ext_pillar_first") {
        let external = compiler.external(inputs, inputs.given.clone());
        let seeing = Compilation::new(CompileInputs { pillar: &external, ..inputs.inputs.clone() });
        let mut compiler = PillarCompiler { compilation: &seeing, ..compiler };
        let matches = compiler.matches(&top);
        let rendered = compiler.render(inputs.given.clone(), &matches);
        let faults = compiler.faults;
        compilation.warnings.borrow_mut().append(&mut seeing.warnings.take());
        (policy.merge(external, rendered), faults)
    } else {
        let matches = compiler.matches(&top);
        let rendered = compiler.render(inputs.given.clone(), &matches);
        (compiler.external(inputs, rendered), compiler.faults)
    };
    let mut data = policy.merge(data, inputs.given.clone());
    decrypt::decrypt(&mut data, &inputs.inputs).into_iter().for_each(|fault| faults.add(fault));
    CompiledPillar { data, errors: faults.errors, details: faults.details, warnings: compilation.warnings.take() }
}

/// The errors so far.
#[derive(Default)]
struct PillarFaults {
    errors: Vec<SlsFault>,
    details: Vec<SlsFault>,
}

impl PillarFaults {
    fn add(&mut self, fault: SlsFault) {
        self.details.push(fault.clone());
        // The excerpt would show a line of a pillar file.
        self.errors.push(SlsFault { excerpt: None, ..fault });
    }
}

/// How pillar files are merged.
#[derive(Clone, Copy)]
struct MergePolicy {
    strategy: Strategy,
    merge_lists: bool,
    /// Whether an included sls overrides its includer.
    includes_win: bool,
}

impl MergePolicy {
    fn merge(&self, into: Map, from: Map) -> Map {
        merge_maps(into, from, self.strategy, self.merge_lists)
    }
}

struct PillarCompiler<'s, 'a> {
    compilation: &'s Compilation<'a>,
    policy: MergePolicy,
    /// The sls that are allowed to be missing, by environment.
    may_be_missing: HashSet<(String, String)>,
    faults: PillarFaults,
}

impl<'s, 'a> PillarCompiler<'s, 'a> {
    fn new(compilation: &'s Compilation<'a>) -> PillarCompiler<'s, 'a> {
        let options = compilation.inputs.options;
        let strategy = text(options, "pillar_source_merging_strategy").unwrap_or("smart");
        let policy = MergePolicy {
            strategy: Strategy::named(strategy, default_pipe(options)),
            merge_lists: switch(options, "pillar_merge_lists"),
            includes_win: switch(options, "pillar_includes_override_sls"),
        };
        PillarCompiler { compilation, policy, may_be_missing: HashSet::new(), faults: PillarFaults::default() }
    }

    fn external(&mut self, inputs: &PillarInputs<'_>, mut data: Map) -> Map {
        for external in inputs.external {
            match external.fetch(inputs.inputs.id, &data) {
                Ok(more) => data = self.policy.merge(data, more),
                Err(reason) => {
                    // The reason may quote a command, an address or a response, so only the operator sees it.
                    let failed = format!("Failed to load ext_pillar {}", external.name());
                    self.faults.details.push(SlsFault::new(format!("{failed}: {reason}")));
                    self.faults.errors.push(SlsFault::new(format!("{failed}. Please see master log for details.")));
                }
            }
        }
        data
    }

    fn error(&mut self, fault: SlsFault) {
        self.faults.add(fault);
    }
}
