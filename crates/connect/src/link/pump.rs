//! Moves frames between the pipes of a link and its requests.

use std::sync::Weak;
use std::time::Duration;

use rocksalt_core::frame::{self, Decoder, Frame, Hello, LINK, Message, PROTOCOL};
use rocksalt_core::link::{LinkFailure, Stage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Link;
use crate::transport::Program;

/// The time limit for the greeting of the agent.
const GREETING_LIMIT: Duration = Duration::from_secs(20);
/// The interval of pings on an idle link.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// A link that received no frame for this long, in spite of pings, is lost.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);
/// Frames that are ready are written together, up to about this many bytes.
const BATCH: usize = 256 * 1024;

pub struct Pump {
    program: Program,
    decoder: Decoder,
}

/// Exchanges greetings.
pub async fn greet(mut program: Program, first_bytes: Vec<u8>, own: Hello) -> Result<(Hello, Pump), LinkFailure> {
    let broken = |text: String| {
        LinkFailure::new(Stage::Agent, text)
            .hint("does the target's login shell or a `.bashrc` print to standard output?")
    };
    let mut bytes = Vec::new();
    let hello = Frame::new(LINK, Message::Hello(own));
    frame::encode(&hello, &mut bytes).map_err(|error| broken(error.to_string()))?;
    let sent = async {
        program.stdin.write_all(&bytes).await?;
        program.stdin.flush().await
    };
    sent.await.map_err(|error| broken(format!("the agent ended as it started: {error}")))?;
    let mut decoder = Decoder::new();
    decoder.push(&first_bytes);
    let mut buffer = vec![0; 16 * 1024];
    let greeting = async {
        loop {
            match decoder.next_frame() {
                Ok(Some(Frame { id: LINK, message: Message::Hello(hello) })) => return Ok(hello),
                Ok(Some(_)) => return Err(broken("the agent did not greet".into())),
                Err(error) => return Err(broken(format!("the agent's greeting can't be read: {error}"))),
                Ok(None) => {}
            }
            match program.stdout.read(&mut buffer).await {
                Ok(count) if count > 0 => decoder.push(&buffer[..count]),
                _ => {
                    let mut said = Vec::new();
                    let mut rest = (&mut program.stderr).take(2048);
                    let _ = timeout(Duration::from_millis(300), rest.read_to_end(&mut said)).await;
                    let said = String::from_utf8_lossy(&said).trim().to_owned();
                    let hint = "its directory may be mounted noexec: name another with `thin_dir` in the roster";
                    return Err(
                        LinkFailure::new(Stage::Agent, format!("the agent ended as it started: {said}")).hint(hint)
                    );
                }
            }
        }
    };
    let hello = timeout(GREETING_LIMIT, greeting)
        .await
        .map_err(|_| broken(format!("the agent did not greet within {} seconds", GREETING_LIMIT.as_secs())))??;
    if hello.protocol != PROTOCOL {
        return Err(LinkFailure::new(
            Stage::Agent,
            format!(
                "the agent (version {}) speaks protocol {}, this controller (version {}) protocol {PROTOCOL}",
                hello.version,
                hello.protocol,
                env!("CARGO_PKG_VERSION")
            ),
        )
        .hint("use the same version on both ends"));
    }
    Ok((hello, Pump { program, decoder }))
}

impl Pump {
    /// Runs in the background until the link ends.
    pub fn run(self, link: Weak<Link>, outgoing: mpsc::UnboundedReceiver<Frame>) {
        let Program { stdin, stdout, stderr, .. } = self.program;
        let writer = tokio::spawn(write(stdin, outgoing));
        let stderr_tail = tokio::spawn(stderr_tail(stderr));
        tokio::spawn(async move {
            let mut failure = read(stdout, self.decoder, &link).await;
            writer.abort();
            // An agent that crashed reports it on stderr only.
            if let Ok(Ok(words)) = timeout(Duration::from_millis(200), stderr_tail).await
                && !words.is_empty()
            {
                failure.text = format!("{}; it said: {words}", failure.text);
            }
            if let Some(link) = link.upgrade() {
                link.mark_lost(failure);
            }
        });
    }
}

async fn read(mut pipe: impl tokio::io::AsyncRead + Unpin, mut decoder: Decoder, link: &Weak<Link>) -> LinkFailure {
    // Small, since every idle link has one.
    let mut buffer = vec![0; 8 * 1024];
    let mut silent = Duration::ZERO;
    loop {
        loop {
            match decoder.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => match link.upgrade() {
                    Some(link) if frame.message != Message::Pong => link.route(frame),
                    Some(_) => {}
                    None => return LinkFailure::new(Stage::Link, "the link was closed"),
                },
                Err(error) => {
                    return LinkFailure::new(Stage::Link, format!("the agent sent an invalid frame: {error}"));
                }
            }
        }
        match timeout(PING_INTERVAL, pipe.read(&mut buffer)).await {
            Ok(Ok(count)) if count > 0 => {
                silent = Duration::ZERO;
                decoder.push(&buffer[..count]);
                if count == buffer.len() && buffer.len() < 64 * 1024 {
                    buffer.resize(64 * 1024, 0);
                }
            }
            Ok(Ok(_)) => {
                return LinkFailure::new(Stage::Link, "the connection was closed by the target")
                    .hint("the agent or the SSH server there ended; run it again to connect anew");
            }
            Ok(Err(error)) => return LinkFailure::new(Stage::Link, format!("the connection broke: {error}")),
            Err(_) => {
                silent += PING_INTERVAL;
                let Some(link) = link.upgrade() else { return LinkFailure::new(Stage::Link, "the link was closed") };
                if silent >= SILENCE_LIMIT {
                    return LinkFailure::new(
                        Stage::Link,
                        format!("the target sent nothing for {} seconds", silent.as_secs()),
                    )
                    .hint("the network is cut, or the target hangs");
                }
                let _ = link.frames.send(Frame::new(LINK, Message::Ping));
            }
        }
    }
}

async fn write(mut pipe: impl tokio::io::AsyncWrite + Unpin, mut frames: mpsc::UnboundedReceiver<Frame>) {
    let mut bytes = Vec::new();
    while let Some(frame) = frames.recv().await {
        bytes.clear();
        // The size of calls was checked earlier.
        let _ = frame::encode(&frame, &mut bytes);
        while bytes.len() < BATCH {
            match frames.try_recv() {
                Ok(frame) => drop(frame::encode(&frame, &mut bytes)),
                Err(_) => break,
            }
        }
        if pipe.write_all(&bytes).await.is_err() || pipe.flush().await.is_err() {
            return;
        }
        bytes.shrink_to(8 * 1024);
    }
    let _ = pipe.shutdown().await;
}

/// Reads to the end and keeps the last 300 bytes.
async fn stderr_tail(mut pipe: impl tokio::io::AsyncRead + Unpin) -> String {
    let mut buffer = [0; 256];
    let mut last: Vec<u8> = Vec::new();
    while let Ok(count) = pipe.read(&mut buffer).await
        && count > 0
    {
        last.extend_from_slice(&buffer[..count]);
        last.drain(..last.len().saturating_sub(300));
    }
    String::from_utf8_lossy(&last).trim().replace('\n', " ")
}
