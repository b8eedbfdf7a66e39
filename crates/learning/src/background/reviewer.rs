//! Asks the reviewing model: how the words of a session are to be understood, and what becomes of one candidate. Every
//! reply's price is written down before anything else happens.

use std::collections::BTreeMap;

use apprentice_protocol::{
    Call, CallBody, CallResult, ChatModel, ChatReply, ChatRequest, Content, Message, ModelError, SkillId,
};
use apprentice_skillbook::{BookError, Cause, Change, NewDomain, Origin, SkillText, Snapshot, Stage};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::candidate::Candidate;
use super::decision::{
    CREATE_SKILL, CreateArguments, EventArguments, NO_SKILL, NoSkillArguments, PATCH_SKILL, PatchArguments,
    REVIEW_EVENT, SkillClass, class_of, decision_request, event_text, target,
};
use super::publish::{Published, Publisher, SkillChange};
use super::route::Route;
use super::session_reading::{SessionReading, reading_request};
use super::session_turn::SessionRecord;
use super::staging::StagedChange;
use crate::foreground::{CreateTrigger, OWN_PREFIX};
use crate::manage::is_trivial;

/// Answers that may be unreadable before a reading is given up.
const MAX_READING_TRIES: u32 = 3;
/// Replies per candidate.
const MAX_TURNS: u32 = 10;
/// Events that a change has to cite, unless the person asked for it.
const MIN_REFS: usize = 2;

/// The reason why a review ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The model failed, or its budget is used up.
    #[error("the request to the reviewer failed: {0}")]
    Model(#[from] ModelError),
    /// The book or the journal could not be read or written.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The material could not be serialized.
    #[error("the material of a review could not be written as JSON")]
    Json(#[from] serde_json::Error),
}

/// The decision about a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The book was changed, or a change is proposed.
    Changed(SkillChange),
    /// Nothing was changed, for this reason.
    Left(String),
}

/// Writes down what has been spent since the last time.
pub(super) type BookCost<'a> = &'a dyn Fn() -> Result<(), BookError>;

/// The model of a review, with what it needs.
pub(super) struct Reviewer<'a> {
    pub(super) model: &'a dyn ChatModel,
    pub(super) book_cost: BookCost<'a>,
    pub(super) publisher: Publisher<'a>,
    /// Name of the review.
    pub(super) review: &'a str,
}

