//! The state of a book: a pure fold over a prefix of its operations. Folding never fails, because the gateway decides
//! beforehand which operations may be written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_protocol::SkillId;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::attachment::AttachedPackage;
use super::counts::Counts;
use super::note::{Note, annotate, edit, read_note};
use super::operation::{Cause, Change, NewDomain, OpId, Origin, SkillText};
use super::page::Page;
use super::proposal::Proposal;
use super::revert::Restored;
use super::serialization::Operation;
use super::trial::{ReviewRemark, Trial};
use super::version_evidence::VersionEvidence;
use crate::reflect::{Checked, Learning};

const KEPT_REMARKS: usize = 20;

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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sightings: Vec<VersionEvidence>,
    /// Origin of the text.
    pub origin: Origin,
    /// Operations that produced the current text, oldest first.
    pub history: Vec<OpId>,
    /// The package that the skill was created from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<AttachedPackage>,
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
    pub(crate) fn new(
        id: &SkillId,
        (text, notes): (&SkillText, Vec<Note>),
        origin: Origin,
        by: OpId,
    ) -> Self {
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
            sightings: Vec::new(),
            origin,
            history: vec![by],
            package: None,
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
    pub fn lifetime(&self) -> Counts {
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
}

/// The record of a removed skill.
#[derive(Clone, Debug, PartialEq)]
pub struct Tombstone {
    /// The skill before its removal.
    pub skill: Arc<Skill>,
    /// The skill that took over its knowledge, if any.
    pub redirect: Option<SkillId>,
}

/// Knowledge that waits for more support.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The learning.
    pub learning: Learning,
    /// The trajectory that produced it.
    pub trajectory: String,
    /// Whether the attempt passed.
    pub passed: bool,
}

/// The state of a book.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Descriptions of domains, by name.
    pub domains: BTreeMap<String, String>,
    /// Skills, by id.
    pub skills: BTreeMap<SkillId, Arc<Skill>>,
    /// Removed skills, by id.
    pub tombstones: BTreeMap<SkillId, Tombstone>,
    /// Candidates that wait for more support.
    pub candidates: Vec<Candidate>,
    /// Pairs of skills that the manager decided to keep, with the hashes of their texts.
    pub kept_pairs: BTreeSet<([SkillId; 2], [String; 2])>,
    /// Causes that have acted, with the operation.
    pub causes: BTreeMap<Cause, OpId>,
    /// Reflections, by trajectory.
    pub reflections: BTreeMap<String, Checked>,
    /// Hashes of the task templates of trajectories.
    pub templates: BTreeMap<String, String>,
    /// Number of trajectories processed since the last cleanup.
    pub learned_since_cleaning: usize,
    /// Files that the log accounts for, by path, with the hash of their content. `None` if the file was removed.
    pub files: BTreeMap<String, Option<String>>,
    /// Proposals that wait for a person's approval.
    pub proposals: BTreeMap<OpId, Arc<Proposal>>,
    /// Refusals by people, by the fingerprint of the change, with the operation.
    pub refused: BTreeMap<String, OpId>,
    /// The last operation.
    pub last: OpId,
}

impl Default for State {
    fn default() -> Self {
        let domains = [
            ("general", "What holds in many programs."),
            ("os", "The desktop itself: windows, files, dialogs, clipboard."),
        ];
        Self {
            domains: domains.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            skills: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            candidates: Vec::new(),
            kept_pairs: BTreeSet::new(),
            causes: BTreeMap::new(),
            reflections: BTreeMap::new(),
            templates: BTreeMap::new(),
            learned_since_cleaning: 0,
            files: BTreeMap::new(),
            proposals: BTreeMap::new(),
            refused: BTreeMap::new(),
            last: OpId(0),
        }
    }
}

/// Returns the SHA-256 as hex.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the path of a skill page, relative to the book.
pub(crate) fn page_path(skill: &SkillId) -> String {
    format!("{skill}.md")
}

impl State {
    /// Folds a list of operations into a state.
    pub fn fold<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Self {
        let mut state = Self::default();
        for operation in operations {
            state.apply(operation);
        }
        state
    }

    /// Returns a skill, following redirects of removed skills.
    pub fn resolve(&self, id: &SkillId) -> Option<&Arc<Skill>> {
        let mut at = id.clone();
        for _ in 0..=self.tombstones.len() {
            if let Some(skill) = self.skills.get(&at) {
                return Some(skill);
            }
            at = self.tombstones.get(&at)?.redirect.clone()?;
        }
        None
    }

