//! A network scan: every address with an open port is a target.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::roster::{Roster, RosterEntry};
use rocksalt_core::target::IpNetwork;
use rocksalt_core::yaml::{Node, NodeContent, NodePosition};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::entry::{EntryBuilder, text_node};
use super::{Error, FaultReport, RosterSource, ScanSettings, Settings};

/// A /16; more is most likely a mistyped prefix.
const MAX_ADDRESSES: u128 = 65_536;

pub(super) fn open(settings: &Settings) -> Result<Box<dyn RosterSource>, Error> {
    let scan = &settings.scan;
    if scan.networks.is_empty() {
        return Err(Error::NoNetwork);
    }
    let networks: Vec<IpNetwork> = scan.networks.iter().map(|text| IpNetwork::parse(text)).collect::<Result<_, _>>()?;
    let count = networks.iter().fold(0u128, |sum, network| sum.saturating_add(network.size()));
    if count > MAX_ADDRESSES {
        return Err(Error::TooManyAddresses { networks: scan.networks.join(", "), count, limit: MAX_ADDRESSES });
    }
    Ok(Box::new(ScanRoster { networks, settings: settings.clone() }))
}

struct ScanRoster {
    networks: Vec<IpNetwork>,
    settings: Settings,
}

#[async_trait]
impl RosterSource for ScanRoster {
    async fn load(&self) -> Result<Roster, Error> {
        let ScanSettings { ports, timeout, limit, .. } = &self.settings.scan;
        let mut addresses: Vec<IpAddr> = self.networks.iter().flat_map(IpNetwork::hosts).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let permits = Arc::new(Semaphore::new((*limit).max(1)));
        let mut tries = JoinSet::new();
        for (index, address) in addresses.iter().copied().enumerate() {
            // Wait here and not in the task, so that few tasks exist at a time.
            let Ok(permit) = permits.clone().acquire_owned().await else { return Err(Error::Aborted) };
            let (ports, timeout) = (ports.clone(), *timeout);
            tries.spawn(async move {
                let _permit = permit;
                for port in ports {
                    let connect = TcpStream::connect(SocketAddr::new(address, port));
                    if let Ok(Ok(_)) = tokio::time::timeout(timeout, connect).await {
                        return Some((index, port));
                    }
                }
                None
            });
        }
        let mut found: Vec<(usize, u16)> = Vec::new();
        while let Some(tried) = tries.join_next().await {
            found.extend(tried.map_err(|_| Error::Aborted)?);
        }
        found.sort_unstable();
        self.entries(found.into_iter().map(|(index, port)| (addresses[index], port)))
    }
}

impl ScanRoster {
    fn entries(&self, found: impl Iterator<Item = (IpAddr, u16)>) -> Result<Roster, Error> {
        let mut report = FaultReport::new("scan");
        let builder = EntryBuilder { settings: &self.settings, folder: None };
        let place = NodePosition { line: 0, column: 0 };
        let mut entries: Vec<RosterEntry> = Vec::new();
        for (address, port) in found {
            let host = text_node(&address.to_string(), place);
            let pairs = vec![
                (text_node("host", place), host),
                (text_node("port", place), Node { place, content: NodeContent::Scalar(i64::from(port).into()) }),
            ];
            let node = Node { place, content: NodeContent::Map(pairs) };
            entries.extend(builder.build(&address.to_string(), 0, &node, &mut report));
        }
        report.finish(Roster { entries, nodegroups: Vec::new() })
    }
}
