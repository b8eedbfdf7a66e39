//! What the agent of `apprentice do` is lent: the skillbook, the shipped skills, and with `--learn` the tools that write.

use std::path::Path;
use std::sync::Arc;

use apprentice_evaluator::arms::tool_servers::{ToolPolicy, tool_contribution};
use apprentice_guidance::{GuidanceError, SkillScripts, TaskView, build_guidance_with_tools};
use apprentice_harness::tool::mcp::McpServers;
use apprentice_learning::foreground::AttemptLearning;
use apprentice_protocol::Guidance;
use apprentice_skillbook::KnownVersions;
use apprentice_skillbook::Snapshot;
use apprentice_skillbook::shipped::ShippedPart;

use crate::failure::Failure;
use crate::settings::role::DeliveryChoice;
use crate::terminal;

/// The skillbook of an attempt, and how it is delivered.
pub(in crate::commands) struct SkillSource<'a> {
    pub(in crate::commands) folder: &'a Path,
    pub(in crate::commands) known_versions: &'a KnownVersions,
    pub(in crate::commands) delivery: DeliveryChoice,
    /// The first instruction.
    pub(in crate::commands) instruction: &'a str,
    /// The rules for tools that skills open.
    pub(in crate::commands) rules: ToolPolicy,
    /// Whether the world is the user's own desktop.
    pub(in crate::commands) on_host: bool,
}

/// What an agent is lent, and the scripts that wait for a world.
pub(in crate::commands) struct Lent {
    pub(in crate::commands) guidance: Guidance,
    pub(in crate::commands) scripts: Option<Arc<SkillScripts>>,
}

/// Builds the guidance: the skillbook, the shipped skills, and with `--learn` the tools that write skills.
pub(in crate::commands) fn guidance_for(
    source: &SkillSource<'_>,
    servers: Option<&Arc<McpServers>>,
    learning: Option<&Arc<AttemptLearning>>,
) -> Result<Lent, Failure> {
    let (instruction, present) = (source.instruction.to_owned(), source.known_versions.clone());
    let task = TaskView { instruction, present, ..TaskView::default() };
    let book = match learning.is_some() && !source.folder.is_dir() {
        true => Snapshot::empty(),
        false => crate::commands::skills::open(source.folder)?,
    };
    let part = if learning.is_some() { ShippedPart::All } else { ShippedPart::Interaction };
    // Scripts run in the world, and the user's own desktop is none.
    let scripts = SkillScripts::of(&book).filter(|_| !source.on_host);
    let guidance = build_guidance_with_tools(
        &book.with_shipped(part),
        &source.delivery.policy(),
        &task,
        &tool_contribution(servers, &source.rules),
    );
    let guidance = match guidance {
        Err(GuidanceError::NoEligibleSkill(why)) => {
            terminal::note(format_args!("no skill is shown: {why}"));
            Guidance::default()
        }
        Ok(guidance) => guidance,
    };
    let guidance = match &scripts {
        Some(scripts) => scripts.extend_guidance(guidance),
        None => guidance,
    };
    let guidance = match learning {
        Some(learning) => learning.extend_guidance(guidance),
        None => guidance,
    };
    Ok(Lent { guidance, scripts })
}
