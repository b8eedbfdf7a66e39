//! The paths of the server, and its life.

use std::sync::Arc;
use std::time::Duration;

use apprentice_listening::Patience;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, check};
use crate::problem::Problem;
use crate::served_world::ServedWorld;
use crate::{command, files, recording, screen, step, window};

/// Largest request, and largest file of an upload, in bytes.
const REQUEST_LIMIT: usize = 16 << 20;
const UPLOAD_LIMIT: usize = 1 << 30;
/// How long open requests may delay the end.
const GRACE: Duration = Duration::from_secs(5);

/// A server that cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the server cannot accept connections")]
pub struct ServeError(#[from] std::io::Error);

/// Answers requests until it is cancelled, then closes the world.
pub async fn serve(
    listener: TcpListener,
    world: Arc<ServedWorld>,
    access: Access,
    cancel: CancellationToken,
) -> Result<(), ServeError> {
    let app = router(Arc::clone(&world), access);
    let served = apprentice_listening::serve(listener, app, cancel, Patience::with_grace(GRACE)).await;
    world.close().await;
    Ok(served?)
}

fn router(world: Arc<ServedWorld>, access: Access) -> Router {
    let upload =
        Router::new().route("/setup/upload", post(files::upload)).layer(DefaultBodyLimit::max(UPLOAD_LIMIT));
    Router::new()
        .route("/screenshot", get(screen::screenshot))
        .route("/accessibility", get(screen::accessibility))
        .route("/terminal", get(screen::terminal))
        .route("/platform", get(screen::platform))
        .route("/cursor_position", get(screen::cursor))
        .route("/screen_size", post(screen::size))
        .route("/window_size", post(window::size))
        .route("/execute", post(command::execute))
        .route("/setup/execute", post(command::execute))
        .route("/execute_with_verification", post(command::execute_verified))
        .route("/setup/execute_with_verification", post(command::execute_verified))
        .route("/run_python", post(command::run_python))
        .route("/run_bash_script", post(command::run_bash))
        .route("/setup/launch", post(command::launch))
        .route("/setup/open_file", post(window::open_file))
        .route("/setup/activate_window", post(window::activate))
        .route("/setup/close_window", post(window::close))
        .route("/setup/change_wallpaper", post(window::change_wallpaper))
        .route("/setup/download_file", post(files::download))
        .route("/file", post(files::read))
        .route("/list_directory", post(files::list))
        .route("/desktop_path", post(files::desktop))
        .route("/wallpaper", post(files::wallpaper))
        .route("/start_recording", post(recording::start))
        .route("/end_recording", post(recording::end))
        .route("/reset", post(step::reset))
        .route("/step", post(step::step))
        .route("/observe", get(step::observe))
        .route("/judge", post(step::judge))
        .route("/checkpoint", post(step::take_checkpoint))
        .route("/restore", post(step::restore))
        .layer(DefaultBodyLimit::max(REQUEST_LIMIT))
        .merge(upload)
        .fallback(|| async { Problem::absent("this server has no such path") })
        .layer(middleware::from_fn_with_state(access, check))
        .with_state(world)
}
