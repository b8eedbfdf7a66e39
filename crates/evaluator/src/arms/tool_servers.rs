//! Connects a skillbook to MCP tool servers: the book refers to servers by name, and the harness starts the
//! programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_guidance::{ContributedTools, Gating, ToolFormat, ToolServers};
use apprentice_harness::tool::mcp::McpServers;
use apprentice_protocol::{BoxFuture, Tool};
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

/// Creates the servers of one trial.
pub type ServerFactory = Arc<dyn Fn() -> Arc<McpServers> + Send + Sync>;

struct BookServers(Arc<McpServers>);

impl ToolServers for BookServers {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, String>> {
        Box::pin(async move { self.0.tools(server).await.map_err(|error| error.to_string()) })
    }
}

/// Rules for offering the tools of skills to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPolicy {
    /// Tool names that are never offered, even when a skill lists them.
    pub denied: BTreeSet<String>,
    /// The naming scheme and format of the offered tools.
    pub dialect: ToolFormat,
    /// Whether servers that no skill names are available too.
    pub gating: Gating,
}

impl Default for ToolPolicy {
    fn default() -> Self {
        Self { denied: BTreeSet::new(), dialect: ToolFormat::Own, gating: Gating::Strict }
    }
}

/// The tool settings that apply to all trials of an experiment.
#[derive(Clone, Default)]
pub struct ToolSettings {
    /// Creates the servers of one trial; `None` when no server file is configured.
    pub servers: Option<ServerFactory>,
    /// What the servers are created from: where they run, and the text of the server file.
    pub list: Option<String>,
    /// The rules for offering the tools.
    pub rules: ToolPolicy,
}

impl ToolSettings {
    /// The settings that affect trials, by name. Empty when there are no tools.
    pub fn fingerprint(&self) -> BTreeMap<String, String> {
        let ToolPolicy { denied, dialect, gating } = &self.rules;
        let named = |condition: bool, name: &str, what: String| condition.then(|| (name.to_owned(), what));
        let list = self.list.as_deref().map(hash);
        let denials = denied.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        [
            list.map(|list| ("mcp_servers".to_owned(), list)),
            named(!denied.is_empty(), "denied", denials),
            named(*dialect == ToolFormat::Seed, "dialect", "seed".to_owned()),
            named(*gating == Gating::Additive, "gating", "additive".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The SHA-256 of a server list, as hexadecimal text. It identifies the list, so a changed list is noticed.
pub(crate) fn hash(list: &str) -> String {
    hex(&Sha256::digest(list))
}

/// Builds the tool contribution of the servers to an arm's guidance. By default (strict gating), a server that no
/// skill names is not available: a server file may list servers for other programs.
pub fn tool_contribution(servers: Option<&Arc<McpServers>>, rules: &ToolPolicy) -> ContributedTools {
    let servers = servers.map(|servers| -> Arc<dyn ToolServers> { Arc::new(BookServers(servers.clone())) });
    let ToolPolicy { denied, dialect, gating } = rules.clone();
    ContributedTools { servers, gating, denied, dialect }
}
