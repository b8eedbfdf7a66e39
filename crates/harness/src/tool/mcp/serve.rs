//! The servers of one trial, and their tools.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apprentice_protocol::{
    BoundedText, BoxFuture, Clock, Machine, StepRef, TextBudget, Tool, ToolOutcome, ToolSpec,
};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock, CustomResult, ListToolsRequest,
    PaginatedRequestParams, ResourceContents, ServerResult,
};
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use tokio::sync::Mutex;

use super::connect::{ConnectError, HostEnvironment, LaunchContext, McpConnection};
use super::spec::McpServerSpec;

/// Timeout of a call; after it, the model gets an error.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Limit on the text of one result, in characters.
const RESULT_BUDGET: TextBudget = TextBudget(12_000);
/// Limit on a server's description of one tool, in characters.
const DESCRIPTION_BUDGET: TextBudget = TextBudget(600);
/// Limit on the error text of one call, in characters.
const ERROR_BUDGET: TextBudget = TextBudget(1000);
/// Limit on a tool's name, in bytes, from the protocol.
const MAX_NAME_BYTES: usize = 128;
/// A server may fail to start this many times. A server that timed out is not started again.
const MAX_STARTS: u32 = 2;
/// Limit on the tools of one server; no further pages are requested beyond it.
const MAX_TOOLS: usize = 400;
const MAX_PAGES: usize = 40;

/// A tool of a server, ready to call.
pub type CallableTool = Arc<dyn Tool>;

/// The servers that one trial may start. Enter the world once it is open, and leave before it closes.
pub struct McpServers {
    specs: Arc<BTreeMap<String, McpServerSpec>>,
    host: Option<HostEnvironment>,
    clock: Arc<dyn Clock>,
    world: OnceLock<Arc<dyn Machine>>,
    /// Locked while a server starts, so that it starts only once.
    open: Mutex<ServerStates>,
}

#[derive(Default)]
struct ServerStates {
    left: bool,
    servers: BTreeMap<String, (McpConnection, Vec<CallableTool>)>,
    /// Per server: the number of failed starts, and the last error.
    failed: BTreeMap<String, (u32, String)>,
}

impl ServerStates {
    /// Stores a failure that another start would only repeat.
    fn note(&mut self, server: &str, error: &ConnectError) {
        let weight = match error {
            ConnectError::TimedOut => MAX_STARTS,
            ConnectError::World(_)
            | ConnectError::Start(_)
            | ConnectError::Handshake(_)
            | ConnectError::Tools(_) => 1,
            ConnectError::NotDefined
            | ConnectError::Outside
            | ConnectError::NoWorld
            | ConnectError::FailedBefore(_) => return,
        };
        let (times, why) = self.failed.entry(server.to_owned()).or_default();
        *times += weight;
        *why = error.to_string();
    }
}

impl McpServers {
    /// Creates the set without starting a server. With `host`, servers start on, or are reached from, this machine, and
    /// inherit these variables alone.
    pub fn new(
        specs: Arc<BTreeMap<String, McpServerSpec>>,
        host: Option<HostEnvironment>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { specs, host, clock, world: OnceLock::new(), open: Mutex::default() }
    }

    /// Returns the names of the servers.
    pub fn names(&self) -> Vec<String> {
        self.specs.keys().cloned().collect()
    }

    /// Sets the world that servers start in. Later calls have no effect.
    pub fn enter(&self, machine: Arc<dyn Machine>) {
        let _ = self.world.set(machine);
    }

    /// Ends every server, and prevents further starts.
    pub async fn leave(&self) {
        let mut doors = self.open.lock().await;
        doors.left = true;
        for (_, (mut conversation, _)) in std::mem::take(&mut doors.servers) {
            if let Err(error) = conversation.service.close_with_timeout(CLOSE_TIMEOUT).await {
                tracing::debug!(%error, "an MCP server did not shut down cleanly");
            }
        }
    }

    /// Returns the tools of one server, and starts the server if it is not running.
    pub async fn tools(&self, server: &str) -> Result<Vec<CallableTool>, ConnectError> {
        let mut doors = self.open.lock().await;
        if doors.left {
            return Err(ConnectError::NoWorld);
        }
        if let Some((conversation, tools)) = doors.servers.get_mut(server)
            && !conversation.service.is_closed()
            && !conversation.service.peer().is_transport_closed()
        {
            if conversation.service.service().take_tools_changed() {
                *tools = listed(server, conversation.service.peer()).await?;
            }
            return Ok(tools.clone());
        }
        if let Some((_, why)) = doors.failed.get(server).filter(|(times, _)| *times >= MAX_STARTS) {
            return Err(ConnectError::FailedBefore(why.clone()));
        }
        match self.start(server).await {
            Ok(opened) => {
                let tools = opened.1.clone();
                doors.servers.insert(server.to_owned(), opened);
                Ok(tools)
            }
            Err(error) => {
                doors.note(server, &error);
                Err(error)
            }
        }
    }

