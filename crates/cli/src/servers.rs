//! Servers of tools, as options of commands that lend a skillbook.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::arm::MakeServers;
use apprentice_harness::tool::mcp::{McpServers, read_specs};
use apprentice_protocol::Clock;
use clap::Args;

use crate::failure::{Failure, Kind, Kinded as _};

/// Servers of the Model Context Protocol that skills may bring tools from.
#[derive(Debug, Default, Args)]
pub(crate) struct Servers {
    /// A file of tool servers, `{"mcpServers": {NAME: {"command": …, "args": […]} or {"url": …}}}`; a skill that
    /// names one opens its tools, and it is started inside the world.
    #[arg(long, value_name = "FILE")]
    mcp_servers: Option<PathBuf>,
    /// Start and reach those servers on this machine itself, outside the world.
    #[arg(long, requires = "mcp_servers")]
    mcp_on_host: bool,
}

impl Servers {
    /// What makes the servers of one trial, if a file names any.
    pub(crate) fn make(&self, clock: &Arc<dyn Clock>) -> Result<Option<MakeServers>, Failure> {
        let Some(path) = &self.mcp_servers else { return Ok(None) };
        let unreadable =
            |why: &dyn std::fmt::Display| Failure::say(Kind::Config, format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(&error))?;
        let specs = Arc::new(read_specs(&text).kind(Kind::Config)?);
        let (on_host, clock) = (self.mcp_on_host, Arc::clone(clock));
        Ok(Some(Arc::new(move || Arc::new(McpServers::new(Arc::clone(&specs), on_host, Arc::clone(&clock))))))
    }
}
