//! The signals about skills that an agent reports at the end of a turn, and the rules for accepting them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Prefix of packages that an agent writes on its own.
pub(crate) const OWN_PREFIX: &str = "rl-";
/// Number of event references that make a signal worth a review.
const MIN_REFS: usize = 2;

/// Why a new skill suggests itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreateTrigger {
    /// The user asked for it.
    ExplicitUserRequest,
    /// The work had many steps that are not obvious.
    MultiStepWorkflow,
    /// Something unexpected was got over.
    RecoveredSurprise,
    /// The user put something right that will matter again.
    UserCorrection,
    /// The same use of tools came again and again.
    RepeatedToolPattern,
}

/// What is wrong with a skill that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Issue {
    /// A step is missing.
    MissingStep,
    /// A command is out of date.
    StaleCommand,
    /// It takes an interface for another.
    WrongApiAssumption,
    /// It comes up where it does not belong.
    OverbroadActivation,
    /// Its script fails.
    BrokenScript,
    /// It would do harm.
    UnsafeInstruction,
}

/// How the trouble showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A tool failed and was tried again.
    RetryAfterToolError,
    /// The user objected and it was tried again.
    RetryAfterUserCorrection,
    /// The agent did it another way.
    ManualOverride,
    /// Another way was tried and checked.
    VerifiedAlternative,
}

/// Why the skill was not written at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Defer {
    /// The conversation goes on.
    ConversationStillEvolving,
    /// All of it must be looked at.
    NeedsFullContextReview,
    /// Writing was tried and failed.
    WriteOrPublishFailed,
    /// The skill must be compared with what is there.
    NeedsExistingSkillDiff,
}

/// The mark of a signal that may only lead to a new skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreateMark {
    /// Always this.
    CreateCandidate,
}

/// The mark of a signal that may only lead to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpdateMark {
    /// Always this.
    UpdateCandidate,
}

/// A skill that should be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearningSignal {
    /// Always `create_candidate`.
    pub kind: CreateMark,
    /// A name for it; begins with `rl-`.
    pub package_name_hint: String,
    /// Why.
    pub trigger: CreateTrigger,
    /// Why not at once.
    pub reason_not_written: Defer,
    /// Events that show it.
    pub event_refs: Vec<String>,
    /// In words.
    pub summary: String,
}

/// A skill that should be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueSignal {
    /// Always `update_candidate`.
    pub kind: UpdateMark,
    /// Which skill.
    pub skill_name: String,
    /// What is wrong.
    pub issue: Issue,
    /// Why not at once.
    pub reason_not_patched: Defer,
    /// How it showed.
    pub observed_effect: Effect,
    /// Events that show it.
    pub event_refs: Vec<String>,
    /// What would mend it.
    pub patch_hint: String,
}

/// A learned skill that guided the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsedReceipt {
    /// Which.
    pub skill_name: String,
    /// For the user.
    pub message: String,
}

/// What stands beside a final answer. Most turns have nothing to report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalReport {
    /// Learned skills that guided the work.
    #[serde(default)]
    pub used_skill_receipts: Vec<UsedReceipt>,
    /// A skill that should be written.
    #[serde(default)]
    pub learning_signal: Option<LearningSignal>,
    /// A skill that should be changed.
    #[serde(default)]
    pub skill_issue_signal: Option<IssueSignal>,
}

/// Who maintains a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillKind {
    /// Part of the program; never changed.
    Core,
    /// Any other skill.
    Open,
}

/// Facts about the turn that a report is judged against.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// Ids of the turn's events.
    pub timeline: Vec<String>,
    /// Events in which the user explicitly asked for a skill.
    pub requests: Vec<String>,
    /// True if the turn wrote and finished a skill.
    pub finished: bool,
    /// Existing skills.
    pub skills: BTreeMap<String, SkillKind>,
    /// True if the task cannot recur. Reports on such tasks are dropped.
    pub one_off: bool,
}

