//! The screen of the world: `/screenshot`, `/accessibility`, `/terminal`, `/screen_size`, `/cursor_position`.

use std::sync::Arc;

use apprentice_protocol::{Action, MediaType};
use apprentice_tasks::check::{terminal_text, tree_document};
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::problem::{Answer, Problem};
use crate::served_world::ServedWorld;

/// `GET /screenshot`: the screen as PNG. Unlike OSWorld's server it draws no pointer.
pub(crate) async fn screenshot(State(world): State<Arc<ServedWorld>>) -> Answer<impl IntoResponse> {
    let image = world.machine().await?.screenshot().await?;
    let kind = match image.media {
        MediaType::Png => "image/png",
        MediaType::Webp => "image/webp",
        MediaType::Jpeg => "image/jpeg",
    };
    Ok(([(CONTENT_TYPE, kind)], image.bytes.0.to_vec()))
}

/// `GET /accessibility`: the accessibility tree in OSWorld's XML.
pub(crate) async fn accessibility(State(world): State<Arc<ServedWorld>>) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    Ok(Json(json!({ "AT": tree_document(&*machine).await? })))
}

/// `GET /terminal`: the text of the focused or only terminal; null where none is open.
pub(crate) async fn terminal(State(world): State<Arc<ServedWorld>>) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    Ok(Json(json!({ "output": terminal_text(&*machine).await?, "status": "success" })))
}

/// `POST /screen_size`.
pub(crate) async fn size(State(world): State<Arc<ServedWorld>>) -> Answer<Json<Value>> {
    let screen = world.machine().await?.offers().screen;
    let screen = screen.ok_or_else(|| Problem::world("this world has no screen"))?;
    Ok(Json(json!({ "width": screen.width, "height": screen.height })))
}

/// `GET /platform`.
pub(crate) async fn platform() -> &'static str {
    "Linux"
}

/// `GET /cursor_position`: the pointer, in pixels of the screen.
pub(crate) async fn cursor(State(world): State<Arc<ServedWorld>>) -> Answer<Json<Value>> {
    let open = world.current().await?;
    let mut environment = open.environment.lock().await;
    let environment = environment.as_mut().ok_or_else(|| Problem::closed("it was closed meanwhile"))?;
    let pointer = environment.act(&Action::Cursor).await?.pointer;
    let pointer = pointer.ok_or_else(|| Problem::world("this world has no pointer"))?;
    Ok(Json(json!([pointer.x, pointer.y])))
}
