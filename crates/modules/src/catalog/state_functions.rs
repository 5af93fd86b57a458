//! `state`: applies state files, and shows their compiled forms. [`StateRunner`](crate::machine::StateRunner) does the
//! work.

use rocksalt_core::{Map, Value};
use rocksalt_macros::{arguments, function};
use serde::{Serialize, Serializer};

use super::arguments::{Arguments, FunctionAttributes};
use super::{CatalogFunction, Function, FunctionOutcome, entry};
use crate::Result;
use crate::machine::{StateRequest, StateVerb, System};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<Apply>(),
    entry::<Check>(),
    entry::<Graph>(),
    entry::<High>(),
    entry::<Highstate>(),
    entry::<Low>(),
    entry::<ShowHighstate>(),
    entry::<ShowLowSls>(),
    entry::<ShowLowstate>(),
    entry::<ShowSls>(),
    entry::<ShowTop>(),
    entry::<Single>(),
    entry::<Sls>(),
    entry::<SlsId>(),
    entry::<Test>(),
];

/// A value with its exit code.
pub struct StateOutcome(FunctionOutcome);

impl Serialize for StateOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

/// What all that compile or run states take.
#[arguments]
#[derive(Default)]
struct RunArguments {
    /// Only return what would change.
    test: bool,
    /// Merged over the pillar.
    #[secret]
    pillar: Map,
    /// The environment of the state files.
    saltenv: Option<String>,
    /// The environment of the pillar.
    pillarenv: Option<String>,
}

impl RunArguments {
    fn request(self, verb: StateVerb, sls: Vec<String>) -> StateRequest {
        StateRequest {
            verb,
            sls,
            saltenv: self.saltenv,
            pillarenv: self.pillarenv,
            pillar: self.pillar,
            test: self.test,
            ..StateRequest::default()
        }
    }
}

/// What those take that work with several files.
#[arguments]
#[derive(Default)]
struct FileArguments {
    #[flatten]
    run: RunArguments,
    /// State files (`sls: name`) and ids (`id: name`) to leave out.
    exclude: Value,
    /// The order of steps: `ansible` (Salt's), `justdoit` or `genius`.
    mode: Option<String>,
    /// Accepted for compatibility with Salt: `queue`, `concurrent` and the like.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl FileArguments {
    fn request(self, verb: StateVerb, sls: Vec<String>) -> StateRequest {
        StateRequest {
            mode: self.mode,
            exclude: match self.exclude {
                Value::Null => Vec::new(),
                Value::List(items) => items,
                Value::String(text) => text.split(',').map(|item| item.trim().into()).collect(),
                one => vec![one],
            },
            ..self.run.request(verb, sls)
        }
    }
}

/// Parses `a,b` or a list.
fn names(mods: &Value) -> Vec<String> {
    match mods {
        Value::Null => Vec::new(),
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        one => one.to_string().split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
    }
}

/// State files by their names.
#[arguments]
struct NamedFiles {
    /// The state files: a list, or comma-separated names. By default: what the top file says.
    mods: Value,
    #[flatten]
    options: FileArguments,
}

impl NamedFiles {
    fn request(self, verb: StateVerb) -> StateRequest {
        self.options.request(verb, names(&self.mods))
    }
}

/// A function that [`StateRunner`](crate::machine::StateRunner) serves.
trait StateFunction: Arguments + FunctionAttributes {
    fn request(self) -> StateRequest;
}

impl<T: StateFunction> Function for T {
    type Output = StateOutcome;

    fn call(self, machine: &dyn System) -> Result<StateOutcome> {
        machine.states().run(self.request()).map(StateOutcome)
    }

    fn retcode(answer: &StateOutcome) -> i32 {
        answer.0.retcode
    }

    fn value(answer: StateOutcome) -> Result<Value> {
        Ok(answer.0.value)
    }
}

/// Applies state files, or the top file's if none are named.
///
/// ```text
/// rocksalt '*' state.apply
/// rocksalt 'web*' state.apply nginx,users test=True
/// rocksalt web1 state.apply nginx pillar='{port: 8080}'
/// ```
#[function("state.apply", changes, runs_states, whole_machine)]
pub struct Apply(NamedFiles);

impl StateFunction for Apply {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::Apply)
    }
}

/// Applies state files.
///
/// ```text
/// rocksalt 'web*' state.sls nginx
/// ```
#[function("state.sls", changes, runs_states, whole_machine)]
pub struct Sls(NamedFiles);

impl StateFunction for Sls {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::Apply)
    }
}

/// Returns what `state.apply` would change; nothing is changed.
///
/// ```text
/// rocksalt '*' state.test nginx
/// ```
#[function("state.test", reads, runs_states)]
pub struct Test(NamedFiles);

impl StateFunction for Test {
    fn request(self) -> StateRequest {
        StateRequest { test: true, ..self.0.request(StateVerb::Apply) }
    }
}

