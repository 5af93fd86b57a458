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
    /// First on a link, from both sides.
    #[n(0)]
    Hello(#[n(0)] Hello),
    /// Run this function; ends with a `Return` under the same id.
    #[n(1)]
    Call(#[n(0)] Box<Call>),
    /// Stop a call; it still ends with a `Return`.
    #[n(2)]
    Cancel,
    #[n(3)]
    Return(#[n(0)] Box<Return>),
    /// Part of a request's stream.
    #[n(4)]
    Data(#[n(0)] Data),
    /// The receiver has read this many bytes of the stream, so as many more may be sent.
    #[n(5)]
    Credit(#[n(0)] u32),
    /// The agent needs something from the controller for the call `parent`; ends with an `Answer`.
    #[n(6)]
    Ask(#[n(0)] RequestId, #[n(1)] Ask),
    #[n(7)]
    Answer(#[n(0)] Answer),
    #[n(8)]
    Ping,
    #[n(9)]
    Pong,
    /// Ends the agent; with `wipe` it also removes its own file.
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
    /// Stop a call, and what it started at once (SIGKILL); it still ends with a `Return`.
    #[n(12)]
    Kill,
    /// Nobody waits for a call's result any more. The call is stopped, unless it is kept.
    #[n(13)]
    Abandon,
    /// A diagnostic line about the request, if its call asked for such lines. Not paid for with credits: the
    /// receiver drops what comes too fast.
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
    /// What the agent can do; the controller's value is not used.
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
    /// How far a run is: a JSON object with `done`, `total` and what runs now.
    #[n(3)]
    Progress,
}

/// What an agent may ask of the controller.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Ask {
    /// The content of a file of the controller's tree, as a stream; the answer is its sha256 and size.
    #[n(0)]
    File {
        #[n(0)]
        path: String,
        #[n(1)]
        saltenv: String,
    },
    /// The names of all files of the controller's tree.
    #[n(1)]
    ListFiles {
        #[n(0)]
        saltenv: String,
        #[n(1)]
        prefix: String,
    },
    /// The sha256 of a file of the controller's tree; null if there is no such file.
    #[n(2)]
    HashFile {
        #[n(0)]
        path: String,
        #[n(1)]
        saltenv: String,
    },
    /// The agent will send a file's content as a stream; the answer comes when it is stored.
    #[n(3)]
    Push {
        #[n(0)]
        path: String,
        #[n(1)]
        size: u64,
    },
    /// The content behind an `http(s)://` address, as a stream.
    #[n(4)]
    Url {
        #[n(0)]
        url: String,
    },
    /// Run a function on other targets, if the peer rules allow it.
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
    /// Put an event on the controller's bus.
    #[n(6)]
    Event(#[n(0)] Event),
    /// Show a warning to the operator, beside the result.
    #[n(12)]
    Warning {
        #[n(0)]
        text: String,
        #[n(1)]
        hint: Option<String>,
    },
    /// This target's pillar, with what did not render under `_errors`. The target says what its grains
    /// are; the controller knows by the link which target it is.
    #[n(7)]
    Pillar {
        #[n(0)]
        grains: Map,
        #[n(1)]
        saltenv: String,
        /// Empty: as configured.
        #[n(2)]
        pillarenv: String,
        /// Merged over the rest, and visible while the rest renders.
        #[n(3)]
        given: Map,
    },
    /// The controller's tree: `{environment: [[path, "f", size, mode] | [path, "d"] | [path, "l", target], ...]}`.
    #[n(8)]
    Tree,
    /// What the external pillar of this number (in the order of `ext_pillar`) has for the machine
    /// whose pillar is being compiled, given the pillar so far. Only the controller's own machine may ask.
    #[n(10)]
    ExternalPillar {
        #[n(0)]
        number: u32,
        #[n(1)]
        pillar: Map,
    },
    /// The outputs of a step on another target of the same job, once it has ended there, if the peer
    /// rules allow `state.outputs`.
    #[n(11)]
    Outputs {
        #[n(0)]
        target: String,
        #[n(1)]
        step: String,
    },
    /// Many small files at once, in the order of their names: a list of bytes, null for one that isn't there.
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