/// An accepted signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedSignal {
    /// May lead only to a new skill.
    Create(LearningSignal),
    /// May lead only to a change of this skill.
    Update(IssueSignal),
}

/// The ruling on a report's signals. Every ruling except the first two is an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The report contains no signal.
    Silent,
    /// One signal is accepted.
    AcceptedSignal(AcceptedSignal),
    /// The signal is rejected. It is kept for statistics.
    Rejected {
        /// `both_signals`, `finish_recorded`, `too_few_events`, `unknown_event`, `core_skill`, `unknown_skill`,
        /// `wrong_prefix`, `empty_text` or `one_off`.
        code: &'static str,
        /// Explanation.
        why: String,
    },
}

/// Judges the signals of a report.
pub fn judge(report: &FinalReport, turn: &Invocation) -> Ruling {
    let rejected = |code, why: &str| Ruling::Rejected { code, why: why.to_owned() };
    let ruling = match (&report.learning_signal, &report.skill_issue_signal) {
        (None, None) => return Ruling::Silent,
        (Some(_), Some(_)) => {
            Err(("both_signals", "one turn reports one of the two, so both are dropped".to_owned()))
        }
        _ if turn.finished => Err((
            "finish_recorded",
            "a skill was finished in this turn; its signal is only counted".to_owned(),
        )),
        _ if turn.one_off => Err(("one_off", "the work cannot come again".to_owned())),
        (Some(signal), None) => create(signal, turn).map(|()| AcceptedSignal::Create(signal.clone())),
        (None, Some(signal)) => update(signal, turn).map(|()| AcceptedSignal::Update(signal.clone())),
    };
    match ruling {
        Ok(valid) => Ruling::AcceptedSignal(valid),
        Err((code, why)) => rejected(code, &why),
    }
}

type Fault = (&'static str, String);

fn create(signal: &LearningSignal, turn: &Invocation) -> Result<(), Fault> {
    let name = &signal.package_name_hint;
    let rest = name.strip_prefix(OWN_PREFIX);
    if !rest.is_some_and(apprentice_protocol::SkillId::is_slug) {
        return Err((
            "wrong_prefix",
            format!("{name:?} must be {OWN_PREFIX} and lower-case words with hyphens"),
        ));
    }
    said(&signal.summary, "summary")?;
    check_references(&signal.event_refs, turn, signal.trigger == CreateTrigger::ExplicitUserRequest)
}

fn update(signal: &IssueSignal, turn: &Invocation) -> Result<(), Fault> {
    match turn.skills.get(&signal.skill_name) {
        Some(SkillKind::Open) => {}
        Some(SkillKind::Core) => {
            return Err(("core_skill", format!("{} belongs to the program", signal.skill_name)));
        }
        None => return Err(("unknown_skill", format!("there is no skill {:?}", signal.skill_name))),
    }
    said(&signal.patch_hint, "patch_hint")?;
    check_references(&signal.event_refs, turn, false)
}

fn said(text: &str, name: &str) -> Result<(), Fault> {
    if text.trim().is_empty() { Err(("empty_text", format!("{name} says nothing"))) } else { Ok(()) }
}

/// Checks the references of a signal: two events of the turn, or the user's explicit request if that is the trigger.
fn check_references(refs: &[String], turn: &Invocation, may_be_asked: bool) -> Result<(), Fault> {
    if let Some(unknown) = refs.iter().find(|reference| !turn.timeline.contains(reference)) {
        return Err(("unknown_event", format!("{unknown} is no event of this turn")));
    }
    let mut distinct: Vec<&String> = refs.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let cites_request = may_be_asked && distinct.iter().any(|reference| turn.requests.contains(reference));
    if distinct.len() >= MIN_REFS || cites_request {
        return Ok(());
    }
    Err(("too_few_events", format!("{} useful events; {MIN_REFS} are needed", distinct.len())))
}