/// The high data of state files, with includes and extends applied.
///
/// ```text
/// rocksalt web1 state.show_sls nginx
/// ```
#[function("state.show_sls", reads)]
pub struct ShowSls(NamedFiles);

impl StateFunction for ShowSls {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::ShowHigh)
    }
}

/// The low data of state files, in the order in which they would run.
///
/// ```text
/// rocksalt web1 state.show_low_sls nginx
/// ```
#[function("state.show_low_sls", reads)]
pub struct ShowLowSls(NamedFiles);

impl StateFunction for ShowLowSls {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::ShowLow)
    }
}

/// The errors in state files (all of the environment, if none are named); nothing is applied.
///
/// ```text
/// rocksalt web1 state.check nginx
/// ```
#[function("state.check", reads)]
pub struct Check(NamedFiles);

impl StateFunction for Check {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::Check)
    }
}

/// The steps with what each waits for, and why.
///
/// ```text
/// rocksalt web1 state.graph nginx mode=genius
/// ```
#[function("state.graph", reads)]
pub struct Graph(NamedFiles);

impl StateFunction for Graph {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::Graph)
    }
}

/// Applies all state files that the top file assigns to this target.
///
/// ```text
/// rocksalt '*' state.highstate test=True
/// ```
#[function("state.highstate", changes, runs_states, whole_machine)]
pub struct Highstate(FileArguments);

impl StateFunction for Highstate {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::Apply, Vec::new())
    }
}

/// The high data of the top file's states.
///
/// ```text
/// rocksalt web1 state.show_highstate
/// ```
#[function("state.show_highstate", reads)]
pub struct ShowHighstate(FileArguments);

impl StateFunction for ShowHighstate {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::ShowHigh, Vec::new())
    }
}

/// The low data of the top file's states, in the order in which they would run.
///
/// ```text
/// rocksalt web1 state.show_lowstate
/// ```
#[function("state.show_lowstate", reads)]
pub struct ShowLowstate(FileArguments);

impl StateFunction for ShowLowstate {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::ShowLow, Vec::new())
    }
}

/// The state files that the top file assigns to this target, by environment.
///
/// ```text
/// rocksalt '*' state.show_top
/// ```
#[function("state.show_top", reads, repeatable)]
pub struct ShowTop(FileArguments);

impl StateFunction for ShowTop {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::ShowTop, Vec::new())
    }
}

/// Applies one state, without any file.
///
/// ```text
/// rocksalt '*' state.single pkg.installed name=vim
/// rocksalt web1 state.single file.managed /etc/motd contents=hello test=True
/// ```
#[function("state.single", changes, runs_states, whole_machine)]
pub struct Single {
    /// The state: `file.managed`.
    fun: String,
    /// What it is about: a path, a package …
    name: Value,
    #[flatten]
    options: RunArguments,
    /// The state's own arguments.
    kwargs: Map,
}

impl StateFunction for Single {
    fn request(self) -> StateRequest {
        let mut arguments = self.kwargs;
        if !self.name.is_null() {
            arguments.insert("name", self.name);
        }
        StateRequest { argument: self.fun.into(), arguments, ..self.options.request(StateVerb::Single, Vec::new()) }
    }
}

/// Applies the steps of one id of state files, with all that they require.
///
/// ```text
/// rocksalt web1 state.sls_id nginx_conf nginx
/// ```
#[function("state.sls_id", changes, runs_states, whole_machine)]
pub struct SlsId {
    /// The id; several with commas between.
    id_: String,
    /// The state files; none: what the top file says.
    mods: Value,
    #[flatten]
    options: RunArguments,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl StateFunction for SlsId {
    fn request(self) -> StateRequest {
        StateRequest { argument: self.id_.into(), ..self.options.request(StateVerb::SlsId, names(&self.mods)) }
    }
}

/// Data instead of files.
#[arguments]
struct DataArguments {
    /// The data.
    #[required]
    data: Value,
    /// Only return what would change.
    test: bool,
    /// Accepted for compatibility with Salt, and ignored.
    #[allow(dead_code, reason = "accepted for compatibility with Salt")]
    kwargs: Map,
}

impl DataArguments {
    fn request(self, verb: StateVerb) -> StateRequest {
        StateRequest { verb, argument: self.data, test: self.test, ..StateRequest::default() }
    }
}

/// Applies states that are given as high data.
///
/// ```text
/// rocksalt web1 state.high '{"/tmp/x": {"file": ["touch"]}}'
/// ```
#[function("state.high", changes, runs_states, whole_machine)]
pub struct High(DataArguments);

impl StateFunction for High {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::RunHigh)
    }
}

/// Applies one chunk of low data.
///
/// ```text
/// rocksalt web1 state.low '{"state": "file", "fun": "touch", "name": "/tmp/x"}'
/// ```
#[function("state.low", changes, runs_states, whole_machine)]
pub struct Low(DataArguments);

impl StateFunction for Low {
    fn request(self) -> StateRequest {
        self.0.request(StateVerb::RunLow)
    }
}
