//! Links to targets: their keys, the stages of opening them, and failures.

use std::fmt;

use minicbor::{Decode, Encode};

/// Identifies a link: it is opened once, and then shared by all callers with an equal key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct LinkKey {
    #[n(0)]
    pub transport: String,
    #[n(1)]
    pub user: String,
    #[n(2)]
    pub address: String,
    #[n(3)]
    pub port: u16,
    /// The method and the user of the escalation after the login (`sudo:root`); empty if there is none.
    #[n(4)]
    pub escalated: String,
}

impl fmt::Display for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}@{}:{}", self.transport, self.user, self.address, self.port)?;
        if self.escalated.is_empty() { Ok(()) } else { write!(f, "+{}", self.escalated) }
    }
}

/// The kind of agent: the small one is uploaded first, the whole one when a call needs it
/// (docs/decisions/0018-a-small-agent-goes-first.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum AgentKind {
    #[n(0)]
    Small,
    #[default]
    #[n(1)]
    Whole,
}

impl AgentKind {
    pub fn name(self) -> &'static str {
        match self {
            AgentKind::Small => "small",
            AgentKind::Whole => "whole",
        }
    }
}

/// The stages of opening a link, in order. Each stage has its own failures and hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Stage {
    /// The roster entry and the ssh configuration are valid.
    #[n(0)]
    Settings,
    /// The name was resolved to an address.
    #[n(1)]
    Resolve,
    /// The TCP connection is open.
    #[n(2)]
    Connect,
    /// The SSH server sent its banner.
    #[n(3)]
    Banner,
    #[n(4)]
    KeyExchange,
    /// The host key is the expected one.
    #[n(5)]
    HostKey,
    #[n(6)]
    Login,
    /// The server started a command.
    #[n(7)]
    Session,
    /// sudo, su or doas succeeded.
    #[n(8)]
    Escalate,
    /// The agent is on the target.
    #[n(9)]
    Upload,
    /// The agent runs and speaks the same protocol.
    #[n(10)]
    Agent,
    /// The link was open and broke.
    #[n(11)]
    Link,
}

impl Stage {
    pub const ALL: [Stage; 12] = [
        Stage::Settings,
        Stage::Resolve,
        Stage::Connect,
        Stage::Banner,
        Stage::KeyExchange,
        Stage::HostKey,
        Stage::Login,
        Stage::Session,
        Stage::Escalate,
        Stage::Upload,
        Stage::Agent,
        Stage::Link,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Settings => "settings",
            Stage::Resolve => "resolve",
            Stage::Connect => "connect",
            Stage::Banner => "banner",
            Stage::KeyExchange => "key exchange",
            Stage::HostKey => "host key",
            Stage::Login => "login",
            Stage::Session => "session",
            Stage::Escalate => "sudo",
            Stage::Upload => "upload",
            Stage::Agent => "agent",
            Stage::Link => "link",
        }
    }
}

/// Why a target could not be reached: the stage, the cause and a hint.
///
/// Nothing ran on the target, except if the stage is `Link`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, thiserror::Error)]
#[error("{text}")]
pub struct LinkFailure {
    #[n(0)]
    pub stage: Stage,
    #[n(1)]
    pub text: String,
    /// What the user can do.
    #[n(2)]
    pub hint: Option<String>,
    /// A retry might help: the server was only overloaded.
    #[n(3)]
    pub busy: bool,
}

impl LinkFailure {
    pub fn new(stage: Stage, text: impl Into<String>) -> LinkFailure {
        LinkFailure { stage, text: text.into(), hint: None, busy: false }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> LinkFailure {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn busy(mut self) -> LinkFailure {
        self.busy = true;
        self
    }
}

/// An open link, for `rocksalt links`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Info {
    #[n(0)]
    pub key: LinkKey,
    /// The target's id.
    #[n(1)]
    pub target: String,
    /// The time when it was opened, in seconds since 1970.
    #[n(2)]
    pub since: u64,
    /// Seconds since a call last started or ended.
    #[n(3)]
    pub idle: u64,
    /// The number of calls so far.
    #[n(4)]
    pub calls: u64,
    /// The running calls: each with its caller and function.
    #[n(5)]
    pub users: Vec<String>,
    #[n(6)]
    pub agent_version: String,
    /// The agent's process on the target.
    #[n(7)]
    pub agent_pid: u32,
    #[n(8)]
    pub agent_kind: AgentKind,
}
