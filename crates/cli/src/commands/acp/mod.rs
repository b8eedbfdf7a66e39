//! `apprentice acp`: the agent for editors and harnesses that speak the Agent Client Protocol, on standard input and output. Each
//! session has a fresh world of its own; each prompt is one turn in it.

mod session;
mod tool_servers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apprentice_acp::{Connection, Incoming, PROTOCOL_VERSION, RequestId, RpcError, connect, method};
use apprentice_protocol::{Clock, Monitors};
use apprentice_sandbox::SystemClock;
use clap::Args;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::session::{SessionPlan, Sessions};
use crate::commands::session::setup::check_screen;
use crate::failure::Failure;
use crate::settings::config::Config;
use crate::suite::preflight::check_app;
use crate::wire;

/// Deadline for closing all worlds once the input has ended.
const CLOSE: Duration = Duration::from_secs(30);
/// Deadline for writing what is left once the worlds are closed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves the agent to an editor or a harness over the Agent Client Protocol
///
/// On standard input and output. Each session gets a fresh world; `session/prompt` carries out one turn in it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Acp {
    /// The model of the agent.
    #[arg(long, short, default_value = "builtin/explorer")]
    pub(super) model: String,
    /// Open desktop worlds and start this command first, for example `mousepad notes.txt`.
    #[arg(long, value_name = "CMD", conflicts_with = "url")]
    pub(super) app: Option<String>,
    /// Open browser worlds at this URL.
    #[arg(long)]
    pub(super) url: Option<String>,
    /// Screen size in pixels; + joins the monitors of a desktop, for example 1920x1080+1280x1024.
    #[arg(long, value_name = "WxH[+WxH]", default_value_t)]
    pub(super) screen: Monitors,
    /// Copy this file into the home folder of each world first; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(super) file: Vec<PathBuf>,
    /// Skillbook for the agent.
    #[arg(long, value_name = "DIR")]
    pub(super) skillbook: Option<PathBuf>,
    /// Maximum number of actions of one turn.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = crate::options::count::at_least_one::<u32>)]
    pub(super) max_steps: u32,
    /// Ask the editor's user before each call that acts in the world. Without it nothing is asked: a world is fresh and
    /// isolated, and holds nothing of the user's but the files given by --file.
    #[arg(long)]
    pub(super) ask: bool,
    /// Most sessions at once; each holds a world.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = crate::options::count::at_least_one::<usize>)]
    pub(super) sessions: usize,
    /// Folder for the traces, one folder a session [default: new folders under the setting `runs`].
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

/// Runs the agent until its input ends.
pub(crate) fn run(arguments: &Acp, config: &Config) -> Result<(), Failure> {
    check_screen(arguments.url.as_ref(), &arguments.screen)?;
    arguments.app.as_deref().map_or(Ok(()), |line| check_app(line, config))?;
    wire::runtime()?.block_on(serve(arguments, config))
}

async fn serve(arguments: &Acp, config: &Config) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, Arc::clone(&clock))?;
    models.check(&arguments.model)?;
    let all = wire::cancel_on_interrupt();
    let (connection, mut inbox, writing) = connect(tokio::io::stdin(), tokio::io::stdout());
    let plan = SessionPlan { arguments: arguments.clone(), config: config.clone(), models, clock };
    let mut agent = Agent {
        sessions: Arc::new(Sessions::new(Arc::new(plan), connection.clone(), all.clone())),
        connection,
        tasks: JoinSet::new(),
    };
    loop {
        tokio::select! {
            biased;
            () = all.cancelled() => break,
            next = inbox.next() => match next {
                Some(message) => agent.take(message).await,
                None => break,
            },
            Some(_) = agent.tasks.join_next() => {}
        }
    }
    agent.end(&all).await;
    drop(inbox);
    // A client that reads no more is not waited for.
    let _ = tokio::time::timeout(LAST_WORDS, writing.ended()).await;
    Ok(())
}

/// The agent's side of the connection.
struct Agent {
    sessions: Arc<Sessions>,
    connection: Connection,
    /// Sessions and turns.
    tasks: JoinSet<()>,
}

impl Agent {
    async fn take(&mut self, message: Incoming) {
        match message {
            Incoming::Request { id, method, params } => self.answer(id, &method, params).await,
            // What is not known is nothing that a notification could be told.
            Incoming::Notification { method, params } if method == method::SESSION_CANCEL => {
                self.sessions.cancel(&params);
            }
            Incoming::Notification { .. } => {}
        }
    }

    async fn answer(&mut self, id: RequestId, method: &str, params: Value) {
        let done = match method {
            method::INITIALIZE => initialize(&params),
            method::SESSION_NEW => match self.sessions.begin(&params) {
                Ok(begun) => {
                    self.tasks.spawn(begun.work(id));
                    return;
                }
                Err(error) => Err(error),
            },
            method::SESSION_PROMPT => match self.sessions.prompt(&params) {
                Ok(turn) => {
                    self.tasks.spawn(turn.work(id));
                    return;
                }
                Err(error) => Err(error),
            },
            method::SESSION_CLOSE => match self.sessions.close(&params) {
                Ok(closing) => {
                    self.tasks.spawn(closing.work(id));
                    return;
                }
                Err(error) => Err(error),
            },
            other => Err(RpcError::no_method(other)),
        };
        // A client that is gone ends the input, too.
        let _ = self.connection.respond(&id, done).await;
    }

    /// Ends every session and waits until its world is closed.
    async fn end(mut self, all: &CancellationToken) {
        all.cancel();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(CLOSE, ended).await.is_err() {
            tracing::warn!("a world was not closed within {} s", CLOSE.as_secs());
        }
    }
}

/// Agrees on a version: whatever the client asks for, the answer is the one that is spoken here, and the client decides.
fn initialize(params: &Value) -> Result<Value, RpcError> {
    let asked = &params["protocolVersion"];
    if asked.as_u64().and_then(|number| u16::try_from(number).ok()).is_none() {
        let problem = format!("protocolVersion must be a whole number from 0 to {}, not {asked}", u16::MAX);
        return Err(RpcError::invalid_params(problem));
    }
    Ok(json!({
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": false,
            "promptCapabilities": { "image": false, "audio": false, "embeddedContext": false },
            "mcpCapabilities": { "http": false, "sse": false },
            "sessionCapabilities": { "close": {} },
        },
        "authMethods": [],
        "agentInfo": { "name": "apprentice", "title": "Apprentice", "version": env!("CARGO_PKG_VERSION") },
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::initialize;

    #[test]
    fn the_version_is_a_number_and_always_the_own_one() {
        for asked in [json!(0), json!(1), json!(99), json!(65535)] {
            let answer = initialize(&json!({ "protocolVersion": asked })).expect("agreed");
            assert_eq!(answer["protocolVersion"], 1);
        }
        for asked in [json!("1"), json!("2025-06-18"), json!(1.5), json!(70000), json!(-1), json!(null)] {
            let refused = initialize(&json!({ "protocolVersion": asked })).expect_err("refused");
            assert_eq!(refused.code, -32602, "{asked}");
        }
    }
}
