//! Requests about what runs now: `GET events`, `GET picture/PROCESS/TRIAL`, and `POST order/PROCESS`.

use std::convert::Infallible;
use std::sync::Arc;

use apprentice_control::{Answer, Order};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::http::{Method, Response, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use crate::control::Processes;
use crate::response::{plain, response};
use crate::shown::Shown;

/// The longest order in bytes.
const ORDER: usize = 256 << 10;

/// Answers a request below `control/`. Its token and its origin were checked.
pub(crate) async fn answer(shown: &Arc<Shown>, wanted: &str, request: Request) -> Response<Body> {
    let parts: Vec<String> =
        wanted.split('/').map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let is_post = request.method() == Method::POST;
    match (is_post, parts.as_slice()) {
        (false, ["events"]) => events(Arc::clone(shown)),
        (false, ["picture", process, trial]) => match process.parse() {
            Ok(process) => picture(&shown.processes, process, trial).await,
            Err(_) => plain(StatusCode::NOT_FOUND, "there is no such process"),
        },
        (true, ["order", process]) => match process.parse() {
            Ok(process) => order(&shown.processes, process, request).await,
            Err(_) => plain(StatusCode::NOT_FOUND, "there is no such process"),
        },
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "this is not something to ask or to order"),
    }
}

fn events(shown: Arc<Shown>) -> Response<Body> {
    let (page, states) = Processes::channel();
    tokio::spawn(async move { shown.processes.follow(&shown.library, page).await });
    let stream = futures_util::stream::unfold(states, |mut states| async move {
        let state = states.recv().await?;
        Some((Ok::<_, Infallible>(state), states))
    });
    response(StatusCode::OK, "text/event-stream", Body::from_stream(stream))
}

async fn picture(processes: &Processes, process: u32, trial: &str) -> Response<Body> {
    let picture = match processes.picture(process, trial).await {
        Ok(picture) => picture,
        Err(error) => return plain(StatusCode::NOT_FOUND, &error.to_string()),
    };
    let media = match picture.media.as_str() {
        "image/png" => "image/png",
        "image/jpeg" => "image/jpeg",
        "image/webp" => "image/webp",
        _ => return plain(StatusCode::UNPROCESSABLE_ENTITY, "this is not a picture"),
    };
    match STANDARD.decode(picture.base64) {
        Ok(bytes) => response(StatusCode::OK, media, Body::from(bytes)),
        Err(error) => plain(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

async fn order(processes: &Processes, process: u32, request: Request) -> Response<Body> {
    // A form of another page cannot send this type without asking first.
    if !is_json(request.headers()) {
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "an order is JSON");
    }
    let Ok(body) = to_bytes(request.into_body(), ORDER).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "the order is too long");
    };
    let order: Order = match serde_json::from_slice(&body) {
        Ok(order) => order,
        Err(error) => return plain(StatusCode::BAD_REQUEST, &format!("not an order: {error}")),
    };
    match processes.order(process, &order).await {
        Ok(Answer::Refused { why }) => plain(StatusCode::CONFLICT, &why),
        Ok(answer) => match serde_json::to_string(&answer) {
            Ok(text) => response(StatusCode::OK, "application/json", Body::from(text)),
            Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        },
        Err(error) => plain(StatusCode::BAD_GATEWAY, &error.to_string()),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    media.is_some_and(|media| media.split(';').next().is_some_and(|media| media.trim() == "application/json"))
}
