//! Placebo books: they look like the book and cannot help. They show that an effect comes from knowledge and not from
//! more text or more tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_protocol::{Observation, SkillId};
use apprentice_skillbook::{
    Hit, NearFunction, ShortSteps, Skill, Snapshot, fitting_of, functions_by_fit, prose_of, with_short_steps,
};

use apprentice_wording::is_general;

use super::model::{GuidanceError, TaskView};
use super::reading::beginning::{Beginning, beginning};

/// Skills that score at least this share of the best hit also count as relevant to the task.
const NEAR: f32 = 0.8;

/// Returns the book without the skills that are relevant to the task. If no skill of the task's programs remains, uses
/// spare skills of these programs. Every text is as long as the text that would have helped.
pub(crate) fn inert_placebo(book: &Snapshot, task: &TaskView) -> Result<Snapshot, GuidanceError> {
    let relevant = task.relevant.clone().unwrap_or_else(|| relevant_by_words(book, task));
    let of_task = |id: &SkillId| is_of_task(id, task);
    let mut kept: BTreeMap<SkillId, Arc<Skill>> = book
        .skills()
        .filter(|skill| !relevant.contains(&skill.id))
        .map(|skill| (skill.id.clone(), Arc::new(skill.clone())))
        .collect();
    if !kept.keys().any(of_task) {
        let spare = task.spare.iter().flat_map(Snapshot::skills);
        kept.extend(
            spare.filter(|skill| of_task(&skill.id)).map(|skill| (skill.id.clone(), Arc::new(skill.clone()))),
        );
    }
    if !kept.keys().any(of_task) {
        let apps = task.apps.join(", ");
        return Err(GuidanceError::NoEligibleSkill(format!("no skill of {apps} is irrelevant to it")));
    }
    let Some(longest) = relevant.iter().filter_map(|id| book.skill(id)).max_by_key(|skill| length(skill))
    else {
        return Ok(book.with_skills(kept));
    };
    let wanted = relevant.iter().filter_map(|id| book.skill(id));
    let wanted = wanted.filter_map(|skill| fitting_of(skill, &task.instruction)).next();
    let mut fitted: BTreeMap<SkillId, Arc<Skill>> = kept
        .iter()
        .map(|(id, skill)| {
            let others = kept.values().filter(|other| other.id != *id && other.id.domain() == id.domain());
            let filler: Vec<String> = others.map(|other| prose_of(&other.text.guidance)).collect();
            // The mark around a note says where it comes from: here, too, both are alike.
            let (origin, by_person, written) = (longest.origin, longest.by_person, longest.written);
            let fitted = Skill { origin, by_person, written, ..fit_length(skill, length(longest), &filler) };
            (id.clone(), Arc::new(fitted))
        })
        .collect();
    // A reader of short views gets one page, so one has short steps: those of another function, found as the right ones are.
    let donors = kept.iter().filter(|(id, _)| of_task(id)).chain(&kept);
    let mut donors = donors.flat_map(|(id, skill)| skill.short_steps().into_iter().map(move |own| (id, own)));
    if let Some((wanted, (id, own))) = wanted.and_then(|wanted| Some((wanted, donors.next()?)))
        && let Some(skill) = fitted.get_mut(id)
    {
        let text = &mut Arc::make_mut(skill).text;
        text.guidance = with_short_steps(&text.guidance, &[in_place_of(&wanted, own)]);
    }
    Ok(book.with_skills(fitted))
}

/// Returns short steps that are found by the words of others and have as many acts. Only their own words reach a reader.
fn in_place_of(wanted: &ShortSteps, own: ShortSteps) -> ShortSteps {
    let steps = own.steps.iter().cycle().take(wanted.steps.len()).cloned().collect();
    ShortSteps { also: wanted.asked().map(str::to_owned).collect(), steps, ..own }
}

