//! `/ws`: the same events over a WebSocket.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::reply::Refused;
use super::session::{self, Session};
use super::{door, events};
use crate::api::Api;
use crate::api::stream::Stream;

/// What a client says first.
const READY: &str = "websocket client ready";

/// Whoever says nothing for so long at the beginning, or takes nothing later, is gone.
const PATIENCE: Duration = Duration::from_secs(30);

pub async fn listen(State(api): State<Arc<Api>>, request: Request) -> Result<Response, Refused> {
    open(api, request, None).await
}

/// With the token in the address: only where the configuration allows that.
pub async fn listen_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    open(api, request, Some(token)).await
}

async fn open(api: Arc<Api>, request: Request, token: Option<String>) -> Result<Response, Refused> {
    let (mut parts, _) = request.into_parts();
    let session: Session = match token {
        Some(token) => session::by_token(&api, &parts, &token).await?,
        None => session::of(&api, &parts).await?,
    };
    // Browsers let any page open one, and send the cookie along.
    if !door::is_own(&api, &parts) {
        return Err(Refused::unauthorized("another site's page may not listen"));
    }
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &api)
        .await
        .map_err(|_| Refused::new(StatusCode::BAD_REQUEST, "this is for WebSockets"))?;
    let stream = events::listen(&api, &parts, session, "", Vec::new()).await?;
    Ok(upgrade.max_message_size(64 << 10).on_upgrade(move |socket| serve(socket, stream)))
}

async fn serve(mut socket: WebSocket, stream: Stream) {
    loop {
        match timeout(PATIENCE, socket.recv()).await {
            Ok(Some(Ok(Message::Text(text)))) if text.as_str() == READY => break,
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            _ => return,
        }
    }
    let (sender, mut pieces) = mpsc::channel::<Bytes>(4);
    tokio::spawn(stream.pump(sender));
    loop {
        tokio::select! {
            piece = pieces.recv() => {
                let Some(piece) = piece else { return };
                for frame in frames(&piece) {
                    if !matches!(timeout(PATIENCE, socket.send(frame)).await, Ok(Ok(()))) {
                        return;
                    }
                }
            }
            // Pings are answered by reading.
            heard = socket.recv() => if !matches!(heard, Some(Ok(_))) { return },
        }
    }
}

/// One frame for each event, `data: {…}`; where nothing happened a ping keeps the line.
fn frames(piece: &Bytes) -> Vec<Message> {
    if piece.starts_with(b":") {
        return vec![Message::Ping(Bytes::new())];
    }
    let text = String::from_utf8_lossy(piece);
    let lines = text.lines().filter(|line| line.starts_with("data: "));
    lines.map(|line| Message::Text(Utf8Bytes::from(format!("{line}\n\n")))).collect()
}