    /// Returns the skills of one domain, sorted by id.
    pub fn skills_of<'a>(&'a self, domain: &'a str) -> impl Iterator<Item = &'a Arc<Skill>> {
        // The ids of a domain are contiguous, and no name sorts before "0".
        let first = SkillId::parse(&format!("{domain}/0")).ok();
        let from = first.map(|first| self.skills.range(first..));
        let own = move |(id, _): &(&SkillId, &Arc<Skill>)| id.domain() == domain;
        from.into_iter().flatten().take_while(own).map(|(_, skill)| skill)
    }

    /// Returns the part of the state that determines the pages of some skills.
    pub(super) fn part(&self, ids: &[SkillId]) -> Self {
        let known = |id: &SkillId| Some((id.clone(), self.skills.get(id)?.clone()));
        let gone = |id: &SkillId| Some((id.clone(), self.tombstones.get(id)?.clone()));
        Self {
            skills: ids.iter().filter_map(known).collect(),
            tombstones: ids.iter().filter_map(gone).collect(),
            domains: self.domains.clone(),
            ..Self::default()
        }
    }

    /// Applies one operation.
    pub fn apply(&mut self, operation: &Operation) {
        self.last = self.last.max(operation.id);
        if let Some(cause) = &operation.cause {
            self.causes.insert(cause.clone(), operation.id);
        }
        for file in &operation.files {
            self.files.insert(file.path.clone(), file.after.clone());
        }
        self.update_proposals(operation);
        self.change(operation);
    }

    fn change(&mut self, operation: &Operation) {
        let trajectory = || operation.cause.as_ref().map(|cause| cause.trajectory.clone());
        match &operation.change {
            Change::DomainCreated(domain) => self.open_domain(domain),
            Change::SkillCreated { skill, text, annotations, origin, domain } => {
                domain.iter().for_each(|domain| self.open_domain(domain));
                let notes = annotations.iter().map(|note| read_note(note, operation)).collect();
                let mut new = Skill::new(skill, (text, notes), *origin, operation.id);
                new.record_written(&operation.seen, operation.actor);
                self.create(new);
            }
            Change::SkillUpdated { skill, description, situation, guidance } => {
                let parts = [description, situation, guidance];
                self.with(skill, |skill| update(skill, parts, operation));
            }
            Change::SkillEdited { skill, situation, guidance, annotations } => {
                self.with(skill, |skill| edit(skill, (situation, guidance), annotations, operation));
            }
            Change::SkillMerged { source, target, text } => self.merge((source, target), text, operation),
            Change::SkillAnnotated { skill, note } => {
                self.with(skill, |skill| annotate(skill, read_note(note, operation)));
            }
            Change::SkillDeleted { skill } => self.remove(skill, None),
            Change::SkillRenamed { from, to } => self.rename(from, to),
            Change::SkillReviewed { .. } | Change::SkillsTried { .. } => {
                self.observe(operation, trajectory());
            }
            Change::TrajectoryReflected { checked, .. } => {
                self.reflections.insert(trajectory().unwrap_or_default(), checked.clone());
            }
            Change::CandidateRecorded { learning, passed } => self.candidates.push(Candidate {
                learning: learning.clone(),
                trajectory: trajectory().unwrap_or_default(),
                passed: *passed,
            }),
            Change::PairKept { skills, hashes } => {
                self.kept_pairs.insert((skills.clone(), hashes.clone()));
            }
            Change::PackageAttached { skill, package } => {
                self.with(skill, |skill| skill.package = Some(package.clone()));
            }
            Change::SkillPublished { .. } => self.publish(operation),
            Change::Reverted { skills, closed, opened, .. } => {
                opened.iter().for_each(|domain| self.open_domain(domain));
                skills.iter().for_each(|restored| self.restore(restored, operation.id));
                closed.iter().for_each(|domain| drop(self.domains.remove(domain)));
            }
            Change::TrajectoryLearned => self.learned_since_cleaning += 1,
            Change::CleanupFinished => self.learned_since_cleaning = 0,
            Change::ItemClosed { .. }
            | Change::CleanupFlagged { .. }
            | Change::CleanupByWords { .. }
            | Change::WriteProposed { .. }
            | Change::ProposalRefused { .. }
            | Change::Unknown { .. } => {}
        }
    }

