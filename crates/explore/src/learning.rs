//! What an episode leaves in the book: reviews and notes by the ways of `learn`, and a function by synthesis and replays.

use std::path::{Path, PathBuf};

use apprentice_learning::judge::judge;
use apprentice_learning::practice::PracticeError;
use apprentice_learning::synthesis::SynthesisError;
use apprentice_learning::{LearnOptions, LearnerModels};
use apprentice_protocol::{ChatModel, JudgedBy, SkillId, Verdict};
use apprentice_runs::row::TrialRow;
use apprentice_skillbook::{
    Actor, Applied, Change, FunctionReference, Gateway, Judgement, Snapshot, WriteRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::episode::{FunctionOutcome, LearnedPart, Outcome};
use super::error::ExploreError;
use super::folder::{read_json, write_json};
use super::practice_suite::PracticeSuite;
use apprentice_evaluator::functions::admission::{Admission, AdmissionError};
use apprentice_evaluator::functions::synthesis::{Lesson, LessonError};
use apprentice_evaluator::learn::{
    JudgedAttempt, LearningRecord, LockedSuites, OwnAttempt, learn_from, learn_from_own, recorded_attempt,
};
use apprentice_evaluator::run::{RunControl, RunDeps};
use apprentice_evaluator::trial_identity::trajectory_id;

/// A function that was written, before it is admitted.
const FUNCTION_FILE: &str = "function.json";
/// What was learned from the attempts.
const LEARNED_FILE: &str = "learned.json";

/// The attempts of a try, and what learns from them.
pub(super) struct TryLearning<'a> {
    pub(super) practice: &'a PracticeSuite,
    /// The folder of the try.
    pub(super) place: &'a Path,
    /// The folder of its run.
    pub(super) run: &'a Path,
    pub(super) rows: &'a [TrialRow],
    pub(super) learner: &'a std::sync::Arc<dyn ChatModel>,
}

/// What the judging of a try gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TryVerdict {
    pub(super) outcome: Outcome,
    pub(super) judged_by: JudgedBy,
    pub(super) why: String,
}

#[derive(Serialize, Deserialize)]
struct WrittenFunction {
    skill: SkillId,
    function: String,
    source: String,
    references: Vec<FunctionReference>,
    arguments: Value,
    learned_on: u32,
}

fn add(part: &mut LearnedPart, record: LearningRecord) {
    let new: Vec<SkillId> =
        record.changed.into_iter().filter(|skill| !part.changed.contains(skill)).collect();
    part.changed.extend(new);
    part.decisions.extend(record.decisions.into_iter().filter_map(|(_, tool)| tool));
    part.refusals.extend(record.not_written.into_iter().chain(record.refusals));
    part.unread += usize::from(record.unread.is_some());
}

