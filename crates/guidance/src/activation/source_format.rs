//! Presents the same skills with the names and format of the source design of activation: `active_skill`,
//! `offload_skill`, one block that lists the skills, and no tool without an active skill that names it.

use std::fmt::Write as _;
use std::sync::Arc;

use apprentice_protocol::{BoundedText, Guidance, Prompt, Tool};
use apprentice_skillbook::Snapshot;

use super::activated::{
    ActivationState, ActivationTool, CallArguments, ContributedTools, Gating, Kind, NameArguments, SKILL_TOOL,
};
use crate::model::INCLUDED_BUDGET;
use crate::reading::tools::spec;

pub(crate) const SEED: Prompt = Prompt::new("skills/seed", include_str!("../prompts/seed.md"), &[]);

/// `active_skill { skill_name }`
pub const ACTIVE_SKILL: &str = "active_skill";
/// `offload_skill { skill_name }`
pub const OFFLOAD_SKILL: &str = "offload_skill";

/// Largest length of a skill's line, in characters. The skill's guide contains the rest.
const MAX_LINE_CHARS: usize = 400;
/// End of the block.
const END: &str = "  </skills_info>\n</skills_guide>\n";

/// Prepares a book in this format. A server's tools are available only if an active skill names them.
pub(crate) fn build_guidance(book: &Snapshot, contributed: &ContributedTools) -> Guidance {
    let strict = ContributedTools { gating: Gating::Strict, ..contributed.clone() };
    let state = Arc::new(ActivationState::over(book, &strict));
    let tool =
        |kind, spec| -> Arc<dyn Tool> { Arc::new(ActivationTool { kind, spec, state: Arc::clone(&state) }) };
    let tools = vec![
        tool(
            Kind::SeedActivate,
            spec::<NameArguments>(ACTIVE_SKILL, "Activates a skill and shows its guide."),
        ),
        tool(Kind::SeedOffload, spec::<NameArguments>(OFFLOAD_SKILL, "Puts an active skill away.")),
        tool(Kind::SeedCall, spec::<CallArguments>(SKILL_TOOL, "Calls a tool of the active skills.")),
    ];
    Guidance { opening: opening(book), tools, ..Guidance::default() }
}

fn opening(book: &Snapshot) -> BoundedText {
    let mut text =
        format!("<skills_guide>\n  <skill_guide>\n{}  </skill_guide>\n  <skills_info>\n", SEED.text());
    let (mut listed, total) = (0, book.skills().count());
    for skill in book.skills() {
        let entry = format!(
            "    <skill id=\"{}\">\n      <skill_name>{}</skill_name>\n      <skill_desc>{}</skill_desc>\n    </skill>\n",
            skill.id,
            escaped(skill.id.slug()),
            escaped(&skill.text.description)
        );
        let room = INCLUDED_BUDGET.0.saturating_sub(text.chars().count() + END.len() + MAX_LINE_CHARS);
        if entry.chars().count() > room {
            break;
        }
        text.push_str(&entry);
        listed += 1;
    }
    if listed < total {
        let _ = writeln!(text, "    <!-- {} more are not listed -->", total - listed);
    }
    text.push_str(END);
    BoundedText::cut(&text, INCLUDED_BUDGET)
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
