//! The messages inside frames.

use minicbor::{Decode, Encode};

use super::RequestId;
use crate::call::{Call, Problem, Return};
use crate::event::Event;
use crate::job_id::JobId;
use crate::link::AgentKind;
use crate::log::LogRecord;
use crate::value::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Message {
    /// The first message from each side of a link.
    #[n(0)]
    Hello(#[n(0)] Hello),
    /// Runs a function; ends with a `Return` under the same id.
    #[n(1)]
    Call(#[n(0)] Box<Call>),
    /// Stops a call, which still ends with a `Return`.
    #[n(2)]
    Cancel,
    #[n(3)]
    Return(#[n(0)] Box<Return>),
    /// Part of a request's stream.
    #[n(4)]
    Data(#[n(0)] Data),
    /// The receiver has read this many bytes of the stream, so the sender may send as many more.
    #[n(5)]
    Credit(#[n(0)] u32),
    /// A request of the agent to the controller, for the call `parent`; ends with an `Answer`.
    #[n(6)]
    Ask(#[n(0)] RequestId, #[n(1)] Ask),
    #[n(7)]
    Answer(#[n(0)] Answer),
    #[n(8)]
    Ping,
    #[n(9)]
    Pong,
    /// Ends the agent; with `wipe` it also removes its executable.
    #[n(10)]
    Bye {
        #[n(0)]
        wipe: bool,
    },
    /// The controller has stored the result of a kept call, so the target can remove it.
    #[n(11)]
    Stored {
        #[n(0)]
        job: JobId,
        #[n(1)]
        target: String,
    },
    /// Stops a call and kills its processes at once (SIGKILL); it still ends with a `Return`.
    #[n(12)]
    Kill,
    /// The controller no longer waits for a call's result. The call is stopped unless it is kept.
    #[n(13)]
    Abandon,
    /// A diagnostic line about the request, if its call asked for such lines. Not subject to flow control: the receiver
    /// drops lines that come too fast.
    #[n(14)]
    Log(#[n(0)] LogRecord),
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Hello {
    #[n(0)]
    pub protocol: u32,
    /// The program's own version.
    #[n(1)]
    pub version: String,
    /// The agent's process id; 0 from the controller.
    #[n(2)]
    pub pid: u32,
    /// The kind of agent; the controller's value isn't used.
    #[cbor(n(3), default)]
    pub agent_kind: AgentKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Data {
    #[n(0)]
    pub stream: Stream,
    #[cbor(n(1), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Stream {
    /// A running command's standard output.
    #[n(0)]
    Stdout,
    /// A running command's standard error.
    #[n(1)]
    Stderr,
    /// A file's content.
    #[n(2)]
    File,
    /// The progress of a run: a JSON object with `done`, `total` and the running steps.
    #[n(3)]
    Progress,
}

/// A request of an agent to the controller.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Ask {
    /// Requests a file of the controller's tree as a stream; the answer is its sha256 and size.
    #[n(0)]
    File {
        #[n(0)]
        path: String,
        #[n(1)]
        saltenv: String,
    },
    /// Requests the names of all files of the controller's tree.
    #[n(1)]
    ListFiles {
        #[n(0)]
        saltenv: String,
        #[n(1)]
        prefix: String,
    },
    /// Requests the sha256 of a file of the controller's tree; null if it doesn't exist.
    #[n(2)]
    HashFile {
        #[n(0)]
        path: String,
        #[n(1)]
        saltenv: String,
    },
    /// Announces a file that the agent sends as a stream; the answer is sent when it is stored.
    #[n(3)]
    Push {
        #[n(0)]
        path: String,
        #[n(1)]
        size: u64,
    },
    /// Requests the content of an `http(s)://` address as a stream.
    #[n(4)]
    Url {
        #[n(0)]
        url: String,
    },
    /// Runs a function on other targets, if the peer rules allow it.
    #[n(5)]
    Publish {
        #[n(0)]
        target: String,
        /// `glob`, `list`, `compound` …, as in Salt's `tgt_type`.
        #[n(1)]
        target_type: String,
        #[n(2)]
        call: Box<Call>,
        /// In seconds.
        #[n(3)]
        timeout: u32,
    },
    /// Puts an event on the controller's bus.
    #[n(6)]
    Event(#[n(0)] Event),
    /// Shows a warning to the operator, besides the result.
    #[n(12)]
    Warning {
        #[n(0)]
        text: String,
        #[n(1)]
        hint: Option<String>,
    },
    /// Requests this target's pillar, with render errors under `_errors`. The target sends its grains; its identity is
    /// known to the controller by the link.
    #[n(7)]
    Pillar {
        #[n(0)]
        grains: Map,
        #[n(1)]
        saltenv: String,
        /// Empty for the configured one.
        #[n(2)]
        pillarenv: String,
        /// Merged over the rest, and visible to the templates.
        #[n(3)]
        given: Map,
    },
    /// Requests the controller's tree: `{environment: [[path, "f", size, mode] | [path, "d"] | [path, "l", target],
    /// ...]}`.
    #[n(8)]
    Tree,
    /// Requests the data of an external pillar, by its position in `ext_pillar`, for the machine whose pillar is being
    /// compiled, given the pillar so far. Only the controller's own machine may send this.
    #[n(10)]
    ExternalPillar {
        #[n(0)]
        number: u32,
        #[n(1)]
        pillar: Map,
    },
    /// Requests the outputs of a step on another target of the same job, once it has finished there, if the peer rules
    /// allow `state.outputs`.
    #[n(11)]
    Outputs {
        #[n(0)]
        target: String,
        #[n(1)]
        step: String,
    },
    /// Requests many small files at once: a list of bytes in the order of the names, null for a file that doesn't
    /// exist.
    #[n(9)]
    Files {
        #[n(0)]
        saltenv: String,
        #[n(1)]
        paths: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answer {
    #[n(0)]
    Ok(#[n(0)] Value),
    #[n(1)]
    Problem(#[n(0)] Problem),
}
