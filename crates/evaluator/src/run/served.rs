//! Runs of episodes that a server served: one run for each, with one trial, in which a client of the server acted.

use std::collections::BTreeSet;
use std::path::Path;

use apprentice_protocol::{CapOverrides, RunId, TaskId};
use apprentice_results::arm::Arm;
use apprentice_runs::row::Role;
use apprentice_tasks::suite::Suite;
use jiff::Timestamp;

use super::plan::{Conversations, PlanError, PlanRequest, RunPlan, plan};
use super::store::{RunFolder, StoreError};
use crate::trial_identity::{Contender, hashed, trial_id};

/// A served episode.
pub struct ServedTrial<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// The task.
    pub task: TaskId,
    /// The variation.
    pub seed: u32,
    /// The name of the episode.
    pub episode: String,
    /// The most steps.
    pub max_steps: u32,
    /// The name under which the client stands in rows.
    pub model: &'a str,
    /// Isolation guarantees that the worlds do not give, by name.
    pub concessions: &'a [String],
    /// The command line, without secrets.
    pub command: &'a [String],
    /// The version of the program.
    pub program: &'a str,
    /// A text that no other episode has.
    pub unique: &'a str,
}

/// The reason a served episode gets no run.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// It cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Its folder cannot be made.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServedTrial<'_> {
    /// Makes the folder of the episode's run below `root`, with its plan.
    ///
    /// # Errors
    /// The suite has no such task, or the folder cannot be written.
    pub fn create(&self, root: &Path, now: Timestamp) -> Result<RunFolder, ServedError> {
        Ok(RunFolder::create(root, self.plan(now)?)?)
    }

    fn plan(&self, now: Timestamp) -> Result<RunPlan, PlanError> {
        let contender = Contender {
            role: Role::Solo,
            model: self.model.to_owned(),
            arm: Arm::None.as_str().to_owned(),
            tasks: None,
            seeds: None,
        };
        let limits = CapOverrides { world_steps: Some(self.max_steps), ..CapOverrides::default() };
        let request = PlanRequest {
            suite: self.suite,
            split: None,
            tasks: Some(BTreeSet::from([self.task.clone()])),
            contenders: vec![contender.clone()],
            seeds: 1,
            limits: Some(limits),
            attempts: 1,
            order_seed: 0,
            conversations: Conversations::Dropped,
            command: self.command.to_vec(),
            program: self.program.to_owned(),
            books: Vec::new(),
        };
        let mut plan = plan(&request, now)?;
        for trial in &mut plan.trials {
            trial.seed = self.seed;
            trial.trial = trial_id(&self.suite.name, &self.task, &contender, self.seed);
        }
        // Many episodes may begin in one second.
        let digest = hashed(&[("episode", &self.episode), ("unique", self.unique)]);
        plan.run = RunId::new(format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), &digest[..12]));
        plan.concessions = self.concessions.to_vec();
        plan.served = Some(self.episode.clone());
        Ok(plan)
    }
}
