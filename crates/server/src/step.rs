//! This program's own requests: `/reset`, `/step`, `/observe`, `/judge`, `/checkpoint`, `/restore`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    ActReport, Action, Clock, Environment, Judged, Observation, Rect, ScreenPoint, Size, Tab, TextBudget,
    TreeBudget, View, Want, Why, Window, WorldError, outline,
};
use apprentice_tasks::check::AttemptEnding;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::checkpoint::{Checkpoint, TakenCheckpoint};
use crate::command::json_body;
use crate::problem::{Answer, Problem};
use crate::served_world::ServedWorld;

/// Largest outline, in characters.
const OUTLINE: TextBudget = TextBudget(100_000);
/// Most actions of one request.
pub const MOST_ACTIONS: usize = 100;
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The body of `POST /step`: actions in pixels of the screen or by references of the last outline, and what to observe
/// after them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// The actions, in order. The first that is refused ends the step.
    #[serde(default, deserialize_with = "exact_actions")]
    pub actions: Vec<Action<ScreenPoint>>,
    /// Whether the answer holds a screenshot.
    #[serde(default = "yes")]
    pub screenshot: bool,
    /// Whether the answer holds the outline of the accessibility tree.
    #[serde(default = "yes")]
    pub outline: bool,
}

fn exact_actions<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Action<ScreenPoint>>, D::Error> {
    read_actions(Vec::<Value>::deserialize(source)?).map_err(D::Error::custom)
}

/// Reads actions and refuses keys that an action does not have: a misspelt point must not act where the pointer is.
pub(crate) fn read_actions(given: Vec<Value>) -> Result<Vec<Action<ScreenPoint>>, String> {
    let read = given.into_iter().enumerate().map(|(index, given)| {
        let action: Action<ScreenPoint> =
            serde_json::from_value(given.clone()).map_err(|error| format!("action {index}: {error}"))?;
        let known = serde_json::to_value(&action).map_err(|error| format!("action {index}: {error}"))?;
        match unknown_key(&given, &known) {
            Some(key) => Err(format!("action {index} takes no {key:?}")),
            None => Ok(action),
        }
    });
    read.collect()
}

/// Returns a key of the given value that its reading does not have.
fn unknown_key<'a>(given: &'a Value, known: &Value) -> Option<&'a str> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            let mut keys = given.iter().filter(|(_, value)| !value.is_null());
            keys.find_map(|(key, value)| match known.get(key) {
                Some(known) => unknown_key(value, known),
                None => Some(key.as_str()),
            })
        }
        (Value::Array(given), Value::Array(known)) => {
            given.iter().zip(known).find_map(|(given, known)| unknown_key(given, known))
        }
        _ => None,
    }
}

fn yes() -> bool {
    true
}

impl Default for StepRequest {
    fn default() -> Self {
        Self { actions: Vec::new(), screenshot: true, outline: true }
    }
}

/// The answer of `POST /step` and `GET /observe`.
#[derive(Serialize, JsonSchema)]
pub struct StepReply {
    /// One report per action that was tried.
    pub reports: Vec<ActReport>,
    /// The screenshot as PNG in base 64.
    pub screenshot: Option<String>,
    /// The outline: one line per element, with references for actions.
    pub outline: Option<String>,
    /// The screen, in pixels.
    pub screen: Option<Size>,
    /// The places of the monitors on the screen, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<Rect>,
    /// The title of the active tab, else of the active window.
    pub title: String,
    /// Windows, front to back (desktop worlds).
    pub windows: Vec<Window>,
    /// Tabs (browser worlds).
    pub tabs: Vec<Tab>,
    /// Text of an open page dialog (browser worlds).
    pub dialog: Option<String>,
    /// What is to be known about what was observed, in sentences: a program that is still at work, a window that lists nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Ending {
    answer: Option<String>,
    gave_up: bool,
}