    async fn start(&self, server: &str) -> Result<(McpConnection, Vec<CallableTool>), ConnectError> {
        let spec = self.specs.get(server).ok_or(ConnectError::NotDefined)?;
        let machine = self.world.get().map(AsRef::as_ref);
        let place = LaunchContext { machine, host: self.host.as_ref(), clock: self.clock.as_ref() };
        let conversation = place.connect(spec).await?;
        let tools = listed(server, conversation.service.peer()).await?;
        Ok((conversation, tools))
    }
}

/// Requests the current list of a server's tools.
async fn listed(server: &str, peer: &Peer<RoleClient>) -> Result<Vec<CallableTool>, ConnectError> {
    let pages = async {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let (page, next) = page(peer, cursor).await?;
            tools.extend(page);
            cursor = next;
            if cursor.is_none() || tools.len() >= MAX_TOOLS {
                break;
            }
        }
        Ok::<_, ServiceError>(tools)
    };
    let tools = tokio::time::timeout(CALL_TIMEOUT, pages).await.map_err(|_| ConnectError::TimedOut)??;
    let tool = |tool: rmcp::model::Tool| -> CallableTool {
        let about = tool.description.as_deref().unwrap_or_default();
        let spec = ToolSpec {
            name: tool.name.into_owned(),
            description: BoundedText::cut(about, DESCRIPTION_BUDGET).as_str().to_owned(),
            schema: Value::Object(tool.input_schema.as_ref().clone()),
        };
        Arc::new(ServerTool { server: server.to_owned(), spec, peer: peer.clone() })
    };
    Ok(tools.into_iter().filter(has_valid_name).take(MAX_TOOLS).map(tool).collect())
}

/// Requests one page of tools and returns it with the cursor of the next page. A tool whose description violates the
/// protocol is skipped; the others stay.
async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<(Vec<rmcp::model::Tool>, Option<String>), ServiceError> {
    let params = Some(PaginatedRequestParams::default().with_cursor(cursor));
    let request = ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
    match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
        ServerResult::ListToolsResult(page) => Ok((page.tools, page.next_cursor)),
        ServerResult::CustomResult(CustomResult(page)) => {
            let tools = page["tools"].as_array().ok_or(ServiceError::UnexpectedResponse)?;
            let whole: Vec<_> =
                tools.iter().filter_map(|tool| serde_json::from_value(tool.clone()).ok()).collect();
            tracing::warn!(left_out = tools.len() - whole.len(), "skipped tools that violate the protocol");
            Ok((whole, page["nextCursor"].as_str().map(str::to_owned)))
        }
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// Returns whether a tool's name can be listed safely: not blank, within the limit, and without control characters.
fn has_valid_name(tool: &rmcp::model::Tool) -> bool {
    let name = tool.name.as_ref();
    let fits = !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control);
    if !fits {
        tracing::warn!(bytes = name.len(), "skipped a tool with an invalid name");
    }
    fits
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

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let mut params = CallToolRequestParams::new(self.spec.name.clone());
            match arguments {
                Value::Object(arguments) => params = params.with_arguments(arguments.clone()),
                Value::Null => {}
                _ => return ToolOutcome::error(format!("the arguments of {} are an object", self.spec.name)),
            }
            match tokio::time::timeout(CALL_TIMEOUT, self.peer.call_tool(params)).await {
                Ok(Ok(result)) => told(&result),
                Ok(Err(error)) => ToolOutcome::error(format!("{}: {}", self.server, fault(&error))),
                Err(_) => ToolOutcome::error(format!(
                    "{}: no answer after {} s",
                    self.server,
                    CALL_TIMEOUT.as_secs()
                )),
            }
        })
    }
}

/// Describes to the model why a call has no result.
fn fault(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => BoundedText::cut(&error.message, ERROR_BUDGET).as_str().to_owned(),
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            "the server ended without an answer; the next call starts it anew".to_owned()
        }
        ServiceError::UnexpectedResponse => "the answer is none that the protocol knows".to_owned(),
        other => BoundedText::cut(&other.to_string(), ERROR_BUDGET).as_str().to_owned(),
    }
}

/// Converts a result to bounded text. Pictures and sounds are named, not shown.
fn told(result: &CallToolResult) -> ToolOutcome {
    let mut parts: Vec<String> = result.content.iter().map(part).collect();
    if parts.is_empty() {
        parts.extend(result.structured_content.as_ref().map(Value::to_string));
    }
    let text = BoundedText::cut(&parts.join("\n"), RESULT_BUDGET).as_str().to_owned();
    match result.is_error.unwrap_or(false) {
        true if text.is_empty() => ToolOutcome::error("it failed, and does not say why"),
        true => ToolOutcome::error(text),
        false if text.is_empty() => ToolOutcome::text("Done."),
        false => ToolOutcome::text(text),
    }
}

fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[a picture, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[a sound, {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[{}]", link.uri),
        ContentBlock::Resource(held) => match &held.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[{uri}, no text]"),
            _ => "[something that is no text]".to_owned(),
        },
        // Content types of later protocol versions.
        _ => "[something that is no text]".to_owned(),
    }
}
