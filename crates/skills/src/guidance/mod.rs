//! Prepares the part of a book that a trial gets: opening text and tools, according to the arm's policy.
//!
//! Tools answer in plain text. A domain, in the opening: `- <domain> (<n> skills): <description>`. A skill, in a list
//! or among hits: `- <domain>/<name>: <description>`. A view, fenced as a note: `# <domain>/<name>`, the description,
//! then the skill's three sections `## Situation`, `## Guidance`, `## Annotations`.

mod activation;
mod event;
mod fence;
mod figures;
mod front_program;
mod functions;
mod functions_on_screen;
mod model;
mod other_version;
mod package_file;
mod placebo;
mod policy;
mod prompts;
mod screen_guidance;
mod script_run;
mod source_format;
mod tool_text;
mod tools;

pub use activation::{
    ContributedTools, Gating, SKILL_ACTIVATE, SKILL_OFFLOAD, SKILL_TOOL, ToolFormat, ToolServers,
};
pub use functions::SKILL_CALL;
pub use model::{ArmPolicy, GuidanceError, TaskView};
pub(crate) use other_version::OTHER_VERSION;
pub use package_file::SKILL_FILE;
pub use policy::{build_guidance, build_guidance_with_tools};
pub(crate) use prompts::{FUNCTIONS, GIVEN, PULL, TOOLS};
pub use script_run::{SKILL_RUN, ScriptCheck, SkillScripts};
pub(crate) use source_format::SEED;
pub use source_format::{ACTIVE_SKILL, OFFLOAD_SKILL};
pub use tools::{SKILL_LIST, SKILL_SEARCH, SKILL_VIEW, over as reading_tools};

#[cfg(test)]
mod tests;
