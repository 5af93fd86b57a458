//! [`Event`]: something that happened, under a tag.

use minicbor::{Decode, Encode};

use crate::value::Map;

/// An event. Its tag is Salt's (`salt/job/JID/ret/ID`), so that listeners written for Salt keep working.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Event {
    #[n(0)]
    pub tag: String,
    #[n(1)]
    pub data: Map,
}
