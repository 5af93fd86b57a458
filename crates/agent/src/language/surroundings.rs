//! [`Surroundings`]: the machine as the state language sees it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rocksalt_core::{Call, Map, Value};
use rocksalt_modules::Result;
use rocksalt_modules::catalog;
use rocksalt_modules::machine::{Command, EntryKind, Host, Probe, System};
use rocksalt_sls::{Catalog, Changed, Decrypt, Functions, Setting, Sources};

/// Modules of Salt that have a watch function, whether they are here yet or not: a state file means
/// the same everywhere.
const WATCHERS: [&str; 9] = ["at", "cmd", "docker_container", "etcd", "event", "module", "mount", "pkg", "service"];

/// Modules of Salt whose states can be taken together.
const AGGREGATES: [&str; 3] = ["iptables", "pkg", "selinux"];

/// All that a compilation needs, taken from the host once.
pub struct Surroundings {
    door: Rc<Door>,
    id: String,
    options: Map,
    grains: Arc<Map>,
    pillar: Arc<Map>,
    saltenv: Option<String>,
    pillarenv: Option<String>,
}

impl Surroundings {
    pub fn of(host: &Arc<Host>, saltenv: Option<String>, pillarenv: Option<String>) -> Result<Surroundings> {
        Ok(Surroundings { pillar: host.pillar()?, ..Surroundings::without_pillar(host, saltenv, pillarenv) })
    }

    /// For the compiling of pillar, which sees none.
    pub fn without_pillar(host: &Arc<Host>, saltenv: Option<String>, pillarenv: Option<String>) -> Surroundings {
        let mut options = host.options().clone();
        for (key, value) in [("saltenv", &saltenv), ("pillarenv", &pillarenv)] {
            if let Some(value) = value {
                options.insert(key, value.as_str());
            }
        }
        let text =
            |key: &str| options.get(key).and_then(Value::as_str).map(str::to_owned).filter(|text| !text.is_empty());
        Surroundings {
            door: Rc::new(Door { host: Arc::clone(host), said: RefCell::default() }),
            id: options.get("id").map(ToString::to_string).unwrap_or_default(),
            saltenv: saltenv.or_else(|| text("saltenv")),
            pillarenv: pillarenv.or_else(|| text("pillarenv")),
            grains: host.grains(),
            pillar: Arc::default(),
            options,
        }
    }

    pub fn setting(&self) -> Setting<'_> {
        Setting {
            id: &self.id,
            options: &self.options,
            grains: &self.grains,
            pillar: &self.pillar,
            sources: Rc::clone(&self.door) as Rc<dyn Sources>,
            functions: Rc::clone(&self.door) as Rc<dyn Functions>,
            decrypt: &*self.door,
            machine: Some(Rc::clone(&self.door) as Rc<dyn rocksalt_sls::Machine>),
            saltenv: self.saltenv.as_deref(),
            pillarenv: self.pillarenv.as_deref(),
        }
    }

    /// Templates see what was said for this run as if it were configured.
    pub fn say(&mut self, option: &str, value: impl Into<Value>) {
        let value = value.into();
        self.door.said.borrow_mut().insert(option, value.clone());
        self.options.insert(option, value);
    }

    pub fn options(&self) -> &Map {
        &self.options
    }
}

/// The host, as whoever compiles may use it.
pub struct Door {
    pub host: Arc<Host>,
    /// Options that were said for this run.
    said: RefCell<Map>,
}

impl Sources for Door {
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

impl Functions for Door {
    fn call(&self, name: &str, args: Vec<Value>, kwargs: Map) -> std::result::Result<Value, String> {
        self.call_in_place(name, args, kwargs).map(|(value, _)| value)
    }

    fn call_in_place(
        &self,
        name: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> std::result::Result<(Value, Option<Changed>), String> {
        if name == "config.get" && args.len() + kwargs.len() <= 2 {
            let key = args.first().or_else(|| kwargs.get("key")).and_then(Value::as_str);
            if let Some(value) = key.and_then(|key| self.said.borrow().get(key).cloned()) {
                return Ok((value, None));
            }
        }
        let call = catalog::from_template(Call { args, kwargs, ..Call::new(name) });
        let kept = catalog::changes_in_place(name).then(|| call.clone());
        let result = catalog::call(call, &*self.host);
        if let Some(problem) = result.problem {
            return Err(problem.text);
        }
        let changed = kept.and_then(|call| catalog::changed(&call, &result.value));
        let changed =
            changed.map(|change| Changed { position: change.position, name: change.name, value: change.value });
        Ok((result.value, changed))
    }

    fn exists(&self, name: &str) -> bool {
        catalog::find(name).is_some()
    }

    fn names(&self) -> Vec<String> {
        catalog::all().map(|entry| entry.name.to_owned()).collect()
    }
}

/// The states there are.
pub struct States;

impl Catalog for States {
    fn has_watch(&self, module: &str) -> bool {
        WATCHERS.contains(&module)
            || catalog::states().any(|state| state.watches && state.name.split('.').next() == Some(module))
    }

    fn has_aggregate(&self, module: &str) -> bool {
        AGGREGATES.contains(&module)
    }

    fn has_state(&self, function: &str) -> bool {
        catalog::find_state(function).is_some()
    }
}

impl Decrypt for Door {
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
            other => return Err(format!("nobody knows how to decrypt '{other}'")),
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
