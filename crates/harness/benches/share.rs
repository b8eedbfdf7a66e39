//! What the harness adds to a step: a model answers after 3 and after 8 seconds, for 1, 8 and 32 trials at once, each in an
//! in-memory world that paints and lists its elements. Prints one line of JSON for each: the share of a step that is not the
//! model's time, in percent, at the 95th of a hundred steps. Two processors; part of `scripts/bench/worlds`.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use apprentice_harness::agent::{self, AttemptInput};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::scripted::{Scripted, ScriptedReply};
use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock, EnvironmentKind, EnvironmentSource as _, Guidance,
    Header, Limits, ModelError, ModelProfile, Size, TaskBrief, TaskId, Why, WorldSpec,
};
use apprentice_sandbox::SystemClock;
use apprentice_trace::{Recorder, Redactor};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Steps of a trial.
const STEPS: usize = 6;

/// A model that takes its time, and notes how long it was not asked.
struct Slow {
    inner: Scripted,
    takes: Duration,
    clock: Arc<SystemClock>,
    /// When it answered last, and the times between an answer and the next request.
    between: Mutex<(Option<Duration>, Vec<Duration>)>,
}

impl ChatModel for Slow {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let asked = self.clock.mono();
            {
                let mut between = self.between.lock().expect("unpoisoned");
                if let Some(answered) = between.0 {
                    between.1.push(asked - answered);
                }
            }
            // The answer comes at a fixed time after the request, as that of a server does.
            let answer = self.inner.reply(request).await;
            self.clock.pause(self.takes.saturating_sub(self.clock.mono() - asked), Why::ModelAsked).await;
            self.between.lock().expect("unpoisoned").0 = Some(self.clock.mono());
            answer
        })
    }
}

fn script() -> Vec<ScriptedReply> {
    let act = |number: usize| {
        let click = json!([{ "do": "click", "at": { "ref": format!("n{}", number + 2) } }]);
        json!({ "calls": [{ "name": "computer", "arguments": { "actions": click } }] })
    };
    let done = json!({ "calls": [{ "name": "finish", "arguments": { "finish": "done" } }] });
    let replies = (0..STEPS).map(act).chain([done]);
    replies.map(|reply| serde_json::from_value(reply).expect("a reply")).collect()
}

/// A page of sixty controls.
fn scene() -> serde_json::Value {
    let controls: Vec<serde_json::Value> =
        (0..60).map(|number| json!({ "role": "button", "name": format!("Button {number}") })).collect();
    json!({ "start": "main", "state": {}, "pages": { "main": { "title": "Many buttons", "controls": controls } } })
}

/// Runs one trial and returns the times between the model's answers and its next requests.
async fn trial(takes: Duration) -> Vec<Duration> {
    let clock = Arc::new(SystemClock::new());
    let folder = tempfile::tempdir().expect("a folder");
    let redactor = Arc::new(Redactor::new([]).expect("builds"));
    let blobs = folder.path().join("blobs");
    let mut recorder = Recorder::create(folder.path(), &blobs, clock.clone(), redactor).expect("records");
    let world =
        WorldSpec { scene: Some(scene()), ..WorldSpec::new(EnvironmentKind::Scene, Size::new(1280, 800)) };
    let limits = Limits::default();
    let brief = TaskBrief { id: TaskId::new("buttons"), instruction: "Press a button.".into(), limits };
    let inner = Scripted::new(script()).expect("a script");
    let model = Slow { inner, takes, clock: Arc::clone(&clock), between: Mutex::default() };
    let mut opened = SceneSource::default().open(&world).await.expect("opens");
    let guidance = Guidance::default();
    let attempt = AttemptInput {
        brief: &brief,
        model: &model,
        guidance: &guidance,
        tools: &[],
        clock: clock.as_ref(),
        header: Header {
            version: 1,
            program: "share".into(),
            brief: brief.clone(),
            world,
            model: model.profile().clone(),
            seed: None,
            prompt_hash: agent::prompt_hash(),
        },
        seed: None,
        cancel: CancellationToken::new(),
    };
    let ended = agent::run(attempt, opened.environment.as_mut(), &mut recorder).await;
    assert_eq!(ended.spent.turns as usize, STEPS + 1, "{ended:?}");
    model.between.into_inner().expect("unpoisoned").1
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        for (seconds, at_once) in [(3, 1), (3, 8), (3, 32), (8, 1), (8, 8), (8, 32)] {
            let takes = Duration::from_secs(seconds);
            let trials = futures_util::future::join_all((0..at_once).map(|_| trial(takes))).await;
            let share = |between: Duration| 100.0 * between.as_secs_f64() / (between + takes).as_secs_f64();
            let mut shares: Vec<f64> = trials.into_iter().flatten().map(share).collect();
            shares.sort_by(f64::total_cmp);
            let at = |part: usize| shares.get((shares.len() * part / 100).min(shares.len() - 1)).copied();
            let row = json!({
                "row": format!("share-{seconds}-{at_once}"),
                "median": at(50),
                "p95": at(95),
                "steps": shares.len(),
            });
            println!("{row}");
        }
    });
}
