//! What all attempts of a run share, and how their answers are compared.

use std::sync::Arc;

use apprentice_runs::row::JudgeUse;
use apprentice_tasks::check::{Evidence, JudgeInput, open_question};
use apprentice_tasks::suite::Suite;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::deps::RunDeps;
use super::plan::TrialSpec;
use super::store::RunFolder;
use crate::grading::answer_judge::AnswerJudge;

/// The folder, suite and dependencies of a run.
pub(super) struct RunContext {
    pub(super) folder: Arc<RunFolder>,
    pub(super) suite: Arc<Suite>,
    pub(super) deps: RunDeps,
    pub(super) cancel: CancellationToken,
    /// One permit for each world that may start, set up or be checked at a time.
    pub(super) permits: Arc<Semaphore>,
}

impl RunContext {
    /// Has a model compare the answer of an attempt if its evidence cannot be graded without and one is named, and adds what it
    /// says to the evidence. `task` is the instruction that the agent got. Returns what that took; `None` if nothing was asked.
    pub(super) async fn compare_answer(
        &self,
        trial: &TrialSpec,
        task: &str,
        asked: &JudgeInput,
        evidence: &mut Evidence,
    ) -> Result<Option<JudgeUse>, String> {
        if open_question(&asked.spec, evidence, &asked.ending, asked.compat).is_none() {
            return Ok(None);
        }
        let Some(name) = self.deps.judge_of(self.folder.plan()) else { return Ok(None) };
        let model = self.deps.models.judge_model(&name, trial);
        let judge = AnswerJudge { model: model.map_err(|why| format!("the judge {name}: {why}"))?, name };
        Ok(judge.complete(task, asked, evidence).await)
    }
}
