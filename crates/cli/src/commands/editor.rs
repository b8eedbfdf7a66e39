//! What an editor sees of a turn, in order: words, thoughts, calls, their results and the screen after them; and the question
//! before a call that acts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_acp::{
    Connection, ContentBlock, OptionKind, PermissionOption, PermissionOutcome, StopReason, method,
};
use apprentice_harness::agent::TurnReport;
use apprentice_protocol::{
    ActionDetail, ActionOutcome, BlobHash, BoundedText, BoxFuture, Call, CallBody, CallId, CallResult,
    ChatModel, ChatReply, ChatRequest, Clock, EventKind, Finish, ModelError, ModelProfile, TextBudget,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::terminal;
use crate::terminal::event_printer::EventListener;

/// Limit on the title of a call, in characters.
const TITLE: TextBudget = TextBudget(200);
/// Limit on the text of a call's result, in characters.
const RESULT: TextBudget = TextBudget(4_000);
/// The tool that ends a turn: nothing to ask about.
const FINISH: &str = "finish";
const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";

/// The editor's side of one session.
pub(crate) struct Editor {
    session: String,
    connection: Connection,
    /// Whether its user is asked before each call that acts.
    asks: bool,
    updates: mpsc::UnboundedSender<Update>,
    state: Mutex<State>,
}

/// What goes to the editor. Events are recorded without waiting, so they are queued here; before each request of the model the
/// queue is emptied, so that it holds one step at most.
enum Update {
    Tell(Value),
    /// All before it is sent.
    Sent(oneshot::Sender<()>),
}

#[derive(Default)]
struct State {
    /// Number of the last call of the session.
    calls: u64,
    /// The calls of the last reply that have no result, with their ids for the editor.
    open: Vec<(CallId, String)>,
    /// The last call that acted, with its status and result: it gets the picture of the screen after it.
    acted: Option<(String, &'static str, Vec<ContentBlock>)>,
    /// The picture that was stored last, as it stands in an event.
    kept: Option<(BlobHash, ContentBlock)>,
    /// The user allowed all calls of the session.
    allowed: bool,
    /// What the model said last.
    said: String,
}

impl Editor {
    /// The editor of a session. Must be called in an async runtime, where its updates are sent.
    pub(super) fn new(session: String, connection: Connection, asks: bool) -> Arc<Self> {
        let (updates, mut queue) = mpsc::unbounded_channel();
        let (sent, name) = (connection.clone(), session.clone());
        tokio::spawn(async move {
            while let Some(update) = queue.recv().await {
                match update {
                    Update::Tell(update) => {
                        let params = json!({ "sessionId": name, "update": update });
                        // Without its client the agent's input ends as well.
                        let _ = sent.notify(method::SESSION_UPDATE, &params).await;
                    }
                    Update::Sent(told) => {
                        let _ = told.send(());
                    }
                }
            }
        });
        Arc::new(Self { session, connection, asks, updates, state: Mutex::default() })
    }

    /// Shows what a model replies before it is carried out.
    pub(crate) fn watching(
        editor: &Arc<Self>,
        model: Arc<dyn ChatModel>,
        clock: &Arc<dyn Clock>,
    ) -> Arc<dyn ChatModel> {
        Arc::new(WatchedModel { model, editor: Arc::clone(editor), clock: Arc::clone(clock) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, update: Value) {
        // The sending task lives as long as this does.
        let _ = self.updates.send(Update::Tell(update));
    }

    /// Waits until everything so far is on its way.
    pub(super) async fn sent(&self) {
        let (told, sent) = oneshot::channel();
        if self.updates.send(Update::Sent(told)).is_ok() {
            let _ = sent.await;
        }
    }

    fn say(&self, kind: &str, text: &str) {
        if !text.is_empty() {
            let content = ContentBlock::text(terminal::redacted(text));
            self.tell(json!({ "sessionUpdate": kind, "content": content }));
        }
    }

    /// Shows a reply, and asks for the calls that act. What is not allowed becomes a call that the model learns about.
    async fn show(&self, reply: &mut ChatReply) {
        reply.thoughts.iter().for_each(|text| self.say("agent_thought_chunk", text));
        reply.say.iter().for_each(|text| self.say("agent_message_chunk", text));
        let announced = {
            let mut state = self.state();
            state.said = reply.say.join("\n").trim().to_owned();
            state.acted = None;
            state.open.clear();
            for call in &reply.calls {
                state.calls += 1;
                let id = format!("call_{}", state.calls);
                state.open.push((call.id.clone(), id));
            }
            state.open.clone()
        };
        for (call, (_, id)) in reply.calls.iter().zip(&announced) {
            self.tell(describe(call, id));
        }
        self.sent().await;
        if !self.asks {
            return;
        }
        for (call, (_, id)) in reply.calls.iter_mut().zip(&announced) {
            let acts = match &call.body {
                CallBody::World { .. } => true,
                CallBody::Tool { name, .. } => name != FINISH,
                CallBody::Finish(_) | CallBody::Unusable { .. } => false,
            };
            if acts && let Err(problem) = self.ask(call, id).await {
                call.body = CallBody::Unusable { problem };
            }
        }
    }

    /// Asks for one call. Cancelling the turn drops the question.
    async fn ask(&self, call: &Call, id: &str) -> Result<(), String> {
        if self.state().allowed {
            return Ok(());
        }
        let option = |id: &str, name: &str, kind| PermissionOption {
            option_id: id.to_owned(),
            name: name.to_owned(),
            kind,
        };
        let options = [
            option(ALLOW_ONCE, "Allow", OptionKind::AllowOnce),
            option(ALLOW_ALWAYS, "Allow all in this session", OptionKind::AllowAlways),
            option(REJECT_ONCE, "Reject", OptionKind::RejectOnce),
        ];
        let mut tool = describe(call, id);
        if let Some(fields) = tool.as_object_mut() {
            fields.remove("sessionUpdate");
        }
        let params = json!({ "sessionId": self.session, "toolCall": tool, "options": options });
        let answer = self.connection.request(method::REQUEST_PERMISSION, &params).await;
        let refused = |why: &str| Err(format!("this call was not carried out: {why}"));
        let outcome = match answer {
            Ok(Ok(result)) => PermissionOutcome::read(&result),
            Ok(Err(error)) => return refused(&format!("the question was answered with an error: {error}")),
            Err(gone) => return refused(&gone.to_string()),
        };
        match outcome {
            Ok(PermissionOutcome::Selected { option_id }) if option_id == ALLOW_ONCE => Ok(()),
            Ok(PermissionOutcome::Selected { option_id }) if option_id == ALLOW_ALWAYS => {
                self.state().allowed = true;
                Ok(())
            }
            Ok(PermissionOutcome::Selected { option_id }) if option_id == REJECT_ONCE => {
                refused("the user rejected it")
            }
            Ok(PermissionOutcome::Selected { option_id }) => {
                refused(&format!("there is no option {option_id:?}"))
            }
            Ok(PermissionOutcome::Cancelled) => refused("the user cancelled the question"),
            Err(problem) => refused(&problem),
        }
    }

    /// Shows how a call ended.
    fn show_result(&self, result: &CallResult) {
        let mut state = self.state();
        let Some(place) = state.open.iter().position(|(call, _)| *call == result.id) else { return };
        let (_, id) = state.open.remove(place);
        let status = if result.is_error { "failed" } else { "completed" };
        let problems = result.per_action.iter().filter_map(|outcome| match outcome {
            ActionOutcome::Done { text } => text.as_deref(),
            ActionOutcome::Failed { problem } => Some(problem.as_str()),
            ActionOutcome::NotExecuted => Some("not carried out"),
        });
        let texts = problems.chain(result.content.iter().filter_map(|part| part.as_text()));
        let cut =
            |text: &str| ContentBlock::text(BoundedText::cut(&terminal::redacted(text), RESULT).as_str());
        let content: Vec<ContentBlock> = texts.map(cut).collect();
        self.tell(updated(&id, status, &content));
        state.acted = Some((id, status, content));
    }

    /// Shows the screen after the last call.
    fn show_screen(&self, shown: Option<&BlobHash>) {
        let mut state = self.state();
        let Some((_, picture)) = state.kept.take_if(|(hash, _)| Some(&*hash) == shown) else { return };
        if let Some((id, status, mut content)) = state.acted.take() {
            content.push(picture);
            self.tell(updated(&id, status, &content));
        }
    }

    /// Shows the agent's report of a turn and says how it ended. Calls that it broke off have failed.
    ///
    /// # Errors
    ///
    /// Returns why a void turn broke off.
    pub(super) fn end_turn(&self, report: &TurnReport, cancelled: bool) -> Result<StopReason, String> {
        let said = {
            let mut state = self.state();
            for (_, id) in std::mem::take(&mut state.open) {
                self.tell(updated(&id, "failed", &[]));
            }
            state.acted = None;
            std::mem::take(&mut state.said)
        };
        if cancelled {
            return Ok(StopReason::Cancelled);
        }
        match &report.finish {
            Some(Finish::Answer { text }) if text.trim() == said => {}
            Some(Finish::Answer { text }) => self.say("agent_message_chunk", text),
            Some(Finish::GiveUp { reason }) => {
                self.say("agent_message_chunk", &format!("Given up: {reason}"));
            }
            Some(Finish::Done) if said.is_empty() => self.say("agent_message_chunk", "Done."),
            Some(Finish::Done) => {}
            None => self.say("agent_message_chunk", &format!("Not finished: {}", report.detail)),
        }
        report
            .stop
            .map(stop_reason)
            .map_err(|cause| format!("{}: {}", terminal::words(&cause), report.detail))
    }
}

/// How the protocol says why a turn ended.
fn stop_reason(stop: apprentice_protocol::StopReason) -> StopReason {
    use apprentice_protocol::StopReason as Own;
    match stop {
        Own::Done | Own::Answered | Own::GaveUp | Own::Loop | Own::InvalidOutput => StopReason::EndTurn,
        Own::StepLimit | Own::WorkingTimeLimit | Own::TrialCostLimit => StopReason::MaxTurnRequests,
        Own::TokenLimit | Own::ContextFull => StopReason::MaxTokens,
        Own::Refused | Own::SafetyCheckDeclined => StopReason::Refusal,
    }
}

fn updated(id: &str, status: &str, content: &[ContentBlock]) -> Value {
    let content: Vec<Value> =
        content.iter().map(|part| json!({ "type": "content", "content": part })).collect();
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "content": content })
}

/// The announcement of a call.
fn describe(call: &Call, id: &str) -> Value {
    let (title, kind, name, input) = match &call.body {
        CallBody::World { actions } => {
            let words: Vec<String> = actions.iter().map(|action| action.text(ActionDetail::Full)).collect();
            (words.join("; "), "execute", "computer", json!({ "actions": actions }))
        }
        CallBody::Tool { name, arguments } => {
            (format!("{name} {arguments}"), "other", name.as_str(), arguments.clone())
        }
        CallBody::Finish(finish) => ("finish".to_owned(), "think", "finish", json!(finish)),
        CallBody::Unusable { problem } => {
            (format!("a call that cannot be read: {problem}"), "other", "unusable", Value::Null)
        }
    };
    let title = BoundedText::cut(&terminal::redacted(&title), TITLE);
    let input = serde_json::from_str(&terminal::redacted(&input.to_string())).unwrap_or(Value::Null);
    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title.as_str(), "kind": kind, "name": name,
            "status": "pending", "rawInput": input })
}

