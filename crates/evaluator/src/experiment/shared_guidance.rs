//! What another machine needs, besides the suite and the frozen skillbook, to give the arms of an experiment's run their
//! guidance.

use std::path::Path;
use std::sync::Arc;

use apprentice_skillbook::{BookError, Snapshot};
use apprentice_tasks::suite::Suite;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::trial_guidance::trial_guidance;
use crate::arms::auto::AutoArms;
use crate::arms::demonstration::Demonstration;
use crate::arms::function_scope::FunctionScope;
use crate::arms::hidden_skills::HiddenSkills;
use crate::arms::{GuidanceProvider, Provenance, open_inert_skills};
use crate::run::{ArmPlan, GuidanceFactory, RunPlan, TrialSpec};
use apprentice_results::arm::Arm;
use apprentice_runs::row::TrialRow;

/// The schema name of a run's shared guidance.
pub const SHARED_GUIDANCE_SCHEMA: &str = "apprentice.shared-guidance/1";

/// The inputs of a run's guidance that are neither in its plan, nor in its suite, nor in its skillbook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedGuidance {
    /// [`SHARED_GUIDANCE_SCHEMA`].
    schema: String,
    /// The rows behind the skillbook, by which an arm tells which skills bear on a task.
    #[schemars(with = "Vec<serde_json::Value>")]
    learned: Vec<TrialRow>,
    /// The training attempts that the arm `raw-trace` shows.
    demonstrations: Vec<Demonstration>,
    /// Skills hidden from the tasks of certain apps.
    suppress: HiddenSkills,
    /// Which functions the arms `code` and `code+pull` lend.
    #[serde(default, skip_serializing_if = "FunctionScope::is_verified")]
    functions: FunctionScope,
    /// The arm that `auto` stands for, by model.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    auto: AutoArms,
}

/// The reason a run's guidance cannot be given on this machine.
#[derive(Debug, thiserror::Error)]
pub enum SharedGuidanceError {
    /// It is of another version.
    #[error(
        "the guidance of the run has schema {0:?}, this program knows {SHARED_GUIDANCE_SCHEMA:?}: use the submitter's version"
    )]
    Schema(String),
    /// The suite's skills for the inert placebo cannot be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The guidance of an arm differs from that of the plan.
    #[error("the guidance of the arms {} differs from the plan here: give this worker the submitter's settings", .0.join(", "))]
    Differs(Vec<String>),
}

impl SharedGuidance {
    /// Collects the inputs of an experiment's guidance.
    pub(super) fn new(
        experiment: &Experiment,
        learned: &[TrialRow],
        demonstrations: Vec<Demonstration>,
    ) -> Self {
        Self {
            schema: SHARED_GUIDANCE_SCHEMA.to_owned(),
            learned: learned.to_vec(),
            demonstrations,
            suppress: experiment.suppress.clone(),
            functions: experiment.functions,
            auto: AutoArms::default(),
        }
    }

    /// Sets the arm that `auto` stands for.
    pub(super) fn with_auto(self, auto: AutoArms) -> Self {
        Self { auto, ..self }
    }

    /// The provider of the guidance.
    pub(super) fn provider(
        &self,
        suite: &Arc<Suite>,
        book: &Snapshot,
    ) -> Result<GuidanceProvider, BookError> {
        let provenance = Provenance::trace(book, &self.learned, suite);
        let provider = GuidanceProvider::new(Arc::clone(suite), book.clone(), provenance);
        let provider = provider
            .with_inert_skills(open_inert_skills(suite)?)
            .with_demonstrations(self.demonstrations.clone())
            .with_functions(self.functions)
            .with_suppressed(self.suppress.clone());
        Ok(provider.with_auto(self.auto.clone()))
    }

    /// Makes the guidance of a run's trials on another machine. `prerequisites` is a folder with the row and the trace of
    /// each trial that must end before another: the arm `inline` reads them.
    pub fn factory(
        &self,
        plan: &RunPlan,
        suite: &Arc<Suite>,
        book: &Snapshot,
        prerequisites: &Path,
    ) -> Result<GuidanceFactory, SharedGuidanceError> {
        if self.schema != SHARED_GUIDANCE_SCHEMA {
            return Err(SharedGuidanceError::Schema(self.schema.clone()));
        }
        let provider = self.provider(suite, book)?;
        let differs = |planned: &&ArmPlan| {
            Arm::parse(&planned.arm).is_ok_and(|arm| {
                let here = ArmPlan::of(arm, &provider);
                (here.skillbook_hash, here.aids) != (planned.skillbook_hash.clone(), planned.aids.clone())
            })
        };
        let differing: Vec<String> = plan.arms.iter().filter(differs).map(|arm| arm.arm.clone()).collect();
        if !differing.is_empty() {
            return Err(SharedGuidanceError::Differs(differing));
        }
        let place = prerequisites.to_owned();
        Ok(Arc::new(move |trial: &TrialSpec| trial_guidance(&provider, &place, trial)))
    }
}
