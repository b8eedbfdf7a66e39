//! Servers of tools as a skillbook asks for them: the book knows names, the harness starts programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use apprentice_harness::tool::mcp::McpServers;
use apprentice_protocol::{PortFuture, Tool};
use apprentice_skills::lend::{Contributed, Dialect, Gating, ToolServers};

struct BookServers(Arc<McpServers>);

impl ToolServers for BookServers {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn tools<'a>(&'a self, server: &'a str) -> PortFuture<'a, Result<Vec<Arc<dyn Tool>>, String>> {
        Box::pin(async move { self.0.tools(server).await.map_err(|error| error.to_string()) })
    }
}

/// How skills that bring tools are put before an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolRules {
    /// Names of tools that are never called, whatever a skill lists.
    pub denied: BTreeSet<String>,
    /// Under which names and in which form.
    pub dialect: Dialect,
}

/// What servers contribute to a loan. A server that no skill names is open to none: what a file of servers holds for
/// other programs is not the book's.
pub fn contributed(servers: Option<&Arc<McpServers>>, rules: &ToolRules) -> Contributed {
    let servers = servers.map(|servers| -> Arc<dyn ToolServers> { Arc::new(BookServers(servers.clone())) });
    let ToolRules { denied, dialect } = rules.clone();
    Contributed { servers, gating: Gating::Strict, denied, dialect }
}
