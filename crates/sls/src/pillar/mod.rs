//! The pillar of a machine: data from pillar files, compiled where the secrets are.

mod decrypt;
mod sls;
mod top;

use std::collections::HashSet;

use rocksalt_core::merge::{Strategy, merge_maps};
use rocksalt_core::{Map, Value};

use crate::fault::Fault;
use crate::render::default_pipe;
use crate::session::Session;
use crate::setting::{Setting, switch, text};

/// What a pillar depends on: [`Setting::sources`] are the pillar's files.
///
/// [`Setting::pillar`] is what templates see as `pillar`, which isn't the one that is being made.
#[derive(Clone)]
pub struct PillarSetting<'a> {
    pub setting: Setting<'a>,
    /// `--pillar`: wins over all else.
    pub given: &'a Map,
    /// External pillars in their order.
    pub external: &'a [&'a dyn External],
}

/// A source of pillar that is no file of the tree.
pub trait External {
    fn name(&self) -> &str;

    /// What it has for a machine, given the pillar so far.
    fn fetch(&self, id: &str, pillar: &Map) -> Result<Map, String>;
}

/// A compiled pillar.
#[derive(Clone, Debug, Default)]
pub struct Pillar {
    pub data: Map,
    /// What went wrong, in words that a target may see. States refuse to run if there are any.
    pub errors: Vec<Fault>,
    /// The same for the operator, with reasons and places: these may quote secrets.
    pub details: Vec<Fault>,
    pub warnings: Vec<Fault>,
}

impl Pillar {
    /// The pillar as a machine gets it: with its errors under `_errors`.
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
pub fn compile(setting: &PillarSetting<'_>) -> Pillar {
    let session = Session::new(setting.setting.clone());
    let mut compiler = Compiler::new(&session);
    let policy = compiler.policy;
    let top = compiler.top();
    let (data, mut outcome) = if switch(setting.setting.options, "ext_pillar_first") {
        let external = compiler.external(setting, setting.given.clone());
        let seeing = Session::new(Setting { pillar: &external, ..setting.setting.clone() });
        let mut compiler = Compiler { session: &seeing, ..compiler };
        let matches = compiler.matches(&top);
        let rendered = compiler.render(setting.given.clone(), &matches);
        let outcome = compiler.outcome;
        session.warnings.borrow_mut().append(&mut seeing.warnings.take());
        (policy.merge(external, rendered), outcome)
    } else {
        let matches = compiler.matches(&top);
        let rendered = compiler.render(setting.given.clone(), &matches);
        (compiler.external(setting, rendered), compiler.outcome)
    };
    let mut data = policy.merge(data, setting.given.clone());
    decrypt::decrypt(&mut data, &setting.setting).into_iter().for_each(|fault| outcome.add(fault));
    Pillar { data, errors: outcome.errors, details: outcome.details, warnings: session.warnings.take() }
}

/// What went wrong so far.
#[derive(Default)]
struct Outcome {
    errors: Vec<Fault>,
    details: Vec<Fault>,
}

impl Outcome {
    fn add(&mut self, fault: Fault) {
        self.details.push(fault.clone());
        // The excerpt is a line of a pillar file.
        self.errors.push(Fault { excerpt: None, ..fault });
    }
}

/// How files are merged.
#[derive(Clone, Copy)]
struct Policy {
    strategy: Strategy,
    merge_lists: bool,
    /// What is included wins over the includer.
    includes_win: bool,
}

impl Policy {
    fn merge(&self, into: Map, from: Map) -> Map {
        merge_maps(into, from, self.strategy, self.merge_lists)
    }
}

struct Compiler<'s, 'a> {
    session: &'s Session<'a>,
    policy: Policy,
    /// Sls that may be missing, by environment.
    may_be_missing: HashSet<(String, String)>,
    outcome: Outcome,
}

impl<'s, 'a> Compiler<'s, 'a> {
    fn new(session: &'s Session<'a>) -> Compiler<'s, 'a> {
        let options = session.setting.options;
        let strategy = text(options, "pillar_source_merging_strategy").unwrap_or("smart");
        let policy = Policy {
            strategy: Strategy::named(strategy, default_pipe(options)),
            merge_lists: switch(options, "pillar_merge_lists"),
            includes_win: switch(options, "pillar_includes_override_sls"),
        };
        Compiler { session, policy, may_be_missing: HashSet::new(), outcome: Outcome::default() }
    }

    fn external(&mut self, setting: &PillarSetting<'_>, mut data: Map) -> Map {
        for external in setting.external {
            match external.fetch(setting.setting.id, &data) {
                Ok(more) => data = self.policy.merge(data, more),
                Err(reason) => {
                    // Why it failed may quote a command, an address or what they said: the operator's business.
                    let failed = format!("Failed to load ext_pillar {}", external.name());
                    self.outcome.details.push(Fault::new(format!("{failed}: {reason}")));
                    self.outcome.errors.push(Fault::new(format!("{failed}. Please see master log for details.")));
                }
            }
        }
        data
    }

    fn error(&mut self, fault: Fault) {
        self.outcome.add(fault);
    }
}
