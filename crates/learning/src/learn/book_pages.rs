//! Chooses the pages of the book that a reviewer sees beside an attempt, so that it reports nothing that stands there.

use apprentice_protocol::{SkillId, Trajectory};
use apprentice_skillbook::{Skill, State};
use apprentice_wording::{domain_name, is_for_program, word_similarity};

use crate::reflect::BookPage;
use crate::waiting_pages::waiting_pages;

/// Characters of the pages that are shown whole. A learned page has 5260 at most.
const MAX_WHOLE_PAGES_CHARS: usize = 16_000;
/// The end of a page that is shown by its description alone.
const NOT_SHOWN: &str = "[guidance not shown]";

/// Returns pages about the programs of an attempt that it did not receive: those that wait for a person, by name alone, then
/// those nearest to its instruction. At most `most`. Pages are shown whole, the nearest first, for as long as there is room: a
/// page that is cut seems to lack what it says. The rest is shown by its description.
pub(crate) fn book_pages(state: &State, trajectory: &Trajectory, most: usize) -> Vec<BookPage> {
    let domains: Vec<String> = trajectory.apps.iter().filter_map(|app| domain_name(app)).collect();
    let is_about = |id: &SkillId| domains.iter().any(|domain| is_for_program(id.domain(), domain));
    let waiting = waiting_pages(state).into_iter().filter(is_about);
    let mut pages: Vec<BookPage> =
        waiting.map(|id| BookPage { id, text: None, waits_for_a_person: true }).collect();
    let received = |id: &SkillId| trajectory.skills.iter().any(|skill| skill.id == *id);
    let mut near: Vec<(f64, &Skill)> = state
        .skills
        .values()
        .filter(|skill| is_about(&skill.id) && !received(&skill.id))
        .map(|skill| (word_similarity(&trajectory.goal, &page_text(skill)), skill.as_ref()))
        .collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.id.cmp(&right.1.id)));
    near.truncate(most.saturating_sub(pages.len()));
    let mut room = MAX_WHOLE_PAGES_CHARS;
    pages.extend(near.into_iter().map(|(_, skill)| {
        let text = page_text(skill);
        let left = room.checked_sub(text.chars().count());
        room = left.unwrap_or(room);
        let text = if left.is_some() { text } else { format!("{}\n{NOT_SHOWN}", skill.text.description) };
        BookPage { id: skill.id.clone(), text: Some(text), waits_for_a_person: false }
    }));
    pages.truncate(most);
    pages
}

fn page_text(skill: &Skill) -> String {
    format!("{}\n{}\n{}", skill.text.description, skill.text.situation, skill.text.guidance)
}