/// A refusal of a call: a code and a sentence for the model.
type Refusal = (&'static str, String);

/// The skill of a change, and the version that was read; `None` for a new skill.
struct ReadSkill {
    skill: SkillId,
    version: Option<u32>,
}

/// The answer to one call.
enum CallAnswer {
    Said(String),
    Decided(Decision),
}

impl Reviewer<'_> {
    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ReviewError> {
        let reply = self.model.reply(request).await;
        (self.book_cost)()?;
        Ok(reply?)
    }

    /// Reads the words of a session. A reader without a usable answer leaves everything unclear.
    pub(super) async fn read(&self, session: &SessionRecord) -> Result<SessionReading, ReviewError> {
        let mut request = reading_request(session)?;
        for _ in 0..MAX_READING_TRIES {
            let reply = self.ask(&request).await?;
            let problem = match SessionReading::parse(&reply.say.join("\n"), session) {
                Ok(reading) => return Ok(reading),
                Err(problem) => problem,
            };
            let words = format!(
                "This answer cannot be used: {problem}. Answer with the JSON object and nothing else."
            );
            request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
            apprentice_model_json::append_user_message(
                &mut request,
                Content::text(words),
                "there is nothing to call here",
            );
        }
        Ok(SessionReading::default())
    }

    /// Has one candidate decided.
    pub(super) async fn decide(
        &self,
        session: &SessionRecord,
        candidate: &Candidate,
        book: &Snapshot,
        receipts: &[Value],
    ) -> Result<Decision, ReviewError> {
        if let Route::Patch { skill_name, .. } = &candidate.route {
            match target(candidate, book).map(class_of) {
                Some(SkillClass::Learned) => {}
                Some(SkillClass::Other | SkillClass::Core) => {
                    return Ok(Decision::Left(format!("not_permitted: {skill_name} is no learned skill")));
                }
                None => return Ok(Decision::Left(format!("unknown_skill: {skill_name}"))),
            }
        }
        let mut request = decision_request(session, candidate, book, receipts)?;
        for _ in 0..MAX_TURNS {
            let reply = self.ask(&request).await?;
            if reply.calls.is_empty() {
                return Ok(Decision::Left(format!("no decision: {}", reply.say.join(" "))));
            }
            let mut results = Vec::new();
            for call in &reply.calls {
                let (text, is_error) = match self.answer(call, session, candidate, book).await? {
                    Ok(CallAnswer::Decided(decision)) => return Ok(decision),
                    Ok(CallAnswer::Said(text)) => (text, false),
                    Err((code, why)) => (format!("{code}: {why}"), true),
                };
                let content = vec![Content::text(text)];
                results.push(CallResult { id: call.id.clone(), per_action: Vec::new(), content, is_error });
            }
            request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
            request.messages.push(Message::Results { results, notices: Vec::new() });
        }
        Ok(Decision::Left("no decision within the turns allowed".to_owned()))
    }

    async fn answer(
        &self,
        call: &Call,
        session: &SessionRecord,
        candidate: &Candidate,
        book: &Snapshot,
    ) -> Result<Result<CallAnswer, Refusal>, ReviewError> {
        let CallBody::Tool { name, arguments } = &call.body else {
            return Ok(Err(("no_world", "there is no screen here; use the tools".to_owned())));
        };
        let staged = match (name.as_str(), &candidate.route) {
            (REVIEW_EVENT, _) => {
                return Ok(parse::<EventArguments>(arguments).and_then(|request| {
                    let text = event_text(session, &request.id);
                    let unknown = || ("unknown_event", format!("there is no event {}", request.id));
                    text.map(CallAnswer::Said).ok_or_else(unknown)
                }));
            }
            (NO_SKILL, _) => {
                return Ok(parse::<NoSkillArguments>(arguments).map(|left| {
                    let code = serde_json::to_value(left.reason).unwrap_or_default();
                    let code = code.as_str().unwrap_or_default().to_owned();
                    CallAnswer::Decided(Decision::Left(format!("{code}: {}", left.why.trim())))
                }));
            }
            (CREATE_SKILL, Route::Create { .. }) => {
                parse(arguments).and_then(|request| self.created(request, session, candidate, book))
            }
            (PATCH_SKILL, Route::Patch { .. }) => {
                parse(arguments).and_then(|request| self.patched(request, session, candidate, book))
            }
            (other, _) => Err(("unknown_tool", format!("there is no tool {other:?} in this review"))),
        };
        let staged = match staged {
            Ok(staged) => staged,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let published = self.publisher.publish(&staged).await;
        // Readers of the text cost, too.
        (self.book_cost)()?;
        Ok(match published? {
            Published::Done(change) => Ok(CallAnswer::Decided(Decision::Changed(change))),
            Published::Refused(code, why) => Err((code, why)),
        })
    }

    fn created(
        &self,
        request: CreateArguments,
        session: &SessionRecord,
        candidate: &Candidate,
        book: &Snapshot,
    ) -> Result<StagedChange, Refusal> {
        check_refs(&request.event_refs, session, candidate)?;
        let name = request.name.trim();
        if !name.strip_prefix(OWN_PREFIX).is_some_and(SkillId::is_slug) {
            return Err((
                "wrong_prefix",
                format!("{name:?} must be {OWN_PREFIX} and lower-case words with hyphens"),
            ));
        }
        if is_trivial(&request.guidance) {
            return Err((
                "basic",
                "everybody knows this; only what is not obvious belongs in the book".to_owned(),
            ));
        }
        let skill = SkillId::parse(&format!("{}/{name}", request.domain.trim()));
        let skill = skill.map_err(|error| ("bad_name", error.to_string()))?;
        let domain = (!book.state().domains.contains_key(skill.domain())).then(|| NewDomain {
            domain: skill.domain().to_owned(),
            description: format!("Skills on {}.", skill.domain()),
        });
        let text = SkillText {
            description: request.description,
            situation: request.situation,
            guidance: request.guidance,
        };
        let change = Change::SkillCreated {
            skill: skill.clone(),
            text,
            annotations: Vec::new(),
            origin: Origin::Learned,
            domain,
        };
        Ok(self.staged(session, candidate, change, ReadSkill { skill, version: None }))
    }

    fn patched(
        &self,
        request: PatchArguments,
        session: &SessionRecord,
        candidate: &Candidate,
        book: &Snapshot,
    ) -> Result<StagedChange, Refusal> {
        check_refs(&request.event_refs, session, candidate)?;
        let Some(known) = target(candidate, book) else {
            return Err(("unknown_skill", "the candidate's skill is gone; call no_skill".to_owned()));
        };
        let change = Change::SkillUpdated {
            skill: known.id.clone(),
            description: request.description,
            situation: request.situation,
            guidance: request.guidance,
        };
        let read = ReadSkill { skill: known.id.clone(), version: Some(known.version) };
        Ok(self.staged(session, candidate, change, read))
    }

    fn staged(
        &self,
        session: &SessionRecord,
        candidate: &Candidate,
        change: Change,
        ReadSkill { skill, version }: ReadSkill,
    ) -> StagedChange {
        let read: BTreeMap<SkillId, u32> =
            version.map(|version| (skill.clone(), version)).into_iter().collect();
        StagedChange {
            review: self.review.to_owned(),
            key: candidate.key.clone(),
            run: session.run.clone(),
            skill,
            created: version.is_none(),
            change,
            read,
            cause: Cause {
                trajectory: session.run.clone(),
                item: candidate.key.clone(),
                stage: Stage::Review,
            },
            seen: session.versions.clone(),
        }
    }
}

fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, Refusal> {
    serde_json::from_value(arguments.clone())
        .map_err(|error| ("bad_arguments", format!("the arguments do not fit: {error}")))
}

/// Checks what a change cites: two events of the session, or the person's request if the person asked for a skill.
fn check_refs(refs: &[String], session: &SessionRecord, candidate: &Candidate) -> Result<(), Refusal> {
    let is_event = |id: &String| session.timeline.iter().any(|event| event.id == *id);
    if let Some(unknown) = refs.iter().find(|id| !is_event(id)) {
        return Err(("unknown_event", format!("{unknown} is no event of this session")));
    }
    let mut distinct: Vec<&String> = refs.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let is_asked =
        matches!(candidate.route, Route::Create { trigger: CreateTrigger::ExplicitUserRequest, .. });
    let cites_request = is_asked && session.requests().iter().any(|request| distinct.contains(&request));
    if distinct.len() >= MIN_REFS || cites_request {
        return Ok(());
    }
    Err(("too_few_events", format!("{} events are cited; {MIN_REFS} are needed", distinct.len())))
}
