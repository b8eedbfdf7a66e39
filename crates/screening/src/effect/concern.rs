//! The classes of effects, and what was found in a text.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a text needs a person's word. The first eight are effects of following it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// Runs code that comes from elsewhere than the task.
    RunCode,
    /// Sends data out.
    SendData,
    /// Deletes beyond the task.
    Delete,
    /// Weakens a protection.
    ChangeProtection,
    /// Lets somebody else in.
    GrantAccess,
    /// Spends money, or binds the user to a contract.
    Spend,
    /// Hides something from the user.
    Hide,
    /// Makes something stay and act later.
    Persist,
    /// Cannot be judged as it is written: encoded, in mixed scripts, in an unknown language, or speaking to the reader.
    Unreadable,
    /// Stood on a screen or in a tool's answer, or was only said, was neither done nor asked for, and urges the reader to
    /// act.
    Quoted,
    /// A model should have read it, and none gave a usable answer.
    Unread,
    /// Orders something beyond pointing, typing and choosing, nothing could be compared with it, and no model read it.
    Order,
}

impl Concern {
    /// The effects.
    pub const EFFECTS: [Self; 8] = [
        Self::RunCode,
        Self::SendData,
        Self::Delete,
        Self::ChangeProtection,
        Self::GrantAccess,
        Self::Spend,
        Self::Hide,
        Self::Persist,
    ];

    /// Returns the word used in the log and by models.
    pub fn word(self) -> &'static str {
        match self {
            Self::RunCode => "run_code",
            Self::SendData => "send_data",
            Self::Delete => "delete",
            Self::ChangeProtection => "change_protection",
            Self::GrantAccess => "grant_access",
            Self::Spend => "spend",
            Self::Hide => "hide",
            Self::Persist => "persist",
            Self::Unreadable => "unreadable",
            Self::Quoted => "quoted",
            Self::Unread => "unread",
            Self::Order => "order",
        }
    }

    /// Returns whether it is an effect of following the text, which the setting `effects` may allow. The others are
    /// about the text itself.
    pub fn is_effect(self) -> bool {
        Self::EFFECTS.contains(&self)
    }
}

/// One finding in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectFinding {
    /// What was found.
    pub concern: Concern,
    /// The sentence, as it stands in the text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// Who found it: `rules`, or a model's name.
    pub by: String,
    /// The reason, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// What was found in the text of one change, by the rules and by every model that read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assessment {
    /// What was found.
    pub findings: Vec<EffectFinding>,
    /// The models that read the text and gave a usable answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_by: Vec<String>,
}

impl Assessment {
    /// Returns whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the findings in one line, for the writer and for a person.
    pub fn in_words(&self) -> String {
        let one = |found: &EffectFinding| {
            let why = if found.why.is_empty() { String::new() } else { format!(" ({})", found.why) };
            match found.sentence.as_str() {
                "" => format!("{}{why}", found.concern.word()),
                sentence => format!("{}: {sentence:?}{why}", found.concern.word()),
            }
        };
        self.findings.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// Treatment of a text of a model, or of a package, that has an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectRule {
    /// It waits for a person.
    #[default]
    Wait,
    /// It is refused.
    Refuse,
    /// It is written. What cannot be judged, or was only read on a screen, waits all the same.
    Allow,
    /// It is written, as a rule-based model puts the program's own sentences around names of controls: comparing them with
    /// the screen says nothing. What cannot be judged waits all the same. Not a setting.
    #[serde(skip)]
    RuleBased,
}

impl EffectRule {
    /// Returns whether an effect alone holds no text back.
    pub fn allows(self) -> bool {
        matches!(self, Self::Allow | Self::RuleBased)
    }
}

/// The error for an unknown rule for effects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no rule for effects; expected wait, refuse or allow")]
pub struct EffectRuleError(String);

impl FromStr for EffectRule {
    type Err = EffectRuleError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "wait" => Ok(Self::Wait),
            "refuse" => Ok(Self::Refuse),
            "allow" => Ok(Self::Allow),
            other => Err(EffectRuleError(other.to_owned())),
        }
    }
}
