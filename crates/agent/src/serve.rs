//! The agent's main loop: reads frames and starts calls until the link ends.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rocksalt_core::frame::{Decoder, Error, FIRST_ASK, Hello, LINK, Message, PROTOCOL};
use rocksalt_modules::machine::{Base, StopSignal};

use crate::calls::RunningCalls;
use crate::install_directory;
use crate::language;
use crate::link::AgentLink;
use crate::{kept_calls, private_files};

/// After this many silent seconds the controller counts as gone: it pings far more often.
const SILENCE: u64 = 90;

/// How the link to the controller ended.
pub enum LinkEnd {
    /// The controller said goodbye, or closed the link.
    Finished,
    /// The link broke; running calls were stopped, except for kept ones.
    LinkLost,
    /// The controller sent something that is not our protocol; running calls were stopped, except for kept ones.
    Protocol(String),
}

/// Serves the link until it ends. `home` is the directory that the agent was installed to, if any.
pub fn serve(mut input: impl Read, output: impl Write + Send + 'static, home: Option<&Path>) -> LinkEnd {
    private_files::set_home(home);
    let link = Arc::new(AgentLink::new(Box::new(output)));
    let greeting = Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        agent_kind: language::AGENT_KIND,
    };
    if !link.send(LINK, Message::Hello(greeting)) {
        return LinkEnd::LinkLost;
    }
    let calls: Arc<OnceLock<Arc<RunningCalls>>> = Arc::default();
    let watched = (Arc::clone(&link), Arc::clone(&calls));
    std::thread::spawn(move || exit_when_lost(&watched.0, &watched.1));

    let mut decoder = Decoder::new();
    let mut buffer = vec![0; 64 * 1024];
    let ended = loop {
        let count = match input.read(&mut buffer) {
            Ok(0) => break LinkEnd::Finished,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break LinkEnd::LinkLost,
        };
        link.hear();
        decoder.push(&buffer[..count]);
        match dispatch_frames(&mut decoder, &link, &calls) {
            Ok(None) => {}
            Ok(Some(Goodbye { wipe })) => {
                if let Some(home) = home.filter(|_| wipe) {
                    install_directory::wipe(home);
                }
                break LinkEnd::Finished;
            }
            Err(error) => break LinkEnd::Protocol(error),
        }
    };
    link.lose();
    if let Some(calls) = calls.get() {
        calls.drain();
    }
    ended
}

struct Goodbye {
    wipe: bool,
}

/// Dispatches all complete frames, until the controller says goodbye.
fn dispatch_frames(
    decoder: &mut Decoder,
    link: &Arc<AgentLink>,
    calls: &OnceLock<Arc<RunningCalls>>,
) -> Result<Option<Goodbye>, String> {
    while let Some(frame) = decoder.next_frame().map_err(explain)? {
        match (frame.message, calls.get()) {
            (Message::Hello(hello), None) => {
                let base = base(hello)?;
                calls.get_or_init(|| Arc::new(RunningCalls::new(base, Arc::clone(link))));
            }
            (Message::Ping, _) => drop(link.send(LINK, Message::Pong)),
            (Message::Bye { wipe }, _) => return Ok(Some(Goodbye { wipe })),
            (Message::Call(call), Some(calls)) if frame.id != LINK && frame.id < FIRST_ASK => {
                calls.start(frame.id, *call);
            }
            (Message::Cancel, Some(calls)) => calls.stop(frame.id, StopSignal::Term),
            (Message::Kill, Some(calls)) => calls.stop(frame.id, StopSignal::Kill),
            (Message::Abandon, Some(calls)) => calls.abandon(frame.id),
            (Message::Stored { job, target }, Some(_)) => kept_calls::forget(job, &target),
            (message @ (Message::Answer(_) | Message::Data(_) | Message::Credit(_)), Some(_)) => {
                link.deliver(frame.id, message);
            }
            (Message::Pong, _) => {}
            (other, _) => return Err(format!("unexpected {other:?} for request {}", frame.id)),
        }
    }
    Ok(None)
}

fn explain(error: Error) -> String {
    match &error {
        Error::Malformed(cause) => format!("{error}: {cause}"),
        Error::TooLarge(_) => error.to_string(),
    }
}

fn base(hello: Hello) -> Result<Arc<Base>, String> {
    if hello.protocol != PROTOCOL {
        return Err(format!(
            "the controller (version {}) speaks protocol {}, this agent (version {}) protocol {PROTOCOL}",
            hello.version,
            hello.protocol,
            env!("CARGO_PKG_VERSION")
        ));
    }
    // This path works even after the program's file has been removed.
    let launcher = PathBuf::from("/proc/self/exe");
    Ok(Arc::new(Base::with(Some(launcher), language::grains).beside(kept_calls::other_agents_calls)))
}

/// Ends the process when the controller has vanished without closing the link, once all kept calls have ended.
fn exit_when_lost(link: &AgentLink, calls: &OnceLock<Arc<RunningCalls>>) {
    loop {
        std::thread::sleep(Duration::from_secs(5));
        if link.lost() || link.silence() > SILENCE {
            link.lose();
            if let Some(calls) = calls.get() {
                calls.drain();
            }
            std::process::exit(1);
        }
    }
}
