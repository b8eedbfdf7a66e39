//! Guidance that follows the screen: the index of the program in front, or the nearest skills themselves. It is added
//! below a view, never twice, and the trace records what was added.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{
    BoundedText, ChatReply, ChatRequest, EventKind, GuidanceRefresh, Observation, SkillEvent, SkillEventKind,
    SkillId, StepRef, TextBudget,
};
use apprentice_skillbook::{Hit, Snapshot, skill_line};
use apprentice_wording::is_for_program;

use super::model::INCLUDED_BUDGET;
use super::placebo::{Strangers, replacing};
use super::prompts::GIVEN;
use super::reading::event::happened;
use super::reading::fence::note;
use super::reading::front_program::{FrontProgram, front_domain};
use super::reading::function_question::FunctionQuestion;
use super::reading::short_reader::ShortReader;
use super::reading::tools::{delivered, domains_named, indexes, viewed, viewed_steps};

/// Largest index that is added below one view, in characters.
const INDEX_BUDGET: TextBudget = TextBudget(4000);
/// Largest length of all skills that one trial gets unasked, in characters: about 6,000 tokens.
const PUSH_BUDGET: TextBudget = INCLUDED_BUDGET;
/// After the first view, a skill is added only if its score is at least this share of the best hit's.
const NEAR_SHARE: f32 = 0.5;
/// Stands above the index of the program in front.
const IN_FRONT: &str = "Notes on the program in front; `skill_view` shows one:";
/// Stands above skills that are added after the first view.
const MORE: &str = "More notes from earlier work, for what is in front now:";

/// The programs whose index a trial gets below a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexScope {
    /// The program in front at the first view.
    FirstView,
    /// Every program, when it comes to the front for the first time.
    EveryProgram,
}

/// Adds the index of the program in front.
pub(crate) struct IndexOnScreen {
    book: Snapshot,
    front: FrontProgram,
    scope: IndexScope,
    reader: ShortReader,
    question: FunctionQuestion,
    state: Mutex<IndexState>,
}

struct IndexState {
    first: bool,
    shown: BTreeSet<String>,
}

impl IndexOnScreen {
    /// `shown` are the domains whose index stands in the opening text.
    pub(crate) fn new(
        book: &Snapshot,
        front: &FrontProgram,
        scope: IndexScope,
        shown: BTreeSet<String>,
    ) -> Self {
        let state = Mutex::new(IndexState { first: true, shown });
        let question = FunctionQuestion::new(book, "");
        Self {
            book: book.clone(),
            front: front.clone(),
            scope,
            reader: ShortReader::default(),
            question,
            state,
        }
    }

    /// Sets what is done for a reader of short views: it is shown the one note that its instruction asks for.
    pub(crate) fn for_task(self, reader: ShortReader, question: FunctionQuestion) -> Self {
        Self { reader, question, ..self }
    }
}

impl GuidanceRefresh for IndexOnScreen {
    fn refresh(&self, _at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        self.front.note(seen);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = std::mem::take(&mut state.first);
        if self.scope == IndexScope::FirstView && !first {
            return None;
        }
        let domains: Vec<&str> = domains_named(&self.book, &front_domain(seen)?)
            .into_iter()
            .filter(|domain| state.shown.insert((*domain).to_owned()))
            .collect();
        if domains.is_empty() {
            return None;
        }
        let (text, events) = indexes(&self.book, &domains);
        Some((BoundedText::cut(&format!("{IN_FRONT}\n\n{text}"), INDEX_BUDGET), skill_events(events)))
    }

    /// Adds the line of the one note whose function the instruction asks for, once. A reader of short views obeys whatever note
    /// it finds, so that it is shown no others.
    fn refresh_briefly(&self, _at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        self.front.note(seen);
        self.reader.note();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.first {
            return None;
        }
        // A placebo's own functions are not asked about: both are lent alike.
        let (asked, wanted) = self.question.chosen()?;
        let (skill, steps) = replacing(&self.book, &asked, &wanted)?;
        state.first = false;
        let line = skill_line(skill.id.as_str(), &steps.function);
        let event = SkillEvent { skill: Some(skill.id), ..happened(SkillEventKind::Indexed, &line) };
        Some((BoundedText::cut(&format!("{IN_FRONT}\n\n{line}\n"), INDEX_BUDGET), skill_events(vec![event])))
    }

