//! Runs a built-in model on a scene, with notes lent to it, and keeps what was sent.

use std::sync::{Arc, Mutex};

use apprentice_harness::agent::{self, AttemptInput, AttemptResult};
use apprentice_harness::env::scene::SceneSource;
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::VirtualClock;
use apprentice_protocol::{
    BoundedText, BoxFuture, ChatModel, ChatReply, ChatRequest, EnvironmentKind, EnvironmentSource, Guidance,
    Header, Limits, ModelError, ModelProfile, Size, StepRef, TaskBrief, TaskId, TextBudget, Tool,
    ToolOutcome, ToolSpec, WorldSpec,
};
use apprentice_trace::{Recorder, Redactor};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// One note of a small book.
#[derive(Clone)]
pub(crate) struct Note {
    pub(crate) id: &'static str,
    pub(crate) description: &'static str,
    pub(crate) guidance: String,
}

/// A note in words.
pub(crate) fn note(id: &'static str, description: &'static str, guidance: &str) -> Note {
    Note { id, description, guidance: guidance.to_owned() }
}

struct Shelf {
    spec: ToolSpec,
    notes: Vec<Note>,
}

impl Tool for Shelf {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let line = |note: &Note| format!("- {}: {}\n", note.id, note.description);
        let asked = arguments["skill"].as_str().unwrap_or_default();
        let viewed = self.notes.iter().find(|note| note.id == asked).map(|note| {
            format!(
                "# {}\n\n{}\n\n## Situation\n\n{}\n\n## Guidance\n\n{}\n\n## Annotations\n\nNone\n",
                note.id, note.description, note.description, note.guidance
            )
        });
        let text = match self.spec.name.as_str() {
            "skill_view" => viewed.unwrap_or_else(|| "There is no such note.".into()),
            _ => self.notes.iter().map(line).collect(),
        };
        Box::pin(std::future::ready(ToolOutcome::text(text)))
    }
}

/// Notes as a trial gets them.
pub(crate) fn lend(notes: &[Note]) -> Guidance {
    if notes.is_empty() {
        return Guidance::default();
    }
    let mut domains: Vec<&str> = notes.iter().filter_map(|note| note.id.split('/').next()).collect();
    domains.dedup();
    let lines: String = domains.iter().map(|domain| format!("- {domain} (1 skill): {domain}\n")).collect();
    let tool = |name: &str| -> Arc<dyn Tool> {
        let spec = ToolSpec { name: name.into(), description: "Notes.".into(), schema: json!({}) };
        Arc::new(Shelf { spec, notes: notes.to_vec() })
    };
    Guidance {
        opening: BoundedText::cut(&format!("Notes by program:\n{lines}"), TextBudget(4000)),
        tools: ["skill_list", "skill_search", "skill_view"].map(tool).to_vec(),
        ..Guidance::default()
    }
}

/// Passes requests on and keeps them and the replies.
pub(crate) struct Listening {
    pub(crate) inner: BuiltInModel,
    pub(crate) heard: Mutex<Vec<(ChatRequest, ChatReply)>>,
}

impl ChatModel for Listening {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let reply = self.inner.reply(request).await?;
            self.heard.lock().expect("unpoisoned").push((request.clone(), reply.clone()));
            Ok(reply)
        })
    }
}

/// What an attempt left.
pub(crate) struct Left {
    pub(crate) ended: AttemptResult,
    pub(crate) values: Value,
    pub(crate) heard: Vec<(ChatRequest, ChatReply)>,
}

impl Left {
    /// What the model said, turn by turn.
    pub(crate) fn said(&self) -> String {
        self.heard.iter().flat_map(|(_, reply)| reply.say.clone()).collect::<Vec<_>>().join("\n")
    }
}

/// Runs one attempt.
pub(crate) async fn attempt(policy: Policy, scene: Value, instruction: &str, notes: &[Note]) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(VirtualClock::default());
    let redactor = Arc::new(Redactor::new([]).expect("builds"));
    let blobs = folder.path().join("blobs");
    let mut recorder = Recorder::create(folder.path(), &blobs, clock.clone(), redactor).expect("records");
    let world =
        WorldSpec { scene: Some(scene), ..WorldSpec::new(EnvironmentKind::Scene, Size::new(1280, 800)) };
    let brief = TaskBrief {
        id: TaskId::new("scene"),
        instruction: instruction.into(),
        limits: Limits { world_steps: 60, ..Limits::default() },
    };
    let model = Listening { inner: BuiltInModel::new(policy), heard: Mutex::default() };
    let mut opened = SceneSource::default().open(&world).await.expect("opens");
    let guidance = lend(notes);
    let header = Header {
        version: 1,
        program: "test".into(),
        brief: brief.clone(),
        world,
        model: model.profile().clone(),
        seed: None,
        prompt_hash: agent::prompt_hash(),
    };
    let attempt = AttemptInput {
        brief: &brief,
        model: &model,
        guidance: &guidance,
        tools: &[],
        clock: clock.as_ref(),
        header,
        seed: None,
        cancel: CancellationToken::new(),
    };
    let ended = agent::run(attempt, opened.environment.as_mut(), &mut recorder).await;
    recorder.sync().expect("syncs");
    let bytes = opened.machine.read("/state.json").await.expect("reads");
    let state: Value = serde_json::from_slice(&bytes).expect("JSON");
    let heard = model.heard.into_inner().expect("unpoisoned");
    Left { ended, values: state["values"].clone(), heard }
}
