//! The paths of a pool, and its life.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use apprentice_listening::Patience;
use axum::body::{Bytes, HttpBody as _, to_bytes};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::opening::Opening;
use super::refusal::{Refusal, object};
use super::registry::{Pool, SessionRequest};
use super::schema;
use super::step_body::SessionStep;
use crate::access::Access;
use crate::openenv;
use crate::router::ServeError;

/// Largest request, in bytes.
pub(crate) const MAX_REQUEST_BYTES: usize = 16 << 20;
/// How long a request's body may take.
const BODY_DEADLINE: Duration = Duration::from_secs(60);
/// How long open requests may delay the end.
const GRACE: Duration = Duration::from_secs(5);

type Answer = Result<Json<Value>, Refusal>;
type Shared = State<Arc<Pool>>;

/// Answers requests until the pool's token is cancelled, then closes all worlds.
///
/// # Errors
/// The listener cannot accept connections.
pub async fn serve_pool(listener: TcpListener, pool: Arc<Pool>, access: Access) -> Result<(), ServeError> {
    let watching = tokio::spawn(Arc::clone(&pool).watch());
    let app = router(Arc::clone(&pool), access);
    let served =
        apprentice_listening::serve(listener, app, pool.cancel.clone(), Patience::with_grace(GRACE)).await;
    pool.cancel.cancel();
    if watching.await.is_err() {
        tracing::error!("the watch over the sessions has ended early");
    }
    Ok(served?)
}

fn router(pool: Arc<Pool>, access: Access) -> Router {
    let mut router = Router::new()
        .route("/tasks", get(tasks))
        .route("/sessions", get(list).post(open))
        .route("/sessions/{id}", get(show).delete(close))
        .route("/sessions/{id}/reset", post(reset))
        .route("/sessions/{id}/step", post(step))
        .route("/sessions/{id}/judge", post(judge))
        .route("/sessions/{id}/fork", post(fork))
        .route("/health", get(health))
        .route("/schema", get(schemas))
        .route("/metadata", get(metadata))
        .route("/openapi.json", get(openapi))
        .route("/mcp", post(mcp))
        .route("/ws", any(openenv::upgrade));
    for path in ["/reset", "/step", "/state", "/observe", "/judge", "/screenshot", "/execute"] {
        router = router.route(path, any(elsewhere));
    }
    router
        .layer(DefaultBodyLimit::disable())
        .method_not_allowed_fallback(wrong_method)
        .fallback(no_path)
        .layer(middleware::from_fn_with_state(access, check))
        .with_state(pool)
}

/// Refuses requests that the rule of access does not allow, and those whose body is too large or does not come.
async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    let request = match (access.allows(request.headers(), request.uri()), &access) {
        (Ok(()), _) => with_body(request).await,
        (Err(why), Access::Token(_)) => Err(Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", why)),
        (Err(why), Access::Loopback) => Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden", why)),
    };
    match request {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Reads the whole body of a request.
async fn with_body(request: Request) -> Result<Request, Refusal> {
    let too_large = || {
        let why = format!("the body is too large: a request has at most {MAX_REQUEST_BYTES} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", why)
    };
    // One that says its length is told before it is sent.
    if request.body().size_hint().lower() > MAX_REQUEST_BYTES as u64 {
        return Err(too_large());
    }
    let (parts, body) = request.into_parts();
    let read =
        tokio::time::timeout(BODY_DEADLINE, to_bytes(body, MAX_REQUEST_BYTES)).await.map_err(|_| {
            let why = format!("the body did not come within {} s", BODY_DEADLINE.as_secs());
            Refusal::new(StatusCode::REQUEST_TIMEOUT, "bad_body", why)
        })?;
    let body = read.map_err(|error| {
        let is_limit = error.source().is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
        if is_limit {
            too_large()
        } else {
            Refusal::new(StatusCode::BAD_REQUEST, "bad_body", error.to_string())
        }
    })?;
    Ok(Request::from_parts(parts, axum::body::Body::from(body)))
}

/// Reads a body; one that is empty is an empty object.
fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    let wrong = |why: String| Refusal::malformed(format!("the request's JSON: {why}"));
    object(&json_of(body)?).map_err(wrong)
}

fn json_of(body: &Bytes) -> Result<Value, Refusal> {
    let text: &[u8] = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(text).map_err(|error| Refusal::malformed(format!("the request's JSON: {error}")))
}

async fn tasks(State(pool): Shared) -> Json<Value> {
    Json(pool.context.tasks.list())
}

async fn list(State(pool): Shared) -> Json<Value> {
    Json(pool.list())
}

async fn open(State(pool): Shared, body: Bytes) -> Result<(StatusCode, Json<Value>), Refusal> {
    let opening = Opening::read(&json_of(&body)?)?;
    Ok((StatusCode::CREATED, Json(pool.open(opening).await?)))
}

async fn show(State(pool): Shared, Path(id): Path<String>) -> Answer {
    Ok(Json(json!(pool.find(&id)?.status())))
}

async fn close(State(pool): Shared, Path(id): Path<String>) -> Result<StatusCode, Refusal> {
    pool.end(&id, "it was closed")?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reset(State(pool): Shared, Path(id): Path<String>, body: Bytes) -> Answer {
    let opening = Opening::read(&json_of(&body)?)?;
    pool.request(&id, SessionRequest::Reset(opening)).await.map(Json)
}

async fn step(State(pool): Shared, Path(id): Path<String>, body: Bytes) -> Answer {
    // A session that is gone is told first: its client may not know what else is wrong.
    pool.find(&id)?;
    let step = SessionStep::read(&json_of(&body)?)?;
    pool.request(&id, SessionRequest::Step(Box::new(step))).await.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn judge(State(pool): Shared, Path(id): Path<String>, body: Bytes) -> Answer {
    let Nothing {} = read(&body)?;
    pool.request(&id, SessionRequest::Judge).await.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fork {
    step: usize,
}

async fn fork(
    State(pool): Shared,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let Fork { step } = read(&body)?;
    Ok((StatusCode::CREATED, Json(pool.fork(&id, step).await?)))
}

async fn health() -> Json<Value> {
    Json(json!({ "status": "healthy" }))
}

async fn schemas() -> Json<Value> {
    Json(schema::schemas())
}

async fn metadata(State(pool): Shared) -> Json<Value> {
    Json(schema::metadata(&pool))
}

async fn openapi() -> Json<Value> {
    Json(schema::openapi())
}

/// OpenEnv's validator asks whether this path answers in JSON-RPC. There are no tools behind it.
async fn mcp(body: Bytes) -> Answer {
    let given = json_of(&body)?;
    let (code, message) = match given.get("method") {
        Some(Value::String(method)) => (
            -32601,
            format!("there is no method {method:?}: `apprentice mcp` offers tools, and this server sessions"),
        ),
        _ => (-32600, "this is no request of JSON-RPC".to_owned()),
    };
    let id = given.get("id").cloned().unwrap_or(Value::Null);
    Ok(Json(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })))
}

async fn elsewhere() -> Refusal {
    let why = "this server has many sessions, and this path knows of none: open one by POST /sessions, or, as OpenEnv's clients \
               do, on the socket /ws. OSWorld's protocol is spoken by the server of a single world, without --sessions";
    Refusal::absent("not_here", why)
}

async fn no_path() -> Refusal {
    Refusal::absent("no_path", "this server has no such path")
}

async fn wrong_method() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", "this path does not take this method")
}