/// `POST /reset`: closes the world and opens a fresh one, prepared as the first.
pub(crate) async fn reset(State(world): State<Arc<ServedWorld>>) -> Answer<Json<Value>> {
    world.reset().await.map_err(Problem::world)?;
    let screen = world.machine().await?.offers().screen;
    Ok(Json(json!({ "status": "success", "instruction": world.instruction(), "screen": screen })))
}

/// `POST /step`: performs actions, then observes.
pub(crate) async fn step(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<Json<StepReply>> {
    let asked: StepRequest = json_body(&body)?;
    if asked.actions.len() > MOST_ACTIONS {
        return Err(Problem::request(format!("a step has at most {MOST_ACTIONS} actions")));
    }
    perform(&world, &asked).await.map(Json)
}

/// `GET /observe`: observes without acting.
pub(crate) async fn observe(State(world): State<Arc<ServedWorld>>) -> Answer<Json<StepReply>> {
    perform(&world, &StepRequest::default()).await.map(Json)
}

/// `POST /judge`: judges the world by the task's checks. The body may hold `answer` or `gave_up`.
pub(crate) async fn judge(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<Json<Judged>> {
    let Ending { answer, gave_up } = if body.is_empty() { Ending::default() } else { json_body(&body)? };
    let ending = match (answer, gave_up) {
        (Some(_), true) => {
            return Err(Problem::request("an answer was given, or the task was given up: not both"));
        }
        (Some(text), false) => AttemptEnding::Answered(text),
        (None, true) => AttemptEnding::GaveUp,
        (None, false) => AttemptEnding::Ended,
    };
    let open = world.current().await?;
    let judged = world.episode.judge(ending, &*open.machine, &*world.clock, open.cache.path()).await;
    judged.map(Json).map_err(|error| Problem::world(error.to_string()).during("judging"))
}

async fn perform(world: &ServedWorld, asked: &StepRequest) -> Answer<StepReply> {
    let open = world.current().await?;
    let mut environment = open.environment.lock().await;
    let environment = environment.as_mut().ok_or_else(|| Problem::closed("it was closed meanwhile"))?;
    Ok(take_step(&mut **environment, &*world.clock, open.machine.offers().screen, asked).await?)
}

/// Performs the actions of a request, up to the first that is refused, and then observes.
pub async fn take_step(
    environment: &mut dyn Environment,
    clock: &dyn Clock,
    screen: Option<Size>,
    asked: &StepRequest,
) -> Result<StepReply, WorldError> {
    let reports = perform_actions(environment, clock, &asked.actions).await?;
    let want = Want { screenshot: asked.screenshot, tree: asked.outline.then(TreeBudget::default) };
    let observed = environment.observe(want).await?;
    Ok(reply(reports, observed, screen))
}

/// Performs actions up to the first that is refused, and returns a report of each that was tried.
pub(crate) async fn perform_actions(
    environment: &mut dyn Environment,
    clock: &dyn Clock,
    actions: &[Action<ScreenPoint>],
) -> Result<Vec<ActReport>, WorldError> {
    let mut reports = Vec::with_capacity(actions.len());
    for action in actions {
        let report = act(environment, action, clock).await?;
        let refused = report.delivery != apprentice_protocol::Delivery::Delivered;
        reports.push(report);
        if refused {
            break;
        }
    }
    Ok(reports)
}

async fn act(
    environment: &mut dyn Environment,
    action: &Action<ScreenPoint>,
    clock: &dyn Clock,
) -> Result<ActReport, WorldError> {
    if let Action::Wait { ms } = action {
        let time = Duration::from_millis(u64::from(*ms));
        if time > LONGEST_WAIT {
            return Ok(ActReport::refused(format!("wait at most {} ms", LONGEST_WAIT.as_millis())));
        }
        clock.pause(time, Why::ModelAsked).await;
    }
    environment.act(action).await
}

/// Writes what was observed as an answer.
pub(crate) fn reply(reports: Vec<ActReport>, observed: Observation, screen: Option<Size>) -> StepReply {
    let title = observed.title().to_owned();
    let screen = screen.or(observed.screenshot.as_ref().map(|image| image.size));
    let view = screen.map(View::whole);
    let outlined = observed.tree.as_ref().zip(view).map(|(tree, view)| outline(tree, &view, OUTLINE));
    StepReply {
        reports,
        screenshot: observed.screenshot.map(|image| STANDARD.encode(&image.bytes.0)),
        outline: outlined.map(|text| text.as_str().to_owned()),
        screen,
        monitors: observed.monitors,
        title,
        windows: observed.windows,
        tabs: observed.tabs,
        dialog: observed.dialog,
        remarks: observed.remarks,
    }
}

/// The body of `POST /checkpoint` and `POST /restore`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedCheckpoint {
    name: String,
    /// Whether the state of processes is asked for, too.
    #[serde(default)]
    processes: bool,
}

impl NamedCheckpoint {
    fn read(body: &Bytes) -> Answer<String> {
        let Self { name, processes } = json_body(body)?;
        match processes {
            false => Ok(name),
            true => Err(Problem::request(
                "a checkpoint holds files, and no state of processes: leave out `processes`, and let programs save \
                 what matters before",
            )),
        }
    }
}

/// `POST /checkpoint`: keeps the files of the home folder under a name, until the server ends.
pub(crate) async fn take_checkpoint(
    State(world): State<Arc<ServedWorld>>,
    body: Bytes,
) -> Answer<Json<Value>> {
    let name = NamedCheckpoint::read(&body)?;
    world.check_has_checkpoints()?;
    let open = world.current().await?;
    let mut kept = world.checkpoints.lock().await;
    kept.check_room(&name)?;
    let TakenCheckpoint { checkpoint, bytes } = Checkpoint::of(&*open.machine, open.cache.clone()).await?;
    let windows = open.machine.windows().await?;
    let programs: BTreeSet<String> = windows.into_iter().map(|window| window.class).collect();
    kept.keep(name.clone(), checkpoint);
    Ok(Json(json!({ "status": "success", "name": name, "bytes": bytes, "programs_not_kept": programs })))
}

/// `POST /restore`: closes the world, and opens a fresh one with the files of a checkpoint. No program runs in it.
pub(crate) async fn restore(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<Json<Value>> {
    let name = NamedCheckpoint::read(&body)?;
    world.check_has_checkpoints()?;
    let found = world.checkpoints.lock().await.find(&name);
    let found = found.ok_or_else(|| Problem::absent(format!("there is no checkpoint {name:?}")))?;
    world.reset_to(&found).await.map_err(Problem::world)?;
    Ok(Json(json!({ "status": "success", "name": name })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::StepRequest;

    fn read(action: &serde_json::Value) -> Result<(), String> {
        let request = json!({ "actions": [action] });
        serde_json::from_value::<StepRequest>(request).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_that_an_action_lacks_are_refused_with_their_name() {
        for (action, key) in [
            (json!({ "do": "scroll", "dy": 3, "point": { "x": 1, "y": 2 } }), "point"),
            (json!({ "do": "click", "at": { "point": { "x": 1, "y": 2, "z": 3 } } }), "z"),
            (
                json!({ "do": "hold", "keys": "ctrl", "actions": [{ "do": "scroll", "dy": 1, "where": 1 }] }),
                "where",
            ),
        ] {
            let told = read(&action).expect_err("refused");
            assert!(told.contains(&format!("action 0 takes no {key:?}")), "{told}");
        }
        for action in [
            json!({ "do": "scroll", "dy": 3, "at": { "point": { "x": 1, "y": 2 } } }),
            json!({ "do": "scroll", "dy": 3, "at": null }),
            json!({ "do": "click", "at": { "ref": "n1" }, "count": 1, "hold": null }),
            json!({ "do": "tab", "tab": "open", "url": null }),
            json!({ "do": "fill", "at": { "ref": "n1" }, "value": ["a", "b"] }),
            json!({ "do": "read", "read": "tree", "depth": 3 }),
        ] {
            assert_eq!(read(&action), Ok(()), "{action}");
        }
        assert!(read(&json!({ "do": "fly" })).expect_err("refused").contains("action 0"));
    }
}
