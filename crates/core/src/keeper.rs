//! The messages between commands and the keeper, over its socket.

use std::path::PathBuf;

use minicbor::{Decode, Encode};

use crate::frame::{Message, RequestId};
use crate::link::{AgentKind, Info, LinkFailure, Stage};
use crate::log::{LogLevel, LogRecord};
use crate::roster::RosterEntry;
use crate::secret::{Secret, sealed};

/// Messages from a command to the keeper.
#[derive(Clone, Debug, Encode, Decode)]
pub enum ToKeeper {
    /// The first message. The keeper exits if its build differs.
    #[n(0)]
    Hello {
        #[n(0)]
        build: String,
        /// The command's ssh-agent.
        #[n(1)]
        agent_socket: Option<PathBuf>,
    },
    /// Requests a link.
    #[n(1)]
    Open {
        #[n(0)]
        ticket: u32,
        #[n(1)]
        entry: Box<RosterEntry>,
        #[n(2)]
        wipe: bool,
        /// Report each stage.
        #[n(3)]
        verbose: bool,
        /// The kind of agent that is needed.
        #[n(4)]
        agent_kind: AgentKind,
        /// Report diagnostic lines of the login up to this level.
        #[n(5)]
        log: Option<LogLevel>,
    },
    /// Starts a request on an open link.
    #[n(2)]
    Start {
        #[n(0)]
        channel: u32,
        #[n(1)]
        ticket: u32,
        #[n(2)]
        user: String,
    },
    /// A frame of a request.
    #[n(3)]
    Frame {
        #[n(0)]
        channel: u32,
        #[n(1)]
        id: RequestId,
        #[n(2)]
        message: Message,
    },
    /// Abandons a request.
    #[n(4)]
    End {
        #[n(0)]
        channel: u32,
    },
    #[n(5)]
    List,
    /// Closes the links of these targets, or all if there are none.
    #[n(6)]
    Close {
        #[n(0)]
        targets: Vec<String>,
        /// Remove the agents from the targets too.
        #[n(1)]
        wipe: bool,
    },
    /// The user's answer to a question.
    #[n(7)]
    Secret {
        #[n(0)]
        question: u32,
        #[cbor(n(1), with = "sealed")]
        answer: Option<Secret>,
    },
    /// Closes all links and exits.
    #[n(8)]
    Stop,
    /// Requests the small agent that still runs beside the whole one, if it does.
    #[n(9)]
    SecondaryAgent {
        #[n(0)]
        ticket: u32,
        #[n(1)]
        entry: Box<RosterEntry>,
    },
}

/// Messages from the keeper to a command.
#[derive(Clone, Debug, Encode, Decode)]
pub enum FromKeeper {
    #[n(0)]
    Hello {
        #[n(0)]
        build: String,
    },
    #[n(1)]
    Opened {
        #[n(0)]
        ticket: u32,
    },
    #[n(2)]
    Failed {
        #[n(0)]
        ticket: u32,
        #[n(1)]
        failure: LinkFailure,
    },
    #[n(3)]
    Reached {
        #[n(0)]
        ticket: u32,
        #[n(1)]
        stage: Stage,
    },
    /// A diagnostic line about a link that is being opened.
    #[n(10)]
    Log {
        #[n(0)]
        ticket: u32,
        #[n(1)]
        record: LogRecord,
    },
    #[n(4)]
    Frame {
        #[n(0)]
        channel: u32,
        #[n(1)]
        id: RequestId,
        #[n(2)]
        message: Message,
    },
    /// The link of a request broke.
    #[n(5)]
    Lost {
        #[n(0)]
        channel: u32,
        #[n(1)]
        failure: LinkFailure,
    },
    #[n(6)]
    Links {
        #[n(0)]
        links: Vec<Info>,
    },
    #[n(7)]
    Closed {
        #[n(0)]
        count: u32,
    },
    /// Prints a message at the terminal.
    #[n(9)]
    Notice {
        #[n(0)]
        text: String,
    },
    /// Asks the user at the terminal.
    #[n(8)]
    Question {
        #[n(0)]
        question: u32,
        #[n(1)]
        text: String,
    },
}
