//! `cmd`: runs commands, scripts and pieces of code.

mod arguments;
mod finished;
mod run;
mod script;
mod search;
mod states;

pub use search::which;
pub use states::STATES;

use super::{CatalogFunction, Function, entry};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<script::ExecCode>(),
    entry::<script::ExecCodeAll>(),
    entry::<search::HasExec>(),
    entry::<run::Powershell>(),
    entry::<run::Retcode>(),
    entry::<run::Run>(),
    entry::<run::RunAll>(),
    entry::<run::RunBg>(),
    entry::<run::RunStderr>(),
    entry::<run::RunStdout>(),
    entry::<script::Script>(),
    entry::<script::ScriptRetcode>(),
    entry::<run::Shell>(),
    entry::<search::Shells>(),
    entry::<search::Tty>(),
    entry::<search::Which>(),
    entry::<search::WhichBin>(),
];
