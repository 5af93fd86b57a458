//! `etcd`: a store that several controllers share.
//!
//! gRPC without generated code (`docs/decisions/0019-etcd-without-generated-code.md`). Reads are linearizable; requests
//! are retried at other members; watches and leases recover by themselves. etcd users are not supported: access is
//! controlled by client certificates (`docs/security-rules.md#r16`).

mod call;
mod commit;
mod lease;
mod members;
mod messages;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::call::{CallError, CallErrorKind};
use self::commit::CommitMarkers;
use self::members::EtcdMembers;
use self::messages::{
    Acknowledged, COMPACT, CompactRequest, DESCENDING, KeyValue, RANGE, RangeRequest, RangeResponse, ResponseHeader,
};
use super::watch::WatchSource;
use super::{
    Committed, Error, KeyRange, Lease, Pair, RangeResult, Revision, Store, StoreWatch, Transaction, TransactionLimits,
};

/// etcd's limit is 128 operations, and the marker is one.
const LIMITS: TransactionLimits = TransactionLimits { operations: 120, bytes: 1400 << 10 };

/// etcd's default `--max-request-bytes`, less its overhead.
const LARGEST_REQUEST: usize = (1536 << 10) - 2048;

/// Keys per request.
const PAGE: usize = 500;

pub struct Etcd {
    members: Arc<EtcdMembers>,
    names: Arc<KeyNames>,
    markers: CommitMarkers,
}

impl Etcd {
    /// Also checks that etcd responds.
    pub async fn open(settings: &super::Settings) -> Result<Etcd, Error> {
        if settings.prefix.len() > 200 || !settings.prefix.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(Error::settings("etcd_prefix is not up to 200 characters of printable ASCII"));
        }
        let members = Arc::new(EtcdMembers::new(settings)?);
        let names = Arc::new(KeyNames { prefix: settings.prefix.clone() });
        let etcd = Etcd { members, names, markers: CommitMarkers::new() };
        etcd.range(&KeyRange::prefix("").limit(1).keys_only()).await?;
        let (members, names) = (Arc::clone(&etcd.members), Arc::clone(&etcd.names));
        tokio::spawn(async move { commit::sweep(&members, &names).await });
        Ok(etcd)
    }

    async fn page(&self, request: RangeRequest) -> Result<RangeResponse, CallError> {
        self.members.call(RANGE, request).await
    }

    /// Reads a range page by page, as of the revision of the first page.
    async fn pages(&self, range: &KeyRange) -> Result<RangeResult, CallError> {
        let (mut from, mut to) = (self.names.full(&range.from), self.names.full(&range.to));
        let limit = range.limit.unwrap_or(usize::MAX);
        // etcd sorts the whole range before it applies the limit, so an unlimited range is reversed here instead.
        let descending = range.descending && range.limit.is_some();
        let (mut listing, mut revision, mut page) = (RangeResult::default(), 0, PAGE);
        loop {
            // At least one, because 0 means no limit. It tells whether there are more.
            let wanted = (limit - listing.pairs.len()).clamp(1, page);
            let request = RangeRequest {
                key: if from.is_empty() { vec![0] } else { from.clone() },
                range_end: to.clone(),
                limit: i64::try_from(wanted).unwrap_or(i64::MAX),
                revision,
                sort_order: if descending { DESCENDING } else { 0 },
                keys_only: range.keys_only,
            };
            let response = match self.page(request).await {
                Err(error) if error.kind == CallErrorKind::LargeAnswer && page > 1 => {
                    page /= 4;
                    page = page.max(1);
                    continue;
                }
                response => response?,
            };
            if revision == 0 {
                revision = response.header.as_ref().map_or(0, |header| header.revision);
                listing.revision = revision.cast_unsigned();
            }
            if limit == 0 {
                listing.more = !response.kvs.is_empty();
                return Ok(listing);
            }
            match response.kvs.last() {
                Some(last) if descending => to.clone_from(&last.key),
                Some(last) => from = [&*last.key, &[0]].concat(),
                None => {}
            }
            listing.pairs.extend(response.kvs.into_iter().filter_map(|pair| self.names.pair(pair)));
            if !response.more || listing.pairs.len() >= limit {
                listing.more = response.more;
                break;
            }
        }
        if range.descending && !descending {
            listing.pairs.reverse();
        }
        Ok(listing)
    }
}

