//! Targets found by trying: every address of a network that answers on a port.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use rocksalt_core::roster::{Entry, Roster};
use rocksalt_core::target::Network;
use rocksalt_core::yaml::{Content, Node, Place};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::entry::{Builder, text_node};
use super::{Error, Report, Scan, Settings, Source};

/// A /16: beyond that somebody has mistyped a prefix.
const MAX_ADDRESSES: u128 = 65_536;

pub(super) fn open(settings: &Settings) -> Result<Box<dyn Source>, Error> {
    let scan = &settings.scan;
    if scan.networks.is_empty() {
        return Err(Error::NoNetwork);
    }
    let networks: Vec<Network> = scan.networks.iter().map(|text| Network::parse(text)).collect::<Result<_, _>>()?;
    let count = networks.iter().fold(0u128, |sum, network| sum.saturating_add(network.size()));
    if count > MAX_ADDRESSES {
        return Err(Error::TooManyAddresses { networks: scan.networks.join(", "), count, limit: MAX_ADDRESSES });
    }
    Ok(Box::new(Scanner { networks, settings: settings.clone() }))
}

struct Scanner {
    networks: Vec<Network>,
    settings: Settings,
}

#[async_trait]
impl Source for Scanner {
    async fn load(&self) -> Result<Roster, Error> {
        let Scan { ports, timeout, limit, .. } = &self.settings.scan;
        let mut addresses: Vec<IpAddr> = self.networks.iter().flat_map(Network::hosts).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let permits = Arc::new(Semaphore::new((*limit).max(1)));
        let mut tries = JoinSet::new();
        for (index, address) in addresses.iter().copied().enumerate() {
            // Waiting here, not in the task, keeps few tasks alive at a time.
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

impl Scanner {
    fn entries(&self, found: impl Iterator<Item = (IpAddr, u16)>) -> Result<Roster, Error> {
        let mut report = Report::new("scan");
        let builder = Builder { settings: &self.settings, folder: None };
        let place = Place { line: 0, column: 0 };
        let mut entries: Vec<Entry> = Vec::new();
        for (address, port) in found {
            let host = text_node(&address.to_string(), place);
            let pairs = vec![
                (text_node("host", place), host),
                (text_node("port", place), Node { place, content: Content::Scalar(i64::from(port).into()) }),
            ];
            let node = Node { place, content: Content::Map(pairs) };
            entries.extend(builder.build(&address.to_string(), 0, &node, &mut report));
        }
        report.finish(Roster { entries, nodegroups: Vec::new() })
    }
}
