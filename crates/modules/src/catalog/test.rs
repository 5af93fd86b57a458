//! `test`: is the way to the target open, and what does it say?

use std::path::Path;
use std::time::Instant;

use rocksalt_core::{Call, Map, Problem, Value};
use serde::{Deserialize, Serialize, Serializer};

use super::{Entry, Function, entry};
use crate::machine::System;
use crate::text::digest;
use crate::{Error, Result};

pub const FUNCTIONS: &[Entry] = &[
    entry::<Arg>().also(&["test.arg_clean"]),
    entry::<ArgRepr>(),
    entry::<ArgType>(),
    entry::<Args>(),
    entry::<Assertion>(),
    entry::<Collatz>(),
    entry::<CrossTest>(),
    entry::<Echo>().also(&["test.outputter"]),
    entry::<Exception>(),
    entry::<False>().also(&["test.false_"]),
    entry::<Fib>(),
    entry::<GetOpts>().also(&["test.opts_pkg"]),
    entry::<Kwarg>(),
    entry::<ModuleReport>(),
    entry::<NotLoaded>(),
    entry::<Ping>(),
    entry::<RandSleep>(),
    entry::<RandomHash>().also(&["test.rand_str"]),
    entry::<Retcode>(),
    entry::<Sleep>(),
    entry::<True>().also(&["test.true_"]),
    entry::<Version>(),
    entry::<Versions>().also(&["test.versions_report"]),
    entry::<VersionsInformation>(),
];

/// Answers `True` if the target can be reached and works.
///
/// ```text
/// rocksalt '*' test.ping
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Ping {}

impl Function for Ping {
    const NAME: &'static str = "test.ping";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Answers `True`.
///
/// ```text
/// rocksalt '*' test.true
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct True {}

impl Function for True {
    const NAME: &'static str = "test.true";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(true)
    }
}

/// Answers `False`.
///
/// ```text
/// rocksalt '*' test.false
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct False {}

impl Function for False {
    const NAME: &'static str = "test.false";
    type Output = bool;

    fn call(self, _: &dyn System) -> Result<bool> {
        Ok(false)
    }
}

/// Gives back what it is given.
///
/// ```text
/// rocksalt '*' test.echo 'hello'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Echo {
    /// What to give back.
    text: Value,
}

impl Function for Echo {
    const NAME: &'static str = "test.echo";
    type Output = Value;

    fn call(self, _: &dyn System) -> Result<Value> {
        Ok(self.text)
    }
}

/// Shows how the arguments arrived.
///
/// ```text
/// rocksalt '*' test.arg 1 "two" '{three: 3}' wow=yes
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Arg {
    /// Any arguments by position.
    args: Vec<Value>,
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for Arg {
    const NAME: &'static str = "test.arg";
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Ok([("args".into(), Value::List(self.args)), ("kwargs".into(), Value::Map(self.kwargs))].into_iter().collect())
    }
}

/// Fails, to see what a failure looks like.
///
/// ```text
/// rocksalt '*' test.exception 'Oh noes!'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Exception {
    /// The failure's text.
    #[serde(default = "default_message")]
    message: String,
}

fn default_message() -> String {
    "Test Exception".into()
}

impl Function for Exception {
    const NAME: &'static str = "test.exception";
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        Err(Error::failed(self.message))
    }
}

/// Waits so many seconds, then answers `True`.
///
/// ```text
/// rocksalt '*' test.sleep 20
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Sleep {
    /// In seconds.
    length: f64,
}

impl Function for Sleep {
    const NAME: &'static str = "test.sleep";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        machine.sleep(self.length)?;
        Ok(true)
    }
}

/// The version of the agent.
///
/// ```text
/// rocksalt '*' test.version
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Version {}

impl Function for Version {
    const NAME: &'static str = "test.version";
    type Output = &'static str;

    fn call(self, _: &dyn System) -> Result<&'static str> {
        Ok(env!("CARGO_PKG_VERSION"))
    }
}

/// How each argument looks in Python's notation.
///
/// ```text
/// rocksalt '*' test.arg_repr 1 "two" 3.1 txt="hello" wow='{a: 1, b: "hello"}'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ArgRepr {
    /// Any arguments by position.
    args: Vec<Value>,
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for ArgRepr {
    const NAME: &'static str = "test.arg_repr";
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let comma = if self.args.len() == 1 { "," } else { "" };
        let list = Value::List(self.args).to_string();
        let tuple = format!("({}{comma})", &list[1..list.len() - 1]);
        Ok(Map::from_iter([
            ("args".into(), tuple.into()),
            ("kwargs".into(), Value::Map(self.kwargs).to_string().into()),
        ]))
    }
}

/// Of which type each argument is, by Python's names.
///
/// ```text
/// rocksalt '*' test.arg_type 1 'two' wow=3.1
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ArgType {
    /// Any arguments by position.
    args: Vec<Value>,
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for ArgType {
    const NAME: &'static str = "test.arg_type";
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let args: Vec<Value> = self.args.iter().map(python_type).collect();
        let kwargs: Map = self.kwargs.iter().map(|(name, value)| (name.clone(), python_type(value))).collect();
        Ok(Map::from_iter([("args".into(), args.into()), ("kwargs".into(), kwargs.into())]))
    }
}

