//! The tools of an attempt as an MCP server. The agent starts a program that joins it to a socket here.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_protocol::{CallResult, Content, ToolSpec};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::action_format::summary;
use crate::http::media_type;

/// The name of the server, with which agents prefix its tools.
pub(super) const SERVER: &str = "world";
const SOCKET: &str = "world.sock";

/// A call of the agent that waits for its result.
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) answer: oneshot::Sender<CallToolResult>,
}

/// The server, while the attempt lasts.
pub(super) struct ToolServer {
    /// Holds the socket. Only this user can enter it.
    folder: TempDir,
    pub(super) calls: mpsc::Receiver<ToolCall>,
    /// The connections; dropped, they end.
    _serving: JoinSet<()>,
}

impl ToolServer {
    /// Offers tools at a new socket.
    pub(super) fn start(tools: &[ToolSpec]) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("apprentice-acp-").tempdir()?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        let (sender, calls) = mpsc::channel(1);
        let handler = AttemptTools { tools: tools.iter().map(declared).collect(), calls: sender };
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(handler.clone(), stream));
            }
        });
        Ok(Self { folder, calls, _serving: serving })
    }

    /// The folder of the socket.
    pub(super) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Where the socket is.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }
}

async fn serve(handler: AttemptTools, stream: UnixStream) {
    match handler.serve(tokio::io::split(stream)).await {
        Ok(running) => drop(running.waiting().await),
        Err(error) => tracing::debug!(%error, "an agent did not begin with the tools of its world"),
    }
}

fn declared(spec: &ToolSpec) -> Tool {
    let schema = spec.schema.as_object().cloned().unwrap_or_else(Map::new);
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema))
}

/// The result of a call as the agent gets it, with what else is new.
pub(super) fn result(answer: Option<&CallResult>, notices: &[Content]) -> CallToolResult {
    let summary = answer.map(summary).filter(|text| !text.is_empty());
    let mut content: Vec<ContentBlock> = summary.into_iter().map(ContentBlock::text).collect();
    let parts = answer.iter().flat_map(|answer| &answer.content).chain(notices);
    content.extend(parts.map(|part| match part {
        Content::Text { text } => ContentBlock::text(text.clone()),
        Content::Image { image } => {
            ContentBlock::image(STANDARD.encode(&image.bytes.0), media_type(image.media))
        }
    }));
    match answer.is_some_and(|answer| answer.is_error) {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    }
}

#[derive(Clone)]
struct AttemptTools {
    tools: Vec<Tool>,
    calls: mpsc::Sender<ToolCall>,
}

impl ServerHandler for AttemptTools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("apprentice-world", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.into_owned();
        if !self.tools.iter().any(|tool| tool.name == name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None));
        }
        let (answer, told) = oneshot::channel();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let ended = || ErrorData::internal_error("the attempt has ended", None);
        self.calls.send(ToolCall { name, arguments, answer }).await.map_err(|_| ended())?;
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            told = told => told.map(Into::into).map_err(|_| ended()),
        }
    }
}