    fn question(&self, seen: &Observation) -> Option<ChatRequest> {
        self.front.note(seen);
        self.question.next(self.front.domain().as_deref(), seen)
    }

    fn answer(&self, reply: &ChatReply) -> Result<(), String> {
        self.question.hear(reply)
    }
}

fn skill_events(events: Vec<SkillEvent>) -> Vec<EventKind> {
    events.into_iter().map(EventKind::Skill).collect()
}

/// The query of a trial's search for skills.
pub(crate) struct Wanted {
    /// The instruction and the task's programs: what the first view asks for.
    pub(crate) query: String,
    /// The instruction alone: later views ask for it in the program in front.
    pub(crate) instruction: String,
    /// The number of skills that one view adds at most.
    pub(crate) count: usize,
}

/// Adds the nearest skills: for the task at the first view, and for what is in front whenever that changes.
pub(crate) struct PushOnScreen {
    book: Snapshot,
    front: FrontProgram,
    wanted: Wanted,
    question: FunctionQuestion,
    /// What a reader of short views gets in place of the function that its task asks for, in a placebo.
    strangers: Option<Strangers>,
    state: Mutex<PushState>,
}

struct PushState {
    /// Characters that may still be added.
    left: usize,
    shown: BTreeSet<SkillId>,
    place: Option<Place>,
}

/// The window in front: program, title, page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    program: Option<String>,
    title: String,
    page: String,
}

impl Place {
    fn of(seen: &Observation) -> Self {
        let url = seen.tabs.iter().find(|tab| tab.active).map_or("", |tab| tab.url.as_str());
        // What a page counts or searches for makes no other page.
        let page = url.split(['?', '#']).next().unwrap_or_default().to_owned();
        // A title that only gained or lost the mark of unsaved changes is the same title.
        let title = seen.title().trim_start_matches('*').trim().to_owned();
        Self { program: front_domain(seen), title, page }
    }
}

impl PushOnScreen {
    pub(crate) fn new(book: &Snapshot, wanted: Wanted) -> Self {
        let state = PushState { left: PUSH_BUDGET.0, shown: BTreeSet::new(), place: None };
        let question = FunctionQuestion::new(book, &wanted.instruction);
        Self {
            book: book.clone(),
            front: FrontProgram::default(),
            wanted,
            question,
            strangers: None,
            state: Mutex::new(state),
        }
    }

    /// Adds skills that do not bear on the task: readers of short views are asked about the functions of a book, and get others in
    /// their place.
    pub(crate) fn in_place_of(self, book: &Snapshot, strangers: Strangers) -> Self {
        let question = FunctionQuestion::new(book, &self.wanted.instruction);
        Self { question, strangers: Some(strangers), ..self }
    }

    fn hits(&self, place: &Place, first: bool) -> Vec<Hit> {
        let count = self.wanted.count;
        if first {
            return self.book.search(&self.wanted.query, count);
        }
        let program = place.program.as_deref().unwrap_or_default();
        let query = format!("{} {program} {}", self.wanted.instruction, place.title);
        near_in_front(self.book.search(&query, usize::MAX), place.program.as_deref(), count)
    }
}

/// Returns the best `count` hits of the program in front that fit about as well as the best hit of all.
fn near_in_front(hits: Vec<Hit>, program: Option<&str>, count: usize) -> Vec<Hit> {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let of_program = |hit: &Hit| program.is_none_or(|program| is_for_program(hit.id.domain(), program));
    let near = hits.into_iter().filter(|hit| hit.score >= best * NEAR_SHARE && of_program(hit));
    near.take(count).collect()
}

