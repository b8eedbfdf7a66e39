//! The request about one candidate: its material, and the tools with which the reviewer decides. A candidate for a new
//! skill comes with the tool that creates one and not with the tool that changes one, and the reverse.

use apprentice_protocol::{
    BoundedText, ChatRequest, Content, Message, Prompt, Purpose, SkillId, TextBudget, ToolSpec,
};
use apprentice_skillbook::shipped::is_shipped;
use apprentice_skillbook::{Origin, Skill, SkillText, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::candidate::Candidate;
use super::route::Route;
use super::session_turn::SessionRecord;
use crate::foreground::{Bundle, BundleBudget, CoveredEvents, bundle, named};

pub(crate) const PROMPT: Prompt =
    Prompt::new("skills/background", include_str!("prompts/background.md"), &[]);
/// Schema name of the block.
const REVIEW_SCHEMA: &str = "review.material.v1";
/// `review_event { id }`
pub const REVIEW_EVENT: &str = "review_event";
/// `create_skill { name, domain, description, situation, guidance, event_refs }`
pub const CREATE_SKILL: &str = "create_skill";
/// `patch_skill { description?, situation?, guidance?, event_refs }`
pub const PATCH_SKILL: &str = "patch_skill";
/// `no_skill { reason, why }`
pub const NO_SKILL: &str = "no_skill";
const AUTHORING: &str = "authoring/right-learn-skill";
/// Characters of the events up to which a session is shown whole.
const MAX_WHOLE_SESSION_CHARS: usize = 48_000;
/// Skills that the material lists.
const MAX_LISTED_SKILLS: usize = 150;
const MAX_EVENT_CHARS: TextBudget = TextBudget(12_000);
const MAX_OUTPUT_TOKENS: u32 = 4000;

/// Who may change a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SkillClass {
    /// Learned; a review may change it.
    Learned,
    /// Written by a person, or from a package; a review may not change it.
    Other,
    /// Part of the program; nobody changes it.
    Core,
}

/// Returns the class of a skill.
pub(super) fn class_of(skill: &Skill) -> SkillClass {
    match skill.origin {
        _ if is_shipped(&skill.id) => SkillClass::Core,
        Origin::Learned if !skill.by_person => SkillClass::Learned,
        Origin::Learned | Origin::Authored | Origin::Imported | Origin::Shipped => SkillClass::Other,
    }
}

#[derive(Serialize)]
struct ListedSkill<'a> {
    id: &'a SkillId,
    description: &'a str,
    class: SkillClass,
}

#[derive(Serialize)]
struct ShownSkill<'a> {
    id: &'a SkillId,
    version: u32,
    #[serde(flatten)]
    text: &'a SkillText,
    notes: Vec<&'a str>,
    receipts: &'a [Value],
}

#[derive(Serialize)]
struct Material<'a> {
    schema: &'a str,
    candidate: &'a Candidate,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<ShownSkill<'a>>,
    /// True if every event is shown whole.
    whole: bool,
    #[serde(flatten)]
    bundle: Bundle,
    domains: Vec<&'a str>,
    skills: Vec<ListedSkill<'a>>,
    skills_left_out: usize,
    authoring: String,
}

/// Arguments of `review_event`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EventArguments {
    /// The id of an event, such as `e17`.
    pub(super) id: String,
}

/// Arguments of `create_skill`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateArguments {
    /// `rl-` and lower-case words with hyphens.
    pub(super) name: String,
    /// The program in lower case: one of `domains` where it fits, else a new one; `general` for what holds in many.
    pub(super) domain: String,
    /// One line that says when to look at it.
    pub(super) description: String,
    /// When it applies, for many tasks.
    pub(super) situation: String,
    /// Numbered steps, and how to check the result.
    pub(super) guidance: String,
    /// At least two events that show it, or the person's request.
    pub(super) event_refs: Vec<String>,
}

/// Arguments of `patch_skill`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchArguments {
    /// The new description; absent if it stays.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// The new situation; absent if it stays.
    #[serde(default)]
    pub(super) situation: Option<String>,
    /// The new guidance, whole; absent if it stays.
    #[serde(default)]
    pub(super) guidance: Option<String>,
    /// At least two events that show it.
    pub(super) event_refs: Vec<String>,
}

/// Why nothing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoSkillReason {
    /// It cannot come again.
    OneOff,
    /// Whoever can use a computer knows it.
    Basic,
    /// The book says it already.
    AlreadyKnown,
    /// The events do not show that it works.
    Unverified,
    /// It is about a person, an account or a secret.
    Private,
    /// Something else.
    Other,
}

