//! `etcd`: a store that several controllers share.
//!
//! gRPC without generated code (decision 0019). Reads are linearizable; requests turn to another member when one fails;
//! watches and leases look after themselves. etcd's own users are not used: who may speak to it is said by certificates
//! (rule R16).

mod call;
mod commit;
mod lease;
mod members;
mod messages;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::call::{Kind, Trouble};
use self::commit::Markers;
use self::members::Members;
use self::messages::{
    Acknowledged, COMPACT, CompactRequest, DESCENDING, Header, KeyValue, RANGE, RangeRequest, RangeResponse,
};
use super::watch::Source;
use super::{Committed, Error, Lease, Limits, Listing, Pair, Range, Revision, Store, Transaction, Watch};

/// etcd takes 128 operations, and one is ours.
const LIMITS: Limits = Limits { operations: 120, bytes: 1400 << 10 };

/// etcd's `--max-request-bytes` unless somebody changes it, less what it puts around a request.
const LARGEST_REQUEST: usize = (1536 << 10) - 2048;

/// How many keys are asked for at a time.
const PAGE: usize = 500;

pub struct Etcd {
    members: Arc<Members>,
    names: Arc<Names>,
    markers: Markers,
}

impl Etcd {
    /// Looks whether it answers, too.
    pub async fn open(settings: &super::Settings) -> Result<Etcd, Error> {
        if settings.prefix.len() > 200 || !settings.prefix.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(Error::settings("etcd_prefix is not up to 200 characters of printable ASCII"));
        }
        let members = Arc::new(Members::new(settings)?);
        let names = Arc::new(Names { prefix: settings.prefix.clone() });
        let etcd = Etcd { members, names, markers: Markers::new() };
        etcd.range(&Range::prefix("").limit(1).keys_only()).await?;
        let (members, names) = (Arc::clone(&etcd.members), Arc::clone(&etcd.names));
        tokio::spawn(async move { commit::sweep(&members, &names).await });
        Ok(etcd)
    }

    async fn page(&self, request: RangeRequest) -> Result<RangeResponse, Trouble> {
        self.members.insist(RANGE, request).await
    }

    /// All of a range, page by page, as of the revision of the first one.
    async fn pages(&self, range: &Range) -> Result<Listing, Trouble> {
        let (mut from, mut to) = (self.names.full(&range.from), self.names.full(&range.to));
        let limit = range.limit.unwrap_or(usize::MAX);
        // etcd sorts all of a range before it takes the last ones: a range that is wanted whole is turned round here.
        let descending = range.backwards && range.limit.is_some();
        let (mut listing, mut revision, mut page) = (Listing::default(), 0, PAGE);
        loop {
            // At least one: 0 would be no limit. It tells us whether there are more.
            let wanted = (limit - listing.pairs.len()).clamp(1, page);
            let request = RangeRequest {
                key: if from.is_empty() { vec![0] } else { from.clone() },
                range_end: to.clone(),
                limit: i64::try_from(wanted).unwrap_or(i64::MAX),
                revision,
                sort_order: if descending { DESCENDING } else { 0 },
                keys_only: range.keys_only,
            };
            let answer = match self.page(request).await {
                Err(trouble) if trouble.kind == Kind::LargeAnswer && page > 1 => {
                    page /= 4;
                    page = page.max(1);
                    continue;
                }
                answer => answer?,
            };
            if revision == 0 {
                revision = answer.header.as_ref().map_or(0, |header| header.revision);
                listing.revision = revision.cast_unsigned();
            }
            if limit == 0 {
                listing.more = !answer.kvs.is_empty();
                return Ok(listing);
            }
            match answer.kvs.last() {
                Some(last) if descending => to.clone_from(&last.key),
                Some(last) => from = [&*last.key, &[0]].concat(),
                None => {}
            }
            listing.pairs.extend(answer.kvs.into_iter().filter_map(|pair| self.names.pair(pair)));
            if !answer.more || listing.pairs.len() >= limit {
                listing.more = answer.more;
                break;
            }
        }
        if range.backwards && !descending {
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
        let answer = self.page(request).await.map_err(|trouble| trouble.error("read"))?;
        Ok(answer.kvs.into_iter().next().and_then(|pair| self.names.pair(pair)))
    }

    async fn range(&self, range: &Range) -> Result<Listing, Error> {
        if range.is_empty() {
            let nothing = Range { limit: Some(0), keys_only: true, ..Range::prefix("") };
            let listing = self.pages(&nothing).await.map_err(|trouble| trouble.error("read"))?;
            return Ok(Listing { revision: listing.revision, ..Listing::default() });
        }
        for _ in 0..5 {
            match self.pages(range).await {
                // What we were reading was compacted meanwhile: begin again with what is there now.
                Err(trouble) if trouble.kind == Kind::Compacted => {}
                answer => return answer.map_err(|trouble| trouble.error("read")),
            }
        }
        let why = "it is compacted faster than it can be read".to_owned();
        Err(Error::Away { doing: "read", why })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let transaction = transaction.settled(LIMITS)?;
        commit::commit(&self.members, &self.names, &self.markers, transaction).await
    }

    async fn lease(&self, time_to_live: Duration) -> Result<Lease, Error> {
        lease::grant(&self.members, time_to_live).await
    }

    async fn watch(&self, prefix: &str, after: Revision) -> Result<Watch, Error> {
        let stream = watch::start(Arc::clone(&self.members), Arc::clone(&self.names), prefix, after);
        Ok(Watch(Source::Stream(stream)))
    }

    async fn compact(&self, before: Revision) -> Result<(), Error> {
        let newest = self.range(&Range::default()).await?.revision;
        let revision = before.saturating_sub(1).min(newest);
        if revision == 0 {
            return Ok(());
        }
        let request = CompactRequest { revision: revision.cast_signed() };
        match self.members.insist::<_, Acknowledged>(COMPACT, request).await {
            // Somebody else was first, or our own attempt whose answer was lost.
            Err(trouble) if trouble.kind == Kind::Compacted => Ok(()),
            answer => answer.map(drop).map_err(|trouble| trouble.error("compact what is")),
        }
    }

    fn limits(&self) -> Limits {
        LIMITS
    }
}

