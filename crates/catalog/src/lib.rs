//! What is known of functions and states without running them.
//!
//! `data/*.json` is made from the attributes in `rocksalt-modules` by one of its tests
//! (`UPDATE=1 cargo test -p rocksalt-modules descriptions`), and compiled in. The controller, the daemon and the
//! command line have this crate; the code that does the work is on the targets only.

pub mod docs;
pub mod sys;

mod check;
mod masking;

use rocksalt_core::call::ProblemKind;
use rocksalt_core::description::{Nature, Shape, is_meant};
use rocksalt_core::{Call, Problem, Value, nearest};

pub use check::check;
pub use masking::mask;

/// A function or a state.
#[derive(Debug)]
pub struct Description {
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// Paragraphs, and examples between lines of three backticks.
    pub doc: &'static str,
    /// In the order in which they may be given by position.
    pub arguments: &'static [Argument],
    /// The argument that takes all further positional ones; empty if none does.
    pub rest: &'static str,
    /// Of functions; it says nothing of states.
    pub nature: Nature,
}

/// An argument.
#[derive(Debug)]
pub struct Argument {
    pub name: &'static str,
    pub doc: &'static str,
    pub shape: Shape,
    /// What it is if left out, as JSON; `None` if it must be given.
    pub default: Option<&'static str>,
    pub secret: bool,
}

include!(concat!(env!("OUT_DIR"), "/data.rs"));

/// The nouns of functions: `test`, `cmd`, …
pub fn nouns() -> impl Iterator<Item = &'static str> {
    each_noun(FUNCTIONS)
}

/// The nouns of states.
pub fn state_nouns() -> impl Iterator<Item = &'static str> {
    each_noun(STATES)
}

fn each_noun(all: &'static [Description]) -> impl Iterator<Item = &'static str> {
    let mut last = "";
    all.iter().filter_map(move |one| {
        let noun = one.name.split('.').next().unwrap_or_default();
        (std::mem::replace(&mut last, noun) != noun).then_some(noun)
    })
}

/// What a name means: a function, all of a noun, or all that match a shell pattern; empty for all.
pub fn matching(pattern: &str) -> impl Iterator<Item = &'static Description> {
    FUNCTIONS.iter().filter(move |one| is_meant(pattern, one.name, one.aliases))
}

/// As [`matching`], for states.
pub fn matching_states(pattern: &str) -> impl Iterator<Item = &'static Description> {
    STATES.iter().filter(move |one| is_meant(pattern, one.name, one.aliases))
}

/// The function of that name.
pub fn find(name: &str) -> Option<&'static Description> {
    FUNCTIONS.iter().find(|one| one.name == name || one.aliases.contains(&name))
}

/// As [`find`], with an error that names the nearest spelling.
pub fn get(name: &str) -> Result<&'static Description, Problem> {
    find(name).ok_or_else(|| {
        let hint = nearest::hint(name, FUNCTIONS.iter().map(|one| one.name));
        // Salt's own words, which people and scripts search for.
        Problem::new(ProblemKind::UnknownFunction, format!("'{name}' is not available."))
            .hint(format!("`rocksalt doc` lists what there is{hint}"))
    })
}

/// What a function is like. One that nobody knows is taken for one that changes something.
pub fn nature(function: &str) -> Nature {
    find(function).map_or(Nature::CHANGES, |one| one.nature)
}

/// Whether the small agent can do a call. Templates take the state language.
pub fn is_small(call: &Call) -> bool {
    let Some(function) = find(&call.function).filter(|function| function.nature.small) else { return false };
    let place = function.arguments.iter().position(|argument| argument.name == "template");
    let positional = place.and_then(|place| call.args.get(place));
    [positional, call.kwargs.get("template")].into_iter().flatten().all(Value::is_null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_take_the_whole_agent() {
        assert!(is_small(&Call::new("test.ping")));
        assert!(is_small(&Call::new("test.true_")));
        assert!(is_small(&Call::new("cmd.run").arg("id").kwarg("template", Value::Null)));
        assert!(!is_small(&Call::new("cmd.run").arg("id").kwarg("template", "jinja")));
        let arguments = find("cmd.run").expect("there is one").arguments;
        let place = arguments.iter().position(|argument| argument.name == "template").expect("it takes one");
        let nulls = (0..place).fold(Call::new("cmd.run"), |call, _| call.arg(Value::Null));
        assert!(is_small(&nulls));
        assert!(!is_small(&nulls.arg("jinja")));
        assert!(!is_small(&Call::new("state.apply")));
        assert!(!is_small(&Call::new("nonsense")));
    }

    #[test]
    fn runs_of_states_have_the_machine_for_themselves() {
        let names = |is: fn(Nature) -> bool| {
            let found = FUNCTIONS.iter().filter(move |one| is(one.nature));
            found.map(|one| one.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names(|nature| nature.whole_machine),
            "state.apply state.high state.highstate state.low state.single state.sls state.sls_id"
        );
        assert_eq!(
            names(|nature| nature.runs_states && !nature.whole_machine),
            "state.test",
            "a dry run changes nothing"
        );
        assert_eq!(
            names(|nature| nature.about_jobs),
            "saltutil.find_job saltutil.is_running saltutil.kill_all_jobs saltutil.kill_job saltutil.running \
             saltutil.signal_job saltutil.term_all_jobs saltutil.term_job"
        );
    }

    #[test]
    fn what_is_repeatable_reads() {
        for function in
            ["test.ping", "grains.items", "grains.get", "pillar.item", "sys.doc", "saltutil.find_job", "state.show_top"]
        {
            assert!(nature(function).repeatable, "{function}");
        }
        for function in [
            "cmd.run",
            "state.apply",
            "grains.setval",
            "saltutil.kill_job",
            "test.cross_test",
            "file.write",
            "nonsense",
        ] {
            assert!(!nature(function).repeatable, "{function}");
        }
        for one in FUNCTIONS.iter().filter(|one| one.nature.repeatable) {
            assert!(one.nature.reads, "{} changes something", one.name);
        }
    }
}
