//! `firewalld`: zones and services of the firewall daemon, through `firewall-cmd`.

mod ask;
mod functions;
mod present;
mod service;

use super::{CatalogFunction, StateEntry, entry, state};

pub const FUNCTIONS: &[CatalogFunction] = &[
    entry::<functions::AddPort>(),
    entry::<functions::AddPortFwd>(),
    entry::<functions::AddRichRule>(),
    entry::<functions::AddService>(),
    entry::<functions::DefaultZone>(),
    entry::<functions::DeleteZone>(),
    entry::<functions::GetRichRules>(),
    entry::<functions::GetServices>(),
    entry::<functions::GetZones>(),
    entry::<functions::ListAll>(),
    entry::<functions::ListPortFwd>(),
    entry::<functions::ListPorts>(),
    entry::<functions::ListServices>(),
    entry::<functions::MakePermanent>(),
    entry::<functions::NewZone>(),
    entry::<functions::ReloadRules>(),
    entry::<functions::RemovePort>(),
    entry::<functions::RemovePortFwd>(),
    entry::<functions::RemoveRichRule>(),
    entry::<functions::RemoveService>(),
    entry::<functions::SetDefaultZone>(),
    entry::<functions::Version>(),
];

pub const STATES: &[StateEntry] = &[state::<present::Present>(), state::<service::Service>()];