/// How keys are called at etcd: with a prefix, for clusters that share one.
pub struct Names {
    prefix: String,
}

impl Names {
    pub fn full(&self, key: &str) -> Vec<u8> {
        [self.prefix.as_bytes(), key.as_bytes()].concat()
    }

    /// `None` for what others may have put there.
    pub fn short(&self, key: &[u8]) -> Option<String> {
        let key = key.strip_prefix(self.prefix.as_bytes())?;
        String::from_utf8(key.to_owned()).ok()
    }

    fn pair(&self, pair: KeyValue) -> Option<Pair> {
        let (created, modified) = (pair.create_revision.cast_unsigned(), pair.mod_revision.cast_unsigned());
        Some(Pair { key: self.short(&pair.key)?, value: pair.value, created, modified })
    }

    /// From where to where all keys are that begin so.
    pub fn below(&self, prefix: &str) -> (Vec<u8>, Vec<u8>) {
        let from = self.full(prefix);
        (if from.is_empty() { vec![0] } else { from }, self.full(&super::range::after(prefix)))
    }

    /// A key of our own, behind all that a store can have: nobody lists or watches it.
    pub fn marker(&self, name: &str) -> Vec<u8> {
        self.full(&format!("\u{7f}commit/{name}"))
    }

    pub fn markers(&self) -> (Vec<u8>, Vec<u8>) {
        (self.marker(""), self.full("\u{7f}commit0"))
    }
}

fn revision(header: Option<&Header>) -> Revision {
    header.map_or(0, |header| header.revision.cast_unsigned())
}