impl GuidanceRefresh for PushOnScreen {
    fn refresh(&self, _at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        self.front.note(seen);
        let place = Place::of(seen);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.place.as_ref() == Some(&place) {
            return None;
        }
        let first = state.place.is_none();
        let hits = self.hits(&place, first);
        state.place = Some(place);
        let mut text = if first { GIVEN.text().to_owned() } else { MORE.to_owned() };
        let mut events = Vec::new();
        for skill in hits.iter().filter_map(|hit| self.book.skill(&hit.id)) {
            if state.shown.contains(&skill.id) {
                continue;
            }
            let (shown, event) = viewed(&self.book, skill);
            // A skill that does not fit is left out whole: half of its steps would mislead.
            let Some(left) = state.left.checked_sub(shown.chars().count()) else { continue };
            state.left = left;
            state.shown.insert(skill.id.clone());
            text.push('\n');
            text.push_str(&shown);
            events.push(event);
        }
        if events.is_empty() {
            return None;
        }
        let room = TextBudget(PUSH_BUDGET.0 + text.chars().count());
        Some((BoundedText::cut(&text, room), skill_events(events)))
    }

    /// Adds the short steps of the function that the instruction asks for, once: at the first view that shows its program.
    fn refresh_briefly(&self, _at: StepRef, seen: &Observation) -> Option<(BoundedText, Vec<EventKind>)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (asked, wanted) = self.question.chosen().filter(|_| state.shown.is_empty())?;
        let (skill, steps) = match &self.strangers {
            None => (asked, Some(wanted)),
            Some(strangers) => strangers.for_function(&asked, &wanted, seen)?,
        };
        state.shown.insert(skill.id.clone());
        let (text, event) = match steps {
            Some(steps) => viewed_steps(&skill, &steps),
            None => delivered(&skill, note(&skill, &skill.prose_view())),
        };
        Some((BoundedText::cut(&text, PUSH_BUDGET), skill_events(vec![event])))
    }

    fn question(&self, seen: &Observation) -> Option<ChatRequest> {
        self.front.note(seen);
        self.question.next(self.front.domain().as_deref(), seen)
    }

    fn answer(&self, reply: &ChatReply) -> Result<(), String> {
        self.question.hear(reply)
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Observation, SkillId, Tab};

    use super::{Hit, Place, near_in_front};

    fn hit(id: &str, score: f32) -> Hit {
        let id = SkillId::parse(id).expect("an id");
        Hit { id, version: 1, description: String::new(), score, matched: Vec::new(), similarity: None }
    }

    #[test]
    fn what_fits_half_as_well_as_the_best_is_near() {
        let hits =
            vec![hit("gimp/a", 4.0), hit("chrome/b", 3.0), hit("chrome/c", 2.0), hit("chrome/d", 1.99)];
        let ids = |program, count| {
            let near = near_in_front(hits.clone(), program, count).into_iter();
            near.map(|hit| hit.id.slug().to_owned()).collect::<String>()
        };
        assert_eq!(ids(Some("chromium"), 9), "bc");
        assert_eq!(ids(None, 9), "abc");
        assert_eq!(ids(Some("chromium"), 1), "b");
        assert_eq!(ids(Some("thunar"), 9), "");
    }

    #[test]
    fn a_place_changes_with_page_and_window_and_not_with_a_query() {
        let at = |title: &str, url: &str| {
            let tab = Tab { id: "1".to_owned(), title: title.to_owned(), url: url.to_owned(), active: true };
            Place::of(&Observation { tabs: vec![tab], ..Observation::default() })
        };
        assert_eq!(at("*notes", "http://a.test/x?page=2#top"), at("notes", "http://a.test/x"));
        assert_ne!(at("notes", "http://a.test/x"), at("notes", "http://a.test/y"));
        assert_ne!(at("notes", "http://a.test/x"), at("other", "http://a.test/x"));
    }
}
