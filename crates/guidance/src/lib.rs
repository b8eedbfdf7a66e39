//! Prepares the part of a book that a trial gets: opening text and tools, according to the arm's policy.
//!
//! Tools answer in plain text. A domain, in the opening: `- <domain> (<n> skills): <description>`. A skill, in a list
//! or among hits: `- <domain>/<name>: <description>`. A view, fenced as a note: `# <domain>/<name>`, the description,
//! then the skill's three sections `## Situation`, `## Guidance`, `## Annotations`.

mod activation;
mod functions;
mod functions_on_screen;
mod model;
mod placebo;
mod policy;
mod prompts;
mod reading;
mod screen_guidance;
mod script_run;

pub use activation::activated::{
    ContributedTools, Gating, SKILL_ACTIVATE, SKILL_OFFLOAD, SKILL_TOOL, ToolFormat, ToolServers,
};
pub use activation::source_format::{ACTIVE_SKILL, OFFLOAD_SKILL};
pub use functions::SKILL_CALL;
pub use model::{ArmPolicy, GuidanceError, INCLUDED_BUDGET, TaskView};
pub use policy::{build_guidance, build_guidance_with_tools};
pub use prompts::PROMPTS;
pub use reading::package_file::SKILL_FILE;
pub use reading::tools::{SKILL_LIST, SKILL_SEARCH, SKILL_VIEW, over as reading_tools};
pub use script_run::{SKILL_RUN, ScriptCheck, SkillScripts};

#[cfg(test)]
mod tests;
