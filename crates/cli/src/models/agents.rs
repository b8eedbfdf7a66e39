//! `acp:COMMAND`: another's agent in place of a model.

use std::sync::Arc;

use apprentice_models::acp::{AcpAgent, AcpConfig};
use apprentice_protocol::ChatModel;

use super::Models;
use crate::failure::{Failure, Kind, WithKind as _};

/// The option of `apprentice mcp` with which an agent joins the tools of its world.
const JOIN: &str = "--join";
/// What the names of such models begin with.
pub(super) const AGENT: &str = "acp:";

impl Models {
    /// Builds the agent of a command. Its process starts with the first request.
    pub(super) fn agent(
        &self,
        name: &str,
        command: &str,
        trial: &str,
    ) -> Result<Arc<dyn ChatModel>, Failure> {
        if command.trim().is_empty() {
            return Err(Failure::say(Kind::Model, format!("{name:?} names no command"))
                .hint("write acp:COMMAND, for example acp:\"opencode acp\""));
        }
        let program = std::env::current_exe().kind(Kind::Bug)?;
        let relay = vec![program.to_string_lossy().into_owned(), "mcp".to_owned(), JOIN.to_owned()];
        let agent = AcpAgent::new(AcpConfig::new(command, relay), Arc::clone(&self.clock));
        Ok(self.recorded(agent, trial))
    }
}
