//! The changes that the operations of a book make, as typed records.

use std::collections::BTreeMap;

use apprentice_protocol::{SkillId, Versions};
use apprentice_screening::effect::{Assessment, Concern};
use apprentice_wording::domain_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::citation::LeftItem;
use super::judgement::Judgement;
use crate::review::{Checked, Fallback, Learning, ReflectMode, SkillReview};
use crate::skill::attachment::AttachedPackage;
use crate::skill::counts::Counts;
use crate::skill::function::{FunctionEvidence, FunctionReference};
use crate::skill::model::{NewDomain, OpId, Origin, SkillText};
use crate::skill::restored::Restored;
use crate::skill::trial::ReceivedSkill;
use crate::skill::version_evidence::{is_well_formed, version_of};

/// The change that an operation makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", content = "data")]
pub enum Change {
    /// Creates a domain.
    #[serde(rename = "domain.created")]
    DomainCreated(NewDomain),
    /// Creates a skill, together with its domain if that is new. One change, so that neither exists without the other.
    #[serde(rename = "skill.created")]
    SkillCreated {
        /// Id of the skill.
        skill: SkillId,
        /// Texts of the skill.
        text: SkillText,
        /// Initial notes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        annotations: Vec<String>,
        /// Origin of the text.
        origin: Origin,
        /// The domain, if it is new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        domain: Option<NewDomain>,
    },
    /// Replaces parts of a skill. Its counters start again from zero.
    #[serde(rename = "skill.updated")]
    SkillUpdated {
        /// Id of the skill.
        skill: SkillId,
        /// New description. `None` keeps the old one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// New situation. `None` keeps the old one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        situation: Option<String>,
        /// New guidance. `None` keeps the old one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guidance: Option<String>,
    },
    /// Records a person's edit of a page.
    #[serde(rename = "skill.edited")]
    SkillEdited {
        /// Id of the skill.
        skill: SkillId,
        /// The situation on the page.
        situation: String,
        /// The guidance on the page.
        guidance: String,
        /// The notes on the page.
        annotations: Vec<String>,
    },
    /// Merges one skill into another.
    #[serde(rename = "skill.merged")]
    SkillMerged {
        /// The skill that is removed.
        source: SkillId,
        /// The skill that remains.
        target: SkillId,
        /// The merged texts.
        text: SkillText,
    },
    /// Adds a note.
    #[serde(rename = "skill.annotated")]
    SkillAnnotated {
        /// Id of the skill.
        skill: SkillId,
        /// Text of the note.
        note: String,
    },
    /// Deletes a skill. Its content stays in the log.
    #[serde(rename = "skill.tombstoned")]
    SkillDeleted {
        /// Id of the skill.
        skill: SkillId,
    },
    /// Keeps a skill's present text from agents until somebody decides: a new text, or a person's word, ends it.
    #[serde(rename = "skill.suspended")]
    SkillSuspended {
        /// Id of the skill.
        skill: SkillId,
        /// What was reported.
        why: String,
    },
    /// Ends the suspension of a skill, on a person's word.
    #[serde(rename = "skill.resumed")]
    SkillResumed {
        /// Id of the skill.
        skill: SkillId,
    },
    /// Renames a skill. The old id redirects to the new one.
    #[serde(rename = "skill.renamed")]
    SkillRenamed {
        /// The old id.
        from: SkillId,
        /// The new id.
        to: SkillId,
    },
    /// Counts a review.
    #[serde(rename = "skill.reviewed")]
    SkillReviewed {
        /// Id of the skill.
        skill: SkillId,
        /// The version that the agent received.
        version: u32,
        /// Class of the model that received the skill.
        consumer: String,
        /// Contribution to the counters.
        counts: Counts,
        /// The review. `None` if the reflector did not review the skill.
        review: Option<SkillReview>,
        /// Whether the attempt passed.
        passed: bool,
    },
    /// Stores the reflection on a trajectory.
    #[serde(rename = "trajectory.reflected")]
    TrajectoryReflected {
        /// How the reflection was made.
        mode: ReflectMode,
        /// The reason for falling back to a separate reader, if the attempt's own conversation had been requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<Fallback>,
        /// The checked reflection.
        checked: Checked,
    },
    /// Stores knowledge that is not supported well enough to become a skill.
    #[serde(rename = "candidate.recorded")]
    CandidateRecorded {
        /// The learning.
        learning: Learning,
        /// Whether the attempt passed.
        passed: bool,
    },
    /// Closes an item without a change.
    #[serde(rename = "item.closed")]
    ItemClosed {
        /// The outcome in words.
        outcome: String,
        /// The reason that the manager gave. `None` if it gave none, and in logs of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<LeftItem>,
    },
    /// Keeps a pair of similar skills as it is.
    #[serde(rename = "cleanup.kept")]
    PairKept {
        /// The two skills, sorted by id.
        skills: [SkillId; 2],
        /// Hashes of their texts.
        hashes: [String; 2],
        /// The reason that the manager gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<LeftItem>,
    },
    /// Marks a skill or pair that the counters or the similarity single out, before the manager decides on it.
    #[serde(rename = "cleanup.flagged")]
    CleanupFlagged {
        /// The skill, or the pair.
        skills: Vec<SkillId>,
        /// The finding, in one line.
        finding: String,
    },
    /// Notes that a cleanup compares skills by words alone, because the embedder is not available.
    #[serde(rename = "cleanup.by_words")]
    CleanupByWords {
        /// The reason why the embedder was not available.
        why: String,
    },
    /// Marks a trajectory as completely processed.
    #[serde(rename = "trajectory.learned")]
    TrajectoryLearned,
    /// Records which skills an attempt received, whether it followed them, and how it ended.
    #[serde(rename = "trajectory.tried")]
    SkillsTried {
        /// Hash of the task's template. The book contains no text of a task.
        template: String,
        /// Hash of the instruction, which differs where the task or its values do. `None` in earlier logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variation: Option<String>,
        /// The skills.
        skills: Vec<ReceivedSkill>,
        /// Whether the attempt passed.
        passed: bool,
    },
    /// Marks a cleanup as finished.
    #[serde(rename = "cleanup.finished")]
    CleanupFinished,
    /// Records who judged an attempt that has no checks, and how.
    #[serde(rename = "attempt.judged")]
    AttemptJudged(Judgement),
    /// Notes that a suspicion stays one, because no attempt behind it is known to have passed.
    #[serde(rename = "suspicion.kept")]
    SuspicionKept {
        /// The reports that were cited for it.
        cited: Vec<OpId>,
        /// The reason, as the manager was told.
        why: String,
    },
    /// Notes that a text about an item was held back for what following it would do. The report behind the item is shown
    /// without its words, and is cited by nobody.
    #[serde(rename = "item.held_back")]
    ItemHeldBack {
        /// What was found.
        found: Vec<Concern>,
    },
    /// Stores the package that a skill was created from.
    #[serde(rename = "package.attached")]
    PackageAttached {
        /// Id of the skill.
        skill: SkillId,
        /// The package.
        package: AttachedPackage,
    },
    /// Publishes a package that an agent wrote, with all its files. One change, so that no part exists alone.
    #[serde(rename = "skill.published")]
    SkillPublished {
        /// The new skill, or the skill that gets a new text.
        skill: SkillId,
        /// Texts of the skill.
        text: SkillText,
        /// The domain, if it is new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        domain: Option<NewDomain>,
        /// The package.
        package: AttachedPackage,
    },
    /// Writes a function of a skill. A new source is a new version, of which nothing is known yet.
    #[serde(rename = "function.written")]
    FunctionWritten {
        /// Id of the skill.
        skill: SkillId,
        /// The function's name, as its source gives it.
        function: String,
        /// The source.
        source: String,
        /// Where it was learned.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        references: Vec<FunctionReference>,
    },
    /// Records what a replay or a call of a function showed.
    #[serde(rename = "function.tested")]
    FunctionTested {
        /// Id of the skill.
        skill: SkillId,
        /// The function's name.
        function: String,
        /// The version that was tried.
        version: u32,
        /// What it showed.
        evidence: FunctionEvidence,
    },
    /// Retires a function: it stays in the book and is lent no more.
    #[serde(rename = "function.retired")]
    FunctionRetired {
        /// Id of the skill.
        skill: SkillId,
        /// The function's name.
        function: String,
        /// The reason.
        why: String,
    },
    /// Reverts an operation, or several together: restores the state from before them.
    #[serde(rename = "operation.reverted")]
    Reverted {
        /// The operation to revert; of several the latest.
        operation: OpId,
        /// The other operations that are reverted with it, latest first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<OpId>,
        /// Every skill that the operation had changed, in its restored state.
        skills: Vec<Restored>,
        /// Domains that the operation had created and that are empty now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        closed: Vec<String>,
        /// Domains that the operation had removed, with their descriptions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opened: Vec<NewDomain>,
    },
    /// Proposes a change that waits for a person's approval and has no effect yet.
    #[serde(rename = "write.proposed")]
    WriteProposed {
        /// The proposed change.
        change: Box<Self>,
        /// The skill versions that the change is based on.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        read: BTreeMap<SkillId, u32>,
        /// What was found in its text, if it waits for that.
        #[serde(default, skip_serializing_if = "Assessment::is_empty")]
        assessment: Assessment,
    },
    /// Refuses a proposal on a person's behalf.
    #[serde(rename = "proposal.refused")]
    ProposalRefused {
        /// The operation that made the proposal.
        proposal: OpId,
        /// The reason, in the person's words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// An operation of a later version, preserved unchanged.
    #[serde(skip)]
    Unknown {
        /// Name of the operation.
        op: String,
        /// Data of the operation, as JSON text.
        data: String,
    },
}

impl Change {
    /// Returns the skills that the change concerns.
    pub fn skills(&self) -> Vec<&SkillId> {
        match self {
            Self::SkillCreated { skill, .. }
            | Self::SkillUpdated { skill, .. }
            | Self::SkillEdited { skill, .. }
            | Self::SkillAnnotated { skill, .. }
            | Self::SkillReviewed { skill, .. }
            | Self::PackageAttached { skill, .. }
            | Self::SkillPublished { skill, .. }
            | Self::FunctionWritten { skill, .. }
            | Self::FunctionTested { skill, .. }
            | Self::FunctionRetired { skill, .. }
            | Self::SkillSuspended { skill, .. }
            | Self::SkillResumed { skill }
            | Self::SkillDeleted { skill } => vec![skill],
            Self::SkillMerged { source, target, .. } => vec![target, source],
            Self::SkillRenamed { from, to } => vec![to, from],
            Self::PairKept { skills, .. } => skills.iter().collect(),
            Self::CleanupFlagged { skills, .. } => skills.iter().collect(),
            Self::SkillsTried { skills, .. } => skills.iter().map(|tried| &tried.skill).collect(),
            Self::Reverted { skills, .. } => skills.iter().map(|restored| &restored.skill).collect(),
            Self::WriteProposed { change, .. } => change.skills(),
            Self::DomainCreated(_)
            | Self::ProposalRefused { .. }
            | Self::TrajectoryReflected { .. }
            | Self::CandidateRecorded { .. }
            | Self::ItemClosed { .. }
            | Self::TrajectoryLearned
            | Self::CleanupFinished
            | Self::CleanupByWords { .. }
            | Self::AttemptJudged(_)
            | Self::SuspicionKept { .. }
            | Self::ItemHeldBack { .. }
            | Self::Unknown { .. } => Vec::new(),
        }
    }

