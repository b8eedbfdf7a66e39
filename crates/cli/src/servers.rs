//! Servers of tools, as options of commands that lend a skillbook.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_evaluator::arm::MakeServers;
use apprentice_evaluator::servers::{ToolBox, ToolRules};
use apprentice_harness::tool::mcp::{McpServers, read_specs};
use apprentice_protocol::Clock;
use apprentice_skills::lend::{Dialect, Gating};
use clap::{Args, ValueEnum};

use crate::failure::{Failure, Kind, Kinded as _};

/// Servers of the Model Context Protocol that skills may bring tools from.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Servers {
    /// A file of tool servers, `{"mcpServers": {NAME: {"command": …, "args": […]} or {"url": …}}}`; a skill that
    /// names one opens its tools, and it is started inside the world.
    #[arg(long, value_name = "FILE")]
    mcp_servers: Option<PathBuf>,
    /// Start and reach those servers on this machine itself, outside the world.
    #[arg(long, requires = "mcp_servers")]
    mcp_on_host: bool,
    /// A tool that is never called, whatever a skill lists; may be repeated.
    #[arg(long = "deny-tool", value_name = "NAME")]
    denied: Vec<String>,
    /// Which servers an active skill opens: those that it names, or with `additive` also those that no skill names.
    #[arg(long, value_enum, default_value_t, requires = "mcp_servers")]
    gating: GatingChoice,
    /// How skills are put before the agent: `own` lists, searches and views them; `seed` has one block of all of
    /// them, `active_skill` and `offload_skill`.
    #[arg(long, value_enum, default_value_t)]
    dialect: DialectChoice,
}

/// The forms in which skills are lent.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum DialectChoice {
    /// This program's.
    #[default]
    Own,
    /// The one of the design that activation came from.
    Seed,
}

/// Which servers stand behind an active skill.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum GatingChoice {
    /// Those that it names.
    #[default]
    Strict,
    /// Those, and all that no skill names.
    Additive,
}

impl Servers {
    /// All that is settled about tools, for experiments.
    pub(crate) fn tool_box(&self, clock: &Arc<dyn Clock>) -> Result<ToolBox, Failure> {
        let (servers, list) = self.make(clock)?.unzip();
        Ok(ToolBox { servers, list, rules: self.rules() })
    }

    /// How skills that bring tools are put before an agent.
    pub(crate) fn rules(&self) -> ToolRules {
        let dialect = match self.dialect {
            DialectChoice::Own => Dialect::Own,
            DialectChoice::Seed => Dialect::Seed,
        };
        let gating = match self.gating {
            GatingChoice::Strict => Gating::Strict,
            GatingChoice::Additive => Gating::Additive,
        };
        ToolRules { denied: self.denied.iter().cloned().collect(), dialect, gating }
    }

    /// What makes the servers of one trial, if a file names any, and what they are made by.
    pub(crate) fn make(&self, clock: &Arc<dyn Clock>) -> Result<Option<(MakeServers, String)>, Failure> {
        let Some(path) = &self.mcp_servers else { return Ok(None) };
        let unreadable =
            |why: &dyn std::fmt::Display| Failure::say(Kind::Config, format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(&error))?;
        let specs = Arc::new(read_specs(&text).kind(Kind::Config)?);
        let (on_host, clock) = (self.mcp_on_host, Arc::clone(clock));
        let make: MakeServers =
            Arc::new(move || Arc::new(McpServers::new(Arc::clone(&specs), on_host, Arc::clone(&clock))));
        let place = if on_host { "host" } else { "world" };
        Ok(Some((make, format!("{place}: {text}"))))
    }
}
