//! A film of the world's screen by ffmpeg: `/start_recording`, `/end_recording`.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::Command;
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::problem::{Answer, Problem};
use crate::served_world::ServedWorld;

const FILM: &str = "/tmp/recording.mp4";
const LONGEST: Duration = Duration::from_secs(6 * 3600);
/// OSWorld's limit for the end of ffmpeg.
const END_DEADLINE: Duration = Duration::from_secs(15);

/// `POST /start_recording`.
pub(crate) async fn start(State(world): State<Arc<ServedWorld>>) -> Answer<Json<Value>> {
    let open = world.current().await?;
    let mut recorder = open.recorder.lock().await;
    if recorder.is_some() {
        return Err(Problem::request("the screen is being recorded already"));
    }
    let present = open.machine.run(&Command::shell("command -v ffmpeg")).await?;
    if present.code != 0 {
        return Err(Problem::world("ffmpeg is not installed in the world: install the package ffmpeg"));
    }
    let screen = open.machine.offers().screen.ok_or_else(|| Problem::world("this world has no screen"))?;
    let line = format!(
        "exec ffmpeg -y -loglevel error -f x11grab -draw_mouse 1 -framerate 30 -video_size {}x{} -i \"$DISPLAY\" \
         -c:v libx264 -preset ultrafast -pix_fmt yuv420p -vf crop=trunc\\(iw/2\\)*2:trunc\\(ih/2\\)*2 {FILM}",
        screen.width, screen.height
    );
    *recorder = Some(open.machine.spawn(&Command::shell(line).within(LONGEST)).await?);
    Ok(Json(json!({ "status": "success", "message": "Started recording." })))
}

/// `POST /end_recording`: the film as MP4.
pub(crate) async fn end(State(world): State<Arc<ServedWorld>>) -> Answer<impl IntoResponse> {
    let open = world.current().await?;
    let recorder = open.recorder.lock().await.take();
    let mut recorder = recorder.ok_or_else(|| Problem::request("the screen is not being recorded"))?;
    // ffmpeg ends the film properly at this key.
    recorder.write(b"q").await?;
    let ended = tokio::time::timeout(END_DEADLINE, recorder.wait()).await;
    match ended {
        Ok(Ok(0)) => {}
        Ok(Ok(code)) => return Err(Problem::world(format!("ffmpeg ended with code {code}"))),
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => {
            recorder.kill().await?;
            return Err(Problem::world(format!("ffmpeg did not end within {} s", END_DEADLINE.as_secs())));
        }
    }
    let film = open.machine.read(FILM).await?;
    Ok(([(CONTENT_TYPE, "video/mp4")], film))
}