    /// Records what an attempt showed about skills.
    fn observe(&mut self, operation: &Operation, trajectory: Option<String>) {
        if let Change::SkillReviewed { skill, version, consumer, counts, review, passed } = &operation.change
        {
            let remark = review.clone().zip(trajectory).map(|(review, trajectory)| ReviewRemark {
                trajectory,
                version: *version,
                review,
                passed: *passed,
            });
            self.with(skill, |skill| {
                *skill.counters.entry((*version, consumer.clone())).or_default() += *counts;
                skill.remarks.extend(remark);
                let over = skill.remarks.len().saturating_sub(KEPT_REMARKS);
                skill.remarks.drain(..over);
                skill.record_review(&operation.seen, *version, (review.as_ref(), *passed));
            });
        } else if let Change::SkillsTried { template, skills, passed } = &operation.change {
            let trajectory = trajectory.unwrap_or_default();
            for tried in skills {
                let trial = tried.trial(&trajectory, template, *passed);
                self.with(&tried.skill, |skill| skill.trials.push(trial));
            }
            self.templates.insert(trajectory, template.clone());
        }
    }

    pub(super) fn open_domain(&mut self, domain: &NewDomain) {
        self.domains.insert(domain.domain.clone(), domain.description.clone());
    }

    pub(super) fn with(&mut self, id: &SkillId, change: impl FnOnce(&mut Skill)) {
        if let Some(skill) = self.skills.get_mut(id) {
            change(Arc::make_mut(skill));
        }
    }

    /// Inserts a skill. A reused name continues its version numbers, so that old counters never refer to the new text.
    pub(super) fn create(&mut self, mut skill: Skill) {
        self.domains.entry(skill.id.domain().to_owned()).or_default();
        if let Some(tomb) = self.tombstones.remove(&skill.id) {
            let version = tomb.skill.version + 1;
            skill.version = version;
            skill.sightings.iter_mut().for_each(|one| one.version = version);
        }
        self.skills.insert(skill.id.clone(), Arc::new(skill));
    }

    fn merge(&mut self, (source, target): (&SkillId, &SkillId), text: &SkillText, operation: &Operation) {
        let gone = self.skills.get(source).cloned();
        let notes = gone.as_ref().map(|skill| skill.notes.clone()).unwrap_or_default();
        self.remove(source, Some(target.clone()));
        self.with(target, |skill| {
            skill.text.clone_from(text);
            for note in notes {
                annotate(skill, note);
            }
            renew(skill, operation.id);
            skill.record_written(&operation.seen, operation.actor);
            skill.inherit_evidence(gone.as_deref(), operation.actor);
        });
    }

    fn remove(&mut self, id: &SkillId, redirect: Option<SkillId>) {
        if let Some(skill) = self.skills.remove(id) {
            self.tombstones.insert(id.clone(), Tombstone { skill, redirect });
        }
    }

    /// Restores a removed skill with its counters if its text is unchanged.
    fn restore(&mut self, restored: &Restored, by: OpId) {
        let Restored { skill: id, content } = restored;
        let Some(content) = content else { return self.remove(id, None) };
        if !self.skills.contains_key(id) {
            let back = match self.tombstones.remove(id) {
                Some(tomb) => (*tomb.skill).clone(),
                None => Skill::new(id, (&content.text, Vec::new()), content.origin, by),
            };
            self.domains.entry(id.domain().to_owned()).or_default();
            self.skills.insert(id.clone(), Arc::new(back));
        }
        self.with(id, |skill| {
            let counters = content.counters.iter();
            skill.counters = counters.map(|one| ((one.version, one.consumer.clone()), one.counts)).collect();
            skill.remarks.clone_from(&content.remarks);
            skill.notes.clone_from(&content.notes);
            skill.hidden_notes = content.hidden_notes;
            skill.sightings.clone_from(&content.sightings);
            if skill.text != content.text {
                skill.text.clone_from(&content.text);
                renew(skill, by);
            }
        });
    }

    fn rename(&mut self, from: &SkillId, to: &SkillId) {
        let Some(skill) = self.skills.get(from).cloned() else { return };
        self.remove(from, Some(to.clone()));
        self.domains.entry(to.domain().to_owned()).or_default();
        self.tombstones.remove(to);
        self.skills.insert(to.clone(), Arc::new(Skill { id: to.clone(), ..(*skill).clone() }));
    }
}

fn update(skill: &mut Skill, parts: [&Option<String>; 3], operation: &Operation) {
    let text = &mut skill.text;
    let places = [&mut text.description, &mut text.situation, &mut text.guidance];
    for (place, new) in places.into_iter().zip(parts) {
        new.iter().for_each(|new| place.clone_from(new));
    }
    renew(skill, operation.id);
    skill.record_written(&operation.seen, operation.actor);
}

pub(super) fn renew(skill: &mut Skill, by: OpId) {
    skill.version += 1;
    skill.history.push(by);
}
