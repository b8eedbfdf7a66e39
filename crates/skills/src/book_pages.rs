//! Chooses the pages of the book that a reviewer sees beside an attempt, so that it reports nothing that stands there.

use apprentice_protocol::{BoundedText, SkillId, TextBudget, Trajectory};

use crate::book::{Skill, State};
use crate::reflect::BookPage;
use crate::waiting_pages::waiting_pages;
use crate::words::{domain_name, word_similarity};

/// Largest length of a page's text, in characters.
const PAGE: TextBudget = TextBudget(1200);

/// Returns pages about the programs of an attempt that it did not receive: those that wait for a person, by name alone, then
/// those nearest to its instruction. At most `most`.
pub(crate) fn book_pages(state: &State, trajectory: &Trajectory, most: usize) -> Vec<BookPage> {
    let domains: Vec<String> = trajectory.apps.iter().filter_map(|app| domain_name(app)).collect();
    let is_about = |id: &SkillId| domains.iter().any(|domain| domain == id.domain());
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
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.id.cmp(&other.1.id)));
    pages.extend(near.into_iter().map(|(_, skill)| BookPage {
        id: skill.id.clone(),
        text: Some(BoundedText::cut(&page_text(skill), PAGE).as_str().to_owned()),
        waits_for_a_person: false,
    }));
    pages.truncate(most);
    pages
}

fn page_text(skill: &Skill) -> String {
    format!("{}\n{}\n{}", skill.text.description, skill.text.situation, skill.text.guidance)
}