#[async_trait]
impl Store for Etcd {
    async fn get(&self, key: &str) -> Result<Option<Pair>, Error> {
        let request = RangeRequest { key: self.names.full(key), ..RangeRequest::default() };
        if request.key.is_empty() {
            return Ok(None);
        }
        let response = self.page(request).await.map_err(|error| error.error("read"))?;
        Ok(response.kvs.into_iter().next().and_then(|pair| self.names.pair(pair)))
    }

    async fn range(&self, range: &KeyRange) -> Result<RangeResult, Error> {
        if range.is_empty() {
            let nothing = KeyRange { limit: Some(0), keys_only: true, ..KeyRange::prefix("") };
            let listing = self.pages(&nothing).await.map_err(|error| error.error("read"))?;
            return Ok(RangeResult { revision: listing.revision, ..RangeResult::default() });
        }
        for _ in 0..5 {
            match self.pages(range).await {
                // The revision was compacted meanwhile: start again at the current one.
                Err(error) if error.kind == CallErrorKind::Compacted => {}
                response => return response.map_err(|error| error.error("read")),
            }
        }
        let why = "it is compacted faster than it can be read".to_owned();
        Err(Error::Unavailable { doing: "read", why })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let transaction = transaction.validated(LIMITS)?;
        commit::commit(&self.members, &self.names, &self.markers, transaction).await
    }

    async fn lease(&self, time_to_live: Duration) -> Result<Lease, Error> {
        lease::grant(&self.members, time_to_live).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<StoreWatch, Error> {
        let stream = watch::start(Arc::clone(&self.members), Arc::clone(&self.names), prefix, after);
        Ok(StoreWatch(WatchSource::Stream(stream)))
    }

    async fn compact(&self, before: Revision) -> Result<(), Error> {
        let newest = self.range(&KeyRange::default()).await?.revision;
        let revision = before.saturating_sub(1).min(newest);
        if revision == 0 {
            return Ok(());
        }
        let request = CompactRequest { revision: revision.cast_signed() };
        match self.members.call::<_, Acknowledged>(COMPACT, request).await {
            // Compacted already, by another process or by an attempt of ours whose response was lost.
            Err(error) if error.kind == CallErrorKind::Compacted => Ok(()),
            response => response.map(drop).map_err(|error| error.error("compact the history")),
        }
    }

    fn limits(&self) -> TransactionLimits {
        LIMITS
    }
}

/// Maps keys to etcd's keys: with a prefix, for clusters that share one etcd.
pub struct KeyNames {
    prefix: String,
}

impl KeyNames {
    pub fn full(&self, key: &str) -> Vec<u8> {
        [self.prefix.as_bytes(), key.as_bytes()].concat()
    }

    /// `None` for keys of other programs.
    pub fn short(&self, key: &[u8]) -> Option<String> {
        let key = key.strip_prefix(self.prefix.as_bytes())?;
        String::from_utf8(key.to_owned()).ok()
    }

    fn pair(&self, pair: KeyValue) -> Option<Pair> {
        let (created, modified) = (pair.create_revision.cast_unsigned(), pair.mod_revision.cast_unsigned());
        Some(Pair { key: self.short(&pair.key)?, value: pair.value, created, modified })
    }

    /// The range of all keys with a prefix.
    pub fn below(&self, prefix: &str) -> (Vec<u8>, Vec<u8>) {
        let from = self.full(prefix);
        (if from.is_empty() { vec![0] } else { from }, self.full(&super::range::after(prefix)))
    }

    /// A key of our own after all possible store keys, so that no range or watch includes it.
    pub fn marker(&self, name: &str) -> Vec<u8> {
        self.full(&format!("\u{7f}commit/{name}"))
    }

    pub fn markers(&self) -> (Vec<u8>, Vec<u8>) {
        (self.marker(""), self.full("\u{7f}commit0"))
    }
}

fn revision(header: Option<&ResponseHeader>) -> Revision {
    header.map_or(0, |header| header.revision.cast_unsigned())
}
