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

use super::reply::ErrorResponse;
use super::session::{self, SaltSession};
use super::{events, middleware};
use crate::api::Api;
use crate::api::stream::EventStream;

/// The client's first message.
const READY: &str = "websocket client ready";

/// Time limit for the first message, and for sending.
const TIMEOUT: Duration = Duration::from_secs(30);

pub async fn listen(State(api): State<Arc<Api>>, request: Request) -> Result<Response, ErrorResponse> {
    open(api, request, None).await
}

/// With the token in the URL, if the configuration allows that.
pub async fn listen_with(
    State(api): State<Arc<Api>>,
    Path(token): Path<String>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    open(api, request, Some(token)).await
}

async fn open(api: Arc<Api>, request: Request, token: Option<String>) -> Result<Response, ErrorResponse> {
    let (mut parts, _) = request.into_parts();
    let session: SaltSession = match token {
        Some(token) => session::by_token(&api, &parts, &token).await?,
        None => session::authenticate(&api, &parts).await?,
    };
    // Browsers let any page open a WebSocket, and send the cookie with it.
    if !middleware::is_same_site(&api, &parts) {
        return Err(ErrorResponse::unauthorized("not allowed from another site's page"));
    }
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &api)
        .await
        .map_err(|_| ErrorResponse::new(StatusCode::BAD_REQUEST, "a WebSocket upgrade is required"))?;
    let stream = events::listen(&api, &parts, session, "", Vec::new()).await?;
    Ok(upgrade.max_message_size(64 << 10).on_upgrade(move |socket| serve(socket, stream)))
}

async fn serve(mut socket: WebSocket, stream: EventStream) {
    loop {
        match timeout(TIMEOUT, socket.recv()).await {
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
                    if !matches!(timeout(TIMEOUT, socket.send(frame)).await, Ok(Ok(()))) {
                        return;
                    }
                }
            }
            // Reading also answers pings.
            heard = socket.recv() => if !matches!(heard, Some(Ok(_))) { return },
        }
    }
}

/// One frame for each event, `data: {…}`; a ping for a keep-alive.
fn frames(piece: &Bytes) -> Vec<Message> {
    if piece.starts_with(b":") {
        return vec![Message::Ping(Bytes::new())];
    }
    let text = String::from_utf8_lossy(piece);
    let lines = text.lines().filter(|line| line.starts_with("data: "));
    lines.map(|line| Message::Text(Utf8Bytes::from(format!("{line}\n\n")))).collect()
}
