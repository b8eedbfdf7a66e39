//! Derives the candidates of a review: what the agent reported, and what turns and events show by themselves. Each
//! candidate may lead to one thing only: a new skill, or a change of one skill.

use apprentice_protocol::SkillId;
use serde::Serialize;

use super::route::Route;
use super::session_reading::{Answer, Relation, SessionReading, TurnReading};
use super::session_turn::{SessionRecord, SessionTurn};
use crate::foreground::{CreateTrigger, Effect, Issue, Origin};

/// Actions that make work worth a look by itself.
const MEANINGFUL_ACTS: u32 = 5;
/// Elements in a row that make a pattern when another turn has the same.
const MIN_PATTERN_ELEMENTS: usize = 3;

/// Something that a review may learn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Names the candidate in the journal; the same turn always gives the same key.
    pub key: String,
    /// The turn.
    pub turn: u32,
    /// The source of the signal: the agent's report, or events.
    pub origin: Origin,
    /// The change that it may lead to.
    #[serde(flatten)]
    pub route: Route,
    /// The events that show it, in order.
    pub event_refs: Vec<String>,
    /// In words.
    pub summary: String,
}

/// A candidate that is not taken up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Key of the candidate.
    pub key: String,
    /// `one_off` or `finish_recorded`.
    pub code: String,
}

/// The candidates of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// The candidates, the weightiest first.
    pub candidates: Vec<Candidate>,
    /// Signals that are not taken up, with the reason.
    pub dropped: Vec<Dropped>,
}

/// Returns whether the words of a session have to be read: some turn follows another, or it would be a candidate whose
/// work may be one-off.
pub(super) fn needs_reading(session: &SessionRecord) -> bool {
    let pending = |turn: &&SessionTurn| turn.pending.is_some();
    let later = session.turns.iter().filter(pending).any(|turn| session.before(turn).is_some());
    later || !derive(session, &SessionReading::default()).candidates.is_empty()
}

/// Derives the candidates of the turns that wait for a review.
pub fn derive(session: &SessionRecord, reading: &SessionReading) -> Derived {
    let mut derived = Derived::default();
    for turn in session.turns.iter().filter(|turn| turn.pending.is_some()) {
        let read = reading.of(turn.number);
        let found = [
            reported(session, turn),
            asked(session, turn, &read),
            corrected(session, turn, &read),
            recovered(session, turn),
            repeated(session, turn),
            long(session, turn),
        ];
        // One turn teaches one thing: the weightiest.
        let Some(candidate) = found.into_iter().flatten().next() else { continue };
        let is_asked =
            matches!(candidate.route, Route::Create { trigger: CreateTrigger::ExplicitUserRequest, .. });
        let code = if turn.finished_skill {
            Some("finish_recorded")
        } else if read.recurs == Answer::No && !is_asked {
            Some("one_off")
        } else {
            None
        };
        match code {
            Some(code) => derived.dropped.push(Dropped { key: candidate.key, code: code.to_owned() }),
            None => derived.candidates.push(candidate),
        }
    }
    derived.candidates.sort_by_key(|candidate| (weight(candidate), candidate.turn));
    derived
}

/// The weights of candidates, the weightiest first. Faults of skills come first: they hurt every later use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    UnsafeInstruction,
    ReportedFault,
    Request,
    SeenFault,
    Correction,
    Recovery,
    Repetition,
    LongWork,
}

fn weight(candidate: &Candidate) -> Weight {
    match (&candidate.route, candidate.origin) {
        (Route::Patch { issue: Some(Issue::UnsafeInstruction), .. }, _) => Weight::UnsafeInstruction,
        (Route::Patch { .. }, Origin::Reported) => Weight::ReportedFault,
        (Route::Create { trigger: CreateTrigger::ExplicitUserRequest, .. }, _) => Weight::Request,
        (Route::Patch { .. }, Origin::Nudge) => Weight::SeenFault,
        (Route::Create { trigger: CreateTrigger::UserCorrection, .. }, _) => Weight::Correction,
        (Route::Create { trigger: CreateTrigger::RecoveredSurprise, .. }, _) => Weight::Recovery,
        (Route::Create { trigger: CreateTrigger::RepeatedToolPattern, .. }, _) => Weight::Repetition,
        (Route::Create { trigger: CreateTrigger::MultiStepWorkflow, .. }, _) => Weight::LongWork,
    }
}

fn candidate(
    session: &SessionRecord,
    turn: &SessionTurn,
    route: Route,
    refs: Vec<String>,
    summary: &str,
) -> Candidate {
    let kind = match &route {
        Route::Create { trigger, .. } => format!("create:{}", code(trigger)),
        Route::Patch { skill_name, .. } => format!("patch:{skill_name}"),
    };
    Candidate {
        key: format!("{}#{}:{kind}", session.run, turn.number),
        turn: turn.number,
        origin: Origin::Nudge,
        route,
        event_refs: refs,
        summary: summary.to_owned(),
    }
}

