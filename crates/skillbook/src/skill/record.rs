//! A skill as the book knows it: its texts, what attempts showed about it, and where it comes from.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_protocol::SkillId;
use jiff::Timestamp;
use serde::Serialize;

use super::attachment::AttachedPackage;
use super::counts::Counts;
use super::function::SkillFunction;
use super::hash::hash;
use super::model::{OpId, Origin, SkillText};
use super::note::Note;
use super::page::Page;
use super::short_steps::{ShortSteps, prose_of, short_steps};
use super::trial::{ReviewRemark, Trial};
use super::version_evidence::VersionEvidence;

/// The current state of a skill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    /// Id of the skill.
    pub id: SkillId,
    /// The operation that created the skill. It stays the same when the id changes.
    pub uid: OpId,
    /// Version, from 1. Each new text is a new version.
    pub version: u32,
    /// Texts of the skill.
    #[serde(flatten)]
    pub text: SkillText,
    /// Notes, oldest first.
    pub notes: Vec<Note>,
    /// Number of the oldest notes that the page hides.
    pub hidden_notes: usize,
    /// Counters by version and class of consumer.
    #[serde(serialize_with = "by_version")]
    pub counters: BTreeMap<(u32, String), Counts>,
    /// The most recent review remarks.
    pub remarks: Vec<ReviewRemark>,
    /// Attempts that received the skill and whose task template is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
    /// Evidence for program versions: where the text was written, helped, or was outdated.
    #[serde(rename = "sightings", skip_serializing_if = "Vec::is_empty")]
    pub version_evidence: Vec<VersionEvidence>,
    /// Origin of the text.
    pub origin: Origin,
    /// True if a person wrote the present text.
    #[serde(skip)]
    pub by_person: bool,
    /// When the current text was written; `None` for a skill in no log.
    #[serde(skip)]
    pub written: Option<Timestamp>,
    /// Operations that produced the current text, oldest first.
    pub history: Vec<OpId>,
    /// The package that the skill was created from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<AttachedPackage>,
    /// Functions of the skill, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, SkillFunction>,
}

fn by_version<S: serde::Serializer>(
    counters: &BTreeMap<(u32, String), Counts>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut nested: BTreeMap<u32, BTreeMap<&str, Counts>> = BTreeMap::new();
    for ((version, consumer), counts) in counters {
        nested.entry(*version).or_default().insert(consumer, *counts);
    }
    nested.serialize(serializer)
}

impl Skill {
    /// Returns a new skill of version 1.
    pub fn new(id: &SkillId, text: &SkillText, notes: Vec<Note>, origin: Origin, by: OpId) -> Self {
        Self {
            id: id.clone(),
            uid: by,
            version: 1,
            text: text.clone(),
            notes,
            hidden_notes: 0,
            counters: BTreeMap::new(),
            remarks: Vec::new(),
            trials: Vec::new(),
            version_evidence: Vec::new(),
            origin,
            by_person: origin == Origin::Authored,
            written: None,
            history: vec![by],
            package: None,
            functions: BTreeMap::new(),
        }
    }

    /// Returns the page as it is written to disk.
    pub fn page(&self) -> Page {
        Page {
            situation: self.text.situation.clone(),
            guidance: self.text.guidance.clone(),
            annotations: self.notes.iter().skip(self.hidden_notes).map(Note::shown).collect(),
        }
    }

    /// Returns the text that a model receives from `skill_view`.
    pub fn view(&self) -> String {
        format!("# {}\n\n{}\n\n{}", self.id, self.text.description, self.page().render())
    }

    /// Returns the text that a reader of prose receives: the view without the short steps.
    pub fn prose_view(&self) -> String {
        let page = Page { guidance: prose_of(&self.text.guidance), ..self.page() };
        format!("# {}\n\n{}\n\n{}", self.id, self.text.description, page.render())
    }

    /// Returns the short steps. A page whose short steps cannot be read has none: the gateway refuses such a text, and the
    /// check of a book names one that was made by hand.
    pub fn short_steps(&self) -> Vec<ShortSteps> {
        short_steps(&self.text.guidance).unwrap_or_default()
    }

    /// Returns the counters of the current version, for one class of consumer or for all.
    pub fn counts(&self, consumer: Option<&str>) -> Counts {
        let mut sum = Counts::default();
        for ((version, class), counts) in &self.counters {
            if *version == self.version && consumer.is_none_or(|wanted| wanted == class) {
                sum += *counts;
            }
        }
        sum
    }

    /// Returns the counters of all versions, for all consumers.
    pub fn lifetime_counts(&self) -> Counts {
        self.counters.values().fold(Counts::default(), |mut sum, counts| {
            sum += *counts;
            sum
        })
    }

    /// Returns a hash of the texts alone.
    pub fn text_hash(&self) -> String {
        let SkillText { description, situation, guidance } = &self.text;
        hash(format!("{description}\n\u{1f}{situation}\n\u{1f}{guidance}").as_bytes())
    }

    /// Returns the program versions on which the current text was written or has helped, oldest first.
    pub fn confirmed_versions(&self) -> Vec<&VersionEvidence> {
        let holds = |evidence: &&VersionEvidence| {
            evidence.version == self.version && (evidence.written || evidence.confirmed > 0)
        };
        self.version_evidence.iter().filter(holds).collect()
    }
}

/// The record of a removed skill.
#[derive(Clone, Debug, PartialEq)]
pub struct Tombstone {
    /// The skill before its removal.
    pub skill: Arc<Skill>,
    /// The skill that took over its knowledge, if any.
    pub redirect: Option<SkillId>,
}
