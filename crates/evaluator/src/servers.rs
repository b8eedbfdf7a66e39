//! Servers of tools as a skillbook asks for them: the book knows names, the harness starts programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_harness::tool::mcp::McpServers;
use apprentice_protocol::{PortFuture, Tool};
use apprentice_skills::lend::{Contributed, Dialect, Gating, ToolServers};
use sha2::{Digest as _, Sha256};

use crate::arm::MakeServers;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRules {
    /// Names of tools that are never called, whatever a skill lists.
    pub denied: BTreeSet<String>,
    /// Under which names and in which form.
    pub dialect: Dialect,
    /// Whether servers that no skill names are open, too.
    pub gating: Gating,
}

impl Default for ToolRules {
    fn default() -> Self {
        Self { denied: BTreeSet::new(), dialect: Dialect::Own, gating: Gating::Strict }
    }
}

/// Everything about tools that is settled before an experiment, for all of its trials.
#[derive(Clone, Default)]
pub struct ToolBox {
    /// Makes the servers of one trial, if a file describes any.
    pub servers: Option<MakeServers>,
    /// What they are made by: where they run, and the file's text.
    pub list: Option<String>,
    /// How they are put before an agent.
    pub rules: ToolRules,
}

impl ToolBox {
    /// What of it an experiment's trials depend on, by name; nothing if there are no tools.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let ToolRules { denied, dialect, gating } = &self.rules;
        let named = |condition: bool, name: &str, what: String| condition.then(|| (name.to_owned(), what));
        let list = self.list.as_deref().map(hash);
        let denials = denied.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        [
            list.map(|list| ("mcp_servers".to_owned(), list)),
            named(!denied.is_empty(), "denied", denials),
            named(*dialect == Dialect::Seed, "dialect", "seed".to_owned()),
            named(*gating == Gating::Additive, "gating", "additive".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The name of a list of servers: whoever knows one knows whether it is another by now.
pub(crate) fn hash(list: &str) -> String {
    Sha256::digest(list).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What servers contribute to a loan. A server that no skill names is open to none unless that is asked for: what a file
/// of servers holds for other programs is not the book's.
pub fn contributed(servers: Option<&Arc<McpServers>>, rules: &ToolRules) -> Contributed {
    let servers = servers.map(|servers| -> Arc<dyn ToolServers> { Arc::new(BookServers(servers.clone())) });
    let ToolRules { denied, dialect, gating } = rules.clone();
    Contributed { servers, gating, denied, dialect }
}