    /// Returns the skills whose pages the change writes.
    pub(crate) fn written_skills(&self) -> Vec<&SkillId> {
        match self {
            Self::SkillReviewed { .. }
            | Self::WriteProposed { .. }
            | Self::SkillsTried { .. }
            | Self::PairKept { .. }
            | Self::FunctionWritten { .. }
            | Self::FunctionTested { .. }
            | Self::FunctionRetired { .. }
            | Self::SkillSuspended { .. }
            | Self::SkillResumed { .. }
            | Self::PackageAttached { .. } => Vec::new(),
            other => other.skills(),
        }
    }

    /// Returns every free text of the change.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::DomainCreated(NewDomain { domain, description }) => vec![domain, description],
            Self::SkillCreated { skill, text, annotations, domain, .. } => {
                let mut all = vec![skill.as_str(), &text.description, &text.situation, &text.guidance];
                all.extend(annotations.iter().map(String::as_str));
                all.extend(domain.iter().map(|domain| domain.description.as_str()));
                all
            }
            Self::SkillUpdated { description, situation, guidance, .. } => {
                [description, situation, guidance].into_iter().flatten().map(String::as_str).collect()
            }
            Self::SkillEdited { situation, guidance, annotations, .. } => {
                [situation, guidance].into_iter().chain(annotations).map(String::as_str).collect()
            }
            Self::SkillPublished { skill, text, domain, .. } => {
                let mut all = vec![skill.as_str(), &text.description, &text.situation, &text.guidance];
                all.extend(domain.iter().map(|domain| domain.description.as_str()));
                all
            }
            Self::SkillMerged { text, .. } => vec![&text.description, &text.situation, &text.guidance],
            Self::SkillAnnotated { note, .. } => vec![note],
            Self::FunctionWritten { function, source, .. } => vec![function, source],
            Self::FunctionTested { evidence, .. } => vec![&evidence.why],
            Self::FunctionRetired { why, .. } => vec![why],
            Self::SkillReviewed { review, .. } => review.as_ref().map(SkillReview::texts).unwrap_or_default(),
            Self::TrajectoryReflected { checked, .. } => checked.texts(),
            Self::CandidateRecorded { learning, .. } => learning.texts(),
            Self::WriteProposed { change, .. } => change.texts(),
            Self::ProposalRefused { why, .. } | Self::SkillSuspended { why, .. } => vec![why],
            Self::ItemClosed { outcome, left } => {
                left.iter().map(|left| left.why.as_str()).chain([outcome.as_str()]).collect()
            }
            Self::PairKept { left, .. } => left.iter().map(|left| left.why.as_str()).collect(),
            Self::CleanupByWords { why } | Self::SuspicionKept { why, .. } => vec![why],
            Self::AttemptJudged(judgement) => vec![&judgement.why],
            Self::Reverted { skills, .. } => skills.iter().flat_map(Restored::texts).collect(),
            Self::SkillRenamed { to, .. } => vec![to.as_str()],
            Self::SkillDeleted { .. }
            | Self::SkillResumed { .. }
            | Self::PackageAttached { .. }
            | Self::CleanupFlagged { .. }
            | Self::ItemHeldBack { .. }
            | Self::SkillsTried { .. }
            | Self::TrajectoryLearned
            | Self::CleanupFinished
            | Self::Unknown { .. } => Vec::new(),
        }
    }

    /// Returns the observed versions that are relevant to the change, for its record.
    pub(crate) fn relevant_versions(&self, seen: &Versions) -> Versions {
        if let Self::CandidateRecorded { learning, .. } = self {
            return domain_name(learning.scope()).map(|domain| of_domain(seen, &domain)).unwrap_or_default();
        }
        let (Self::SkillCreated { skill: about, .. }
        | Self::SkillUpdated { skill: about, .. }
        | Self::SkillPublished { skill: about, .. }
        | Self::SkillReviewed { skill: about, .. }
        | Self::SkillAnnotated { skill: about, .. }
        | Self::SkillMerged { target: about, .. }) = self
        else {
            return Versions::new();
        };
        of_domain(seen, about.domain())
    }
}

/// Returns the version that is relevant to a domain, if it is known and well formed.
fn of_domain(seen: &Versions, domain: &str) -> Versions {
    let found = version_of(seen, domain).filter(|(app, version)| is_well_formed(app, version));
    found.map(|(app, version)| (app.to_owned(), version.to_owned())).into_iter().collect()
}
