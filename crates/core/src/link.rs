//! What is known of a link to a target: its key, how far it got, and why it failed.

use std::fmt;

use minicbor::{Decode, Encode};

/// By this a link is found again: it's made once, and then used by whoever names the same.
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
    /// Whom the agent became after the login (`sudo:root`); empty if nobody else.
    #[n(4)]
    pub escalated: String,
}

impl fmt::Display for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}@{}:{}", self.transport, self.user, self.address, self.port)?;
        if self.escalated.is_empty() { Ok(()) } else { write!(f, "+{}", self.escalated) }
    }
}

/// Which of the two agents: the small one is sent first, the whole one when a call needs it
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

/// How far one gets on the way to a target. Each stage has its own failures and ways out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Stage {
    /// The roster entry and the ssh configuration make sense.
    #[n(0)]
    Settings,
    /// The name has an address.
    #[n(1)]
    Resolve,
    /// A TCP connection stands.
    #[n(2)]
    Connect,
    /// An SSH server greeted.
    #[n(3)]
    Banner,
    #[n(4)]
    KeyExchange,
    /// The host's key is the one expected.
    #[n(5)]
    HostKey,
    #[n(6)]
    Login,
    /// The server lets us start a command.
    #[n(7)]
    Session,
    /// sudo, su or doas let us through.
    #[n(8)]
    Escalate,
    /// The agent is on the target.
    #[n(9)]
    Upload,
    /// The agent runs and speaks our protocol.
    #[n(10)]
    Agent,
    /// The link stood and broke.
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

/// Why a target could not be reached: where it stopped, what happened, what to do.
///
/// Nothing was run on the target, except where the stage is `Link`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, thiserror::Error)]
#[error("{text}")]
pub struct LinkFailure {
    #[n(0)]
    pub stage: Stage,
    #[n(1)]
    pub text: String,
    /// The way out.
    #[n(2)]
    pub hint: Option<String>,
    /// Trying again might help: the server was busy, not unwilling.
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

/// A link that is up, for `rocksalt links`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Info {
    #[n(0)]
    pub key: LinkKey,
    /// The target's id.
    #[n(1)]
    pub target: String,
    /// Seconds since 1970.
    #[n(2)]
    pub since: u64,
    /// Seconds since the last call ended or began.
    #[n(3)]
    pub idle: u64,
    /// How many calls there were.
    #[n(4)]
    pub calls: u64,
    /// What runs now: who asked, and which function.
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
