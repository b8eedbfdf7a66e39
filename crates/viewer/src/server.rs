//! Serves the pages and documents of a library on this machine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Method, Response, StatusCode};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access::{ViewerToken, refusal};
use crate::document::{Document, DocumentError};
use crate::library::Library;
use crate::page;

/// How long open requests may delay the end.
const GRACE: Duration = Duration::from_secs(2);

/// A server that cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the viewer cannot accept connections")]
pub struct ServeError(#[from] std::io::Error);

struct Viewer {
    library: Library,
    token: ViewerToken,
    port: u16,
}

/// The address of the first page.
pub fn address(bound: SocketAddr, token: &ViewerToken) -> String {
    format!("http://{bound}/{}/", token.as_str())
}

/// Answers requests until it is cancelled. Changes nothing on disk.
pub async fn serve(
    listener: TcpListener,
    library: Library,
    token: ViewerToken,
    cancel: CancellationToken,
) -> Result<(), ServeError> {
    let port = listener.local_addr()?.port();
    let app = Router::new().fallback(answer).with_state(Arc::new(Viewer { library, token, port }));
    let asked = cancel.clone();
    let serving = axum::serve(listener, app).with_graceful_shutdown(async move { asked.cancelled().await });
    let mut serving = std::pin::pin!(serving.into_future());
    let served = tokio::select! {
        served = &mut serving => served,
        () = cancel.cancelled() => tokio::time::timeout(GRACE, &mut serving).await.unwrap_or(Ok(())),
    };
    Ok(served?)
}

async fn answer(State(viewer): State<Arc<Viewer>>, request: Request) -> Response<Body> {
    if request.method() != Method::GET {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "the viewer only shows");
    }
    if let Some(why) = refusal(request.headers(), request.uri(), viewer.port) {
        return plain(StatusCode::FORBIDDEN, why);
    }
    let path = request.uri().path().to_owned();
    let Some(rest) = viewer.token.strip(&path).map(str::to_owned) else {
        let why = "the address lacks the token, or has that of another viewer: take the address that \
                   `apprentice view` printed";
        return plain(StatusCode::UNAUTHORIZED, why);
    };
    match rest.strip_prefix("api/").map(str::to_owned) {
        None => file(&rest),
        // Reading traces and comparing outlines may take a while, so it never holds up other requests.
        Some(wanted) => {
            let made = tokio::task::spawn_blocking(move || viewer.library.document(&wanted)).await;
            match made {
                Ok(Ok(document)) => of_document(document),
                Ok(Err(DocumentError::Absent(why))) => plain(StatusCode::NOT_FOUND, &why),
                Ok(Err(DocumentError::Unreadable(why))) => plain(StatusCode::UNPROCESSABLE_ENTITY, &why),
                Err(panic) => plain(StatusCode::INTERNAL_SERVER_ERROR, &panic.to_string()),
            }
        }
    }
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

fn plain(status: StatusCode, why: &str) -> Response<Body> {
    response(status, "text/plain; charset=utf-8", Body::from(why.to_owned()))
}

fn response(status: StatusCode, media: &'static str, body: Body) -> Response<Body> {
    let mut made = Response::new(body);
    *made.status_mut() = status;
    let policy = page::policy();
    let headers: [(HeaderName, &str); 6] = [
        (CONTENT_TYPE, media),
        (CONTENT_SECURITY_POLICY, &policy),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in headers {
        if let Ok(value) = axum::http::HeaderValue::from_str(value) {
            made.headers_mut().insert(name, value);
        }
    }
    made
}
