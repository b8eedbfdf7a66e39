//! Options for MCP tool servers and for tools that skills bring along.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::arms::tool_servers::{ServerFactory, ToolPolicy, ToolSettings};
use apprentice_guidance::{Gating, ToolFormat};
use apprentice_harness::tool::mcp::{McpServers, read_specs};
use apprentice_protocol::Clock;
use clap::{Args, ValueEnum};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;

/// Options for Model Context Protocol servers whose tools skills may open.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Servers {
    /// JSON file of MCP servers, `{"mcpServers": {NAME: {"command": …, "args": […]} or {"url": …}}}`. A skill that
    /// names a server opens its tools; the server starts inside the world.
    #[arg(long, value_name = "FILE")]
    mcp_servers: Option<PathBuf>,
    /// Start the MCP servers on this machine, outside the world. Of this program's environment they get HOME, LOGNAME,
    /// PATH, SHELL, TERM and USER; their `env` adds the rest.
    #[arg(long, requires = "mcp_servers")]
    mcp_on_host: bool,
    /// Never call this tool, even if a skill lists it; may be repeated.
    #[arg(long = "deny-tool", value_name = "NAME")]
    denied: Vec<String>,
    /// Servers that an active skill opens: those it names, or with `additive` also those that no skill names.
    #[arg(long, value_enum, default_value_t, requires = "mcp_servers")]
    gating: GatingChoice,
    /// How the agent gets skills: `native` has tools to list, search and view them; `block` shows all of them in one
    /// block and has the tools `active_skill` and `offload_skill`.
    #[arg(long, alias = "dialect", value_enum, default_value_t)]
    skill_tools: SkillTools,
}

/// The interface through which an agent gets skills.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum SkillTools {
    /// Tools to list, search and view skills.
    #[default]
    #[value(alias = "own")]
    Native,
    /// One block of all skills, with `active_skill` and `offload_skill`.
    #[value(alias = "seed")]
    Block,
}

/// The servers that an active skill opens.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum GatingChoice {
    /// The servers that the skill names.
    #[default]
    Strict,
    /// These, and all servers that no skill names.
    Additive,
}

impl Servers {
    /// Returns the tool servers and rules of an experiment.
    pub(crate) fn tool_box(&self, clock: &Arc<dyn Clock>) -> Result<ToolSettings, Failure> {
        let (servers, list) = self.make(clock)?.unzip();
        Ok(ToolSettings { servers, list, rules: self.rules() })
    }

    /// Returns the rules for tools that skills bring along.
    pub(crate) fn rules(&self) -> ToolPolicy {
        let dialect = match self.skill_tools {
            SkillTools::Native => ToolFormat::Own,
            SkillTools::Block => ToolFormat::Seed,
        };
        let gating = match self.gating {
            GatingChoice::Strict => Gating::Strict,
            GatingChoice::Additive => Gating::Additive,
        };
        ToolPolicy { denied: self.denied.iter().cloned().collect(), dialect, gating }
    }

    /// Returns a factory for the servers of one trial, and the text of the server list for the record; `None` without
    /// `--mcp-servers`.
    pub(crate) fn make(&self, clock: &Arc<dyn Clock>) -> Result<Option<(ServerFactory, String)>, Failure> {
        let Some(path) = &self.mcp_servers else { return Ok(None) };
        let unreadable =
            |why: &dyn std::fmt::Display| Failure::say(Kind::Config, format!("{}: {why}", path.display()));
        let text = apprentice_files::read_to_string(path).map_err(|error| unreadable(&error))?;
        let specs = Arc::new(read_specs(&text).kind(Kind::Config)?);
        let (on_host, clock) = (self.mcp_on_host, Arc::clone(clock));
        let host = on_host.then(process_env::inherited_by_servers);
        let make: ServerFactory =
            Arc::new(move || Arc::new(McpServers::new(Arc::clone(&specs), host.clone(), Arc::clone(&clock))));
        let place = if on_host { "host" } else { "world" };
        Ok(Some((make, format!("{place}: {text}"))))
    }
}
