//! What a model did in a turn: acts in the world, calls of tools, and what it did with skills, in words.

use apprentice_protocol::{
    ActionDetail, ActionOutcome, ActionRecord, Call, CallBody, CallResult, Content, Finish, SkillEvent,
};
use serde::Serialize;

use crate::screen::{Mark, Screen};

/// The most characters of one text in a list of steps; the whole text stands in the step's own document.
pub(crate) const BRIEF: usize = 2000;

/// One act in the world.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Act {
    pub(crate) event: String,
    /// The act in words.
    pub(crate) text: String,
    /// Role and name of its target.
    pub(crate) target: String,
    pub(crate) outcome: ActOutcome,
    /// What the world answered, or why it refused.
    pub(crate) note: Option<String>,
    /// The line of the function that asked for the act.
    pub(crate) line: Option<u32>,
    pub(crate) marks: Vec<Mark>,
}

/// How an act ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActOutcome {
    Done,
    Failed,
    NotExecuted,
}

/// One call of a function tool.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ToolUse {
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) is_error: bool,
    pub(crate) took_ms: Option<u64>,
    pub(crate) answer: Option<String>,
    #[serde(skip)]
    pub(crate) call: String,
}

/// One event of a skill.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SkillUse {
    pub(crate) event: String,
    /// The kind of the event, as traces name it.
    pub(crate) kind: String,
    pub(crate) skill: Option<String>,
    pub(crate) version: Option<u32>,
    pub(crate) detail: Option<String>,
    pub(crate) text: Option<String>,
}

impl Act {
    pub(crate) fn of(event: String, record: &ActionRecord, before: Option<&Screen>) -> Self {
        let (outcome, note) = match &record.outcome {
            ActionOutcome::Done { text } => (ActOutcome::Done, text.clone()),
            ActionOutcome::Failed { problem } => (ActOutcome::Failed, Some(problem.clone())),
            ActionOutcome::NotExecuted => (ActOutcome::NotExecuted, None),
        };
        let words = [&record.target_role, &record.target_name];
        let words: Vec<&str> =
            words.into_iter().flatten().map(String::as_str).filter(|w| !w.is_empty()).collect();
        Self {
            event,
            text: brief(&record.asked.text(ActionDetail::Full)),
            target: brief(&words.join(" ")),
            outcome,
            note: note.as_deref().map(brief),
            line: record.line,
            marks: before.map(|screen| screen.marks(record)).unwrap_or_default(),
        }
    }

    /// The act without what differs between two worlds of the same task: references and, where the target is known,
    /// places.
    pub(crate) fn conduct(&self) -> String {
        let verb = self.text.split_whitespace().next().unwrap_or_default();
        match (self.target.is_empty(), self.marks.is_empty()) {
            (true, _) => self.text.clone(),
            (false, true) => format!("{} {}", self.text, self.target),
            (false, false) => format!("{verb} {}", self.target),
        }
    }
}

impl ToolUse {
    /// The call of a function tool; `None` for acts and for the end.
    pub(crate) fn of(call: &Call) -> Option<Self> {
        let (name, arguments, is_error) = match &call.body {
            CallBody::World { .. } | CallBody::Finish(_) => return None,
            CallBody::Tool { name, arguments } => (name.clone(), arguments.to_string(), false),
            CallBody::Unusable { problem } => ("unreadable call".to_owned(), problem.clone(), true),
        };
        let call = call.id.as_str().to_owned();
        Some(Self { name, arguments: brief(&arguments), is_error, took_ms: None, answer: None, call })
    }
}

impl SkillUse {
    pub(crate) fn of(event: String, skill: &SkillEvent) -> Self {
        Self {
            event,
            kind: word(&skill.happening),
            skill: skill.skill.as_ref().map(ToString::to_string),
            version: skill.version,
            detail: skill.detail.as_deref().map(brief),
            text: skill.text.as_deref().map(brief),
        }
    }
}

/// The model's last word.
pub(crate) fn finish(finish: &Finish) -> String {
    match finish {
        Finish::Done => "The model says that it is done.".to_owned(),
        Finish::Answer { text } => format!("The model answers: {text}"),
        Finish::GiveUp { reason } => format!("The model gives up: {reason}"),
    }
}

/// The text of an answer to a call.
pub(crate) fn answer(result: &CallResult) -> String {
    brief(&text_of(&result.content))
}

/// The texts of a message, without its pictures.
pub(crate) fn text_of(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}

/// The name under which files hold a value.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// A text cut to what a list shows.
pub(crate) fn brief(text: &str) -> String {
    cut(text, BRIEF)
}

/// A text cut to a number of characters, which says what is left out.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text[end..].chars().count();
            format!("{}… ({left} more characters)", &text[..end])
        }
    }
}
