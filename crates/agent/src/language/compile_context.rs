//! [`CompileContext`]: the data and the host that a compilation uses.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rocksalt_core::{Call, Map, Problem, Value};
use rocksalt_modules::Result;
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Command, EntryKind, HostSystem, Probe, System};
use rocksalt_sls::{ChangedArgument, CompileInputs, Decryptor, FileSources, StateCatalog, TemplateFunctions};

/// A module of Salt whose states have a watch function and that we don't have yet. The compiler must know it, so that a
/// state file means the same in both.
const OTHER_WATCHER: &str = "etcd";

/// The inputs of a compilation, read from the host once.
pub struct CompileContext {
    bridge: Rc<HostBridge>,
    id: String,
    options: Map,
    grains: Arc<Map>,
    pillar: Arc<Map>,
    saltenv: Option<String>,
    pillarenv: Option<String>,
}

impl CompileContext {
    pub fn of(host: &Arc<HostSystem>, saltenv: Option<String>, pillarenv: Option<String>) -> Result<CompileContext> {
        Ok(CompileContext { pillar: host.pillar()?, ..CompileContext::without_pillar(host, saltenv, pillarenv) })
    }

    /// A context for compiling a pillar, which has no pillar itself.
    pub fn without_pillar(
        host: &Arc<HostSystem>,
        saltenv: Option<String>,
        pillarenv: Option<String>,
    ) -> CompileContext {
        let mut options = host.options().clone();
        for (key, value) in [("saltenv", &saltenv), ("pillarenv", &pillarenv)] {
            if let Some(value) = value {
                options.insert(key, value.as_str());
            }
        }
        let text =
            |key: &str| options.get(key).and_then(Value::as_str).map(str::to_owned).filter(|text| !text.is_empty());
        CompileContext {
            bridge: Rc::new(HostBridge { host: Arc::clone(host), run_options: RefCell::default() }),
            id: options.get("id").map(ToString::to_string).unwrap_or_default(),
            saltenv: saltenv.or_else(|| text("saltenv")),
            pillarenv: pillarenv.or_else(|| text("pillarenv")),
            grains: host.grains(),
            pillar: Arc::default(),
            options,
        }
    }

    pub fn inputs(&self) -> CompileInputs<'_> {
        CompileInputs {
            id: &self.id,
            options: &self.options,
            grains: &self.grains,
            pillar: &self.pillar,
            sources: Rc::clone(&self.bridge) as Rc<dyn FileSources>,
            functions: Rc::clone(&self.bridge) as Rc<dyn TemplateFunctions>,
            decrypt: &*self.bridge,
            machine: Some(Rc::clone(&self.bridge) as Rc<dyn rocksalt_sls::TemplateMachine>),
            saltenv: self.saltenv.as_deref(),
            pillarenv: self.pillarenv.as_deref(),
        }
    }

    /// Sets an option for this run; templates see it as if it were configured.
    pub fn set_option(&mut self, option: &str, value: impl Into<Value>) {
        let value = value.into();
        self.bridge.run_options.borrow_mut().insert(option, value.clone());
        self.options.insert(option, value);
    }

    pub fn options(&self) -> &Map {
        &self.options
    }
}

/// Gives the compiler access to the host: files, functions, decryption and what template filters read.
pub struct HostBridge {
    pub host: Arc<HostSystem>,
    /// Options that were set for this run.
    run_options: RefCell<Map>,
}

impl FileSources for HostBridge {
    fn environments(&self) -> Vec<String> {
        self.host.tree().environments().unwrap_or_default()
    }

    fn read(&self, saltenv: &str, path: &str) -> std::result::Result<Option<Arc<[u8]>>, String> {
        self.host.tree().read(saltenv, path).map_err(|error| error.to_string())
    }

    fn list(&self, saltenv: &str) -> std::result::Result<Arc<Vec<String>>, String> {
        let entries = self.host.tree().entries(saltenv).map_err(|error| error.to_string())?;
        let files = entries.iter().filter(|entry| entry.kind != EntryKind::Directory);
        Ok(Arc::new(files.map(|entry| entry.path.clone()).collect()))
    }
}

impl TemplateFunctions for HostBridge {
    fn call(&self, name: &str, args: Vec<Value>, kwargs: Map) -> std::result::Result<Value, Problem> {
        self.call_in_place(name, args, kwargs).map(|(value, _)| value)
    }

    fn call_in_place(
        &self,
        name: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> std::result::Result<(Value, Option<ChangedArgument>), Problem> {
        if name == "config.get" && args.len() + kwargs.len() <= 2 {
            let key = args.first().or_else(|| kwargs.get("key")).and_then(Value::as_str);
            if let Some(value) = key.and_then(|key| self.run_options.borrow().get(key).cloned()) {
                return Ok((value, None));
            }
        }
        let call = catalog::from_template(Call { args, kwargs, ..Call::new(name) });
        let kept = catalog::changes_in_place(name).then(|| call.clone());
        let result =
            self.host.call_for_template(|| catalog::call(call, &*self.host)).map_err(|error| error.problem())?;
        if let Some(problem) = result.problem {
            return Err(problem);
        }
        let changed = kept.and_then(|call| catalog::changed(&call, &result.value));
        let changed =
            changed.map(|change| ChangedArgument { position: change.position, name: change.name, value: change.value });
        Ok((result.value, changed))
    }

    fn exists(&self, name: &str) -> bool {
        catalog::find(name).is_some()
    }

    fn names(&self) -> Vec<String> {
        catalog::all().map(|entry| entry.name.to_owned()).collect()
    }
}

/// The states of the catalog.
pub struct CatalogStates;

impl StateCatalog for CatalogStates {
    fn has_watch(&self, module: &str) -> bool {
        module == OTHER_WATCHER || states_of(module).any(|state| state.watches)
    }

    fn has_aggregate(&self, module: &str) -> bool {
        states_of(module).any(|state| state.aggregates)
    }

    fn has_state(&self, function: &str) -> bool {
        catalog::find_state(function).is_some()
    }
}

fn states_of(module: &str) -> impl Iterator<Item = &'static catalog::StateEntry> {
    catalog::states().filter(move |state| state.name.split('.').next() == Some(module))
}

impl Decryptor for HostBridge {
    fn decrypt(&self, method: &str, encrypted: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let option = |key: &str, default: &str| {
            self.host.options().get(key).and_then(Value::as_str).map_or_else(|| default.to_owned(), str::to_owned)
        };
        let words: Vec<String> = match method {
            "gpg" => {
                ["gpg", "--homedir", &option("gpg_keydir", "/etc/salt/gpgkeys"), "--status-fd", "2", "--no-tty", "-d"]
                    .map(str::to_owned)
                    .to_vec()
            }
            "age" => {
                ["age", "--decrypt", "-i", &option("age_identity", "/etc/rocksalt/age.key")].map(str::to_owned).to_vec()
            }
            other => return Err(format!("there is no decryption method '{other}'")),
        };
        let mut command = Command::new(words);
        command.stdin = Some(encrypted.to_vec());
        let output = self.host.run(&command).map_err(|error| error.to_string())?;
        if output.code != 0 {
            let cause = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(format!("{method} could not decrypt it: {cause}"));
        }
        Ok(output.stdout)
    }
}
