//! Runs commands over a connection.

use async_trait::async_trait;
use rocksalt_core::link::{LinkFailure, Stage};
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::sync::watch;

use super::connection::Connection;
use crate::transport::{LoginSession, Program};

/// The size of the buffer between the connection and a reader.
const BUFFER: usize = 64 * 1024;

#[async_trait]
impl LoginSession for Connection {
    async fn exec(&self, command: &str, tty: bool) -> Result<Program, LinkFailure> {
        let failure = |error: russh::Error| {
            LinkFailure::new(Stage::Session, format!("the server would not start a command: {error}"))
                .hint("is the account allowed to run commands (ForceCommand, MaxSessions, a restricted shell)?")
        };
        let channel = self.handle.channel_open_session().await.map_err(failure)?;
        if tty {
            channel.request_pty(false, "dumb", 80, 24, 0, 0, &[]).await.map_err(failure)?;
        }
        // Does not wait for the reply: a refusal ends the channel, which is noticed anyway.
        channel.exec(false, command).await.map_err(failure)?;
        let (read, write) = channel.split();
        let (stdout, to_stdout) = tokio::io::duplex(BUFFER);
        let (stderr, to_stderr) = tokio::io::duplex(BUFFER);
        let stdin = Box::new(Box::pin(write.make_writer()));
        let (to_room, room) = watch::channel(0);
        tokio::spawn(receive(read, write, to_stdout, to_stderr, to_room));
        Ok(Program { stdin, stdout: Box::new(stdout), stderr: Box::new(stderr), room: Some(room) })
    }

    fn near(&self) -> bool {
        self.near
    }

    async fn close(&self) {
        self.disconnect().await;
    }
}

/// Splits the messages of a channel into stdout and stderr.
async fn receive(
    mut channel: ChannelReadHalf,
    other_half: ChannelWriteHalf<client::Msg>,
    mut stdout: DuplexStream,
    mut stderr: DuplexStream,
    room: watch::Sender<u32>,
) {
    while let Some(message) = channel.wait().await {
        let written = match message {
            ChannelMsg::Data { data } => stdout.write_all(&data).await,
            ChannelMsg::ExtendedData { data, ext: 1 } => stderr.write_all(&data).await,
            ChannelMsg::Failure => stderr.write_all(b"the server refused to start the command").await,
            ChannelMsg::Close => break,
            ChannelMsg::WindowAdjusted { new_size } => {
                room.send_replace(new_size);
                Ok(())
            }
            _ => Ok(()),
        };
        if written.is_err() {
            break;
        }
    }
    // Closing the channel also ends a command whose reader has gone.
    let _ = other_half.close().await;
    let _ = stdout.shutdown().await;
    let _ = stderr.shutdown().await;
}
