//! Windows of the world: `/setup/open_file`, `/setup/activate_window`, `/setup/close_window`, `/window_size`. They are the
//! setup steps of the same names.

use std::sync::Arc;

use apprentice_tasks::setup::{SetupContext, SetupPhase, SleepMode, prepare};
use apprentice_tasks::task::SetupStep;
use axum::body::Bytes;
use axum::extract::State;
use axum::{Form, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::command::json_body;
use crate::problem::{Answer, Problem};
use crate::served_world::ServedWorld;

#[derive(Deserialize)]
pub(crate) struct ClassName {
    app_class_name: String,
}

async fn perform(world: &ServedWorld, kind: &str, body: &Bytes, phase: SetupPhase) -> Answer<()> {
    let open = world.current().await?;
    let parameters: Value = json_body(body)?;
    let step: SetupStep = serde_json::from_value(json!({ "type": kind, "parameters": parameters }))
        .map_err(|error| Problem::request(error.to_string()))?;
    let screen = open.machine.offers().screen.ok_or_else(|| Problem::world("this world has no screen"))?;
    let context = SetupContext {
        machine: &*open.machine,
        clock: &*world.clock,
        suite_root: open.cache.path(),
        screen,
        cache_dir: open.cache.path(),
        mirror: None,
        sleep_mode: SleepMode::Ready,
        phase,
        password: "",
    };
    prepare(&[step], &context).await.map_err(|error| Problem::world(error.message()))?;
    Ok(())
}

/// `POST /setup/open_file`: opens a file with its program and waits for the window.
pub(crate) async fn open_file(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<&'static str> {
    perform(&world, "open", &body, SetupPhase::Start).await?;
    Ok("File opened successfully")
}

/// `POST /setup/activate_window`: brings a window to the front. As with OSWorld's server, a missing window is no error.
pub(crate) async fn activate(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<&'static str> {
    perform(&world, "activate_window", &body, SetupPhase::Grade).await?;
    Ok("Window activated successfully")
}

/// `POST /setup/close_window`: closes a window. As with OSWorld's server, a missing window is no error.
pub(crate) async fn close(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<&'static str> {
    perform(&world, "close_window", &body, SetupPhase::Grade).await?;
    Ok("Window closed successfully")
}

/// `POST /setup/change_wallpaper`.
pub(crate) async fn change_wallpaper(
    State(world): State<Arc<ServedWorld>>,
    body: Bytes,
) -> Answer<&'static str> {
    perform(&world, "change_wallpaper", &body, SetupPhase::Start).await?;
    Ok("Wallpaper changed successfully")
}

/// `POST /window_size`: the size of the first window of a program.
pub(crate) async fn size(
    State(world): State<Arc<ServedWorld>>,
    Form(asked): Form<ClassName>,
) -> Answer<Json<Value>> {
    let windows = world.machine().await?.windows().await?;
    let wanted = asked.app_class_name.to_lowercase();
    let found = windows.iter().find(|window| window.class.to_lowercase().contains(&wanted));
    let Some(window) = found else {
        return Err(Problem::absent(format!("no window is of the class {:?}", asked.app_class_name)));
    };
    Ok(Json(json!({ "width": window.bounds.width, "height": window.bounds.height })))
}