impl EventListener for Editor {
    fn heard(&self, kind: &EventKind) {
        match kind {
            EventKind::CallAnswered(result) => self.show_result(result),
            EventKind::Observed { screenshot, .. } => self.show_screen(screenshot.as_ref()),
            _ => {}
        }
    }

    fn kept(&self, hash: &BlobHash, bytes: &[u8], extension: &str) {
        let media = match extension {
            "png" => "image/png",
            "jpg" => "image/jpeg",
            "webp" => "image/webp",
            _ => return,
        };
        let picture = ContentBlock::Image { data: STANDARD.encode(bytes), mime_type: media.to_owned() };
        self.state().kept = Some((hash.clone(), picture));
    }
}

/// A model whose replies an editor sees, and may refuse, before they are carried out.
struct WatchedModel {
    model: Arc<dyn ChatModel>,
    editor: Arc<Editor>,
    clock: Arc<dyn Clock>,
}

impl ChatModel for WatchedModel {
    fn profile(&self) -> &ModelProfile {
        self.model.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            self.editor.sent().await;
            let mut reply = self.model.reply(request).await?;
            let shown = self.clock.mono();
            self.editor.show(&mut reply).await;
            // What a person takes to answer is not the model's time.
            let waited =
                u64::try_from(self.clock.mono().saturating_sub(shown).as_millis()).unwrap_or(u64::MAX);
            reply.timing.waiting_ms = reply.timing.waiting_ms.saturating_add(waited);
            Ok(reply)
        })
    }
}
