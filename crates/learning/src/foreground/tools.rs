//! The tools for learning during an attempt.

use std::sync::Arc;

use apprentice_protocol::{
    BoundedText, BoxFuture, EventKind, Guidance, Prompt, SkillEvent, SkillEventKind, StepRef, TextBudget,
    Tool, ToolOutcome, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::attempt_learning::{AttemptLearning, happened};
use super::call::{FinishCall, StartCall};
use super::publish::Fault;
use super::signal::FinalReport;

pub(crate) const REPORT: Prompt = Prompt::new("skills/report", include_str!("prompts/report.md"), &[]);
pub(crate) const LEARN: Prompt = Prompt::new("skills/learn", include_str!("prompts/learn.md"), &[]);
pub(crate) const REMEMBER: Prompt =
    Prompt::new("skills/remember", include_str!("prompts/remember.md"), &["words"]);
/// Size cap of the opening text with the learning prompt, in characters.
const MAX_OPENING_CHARS: TextBudget = TextBudget(6000);

/// `skill_learning_start { action, skill_name, reason, event_refs, message }`
pub const SKILL_LEARNING_START: &str = "skill_learning_start";
/// `skill_learning_finish { action, skill_name, status, message, summary }`
pub const SKILL_LEARNING_FINISH: &str = "skill_learning_finish";
/// `skill_timeline {}`
pub const SKILL_TIMELINE: &str = "skill_timeline";
/// `skill_report { used_skill_receipts, learning_signal, skill_issue_signal }`
pub const SKILL_REPORT: &str = "skill_report";

const START: &str = "Begins to write a new skill, or to change one, and opens a folder to write the package into. Call it \
                     before any file of the package is written.";
const FINISH: &str = "Ends the writing of a skill, after success and after failure: publishes the package in its folder, or \
                      leaves the book as it was.";
const TIMELINE: &str = "Names what happened in this task so far, for event_refs.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Clone, Copy)]
enum LearningAction {
    Start,
    Finish,
    Timeline,
    Report,
}

struct LearningTool {
    action: LearningAction,
    spec: ToolSpec,
    learning: Arc<AttemptLearning>,
}

/// Returns the instruction with which a person asks for a skill, and the person's further words.
pub fn remember_instruction(words: &str) -> String {
    REMEMBER.fill(&[("words", words)]).trim_end().to_owned()
}

impl AttemptLearning {
    /// Returns the guidance extended with the learning tools.
    pub fn extend_guidance(self: &Arc<Self>, guidance: Guidance) -> Guidance {
        let mut tools = guidance.tools.clone();
        tools.extend(over(self));
        let opening = format!("{}\n{}", guidance.opening.as_str(), LEARN.text());
        Guidance { opening: BoundedText::cut(opening.trim_start(), MAX_OPENING_CHARS), tools, ..guidance }
    }
}

/// Returns the learning tools of one attempt.
fn over(learning: &Arc<AttemptLearning>) -> Vec<Arc<dyn Tool>> {
    let tool = |action, spec| -> Arc<dyn Tool> {
        Arc::new(LearningTool { action, spec, learning: Arc::clone(learning) })
    };
    vec![
        tool(LearningAction::Timeline, spec::<NoArguments>(SKILL_TIMELINE, TIMELINE)),
        tool(LearningAction::Start, spec::<StartCall>(SKILL_LEARNING_START, START)),
        tool(LearningAction::Finish, spec::<FinishCall>(SKILL_LEARNING_FINISH, FINISH)),
        tool(LearningAction::Report, spec::<FinalReport>(SKILL_REPORT, REPORT.text().trim_end())),
    ]
}

fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(T);
    schema.remove("$schema");
    schema.remove("title");
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema: schema.to_value() }
}

fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, Fault> {
    apprentice_model_json::from_arguments(arguments)
        .map_err(|error| ("bad_arguments", format!("the arguments do not fit: {error}")))
}

impl Tool for LearningTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let outcome = match self.action {
                LearningAction::Start => match read(arguments) {
                    Ok(call) => self.learning.start(call, at.step).await,
                    Err(fault) => Err(fault),
                },
                LearningAction::Finish => match read(arguments) {
                    Ok(call) => self.learning.finish(call, at.step).await,
                    Err(fault) => Err(fault),
                },
                LearningAction::Timeline => {
                    read::<NoArguments>(arguments).map(|_| ToolOutcome::text(self.learning.shown()))
                }
                LearningAction::Report => self.learning.report(arguments, at.step).await,
            };
            outcome.unwrap_or_else(|(code, why)| self.refused(code, &why))
        })
    }
}

impl LearningTool {
    fn refused(&self, code: &str, why: &str) -> ToolOutcome {
        let happening = match self.action {
            LearningAction::Report => SkillEventKind::LearningSignalRejected,
            LearningAction::Start | LearningAction::Finish | LearningAction::Timeline => {
                SkillEventKind::WriteRefused
            }
        };
        let message = format!("{code}: {why}");
        let event = SkillEvent { detail: Some(message.clone()), ..happened(happening) };
        ToolOutcome { events: vec![EventKind::Skill(event)], ..ToolOutcome::error(message) }
    }
}
