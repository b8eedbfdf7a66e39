//! The servers of one trial, and their tools.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apprentice_protocol::{
    BoundedText, Clock, Machine, PortFuture, StepRef, TextBudget, Tool, ToolOutcome, ToolSpec,
};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, PaginatedRequestParams};
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use tokio::sync::Mutex;

use super::connect::{ConnectError, Conversation, Place};
use super::spec::McpServerSpec;

/// A call that takes longer is an error to the model.
const CALL: Duration = Duration::from_secs(60);
const CLOSE: Duration = Duration::from_secs(2);
/// Most that one answer puts before a model.
const ANSWER: TextBudget = TextBudget(12_000);
/// Most of a server's own words about one tool.
const ABOUT: TextBudget = TextBudget(600);
/// More tools of one server are not offered, and no more pages of them are asked for.
const TOOLS: usize = 400;
const PAGES: usize = 40;

/// A tool of a server.
pub type CallableTool = Arc<dyn Tool>;

/// The servers that one trial may start. It enters its world when that is open, and leaves before it closes.
pub struct McpServers {
    specs: Arc<BTreeMap<String, McpServerSpec>>,
    on_host: bool,
    clock: Arc<dyn Clock>,
    world: OnceLock<Arc<dyn Machine>>,
    /// Held while a server starts, so that it starts once.
    open: Mutex<Doors>,
}

#[derive(Default)]
struct Doors {
    left: bool,
    servers: BTreeMap<String, (Conversation, Vec<CallableTool>)>,
}

impl McpServers {
    /// Servers, none of them started. `on_host` starts and reaches them on this machine itself.
    pub fn new(specs: Arc<BTreeMap<String, McpServerSpec>>, on_host: bool, clock: Arc<dyn Clock>) -> Self {
        Self { specs, on_host, clock, world: OnceLock::new(), open: Mutex::default() }
    }

    /// The names of the servers.
    pub fn names(&self) -> Vec<String> {
        self.specs.keys().cloned().collect()
    }

    /// Names the world that servers start in. The first one counts.
    pub fn enter(&self, machine: Arc<dyn Machine>) {
        let _ = self.world.set(machine);
    }

    /// Ends every server, and starts none any more.
    pub async fn leave(&self) {
        let mut doors = self.open.lock().await;
        doors.left = true;
        for (_, (mut conversation, _)) in std::mem::take(&mut doors.servers) {
            if let Err(error) = conversation.service.close_with_timeout(CLOSE).await {
                tracing::debug!(%error, "a server of tools ended badly");
            }
        }
    }

    /// The tools of one server, which is started if it is not there yet.
    pub async fn tools(&self, server: &str) -> Result<Vec<CallableTool>, ConnectError> {
        let mut doors = self.open.lock().await;
        if doors.left {
            return Err(ConnectError::NoWorld);
        }
        if let Some((conversation, tools)) = doors.servers.get_mut(server)
            && !conversation.service.is_closed()
        {
            if conversation.service.service().take_change() {
                *tools = listed(server, conversation.service.peer()).await?;
            }
            return Ok(tools.clone());
        }
        let spec = self.specs.get(server).ok_or(ConnectError::Unknown)?;
        let machine = self.world.get().map(AsRef::as_ref);
        let place = Place { machine, on_host: self.on_host, clock: self.clock.as_ref() };
        let conversation = place.connect(spec).await?;
        let tools = listed(server, conversation.service.peer()).await?;
        doors.servers.insert(server.to_owned(), (conversation, tools.clone()));
        Ok(tools)
    }
}

/// The tools of a server as it lists them now.
async fn listed(server: &str, peer: &Peer<RoleClient>) -> Result<Vec<CallableTool>, ConnectError> {
    let pages = async {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = peer.list_tools(Some(page)).await?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= TOOLS {
                break;
            }
        }
        Ok::<_, ServiceError>(tools)
    };
    let tools = tokio::time::timeout(CALL, pages).await.map_err(|_| ConnectError::Late)??;
    let tool = |tool: rmcp::model::Tool| -> CallableTool {
        let about = tool.description.as_deref().unwrap_or_default();
        let spec = ToolSpec {
            name: tool.name.into_owned(),
            description: BoundedText::cut(about, ABOUT).as_str().to_owned(),
            schema: Value::Object(tool.input_schema.as_ref().clone()),
        };
        Arc::new(ServerTool { server: server.to_owned(), spec, peer: peer.clone() })
    };
    Ok(tools.into_iter().take(TOOLS).map(tool).collect())
}

struct ServerTool {
    server: String,
    spec: ToolSpec,
    peer: Peer<RoleClient>,
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> PortFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let mut params = CallToolRequestParams::new(self.spec.name.clone());
            match arguments {
                Value::Object(arguments) => params = params.with_arguments(arguments.clone()),
                Value::Null => {}
                _ => return ToolOutcome::error(format!("the arguments of {} are an object", self.spec.name)),
            }
            match tokio::time::timeout(CALL, self.peer.call_tool(params)).await {
                Ok(Ok(result)) => told(&result),
                Ok(Err(error)) => ToolOutcome::error(format!("{}: {error}", self.server)),
                Err(_) => {
                    ToolOutcome::error(format!("{}: no answer after {} s", self.server, CALL.as_secs()))
                }
            }
        })
    }
}

/// An answer as text, bounded. Pictures and sounds are named, not shown.
fn told(result: &CallToolResult) -> ToolOutcome {
    let mut parts: Vec<String> = result.content.iter().map(part).collect();
    if parts.is_empty() {
        parts.extend(result.structured_content.as_ref().map(Value::to_string));
    }
    let text = BoundedText::cut(&parts.join("\n"), ANSWER).as_str().to_owned();
    let text = if text.is_empty() { "Done.".to_owned() } else { text };
    match result.is_error.unwrap_or(false) {
        true => ToolOutcome::error(text),
        false => ToolOutcome::text(text),
    }
}

fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[a picture, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[a sound, {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[{}]", link.uri),
        // Resources, and what later versions of the protocol bring.
        _ => "[something that is no text]".to_owned(),
    }
}