fn code(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn create(trigger: CreateTrigger) -> Route {
    Route::Create { trigger, package_name_hint: None }
}

fn patch(skill: &SkillId, effect: Effect) -> Route {
    Route::Patch { skill_name: skill.to_string(), issue: None, observed_effect: effect }
}

/// Returns the candidate of the agent's own report, if it was accepted.
fn reported(session: &SessionRecord, turn: &SessionTurn) -> Option<Candidate> {
    let signal = turn.signal.as_ref()?;
    let (route, refs) = (signal.route.clone(), signal.refs.clone());
    Some(Candidate { origin: Origin::Reported, ..candidate(session, turn, route, refs, &signal.summary) })
}

/// The person asked for a skill: by a command, or in words as the reader understands them.
fn asked(session: &SessionRecord, turn: &SessionTurn, read: &TurnReading) -> Option<Candidate> {
    let asks = turn.asks_to_learn || read.asks_to_remember == Answer::Yes;
    let words = "The person asked that this be kept for later sessions.";
    let route = create(CreateTrigger::ExplicitUserRequest);
    asks.then(|| candidate(session, turn, route, vec![turn.request.clone()], words))
}

/// The person objected to a report. Events alone show it only where a change was taken back on an element that the turn
/// before had changed; else the reader has to say so.
fn corrected(session: &SessionRecord, turn: &SessionTurn, read: &TurnReading) -> Option<Candidate> {
    let again = session.touched_again(turn);
    let by_events = session.follows_report(turn) && turn.undo.is_some() && !again.is_empty();
    let by_words = read.relation == Relation::Correction;
    let contradicted = matches!(read.relation, Relation::NewTask | Relation::Continuation);
    if !(by_words || by_events && !contradicted) || session.before(turn).is_none() {
        return None;
    }
    let before = session.before(turn).and_then(|before| before.report.clone());
    let mut refs: Vec<String> = before.into_iter().chain([turn.request.clone()]).collect();
    refs.extend(again.into_iter().chain(turn.undo.clone()).chain(turn.report.clone()));
    refs.dedup();
    match session.viewed_until(turn) {
        Some(viewed) => {
            refs.push(viewed.event.clone());
            let words = "The person corrected work for which this skill had been received.";
            let route = patch(&viewed.skill, Effect::RetryAfterUserCorrection);
            Some(candidate(session, turn, route, refs, words))
        }
        None => {
            let words = "The person corrected what the agent had reported as done.";
            Some(candidate(session, turn, create(CreateTrigger::UserCorrection), refs, words))
        }
    }
}

/// Something failed, or went in circles, and was got over.
fn recovered(session: &SessionRecord, turn: &SessionTurn) -> Option<Candidate> {
    let left_a_loop = turn.ended_well && !turn.loops.is_empty();
    if !turn.recovered() && !left_a_loop {
        return None;
    }
    let mut refs: Vec<String> =
        turn.failures.iter().chain(&turn.loops).chain(&turn.recoveries).cloned().collect();
    refs.extend(turn.report.clone());
    let viewed = turn.viewed.last();
    Some(match viewed {
        Some(viewed) => {
            refs.push(viewed.event.clone());
            let words = "A skill had been received; something failed all the same, and another way worked.";
            candidate(session, turn, patch(&viewed.skill, Effect::RetryAfterToolError), refs, words)
        }
        None => {
            let words = "Something failed, and another way worked.";
            candidate(session, turn, create(CreateTrigger::RecoveredSurprise), refs, words)
        }
    })
}

/// The same elements were used in the same order as in an earlier turn.
fn repeated(session: &SessionRecord, turn: &SessionTurn) -> Option<Candidate> {
    let elements = |turn: &SessionTurn| -> Vec<String> {
        turn.touched.iter().map(|element| element.element.clone()).collect()
    };
    let own = elements(turn);
    let earlier = session.turns.iter().filter(|earlier| earlier.number < turn.number && earlier.ended_well);
    let before: Vec<Vec<String>> = earlier.map(elements).collect();
    let index = own.windows(MIN_PATTERN_ELEMENTS).position(|part| {
        before.iter().any(|other| other.windows(MIN_PATTERN_ELEMENTS).any(|window| window == part))
    })?;
    if !turn.ended_well {
        return None;
    }
    let refs = turn.touched[index..index + MIN_PATTERN_ELEMENTS]
        .iter()
        .map(|touched| touched.event.clone())
        .collect();
    let words = "The same elements were used in the same order in two turns.";
    Some(candidate(session, turn, create(CreateTrigger::RepeatedToolPattern), refs, words))
}

/// Much was done, and it ended well.
fn long(session: &SessionRecord, turn: &SessionTurn) -> Option<Candidate> {
    if !turn.ended_well || turn.acts < MEANINGFUL_ACTS {
        return None;
    }
    let mut refs = vec![turn.request.clone()];
    refs.extend(turn.touched.iter().map(|touched| touched.event.clone()).take(MIN_PATTERN_ELEMENTS));
    refs.extend(turn.report.clone());
    let words = "The work took many actions and ended well.";
    Some(candidate(session, turn, create(CreateTrigger::MultiStepWorkflow), refs, words))
}

#[cfg(test)]
mod tests {
    use super::{Candidate, CreateTrigger, Effect, Issue, Origin, Route, create, weight};

    fn candidate(route: Route, origin: Origin) -> Candidate {
        let (key, summary) = (String::new(), String::new());
        Candidate { key, turn: 1, origin, route, event_refs: Vec::new(), summary }
    }

    #[test]
    fn what_the_agent_reports_of_a_skill_comes_before_a_request_and_what_is_unsafe_before_all() {
        let patch = |issue| Route::Patch {
            skill_name: "gimp/layers".into(),
            issue,
            observed_effect: Effect::RetryAfterUserCorrection,
        };
        let unsafe_words = candidate(patch(Some(Issue::UnsafeInstruction)), Origin::Reported);
        let reported = candidate(patch(None), Origin::Reported);
        let request = candidate(create(CreateTrigger::ExplicitUserRequest), Origin::Nudge);
        let seen = candidate(patch(None), Origin::Nudge);
        assert!(
            [unsafe_words, reported, request, seen]
                .windows(2)
                .all(|pair| weight(&pair[0]) < weight(&pair[1]))
        );
    }
}
