//! Runs the real loop with `scripted` on `scene`, and keeps what was sent and what was recorded.

use std::sync::{Arc, Mutex};

use apprentice_harness::agent::{self, AttemptInput, AttemptResult, Session, TurnReport};
use apprentice_harness::env::scene::SceneSource;
use apprentice_models::scripted::{Scripted, ScriptedCall, ScriptedReply};
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{
    BlobHash, BoxFuture, ChatModel, ChatReply, ChatRequest, EnvironmentKind, EnvironmentSource, Guidance,
    Header, Limits, Machine, ModelError, ModelProfile, Size, TaskBrief, TaskId, Tool, TurnStart, WorldSpec,
};
use apprentice_trace::{Recorder, Redactor, Trace, blob_path};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Passes requests on and keeps them as they were sent.
pub(crate) struct Listening {
    inner: Scripted,
    pub(crate) heard: Mutex<Vec<ChatRequest>>,
}

impl ChatModel for Listening {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.heard.lock().expect("unpoisoned").push(request.clone());
        self.inner.reply(request)
    }
}

/// One attempt to be run.
pub(crate) struct Bench {
    pub(crate) scene: Value,
    pub(crate) script: Scripted,
    pub(crate) limits: Limits,
    pub(crate) guidance: Guidance,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) cancel: CancellationToken,
    /// With instructions here, a session of several turns is run; each comes with whether its turn is interrupted.
    pub(crate) session: Vec<(&'static str, bool)>,
}

/// What an attempt left.
pub(crate) struct Left {
    pub(crate) ended: AttemptResult,
    pub(crate) trace: Trace,
    pub(crate) requests: Vec<ChatRequest>,
    pub(crate) reports: Vec<TurnReport>,
    pub(crate) machine: Arc<dyn Machine>,
    folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new(scene: Value, replies: Vec<ScriptedReply>) -> Self {
        Self {
            scene,
            script: Scripted::new(replies).expect("a script"),
            limits: Limits::default(),
            guidance: Guidance::default(),
            tools: Vec::new(),
            cancel: CancellationToken::new(),
            session: Vec::new(),
        }
    }

    pub(crate) async fn run(self) -> Left {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(VirtualClock::default());
        let redactor = Arc::new(Redactor::new([]).expect("builds"));
        let blobs = folder.path().join("blobs");
        let mut recorder = Recorder::create(folder.path(), &blobs, clock.clone(), redactor).expect("records");
        let world = WorldSpec {
            scene: Some(self.scene),
            ..WorldSpec::new(EnvironmentKind::Scene, Size::new(640, 400))
        };
        let brief = TaskBrief {
            id: TaskId::new("notes"),
            instruction: "Save the note in capitals.".into(),
            limits: self.limits,
        };
        let model = Listening { inner: self.script, heard: Mutex::default() };
        let mut opened = SceneSource::default().open(&world).await.expect("opens");
        let attempt = AttemptInput {
            brief: &brief,
            model: &model,
            guidance: &self.guidance,
            tools: &self.tools,
            clock: clock.as_ref(),
            header: Header {
                version: 1,
                program: "test".into(),
                brief: brief.clone(),
                world,
                model: model.profile().clone(),
                seed: None,
                prompt_hash: agent::prompt_hash(),
            },
            seed: Some(7),
            cancel: self.cancel,
        };
        let mut reports = Vec::new();
        let ended = if self.session.is_empty() {
            agent::run(attempt, opened.environment.as_mut(), &mut recorder).await
        } else {
            let mut session = Session::new(attempt, opened.environment.as_mut(), &mut recorder);
            for (instruction, is_interrupted) in self.session {
                let cancel = CancellationToken::new();
                if is_interrupted {
                    cancel.cancel();
                }
                let start = TurnStart { instruction: instruction.into(), ..TurnStart::default() };
                reports.push(session.instruct(start, cancel).await);
            }
            session.end()
        };
        recorder.sync().expect("syncs");
        let trace = Trace::read(&folder.path().join("events.jsonl")).expect("reads");
        let requests = model.heard.into_inner().expect("unpoisoned");
        Left { ended, trace, requests, reports, machine: opened.machine, folder }
    }
}

impl Left {
    /// A blob of the trace.
    pub(crate) fn blob(&self, hash: &BlobHash, extension: &str) -> Vec<u8> {
        let path = blob_path(&self.folder.path().join("blobs"), hash, extension);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The scene's page and values at the end.
    pub(crate) async fn state(&self) -> Value {
        let bytes = self.machine.read("/state.json").await.expect("reads");
        serde_json::from_slice(&bytes).expect("JSON")
    }
}

/// A small editor: a text box, a menu with a submenu, a page of preferences, saving by a chord.
pub(crate) fn editor() -> Value {
    json!({
        "start": "main",
        "state": { "text": "abc", "wrap": false, "saved": null, "upper": false },
        "pages": {
            "main": {
                "title": "Notes",
                "controls": [
                    { "role": "menu", "name": "Edit", "items": [
                        { "role": "menuitem", "name": "Undo" },
                        { "role": "menuitem", "name": "Convert", "items": [
                            { "role": "menuitem", "name": "To capitals",
                              "click": [ { "set": { "upper": true } }, { "say": "converted" } ] }
                        ] },
                        { "role": "menuitem", "name": "Preferences", "click": [ { "go": "preferences" } ] }
                    ] },
                    { "role": "textbox", "name": "Note", "bind": "text",
                      "context": [ { "role": "menuitem", "name": "Clear", "click": [ { "set": { "text": "" } } ] } ] },
                    { "role": "button", "name": "Discard", "enabled_when": { "upper": true },
                      "click": [ { "set": { "text": "" } } ] }
                ],
                "keys": { "ctrl+s": [ { "copy": { "saved": "text" } }, { "write": { "/home/user/note.txt": "{text}" } } ] }
            },
            "preferences": {
                "title": "Preferences",
                "controls": [
                    { "role": "checkbox", "name": "Wrap lines", "bind": "wrap" },
                    { "role": "combobox", "name": "Font", "bind": "font", "options": ["Sans", "Mono"] },
                    { "role": "button", "name": "Close", "click": [ { "go": "main" } ] }
                ]
            }
        }
    })
}

/// A call of a script.
pub(crate) fn call(name: &str, arguments: Value) -> ScriptedCall {
    ScriptedCall { name: name.into(), arguments }
}

/// A reply with these actions as one call.
pub(crate) fn acts(actions: Value) -> ScriptedReply {
    let mut arguments = json!({});
    arguments["actions"] = actions;
    reply(vec![call("computer", arguments)])
}

/// A reply with these calls.
pub(crate) fn reply(calls: Vec<ScriptedCall>) -> ScriptedReply {
    ScriptedReply { calls, ..ScriptedReply::default() }
}

/// A reply in words.
pub(crate) fn says(text: &str) -> ScriptedReply {
    ScriptedReply { say: Some(text.into()), ..ScriptedReply::default() }
}

/// The reply that ends a task well.
pub(crate) fn done() -> ScriptedReply {
    reply(vec![call("finish", json!({ "finish": "done" }))])
}