fn python_type(value: &Value) -> Value {
    let name = match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::String(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
    };
    format!("<class '{name}'>").into()
}

/// The arguments by position, as they arrived.
///
/// ```text
/// rocksalt '*' test.args 1 two
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Args {
    /// Any arguments by position.
    args: Vec<Value>,
}

impl Function for Args {
    const NAME: &'static str = "test.args";
    type Output = Vec<Value>;

    fn call(self, _: &dyn System) -> Result<Vec<Value>> {
        Ok(self.args)
    }
}

/// The arguments by name, as they arrived.
///
/// ```text
/// rocksalt '*' test.kwarg num=1 txt="two" env='{a: 1, b: "hello"}'
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Kwarg {
    /// Any arguments by name.
    kwargs: Map,
}

impl Function for Kwarg {
    const NAME: &'static str = "test.kwarg";
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        Ok(self.kwargs)
    }
}

/// Fails unless it is given something true.
///
/// ```text
/// rocksalt '*' test.assertion False
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Assertion {
    /// What is to be true.
    assertion: Value,
}

impl Function for Assertion {
    const NAME: &'static str = "test.assertion";
    type Output = ();

    fn call(self, _: &dyn System) -> Result<()> {
        match self.assertion.truth() {
            true => Ok(()),
            false => Err(Error::failed(format!("{} is not true", self.assertion))),
        }
    }
}

/// The Collatz sequence from a number on, and how many seconds it took.
///
/// ```text
/// rocksalt '*' test.collatz 3
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Collatz {
    /// The first number.
    start: i64,
}

impl Function for Collatz {
    const NAME: &'static str = "test.collatz";
    type Output = (Vec<i64>, f64);

    fn call(self, machine: &dyn System) -> Result<(Vec<i64>, f64)> {
        let begin = Instant::now();
        let mut number = self.start;
        let mut steps = Vec::new();
        while number > 1 && !machine.cancelled() {
            steps.push(number);
            let next =
                if number % 2 == 0 { Some(number / 2) } else { number.checked_mul(3).and_then(|n| n.checked_add(1)) };
            number = next.ok_or_else(|| Error::failed(format!("the sequence from {} on grows too big", self.start)))?;
        }
        Ok((steps, begin.elapsed().as_secs_f64()))
    }
}

/// A Fibonacci number, and how many seconds it took.
///
/// ```text
/// rocksalt '*' test.fib 30
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Fib {
    /// Which one; the first two are 0 and 1.
    num: u32,
}

impl Function for Fib {
    const NAME: &'static str = "test.fib";
    type Output = (Value, f64);

    fn call(self, _: &dyn System) -> Result<(Value, f64)> {
        let begin = Instant::now();
        let (mut this, mut next) = (0u128, 1u128);
        for _ in 0..self.num {
            let sum = this.checked_add(next).ok_or_else(|| {
                Error::arguments(format!("the Fibonacci number {} is too big", self.num)).hint("up to 185 can be had")
            })?;
            (this, next) = (next, sum);
        }
        Ok((Value::integer(&this.to_string()).unwrap_or_default(), begin.elapsed().as_secs_f64()))
    }
}

/// Calls another function by its name.
///
/// ```text
/// rocksalt '*' test.cross_test file.gid_to_group 0
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct CrossTest {
    /// The function.
    func: String,
    /// Its arguments by position.
    #[serde(default)]
    args: Vec<Value>,
    /// Its arguments by name.
    kwargs: Map,
}

impl Function for CrossTest {
    const NAME: &'static str = "test.cross_test";
    type Output = Value;

    fn call(self, machine: &dyn System) -> Result<Value> {
        // Calling itself by way of itself would never end.
        if self.func == Self::NAME {
            return Err(Error::arguments("test.cross_test doesn't call itself"));
        }
        let call = Call { args: self.args, kwargs: self.kwargs, ..Call::new(self.func) };
        let entry = super::get(&call.function)?;
        let outcome: std::result::Result<_, Problem> = (entry.call)(call, machine);
        Ok(outcome?.value)
    }
}

/// The options that the target was given.
///
/// ```text
/// rocksalt '*' test.get_opts
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct GetOpts {}

impl Function for GetOpts {
    const NAME: &'static str = "test.get_opts";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        Ok(machine.options().clone())
    }
}

/// All functions and nouns that there are.
///
/// ```text
/// rocksalt '*' test.module_report
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct ModuleReport {}

impl Function for ModuleReport {
    const NAME: &'static str = "test.module_report";
    type Output = Map;

