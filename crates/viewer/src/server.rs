//! Serves the pages and documents of a library on this machine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apprentice_listening::Patience;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::{Method, Response, StatusCode};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access::{ViewerToken, refusal};
use crate::control_answer;
use crate::document::{Document, DocumentError};
use crate::page;
use crate::report_page;
use crate::response::{plain, response};
use crate::shown::Shown;
use apprentice_runs::layout::REPORT_HTML;

/// How long open requests may delay the end.
const GRACE: Duration = Duration::from_secs(2);

/// A server that cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the viewer cannot accept connections")]
pub struct ServeError(#[from] std::io::Error);

struct Viewer {
    shown: Arc<Shown>,
    token: ViewerToken,
    port: u16,
}

/// The address of the first page.
pub fn address(bound: SocketAddr, token: &ViewerToken) -> String {
    format!("http://{bound}/{}/", token.as_str())
}

/// Answers requests until it is cancelled. Changes nothing on disk; orders go to the processes that run trials.
///
/// # Errors
///
/// Fails if the listener breaks. What goes wrong with one request is answered there.
pub async fn serve(
    listener: TcpListener,
    shown: Shown,
    token: ViewerToken,
    cancel: CancellationToken,
) -> Result<(), ServeError> {
    let port = listener.local_addr()?.port();
    let viewer = Viewer { shown: Arc::new(shown), token, port };
    let app = Router::new().fallback(answer).with_state(Arc::new(viewer));
    Ok(apprentice_listening::serve(listener, app, cancel, Patience::with_grace(GRACE)).await?)
}

async fn answer(State(viewer): State<Arc<Viewer>>, request: Request) -> Response<Body> {
    if let Some(why) = refusal(request.headers(), request.uri(), viewer.port) {
        return plain(StatusCode::FORBIDDEN, why);
    }
    let path = request.uri().path().to_owned();
    // Browsers ask for it by themselves, without the token.
    if path == "/favicon.ico" {
        return response(StatusCode::NO_CONTENT, "image/x-icon", Body::empty());
    }
    let Some(rest) = viewer.token.strip(&path).map(str::to_owned) else {
        let why = "the address lacks the token, or has that of another viewer: take the address that \
                   `apprentice view` printed";
        return plain(StatusCode::UNAUTHORIZED, why);
    };
    if let Some(wanted) = rest.strip_prefix("control/").map(str::to_owned) {
        return control_answer::answer(&viewer.shown, &wanted, request).await;
    }
    if request.method() != Method::GET {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "recorded runs are only shown");
    }
    // Reading traces and comparing outlines may take a while, so it never holds up other requests.
    if rest == REPORT_HTML {
        let made = tokio::task::spawn_blocking(move || viewer.shown.library.report_page()).await;
        return made
            .map_or_else(|panic| broken(&panic), |made| made.map_or_else(|error| missing(&error), report));
    }
    match rest.strip_prefix("api/").map(str::to_owned) {
        None => file(&rest),
        Some(wanted) => {
            let made = tokio::task::spawn_blocking(move || viewer.shown.library.document(&wanted)).await;
            made.map_or_else(
                |panic| broken(&panic),
                |made| made.map_or_else(|error| missing(&error), of_document),
            )
        }
    }
}

fn missing(error: &DocumentError) -> Response<Body> {
    match error {
        DocumentError::Absent(why) => plain(StatusCode::NOT_FOUND, why),
        DocumentError::Unreadable(why) => plain(StatusCode::UNPROCESSABLE_ENTITY, why),
    }
}

fn broken(panic: &tokio::task::JoinError) -> Response<Body> {
    plain(StatusCode::INTERNAL_SERVER_ERROR, &panic.to_string())
}

fn report(page: String) -> Response<Body> {
    let mut made = response(StatusCode::OK, "text/html; charset=utf-8", Body::from(page));
    let policy = axum::http::HeaderValue::from_static(report_page::POLICY);
    made.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    made
}

fn file(name: &str) -> Response<Body> {
    match page::file(name) {
        Some(file) => response(StatusCode::OK, file.media, Body::from(file.text)),
        None => plain(StatusCode::NOT_FOUND, "there is no such page"),
    }
}

fn of_document(document: Document) -> Response<Body> {
    match document {
        Document::Json(text) => response(StatusCode::OK, "application/json", Body::from(text)),
        Document::Picture { media, bytes } => {
            let mut made = response(StatusCode::OK, media, Body::from(bytes));
            // A picture is named by its content, so it never changes.
            let forever = axum::http::HeaderValue::from_static("private, max-age=31536000, immutable");
            made.headers_mut().insert(CACHE_CONTROL, forever);
            made
        }
    }
}
