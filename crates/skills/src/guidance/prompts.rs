//! The prompts that open guidance.

use apprentice_protocol::Prompt;

pub(crate) const PULL: Prompt = Prompt::new("skills/advice", include_str!("../prompts/advice.md"), &[]);
pub(crate) const TOOLS: Prompt = Prompt::new("skills/tools", include_str!("../prompts/tools.md"), &[]);
pub(crate) const FUNCTIONS: Prompt =
    Prompt::new("skills/functions", include_str!("../prompts/functions.md"), &[]);
pub(crate) const GIVEN: Prompt = Prompt::new("skills/given", include_str!("../prompts/given.md"), &[]);
