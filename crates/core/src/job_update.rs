//! [`JobUpdate`]: the events of a running job, as the controller reports them to clients that watch it.

use minicbor::{Decode, Encode};

use crate::event::Event;
use crate::frame::Stream;
use crate::record::{JobRecord, ReturnRecord};

#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum JobUpdate {
    /// The call was sent to a target.
    #[n(0)]
    Begun {
        #[n(0)]
        target: String,
    },
    /// Part of the output of a command there.
    #[n(1)]
    Output {
        #[n(0)]
        target: String,
        #[n(1)]
        stream: Stream,
        #[n(2)]
        #[cbor(with = "minicbor::bytes")]
        bytes: Vec<u8>,
    },
    /// The progress of a run of states: JSON, as the target sends it.
    #[n(2)]
    Progress {
        #[n(0)]
        target: String,
        #[n(1)]
        #[cbor(with = "minicbor::bytes")]
        bytes: Vec<u8>,
    },
    /// A message for the operator that the target must not see.
    #[n(3)]
    Note {
        #[n(0)]
        target: String,
        #[n(1)]
        text: String,
    },
    /// A target's function sent an event.
    #[n(4)]
    Event {
        #[n(0)]
        target: String,
        #[n(1)]
        event: Event,
    },
    /// A target's run warns the operator of something outside of its result.
    #[n(7)]
    Warning {
        #[n(0)]
        target: String,
        #[n(1)]
        text: String,
        #[n(2)]
        hint: Option<String>,
    },
    /// A target has finished, and its return is stored.
    #[n(5)]
    Done(#[n(0)] ReturnRecord),
    /// The job has ended; no update follows.
    #[n(6)]
    Ended(#[n(0)] Box<JobRecord>),
}