impl TryLearning<'_> {
    fn learners(&self) -> LearnerModels {
        LearnerModels { reflector: self.learner.clone(), manager: self.learner.clone() }
    }

    fn judged(&self) -> impl Iterator<Item = &TrialRow> {
        self.rows.iter().filter(|row| row.verdict != Verdict::Void)
    }

    /// Learns from attempts that the check of the state has judged. What an earlier process learned is read again.
    pub(super) async fn learn_from_states_once(
        &self,
        gateway: &mut Gateway,
    ) -> Result<LearnedPart, ExploreError> {
        let path = self.place.join(LEARNED_FILE);
        if let Some(known) = read_json(&path)? {
            return Ok(known);
        }
        let learned = self.learn_from_states(gateway).await?;
        // A process that was killed while it learned has left changes that no record of this one holds; the log has them.
        let part = LearnedPart { changed: self.changed(&gateway.snapshot()), ..learned };
        if part.unread == 0 {
            write_json(&path, &part)?;
        }
        Ok(part)
    }

    /// The skills of the book that these attempts created or changed.
    fn changed(&self, book: &Snapshot) -> Vec<SkillId> {
        let attempts: Vec<String> = self.judged().map(trajectory_id).collect();
        let caused = book.state().causes.iter().filter(|(cause, _)| attempts.contains(&cause.trajectory));
        let operations: Vec<_> = caused.map(|(_, operation)| operation).collect();
        let changed = book.skills().filter(|skill| skill.history.iter().any(|one| operations.contains(&one)));
        changed.map(|skill| skill.id.clone()).collect()
    }

    async fn learn_from_states(&self, gateway: &mut Gateway) -> Result<LearnedPart, ExploreError> {
        let mut part = LearnedPart::default();
        let (learners, options) = (self.learners(), LearnOptions::default());
        for row in self.judged() {
            let attempted = recorded_attempt(self.run, row.clone(), &self.practice.suite)?;
            let record = learn_from(gateway, &self.practice.lock, &learners, attempted, &options).await?;
            add(&mut part, record);
        }
        Ok(part)
    }

    /// Has a model say whether attempts did what was asked, and learns from them as from opinions, which promote nothing.
    pub(super) async fn learn_from_opinions(
        &self,
        gateway: &mut Gateway,
        held_out: &LockedSuites,
    ) -> Result<(TryVerdict, LearnedPart), ExploreError> {
        let mut part = LearnedPart::default();
        let mut opinions: Vec<Judgement> = Vec::new();
        let (learners, options) = (self.learners(), LearnOptions::default());
        for row in self.judged() {
            let attempt = OwnAttempt::in_run(self.run, &row.trace, trajectory_id(row))?;
            let known = gateway.state().judgements.get(attempt.id()).cloned();
            let judgement = match known {
                Some(known) => known,
                None => judge(self.learner.as_ref(), &attempt.material(), &attempt.last_pictures()?).await?,
            };
            let judged = JudgedAttempt { attempt: &attempt, judgement: &judgement };
            add(&mut part, learn_from_own(gateway, held_out, &learners, judged, &options).await?);
            opinions.push(judgement);
        }
        let passed = !opinions.is_empty() && opinions.iter().all(|one| one.verdict == Some(Verdict::Pass));
        let outcome = if passed { Outcome::OpinionPassed } else { Outcome::OpinionFailed };
        let why: Vec<String> = opinions.into_iter().map(|one| one.why).collect();
        Ok((TryVerdict { outcome, judged_by: JudgedBy::Model, why: why.join("; ") }, part))
    }

    /// Has a function written from the attempts that passed the check of the state, and replays it in fresh worlds.
    pub(super) async fn function(
        &self,
        gateway: &mut Gateway,
        changed: &[SkillId],
        deps: &RunDeps,
        control: &RunControl,
    ) -> Result<FunctionOutcome, ExploreError> {
        let path = self.place.join(FUNCTION_FILE);
        let written = match read_json::<WrittenFunction>(&path)? {
            Some(written) => written,
            None => match self.write_source(gateway, changed).await? {
                Ok(written) => {
                    write_json(&path, &written)?;
                    written
                }
                Err(why) => return Ok(FunctionOutcome::none(why)),
            },
        };
        if let Some(waiting) = apply(gateway, &written, deps).await? {
            return Ok(waiting);
        }
        self.admit(gateway, &written, deps, control).await
    }

    /// Has the source of a function written, or says why there is none.
    async fn write_source(
        &self,
        gateway: &Gateway,
        changed: &[SkillId],
    ) -> Result<Result<WrittenFunction, String>, ExploreError> {
        if !self.practice.varies() {
            return Ok(Err("nothing in the task varies, so no replay could try it with other values".into()));
        }
        let passed: Vec<&TrialRow> = self.rows.iter().filter(|row| row.verdict == Verdict::Pass).collect();
        let viewed = passed.iter().flat_map(|row| &row.skills_viewed);
        let book = gateway.snapshot();
        let mut skills = changed.iter().chain(viewed);
        let skill = skills.find(|skill| book.skill(skill).is_some());
        let (Some(skill), Some(task)) = (skill, self.practice.task()) else {
            return Ok(Err("the attempts left no skill that the function could belong to".into()));
        };
        let lesson = Lesson {
            suite: &self.practice.suite,
            lock: &self.practice.lock,
            task,
            skill: skill.clone(),
            rows: passed.into_iter().map(|row| (PathBuf::from(self.run), row.clone())).collect(),
        };
        match lesson.learn(self.learner.as_ref(), &book).await {
            Ok(learned) => Ok(Ok(WrittenFunction {
                skill: skill.clone(),
                function: learned.function.source.signature().name.clone(),
                source: learned.function.source.text().to_owned(),
                references: learned.function.references,
                arguments: learned.arguments,
                learned_on: learned.learned_on,
            })),
            // A model that cannot be asked is no answer: the episode is taken up again.
            Err(LessonError::Synthesis(SynthesisError::Model(error))) => {
                Err(PracticeError::Model(error).into())
            }
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    async fn admit(
        &self,
        gateway: &mut Gateway,
        written: &WrittenFunction,
        deps: &RunDeps,
        control: &RunControl,
    ) -> Result<FunctionOutcome, ExploreError> {
        let outcome = |version, missing: Option<String>| FunctionOutcome {
            skill: Some(written.skill.clone()),
            function: Some(written.function.clone()),
            version,
            verified: missing.is_none(),
            why: missing,
        };
        let Some(task) = self.practice.task() else {
            return Ok(FunctionOutcome::none("the suite has no task"));
        };
        let admission = Admission {
            suite: &self.practice.suite,
            task,
            split: Some(&self.practice.lock),
            skill: written.skill.clone(),
            function: written.function.clone(),
            arguments: written.arguments.clone(),
            learned_on: Some(written.learned_on),
            command: Vec::new(),
        };
        let place = self.place.join("admission");
        match admission.replay(&gateway.snapshot(), &place, deps, control.clone()).await {
            Ok(replayed) => {
                let report = admission.record(gateway, replayed, deps.clock.now())?;
                Ok(outcome(Some(report.version), report.missing))
            }
            Err(_) if control.cancel.is_cancelled() => Err(ExploreError::Interrupted),
            Err(error @ (AdmissionError::TooFew { .. } | AdmissionError::Void { .. })) => {
                Ok(outcome(None, Some(error.to_string())))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Has the book's readers read the function, and writes it to the book, unless it is there. Returns the outcome if it may not
/// be used yet.
async fn apply(
    gateway: &mut Gateway,
    written: &WrittenFunction,
    deps: &RunDeps,
) -> Result<Option<FunctionOutcome>, ExploreError> {
    let snapshot = gateway.snapshot();
    let known = snapshot.skill(&written.skill).and_then(|skill| skill.functions.get(&written.function));
    if known.is_some_and(|known| known.source == written.source) {
        return Ok(None);
    }
    let change = Change::FunctionWritten {
        skill: written.skill.clone(),
        function: written.function.clone(),
        source: written.source.clone(),
        references: written.references.clone(),
    };
    let refused = |why: String| {
        Ok(Some(FunctionOutcome {
            skill: Some(written.skill.clone()),
            function: Some(written.function.clone()),
            ..FunctionOutcome::none(why)
        }))
    };
    gateway.read_change(&change).await;
    match gateway.apply(WriteRequest::of(Actor::Manager, deps.clock.now(), change)) {
        Ok(Applied::Proposed(id)) => {
            refused(format!("{id} waits for a person: `apprentice skills proposals`"))
        }
        Ok(Applied::Written(_) | Applied::AlreadyThere(_)) => Ok(None),
        Err(refusal) => refused(refusal.to_string()),
    }
}
