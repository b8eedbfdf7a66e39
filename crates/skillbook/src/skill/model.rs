//! The data that every part of a book shares: ids and authors of operations, causes, files, and the texts of a skill.

use std::fmt;

use apprentice_protocol::SkillId;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Id of an operation within one book, counted from `o1`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct OpId(pub u64);

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "o{}", self.0)
    }
}

impl From<OpId> for String {
    fn from(id: OpId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for OpId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.strip_prefix('o').and_then(|digits| digits.parse().ok());
        number.map(Self).ok_or_else(|| format!("expected o<number>, found {text:?}"))
    }
}

/// The author of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The reflector's part of learning: reflections, candidates and progress marks.
    Learner,
    /// The programmatic handler: counters and notes.
    Handler,
    /// The manager agent.
    Manager,
    /// The manager agent while it works on a cleanup task.
    Cleaner,
    /// An agent with the authoring tools.
    Agent,
    /// A background review of finished sessions. It creates learned skills and changes learned ones, and nothing else.
    Background,
    /// A person.
    Human,
}

/// The stage of learning in which a change arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reflecting on a trajectory.
    Reflect,
    /// Counting reviews.
    Handle,
    /// Deciding one item.
    Manage,
    /// Cleaning up.
    Clean,
    /// Completing a trajectory.
    Learn,
    /// Reviewing a finished session.
    Review,
}

/// The cause of a change. The same cause never acts twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The trajectory.
    pub trajectory: String,
    /// The item within the trajectory: `review:<skill>`, `learning:<n>`, a pair of skills, or empty.
    pub item: String,
    /// The stage of learning.
    pub stage: Stage,
}

/// A file that an operation writes. `None` as a hash means that the file does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path relative to the book, with `/` as separator.
    pub path: String,
    /// SHA-256 of the content before.
    pub before: Option<String>,
    /// SHA-256 of the content after.
    pub after: Option<String>,
}

/// The origin of a skill's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Distilled from trajectories.
    Learned,
    /// Written by a person.
    Authored,
    /// Imported from a package.
    Imported,
    /// Part of the program. Such a skill is in no log and is never written.
    Shipped,
}

/// A domain that is created together with its first skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewDomain {
    /// Name of the domain: a slug, since a folder bears it.
    #[serde(deserialize_with = "slug")]
    pub domain: String,
    /// One-line description.
    pub description: String,
}

fn slug<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if SkillId::is_slug(&name) {
        Ok(name)
    } else {
        Err(D::Error::custom(format!("{name:?} is no name of a domain")))
    }
}

/// The texts of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillText {
    /// One line that says when to look at the skill.
    pub description: String,
    /// The situation in which the skill applies.
    pub situation: String,
    /// The instructions.
    pub guidance: String,
}