/// Returns what stands for a function in a book: the function itself, or the placebo that was put in its place.
pub(crate) fn replacing(book: &Snapshot, skill: &Skill, wanted: &ShortSteps) -> Option<(Skill, ShortSteps)> {
    let own = book.skill(&skill.id).filter(|own| own.short_steps().contains(wanted));
    if let Some(own) = own {
        return Some((own.clone(), wanted.clone()));
    }
    let all = book.skills().flat_map(|skill| skill.short_steps().into_iter().map(move |own| (skill, own)));
    let mut found = all.filter(|(_, own)| own.also.contains(&wanted.function));
    found.next().map(|(skill, own)| (skill.clone(), own))
}

/// True skills that do not bear on a task, for a reader of short views: each stands in for a function that the reader says its task
/// asks for, so that it is lent where that would be, and as long.
pub(crate) struct Strangers {
    book: Snapshot,
    instruction: String,
    spare: Option<Snapshot>,
    relevant: BTreeSet<SkillId>,
}

impl Strangers {
    pub(crate) fn new(book: &Snapshot, task: &TaskView) -> Self {
        let relevant = task.relevant.clone().unwrap_or_else(|| relevant_by_words(book, task));
        let instruction = task.instruction.clone();
        Self { book: book.clone(), instruction, spare: task.spare.clone(), relevant }
    }

    /// Returns the stranger that stands in for a function: of the others of the same program, with as many steps, the one whose words
    /// are farthest from the task, if possible one that can begin on this screen; else a text of the program without steps, as long as the function's.
    pub(crate) fn for_function(
        &self,
        skill: &Skill,
        wanted: &ShortSteps,
        seen: &Observation,
    ) -> Option<(Skill, Option<ShortSteps>)> {
        let is_strange = |other: &&Skill| {
            other.id != skill.id
                && !self.relevant.contains(&other.id)
                && other.id.domain() == skill.id.domain()
        };
        let near = functions_by_fit(&self.book, &self.instruction, Some(skill.id.domain()));
        let far: Vec<NearFunction<'_>> =
            near.into_iter().rev().filter(|found| is_strange(&found.skill)).collect();
        let begins =
            |found: &&NearFunction<'_>| beginning(found.skill, &found.steps, seen) == Beginning::Here;
        let (origin, by_person, written) = (skill.origin, skill.by_person, skill.written);
        if let Some(found) = far.iter().find(begins).or(far.first()) {
            let steps = found.steps.steps.iter().cycle().take(wanted.steps.len()).cloned().collect();
            let other = Skill { origin, by_person, written, ..found.skill.clone() };
            return Some((other, Some(ShortSteps { steps, ..found.steps.clone() })));
        }
        let spare = self.spare.iter().flat_map(Snapshot::skills).find(is_strange)?;
        let fitted = fit_length(spare, wanted.lent().chars().count(), &[]);
        Some((Skill { origin, by_person, written, ..fitted }, None))
    }
}

/// Returns irrelevant skills for the prompt: as many as are relevant, or fewer where fewer are there, and together as long as the
/// relevant ones.
pub(crate) fn forced_placebo(book: &Snapshot, task: &TaskView) -> Result<Vec<Skill>, GuidanceError> {
    let relevant = task.relevant.clone().unwrap_or_else(|| relevant_by_words(book, task));
    let wanted: Vec<&Skill> = relevant.iter().filter_map(|id| book.skill(id)).collect();
    let Some(first) = wanted.first() else {
        return Err(GuidanceError::NoEligibleSkill(
            "no skill bears on it, so that none sets a length".to_owned(),
        ));
    };
    let others = inert_placebo(book, task)?;
    let has_steps = wanted.iter().any(|skill| prose_of(&skill.text.guidance).lines().any(is_step));
    let strangers: Vec<Skill> = others
        .skills()
        .filter(|skill| is_of_task(&skill.id, task))
        .map(|skill| if has_steps { skill.clone() } else { without_steps(skill) })
        .collect();
    let count = strangers.len().min(wanted.len());
    let whole: usize = wanted.iter().map(|skill| length(skill)).sum();
    let filler: Vec<String> = strangers.iter().map(|other| prose_of(&other.text.guidance)).collect();
    let fitted = strangers.iter().take(count).enumerate().map(|(at, skill)| {
        let own = whole / count + usize::from(at < whole % count);
        // The mark around a note says where it comes from: here, too, both are alike.
        let (origin, by_person, written) = (first.origin, first.by_person, first.written);
        Skill { origin, by_person, written, ..fit_length(skill, own, &filler) }
    });
    Ok(fitted.collect())
}

