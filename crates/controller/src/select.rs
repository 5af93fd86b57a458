//! [`Controller::select`]: the targets that a target expression selects.

use std::net::IpAddr;
use std::sync::Arc;

use rocksalt_connect::link::{NoAnswers, RemoteCall};
use rocksalt_connect::log::target_span;
use rocksalt_core::link::{AgentKind, LinkFailure};
use rocksalt_core::roster::RosterEntry;
use rocksalt_core::target::{self, Subject, TargetExpression, TargetKind, address, addresses_in};
use rocksalt_core::{Call, Map, Value};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::Controller;

/// A target as a user wrote it.
#[derive(Clone, Debug)]
pub struct TargetSelector {
    pub kind: TargetKind,
    pub text: String,
    pub delimiter: String,
}

/// The selected targets, and those whose grains could not be read.
#[derive(Default)]
pub struct Selection {
    pub entries: Vec<RosterEntry>,
    /// Targets whose grains are not known and that could not be reached.
    pub unknown: Vec<(RosterEntry, LinkFailure)>,
}

impl Controller {
    /// Selects targets, in the roster's order. Requests grains from targets if the expression needs them.
    pub async fn select(&self, target: &TargetSelector) -> Result<Selection, target::Error> {
        let expression = TargetExpression::parse(target.kind, &target.text, &target.delimiter, &self.nodegroups)?;
        let mut selection = Selection::default();
        let needs_grains = expression.needs_grains();
        let grains = match needs_grains {
            true => self.all_grains(&mut selection.unknown).await,
            false => self.roster.entries.iter().map(|_| Some(Map::new())).collect(),
        };
        for (entry, grains) in self.roster.entries.iter().zip(grains) {
            let Some(grains) = grains else { continue };
            // Nobody reads grains that were not asked for.
            let grains = if needs_grains { self.trusted_grains(entry, grains) } else { grains };
            if expression.matches(&TargetSubject { entry, grains }) {
                selection.entries.push(entry.clone());
            }
        }
        Ok(selection)
    }

    /// The grains of every target of the roster; `None` if they can't be read.
    async fn all_grains(&self, unknown: &mut Vec<(RosterEntry, LinkFailure)>) -> Vec<Option<Map>> {
        let mut all: Vec<Option<Map>> =
            self.roster.entries.iter().map(|entry| self.grains_cache.grains(&entry.id)).collect();
        let mut asking = JoinSet::new();
        for (index, entry) in self.roster.entries.iter().enumerate().filter(|(index, _)| all[*index].is_none()) {
            let (links, entry, options) = (Arc::clone(&self.links), entry.clone(), self.options_of(entry));
            let span = target_span(&entry.id, None);
            let ask = async move {
                let grains = async {
                    let line = links.open(&entry, AgentKind::Whole, false, None).await?;
                    let call = Call { target: entry.id.clone(), options, ..Call::new("grains.items") };
                    let mut request = RemoteCall::start(line.open_channel("targeting")?, call, Arc::new(NoAnswers));
                    request.finish(&mut |_, _| {}).await
                };
                let result = grains.await;
                (index, entry, result)
            };
            asking.spawn(ask.instrument(span));
        }
        while let Some(Ok((index, entry, result))) = asking.join_next().await {
            match result {
                Ok(result) => {
                    if let Value::Map(grains) = result.value {
                        // If this fails, the next selection requests the grains again.
                        let _ = self.grains_cache.remember(&entry.id, &grains);
                        all[index] = Some(grains);
                    }
                }
                Err(failure) => unknown.push((entry, failure)),
            }
        }
        all
    }
}

struct TargetSubject<'a> {
    entry: &'a RosterEntry,
    grains: Map,
}

impl Subject for TargetSubject<'_> {
    fn id(&self) -> &str {
        &self.entry.id
    }

    fn grains(&self) -> &Map {
        &self.grains
    }

    fn pillar(&self) -> &Map {
        &self.entry.pillar
    }

    fn addresses(&self) -> Vec<IpAddr> {
        let mut all = addresses_in(&self.grains);
        all.extend(address(&self.entry.host));
        all
    }
}
