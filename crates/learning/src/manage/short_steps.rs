//! Short steps in the manager's writes: a text without them gets those of the attempt, and no label may stand in them that
//! nobody saw.

use apprentice_protocol::Trajectory;
use apprentice_skillbook::{Change, State, prose_of, short_steps, with_short_steps as joined};

use super::change_parts::refusal;
use crate::apply_reviews::Refusal;
use crate::short_steps::{unseen_label, with_steps_of};

/// Returns a change with short steps: its own, those of the page that it changes, or else those that the attempt shows.
///
/// # Errors
///
/// A step names a label that neither the attempt nor the pages show.
pub(super) fn completed(
    change: Change,
    state: &State,
    attempt: Option<&Trajectory>,
) -> Result<Change, Refusal> {
    let change = with_short_steps(change, state, attempt);
    only_seen_labels(&change, state, attempt)?;
    Ok(change)
}

fn with_short_steps(change: Change, state: &State, attempt: Option<&Trajectory>) -> Change {
    match change {
        Change::SkillCreated { skill, mut text, annotations, origin, domain } => {
            text.guidance = with_steps_of(&text.guidance, &text.description, attempt);
            Change::SkillCreated { skill, text, annotations, origin, domain }
        }
        Change::SkillUpdated { skill, description, situation, guidance: Some(guidance) } => {
            let page = state.skills.get(&skill).map(|skill| skill.short_steps()).unwrap_or_default();
            let has_own = prose_of(&guidance) != guidance;
            let guidance = if has_own { guidance } else { joined(&guidance, &page) };
            Change::SkillUpdated { skill, description, situation, guidance: Some(guidance) }
        }
        other => other,
    }
}

fn only_seen_labels(change: &Change, state: &State, attempt: Option<&Trajectory>) -> Result<(), Refusal> {
    let guidance = match change {
        Change::SkillCreated { text, .. } | Change::SkillMerged { text, .. } => &text.guidance,
        Change::SkillUpdated { guidance: Some(guidance), .. } => guidance,
        _ => return Ok(()),
    };
    if short_steps(guidance).is_ok_and(|functions| functions.is_empty()) {
        return Ok(());
    }
    let pages = change.skills().into_iter().filter_map(|id| state.skills.get(id));
    let pages: String = pages.map(|skill| format!("{}\n", skill.text.guidance)).collect();
    let Some((step, label)) = unseen_label(guidance, &pages, attempt) else { return Ok(()) };
    let why = format!(
        "the short step {step:?} names {label:?}, which the attempt did not show; use the label as it was listed, or leave the \
         section \"## Short steps\" out"
    );
    let skill = change.skills().into_iter().next().cloned();
    Err(refusal(skill, "unseen_label", why))
}
