//! The open sessions of an agent: each with a world, a conversation and at most one turn at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_acp::{Connection, ContentBlock, RequestId, RpcError, StopReason, known_fields, method};
use apprentice_harness::tool::mcp::CallableTool;
use apprentice_protocol::{Clock, VoidCause};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Acp;
use super::tool_servers::ToolServers;
use crate::commands::editor::Editor;
use crate::commands::interrupts::SessionInterrupts;
use crate::commands::session::chat::Chat;
use crate::commands::session::client::{ClientWiring, ClientWorld, serve_client};
use crate::commands::session::client_session::{SessionClient, client_session};
use crate::models::Models;
use crate::settings::config::Config;
use crate::{terminal, wire};

/// What every session is made of.
pub(super) struct SessionPlan {
    pub(super) arguments: Acp,
    pub(super) config: Config,
    pub(super) models: Arc<Models>,
    pub(super) clock: Arc<dyn Clock>,
}

/// The sessions of one connection.
pub(super) struct Sessions {
    plan: Arc<SessionPlan>,
    connection: Connection,
    /// Ends all of them.
    all: CancellationToken,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Number of the last one.
    last: u64,
    /// Sessions whose world is being opened, is open or is being closed.
    worlds: usize,
    sessions: BTreeMap<String, Arc<OpenSession>>,
}

/// A session with an open world.
struct OpenSession {
    client: SessionClient,
    editor: Arc<Editor>,
    /// Ends it.
    end: CancellationToken,
    /// Cancelled when its world is closed.
    closed: CancellationToken,
    /// The cancellation of the turn that runs.
    turn: Mutex<Option<CancellationToken>>,
}

impl OpenSession {
    fn turn(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    pub(super) fn new(plan: Arc<SessionPlan>, connection: Connection, all: CancellationToken) -> Self {
        Self { plan, connection, all, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, params: &Value) -> Result<Arc<OpenSession>, RpcError> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let found = self.open().sessions.get(id).map(Arc::clone);
        found.ok_or_else(|| RpcError::invalid_params(format!("there is no session {id:?}")))
    }

    /// Cancels the turn of a session, if there is one.
    pub(super) fn cancel(&self, params: &Value) {
        if let Ok(session) = self.find(params)
            && let Some(turn) = session.turn().as_ref()
        {
            turn.cancel();
        }
    }

    /// Begins a session, if there is room.
    pub(super) fn begin(self: &Arc<Self>, params: &Value) -> Result<NewSession, RpcError> {
        known_fields(method::SESSION_NEW, params, &["cwd", "mcpServers"])?;
        if !params["cwd"].as_str().is_some_and(|cwd| Path::new(cwd).is_absolute()) {
            return Err(RpcError::invalid_params("cwd must be an absolute path"));
        }
        let cwd = params["cwd"].as_str().unwrap_or_default();
        let servers = ToolServers::read(&params["mcpServers"], cwd, &self.plan.clock)?;
        let mut open = self.open();
        let most = self.plan.arguments.sessions;
        if open.worlds >= most {
            let problem = format!("{most} sessions are open, the most of --sessions; close one first");
            return Err(RpcError::invalid_request(problem));
        }
        open.worlds += 1;
        open.last += 1;
        let (number, id) = (open.last, format!("session_{}", open.last));
        Ok(NewSession { sessions: Arc::clone(self), number, id, servers })
    }

    /// Begins a turn.
    pub(super) fn prompt(self: &Arc<Self>, params: &Value) -> Result<Turn, RpcError> {
        known_fields(method::SESSION_PROMPT, params, &["sessionId", "prompt"])?;
        let session = self.find(params)?;
        let instruction = instruction(&params["prompt"])?;
        let cancel = CancellationToken::new();
        let mut turn = session.turn();
        if turn.is_some() {
            return Err(RpcError::invalid_request(
                "a turn of this session is running; cancel it or wait for its end",
            ));
        }
        *turn = Some(cancel.clone());
        drop(turn);
        Ok(Turn { connection: self.connection.clone(), session, instruction, cancel })
    }

    /// Ends a session.
    pub(super) fn close(self: &Arc<Self>, params: &Value) -> Result<Closing, RpcError> {
        known_fields(method::SESSION_CLOSE, params, &["sessionId"])?;
        let session = self.find(params)?;
        Ok(Closing { connection: self.connection.clone(), session })
    }
}

/// Reads a prompt: its texts, and its links as lines.
fn instruction(prompt: &Value) -> Result<String, RpcError> {
    let parts = prompt.as_array().ok_or_else(|| RpcError::invalid_params("prompt must be a list"))?;
    let read = parts.iter().map(|part| match ContentBlock::deserialize(part) {
        Ok(ContentBlock::Text { text }) => Ok(text),
        Ok(ContentBlock::ResourceLink { name, uri }) => Ok(format!("[{name}]({uri})")),
        Ok(ContentBlock::Image { .. }) | Err(_) => {
            let kind = &part["type"];
            Err(RpcError::invalid_params(format!("a prompt holds texts and links, not {kind}")))
        }
    });
    let text = read.collect::<Result<Vec<_>, _>>()?.join("\n");
    match text.trim() {
        "" => Err(RpcError::invalid_params("the prompt holds no words")),
        text => Ok(text.to_owned()),
    }
}

/// A session whose world is to be opened.
pub(super) struct NewSession {
    sessions: Arc<Sessions>,
    number: u64,
    id: String,
    servers: ToolServers,
}

impl NewSession {
    /// Starts the editor's tool servers, opens the world, answers, and carries out turns until the session ends.
    pub(super) async fn work(self, request: RequestId) {
        let closed = CancellationToken::new();
        let tools = tokio::select! {
            biased;
            () = self.sessions.all.cancelled() => Err("the agent is ending".to_owned()),
            tools = self.servers.tools() => tools,
        };
        match tools {
            Ok(tools) => self.carry_out(request, tools, &closed).await,
            Err(why) => {
                let why = terminal::redacted(&why);
                let _ = self.sessions.connection.respond(&request, Err(RpcError::internal(why))).await;
            }
        }
        self.servers.leave().await;
        let mut open = self.sessions.open();
        open.sessions.remove(&self.id);
        open.worlds -= 1;
        drop(open);
        closed.cancel();
    }

