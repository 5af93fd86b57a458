//! `state`: applies state files, and shows what they come to. What it means is the tree's business.

use rocksalt_core::{Map, Value};
use serde::{Deserialize, Serialize, Serializer};

use super::{Entry, Function, Outcome, entry};
use crate::Result;
use crate::machine::{StateRequest, StateVerb, System};

pub const FUNCTIONS: &[Entry] = &[
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

/// A value with the exit code that it means.
pub struct Answer(Outcome);

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

/// What most of them take.
#[derive(Default, Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
struct How {
    test: bool,
    pillar: Map,
    saltenv: Option<String>,
    pillarenv: Option<String>,
    exclude: Value,
    mode: Option<String>,
}

impl How {
    fn wish(self, verb: StateVerb, sls: Vec<String>) -> StateRequest {
        StateRequest {
            verb,
            sls,
            saltenv: self.saltenv,
            pillarenv: self.pillarenv,
            pillar: self.pillar,
            test: self.test,
            mode: self.mode,
            exclude: match self.exclude {
                Value::Null => Vec::new(),
                Value::List(items) => items,
                Value::String(text) => text.split(',').map(|item| item.trim().into()).collect(),
                one => vec![one],
            },
            ..StateRequest::default()
        }
    }
}

/// `a,b` or a list.
fn names(mods: &Value) -> Vec<String> {
    match mods {
        Value::Null => Vec::new(),
        Value::List(items) => items.iter().map(ToString::to_string).collect(),
        one => one.to_string().split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
    }
}

fn ask(machine: &dyn System, wish: StateRequest) -> Result<Answer> {
    machine.states().run(wish).map(Answer)
}

/// The functions that take state files (`mods`), or leave it to the top file which, and how to run them.
macro_rules! functions {
    ($($(#[$doc:meta])+ $name:ident $(($mods:ident))? = $text:literal: $verb:expr, $test:expr;)+) => { $(
        $(#[$doc])+
        #[derive(Deserialize)]
        #[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
        pub struct $name {
            $(
                /// The state files: a list, or names with commas between. None: what the top file says.
                #[serde(default)]
                $mods: Value,
            )?
            /// Only say what would change.
            #[serde(default)]
            test: bool,
            /// Merged over the pillar.
            #[serde(default)]
            pillar: Map,
            /// The environment of the state files.
            #[serde(default)]
            saltenv: Option<String>,
            /// The environment of the pillar.
            #[serde(default)]
            pillarenv: Option<String>,
            /// State files (`sls: name`) and ids (`id: name`) to leave out.
            #[serde(default)]
            exclude: Value,
            /// The order of steps: `ansible` (Salt's), `justdoit` or `genius`.
            #[serde(default)]
            mode: Option<String>,
            /// Taken for Salt's sake: `queue`, `concurrent` and the like.
            #[serde(default)]
            #[allow(dead_code, reason = "taken for Salt's sake")]
            kwargs: Map,
        }

        impl Function for $name {
            const NAME: &'static str = $text;
            type Output = Answer;

            fn call(self, machine: &dyn System) -> Result<Answer> {
                let how = How {
                    test: self.test || $test,
                    pillar: self.pillar,
                    saltenv: self.saltenv,
                    pillarenv: self.pillarenv,
                    exclude: self.exclude,
                    mode: self.mode,
                };
                let sls = Vec::new();
                $(let sls = [sls, names(&self.$mods)].concat();)?
                ask(machine, how.wish($verb, sls))
            }

            fn retcode(answer: &Answer) -> i32 {
                answer.0.retcode
            }

            fn value(answer: Answer) -> Result<Value> {
                Ok(answer.0.value)
            }
        }
    )+ };
}

functions! {
    /// Applies state files, or the top file's if none are named.
    ///
    /// ```text
    /// rocksalt '*' state.apply
    /// rocksalt 'web*' state.apply nginx,users test=True
    /// rocksalt web1 state.apply nginx pillar='{port: 8080}'
    /// ```
    Apply (mods) = "state.apply": StateVerb::Apply, false;

    /// Applies state files.
    ///
    /// ```text
    /// rocksalt 'web*' state.sls nginx
    /// ```
    Sls (mods) = "state.sls": StateVerb::Apply, false;

    /// Says what `state.apply` would change; nothing is changed.
    ///
    /// ```text
    /// rocksalt '*' state.test nginx
    /// ```
    Test (mods) = "state.test": StateVerb::Apply, true;

    /// The states of files as written, with includes and extends worked in.
    ///
    /// ```text
    /// rocksalt web1 state.show_sls nginx
    /// ```
    ShowSls (mods) = "state.show_sls": StateVerb::ShowHigh, false;

    /// The steps of files in the order in which they would run.
    ///
    /// ```text
    /// rocksalt web1 state.show_low_sls nginx
    /// ```
    ShowLowSls (mods) = "state.show_low_sls": StateVerb::ShowLow, false;

    /// What is wrong in state files (all of the environment, if none are named); nothing is applied.
    ///
    /// ```text
    /// rocksalt web1 state.check nginx
    /// ```
    Check (mods) = "state.check": StateVerb::Check, false;

    /// The steps with what each waits for, and why.
    ///
    /// ```text
    /// rocksalt web1 state.graph nginx mode=genius
    /// ```
    Graph (mods) = "state.graph": StateVerb::Graph, false;

    /// Applies all state files that the top file gives this target.
    ///
    /// ```text
    /// rocksalt '*' state.highstate test=True
    /// ```
    Highstate = "state.highstate": StateVerb::Apply, false;

    /// The states that the top file comes to, as written.
    ///
    /// ```text
    /// rocksalt web1 state.show_highstate
    /// ```
    ShowHighstate = "state.show_highstate": StateVerb::ShowHigh, false;

    /// The steps that the top file comes to, in the order in which they would run.
    ///
    /// ```text
    /// rocksalt web1 state.show_lowstate
    /// ```
    ShowLowstate = "state.show_lowstate": StateVerb::ShowLow, false;

    /// The state files that the top file gives this target, by environment.
    ///
    /// ```text
    /// rocksalt '*' state.show_top
    /// ```
    ShowTop = "state.show_top": StateVerb::ShowTop, false;
}

/// Applies one state, without any file.
///
/// ```text
/// rocksalt '*' state.single pkg.installed name=vim
/// rocksalt web1 state.single file.managed /etc/motd contents=hello test=True
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Single {
    /// The state: `file.managed`.
    fun: String,
    /// What it is about: a path, a package …
    #[serde(default)]
    name: Value,
    /// Only say what would change.
    #[serde(default)]
    test: bool,
    /// Merged over the pillar.
    #[serde(default)]
    pillar: Map,
    /// The environment of files that it uses.
    #[serde(default)]
    saltenv: Option<String>,
    /// The environment of the pillar.
    #[serde(default)]
    pillarenv: Option<String>,
    /// The state's own arguments.
    #[serde(default)]
    kwargs: Map,
}

impl Function for Single {
    const NAME: &'static str = "state.single";
    type Output = Answer;

    fn call(self, machine: &dyn System) -> Result<Answer> {
        let mut arguments = self.kwargs;
        if !self.name.is_null() {
            arguments.insert("name", self.name);
        }
        let how = How {
            test: self.test,
            pillar: self.pillar,
            saltenv: self.saltenv,
            pillarenv: self.pillarenv,
            ..How::default()
        };
        let wish = how.wish(StateVerb::Single, Vec::new());
        ask(machine, StateRequest { argument: self.fun.into(), arguments, ..wish })
    }

    fn retcode(answer: &Answer) -> i32 {
        answer.0.retcode
    }

    fn value(answer: Answer) -> Result<Value> {
        Ok(answer.0.value)
    }
}

/// Applies the steps of one id of state files, with all that they require.
///
/// ```text
/// rocksalt web1 state.sls_id nginx_conf nginx
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct SlsId {
    /// The id; several with commas between.
    id_: String,
    /// The state files; none: what the top file says.
    #[serde(default)]
    mods: Value,
    /// Only say what would change.
    #[serde(default)]
    test: bool,
    /// Merged over the pillar.
    #[serde(default)]
    pillar: Map,
    /// The environment of the state files.
    #[serde(default)]
    saltenv: Option<String>,
    /// The environment of the pillar.
    #[serde(default)]
    pillarenv: Option<String>,
    /// Taken for Salt's sake.
    #[serde(default)]
    #[allow(dead_code, reason = "taken for Salt's sake")]
    kwargs: Map,
}

impl Function for SlsId {
    const NAME: &'static str = "state.sls_id";
    type Output = Answer;

    fn call(self, machine: &dyn System) -> Result<Answer> {
        let how = How {
            test: self.test,
            pillar: self.pillar,
            saltenv: self.saltenv,
            pillarenv: self.pillarenv,
            ..How::default()
        };
        let wish = how.wish(StateVerb::SlsId, names(&self.mods));
        ask(machine, StateRequest { argument: self.id_.into(), ..wish })
    }

    fn retcode(answer: &Answer) -> i32 {
        answer.0.retcode
    }

    fn value(answer: Answer) -> Result<Value> {
        Ok(answer.0.value)
    }
}

/// The functions that take data instead of files.
macro_rules! data {
    ($($(#[$doc:meta])+ $name:ident = $text:literal: $verb:expr;)+) => { $(
        $(#[$doc])+
        #[derive(Deserialize)]
        #[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
        pub struct $name {
            /// The data.
            data: Value,
            /// Only say what would change.
            #[serde(default)]
            test: bool,
            /// Taken for Salt's sake.
            #[serde(default)]
            #[allow(dead_code, reason = "taken for Salt's sake")]
            kwargs: Map,
        }

        impl Function for $name {
            const NAME: &'static str = $text;
            type Output = Answer;

            fn call(self, machine: &dyn System) -> Result<Answer> {
                let how = How { test: self.test, ..How::default() };
                ask(machine, StateRequest { argument: self.data, ..how.wish($verb, Vec::new()) })
            }

            fn retcode(answer: &Answer) -> i32 {
                answer.0.retcode
            }

            fn value(answer: Answer) -> Result<Value> {
                Ok(answer.0.value)
            }
        }
    )+ };
}

data! {
    /// Applies states that are given as data: what a state file would come to.
    ///
    /// ```text
    /// rocksalt web1 state.high '{"/tmp/x": {"file": ["touch"]}}'
    /// ```
    High = "state.high": StateVerb::RunHigh;

    /// Applies one step that is given as data.
    ///
    /// ```text
    /// rocksalt web1 state.low '{"state": "file", "fun": "touch", "name": "/tmp/x"}'
    /// ```
    Low = "state.low": StateVerb::RunLow;
}
