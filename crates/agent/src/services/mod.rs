//! The controller's services for one call: files, pillar, templates and runs of states.
//!
//! What a run has read once stays the same until the run ends.

mod files;
mod pillar;

use std::sync::{Arc, Weak};

use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::FunctionOutcome;
use rocksalt_modules::machine::{
    HostSystem, Services, StateRequest, StateRunner, StateVerb, Template, TemplateRenderer,
};
use rocksalt_modules::{Error, Result};

use crate::language;
use files::FileCache;
use pillar::PillarCache;

/// Receives the progress of a run.
pub type ProgressListener = Box<dyn Fn(&Map) + Send + Sync>;

/// Gives a host its services. With `pillar` the controller is not asked for one: there is none yet while a pillar is
/// being compiled.
pub fn attach(host: &Arc<HostSystem>, progress: Option<ProgressListener>, pillar: Option<Map>) {
    let weak = Arc::downgrade(host);
    let pillar = Arc::new(PillarCache::new(Weak::clone(&weak), pillar));
    host.set_services(Services {
        files: Arc::new(FileCache::new(Weak::clone(&weak))),
        pillar: Arc::clone(&pillar) as Arc<dyn rocksalt_modules::machine::TargetPillar>,
        templates: Arc::new(HostTemplates { host: Weak::clone(&weak) }),
        states: Arc::new(HostStates { host: weak, pillar, progress }),
    });
}

/// The host that a service belongs to. The host owns the service, so the reference back is weak.
fn upgrade(host: &Weak<HostSystem>) -> Result<Arc<HostSystem>> {
    host.upgrade().ok_or_else(Error::cancelled)
}

struct HostTemplates {
    host: Weak<HostSystem>,
}

impl TemplateRenderer for HostTemplates {
    fn render(&self, template: &Template<'_>) -> Result<String> {
        language::render_text(&upgrade(&self.host)?, template)
    }

    fn render_data(&self, template: &Template<'_>) -> Result<Value> {
        language::render_data(&upgrade(&self.host)?, template)
    }
}

struct HostStates {
    host: Weak<HostSystem>,
    pillar: Arc<PillarCache>,
    progress: Option<ProgressListener>,
}

impl StateRunner for HostStates {
    fn run(&self, request: StateRequest) -> Result<FunctionOutcome> {
        let host = upgrade(&self.host)?;
        if request.verb == StateVerb::Resume {
            let resumed = language::Resumed::find(&host, &request.argument)?;
            self.pillar.set_request(&resumed.request());
            return resumed.resume(&host, self.progress.as_deref());
        }
        self.pillar.set_request(&request);
        language::run_request(&host, &request, self.progress.as_deref())
    }
}