    async fn carry_out(&self, request: RequestId, tools: Vec<CallableTool>, closed: &CancellationToken) {
        let plan = Arc::clone(&self.sessions.plan);
        let arguments = &plan.arguments;
        let interrupts = SessionInterrupts::under(&self.sessions.all);
        let (client, session) = client_session();
        let editor = Editor::new(self.id.clone(), self.sessions.connection.clone(), arguments.ask);
        let given = ClientWorld {
            model: &arguments.model,
            app: arguments.app.as_ref(),
            url: arguments.url.as_ref(),
            screen: &arguments.screen,
            files: &arguments.file,
            skillbook: arguments.skillbook.as_ref(),
            max_steps: arguments.max_steps,
            folder: self.folder(&plan),
            editor: Some(&editor),
            tools,
        };
        let wiring = ClientWiring { config: &plan.config, models: &plan.models, clock: &plan.clock };
        let chat = Chat::of_client(session, Arc::clone(&interrupts));
        let mut working = std::pin::pin!(serve_client(given, chat, wiring));
        let mut waiting = client.clone();
        let ended = tokio::select! {
            ended = &mut working => Some(ended),
            Some(_) = waiting.world() => None,
        };
        let connection = &self.sessions.connection;
        let ended = match ended {
            Some(ended) => {
                let why = match &ended {
                    Ok(()) => "the agent is ending".to_owned(),
                    Err(failure) => terminal::redacted(&format!("{:#}", failure.source)),
                };
                let _ = connection.respond(&request, Err(RpcError::internal(why))).await;
                ended
            }
            None => {
                let end = interrupts.session().clone();
                let turn = Mutex::default();
                let editor = Arc::clone(&editor);
                let session = OpenSession { client, editor, end, closed: closed.clone(), turn };
                self.sessions.open().sessions.insert(self.id.clone(), Arc::new(session));
                let _ = connection.respond(&request, Ok(json!({ "sessionId": self.id }))).await;
                working.await
            }
        };
        if let Err(failure) = ended {
            terminal::note(format_args!("{}: {:#}", self.id, failure.source));
        }
    }

    /// The folder of the session's trace. An editor starts the agent again with the same arguments, so each has a name of its own.
    fn folder(&self, plan: &SessionPlan) -> PathBuf {
        let parent = plan.arguments.out.as_ref().unwrap_or(&plan.config.runs);
        parent.join(format!("{}-acp-{}-{}", wire::stamp(&*plan.clock), std::process::id(), self.number))
    }
}

/// A turn that is to be carried out.
pub(super) struct Turn {
    connection: Connection,
    session: Arc<OpenSession>,
    instruction: String,
    cancel: CancellationToken,
}

impl Turn {
    /// Carries it out, and answers when all of it is told.
    pub(super) async fn work(self, request: RequestId) {
        let Self { connection, session, instruction, cancel } = self;
        let report = session.client.instruct(instruction, cancel.child_token()).await;
        let ended = match &report {
            Some(report) => {
                let cancelled = cancel.is_cancelled() || report.stop == Err(VoidCause::Interrupted);
                session.editor.end_turn(report, cancelled)
            }
            None if cancel.is_cancelled() || session.end.is_cancelled() => Ok(StopReason::Cancelled),
            None => Err("the session has ended".to_owned()),
        };
        session.editor.sent().await;
        *session.turn() = None;
        let answer = match ended {
            Ok(stop) => Ok(json!({ "stopReason": stop })),
            Err(why) => Err(RpcError::internal(terminal::redacted(&why))),
        };
        let _ = connection.respond(&request, answer).await;
    }
}

/// A session that is to be closed.
pub(super) struct Closing {
    connection: Connection,
    session: Arc<OpenSession>,
}

impl Closing {
    /// Ends its turn and closes its world, then answers.
    pub(super) async fn work(self, request: RequestId) {
        self.session.end.cancel();
        self.session.closed.cancelled().await;
        let _ = self.connection.respond(&request, Ok(json!({}))).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::instruction;

    #[test]
    fn a_prompt_is_its_texts_and_links() {
        let prompt = json!([
            { "type": "text", "text": "Read" },
            { "type": "resource_link", "name": "notes", "uri": "file:///notes.txt" },
        ]);
        assert_eq!(instruction(&prompt), Ok("Read\n[notes](file:///notes.txt)".to_owned()));
        for refused in [
            json!([]),
            json!("words"),
            json!([{ "type": "text", "text": "  " }]),
            json!([{ "type": "image", "data": "AA==", "mimeType": "image/png" }]),
            json!([{ "type": "smell" }]),
            json!([{ "text": "no type" }]),
        ] {
            assert_eq!(instruction(&refused).expect_err("refused").code, -32602, "{refused}");
        }
    }
}
