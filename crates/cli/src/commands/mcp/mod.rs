//! `apprentice mcp`: serves the skillbook over the Model Context Protocol, on standard input and output.

pub(super) mod act;
pub(super) mod streams;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use apprentice_guidance::reading_tools;
use apprentice_learning::author_tools_with_readers;
use apprentice_protocol::{ChatModel, Clock, StepId, StepRef, ToolSpec};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::shipped::ShippedPart;
use apprentice_skillbook::{At, Snapshot, WriteMode};
use apprentice_wording::EmbeddingModel;
use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;

use crate::commands::mcp::act::ActArgs;
use crate::commands::mcp::streams::{join_streams, serve_streams};
use crate::commands::skills::proposals::WriteModeArg;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{terminal::bounded_stdin, wire};

const ABOUT: &str = "Notes from earlier work with programs, kept in a skillbook. Search or list them before you look \
                     for the way yourself, and view a note before you follow it. Notes are advice and may be out of date.";

/// Serves the skillbook, or with --act a world, to MCP clients over standard input and output.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The skillbook's folder [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Also offer the tools that write skills.
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    writing: WriteModeArg,
    #[command(flatten)]
    acting: ActArgs,
    /// Pass the standard streams on to the server at this socket: for an agent that `acp:COMMAND` has started.
    #[arg(long, hide = true, exclusive = true, value_name = "SOCKET")]
    join: Option<PathBuf>,
}

/// Runs the server until the client disconnects.
pub(crate) fn run(arguments: &Mcp, config: &Config) -> Result<(), Failure> {
    if let Some(socket) = &arguments.join {
        return wire::runtime()?.block_on(join_streams(socket));
    }
    if arguments.acting.act {
        return act::serve(&arguments.acting, arguments.skillbook.as_ref(), config);
    }
    let named = arguments.skillbook.as_deref();
    let folder = match arguments.write {
        true => crate::commands::skills::writable(named, config)?,
        false => named.unwrap_or(&config.skillbook),
    };
    let folder = folder.to_owned();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let models = wire::models(config, Arc::clone(&clock))?;
    let (embedding, readers) = (models.embedding()?, models.named_safety_readers()?);
    let (write, mode) = (arguments.write, arguments.writing.mode(config));
    let server = BookServer { folder, write, mode, clock, embedding, readers, reading: Mutex::default() };
    // Report a skillbook that cannot be opened before a client connects.
    server.tools().kind(Kind::Config)?;
    wire::runtime()?.block_on(serve_streams(server.into_dyn()))
}

struct BookServer {
    folder: PathBuf,
    write: bool,
    mode: WriteMode,
    clock: Arc<dyn Clock>,
    embedding: Option<Arc<EmbeddingModel>>,
    /// Read each text that a client writes.
    readers: Vec<Arc<dyn ChatModel>>,
    /// The reading tools of the last version of the skillbook, with its content hash. They cache the search index.
    reading: Mutex<Option<(String, Tools)>>,
}

type Tools = Vec<Arc<dyn apprentice_protocol::Tool>>;

impl BookServer {
    /// Returns the tools for the current skillbook, which other processes may change.
    fn tools(&self) -> Result<Tools, apprentice_skillbook::BookError> {
        let book = match self.write && !self.folder.is_dir() {
            true => Snapshot::empty(),
            false => Snapshot::open(&self.folder, At::Now)?,
        };
        let mut tools = self.reading(&book);
        if self.write {
            tools.extend(author_tools_with_readers(&self.folder, &self.clock, self.mode, &self.readers));
        }
        Ok(tools)
    }

    /// Returns the reading tools; builds them anew only if the skillbook has changed.
    fn reading(&self, book: &Snapshot) -> Tools {
        let content = book.content_hash();
        let mut known = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, tools)) = known.as_ref()
            && *before == content
        {
            return tools.clone();
        }
        let part = if self.write { ShippedPart::All } else { ShippedPart::Interaction };
        let tools = reading_tools(&book.with_shipped(part).with_embedding(self.embedding.clone()));
        *known = Some((content, tools.clone()));
        tools
    }
}

fn tool_description(spec: &ToolSpec, writes: bool) -> Tool {
    let schema = match &spec.schema {
        Value::Object(schema) => schema.clone(),
        _ => serde_json::Map::new(),
    };
    let hints = ToolAnnotations::new().read_only(!writes).destructive(false).open_world(false);
    Tool::new(spec.name.clone(), spec.description.clone(), Arc::new(schema)).with_annotations(hints)
}

fn failed(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl ServerHandler for BookServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("apprentice", env!("CARGO_PKG_VERSION")))
            .with_instructions(ABOUT)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools().map_err(|error| failed(&error))?;
        let reading = tools.len() - if self.write { 4 } else { 0 };
        let tools =
            tools.iter().enumerate().map(|(place, tool)| tool_description(tool.spec(), place >= reading));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == bounded_stdin::OVERSIZED_MESSAGE {
            let why = format!(
                "a message holds at most {} bytes; nothing was done",
                bounded_stdin::MAX_MESSAGE_BYTES
            );
            return Err(ErrorData::invalid_request(why, None));
        }
        let tools = self.tools().map_err(|error| failed(&error))?;
        let Some(tool) = tools.iter().find(|tool| tool.spec().name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let outcome = tool.call(&arguments, StepRef { step: StepId(1) }).await;
        let content: Vec<ContentBlock> =
            outcome.content.iter().filter_map(|part| part.as_text()).map(ContentBlock::text).collect();
        let result =
            if outcome.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        Ok(result.into())
    }
}
