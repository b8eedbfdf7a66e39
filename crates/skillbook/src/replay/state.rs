//! The state of a book: a pure fold over a prefix of its operations. Folding never fails, because the gateway decides
//! beforehand which operations may be written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_protocol::SkillId;

use super::candidate::Candidate;
use super::skill_update::read_note;
use crate::log::change::Change;
use crate::log::citation::LeftItem;
use crate::log::judgement::Judgement;
use crate::log::operation::Operation;
use crate::log::proposal::{Proposal, fingerprint};
use crate::review::Checked;
use crate::skill::function;
use crate::skill::hash::hash;
use crate::skill::model::{Cause, NewDomain, OpId, Origin, SkillText};
use crate::skill::record::{Skill, Tombstone};
use crate::skill::restored::Restored;
use crate::skill::trial::ReviewRemark;

const MAX_REMARKS: usize = 20;

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
    /// Verdicts on attempts without checks, by trajectory. A person's word replaces a model's, never the reverse.
    pub judgements: BTreeMap<String, Judgement>,
    /// Hashes of the task templates of trajectories.
    pub templates: BTreeMap<String, String>,
    /// Hashes of the instructions of trajectories, as far as recorded.
    pub variations: BTreeMap<String, String>,
    /// Number of trajectories processed since the last cleanup.
    pub learned_since_cleaning: usize,
    /// Files that the log accounts for, by path, with the hash of their content. `None` if the file was removed.
    pub files: BTreeMap<String, Option<String>>,
    /// Proposals that wait for a person's approval.
    pub proposals: BTreeMap<OpId, Arc<Proposal>>,
    /// Refusals by people, by the fingerprint of the change, with the operation.
    pub refused: BTreeMap<String, OpId>,
    /// Suspended skills, with the version that is kept from agents. A new text ends a suspension.
    pub suspended: BTreeMap<SkillId, u32>,
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
            judgements: BTreeMap::new(),
            templates: BTreeMap::new(),
            variations: BTreeMap::new(),
            learned_since_cleaning: 0,
            files: BTreeMap::new(),
            proposals: BTreeMap::new(),
            refused: BTreeMap::new(),
            suspended: BTreeMap::new(),
            last: OpId(0),
        }
    }
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

    /// Returns whether a skill's present text is kept from agents.
    pub fn is_suspended(&self, id: &SkillId) -> bool {
        let version = self.skills.get(id).map(|skill| skill.version);
        version.is_some() && self.suspended.get(id).copied() == version
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
    pub(crate) fn part(&self, ids: &[SkillId]) -> Self {
        let entry = |id: &SkillId| Some((id.clone(), self.skills.get(id)?.clone()));
        let gone = |id: &SkillId| Some((id.clone(), self.tombstones.get(id)?.clone()));
        Self {
            skills: ids.iter().filter_map(entry).collect(),
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
        self.date(operation);
    }

    /// Records when the texts that an operation wrote were written.
    fn date(&mut self, operation: &Operation) {
        for id in operation.change.skills() {
            let wrote = |skill: &Skill| skill.history.last() == Some(&operation.id);
            if self.skills.get(id).is_some_and(|skill| wrote(skill)) {
                self.with(id, |skill| skill.written = Some(operation.time));
            }
        }
    }

    fn change(&mut self, operation: &Operation) {
        let trajectory = || operation.cause.as_ref().map(|cause| cause.trajectory.clone());
        match &operation.change {
            Change::DomainCreated(domain) => self.open_domain(domain),
            Change::SkillCreated { skill, text, annotations, origin, domain } => {
                domain.iter().for_each(|domain| self.open_domain(domain));
                let notes = annotations.iter().map(|note| read_note(note, operation)).collect();
                let mut new = Skill::new(skill, text, notes, *origin, operation.id);
                new.record_written(&operation.seen, operation.actor);
                self.create(new);
            }
            Change::SkillUpdated { skill, description, situation, guidance } => {
                self.with(skill, |skill| skill.update([description, situation, guidance], operation));
            }
            Change::SkillEdited { skill, situation, guidance, annotations } => {
                self.with(skill, |skill| skill.edit(situation, guidance, annotations, operation));
            }
            Change::SkillMerged { source, target, text } => self.merge(source, target, text, operation),
            Change::SkillAnnotated { skill, note } => {
                self.with(skill, |skill| skill.annotate(read_note(note, operation)));
            }
            Change::SkillDeleted { skill } => self.remove(skill, None),
            Change::SkillSuspended { .. } | Change::SkillResumed { .. } => self.suspend(&operation.change),
            Change::SkillRenamed { from, to } => self.rename(from, to),
            Change::SkillReviewed { .. } | Change::SkillsTried { .. } => {
                self.observe(operation, trajectory());
            }
            Change::TrajectoryReflected { checked, .. } => self.keep_reflection(trajectory(), checked),
            Change::CandidateRecorded { .. } => self.record_candidate(operation),
            Change::PairKept { skills, hashes, .. } => {
                self.kept_pairs.insert((skills.clone(), hashes.clone()));
            }
            Change::PackageAttached { skill, package } => {
                self.with(skill, |skill| skill.package = Some(package.clone()));
            }
            Change::SkillPublished { .. } => self.publish(operation),
            Change::FunctionWritten { .. }
            | Change::FunctionTested { .. }
            | Change::FunctionRetired { .. } => {
                self.change_function(operation);
            }
            Change::Reverted { skills, closed, opened, .. } => {
                opened.iter().for_each(|domain| self.open_domain(domain));
                skills.iter().for_each(|restored| self.restore(restored, operation.id));
                closed.iter().for_each(|domain| drop(self.domains.remove(domain)));
            }
            Change::AttemptJudged(judgement) => self.judge(trajectory().unwrap_or_default(), judgement),
            Change::TrajectoryLearned => self.learned_since_cleaning += 1,
            Change::CleanupFinished => self.learned_since_cleaning = 0,
            Change::ItemClosed { left, .. } => self.forget_unfit(operation, left.as_ref()),
            Change::ItemHeldBack { found } => {
                operation.cause.iter().for_each(|cause| self.mark_held_back(cause, found));
            }
            Change::CleanupFlagged { .. }
            | Change::CleanupByWords { .. }
            | Change::WriteProposed { .. }
            | Change::ProposalRefused { .. }
            | Change::SuspicionKept { .. }
            | Change::Unknown { .. } => {}
        }
    }

    fn keep_reflection(&mut self, trajectory: Option<String>, checked: &Checked) {
        self.reflections.insert(trajectory.unwrap_or_default(), checked.clone());
    }

    /// Records knowledge that waits for more support.
    fn record_candidate(&mut self, operation: &Operation) {
        let Change::CandidateRecorded { learning, passed } = &operation.change else { return };
        let trajectory = operation.cause.as_ref().map(|cause| cause.trajectory.clone());
        self.candidates.push(Candidate {
            id: operation.id,
            time: operation.time,
            seen: operation.seen.clone(),
            learning: learning.clone(),
            trajectory: trajectory.unwrap_or_default(),
            passed: *passed,
            held_back: Vec::new(),
        });
    }

    /// Begins or ends the suspension of a skill's present text.
    fn suspend(&mut self, change: &Change) {
        if let Change::SkillSuspended { skill, .. } = change {
            let version = self.skills.get(skill).map(|existing| existing.version);
            self.suspended.extend(version.map(|version| (skill.clone(), version)));
        } else if let Change::SkillResumed { skill } = change {
            self.suspended.remove(skill);
        }
    }

    fn change_function(&mut self, operation: &Operation) {
        let by = operation.id;
        match &operation.change {
            Change::FunctionWritten { skill, function, source, references } => self.with(skill, |skill| {
                function::write(&mut skill.functions, function, source, references, by);
            }),
            Change::FunctionTested { skill, function, version, evidence } => self.with(skill, |skill| {
                function::test(&mut skill.functions, function, *version, evidence, by);
            }),
            Change::FunctionRetired { skill, function, why } => self.with(skill, |skill| {
                function::retire(&mut skill.functions, function, why, by);
            }),
            _ => {}
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
                id: Some(operation.id),
                time: Some(operation.time),
                seen: operation.seen.clone(),
                held_back: Vec::new(),
            });
            self.with(skill, |skill| {
                *skill.counters.entry((*version, consumer.clone())).or_default() += *counts;
                skill.remarks.extend(remark);
                let over = skill.remarks.len().saturating_sub(MAX_REMARKS);
                skill.remarks.drain(..over);
                skill.record_review(&operation.seen, *version, review.as_ref(), *passed);
            });
        } else if let Change::SkillsTried { template, variation, skills, passed } = &operation.change {
            let trajectory = trajectory.unwrap_or_default();
            for tried in skills {
                let trial = tried.trial(&trajectory, template, variation.as_deref(), *passed);
                self.with(&tried.skill, |skill| skill.trials.push(trial));
            }
            if let Some(variation) = variation {
                self.variations.insert(trajectory.clone(), variation.clone());
            }
            self.templates.insert(trajectory, template.clone());
        }
    }

    /// Records a verdict, unless one of better origin is known.
    fn judge(&mut self, trajectory: String, judgement: &Judgement) {
        let earlier = self.judgements.get(&trajectory);
        if earlier.is_none_or(|earlier| earlier.by <= judgement.by) {
            self.judgements.insert(trajectory, judgement.clone());
        }
    }

    /// Forgets the candidate of an item that the manager found unfit for a book, so that no later item shows it.
    fn forget_unfit(&mut self, operation: &Operation, left: Option<&LeftItem>) {
        let Some(cause) =
            operation.cause.as_ref().filter(|_| left.is_some_and(|left| left.reason.is_unfit()))
        else {
            return;
        };
        let index = cause.item.strip_prefix("learning:").and_then(|index| index.parse::<usize>().ok());
        let reflection = self.reflections.get(&cause.trajectory).zip(index);
        if let Some(learning) = reflection.and_then(|(checked, index)| checked.learnings.get(index)) {
            self.candidates.retain(|candidate| {
                candidate.trajectory != cause.trajectory || candidate.learning != *learning
            });
        }
    }

    fn open_domain(&mut self, domain: &NewDomain) {
        self.domains.insert(domain.domain.clone(), domain.description.clone());
    }

    fn with(&mut self, id: &SkillId, change: impl FnOnce(&mut Skill)) {
        if let Some(skill) = self.skills.get_mut(id) {
            change(Arc::make_mut(skill));
        }
    }

    /// Inserts a skill. A reused name continues its version numbers, so that old counters never refer to the new text.
    fn create(&mut self, mut skill: Skill) {
        self.domains.entry(skill.id.domain().to_owned()).or_default();
        if let Some(tomb) = self.tombstones.remove(&skill.id) {
            let version = tomb.skill.version + 1;
            skill.version = version;
            skill.version_evidence.iter_mut().for_each(|evidence| evidence.version = version);
        }
        self.skills.insert(skill.id.clone(), Arc::new(skill));
    }

    fn merge(&mut self, source: &SkillId, target: &SkillId, text: &SkillText, operation: &Operation) {
        let gone = self.skills.get(source).cloned();
        let notes = gone.as_ref().map(|skill| skill.notes.clone()).unwrap_or_default();
        self.remove(source, Some(target.clone()));
        self.with(target, |skill| {
            skill.text.clone_from(text);
            skill.written_by(operation);
            for note in notes {
                skill.annotate(note);
            }
            skill.renew(operation.id);
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
                None => Skill::new(id, &content.text, Vec::new(), content.origin, by),
            };
            self.domains.entry(id.domain().to_owned()).or_default();
            self.skills.insert(id.clone(), Arc::new(back));
        }
        self.with(id, |skill| {
            let counters = content.counters.iter();
            skill.counters = counters
                .map(|counter| ((counter.version, counter.consumer.clone()), counter.counts))
                .collect();
            skill.remarks.clone_from(&content.remarks);
            skill.notes.clone_from(&content.notes);
            skill.hidden_notes = content.hidden_notes;
            skill.version_evidence.clone_from(&content.version_evidence);
            if let Some(functions) = &content.functions {
                skill.functions.clone_from(functions);
            }
            if skill.text != content.text {
                skill.text.clone_from(&content.text);
                skill.renew(by);
                // Only people revert. The text that they want back is theirs.
                skill.by_person = true;
            }
        });
    }

    fn rename(&mut self, from: &SkillId, to: &SkillId) {
        let Some(skill) = self.skills.get(from).cloned() else { return };
        self.remove(from, Some(to.clone()));
        if let Some(version) = self.suspended.remove(from) {
            self.suspended.insert(to.clone(), version);
        }
        self.domains.entry(to.domain().to_owned()).or_default();
        self.tombstones.remove(to);
        self.skills.insert(to.clone(), Arc::new(Skill { id: to.clone(), ..(*skill).clone() }));
    }

    /// Applies a published package. Its files are stored under their hashes before the operation is written, so the
    /// operation alone decides whether the skill exists.
    fn publish(&mut self, operation: &Operation) {
        let Change::SkillPublished { skill: id, text, domain, package } = &operation.change else { return };
        domain.iter().for_each(|domain| self.open_domain(domain));
        if self.skills.contains_key(id) {
            self.with(id, |skill| {
                skill.text.clone_from(text);
                skill.renew(operation.id);
                skill.written_by(operation);
                skill.record_written(&operation.seen, operation.actor);
            });
        } else {
            let mut new = Skill::new(id, text, Vec::new(), Origin::Learned, operation.id);
            new.record_written(&operation.seen, operation.actor);
            self.create(new);
        }
        self.with(id, |skill| {
            let mut package = package.clone();
            package.view_hash = hash(skill.view().as_bytes());
            skill.package = Some(package);
        });
    }

    /// Updates the proposals of the state: one is made, accepted or refused.
    fn update_proposals(&mut self, operation: &Operation) {
        if let Some(accepted) = operation.accepts.and_then(|proposal| self.proposals.remove(&proposal)) {
            accepted.cause.iter().for_each(|cause| self.lift_held_back(cause));
        }
        match &operation.change {
            Change::WriteProposed { change, read, assessment } => {
                let proposal = Proposal {
                    id: operation.id,
                    time: operation.time,
                    actor: operation.actor,
                    cause: operation.cause.clone(),
                    seen: operation.seen.clone(),
                    citation: operation.citation.clone(),
                    read: read.clone(),
                    assessment: assessment.clone(),
                    change: (**change).clone(),
                };
                self.proposals.insert(operation.id, proposal.into());
            }
            Change::ProposalRefused { proposal, .. } => {
                if let Some(refused) = self.proposals.remove(proposal) {
                    self.refused.insert(fingerprint(&refused.change, &refused.read), operation.id);
                }
            }
            Change::Reverted { operation, also, .. } => {
                self.refused.retain(|_, by| by != operation && !also.contains(by));
            }
            _ => {}
        }
    }

    /// Returns the skill versions that a change depends on. A note depends on none.
    pub(crate) fn base_versions(&self, change: &Change) -> BTreeMap<SkillId, u32> {
        if matches!(change, Change::SkillAnnotated { .. }) {
            return BTreeMap::new();
        }
        let version = |id: &SkillId| Some((id.clone(), self.skills.get(id)?.version));
        change.skills().into_iter().filter_map(version).collect()
    }
}
