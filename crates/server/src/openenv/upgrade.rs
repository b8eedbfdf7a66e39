//! Turns a request into a WebSocket. axum's own needs another version of `tungstenite` than the DevTools client has.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::conversation::Conversation;
use crate::pool::{MAX_REQUEST_BYTES, Pool, Refusal};

/// Largest message that is read, in bytes, so that one that is too large is answered. Larger ones end the connection.
const MAX_READ_BYTES: usize = 4 * MAX_REQUEST_BYTES;

/// `GET /ws`: speaks OpenEnv's protocol on the connection.
pub(crate) async fn upgrade(State(pool): State<Arc<Pool>>, mut request: Request) -> Response {
    let key = match accept_key(&request) {
        Ok(key) => key,
        Err(refusal) => return refusal.into_response(),
    };
    let upgrading = hyper::upgrade::on(&mut request);
    let served = Arc::clone(&pool);
    pool.tasks.spawn(async move {
        let upgraded = tokio::select! {
            upgraded = upgrading => upgraded,
            () = served.cancel.cancelled() => return,
        };
        match upgraded {
            Ok(connection) => {
                let config = WebSocketConfig::default()
                    .max_message_size(Some(MAX_READ_BYTES))
                    .max_frame_size(Some(MAX_READ_BYTES))
                    .read_buffer_size(16 << 10)
                    .write_buffer_size(0);
                let socket =
                    WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, Some(config))
                        .await;
                Conversation::hold(served, socket).await;
            }
            Err(error) => tracing::debug!(%error, "a connection did not become a socket"),
        }
    });
    let headers =
        [(CONNECTION, "upgrade".to_owned()), (UPGRADE, "websocket".to_owned()), (SEC_WEBSOCKET_ACCEPT, key)];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

fn accept_key(request: &Request) -> Result<String, Refusal> {
    let headers = request.headers();
    let names = |name: HeaderName, word: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|given| given.trim().eq_ignore_ascii_case(word))
    };
    let is_socket =
        request.method() == Method::GET && names(CONNECTION, "upgrade") && names(UPGRADE, "websocket");
    if !is_socket {
        let why = "/ws is a WebSocket: connect to it as OpenEnv's client does";
        return Err(Refusal::new(StatusCode::UPGRADE_REQUIRED, "no_socket", why));
    }
    if !names(SEC_WEBSOCKET_VERSION, "13") {
        return Err(Refusal::malformed("the socket's version is not 13"));
    }
    let key = key_of(headers).ok_or_else(|| Refusal::malformed("the request has no Sec-WebSocket-Key"))?;
    Ok(derive_accept_key(key))
}

fn key_of(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(SEC_WEBSOCKET_KEY).map(axum::http::HeaderValue::as_bytes)
}