/// Arguments of `no_skill`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoSkillArguments {
    /// Why.
    pub(super) reason: NoSkillReason,
    /// In one sentence, without private data.
    pub(super) why: String,
}

fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(T);
    schema.remove("$schema");
    schema.remove("title");
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema: schema.to_value() }
}

fn tools(route: &Route) -> Vec<ToolSpec> {
    let decides = match route {
        Route::Create { .. } => spec::<CreateArguments>(CREATE_SKILL, "Creates a skill and ends the review."),
        Route::Patch { .. } => {
            spec::<PatchArguments>(PATCH_SKILL, "Changes the skill of the candidate and ends the review.")
        }
    };
    vec![
        spec::<EventArguments>(REVIEW_EVENT, "Shows one event whole."),
        decides,
        spec::<NoSkillArguments>(NO_SKILL, "Ends the review without a change. Most reviews end so."),
    ]
}

/// Returns the budget of the events: all of them where the session is short.
fn budget(whole: bool) -> BundleBudget {
    if !whole {
        return BundleBudget::default();
    }
    BundleBudget {
        events: usize::MAX,
        event_chars: MAX_WHOLE_SESSION_CHARS,
        chars: MAX_WHOLE_SESSION_CHARS,
        index: usize::MAX,
    }
}

/// Returns the request about one candidate. `receipts` are the journal's lines about the candidate's skill.
pub(super) fn decision_request(
    session: &SessionRecord,
    candidate: &Candidate,
    book: &Snapshot,
    receipts: &[Value],
) -> Result<ChatRequest, serde_json::Error> {
    let scope = CoveredEvents {
        kind: "since_review".to_owned(),
        session_id: session.run.clone(),
        invocation_id: format!("{}#{}", session.run, candidate.turn),
        started_at: session.started_at,
        finished_at: session.finished_at,
    };
    let events = session.since_review();
    let chars: usize = events.iter().map(|event| event.detail.chars().count()).sum();
    let whole = chars <= MAX_WHOLE_SESSION_CHARS;
    let budget = budget(whole);
    let signal = Some((serde_json::to_value(candidate)?, candidate.event_refs.as_slice()));
    let mut bundle = Bundle { signal: None, ..bundle(scope, signal, events, &budget) };
    if whole {
        // The events name themselves.
        bundle.timeline_index.clear();
    }
    let skill = target(candidate, book).map(|skill| ShownSkill {
        id: &skill.id,
        version: skill.version,
        text: &skill.text,
        notes: skill.notes.iter().map(|note| note.text.as_str()).collect(),
        receipts,
    });
    let count = book.skills().count();
    let skills = book.skills().take(MAX_LISTED_SKILLS).map(|skill| ListedSkill {
        id: &skill.id,
        description: &skill.text.description,
        class: class_of(skill),
    });
    let guide = SkillId::parse(AUTHORING).ok();
    let material = Material {
        schema: REVIEW_SCHEMA,
        candidate,
        skill,
        whole,
        bundle,
        domains: domains(book),
        skills: skills.collect(),
        skills_left_out: count.saturating_sub(MAX_LISTED_SKILLS),
        authoring: guide.and_then(|id| book.skill(&id)).map(Skill::view).unwrap_or_default(),
    };
    let block = serde_json::to_string_pretty(&material)?;
    Ok(ChatRequest {
        purpose: Purpose::Manage,
        system: PROMPT.text().to_owned(),
        messages: vec![Message::User {
            content: vec![Content::text(format!("The review:\n\n```json\n{block}\n```\n"))],
        }],
        tools: tools(&candidate.route),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

/// Returns the domains in which a review may write: those that hold more than skills of the program.
fn domains(book: &Snapshot) -> Vec<&str> {
    let own = |domain: &&str| {
        let mut skills = book.state().skills_of(domain).peekable();
        skills.peek().is_none() || skills.any(|skill| !is_shipped(&skill.id))
    };
    book.state().domains.keys().map(String::as_str).filter(own).collect()
}

/// Returns the skill that a candidate is about.
pub(super) fn target<'a>(candidate: &Candidate, book: &'a Snapshot) -> Option<&'a Skill> {
    match &candidate.route {
        Route::Create { .. } => None,
        Route::Patch { skill_name, .. } => named(book, skill_name),
    }
}

/// Returns the whole text of an event, bounded.
pub(super) fn event_text(session: &SessionRecord, id: &str) -> Option<String> {
    let event = session.timeline.iter().find(|event| event.id == id)?;
    let text = format!("{} {}: {}", event.id, event.kind, event.detail);
    Some(BoundedText::cut(&text, MAX_EVENT_CHARS).as_str().to_owned())
}
