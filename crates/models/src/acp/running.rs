//! A running agent: its process, its connection, its session, and the turn that it is in.

use std::time::Duration;

use apprentice_acp::{
    Connection, ContentBlock, Inbox, Incoming, OptionKind, PROTOCOL_VERSION, PendingRequest,
    PermissionOption, PermissionOutcome, RequestId, RpcError, StopReason, Writing, connect, method,
};
use apprentice_protocol::{
    Call, CallBody, CallId, ChatReply, ChatRequest, Content, Finish, Message, ModelError, ModelErrorKind,
    RawContent, ReplyStop, Timing, ToolSpec, Usage,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::process::ChildStdout;
use tokio::sync::oneshot;

use super::process::AgentProcess;
use super::tools::{self, SERVER, ToolCall, ToolServer};
use super::updates::Updates;
use super::{AcpConfig, WORLD};
use crate::action_format::{ModelOutput, computer_tool, read_computer};
use crate::http::media_type;

/// Deadline for the end of a cancelled turn, and for that of a process whose input has ended.
const LEAVE: Duration = Duration::from_secs(5);
/// The name of the tool that acts.
const COMPUTER: &str = "computer";

/// An agent that was started.
pub(super) struct Running {
    inbox: Inbox<ChildStdout>,
    connection: Connection,
    writing: Writing,
    process: AgentProcess,
    tools: ToolServer,
    session: String,
    /// The name and version that the agent gives.
    name: Option<String>,
    /// Whether a prompt may hold pictures.
    sees: bool,
    /// The turn that it is in.
    prompt: Option<PendingRequest>,
    /// The call of it that waits for its result.
    waiting: Option<oneshot::Sender<rmcp::model::CallToolResult>>,
    updates: Updates,
    calls: u64,
}

/// What ends the wait for a reply.
enum Next {
    Called(ToolCall),
    Ended(StopReason),
}

fn unavailable(message: impl Into<String>) -> ModelError {
    ModelError::never(ModelErrorKind::Unavailable, message)
}

/// Turns the end of an agent's connection or an error of a request into the model's error.
fn failed(what: &str, error: &RpcError) -> ModelError {
    // Authentication required: no attempt could begin.
    let more = error.data.as_ref().map(|data| format!(" {data}")).unwrap_or_default();
    let told = format!("the agent's {what}: {error}{more}");
    match error.code {
        -32000 => ModelError::lasting(ModelErrorKind::Unavailable, told),
        _ => unavailable(told),
    }
}

impl Running {
    /// Starts the agent, agrees on the version, and opens a session with the tools of this conversation.
    pub(super) async fn start(config: &AcpConfig, request: &ChatRequest) -> Result<Self, ModelError> {
        let specs: Vec<ToolSpec> =
            request.world.map(computer_tool).into_iter().chain(request.tools.iter().cloned()).collect();
        let io = |error: std::io::Error| unavailable(format!("the agent could not be started: {error}"));
        let tools = ToolServer::start(&specs).map_err(io)?;
        let folder = tools.folder().join("work");
        std::fs::create_dir(&folder).map_err(io)?;
        let (process, input, output) = AgentProcess::start(&config.command, &folder).map_err(io)?;
        let (connection, inbox, writing) = connect(output, input);
        let mut running = Self {
            inbox,
            connection,
            writing,
            process,
            tools,
            session: String::new(),
            name: None,
            sees: false,
            prompt: None,
            waiting: None,
            updates: Updates::default(),
            calls: 0,
        };
        let client = json!({ "name": "apprentice", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": client,
        });
        let hello = running.ask(method::INITIALIZE, &params, config.start).await?;
        running.agree(&hello)?;
        let mut relay = config.relay.iter();
        let server = json!({
            "name": SERVER,
            "command": relay.next(),
            "args": relay.map(String::as_str).chain([&*running.tools.socket().to_string_lossy()]).collect::<Vec<_>>(),
            "env": [],
        });
        let params = json!({ "cwd": folder, "mcpServers": [server] });
        let session = running.ask(method::SESSION_NEW, &params, config.start).await?;
        let id = session["sessionId"].as_str();
        let none = || ModelError::never(ModelErrorKind::Protocol, "session/new answered without a sessionId");
        id.ok_or_else(none)?.clone_into(&mut running.session);
        Ok(running)
    }

    /// Compares the version, which no SDK does.
    fn agree(&mut self, hello: &Value) -> Result<(), ModelError> {
        let version = &hello["protocolVersion"];
        if *version != json!(PROTOCOL_VERSION) {
            let told = format!("the agent speaks version {version} of ACP; here it is {PROTOCOL_VERSION}");
            return Err(ModelError::lasting(ModelErrorKind::Protocol, told));
        }
        self.sees = hello["agentCapabilities"]["promptCapabilities"]["image"] == true;
        let info = &hello["agentInfo"];
        let words = [info["name"].as_str(), info["version"].as_str()];
        self.name =
            Some(words.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty());
        Ok(())
    }

    /// Sends a request and waits for its answer, while others are answered.
    async fn ask(&mut self, method: &str, params: &Value, within: Duration) -> Result<Value, ModelError> {
        let answered = tokio::time::timeout(within, self.answered(method, params)).await;
        answered.unwrap_or_else(|_| {
            let told = format!("the agent did not answer {method} within {} s", within.as_secs());
            Err(unavailable(told))
        })
    }

    async fn answered(&mut self, method: &str, params: &Value) -> Result<Value, ModelError> {
        let Ok(mut pending) = self.connection.begin(method, params).await else {
            return Err(self.gone().await);
        };
        loop {
            let incoming = tokio::select! {
                biased;
                answer = pending.answer() => match answer {
                    Ok(answer) => return answer.map_err(|error| failed(method, &error)),
                    Err(_) => return Err(self.gone().await),
                },
                incoming = self.inbox.next() => incoming,
            };
            match incoming {
                Some(incoming) => self.take(incoming, false).await,
                None => return Err(self.gone().await),
            }
        }
    }

    /// The error of an agent that has ended.
    async fn gone(&mut self) -> ModelError {
        self.process.ended(LEAVE).await;
        let words = self.process.last_words();
        let told = match words.is_empty() {
            true => "the agent has ended".to_owned(),
            false => format!("the agent has ended: {words}"),
        };
        unavailable(told)
    }

    /// Takes what the agent tells or asks.
    async fn take(&mut self, incoming: Incoming, cancelled: bool) {
        match incoming {
            Incoming::Notification { method, params } if method == method::SESSION_UPDATE => {
                if params["sessionId"] == self.session.as_str() {
                    self.updates.take(&params["update"]);
                }
            }
            Incoming::Notification { .. } => {}
            Incoming::Request { id, method, params } if method == method::REQUEST_PERMISSION => {
                self.answer_permission(&id, &params, cancelled).await;
            }
            Incoming::Request { id, method, .. } => {
                // An agent that is gone ends the inbox.
                let _ = self.connection.respond(&id, Err(RpcError::no_method(&method))).await;
            }
        }
    }

    async fn answer_permission(&mut self, id: &RequestId, params: &Value, cancelled: bool) {
        self.updates.take(&json!({ "permission_requested": params }));
        let outcome = if cancelled { Ok(PermissionOutcome::Cancelled) } else { choice(params) };
        let answer = outcome.map(|outcome| outcome.result()).map_err(RpcError::invalid_params);
        if let Ok(answer) = &answer {
            self.updates.take(&json!({ "permission_answered": answer }));
        }
        let _ = self.connection.respond(id, answer).await;
    }

    /// Tells the agent what is new and waits for its next call, or for the end of its turn.
    pub(super) async fn turn(
        &mut self,
        request: &ChatRequest,
        new: &[Message],
        silence: Duration,
    ) -> Result<ChatReply, ModelError> {
        let mut said: Vec<&Content> = Vec::new();
        for message in new {
            match message {
                Message::Results { results, notices } => {
                    if let Some(waiting) = self.waiting.take() {
                        // The agent may have given up its call.
                        let _ = waiting.send(tools::result(results.first(), notices));
                    }
                }
                Message::User { content } => said.extend(content),
                Message::Assistant { .. } => {}
            }
        }
        if !said.is_empty() {
            self.settle(silence).await?;
            self.begin(request, &said).await?;
        }
        match self.next(silence).await? {
            Next::Ended(StopReason::Cancelled) => {
                let told = "the agent says that its turn was cancelled, and nobody cancelled it";
                Err(ModelError::never(ModelErrorKind::Protocol, told))
            }
            next => Ok(self.reply(next)),
        }
    }

    /// Waits for the end of a turn that was still going on when it was over here: after `finish`, or after an interrupt.
    async fn settle(&mut self, silence: Duration) -> Result<(), ModelError> {
        while self.prompt.is_some() {
            match self.next(silence).await? {
                Next::Ended(_) => {}
                Next::Called(call) => drop(call),
            }
        }
        self.updates = Updates::default();
        Ok(())
    }

    /// Begins a turn.
    async fn begin(&mut self, request: &ChatRequest, said: &[&Content]) -> Result<(), ModelError> {
        let mut prompt = Vec::new();
        if self.calls == 0 && !request.system.is_empty() {
            prompt.push(ContentBlock::text(format!("{}\n\n{}", request.system, WORLD.text().trim_end())));
        }
        prompt.extend(said.iter().filter_map(|part| match part {
            Content::Text { text } => Some(ContentBlock::text(text.clone())),
            Content::Image { image } if self.sees => Some(ContentBlock::Image {
                data: STANDARD.encode(&image.bytes.0),
                mime_type: media_type(image.media).to_owned(),
            }),
            // Each result of a tool shows the screen.
            Content::Image { .. } => None,
        }));
        let params = json!({ "sessionId": self.session, "prompt": prompt });
        match self.connection.begin(method::SESSION_PROMPT, &params).await {
            Ok(pending) => {
                self.prompt = Some(pending);
                Ok(())
            }
            Err(_) => Err(self.gone().await),
        }
    }

    /// Waits for a call or the end of the turn. Dropping the future loses nothing.
    async fn next(&mut self, silence: Duration) -> Result<Next, ModelError> {
        loop {
            let Some(prompt) = &mut self.prompt else {
                return Err(ModelError::never(ModelErrorKind::Request, "the agent has no instruction"));
            };
            let (calls, inbox) = (&mut self.tools.calls, &mut self.inbox);
            let heard = tokio::time::timeout(silence, async {
                tokio::select! {
                    biased;
                    // What came before the answer was taken before.
                    answer = prompt.answer() => Heard::Answer(answer),
                    incoming = inbox.next() => Heard::Incoming(incoming),
                    call = calls.recv() => Heard::Call(call),
                }
            });
            match heard.await {
                Ok(Heard::Answer(Ok(answer))) => {
                    self.prompt = None;
                    return ended(answer);
                }
                Ok(Heard::Call(Some(call))) => return Ok(Next::Called(call)),
                Ok(Heard::Incoming(Some(incoming))) => self.take(incoming, false).await,
                Ok(Heard::Answer(Err(_)) | Heard::Incoming(None) | Heard::Call(None)) => {
                    return Err(self.gone().await);
                }
                Err(_) => {
                    let told = format!("the agent said and did nothing for {} s", silence.as_secs());
                    return Err(unavailable(told));
                }
            }
        }
    }

    fn reply(&mut self, next: Next) -> ChatReply {
        let (blocks, mut say, thoughts) = self.updates.finish();
        let (body, stop) = match next {
            Next::Called(ToolCall { name, arguments, answer }) => {
                self.waiting = Some(answer);
                (Some(body(&name, &arguments)), ReplyStop::Calls)
            }
            Next::Ended(StopReason::EndTurn) if say.is_empty() => {
                (Some(CallBody::Finish(Finish::Done)), ReplyStop::Calls)
            }
            Next::Ended(StopReason::EndTurn) => (None, ReplyStop::EndTurn),
            Next::Ended(StopReason::Refusal) => (None, ReplyStop::Refusal),
            Next::Ended(
                stop @ (StopReason::MaxTokens | StopReason::MaxTurnRequests | StopReason::Cancelled),
            ) => {
                // It ended before it was done, which the checks will say.
                say.push(format!("[the agent's turn ended with {}]", json!(stop)));
                (Some(CallBody::Finish(Finish::Done)), ReplyStop::Calls)
            }
        };
        self.calls += 1;
        let id = CallId::new(format!("call_{}", self.calls));
        ChatReply {
            raw: RawContent { blocks },
            say,
            thoughts,
            calls: body.into_iter().map(|body| Call { id: id.clone(), body }).collect(),
            stop,
            // What the agent's own model took is not known here.
            usage: Usage::default(),
            timing: Timing::default(),
            cost_usd: None,
            estimated: true,
            adapted: Vec::new(),
            provider_model: self.name.clone(),
        }
    }

    /// Cancels the turn and waits for its end. Permissions that are open are answered `cancelled`.
    pub(super) async fn cancel(&mut self) -> Result<(), ModelError> {
        self.waiting = None;
        if self.prompt.is_none() {
            return Ok(());
        }
        let params = json!({ "sessionId": self.session });
        if self.connection.notify(method::SESSION_CANCEL, &params).await.is_err() {
            return Err(self.gone().await);
        }
        let ended = tokio::time::timeout(LEAVE, self.cancelled()).await;
        ended.unwrap_or_else(|_| Err(unavailable("the agent did not end its cancelled turn")))
    }

    async fn cancelled(&mut self) -> Result<(), ModelError> {
        while let Some(prompt) = &mut self.prompt {
            let incoming = tokio::select! {
                biased;
                answer = prompt.answer() => match answer {
                    Ok(_) => {
                        self.prompt = None;
                        continue;
                    }
                    Err(_) => return Err(self.gone().await),
                },
                Some(call) = self.tools.calls.recv() => {
                    drop(call);
                    continue;
                }
                incoming = self.inbox.next() => incoming,
            };
            match incoming {
                Some(incoming) => self.take(incoming, true).await,
                None => return Err(self.gone().await),
            }
        }
        Ok(())
    }

    /// Ends the turn, then the agent's input, then the process.
    pub(super) async fn end(mut self) {
        if let Err(error) = self.cancel().await {
            tracing::debug!(%error, "an agent did not end its turn");
        }
        let Self { inbox, connection, writing, mut process, .. } = self;
        drop((inbox, connection));
        if tokio::time::timeout(LEAVE, writing.ended()).await.is_ok() {
            process.ended(LEAVE).await;
        }
    }
}

/// What was heard while waiting.
enum Heard {
    Answer(Result<Result<Value, RpcError>, apprentice_acp::ConnectionClosed>),
    Call(Option<ToolCall>),
    Incoming(Option<Incoming>),
}

/// How the agent says that its turn has ended.
fn ended(answer: Result<Value, RpcError>) -> Result<Next, ModelError> {
    let result = answer.map_err(|error| failed(method::SESSION_PROMPT, &error))?;
    let strange = |_| {
        let told = format!("the agent's turn ended with stopReason {}", result["stopReason"]);
        ModelError::never(ModelErrorKind::Protocol, told)
    };
    StopReason::deserialize(&result["stopReason"]).map(Next::Ended).map_err(strange)
}

/// Chooses the first option that allows once, else the first that allows, else the first.
fn choice(params: &Value) -> Result<PermissionOutcome, String> {
    let options = Vec::<PermissionOption>::deserialize(&params["options"])
        .map_err(|error| format!("the options of a permission: {error}"))?;
    let of = |kind| options.iter().find(|option| option.kind == kind);
    let chosen = of(OptionKind::AllowOnce).or_else(|| of(OptionKind::AllowAlways)).or(options.first());
    let chosen = chosen.ok_or("a permission without options")?;
    Ok(PermissionOutcome::Selected { option_id: chosen.option_id.clone() })
}

/// Reads a call of a tool.
fn body(name: &str, arguments: &Value) -> CallBody {
    match (name, arguments["action"].as_str()) {
        (COMPUTER, Some(member)) => ModelOutput::body(read_computer(member, arguments)),
        (COMPUTER, None) => CallBody::Unusable { problem: "computer needs an \"action\"".into() },
        _ => CallBody::Tool { name: name.to_owned(), arguments: arguments.clone() },
    }
}

#[cfg(test)]
mod tests {
    use apprentice_acp::PermissionOutcome;
    use serde_json::json;

    use super::choice;

    #[test]
    fn a_permission_is_given_once_where_that_can_be_chosen() {
        let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
        let chosen = |options: serde_json::Value| match choice(&json!({ "options": options })) {
            Ok(PermissionOutcome::Selected { option_id }) => option_id,
            other => format!("{other:?}"),
        };
        let all = json!([option("n", "reject_once"), option("a", "allow_always"), option("o", "allow_once")]);
        assert_eq!(chosen(all), "o");
        assert_eq!(chosen(json!([option("n", "reject_once"), option("a", "allow_always")])), "a");
        assert_eq!(chosen(json!([option("n", "reject_once")])), "n");
        assert!(choice(&json!({ "options": [] })).is_err() && choice(&json!({})).is_err());
    }
}
