//! [`RunTree`]: the controller's files and pillar, and the state language on top of them.
//!
//! One for each call: what a run has seen once stays as it was until the run ends.

mod files;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rocksalt_core::frame::Ask;
use rocksalt_core::{Map, Value};
use rocksalt_modules::catalog::Outcome;
use rocksalt_modules::machine::{Host, Probe, Reboots, StateVerb, StateWish, Template, Tree, TreeEntry};
use rocksalt_modules::{Error, Result};

use crate::language;
use files::Files;

/// Hears how far a run is.
pub type Progress = Box<dyn Fn(&Map) + Send + Sync>;

pub struct RunTree {
    /// Templates call functions on the host that this tree belongs to.
    host: Weak<Host>,
    files: Files,
    pillar: Mutex<Pillar>,
    notes: Mutex<Map>,
    reboots: Reboots,
    progress: Option<Progress>,
}

#[derive(Default)]
struct Pillar {
    known: Option<Arc<Map>>,
    saltenv: String,
    pillarenv: String,
    given: Map,
}

impl RunTree {
    /// Gives a host its tree. Where the pillar is known (while it is compiled there is none yet), nobody is asked for it.
    pub fn plant(host: &Arc<Host>, progress: Option<Progress>, pillar: Option<Map>) {
        let tree = RunTree {
            host: Arc::downgrade(host),
            files: Files::default(),
            pillar: Mutex::new(Pillar { known: pillar.map(Arc::new), ..Pillar::default() }),
            notes: Mutex::default(),
            reboots: Reboots::default(),
            progress,
        };
        host.set_tree(Box::new(tree));
    }

    fn host(&self) -> Result<Arc<Host>> {
        self.host.upgrade().ok_or_else(Error::cancelled)
    }
}

impl Tree for RunTree {
    fn pillar(&self) -> Result<Arc<Map>> {
        let mut pillar = self.pillar.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &pillar.known {
            return Ok(Arc::clone(known));
        }
        let host = self.host()?;
        let ask = Ask::Pillar {
            grains: (*host.grains()).clone(),
            saltenv: pillar.saltenv.clone(),
            pillarenv: pillar.pillarenv.clone(),
            given: pillar.given.clone(),
        };
        let Value::Map(compiled) = host.controller().ask(ask)? else {
            return Err(Error::failed("the controller's answer about the pillar is not understood"));
        };
        let compiled = Arc::new(compiled);
        pillar.known = Some(Arc::clone(&compiled));
        Ok(compiled)
    }

    fn refresh_pillar(&self) {
        self.pillar.lock().unwrap_or_else(PoisonError::into_inner).known = None;
    }

    fn environments(&self) -> Result<Vec<String>> {
        self.files.environments(self.host()?.controller())
    }

    fn entries(&self, saltenv: &str) -> Result<Arc<Vec<TreeEntry>>> {
        self.files.entries(self.host()?.controller(), saltenv)
    }

    fn read(&self, saltenv: &str, path: &str) -> Result<Option<Arc<[u8]>>> {
        self.files.read(self.host()?.controller(), saltenv, path)
    }

    fn hash(&self, saltenv: &str, path: &str) -> Result<Option<String>> {
        self.files.hash(self.host()?.controller(), saltenv, path)
    }

    fn render(&self, template: &Template<'_>) -> Result<String> {
        language::render_text(&self.host()?, template)
    }

    fn render_data(&self, template: &Template<'_>) -> Result<Value> {
        language::render_data(&self.host()?, template)
    }

    fn states(&self, wish: StateWish) -> Result<Outcome> {
        let resumed = match wish.verb {
            StateVerb::Resume => Some(language::Resumed::find(&*self.host()?, &wish.argument)?),
            _ => None,
        };
        let wish = resumed.as_ref().map_or(wish, language::Resumed::wish);
        {
            let mut pillar = self.pillar.lock().unwrap_or_else(PoisonError::into_inner);
            pillar.known = None;
            pillar.saltenv = wish.saltenv.clone().unwrap_or_default();
            pillar.pillarenv = wish.pillarenv.clone().unwrap_or_default();
            pillar.given = wish.pillar.clone();
        }
        match resumed {
            Some(resumed) => resumed.go_on(&self.host()?, self.progress.as_deref()),
            None => language::perform(&self.host()?, wish, self.progress.as_deref()),
        }
    }

    fn notes(&self) -> &Mutex<Map> {
        &self.notes
    }

    fn reboots(&self) -> Option<&Reboots> {
        Some(&self.reboots)
    }
}