/// Whether a skill is of a program of the task, or of none.
fn is_of_task(id: &SkillId, task: &TaskView) -> bool {
    task.apps.iter().any(|app| app == id.domain()) || is_general(id.domain())
}

/// Whether a line is a numbered step. A model of few parameters is told which step of an advice comes next, so that numbers alone
/// would make a difference.
fn is_step(line: &str) -> bool {
    unnumbered(line).is_some()
}

/// The text of a numbered step.
fn unnumbered(line: &str) -> Option<&str> {
    let (number, text) = line.trim_start().split_once(". ")?;
    (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then_some(text)
}

/// The skill with its steps as sentences.
fn without_steps(skill: &Skill) -> Skill {
    let mut plain = skill.clone();
    let lines = skill.text.guidance.lines().map(|line| unnumbered(line).unwrap_or(line));
    plain.text.guidance = lines.collect::<Vec<_>>().join("\n");
    plain
}

/// Returns the best hit for the instruction and the hits close to it.
fn relevant_by_words(book: &Snapshot, task: &TaskView) -> BTreeSet<SkillId> {
    // The program's name occurs in all of its skills and does not make one relevant to the task.
    near_best(book.search(&task.instruction, usize::MAX)).into_iter().map(|hit| hit.id).collect()
}

/// Returns the best hit and those whose score is close to it. `hits` begins with the best.
fn near_best(mut hits: Vec<Hit>) -> Vec<Hit> {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    hits.retain(|hit| hit.score >= best * NEAR);
    hits
}

/// Returns every name with the body of a skill from another domain, fitted to the length of its own.
pub(crate) fn wrong_placebo(book: &Snapshot) -> Result<Snapshot, GuidanceError> {
    let skills: Vec<&Skill> = book.skills().collect();
    let mut relabelled = BTreeMap::new();
    for (index, skill) in skills.iter().enumerate() {
        // Starts half the book away, so that neighbours in one domain do not all use the same donor.
        let donors = (0..skills.len()).map(|step| skills[(index + skills.len() / 2 + step) % skills.len()]);
        let mut strangers = donors.filter(|donor| donor.id.domain() != skill.id.domain());
        let Some(donor) = strangers.next() else {
            return Err(GuidanceError::NoEligibleSkill("the book has only one domain".to_owned()));
        };
        let filler: Vec<String> = strangers.map(|other| prose_of(&other.text.guidance)).collect();
        let mut body = (*skill).clone();
        body.text.situation.clone_from(&donor.text.situation);
        body.text.guidance.clone_from(&donor.text.guidance);
        body.notes.clone_from(&donor.notes);
        body.hidden_notes = donor.hidden_notes;
        let mut fitted = fit_length(&body, length(skill), &filler);
        let own = skill.short_steps().into_iter().zip(donor.short_steps());
        let short: Vec<ShortSteps> = own.map(|(wanted, own)| in_place_of(&wanted, own)).collect();
        fitted.text.guidance = with_short_steps(&fitted.text.guidance, &short);
        relabelled.insert(skill.id.clone(), Arc::new(fitted));
    }
    if relabelled.is_empty() {
        return Err(GuidanceError::NoEligibleSkill("the book is empty".to_owned()));
    }
    Ok(book.with_skills(relabelled))
}

/// Length of what a reader of prose gets.
fn length(skill: &Skill) -> usize {
    skill.prose_view().chars().count()
}

/// Cuts or fills the guidance until the view has the given length. Drops short steps, and notes first when it is too long.
fn fit_length(skill: &Skill, length: usize, filler: &[String]) -> Skill {
    let mut fitted = skill.clone();
    fitted.text.guidance = prose_of(&skill.text.guidance);
    let bare = |skill: &Skill| skill.view().chars().count() - skill.text.guidance.chars().count();
    if bare(&fitted) >= length {
        fitted.notes.clear();
        fitted.hidden_notes = 0;
    }
    let room = length.saturating_sub(bare(&fitted)).max(1);
    let own = fitted.text.guidance.clone();
    let mut text = own.clone();
    for more in filler.iter().map(String::as_str).chain(std::iter::repeat(own.as_str())) {
        if text.chars().count() >= room {
            break;
        }
        text.push('\n');
        text.push_str(more);
    }
    let mut cut: String = text.chars().take(room).collect();
    if cut.ends_with(char::is_whitespace) {
        cut.pop();
        cut.push('.');
    }
    fitted.text.guidance = cut;
    fitted
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::SkillId;
    use apprentice_skillbook::{Actor, Note, OpId, Origin, Skill, SkillText, Snapshot};
    use jiff::Timestamp;

    use super::{Hit, fit_length, near_best, wrong_placebo};

    #[test]
    fn a_skill_bears_on_a_task_from_four_fifths_of_the_best_score() {
        let hit = |slug: &str, score| Hit {
            id: SkillId::parse(&format!("gimp/{slug}")).expect("an id"),
            version: 1,
            description: String::new(),
            score,
            matched: Vec::new(),
            similarity: None,
        };
        let near = near_best(vec![hit("best", 10.0), hit("near", 8.0), hit("far", 7.99)]);
        assert_eq!(near.iter().map(|hit| hit.id.slug()).collect::<Vec<_>>(), ["best", "near"]);
        assert!(near_best(Vec::new()).is_empty());
    }

    #[test]
    fn a_text_has_the_given_length_to_the_letter() {
        let text =
            SkillText { description: "D".into(), situation: "S.".into(), guidance: "1. Go on.".into() };
        let id = SkillId::parse("gimp/a").expect("an id");
        let note = Note {
            text: "A note of a review.".into(),
            count: 1,
            author: Actor::Handler,
            trajectory: None,
            time: Timestamp::UNIX_EPOCH,
        };
        let skill = Skill::new(&id, &text, vec![note], Origin::Learned, OpId(1));
        let whole = skill.view().chars().count();
        let bare = whole - text.guidance.chars().count();
        for length in [bare, bare + 1, whole - 1, whole, whole + 1, whole + 50] {
            let fitted = fit_length(&skill, length, &["2. Go elsewhere.".to_owned()]);
            assert_eq!(fitted.view().chars().count(), length);
        }
    }

    #[test]
    fn the_skills_of_a_domain_get_the_bodies_of_as_many_others() {
        let skill = |name: &str| {
            let text =
                SkillText { description: "D".into(), situation: name.into(), guidance: "1. Go.".into() };
            let id = SkillId::parse(name).expect("an id");
            (id.clone(), std::sync::Arc::new(Skill::new(&id, &text, Vec::new(), Origin::Learned, OpId(1))))
        };
        let names = ["calc/a", "calc/b", "calc/c", "calc/d", "gimp/a", "gimp/b", "gimp/c", "gimp/d"];
        let book = Snapshot::empty().with_skills(names.map(skill).into());
        let wrong = wrong_placebo(&book).expect("two domains");
        let bodies: Vec<&str> = wrong.skills().map(|skill| skill.text.situation.as_str()).collect();
        assert_eq!(bodies, ["gimp/a", "gimp/b", "gimp/c", "gimp/d", "calc/a", "calc/b", "calc/c", "calc/d"]);
    }
}
