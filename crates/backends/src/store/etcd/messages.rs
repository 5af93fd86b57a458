//! The messages of etcd's protocol that we use, written by hand (`docs/decisions/0019-etcd-without-generated-code.md`):
//! `rpc.proto` and `kv.proto` of etcd 3.4.
//!
//! Fields that we neither send nor read are left out: protobuf skips unknown fields.

use prost::{Message, Oneof};

pub const RANGE: &str = "/etcdserverpb.KV/Range";
pub const TXN: &str = "/etcdserverpb.KV/Txn";
pub const COMPACT: &str = "/etcdserverpb.KV/Compact";
pub const WATCH: &str = "/etcdserverpb.Watch/Watch";
pub const LEASE_GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
pub const LEASE_REVOKE: &str = "/etcdserverpb.Lease/LeaseRevoke";
pub const LEASE_KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";

#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    /// Changes when the cluster is restored from a backup.
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    #[prost(int64, tag = "3")]
    pub revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(int64, tag = "2")]
    pub create_revision: i64,
    #[prost(int64, tag = "3")]
    pub mod_revision: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    /// 0 for no limit.
    #[prost(int64, tag = "3")]
    pub limit: i64,
    /// 0 for the newest.
    #[prost(int64, tag = "4")]
    pub revision: i64,
    /// 0: unsorted, which is ascending by key; 2: descending. `sort_target` is left at its default, the key.
    #[prost(int32, tag = "5")]
    pub sort_order: i32,
    #[prost(bool, tag = "8")]
    pub keys_only: bool,
}

pub const DESCENDING: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub kvs: Vec<KeyValue>,
    #[prost(bool, tag = "3")]
    pub more: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub lease: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct DeleteRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

/// One of a transaction's operations.
#[derive(Clone, PartialEq, Message)]
pub struct RequestOp {
    #[prost(oneof = "op::Kind", tags = "1, 2, 3")]
    pub request: Option<op::Kind>,
}

pub mod op {
    use super::{DeleteRequest, Oneof, PutRequest, RangeRequest};

    #[derive(Clone, PartialEq, Oneof)]
    pub enum Kind {
        #[prost(message, tag = "1")]
        Range(RangeRequest),
        #[prost(message, tag = "2")]
        Put(PutRequest),
        #[prost(message, tag = "3")]
        Delete(DeleteRequest),
    }
}

impl From<op::Kind> for RequestOp {
    fn from(request: op::Kind) -> RequestOp {
        RequestOp { request: Some(request) }
    }
}

/// Precondition that the key's last revision equals `mod_revision`; 0 if the key doesn't exist.
#[derive(Clone, PartialEq, Message)]
pub struct Compare {
    /// 0: equal.
    #[prost(int32, tag = "1")]
    pub result: i32,
    #[prost(int32, tag = "2")]
    pub target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    /// In a `oneof`, so 0 is sent as well.
    #[prost(int64, optional, tag = "6")]
    pub mod_revision: Option<i64>,
}

impl Compare {
    pub fn modified(key: Vec<u8>, revision: i64) -> Compare {
        const MODIFIED: i32 = 2;
        Compare { result: 0, target: MODIFIED, key, mod_revision: Some(revision) }
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    pub failure: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bool, tag = "2")]
    pub succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub responses: Vec<ResponseOp>,
}

/// Only the responses to ranges are read.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseOp {
    #[prost(message, optional, tag = "1")]
    pub range: Option<RangeResponse>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompactRequest {
    #[prost(int64, tag = "1")]
    pub revision: i64,
}

/// A response without fields of interest.
#[derive(Clone, PartialEq, Message)]
pub struct Acknowledged {}

#[derive(Clone, PartialEq, Message)]
pub struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    pub create: Option<WatchCreate>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WatchCreate {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub start_revision: i64,
    #[prost(bool, tag = "4")]
    pub progress_notify: bool,
    #[prost(bool, tag = "8")]
    pub fragment: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct WatchResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bool, tag = "3")]
    pub created: bool,
    #[prost(bool, tag = "4")]
    pub canceled: bool,
    #[prost(int64, tag = "5")]
    pub compact_revision: i64,
    #[prost(string, tag = "6")]
    pub cancel_reason: String,
    /// More of the same response follows.
    #[prost(bool, tag = "7")]
    pub fragment: bool,
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<MvccEvent>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MvccEvent {
    /// 0: put, 1: deleted.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(message, optional, tag = "2")]
    pub kv: Option<KeyValue>,
}

pub const DELETED: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub struct LeaseGrantRequest {
    #[prost(int64, tag = "1")]
    pub ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct LeaseGrantResponse {
    #[prost(int64, tag = "2")]
    pub id: i64,
    #[prost(int64, tag = "3")]
    pub ttl: i64,
    #[prost(string, tag = "4")]
    pub error: String,
}

/// Keeps a lease alive, or revokes it.
#[derive(Clone, PartialEq, Message)]
pub struct LeaseRequest {
    #[prost(int64, tag = "1")]
    pub id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct LeaseKeepAliveResponse {
    /// 0 if the lease no longer exists.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that etcd's own definition produces.
    #[test]
    fn a_comparison_with_zero_is_sent() {
        let bytes = Compare::modified(b"k".to_vec(), 0).encode_to_vec();
        assert_eq!(bytes, [0x10, 2, 0x1a, 1, b'k', 0x30, 0]);
        let bytes = RangeRequest { key: b"a".to_vec(), range_end: b"b".to_vec(), limit: 5, ..Default::default() };
        assert_eq!(bytes.encode_to_vec(), [0x0a, 1, b'a', 0x12, 1, b'b', 0x18, 5]);
    }

    #[test]
    fn unknown_fields_are_skipped() {
        // header {cluster_id 1, member_id 2, revision 3, raft_term 4}, deleted 9
        let bytes = [0x0a, 8, 0x08, 1, 0x10, 2, 0x18, 3, 0x20, 4, 0x10, 1];
        let response = TxnResponse::decode(&bytes[..]).expect("decodes");
        assert_eq!((response.header.map(|header| header.revision), response.succeeded), (Some(3), true));
    }
}