    fn call(self, _: &dyn System) -> Result<Map> {
        let functions: Vec<Value> = super::all().map(|entry| entry.name.into()).collect();
        let modules: Vec<Value> = super::nouns().map(Value::from).collect();
        Ok(Map::from_iter([("functions".into(), functions.into()), ("modules".into(), modules.into())]))
    }
}

/// What could not be loaded: nothing, since everything is part of the program.
///
/// ```text
/// rocksalt '*' test.not_loaded
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct NotLoaded {}

impl Function for NotLoaded {
    const NAME: &'static str = "test.not_loaded";
    type Output = Vec<Value>;

    fn call(self, _: &dyn System) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }
}

/// Waits for a random time, then answers `True`.
///
/// ```text
/// rocksalt '*' test.rand_sleep 60
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct RandSleep {
    /// At most so many seconds.
    #[serde(default = "a_minute")]
    max: u32,
}

fn a_minute() -> u32 {
    60
}

impl Function for RandSleep {
    const NAME: &'static str = "test.rand_sleep";
    type Output = bool;

    fn call(self, machine: &dyn System) -> Result<bool> {
        let bytes = random(machine);
        let part = f64::from(u16::from_le_bytes([bytes[0], bytes[1]])) / f64::from(u16::MAX);
        machine.sleep(f64::from(self.max) * part)?;
        Ok(true)
    }
}

/// A random checksum.
///
/// ```text
/// rocksalt '*' test.random_hash hash_type=sha512
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct RandomHash {
    /// Taken for Salt's sake.
    #[serde(default)]
    #[allow(dead_code, reason = "any amount of randomness gives the same length")]
    size: Value,
    /// md5, sha1, sha224, sha256, sha384 or sha512.
    #[serde(default)]
    hash_type: Option<String>,
}

impl Function for RandomHash {
    const NAME: &'static str = "test.random_hash";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let name = self.hash_type.as_deref().unwrap_or("sha256");
        let kind = digest::Kind::named(name).ok_or_else(|| {
            Error::arguments(format!("Invalid hash type: {name}")).hint(format!("known are {}", digest::Kind::list()))
        })?;
        Ok(digest::of(kind, &random(machine)))
    }
}

/// The system's randomness; the time where there is none.
fn random(machine: &dyn System) -> Vec<u8> {
    match machine.read_at(Path::new("/dev/urandom"), 0, 32) {
        Ok(bytes) if bytes.len() == 32 => bytes,
        _ => digest::of(digest::Kind::Sha256, &machine.now().to_le_bytes()).into_bytes(),
    }
}

/// Answers `True`, with an exit code.
///
/// ```text
/// rocksalt '*' test.retcode 42
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Retcode {
    /// The exit code.
    #[serde(default = "answer")]
    code: i32,
}

fn answer() -> i32 {
    42
}

/// `True`, whatever the code.
pub struct Coded(i32);

impl Serialize for Coded {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl Function for Retcode {
    const NAME: &'static str = "test.retcode";
    type Output = Coded;

    fn call(self, _: &dyn System) -> Result<Coded> {
        Ok(Coded(self.code))
    }

    fn retcode(output: &Coded) -> i32 {
        output.0
    }
}

/// The versions of the agent and of the system under it, as text.
///
/// ```text
/// rocksalt '*' test.versions
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct Versions {}

impl Function for Versions {
    const NAME: &'static str = "test.versions";
    type Output = String;

    fn call(self, machine: &dyn System) -> Result<String> {
        let mut text = String::new();
        for (title, group) in versions(machine) {
            text.push_str(&format!("{title}:\n"));
            for (name, version) in group {
                text.push_str(&format!("{name:>22}: {version}\n"));
            }
        }
        Ok(text)
    }
}

/// The versions of the agent and of the system under it.
///
/// ```text
/// rocksalt '*' test.versions_information
/// ```
#[derive(Deserialize)]
#[cfg_attr(feature = "docs", derive(schemars::JsonSchema))]
pub struct VersionsInformation {}

impl Function for VersionsInformation {
    const NAME: &'static str = "test.versions_information";
    type Output = Map;

    fn call(self, machine: &dyn System) -> Result<Map> {
        let groups = versions(machine).into_iter().map(|(title, group)| {
            let group: Map = group.into_iter().map(|(name, version)| (name.into(), version.into())).collect();
            (title.into(), Value::Map(group))
        });
        Ok(groups.collect())
    }
}

fn versions(machine: &dyn System) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let read = |path: &str| {
        let content = machine.read(Path::new(path)).unwrap_or_default();
        String::from_utf8_lossy(&content).trim().to_owned()
    };
    let release = read("/etc/os-release");
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
    vec![
        ("Rocksalt Version", vec![("Rocksalt", env!("CARGO_PKG_VERSION").to_owned())]),
        (
            "System Versions",
            vec![
                ("dist", pretty.trim_matches('"').to_owned()),
                ("machine", std::env::consts::ARCH.to_owned()),
                ("release", read("/proc/sys/kernel/osrelease")),
                ("system", read("/proc/sys/kernel/ostype")),
            ],
        ),
    ]
}
